"""Days to come that a text names, counted from its own: "tomorrow", "next Friday", "in two weeks".

In English, German, Spanish, French, Chinese and Japanese; in English also "on Friday" where the sentence tells a plan
(`secom_core.text.plans`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final, TypeAlias

from .dates import UNIT_DAYS, WEEKDAY_NUMBERS, Days, Span, calendar_days, is_countable
from .han import HAN_NUMBER, han_number, one_way
from .patterns import regex
from .plans import is_planned
from .seasons import NUMBERS
from .wording import folded_case, is_signed, signs

_Reader: TypeAlias = Callable[[re.Match[str], date], Days | None]
_Form: TypeAlias = tuple[tuple[str, ...], re.Pattern[str], _Reader]

_WEEKDAY: Final = "|".join(WEEKDAY_NUMBERS)
_ENGLISH_WEEKDAY: Final = "|".join([*WEEKDAY_NUMBERS][:7])
_COUNT: Final = rf"(?P<count>\d\d?|a|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
_HAN_DAYS: Final = "一二三四五六日天"
_KANJI_DAYS: Final = "月火水木金土日"


def coming_days(text: str, today: date) -> list[Span]:
    """First and last day of each time to come that a text names, as ordinals.

    Args:
        text: what is said, or asked.
        today: the day on which it is.
    """
    folded = folded_case(text)
    if not is_signed(folded, _SIGNS) or not is_countable(today):
        return []
    forms = ((pattern, read) for listed, pattern, read in _FORMS if is_signed(folded, listed))
    found = (read(match, today) for pattern, read in forms for match in pattern.finditer(text))
    return list(dict.fromkeys((days[0].toordinal(), days[1].toordinal()) for days in found if days))


def _ahead(days: int) -> _Reader:
    return lambda match, today: (today + timedelta(days),) * 2


def _next_week(match: re.Match[str], today: date) -> Days:
    monday = today + timedelta(7 - today.weekday())
    return monday, monday + timedelta(6)


def _next_weekend(match: re.Match[str], today: date) -> Days:
    """The coming weekend, or the one after it: people mean either."""
    saturday = today + timedelta((5 - today.weekday()) % 7 or 7)
    return saturday, saturday + timedelta(8)


def _next_month(match: re.Match[str], today: date) -> Days:
    year, month = divmod(today.year * 12 + today.month, 12)
    return calendar_days(year, month + 1)


def _planned_weekday(match: re.Match[str], today: date) -> Days | None:
    """The coming such day, where the sentence tells a plan; `secom_core.text.dates` reads the last one in others."""
    return _coming(match["on"], today) if is_planned(match) else None


def _coming(weekday: str, today: date) -> Days:
    return (today + timedelta((WEEKDAY_NUMBERS[weekday.lower()] - today.weekday() - 1) % 7 + 1),) * 2


def _next_weekday(match: re.Match[str], today: date) -> Days:
    """The coming such day, or the one after it: people mean either."""
    name = next(part for part in match.groups() if part)
    first, _ = _coming(name, today)
    return first, first + timedelta(7)


def _weekday_of_next_week(match: re.Match[str], today: date) -> Days:
    weekday = _KANJI_DAYS.index(match["kanji"]) if match["kanji"] else min(_HAN_DAYS.index(match["day"]), 6)
    return (today + timedelta(7 - today.weekday() + weekday),) * 2


def _in_so_many(match: re.Match[str], today: date) -> Days:
    count, unit = (one_way(part.lower()) for part in match.groups() if part)
    number, length = NUMBERS.get(count) or han_number("1" if count == "a" else count), UNIT_DAYS[unit]
    middle = today + timedelta(min(number, 100) * length)
    return middle - timedelta(length // 2), middle + timedelta(length // 2)


def _form(listed: str, pattern: str, read: _Reader) -> _Form:
    return signs(listed), regex(pattern, re.I), read


_FORMS: Final[tuple[_Form, ...]] = (
    _form(
        "tomorrow|morgen|mañana|demain|明",
        # "Morgen" is the morning too.
        r"(?<!day after )\btomorrow\b|(?<!heute )(?<!jeden )(?<!am )(?<!guten )\b(?-i:morgen)\b"
        r"|(?:\A|[.!?] )(?-i:Morgen)(?= (?-i:[a-zäöü]))"
        r"|(?<!la )(?<!esta )(?<!pasado )\bmañana\b|(?<!après-)\bdemain\b|明天|明晚|明早|明日",
        _ahead(1),
    ),
    _form(
        "after tomorrow|übermorgen|pasado mañana|après-demain|后天|後天|明後日|あさって",
        r"\bday after tomorrow\b|\bübermorgen\b|\bpasado mañana\b|\baprès-demain\b|(?<!大)[后後]天|明後日|あさって",
        _ahead(2),
    ),
    _form(
        "next week|coming week|nächste|kommende|viene|próxima|prochaine|下|来週",
        r"\b(?:next|coming) week\b|\b(?:nächste|kommende)[nr]? woche\b|\bsemana (?:que viene|próxima)\b"
        r"|\bpróxima semana\b|\bsemaine prochaine\b"
        r"|下个?(?:周|星期|礼拜)(?![一二三四五六日天末])|(?<!再)来週(?!末|の?[月火水木金土日]曜)",
        _next_week,
    ),
    _form(
        "weekend|week-end|wochenende|fin de semana|末",
        r"\b(?:next|the coming) weekend\b|\b(?:nächste|kommende)[sn]m? wochenende\b|\bpróximo fin de semana\b"
        r"|\bweek-end prochain\b|下个?周末|(?:来週|今度)の?週末",
        _next_weekend,
    ),
    _form(
        "next month|coming month|nächste|kommende|viene|próximo|prochain|下|来月",
        r"\b(?:next|coming) month\b|\b(?:nächste|kommende)[nm] monat\b|\bmes (?:que viene|próximo)\b|\bpróximo mes\b"
        r"|\bmois prochain\b|下个?月|来月",
        _next_month,
    ),
    _form(
        "next |this coming|nächste|kommende|viene|próximo|prochain",
        rf"\b(?:next|this coming) ({_WEEKDAY})\b|\b(?:nächste|kommende)[nr] ({_WEEKDAY})\b"
        rf"|\b({_WEEKDAY}) (?:que viene|próximo)\b|\bpróximo ({_WEEKDAY})\b|\b({_WEEKDAY}) prochain\b",
        _next_weekday,
    ),
    _form("on ", rf"\bon (?P<on>{_ENGLISH_WEEKDAY})\b", _planned_weekday),
    _form(
        "下|来週",
        r"下个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天])|来週の?(?P<kanji>[月火水木金土日])曜日?",
        _weekday_of_next_week,
    ),
    _form(
        "day|week|month|tag|woche|monat|día|semana|mes|jour|semaine|mois|后|後",
        rf"\b(?:in|dentro de|dans) {_COUNT} "
        r"(?P<unit>day|week|month|tag|woche|monat|día|semana|mes|jour|semaine|mois)(?:en|es|e|n|s)?\b(?!['’])"
        rf"|(?P<zh>\d\d?|两|{HAN_NUMBER})(?:个|か|ヶ)?(?P<of>天|日|周|星期|(?<=[个かヶ])月)[之以]?[后後]",
        _in_so_many,
    ),
)
_SIGNS: Final = tuple(dict.fromkeys(sign for listed, *_ in _FORMS for sign in listed))
