"""Parts of a month, days of one that is not named, and "since Christmas", in questions: "mid-June", "on the 25th".

In English, German, Spanish, French, Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from itertools import islice
from typing import Final

from .dates import LONGEST_QUESTION, MONTH, MONTH_NUMBERS, Days, Span, calendar_days
from .han import HAN_NUMBER, han_number
from .patterns import regex
from .seasons import days_read, year_of
from .wording import folded_case, is_signed, signs

_EARLY: Final = (
    r"early|(?:the\s)?(?:beginning|start)\sof|anfang|(?:a\s)?(?:principios|comienzos|inicios)\sde"
    r"|(?:au\s)?début(?:\sde)?"
)
_MIDDLE: Final = r"mid|(?:the\s)?middle\sof|mitte|(?:a\s)?mediados\sde|(?:à\s)?(?:la\s)?mi"
_END: Final = r"(?:the\s)?end\sof|ende|(?:a\s)?fin(?:al)?es\sde|(?:à\sla\s)?fin(?:\sde)?"
_PART: Final = regex(
    rf"\b(?:(?P<early>{_EARLY})|(?P<middle>{_MIDDLE})|(?P<late>late)|(?P<end>{_END}))(?:\s(?:d['’])?|-)"
    rf"(?P<month>{MONTH})\b\.?(?:,?\s(?:of\s|del?\s)?(?P<year>(?:19|20)\d\d)\b)?",
    re.I,
)
_SIGN_PART: Final = regex(
    r"(?:(?P<year>(?:19|20)\d\d|[今去昨前])年[的の]?)?(?<![\d一二三四五六七八九十])"
    rf"(?P<month>\d\d?|{HAN_NUMBER})月份?[的の]?"
    "(?:(?P<first>上旬|初旬)|(?P<second>中旬)|(?P<third>下旬)|(?P<early>初)|(?P<end>[底末]))"
)
_KOREAN_PART: Final = regex(
    r"(?:(?P<year>(?:19|20)\d\d)년\s?)?(?<!\d)(?P<month>\d\d?)월\s?"
    r"(?:(?P<first>상순|초순)|(?P<second>중순)|(?P<third>하순)|(?P<early>초)|(?P<end>말))"
    "(?=에|엔|쯤|경|의|부터|까지|이후|$|[^가-힣])"
)
_PARTS: Final = _PART, _SIGN_PART, _KOREAN_PART
_PART_SIGNS: Final = signs(
    "early|beginning of|start of|mid|late |end of|ende |anfang|mitte|principios|comienzos|inicios|mediados|finales"
    "|mi-|fin |début|月|월"
)
# Nobody remembers days exactly: but for those that are counted in tens, parts reach into one another.
_BOUNDS: Final = {
    "early": (1, 15),
    "middle": (9, 22),
    "late": (16, 31),
    "end": (21, 31),
    "first": (1, 10),
    "second": (11, 20),
    "third": (21, 31),
}
"""The first and the last day of each part."""

# A day of its own, and nothing that it is the number of: "on the 25th chapter".
_CLOSES: Final = r"(?=\s*(?:[?!.,;:]|$)"
_CLOSES_ENGLISH: Final = rf"{_CLOSES}|\s(?:did|do|was|were|we|I|you|have|had|what)\b)"
_CLOSES_GERMAN: Final = rf"{_CLOSES}|\s(?!(?:{MONTH})\b)(?-i:[a-zäöü]))"
_DAY_OF_MONTH: Final = regex(
    rf"\bon\sthe\s(?P<day>\d\d?)(?:st|nd|rd|th)(?:\sof\s(?:(?P<last>last)|this|the)\smonth)?{_CLOSES_ENGLISH}"
    rf"|\bam\s(?P<day_de>\d\d?)\.(?:\s(?:(?P<last_de>letzten|vorigen)|diesen|des)\smonats)?{_CLOSES_GERMAN}"
    r"|\b(?:el|le)\s(?P<day_es>\d\d?)(?:\s(?:(?P<last_es>del\smes\spasado|du\smois\sdernier)|de\s(?:este\smes|ce\smois)))?"
    rf"{_CLOSES})",
    re.I,
)
_DAY_ALONE: Final = regex(
    rf"(?<=\bthe\s)(?P<day>\d\d?)(?:st|nd|rd|th){_CLOSES_ENGLISH}"
    rf"|(?<=\bdem\s)(?P<day_de>\d\d?)\.{_CLOSES_GERMAN}|(?<=\b[el][le]\s)(?P<day_es>\d\d?){_CLOSES})",
    re.I,
)
_CHRISTMAS: Final = regex(
    r"\b(?:christmas(?:\s(?:day|eve))?|weihnachten|navidad(?:es)?|noël)\b(?:\s(?:of\s|del?\s)?(?P<year>(?:19|20)\d\d)\b)?",
    re.I,
)
_OTHER_SIGNS: Final = signs("christmas|weihnacht|navidad|noël")


def month_parts(
    text: str, today: date | None, years: Iterable[int], *, is_whole: bool = False
) -> tuple[list[Span], str]:
    """The spans of days of the parts of months that a question names, and the rest of it.

    Args:
        text: the question.
        today: the day on which it is asked.
        years: the years that a month without a year may be in; the one of ``today`` where there are none.
        is_whole: whether whole months are given for their parts.
    """
    found: list[Span] = []
    possible = list(years) or ([today.year] if today else [])

    def taken(match: re.Match[str]) -> str:
        told = _year_told(match, today)
        days = [each for year in ([told] if told else possible) for each in _days(match, year, is_whole=is_whole)]
        found.extend((first.toordinal(), last.toordinal()) for first, last in days)
        return " " if days else match[0]

    for pattern in _PARTS if len(text) <= LONGEST_QUESTION and is_signed(folded_case(text), _PART_SIGNS) else ():
        text = pattern.sub(taken, text)
    return found, text


def counted_parts(text: str, today: date) -> Iterator[tuple[re.Match[str], Days]]:
    """The parts of months, days of one, and Christmases in a text, each the last that has begun unless it tells."""
    folded = folded_case(text)
    for pattern in _PARTS if is_signed(folded, _PART_SIGNS) else ():
        for match in pattern.finditer(text):
            told = _year_told(match, today)
            found = [days for year in _years(told, today) for days in _days(match, year) if told or days[0] <= today]
            yield from ((match, days) for days in found[:1])
    for match in _DAY_ALONE.finditer(text):
        yield from ((match, days) for days in _day_of_month(match, today))
    for match in _CHRISTMAS.finditer(text) if is_signed(folded, _OTHER_SIGNS) else ():
        yield from ((match, days) for days in _christmas(match, today))


def days_of_months(text: str, today: date) -> tuple[list[Span], str]:
    """The days of a question whose month is not named, and the rest of it.

    Args:
        text: a question about what was said then.
        today: the day on which it is asked.
    """
    return days_read(text, today, ((_DAY_OF_MONTH, _day_of_month),))


def _year_told(match: re.Match[str], today: date | None) -> int | None:
    year = match["year"]
    return (year_of(year, today) if today else int(year) if year.isdecimal() else None) if year else None


def _years(told: int | None, today: date) -> list[int]:
    return [told] if told else [today.year, today.year - 1]


def _days(match: re.Match[str], year: int, *, is_whole: bool = False) -> Iterator[Days]:
    """First and last day of a part of a month."""
    month = MONTH_NUMBERS.get(match["month"].lower()) or han_number(match["month"])
    first, last = next(bounds for part, bounds in _BOUNDS.items() if match.groupdict().get(part))
    with suppress(ValueError):
        begin, end = calendar_days(year, month)
        yield (begin, end) if is_whole else (begin.replace(day=first), end.replace(day=min(last, end.day)))


def _day_of_month(match: re.Match[str], today: date) -> Iterator[Days]:
    """The last such day that has come, or the one of the last month."""
    parts = match.groupdict()
    day = int(next(parts[each] for each in ("day", "day_de", "day_es") if parts[each]))
    is_last = any(parts.get(each) for each in ("last", "last_de", "last_es"))
    months = islice(_months_back(today), 1 if is_last else 0, 2 if is_last else 4)
    days = (found for month in months for found in _day_in(month, day) if found <= today)
    yield from ((found, found) for found in islice(days, 1))


def _months_back(today: date) -> Iterator[date]:
    """The first day of this month, and of those before it."""
    while True:
        today = today.replace(day=1)
        yield today
        today -= timedelta(1)


def _day_in(month: date, day: int) -> Iterator[date]:
    with suppress(ValueError):
        yield month.replace(day=day)


def _christmas(match: re.Match[str], today: date) -> Iterator[Days]:
    """The Christmas of the year that is told, or the last that has begun."""
    told = _year_told(match, today)
    begins = (date(each, 12, 24) for each in _years(told, today))
    yield from ((begin, begin + timedelta(2)) for begin in islice((day for day in begins if told or day <= today), 1))
