"""Whether numbers in brackets stand where a citation does, by what is written around them.

``[1]`` cites in ``It was May [1].`` and indexes in ``xs[1]``; ``[1, 2, 3]`` cites behind a sentence and is a list in
``xs = [1, 2, 3]``. Where it may be either, the text is left as it is: a citation that is missed teaches nothing, while
a list that is taken for one loses what the reader was told.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from ..text.patterns import regex
from ..text.word_lists import word_lists

BEFORE: Final = 80
"""So many characters before a bracket say what it is."""

WAITS: Final = regex(
    r"[ \t]{0,2}(?:[!*]?|u(?:s(?:er?)?)?|a(?:s(?:s(?:i(?:s(?:t(?:a(?:nt?)?)?)?)?)?)?)?)\Z",
)
"""What follows a bracket to the end of a text and does not say yet what the bracket is."""


RANGE: Final = regex(r"[ \t]?[-~\u2010-\u2015\u2212\uff5e][ \t]?")
"""What stands between the two ends of a range of citations."""


class Role(Enum):
    """What numbers in brackets do where they stand."""

    MARK = "mark"
    """They cite, and the sentence is whole without them."""
    WORD = "word"
    """They cite, as a word of the sentence: ``according to [1]``."""
    NUMBERS = "numbers"
    """They are numbers: a list, an index, an interval."""
    TEXT = "text"
    """They are a link, the beginning of a footnote or of a line of the block, or quoted."""


_WORDS: Final = {name: words.split() for name, words in word_lists(__package__, "words_before.txt").items()}
_LATIN: Final = r"[^\W\u0e00-\uffff]"
"""A letter, digit or underscore of a script that parts its words by blanks."""


def _words(name: str) -> str:
    """A pattern that matches one of the words, whole where the script parts words by blanks."""
    words = _WORDS[name]
    parted = [word for word in words if re.match(_LATIN, word)]
    return rf"(?:\b(?:{'|'.join(parted)})\b|{'|'.join({*words} - {*parted}) or '(?!)'})"


def _ends(pattern: str) -> re.Pattern[str]:
    return regex(rf"(?:{pattern})\Z", re.IGNORECASE)


_CONTAINERS: Final = frozenset(_WORDS["containers"])
_SHORT: Final = frozenset(_WORDS["short words"])
_NAME: Final = regex(rf"(?:{_LATIN}|[.$])+\Z")
_CODE_NAME: Final = regex(
    r".*_.*|.*[^\W\d]\.[^\W\d].*|[a-z]+\d.*|[a-z]+[A-Z].*|[b-df-hj-np-tv-xz]+|[^\W\d]", re.ASCII | re.DOTALL
)
"""A name that words of a language are not: ``my_list``, ``self.items``, ``x2``, ``rowCount``, ``xs``, ``a``."""

_CALL: Final = _ends(rf"{_LATIN}\([^()\s]{{0,40}}\)")
_QUOTES: Final = "\"'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u300c\u300d\u300e\u300f"
_LINE_START: Final = regex(r"(?:\A|\n)[ \t>]*\Z")
_LINE_OF_BLOCK: Final = regex(r"[ \t]?(?:user|assistant):")
_DEFINING: Final = regex(r"(?:\A|\n)[ \t>*-]*\Z")
_OPERATOR: Final = _ends(
    r"(?:=|(?:\A|\n)[ \t]*(?:return|yield|print)|[\w)\]][ \t]*[+/^]|\d[ \t]+\*"
    r"|[\[{\u2208\u2209\u222a\u2229\u2282\u2286\u00d7\u2264\u2265]|\w\(|[\"'][ \t]*:)\s*"
)
_OPERATOR_AFTER: Final = regex(r"[ \t]{0,2}(?:!?=|\+|\*[ \t]|[\u222a\u2229\u00d7\u2208])")
_BETWEEN_NUMBERS: Final = regex(
    r"(?!\s+\Z)[ \t]*(?:[,;\uff0c\u3001]\s*|[+*/|-][ \t]*)?(?:(?:and|or|und|oder|[\u548c\u4e0e\u6216])[ \t]*)?",
    re.IGNORECASE,
)
_BETWEEN_WORDS: Final = regex(r"[ \t]*(?:[,\u3001]|(?:and|or|und|oder|[\u548c\u4e0e])\b)?[ \t]*", re.IGNORECASE)
_LISTING: Final = _ends(
    rf"{_words('number lists')}(?:[ \t]+(?:is|are|was|were|of|ist|sind|war|waren))?[ \t]*[:=\uff1a]?\s*"
    r"|(?:[-=]>|\u2192)[ \t]*"
)
_COLON: Final = _ends(r"[:\uff1a][*_]*\s*")
_SOURCES: Final = _ends(rf"{_words('sources')}[*_]*[ \t]*[:\uff1a][*_]*\s*")
_GOES_ON: Final = regex(r"[ \t]{1,2}(\w)")
_ITEM: Final = _ends(r"(?:\A|\n)[ \t]*(?:[-*\u2022]|\d+[.)])[ \t]+")
_LINE_END: Final = regex(r"[ \t]{0,2}(?:\n|\Z)")
_SENTENCE_END: Final = regex(r"[ \t]{0,2}(?:[.!?;\u3002\uff01\uff1f\uff1b\u2026]|\n|\Z)")
_REFERRING: Final = _ends(rf"{_words('referring')}\.?(?:[ \t]+to)?[ \t]*")
_REFERRING_ON: Final = _ends(rf"{_words('referring before words')}[ \t]*")


def role_of(citation: str, numbers: int, before: str, after: str, last: Role, between: str | None) -> Role:
    """What a bracket with numbers does where it stands.

    Args:
        citation: as it is written, with what stands around it (`spelling.Spelling.whole`).
        numbers: how many numbers it names; none for ``[NO_CITE]``.
        before: what stands before it, `BEFORE` characters at most.
        after: what follows it, up to where `WAITS` does not match any more.
        last: what the bracket before this one did.
        between: what stands between the two, where it stands in ``before``.
    """
    if _is_text(citation, before, after):
        return Role.TEXT
    if _is_bare(citation) and (_goes_on(last, between) or _is_numbers(citation, numbers, before, after, between)):
        return Role.NUMBERS
    return Role.WORD if numbers and _is_word(before, after, last, between) else Role.MARK


def _is_bare(citation: str) -> bool:
    """Whether it has digits alone, as indexes and lists have."""
    return not re.search(r"[^\W\d]|[\u2020^\u3010*<]", citation)


def _is_text(citation: str, before: str, after: str) -> bool:
    if re.match(r"\*[^*]", citation) and re.search(r"[\w)\]]\Z", before):
        return True  # a product of lists
    if before.endswith("\\") or (citation.endswith("]") and after.startswith("(")):
        return True
    if after.startswith((":", "\uff1a")) and citation[0] in "[\uff3b" and _DEFINING.search(before):
        return True
    if citation[0] == "N" and re.match(r"\w", before[-1:]):
        return True
    if _LINE_OF_BLOCK.match(after) and _LINE_START.search(before):
        return True  # a small model goes on with the block instead of answering
    return before[-1:] in _QUOTES and after[:1] in _QUOTES if before and after else False


def _goes_on(last: Role, between: str | None) -> bool:
    """Whether it goes on with a list of numbers in brackets."""
    return last is Role.NUMBERS and between is not None and _BETWEEN_NUMBERS.fullmatch(between) is not None


def _is_numbers(citation: str, numbers: int, before: str, after: str, between: str | None) -> bool:
    if before.endswith("]") and between != "":
        return True
    if _is_indexed(citation, before) or _OPERATOR.search(before) or _OPERATOR_AFTER.match(after):
        return True
    if citation[0] in "(\uff08" and citation[1:2].isdecimal() and _LINE_START.search(before):
        return True
    return numbers > max(1, sum(map(citation.count, "[\uff3b"))) and _is_list(before, after)


def _is_indexed(citation: str, before: str) -> bool:
    """Whether it stands directly behind a name of code, or a call."""
    name = _NAME.search(before)
    if name is None:
        return _CALL.search(before) is not None
    word = name[0].rstrip(".") if citation[0] not in "(" else ""
    if name[0].endswith(".") or word.lower() in _SHORT:
        return False
    return not word or word.lower() in _CONTAINERS or _CODE_NAME.fullmatch(word) is not None


def _is_list(before: str, after: str) -> bool:
    """Whether several numbers in one bracket are a list of numbers."""
    if _LISTING.search(before):
        return True
    if _COLON.search(before):
        return _SOURCES.search(before) is None
    return not before.strip() or bool(_ITEM.search(before) and _LINE_END.match(after))


def _is_word(before: str, after: str, last: Role, between: str | None) -> bool:
    if last is Role.WORD and between is not None and _BETWEEN_WORDS.fullmatch(between):
        return True
    if _LINE_START.search(before) and (goes_on := _GOES_ON.match(after)):
        # A line of words is a list of sources or begins with the citation that it is about: ``[1] says so``.
        return goes_on[1].islower()
    if _REFERRING.search(before) or _SOURCES.search(before):
        return True
    return bool(_REFERRING_ON.search(before)) and not _SENTENCE_END.match(after)
