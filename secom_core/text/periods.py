"""The days that a question asks for: ranges, seasons, weekends, and days counted back in more languages.

Beside `secom_core.text.dates`, whose expressions are looked for in all that is said. These are looked for in questions
only: a range, or the time since a day, in any, the others where the question is about what was said then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from itertools import chain, compress
from typing import Final, NamedTuple, TypeAlias

from .coming_days import coming_days
from .dates import (
    LONGEST_QUESTION,
    MONTH,
    MONTH_NUMBERS,
    WEEKDAY_NUMBERS,
    Span,
    calendar_days,
    counted,
    is_countable,
    last_weekday,
    spans,
    without_days,
)
from .day_words import ASKED
from .han import HAN_NUMBER, han_number
from .korean import korean_periods
from .lately import LATELY, past_times
from .month_parts import counted_parts, days_of_months, month_parts
from .patterns import regex
from .plain_days import plain_days
from .seasons import counted_seasons, days_read, periods
from .wording import folded_case, is_signed, signs

_Kind: TypeAlias = tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]
"""What an end looks like, and what stands before it and after it."""


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_NTH: Final = r"(?:st|nd|rd|th|er|\.)?"
_YEAR: Final = r"(?:19|20)\d\d"
# One end of a range: a date, a month, a year, a weekday, or a day whose month the other end tells.
_ENDS: Final = regex(
    r"(?<![\w.:/])(?:"
    r"(?P<iso>\d{4})-(?P<number>\d\d?)-(?P<iso_day>\d\d?)"
    rf"|(?P<day>\d\d?)\.(?P<numeral>\d\d?)\.(?P<numeral_year>{_YEAR})?"
    rf"|(?P<whole>{_YEAR})"
    rf"|(?:(?:the|dem|den|el|le)\s)?(?:(?:(?P<before>\d\d?){_NTH}\s(?:(?:of|de)\s)?)?(?P<month>{MONTH})\b\.?"
    rf"(?:\s(?P<after>\d\d?)(?:st|nd|rd|th)?(?![\w:]))?(?:,?\s(?:(?:of|del?)\s)?(?P<year>{_YEAR}))?"
    rf"|(?P<weekday>{_any(WEEKDAY_NUMBERS)})|(?P<bare>\d\d?){_NTH})"
    r")(?![\w:/])",
    re.I,
)
_SIGN_NUMBER: Final = rf"(?:\d\d?|{HAN_NUMBER})"
_SIGN_ENDS: Final = regex(
    r"(?<!\d)(?:(?:(?P<year>\d{4})[年년]|(?P<earlier>前年|一昨年|재작년)|(?P<past>去年|작년|지난해)|(?P<present>今年|올해|금년))\s?[的の]?)?"
    rf"(?:(?P<month>{_SIGN_NUMBER})[月월]份?(?:\s?(?P<day>{_SIGN_NUMBER})[日号號일])?|(?P<bare>{_SIGN_NUMBER})[日号號일])"
    r"|(?P<whole>\d{4})[年년]"
)
_YEARS_BACK: Final = {"earlier": 2, "past": 1, "present": 0}
_OPENING: Final = 12
"""How many characters the word before a range has at most."""

_BETWEEN: Final = "\0"
"""Stands between what is before the first end of a range and what is before the last one."""

# Without a word before it, only what tells a day and a month is a range.
_JOINTS: Final = regex(
    r"(?:\b(?:between\s\0\sand|from\s\0\s(?:up\s)?(?:to|until|till|through)|zwischen\s\0\sund|vo[nm]\s\0\sbis(?:\szum)?"
    r"|entre\s\0\s(?:y|e|et)|(?:desde|del?)\s\0\s(?:al?|hasta)|(?:depuis|de|du)\s\0\s(?:à|au)|d['’]\0\s(?:à|au))"
    r"|(?P<bare>\0)\s(?:to|through|until|till|bis|al?|au))\s\Z"
    r"|(?:\b(?:between|from|vo[nm]|del?|du)\s)?(?P<dashed>\0)\s?[-–—]\s?\Z",
    re.I,
)
_SIGN_JOINTS: Final = regex(r"[从從在自]?\0\s?(?:[到至和与與跟と와과]|から|부터|에서|[-–—~〜～])\s?\Z")
_CLOSINGS: Final = regex("(?:之间|之間|期间|期間|为止|為止|の?間|まで|까지|사이)?")
_SINCE: Final = regex(
    r"\b(?:since|seit|desde|depuis)\s"
    r"(?:(?:the|the\s(?:beginning|start)\sof|last|early|dem|der|anfang|letzte[mnr]|el|la|le)\s|l['’])?$",
    re.I,
)
_FROM: Final = regex(r"(?:\b(?:from|since|vo[nm]|seit|desde|del?|depuis|du)\s(?:(?:the|el|la|le)\s)?|\bd['’])$", re.I)
_TO_NOW: Final = regex(
    r"\s(?:(?:up\s)?(?:to|until|till?|through)\s(?:today|now)|bis\s(?:heute|jetzt)|(?:a|hasta)\s(?:hoy|ahora)"
    r"|(?:à|jusqu['’]à)\s(?:aujourd['’]hui|maintenant))\b",
    re.I,
)
_NOW_SIGNS: Final = ("today", " now", "heute", "jetzt", "hoy", "ahora", "aujourd", "maintenant")
_SIGN_TO_NOW: Final = regex(r"[到至](?:现在|今天|今日|今)|至今|から(?:今日|今|現在)まで|부터\s?(?:지금|오늘)까지")
_SIGN_NOW_SIGNS: Final = signs("现在|今|지금|오늘")
_SIGN_SINCE: Final = regex(r"以来|以來|以降|から|부터|起(?![床草诉訴来身飞])|\s?이후로?")
_SIGN_OPENING: Final = regex("[从從自]?$")
_NOTHING: Final = regex("")
_KINDS: Final = (_ENDS, _JOINTS), (_SIGN_ENDS, _SIGN_JOINTS)
_OPEN_KINDS: Final = (_ENDS, _SINCE, _NOTHING), (_SIGN_ENDS, _SIGN_OPENING, _SIGN_SINCE)
_TO_NOW_KINDS: Final = (_ENDS, _FROM, _TO_NOW), (_SIGN_ENDS, _SIGN_OPENING, _SIGN_TO_NOW)
_SINCE_SIGNS: Final = signs("since|seit|desde|depuis|以来|以降|から|부터|起|이후")
_NAME_HINTS: Final = frozenset(name[:3] for name in (*MONTH_NUMBERS, *WEEKDAY_NUMBERS))
"""A word begins so in whatever names an end without a digit; two do in ranges of such, maybe alike."""
_BEGINNING: Final = regex(r"\b\w{3}")
_SIGN_HINTS: Final = tuple("月日号號年년월")
_DIGITS: Final = tuple("0123456789")


class _Day(NamedTuple):
    """What an end of a range tells of its day."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


def days_named(text: str, today: date | None, years: Iterable[int] = ()) -> list[Span]:
    """The spans of days that a question names, as `secom_core.text.dates.spans` reads them, with ranges as wholes."""
    years, text = list(years), plain_days(text, today)
    until_now, rest = _until_now(text, today) if today else ([], text)
    ranges, rest = _ranges(rest, today, years, weekdays=False)
    since, rest = _since(rest, today) if today else ([], rest)
    parts, rest = month_parts(rest, today, years, is_whole=True)
    past, rest = past_times(rest, today) if today else ([], rest)
    found = [*until_now, *ranges, *since, *parts, *past, *spans(rest, today, years)]
    return list(dict.fromkeys(found or (coming_days(rest, today) if today else ())))


def days_asked(text: str, today: date, years: Iterable[int] = ()) -> list[Span]:
    """The spans of days that a question is about which asks for what was said then.

    Args:
        text: the question.
        today: the day on which it is asked.
        years: the years that a date without a year may be in.

    Returns:
        First and last day of each, as ordinals; each pair once.
    """
    if not is_countable(today):
        return spans(text, today, years)
    found, rest = _periods(text, today, list(years))
    return list(dict.fromkeys([*found, *spans(rest, today, years)]))


def without_periods(text: str) -> str:
    """The text without the words by which `days_asked` finds days in it."""
    some_day = date(2024, 7, 3)
    _, rest = _periods(text, some_day, [some_day.year])
    return without_days(rest if ASKED in text else rest.replace(ASKED, " "))


def _periods(text: str, today: date, years: list[int]) -> tuple[list[Span], str]:
    """All spans of a question about what was said then but for those that `spans` reads, and the rest of it."""
    text = plain_days(text, today, is_asked=True)
    until_now, text = _until_now(text, today)
    ranges, text = _ranges(text, today, years)
    since, text = _since(text, today)
    parts, text = month_parts(text, today, years)
    days, text = days_of_months(text, today)
    others, text = periods(text, today)
    korean, text = korean_periods(text, today)
    lately, text = days_read(text, today, LATELY)
    return [*until_now, *ranges, *since, *parts, *days, *others, *korean, *lately], text


def _ranges(text: str, today: date | None, years: list[int], *, weekdays: bool = True) -> tuple[list[Span], str]:
    """The ranges of a question, and the rest of it; weekdays are a range only in what asks for what was said then."""
    found: list[Span] = []
    possible = years or ([today.year] if today else [])
    for ends, joints in compress(_KINDS, _may_tell_days(text, 2)):
        rest, at = "", 0
        first: re.Match[str] | None = None
        for last in ends.finditer(text):
            joint = _joint(text, at, first, last, joints)
            days = _completed(_day(first, today), _day(last, today)) if first and joint else None
            spanned = list(_spanned(*days, possible, today)) if joint and days and _joins(joint, days, weekdays) else []
            if first and joint and spanned:
                found += [(begin.toordinal(), end.toordinal()) for begin, end in spanned]
                opening = joint.string.index(_BETWEEN) - joint.start()
                rest += f"{text[at : first.start() - opening]} "
                closing = _CLOSINGS.match(text, last.end())
                at, first = closing.end() if closing else last.end(), None
            else:
                first = last
        text = rest + text[at:]
    return found, text


def _joint(
    text: str, at: int, first: re.Match[str] | None, last: re.Match[str], joints: re.Pattern[str]
) -> re.Match[str] | None:
    """What makes a range of two ends: the word before them, and the one between."""
    if first is None:
        return None
    before = text[max(at, first.start() - _OPENING) : first.start()]
    return joints.search(f"{before}{_BETWEEN}{text[first.end() : last.start()]}")


def _until_now(text: str, today: date) -> tuple[list[Span], str]:
    """The time from a day to the present one where both are named, and the rest of the question."""
    folded = folded_case(text) if len(text) <= LONGEST_QUESTION else ""
    is_named = is_signed(folded, _NOW_SIGNS), is_signed(folded, _SIGN_NOW_SIGNS)
    if not any(is_named):
        return [], text
    written = [
        kind for kind, may, named in zip(_TO_NOW_KINDS, _may_tell_days(text, 1), is_named, strict=True) if may and named
    ]
    return _to_now(text, today, written, _TO_NOW_KINDS)


def _since(text: str, today: date) -> tuple[list[Span], str]:
    """The time from a day to the present one where this one is not named, and the rest of the question."""
    folded = folded_case(text) if len(text) <= LONGEST_QUESTION else ""
    relative = _OPEN_KINDS if is_signed(folded, _SINCE_SIGNS) else ()
    return _to_now(text, today, [*compress(_OPEN_KINDS, _may_tell_days(text, 1))], relative)


def _to_now(text: str, today: date, written: Iterable[_Kind], relative: Iterable[_Kind]) -> tuple[list[Span], str]:
    """The time since a day that is written, or counted back, with what stands before and after such a day."""
    for ends, *around in written:
        for end in ends.finditer(text):
            begins = [first for first in _firsts(_day(end, today), today) if first <= today]
            rest = _without(text, end, *around) if begins else None
            if rest is not None:
                return [(begins[0].toordinal(), today.toordinal())], rest
    for end, (first, _) in _counted(text, today) if relative else ():
        for _, *around in relative:
            rest = _without(text, end, *around)
            if rest is not None:
                return [(first.toordinal(), today.toordinal())], rest
    return [], text


def _counted(text: str, today: date) -> Iterator[tuple[re.Match[str], tuple[date, date]]]:
    """What counts days from that of a text, and the parts of months and the seasons in it, which have begun by then."""
    if not is_countable(today):
        return counted(text, today)
    return chain(counted_parts(text, today), counted_seasons(text, today), counted(text, today))


def _without(text: str, end: re.Match[str], before: re.Pattern[str], after: re.Pattern[str]) -> str | None:
    """The text without an end and what makes it an open one; nothing where it is none."""
    opening, closing = before.search(text[: end.start()]), after.match(text, end.end())
    return f"{text[: opening.start()]} {text[closing.end() :]}" if opening and closing else None


def _may_tell_days(text: str, names: int) -> tuple[bool, bool]:
    """Whether so many ends may stand in a text, in words and in signs; far faster than to look for them."""
    if len(text) > LONGEST_QUESTION:
        return False, False
    folded = folded_case(text)
    named = is_signed(folded, _DIGITS) or sum(map(_NAME_HINTS.__contains__, _BEGINNING.findall(folded))) >= names
    return named, is_signed(folded, _SIGN_HINTS)


def _joins(joint: re.Match[str], days: tuple[_Day, _Day], weekdays: bool) -> bool:
    """Whether what stands at two ends makes a range of them."""
    parts = joint.groupdict()
    if parts.get("bare") or parts.get("dashed"):
        return all(day.month and day.day for day in days)
    return weekdays or days[0].weekday is None


def _firsts(day: _Day, today: date) -> Iterator[date]:
    """The days that an end may begin on, the latest first."""
    if day.weekday is not None:
        yield last_weekday(today, day.weekday)[0]
        return
    for year in [day.year] if day.year else [today.year, today.year - 1] if day.month else []:
        with suppress(ValueError):
            yield calendar_days(year, day.month, day.day)[0]


def _completed(first: _Day, last: _Day) -> tuple[_Day, _Day] | None:
    """The ends of a range, each completed by the other; nothing where they do not fit together."""
    if first.weekday is not None or last.weekday is not None:
        return (first, last) if first.weekday is not None and last.weekday is not None else None
    if first.month is None and first.day is not None:
        first = first._replace(month=last.month if last.day is not None else None, year=last.year)
    if last.month is None and last.day is not None:
        last = last._replace(month=first.month if first.day is not None else None)
    is_whole = all(day.month or (day.year and day.day is None) for day in (first, last))
    return (first, last) if is_whole else None


def _day(end: re.Match[str], today: date | None) -> _Day:
    """What one end of a range tells."""
    parts = end.groupdict()
    if parts.get("weekday"):
        return _Day(weekday=WEEKDAY_NUMBERS[parts["weekday"].lower()])
    year, day, month = (
        next((_number(parts[name]) for name in names if parts.get(name)), None)
        for names in (
            ("iso", "year", "whole", "numeral_year"),
            ("iso_day", "day", "before", "after", "bare"),
            ("number", "numeral", "month"),
        )
    )
    back = next((years for name, years in _YEARS_BACK.items() if parts.get(name)), None)
    if today and back is not None:
        year = today.year - back
    return _Day(year, month, day)


def _number(text: str) -> int:
    """The number of a month by its name, or a number in digits or in Chinese characters."""
    return MONTH_NUMBERS.get(text.lower()) or han_number(text)


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
