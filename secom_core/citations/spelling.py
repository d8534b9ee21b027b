"""How a citation is written: the forms that language models use, and the numbers that are meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..llm.marks import CITED, CITED_SPAN
from ..text.patterns import regex

LONGEST: Final = 120
"""A citation has no more characters than this; a bracket that stays open for longer is text."""

_BLANKS: Final = r"[ \t]{0,2}"
_JOINED: Final = rf"{_BLANKS}[,;\uff0c\uff1b\u3001]?{_BLANKS}"
_INSIDE: Final = r"[\w \t\u3000,;:&#^.~\u2020\uff0c\uff1b\uff1a\u2010-\u2015\u2212\u301c\u3001\uff0d\uff5e-]"
"""What may stand between the brackets of a citation, one character."""

_AROUND: Final = (
    rf"(?:(\({_BLANKS})|(\uff08{_BLANKS})|(\[)|(\*\*)|(\*)|<sup>)some"
    rf"(?(1){_BLANKS}\)|(?(2){_BLANKS}\uff09|(?(3)\]|(?(4)\*\*|(?(5)\*|</sup>)))))"
)
_AROUND_BEGUN: Final = (
    rf"[(\uff08]{_BLANKS}(?:some[)\uff09]?)?",
    r"\((?:N|NO[A-Z_]{0,7}\)?)?",
    r"\[?(?:some)?",
    r"\*{1,2}(?:some\*{0,2}|NO[A-Z_]{0,7}\*{0,2}|N)?",
    r"<(?:s(?:u(?:p(?:>(?:some(?:<(?:/(?:s(?:u(?:p>?)?)?)?)?)?)?)?)?)?)?",
    r"N(?:O(?:_(?:C(?:I(?:T(?:E[DS]?)?)?)?)?)?)?",
)

_DETAIL: Final = regex(r"\d+:(?=\d+\u2020)|\u2020[\w .,:#-]*")
_SPAN: Final = regex(CITED_SPAN, re.IGNORECASE)


@dataclass(frozen=True)
class Spelling:
    """What counts as a citation.

    Args:
        whole: matches a citation, with the brackets, asterisks or tags around it that mark it and nothing else.
        begun: matches a text to its end that may go on as a citation.
    """

    whole: re.Pattern[str]
    begun: re.Pattern[str]


@lru_cache(maxsize=2)
def spelling(*, parentheses: bool) -> Spelling:
    """The forms of a citation.

    Args:
        parentheses: whether ``(1)`` is one.
    """
    opening, closing = (
        ("[\u3010\uff3b(\uff08", "]\u3011\uff3d)\uff09") if parentheses else ("[\u3010\uff3b", "]\u3011\uff3d")
    )
    one = rf"[{re.escape(opening)}]{CITED}[{re.escape(closing)}]"
    around = _AROUND.replace("some", rf"{one}(?:{_JOINED}{one})*")
    some_begun = rf"[{re.escape(opening)}](?:{_INSIDE}|[{re.escape(opening + closing)}])*"
    begun = "|".join(each.replace("some", some_begun) for each in _AROUND_BEGUN)
    return Spelling(
        regex(rf"{around}|{one}|(?-i:\*\*NO_CITE[DS]?\*\*|\(NO_CITE[DS]?\)|NO_CITE[DS]?(?!\w))", re.IGNORECASE),
        regex(rf"(?:{begun})\Z", re.IGNORECASE),
    )


def cited_numbers(citation: str, shown: Collection[int]) -> list[int] | None:
    """The numbers that a citation names, in its order; none for ``[NO_CITE]``.

    Args:
        citation: as `Spelling.whole` matches it.
        shown: the numbers in the prompt.

    Returns:
        Nothing where a range holds a number that was not shown: it is a score, or a span of pages.
    """
    numbers: list[int] = []
    for first, last in _SPAN.findall(_DETAIL.sub("", citation)):
        span = range(int(first), int(last or first) + 1)
        if last and not (1 < len(span) <= len(shown) and all(number in shown for number in span)):
            return None
        numbers += span
    return numbers
