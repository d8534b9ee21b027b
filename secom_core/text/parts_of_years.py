"""Parts of years, months and weeks that a question names: "late in 2023", "this time last year", "two Fridays ago".

In English; most of them in German, Spanish, French, Chinese and Japanese too.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from .dates import MONTH, MONTH_NUMBERS, MONTHS, WEEKDAY_NUMBERS, calendar_days, last_weekday
from .han import HAN_NUMBER, han_number
from .seasons import COUNT
from .told_years import OF_YEAR, YEAR, Form, between, form, number_told, part_named, year_told

_BOUNDS: Final = {"begin": (1, 3), "early": (1, 4), "middle": (5, 8), "late": (9, 12), "end": (10, 12)}
"""The first and the last month of each part of a year."""

_COMMON_YEAR: Final = 2023
"""A year without 29 February."""

_ABOUT: Final = 15
"""How many days before and after this time of last year are it too."""


def _part(match: re.Match[str], today: date) -> str:
    first, last = next(months for part, months in _BOUNDS.items() if part_named(match, part))
    year = year_told(match, today) or today.year
    return between(date(year, first, 1), calendar_days(year, last)[1])


def _earlier_this_year(match: re.Match[str], today: date) -> str:
    return between(date(today.year, 1, 1), today)


def _this_time(match: re.Match[str], today: date) -> str:
    year = today.year - number_told(match) if part_named(match, "n") else year_told(match, today) or today.year - 1
    last = calendar_days(year, today.month)[1]
    middle = min(last, today.replace(year=year, day=min(today.day, last.day)))
    return between(middle - timedelta(_ABOUT), middle + timedelta(_ABOUT))


def _month_in_signs(match: re.Match[str], today: date) -> str:
    return f"{match['year']}年{han_number(match['month'])}月"


def _week_of_month(match: re.Match[str], today: date) -> str:
    """Such a week; in whichever years are possible, as of other days of a month, where none is told."""
    month, told = MONTH_NUMBERS[(part_named(match, "month") or "").lower()], year_told(match, today)
    first, last = calendar_days(told or _COMMON_YEAR, month)
    nth = (part_named(match, "nth") or "").lower()
    place = next((place for place, names in enumerate(_NTH) if nth in names), None)
    begin = first + timedelta(7 * place) if place is not None else last - timedelta(6)
    end = begin + timedelta(6)
    if told:
        return between(begin, end)
    name = MONTHS["english"][month - 1]
    return f"between {name} {begin.day} and {name} {end.day}"


def _weekday_of_last_week(match: re.Match[str], today: date) -> str:
    weekday = WEEKDAY_NUMBERS[(part_named(match, "day") or "").lower()]
    return str(today - timedelta(today.weekday() + 7 - weekday))


def _weekdays_ago(match: re.Match[str], today: date) -> str:
    weekday = WEEKDAY_NUMBERS[(part_named(match, "day") or "").lower()]
    back = 2 if part_named(match, "before") else number_told(match)
    return str(last_weekday(today, weekday)[0] - timedelta(7 * (back - 1)))


def _weekends_ago(match: re.Match[str], today: date) -> str:
    back = 2 if part_named(match, "before") else number_told(match)
    saturday = today - timedelta((today.weekday() - 5) % 7) - timedelta(7 * (back - (today.weekday() < 5)))
    return between(saturday, saturday + timedelta(1))


def _quarter(match: re.Match[str], today: date) -> str:
    quarter = today.year * 4 + (today.month - 1) // 3 - (part_named(match, "last") is not None)
    year, number = divmod(quarter, 4)
    return between(date(year, 3 * number + 1, 1), calendar_days(year, 3 * number + 3)[1])


def _other_day(match: re.Match[str], today: date) -> str:
    return between(today - timedelta(14), today - timedelta(1))


def _several(match: re.Match[str], today: date) -> str:
    return f"three {match['unit']} ago"


def _on_it(match: re.Match[str], today: date) -> str:
    return "on "


def _short_year(match: re.Match[str], today: date) -> str:
    return f"20{match['year']}"


_NTH: Final = (("first", "ersten"), ("second", "zweiten"), ("third", "dritten"), ("fourth", "vierten"))
_NTHS: Final = "|".join((*(name for names in _NTH for name in names), "last", "letzten"))
_WEEKDAY: Final = "|".join(WEEKDAY_NUMBERS)
_LATIN_YEAR: Final = rf"{YEAR}|(?:l['’])?année dernière|dieses jahr(?:es)?"
_TIME: Final = (
    r"(?:(?:at |around |about |by |roughly )?(?:this|the same) (?:very )?time(?: of (?:the )?year)?"
    r"|(?:um|zu) (?:diese|dieser|die gleiche|dieselbe|der gleichen) zeit|(?:por|en) estas fechas|por esta época"
    r"|à (?:la même|cette) (?:époque|période))"
)
PARTS_OF_YEARS: Final[tuple[Form, ...]] = (
    form("'|’", r"(?<=[a-zäé] )['’](?P<year>[0-4]\d)\b(?!['’]?s)", _short_year),
    form(
        "time|zeit|fechas|época|époque|période",
        rf"\b{_TIME}{OF_YEAR}",
        _this_time,
    ),
    form(
        "zeit|fechas|época|époque|période|time",
        rf"\b(?P<year>{YEAR}),? {_TIME}",
        _this_time,
    ),
    form(
        "时候|此时|同期|今頃|今ごろ|時期|時候",
        rf"(?P<year>去年|昨年|前年|一昨年|(?P<n>{COUNT})年前)[的の]?(?:这个?时候|這個?時候|此时|此時|同期|今頃|今ごろ|この時期|同じ時期)",
        _this_time,
    ),
    form(
        "early|beginning|start|mid|late|end |anfang|mitte|ende|principio|comienzo|mediados|final|début|fin ",
        r"\b(?:in |at |by |von |a |au |à )?(?:the )?"
        r"(?:(?P<begin>(?:very )?(?:beginning|start) of|anfang|principios de|comienzos de|(?:le )?début(?: de)?)"
        r"|(?P<early>early(?: in| on in)?)|(?P<middle>mid-?|middle of|mitte|mediados de|(?:la )?mi-)"
        r"|(?P<late>late(?: in)?)|(?P<end>(?:very )?end of|ende|fin(?:al)?es de|la fin de|fin(?: de)?))"
        rf"(?: |(?<=-))(?:l (?=año))?(?P<year>{_LATIN_YEAR})(?![\w/-])",
        _part,
    ),
    form(
        "principio|comienzo|mediados|final",
        r"\ba (?:(?P<begin>principios|comienzos)|(?P<middle>mediados)|(?P<end>fin(?:al)?es)) del"
        r" (?P<year>año pasado)\b",
        _part,
    ),
    form(
        "初|底|末|年中|始",
        r"(?P<year>(?:19|20)\d\d年|去年|今年|昨年|前年|一昨年)[的の]?"
        r"(?:(?P<begin>年?初め?|年始|の初め)|(?P<middle>年中(?!的?旅))|(?P<end>年?[底末]|終わり))(?![月日])",
        _part,
    ),
    # Of a day that is named the days beside it are seen too.
    form(
        "week|around",
        rf"\b(?:(?:on |in |over |during )?the week(?:end)? of|around) (?=\d|(?:{MONTH}) \d|the \d)",
        _on_it,
    ),
    form("年", rf"(?P<year>(?:19|20)\d\d)年[的の]?(?P<month>{HAN_NUMBER})月", _month_in_signs),
    form(
        "week|woche",
        rf"\b(?:in )?(?:the )?(?P<nth>{_NTHS}) week (?:of|in) (?P<month>{MONTH})\b{OF_YEAR}?"
        rf"|\b(?:in )?(?:der )?(?P<nth_de>{_NTHS})"
        rf" (?:woche (?:im|des) (?P<month_de>{MONTH})|(?P<month_w>{MONTH})woche)\b"
        rf"{OF_YEAR.replace('<year>', '<year_de>')}?",
        _week_of_month,
    ),
    form(
        "last week|letzte|vorige|pasada|dernière",
        rf"\b(?:on )?(?P<day>{_WEEKDAY}),? (?:of )?last week\b|\blast week(?:['’]s|,? on)? (?P<day_b>{_WEEKDAY})\b"
        rf"|\b(?:letzte|vorige) woche,? (?:am )?(?P<day_c>{_WEEKDAY})\b"
        rf"|\b(?:am )?(?P<day_d>{_WEEKDAY}) (?:der )?(?:letzte|vorige)[nr]? woche\b"
        rf"|\b(?:el )?(?P<day_e>{_WEEKDAY}) de la semana pasada\b|\b(?P<day_f>{_WEEKDAY}) de la semaine dernière\b",
        _weekday_of_last_week,
    ),
    form(
        "ago|before last|vorletzt",
        rf"\b(?P<n>{COUNT}) (?P<day>{_WEEKDAY})s ago\b"
        rf"|\b(?:on )?(?:the )?(?P<day_b>{_WEEKDAY}) (?P<before_b>before last)\b"
        rf"|\b(?:am |den )?(?P<before_c>vorletzten) (?P<day_c>{_WEEKDAY})\b",
        _weekdays_ago,
    ),
    form(
        "weekend|wochenende",
        rf"\b(?P<n>{COUNT}) weekends ago\b|\b(?:on )?(?:the )?weekend (?P<before>before last)\b"
        r"|\b(?:am )?(?P<before_b>vorletzte)[sn] wochenende\b",
        _weekends_ago,
    ),
)
"""What is written as a date wherever a question names it."""

PARTS_OF_THE_PAST: Final[tuple[Form, ...]] = (
    form("earlier|dieses jahr", r"\bearlier (?:on )?this year\b|\bfrüher (?:in )?diese[sm] jahr\b", _earlier_this_year),
    form(
        "quart|季|四半期|trimestre",
        r"\b(?:in )?(?:the )?(?:(?P<last>last|past|previous)|this) quarter\b(?! (?:of|to|past)\b)"
        r"|\b(?:im )?(?:(?P<last_b>letzte|vorige)|diese)[snm] quartal\b"
        r"|(?:(?P<last_c>上个?|先)|这个?|本)(?:季度|四半期)"
        r"|\b(?:el )?trimestre (?P<last_d>pasado)\b|\ble trimestre (?P<last_e>dernier)\b",
        _quarter,
    ),
    form("other day", r"\bthe other day\b", _other_day),
    form("ago", r"\b(?:several|some|a number of) (?P<unit>days|weeks|months|years) ago\b", _several),
)
"""What is written so where what was is asked for."""
