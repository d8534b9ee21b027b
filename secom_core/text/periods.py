"""The days that a question asks for: ranges.

Beside `secom_core.text.dates`, whose expressions are looked for in all that is said. These are looked for in questions
only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from typing import Final, NamedTuple

from .dates import MONTH_NUMBERS, WEEKDAY_NUMBERS, Span, calendar_days, last_weekday, spans, without_days
from .patterns import regex

_LONGEST: Final = 300
"""How many characters a question has at most that is read for more than single days."""

_HAN: Final = {sign: number for number, sign in enumerate("一二三四五六七八九十", 1)}


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_NTH: Final = r"(?:st|nd|rd|th|er|\.)?"
_YEAR: Final = r"(?:19|20)\d\d"
_THE: Final = r"(?:(?:the|dem|den|el|le)\s)?"
_MONTH: Final = _any(MONTH_NUMBERS)
# One end of a range: a date, a month, a year, a day whose month the other end tells, or a weekday.
_END: Final = (
    rf"(?:\d{{4}}-\d\d?-\d\d?|\d\d?\.\d\d?\.(?:{_YEAR}\b)?"
    rf"|{_THE}(?:\d\d?{_NTH}\s(?:(?:of|de)\s)?)?(?:{_MONTH})\b(?:\.(?=\s))?(?:\s\d\d?(?:st|nd|rd|th)?\b(?!:))?"
    rf"(?:,?\s(?:(?:of|del?)\s)?{_YEAR}\b)?"
    rf"|{_YEAR}\b|{_THE}(?:{_any(WEEKDAY_NUMBERS)})\b|{_THE}\d\d?{_NTH}(?![\d:]))"
)
_PARTS: Final = regex(
    rf"(?P<iso>\d{{4}})-(?P<number>\d\d?)-(?P<iso_day>\d\d?)|(?P<day>\d\d?)\.(?P<numeral>\d\d?)\.(?P<numeral_year>\d{{4}})?"
    rf"|{_THE}(?:(?P<before>\d\d?){_NTH}\s(?:(?:of|de)\s)?)?(?P<month>{_MONTH})\.?(?:\s(?P<after>\d\d?)(?:st|nd|rd|th)?)?"
    rf"(?:,?\s(?:(?:of|del?)\s)?(?P<year>{_YEAR}))?"
    rf"|(?P<whole>{_YEAR})|{_THE}(?P<weekday>{_any(WEEKDAY_NUMBERS)})|{_THE}(?P<bare>\d\d?){_NTH}",
    re.I,
)
_SIGN_NUMBER: Final = r"(?:\d\d?|[一二三四五六七八九十]{1,3})"
_SIGN_END: Final = (
    rf"(?:(?:\d{{4}}[年년]|去年|今年)\s?(?:的|の)?(?:{_SIGN_NUMBER}[月월]份?(?:\s?{_SIGN_NUMBER}[日号號일])?)?"
    rf"|{_SIGN_NUMBER}[月월]份?(?:\s?{_SIGN_NUMBER}[日号號일])?|{_SIGN_NUMBER}[日号號일])"
)
_SIGN_PARTS: Final = regex(
    rf"(?:(?:(?P<year>\d{{4}})[年년]|(?P<past>去年)|(?P<present>今年))\s?(?:的|の)?)?"
    rf"(?:(?P<month>{_SIGN_NUMBER})[月월]份?)?(?:\s?(?P<day>{_SIGN_NUMBER})[日号號일])?"
)


def _between(opening: str, middle: str) -> re.Pattern[str]:
    return regex(rf"\b(?:{opening})\s?(?P<first>{_END})\s(?:{middle})\s?(?P<last>{_END})", re.I)


_RANGES: Final = (
    _between("between", "and"),
    _between("from", "(?:up )?(?:to|until|till|through)"),
    _between("zwischen", "und"),
    _between("vo[nm]", "bis(?: zum)?"),
    _between("entre", "y|e|et"),
    _between("desde|del?", "al?|hasta"),
    _between("depuis|de|du|d['’]", "à|au|jusqu['’](?:à|au|en)"),
    regex(
        rf"(?<![\w.-])(?P<first>{_END})(?:\s?[-–—]\s?|\s(?:to|through|until|till|bis|al?|au)\s)(?P<last>{_END})", re.I
    ),
    regex(
        rf"(?:从|從|在|自)?(?P<first>{_SIGN_END})\s?(?:到|至|から|부터|[-–—~〜～])\s?(?P<last>{_SIGN_END})"
        "(?:之间|之間|期间|期間|为止|の間|の?間|まで|까지|사이)?"
    ),
    regex(rf"(?P<first>{_SIGN_END})(?:和|与|跟|と)(?P<last>{_SIGN_END})(?:之间|之間|の間|期间)"),
)
_DASHED: Final = _RANGES[7]
"""Without a word before it, only what tells a day and a month is a range."""

_SINCE: Final = (
    regex(rf"\b(?:since|seit|desde|depuis)\s(?P<first>{_END})", re.I),
    regex(rf"(?:从|從|自)?(?P<first>{_SIGN_END})(?:以来|以來|以降|から|부터|起)"),
)
_OPENINGS: Final = regex(
    r"\b(?:between|from|zwischen|von|vom|entre|desde|del?|du|depuis|since|seit)\b|\bd['’]|[-–—~〜～]|\b(?:to|bis|until)\b"
    "|[到至和与跟とか부]|以",
    re.I,
)


class _Day(NamedTuple):
    """What an end of a range tells of its day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


def days_named(text: str, today: date | None, years: Iterable[int] = ()) -> list[Span]:
    """The spans of days that a question names, as `secom_core.text.dates.spans` reads them, with ranges as wholes."""
    years = list(years)
    ranges, rest = _ranges(text, today, years, weekdays=False)
    return list(dict.fromkeys([*ranges, *spans(rest, today, years)]))


def days_asked(text: str, today: date, years: Iterable[int] = ()) -> list[Span]:
    """The spans of days that a question is about which asks for what was said then.

    Args:
        text: the question.
        today: the day on which it is asked.
        years: the years that a date without a year may be in.

    Returns:
        First and last day of each, as ordinals; each pair once.
    """
    if not 200 < today.year < 9900:  # `datetime.date` ends at the years 1 and 9999
        return spans(text, today, years)
    years = list(years)
    found, rest = _ranges(text, today, years)
    since, rest = _since(rest, today)
    return list(dict.fromkeys([*found, *since, *spans(rest, today, years)]))


def without_periods(text: str) -> str:
    """The text without the words by which `days_asked` finds days in it."""
    some_day = date(2024, 7, 3)
    _, text = _ranges(text, some_day, [some_day.year])
    _, text = _since(text, some_day)
    return without_days(text)


def _ranges(text: str, today: date | None, years: list[int], *, weekdays: bool = True) -> tuple[list[Span], str]:
    """The ranges of a question, and the rest of it; weekdays are a range only in what asks for what was said then."""
    found: list[Span] = []
    possible = years or ([today.year] if today else [])

    def taken(match: re.Match[str], *, needs_day: bool) -> str:
        ends = _ends(match, today)
        if (
            ends is None
            or (ends[0].weekday is not None and not weekdays)
            or (needs_day and (None in (ends[1].month, ends[1].day) or ends[0].day is None))
        ):
            return match[0]
        read = [(first.toordinal(), last.toordinal()) for first, last in _spanned(*ends, possible, today)]
        found.extend(read)
        return " " if read else match[0]

    if len(text) <= _LONGEST and _OPENINGS.search(text):
        for pattern in _RANGES:
            text = pattern.sub(partial(taken, needs_day=pattern is _DASHED), text)
    return found, text


def _since(text: str, today: date) -> tuple[list[Span], str]:
    """The time from a day to the present one, and the rest of the question."""
    found: list[Span] = []

    def taken(match: re.Match[str]) -> str:
        day = _day(match["first"], today)
        begins = [first for first in _firsts(day, today) if first <= today] if day else []
        found.extend((first.toordinal(), today.toordinal()) for first in begins[:1])
        return " " if begins else match[0]

    if len(text) <= _LONGEST and _OPENINGS.search(text):
        for pattern in _SINCE:
            text = pattern.sub(taken, text)
    return found, text


def _firsts(day: _Day, today: date) -> Iterator[date]:
    """The days that an end may begin on, the latest first."""
    if day.weekday is not None:
        yield last_weekday(today, day.weekday)[0]
        return
    for year in [day.year] if day.year else [today.year, today.year - 1] if day.month else []:
        with suppress(ValueError):
            yield calendar_days(year, day.month, day.day)[0]


def _ends(match: re.Match[str], today: date | None) -> tuple[_Day, _Day] | None:
    """What the ends of a range tell, each completed by the other; nothing where they do not fit together."""
    first, last = _day(match["first"], today), _day(match["last"], today)
    if first is None or last is None or (first.weekday is None) != (last.weekday is None):
        return None
    if first.weekday is None:
        if first.month is None and first.day is not None:
            first = first._replace(month=last.month if last.day is not None else None, year=last.year)
        if last.month is None and last.day is not None:
            last = last._replace(month=first.month if first.day is not None else None)
        if not all(day.month or (day.year and day.day is None) for day in (first, last)):
            return None
    return first, last


def _day(text: str, today: date | None) -> _Day | None:
    """What one end of a range tells."""
    signs = _SIGN_PARTS.fullmatch(text)
    if signs is not None:
        year = int(signs["year"]) if signs["year"] else None
        if (signs["past"] or signs["present"]) and today is not None:
            year = today.year - bool(signs["past"])
        return _Day(year, *(_number(signs[part]) if signs[part] else None for part in ("month", "day")))
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return None
    if parts["weekday"]:
        return _Day(weekday=WEEKDAY_NUMBERS[parts["weekday"].lower()])
    year, day, month = (
        next((int(parts[name]) for name in names if parts[name]), None)
        for names in (
            ("iso", "year", "whole", "numeral_year"),
            ("iso_day", "day", "before", "after", "bare"),
            ("number", "numeral"),
        )
    )
    return _Day(year, MONTH_NUMBERS[parts["month"].lower()] if parts["month"] else month, day)


def _number(signs: str) -> int:
    """A number of at most two digits, also in Chinese characters."""
    if signs.isdecimal():
        return int(signs)
    tens, ten, ones = signs.rpartition("十")
    return (_HAN.get(tens, 1) * 10 if ten else 0) + _HAN.get(ones, 0)


def _spanned(first: _Day, last: _Day, years: list[int], today: date | None) -> Iterator[tuple[date, date]]:
    """The first and last day of a range, for each year that it may be in."""
    if last.weekday is not None and first.weekday is not None:
        if today is not None:
            end = last_weekday(today, last.weekday)[0]
            yield last_weekday(end + timedelta(days=1), first.weekday)[0], end
        return
    firsts = [first.year] if first.year else [last.year, last.year - 1] if last.year else years
    begins = [begin for year in firsts for begin in _calendar(year, first)]
    for begin in begins:
        in_years = [last.year] if last.year else [begin.year, begin.year + 1]
        ends = [end for year in in_years for end in _calendar(year, last, at_end=True) if end >= begin]
        if ends:
            yield begin, ends[0]
            if first.year is None and last.year is not None:
                return


def _calendar(year: int, day: _Day, *, at_end: bool = False) -> Iterator[date]:
    with suppress(ValueError):
        yield calendar_days(year, day.month, day.day)[at_end]
