"""The years that named times tell, and how such times are read: of `named_times`, `feasts` and `parts_of_years`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, TypeAlias

from .han import one_way
from .patterns import regex
from .seasons import COUNT, NUMBERS
from .wording import signs

Reader: TypeAlias = Callable[[re.Match[str], date], "str | None"]
"""What writes a time that was found as a date; nothing where it is none."""

Form: TypeAlias = tuple[tuple[str, ...], re.Pattern[str], Reader]
"""What one of stands in whatever is found, how it looks, and its reader."""

AGO: Final = (
    rf"(?:\b(?P<n>{COUNT}|an?) years? ago\b|\bvor (?P<n_de>{COUNT}) jahr(?:en)?\b"
    rf"|\bhace (?P<n_es>{COUNT}) años?\b|\bil y a (?P<n_fr>{COUNT}) ans?\b)"
)
_UNNAMED_AGO: Final = re.sub(r"\?P<\w+>", "?:", AGO)
YEAR: Final = (
    r"(?:19|20)\d\d|(?:the )?(?:last|past|previous|this) year|(?:des |im )?(?:letzte|vorige|diese)[snm] jahr(?:es)?"
    r"|(?:el )?año pasado|este año|l['’]an(?:née)? derni(?:er|ère)|cette année|今年|去年|昨年|前年|一昨年"
    rf"|{_UNNAMED_AGO}"
)
OF_YEAR: Final = rf"(?:,?(?: ?(?:of|in|von|del?|/|的|の))? ?(?P<year>{YEAR}))"
_SO_MANY: Final = regex(rf"\b{COUNT}\b", re.I)


def form(listed: str, pattern: str, read: Reader) -> Form:
    """A form, of a pattern in which each blank stands for any white space."""
    return signs(listed), regex(pattern.replace(" ?", r"\s?").replace(" ", r"\s"), re.I), read


def between(first: date, last: date) -> str:
    """A range as others are written."""
    return f"between {first} and {last}"


def part_named(match: re.Match[str], name: str) -> str | None:
    """What was found by the group of this name, in whichever language it is."""
    return next((value for group, value in match.groupdict().items() if group.split("_")[0] == name and value), None)


def number_told(match: re.Match[str]) -> int:
    """The number that the group ``n`` tells; one where it tells none."""
    return _number(part_named(match, "n") or "")


def _number(count: str) -> int:
    return NUMBERS.get(one_way(count.lower())) or (int(count) if count.isdecimal() else 1)


def year_told(match: re.Match[str], today: date) -> int | None:
    """The year that the group ``year`` tells, in digits or counted back; nothing where it tells none."""
    year = part_named(match, "year")
    if year is None or year.isdecimal():
        return int(year) if year else None
    if re.search(r"\bago|\bvor |\bhace|\bil y a", year, re.I):
        count = _SO_MANY.search(year)
        return today.year - (_number(count[0]) if count else 1)
    is_this = re.search("this|diese|este|cette|今", year, re.I)
    return today.year - (2 if year in ("前年", "一昨年") else 0 if is_this else 1)
