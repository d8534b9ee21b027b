"""Christmas, Easter, New Year and 29 February as times of a question, and the days and weeks before and after them.

In English, German, Spanish, French, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final, TypeAlias

from .dates import calendar_days
from .patterns import regex
from .seasons import COUNT
from .told_years import OF_YEAR, YEAR, Form, Reader, between, form, number_told, part_named, year_told

_OfYear: TypeAlias = Callable[[int], "date | None"]

_AS_END: Final = regex(
    r"\b(?:between|from|since|until|till|and|to|zwischen|und|von|seit|bis|entre|y|desde|hasta|et|depuis|de)"
    r" (?:the |la )?$|[从從自到至]$",
    re.I,
)
"""What stands before a day that is an end of a range."""

_AS_BEGIN: Final = regex(" ?(?:到|至|から|以来|以後|之后|以后)")


def _feast(of_year: _OfYear, before: int = 0, after: int = 0) -> Reader:
    """What reads the last such day, with so many days before and after it where it is no end of a range."""

    def read(match: re.Match[str], today: date) -> str | None:
        told = year_told(match, today)
        day = _last(of_year, today, told)
        if day is None:
            return None
        is_end = _AS_END.search(match.string[: match.start()]) or _AS_BEGIN.match(match.string, match.end())
        is_alone = is_end or not before + after
        return str(day) if is_alone else between(day - timedelta(before), day + timedelta(after))

    return read


def _new_year(match: re.Match[str], today: date) -> str | None:
    """The turn of the year; the one that ends a year too, where that is counted back: people mean either."""
    told, read = year_told(match, today), _at_new_year(match, today)
    is_counted = told and not (part_named(match, "year") or "").isdecimal()
    end = date(told + 1, 1, 1) if told and is_counted else date.max
    return f"{read} {between(end - timedelta(1), end + timedelta(1))}" if read and end <= today else read


def _last(of_year: _OfYear, today: date, told: int | None) -> date | None:
    """Such a day of a year, or the last that has come."""
    days = map(of_year, [told] if told else range(today.year, today.year - 9, -1))
    return next((each for each in days if each and (told or each <= today)), None)


def _leap_day(year: int) -> date | None:
    last = calendar_days(year, 2)[1]
    return last if last.day > 28 else None


def _easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    moon = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - moon - of_century % 4) % 7
    late = (golden + 11 * moon + 22 * weekday) // 451
    month, day = divmod(moon + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


_at_new_year: Final = _feast(lambda year: date(year, 1, 1), before=1, after=1)

_NAMES: Final[dict[str, tuple[str, _OfYear]]] = {
    "christmas": (
        r"christmas(?: day| eve)?|weihnachten|(?:la )?navidad(?:es)?|noël|圣诞节?|聖誕節?|クリスマス",
        lambda year: date(year, 12, 25),
    ),
    "easter": (r"easter(?: sunday)?|ostern|(?:la )?semana santa|pâques|复活节|復活節|イースター", _easter),
    "eve": (r"new year['’]?s eve|silvester|nochevieja|(?:la )?saint-sylvestre|大晦日", lambda year: date(year, 12, 31)),
    "newyear": (
        r"new year(?:['’]?s(?: day)?)?|neujahr|(?:el )?año nuevo|(?:le )?nouvel an|元旦|元日|お?正月",
        lambda year: date(year, 1, 1),
    ),
}
"""How each feast is called whose eve, or week, may be named, and when it is."""

_UNITS: Final = {
    **dict.fromkeys(("weekend", "week-end", "wochenende", "fin de semana", "周末", "週末"), 2),
    **dict.fromkeys(("day", "tag", "día", "jour", "天", "日"), 1),
    **dict.fromkeys(("week", "woche", "semana", "semaine", "周", "星期", "週", "礼拜"), 7),
    **dict.fromkeys(("month", "monat", "mes", "mois", "月"), 30),
}
"""How many days each unit has; the weekend its two."""

_UNIT: Final = "|".join(sorted(_UNITS, key=len, reverse=True))
_WEEKEND: Final = 2


def _beside(match: re.Match[str], today: date) -> str | None:
    """The days beside the last such day beside which they have begun."""
    name = next(each for each in _NAMES if part_named(match, each))
    told, is_before = year_told(match, today), part_named(match, "before") is not None
    length, number = _UNITS[(part_named(match, "unit") or "").lower().rstrip("s")], number_told(match)
    reach = timedelta(length * number if is_before else 0)
    day = _last(_NAMES[name][1], today + reach, told)
    if day is None:
        return None
    if length == _WEEKEND:
        saturday = (
            day - timedelta((day.weekday() + 1) % 7 + 1) if is_before else day + timedelta(6 - (day.weekday() + 1) % 7)
        )
        return between(saturday, saturday + timedelta(1))
    if name == "christmas" and not is_before:
        day += timedelta(1)  # Boxing Day is a part of it
    away, sign = timedelta(length * number), -1 if is_before else 1
    if number > 1:
        # Nobody remembers to the day.
        return between(day + sign * away - timedelta(length // 2), day + sign * away + timedelta(length // 2))
    nearest, farthest = day + sign * timedelta(1), day + sign * away
    return str(nearest) if length == 1 else between(min(nearest, farthest), max(nearest, farthest))


def _named(suffix: str) -> str:
    """Any of the feasts, in groups with a suffix."""
    return "(?:" + "|".join(rf"(?P<{group}_{suffix}>{names})" for group, (names, _) in _NAMES.items()) + ")"


def _of_year(suffix: str) -> str:
    """A year that may be told, in a group with a suffix."""
    return OF_YEAR.replace("<year>", f"<year_{suffix}>") + "?"


_LISTED: Final = (
    "christmas|weihnacht|navidad|noël|easter|ostern|semana santa|pâques|new year|silvester|neujahr|nochevieja|año nuevo"
    "|nouvel an|sylvestre|圣诞|聖誕|クリスマス|复活|復活|イースター|元旦|元日|正月|大晦日"
)
OF_FEASTS: Final[tuple[Form, ...]] = (
    form(
        _LISTED,
        rf"\b(?:the )?(?:(?P<n_a>{COUNT}) )?(?P<unit_a>{_UNIT})s? (?:(?P<before_a>before|prior to)|after|following)"
        rf" {_named('a')}\b{_of_year('a')}"
        rf"|\b(?:(?P<n_b>{COUNT}) )?(?P<unit_b>tag|woche|wochenende|monat)(?:e?n?) (?:(?P<before_b>vor)|nach) "
        rf"{_named('b')}\b{_of_year('b')}"
        rf"|\b(?:la |el )?(?:(?P<n_c>{COUNT}) )?(?P<unit_c>día|semana|fin de semana|mes)(?:e?s)? "
        rf"(?:(?P<before_c>antes de|anterior a)|después de|siguiente a) {_named('c')}\b{_of_year('c')}"
        rf"|\b(?:la |le )?(?:(?P<n_d>{COUNT}) )?(?P<unit_d>jour|semaine|week-end|mois)s? "
        rf"(?:(?P<before_d>d['’]avant|avant)|d['’]après|après) {_named('d')}\b{_of_year('d')}"
        rf"|(?:(?P<year_e>{YEAR})年?[的の]?)?{_named('e')}(?:(?P<before_e>之?前|以前)|之?[后後]|以后)"
        rf"[的の]?(?:那个?|(?P<n_e>{COUNT})个?)?(?P<unit_e>天|周末|週末|周|星期|週|礼拜|月|日)"
        rf"|(?:(?P<year_f>{YEAR})年?の?)?{_named('f')}の(?:(?P<before_f>前)|次|[後あ]と?)の(?P<unit_f>日|週末|週|月)",
        _beside,
    ),
    form(
        "christmas|weihnacht|navidad|noël|圣诞|聖誕|クリスマス",
        r"\b(?:at|on|over|during|around|for|last|this|zu|an|über|en|por|à|letzte|diese) "
        rf"(?:christmas(?: day| eve)?|weihnachten|navidad(?:es)?|noël)\b{OF_YEAR}?"
        rf"|\b(?P<year_told>{YEAR}),? (?:at|on|over|an|zu|über|en|por|à) "
        r"(?:christmas|weihnachten|navidad(?:es)?|noël)\b"
        rf"|(?:(?P<year_before>{YEAR})年?[的の]?)?(?:圣诞节?|聖誕節?|クリスマス)(?!树|樹|礼物|禮物|卡|カード|ツリー|プレゼント)",
        _feast(lambda year: date(year, 12, 24), after=2),
    ),
)
"""The days beside feasts, and Christmas with a word that makes a time of it."""

FEASTS: Final[tuple[Form, ...]] = (
    form(
        "easter|oster|pâques|semana santa|pascua|复活节|イースター",
        rf"\b(?:easter|ostern?|pâques|semana santa|pascua)\b(?: sunday| monday)?{OF_YEAR}?"
        rf"|(?:(?P<year_before>{YEAR})年?[的の]?)?(?:复活节|復活節|イースター)",
        _feast(_easter, before=2, after=1),
    ),
    form(
        "new year|silvester|nochevieja|sylvestre|大晦日",
        rf"\b(?:new year['’]?s eve|silvester|nochevieja|(?:la )?saint-sylvestre)\b{OF_YEAR}?"
        rf"|(?:(?P<year_before>{YEAR})年?の?)?大晦日",
        _feast(lambda year: date(year, 12, 31)),
    ),
    form(
        "new year|neujahr|año nuevo|nouvel an|元旦|元日|お正月",
        rf"\b(?:new year(?!['’]?s resol)(?:['’]?s(?: day)?)?|neujahr|año nuevo|(?:le )?nouvel an)\b{OF_YEAR}?"
        rf"|(?:(?P<year_before>{YEAR})年?[的の]?)?(?:元旦|元日|お?正月)",
        _new_year,
    ),
    form(
        "leap day|schalttag|día bisiesto|jour bissextile|闰日|うるう日",
        rf"\b(?:leap day|schalttag|día bisiesto|jour bissextile)\b{OF_YEAR}?|闰日|うるう日",
        _feast(_leap_day),
    ),
)
"""Feasts that are subjects too, where not all that was said then is asked for."""
