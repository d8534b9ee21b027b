"""Dates and times of day, as people and programs write them at the head of a line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timezone, tzinfo
from typing import Final

from ..text.dates import MONTH, MONTHS, WEEKDAY_NUMBERS, month_number
from ..text.patterns import regex

_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_SHORT_MONTHS: Final = {
    name[:length].lower(): number
    for language, names in MONTHS.items()
    for number, name in enumerate(names, start=1)
    for length in (3, 4, 5)
    if language != "english" and name[:length] != "jui"
}
"""``févr``, ``sept``, ``ago`` and the like; ``jui`` would be June or July."""
_WEEKDAY: Final = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+)?"
_SIGN_WEEKDAY: Final = (
    r"(?:\s*(?:[（(](?:星期|周)?[一二三四五六日天月火水木金土](?:曜日?)?[）)]"
    r"|(?:星期|周)[一二三四五六日天]|[月火水木金土日]曜日?))?"
)
_OTHER_WEEKDAY: Final = rf"(?:(?:{'|'.join(WEEKDAY_NUMBERS)}),?\s+)?(?:(?:den|der|le|el|il)\s+)?"
_EARLY, _LATER = "上午|午前|凌晨|清晨|早上|오전", "下午|午後|中午|晚上|오후"
_DATES: Final = (
    regex(rf"(?P<y>\d{{4}})(?:[-/]|\. ?)(?P<m>\d{{1,2}})(?:[-/]|\. ?)(?P<d>\d{{1,2}}){_SIGN_WEEKDAY}\.?"),
    regex(rf"(?P<y>\d{{4}})年\s?(?P<m>\d{{1,2}})月\s?(?P<d>\d{{1,2}})[日号]{_SIGN_WEEKDAY}"),
    regex(rf"{_WEEKDAY}(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<m>{_MONTH}),?\s+(?P<y>\d{{4}})", re.I),
    regex(rf"{_WEEKDAY}(?P<m>{_MONTH})\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y>\d{{4}})", re.I),
    # In German, Spanish, French, Italian and Portuguese.
    regex(
        rf"{_OTHER_WEEKDAY}(?P<d>\d{{1,2}})(?:\.|er|º|°)?\s+(?:de\s+)?"
        rf"(?P<m>{MONTH}|(?:{'|'.join(_SHORT_MONTHS)})\b)\.?\s+(?:del?\s+)?(?P<y>\d{{4}})",
        re.I,
    ),
    # With dots, the day comes first everywhere.
    regex(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4})(?![\d.])"),
)
_TIME: Final = regex(
    rf"(?:(?P<early>{_EARLY})|(?P<later>{_LATER}))?\s?"
    r"(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d)(?:[.,]\d+)?)?\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"(?:\s?Uhr\b)?",
    re.I,
)
_BETWEEN: Final = regex(r"(?:\s|,|T|@|\bon\b|\bat\b|\bum\b|-|–)*", re.I)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date, a time of day, or both, as far as they are written."""

    day: date | None
    clock: time | None

    def on(self, day: date | None, zone: tzinfo = timezone.utc) -> datetime | None:
        """The point in time, on ``day`` where no date is written; midnight where no time is.

        Args:
            day: the day where none is written.
            zone: the time zone where none is written.
        """
        day = self.day or day
        clock = self.clock or time()
        return datetime.combine(day, clock, clock.tzinfo or zone) if day else None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _SHORT_MONTHS.get(text.lower()) or month_number(text)


def _clock(found: re.Match[str]) -> time:
    hour = int(found["h"])
    if found["half"] or found["early"] or found["later"]:
        hour = hour % 12 + (12 if found["later"] or (found["half"] or "a")[0] in "pP" else 0)
    zone = datetime.strptime(found["zone"].upper(), "%z").tzinfo if found["zone"] else None
    return time(hour, int(found["m"]), int(found["s"] or 0), tzinfo=zone)


def read_moment(text: str) -> Moment | None:
    """The date, the time or both that ``text`` consists of, in either order; None where it holds anything else."""
    dated = next((found for pattern in _DATES if (found := pattern.search(text))), None)
    rest = f"{text[: dated.start()]} {text[dated.end() :]}" if dated else text
    timed = _TIME.search(rest)
    rest = f"{rest[: timed.start()]} {rest[timed.end() :]}" if timed else rest
    if not (dated or timed) or not _BETWEEN.fullmatch(rest):
        return None
    try:
        day = date(int(dated["y"]), _month(dated["m"]), int(dated["d"])) if dated else None
        return Moment(day, _clock(timed) if timed else None)
    except ValueError:  # the 31st of June, 25:70
        return None
