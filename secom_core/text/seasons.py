"""Times that a question counts from its own day beyond those of `secom_core.text.dates`: seasons, weekends, more of
the past, in English, German, Spanish, French, Chinese and Japanese; days counted back in Italian and Portuguese too.

Seasons are those of the north, by whole months: spring begins on 1 March.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Final, TypeAlias

from .dates import UNIT_DAYS, Span, calendar_days, counted_back, is_countable
from .han import HAN_NUMBER, han_number, one_way
from .patterns import regex
from .wording import folded_case, is_signed, signs, wording

_Days: TypeAlias = Iterator[tuple[date, date]]
_Reader: TypeAlias = Callable[[re.Match[str], date], _Days]
_Form: TypeAlias = tuple[re.Pattern[str], _Reader]

SEASONS: Final = {
    name: number
    for number, names in enumerate(
        (
            "spring frühling frühjahr primavera printemps 春",
            "summer sommer verano été 夏",
            "autumn fall herbst otoño automne 秋",
            "winter invierno hiver 冬",
        )
    )
    for name in names.split()
}
"""The number of each season, 0 being spring."""

SEASON_NAMES: Final = tuple(name for name in SEASONS if len(name) > 1)
"""Of all languages that are written in letters, in small ones."""

_LATIN: Final = "|".join(SEASON_NAMES)
_LAST: Final = r"(?P<last>last|past|previous|letzte[mnrs]?|vorige[mnrs]?|vergangene[mnrs]?)"
_AFTER: Final = r"(?:\s(?P<after>pasad[oa]|derni(?:er|ère)|passé))"
# What somebody spoke about is no time.
_OF_MINE: Final = (
    r"(?<!\babout\s)(?<!\büber\s)(?<!\bsobre\s)(?<!\bde\s)\b(?:my|our|meine?n?|unsere?n?|mi|nuestr[oa]|mon|notre)"
)
_SEASON: Final = regex(
    rf"\b(?:{_LAST}\s|(?P<in>(?:in|during|over|this|im|diese[nm]|el|la|en|este|esta|au|le|ce|cet)\s(?:the\s)?|l['’]"
    rf"|{_OF_MINE}\s))?"
    rf"(?P<season>{_LATIN})\b{_AFTER}?(?:\s(?:of\s|del?\s)?(?P<year>(?:19|20)\d\d))?\b",
    re.I,
)
_THEN: Final = regex(r"(?:in|during|over|this|im|diese[nm]|en|este|esta|au|ce|cet)\s", re.I)
_CASE: Final = regex(r"(?:im|diese[nm]|letzte|vorige|vergangene|mein|unser)\w*\sfall", re.I)
"""A case in German, not the autumn."""
_SIGN_SEASON: Final = regex(
    r"(?:(?P<year>(?:19|20)\d\d)年的?の?|(?P<before>前年|一昨年|おととし)的?の?|(?P<past>去年|昨年)的?の?"
    r"|今年的?の?|(?P<last>上一?[个個]|前の)|这个?|這個?|この)?"
    r"(?P<season>[春夏秋冬])(?:[天季]|(?=に|は|の|、|から|以来|以降))"
)
_WEEKEND: Final = regex(
    rf"(?:\b(?:{_LAST}|(?:on|at|over|during)\sthe|on|this|am|dieses|el|este|le|ce)|{_OF_MINE})\s"
    rf"(?:week-?end|wochenende|fin\sde\ssemana)\b(?!\s(?:of|before|after|vor|nach|vom|avant|après|antes)\b){_AFTER}?",
    re.I,
)
# "Next Friday" is no day on which anything was said.
_NOT_NEXT: Final = "(?<!下)(?<!下个)(?<!下個)(?<!来週)(?<!来週の)"
_SIGN_WEEKEND: Final = regex(rf"{_NOT_NEXT}(?P<last>上个?|上個?|先)?(?:这个?|這個?|この|今|本)?(?:周|週)末")
_SIGN_WEEKDAY: Final = regex(
    rf"{_NOT_NEXT}(?:(?P<last>上个?|上個?)?(?:这个?|這個?|本)?(?:周|週|星期|礼拜|禮拜)(?P<day>[一二三四五六日天])"
    r"|(?P<before>先週の?)?(?P<kanji>[月火水木金土日])曜日?)"
)
NUMBERS: Final = (
    {
        name: number
        for names in (
            "one two three four five six seven eight nine ten eleven twelve",
            "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
            "un dos tres cuatro cinco seis siete ocho nueve diez once doce",
            "un deux trois quatre cinq six sept huit neuf dix onze douze",
            "un due tre quattro cinque sei sette otto nove dieci undici dodici",
            "um dois três quatro cinco seis sete oito nove dez onze doze",
            "一 二 三 四 五 六 七 八 九 十 十一 十二",
        )
        for number, name in enumerate(names.split(), 1)
    }
    | {"einem": 1, "einer": 1, "una": 1, "une": 1, "两": 2, "兩": 2, "ein paar": 3, "quelques": 3, "unos": 3, "unas": 3}
    | {"uma": 1, "duas": 2}
)
"""What each word for a number means, in small letters."""

COUNT: Final = rf"(?:\d{{1,3}}|{'|'.join(sorted(NUMBERS, key=len, reverse=True))})"
"""A number in digits, or such a word."""
_AGO: Final = regex(
    rf"\b(?:vor|hace|il y a|há|faz)\s(?P<count>{COUNT})\s"
    r"(?:(?P<unit>tag|woche|monat|jahr|día|semana|mes|año|jour|semaine|mois|année|an|dia|mês|ano)(?:en|es|e|n|s)?)\b"
    rf"|\b(?P<count_before>{COUNT})\s(?P<unit_before>giorn|settiman|mes|ann)[oiae]\sfa\b"
    rf"|(?<![一二三四五六七八九十])(?P<number>\d{{1,3}}|两|{HAN_NUMBER})(?:か|カ|ヶ|ケ|ヵ|箇|個|个)?"
    r"(?P<of>天|日|周|星期|礼拜|(?<!\d)(?<![一二三四五六七八九十])月|年)间?(?:前|以前|之前)",
    re.I,
)
_FEW: Final = r"few|several|couple of|(?:ein )?paar|einigen|unos|unas|quelques"
_LAST_ONES: Final = regex(
    rf"\b(?:the\s|these\s)?(?:last|past|previous)\s(?P<count>{COUNT}|{_FEW})\s(?P<of>day|week|month|year)s\b"
    r"(?! (?:of|in|before)\b)"
    rf"|\b(?:(?:den|die|der)\s(?:letzten|vergangenen)|seit)\s(?P<count_de>{COUNT}|{_FEW})\s"
    r"(?P<of_de>tag|woche|monat|jahr)e?n?\b(?! (?:de[sr]|vo[nrm]|im)\b)"
    rf"|\b(?:los|las)\súltim[oa]s\s(?P<count_es>{COUNT})\s(?P<of_es>día|semana|mes|año)(?:es|s)?\b(?! (?:del?|en)\b)"
    rf"|\b(?:les|ces|des)\s(?P<count_fr>{COUNT}|quelques)\sderni(?:er|ère)s\s"
    r"(?P<of_fr>jour|semaine|mois|année|an)s?\b(?! (?:d[eu]\b|d['’]))",
    re.I,
)
_SIGN_NUMBER: Final = rf"(?:\d{{1,2}}|{HAN_NUMBER})"
_UNTIL_NOW: Final = regex(
    rf"(?:过去|最近|近|这|この|ここ)の?的?(?P<count>\d{{1,3}}|两|{HAN_NUMBER})(?:か|カ|ヶ|ケ|ヵ|箇|个)?(?P<of>天|日|周|星期|礼拜|月|年)(?!の?[前曜])间?"
    r"|(?P<few>(?:前|这|最近|过去)[几两][天日]|(?:この|ここ)数日|(?<!十)数日前)"
)
_MONTH_OF_YEAR: Final = regex(
    rf"(?P<year>[今去前]年|昨年)[的の]?(?P<month>{_SIGN_NUMBER})月份?[的の]?(?:(?P<day>{_SIGN_NUMBER})[日号])?"
)
_BEFORE_MONTH: Final = regex(
    rf"(?:(?P<year>(?:19|20)\d\d|[今去前昨])年[的の]?|(?<![年\d一二三四五六七八九十]))(?P<month>{_SIGN_NUMBER})月份?"
    "(?:以前|之前|前(?![半端后後往]))"
)
_MONTH_ALONE: Final = regex(
    rf"(?<![年一二三四五六七八九十])(?P<month>{HAN_NUMBER})月份?(?![一二三四五六七八九十前]|[以之]前)"
)
_DAY_OF_MONTH: Final = regex(rf"(?:(?P<last>上个?月|先月)|这个月|本月|今月)[的の]?(?P<day>{_SIGN_NUMBER})[日号]")
_FORTNIGHT: Final = wording("(?:a|one) fortnight ago|vor vierzehn Tagen|hace quince días|il y a quinze jours")
_HALF_A_YEAR: Final = wording("half a year ago|vor einem halben jahr|hace medio año", anywhere="半年(?:前|以前|之前)")
_SINGLE: Final = tuple(
    (wording(phrases, anywhere=anywhere), days)
    for phrases, anywhere, days in (
        ("vorvorgestern", "大前天|一昨々日|さきおととい", 3),
        ("antes de ayer|antier", "", 2),
    )
)
_WEEK_BEFORE_LAST: Final = wording(
    "(?:the )?week before last|vorletzte[nr]? woche|semana antepasada", anywhere="上上个?(?:周|星期|礼拜)|先々週"
)

SIGNS: Final = signs(
    "spring|summer|autumn|fall|winter|frühling|frühjahr|sommer|herbst|primavera|verano|otoño|invierno|printemps|été"
    "|automne|hiver|春|夏|秋|冬|weekend|week-end|wochenende|fin de|末|周|週|星期|礼|禮|曜|vor |hace|il y a|前|half"
    "|há |faz | fa"
    "|去年|昨年|今年|前年|上|本月|今月|过去|最近|近|这|この|ここ|数日|さき|一昨|先|月"
    "|last |past |previous |letzten |vergangenen |seit |últim|derni|ayer|antier|before last|vorletzte|antepasada"
    "|fortnight"
)
"""One of these stands in whatever these expressions find."""


def periods(text: str, today: date) -> tuple[list[Span], str]:
    """The spans of days that these expressions of a question mean, and the rest of it.

    Args:
        text: a question about what was said then.
        today: the day on which it is asked.
    """
    return days_read(text, today, _FORMS) if is_signed(folded_case(text), SIGNS) else ([], text)


def days_read(text: str, today: date, forms: Iterable[_Form]) -> tuple[list[Span], str]:
    """The spans of days that expressions of these forms mean, and the text without them.

    Args:
        text: a question about what was said then.
        today: the day on which it is asked.
        forms: each expression with what reads the days from it; no days, and it stays in the text.
    """
    found: list[Span] = []

    def taken(read: _Reader) -> Callable[[re.Match[str]], str]:
        def replaced(match: re.Match[str]) -> str:
            days = list(read(match, today))
            found.extend((first.toordinal(), last.toordinal()) for first, last in days)
            return " " if days else match[0]

        return replaced

    if is_countable(today):
        for pattern, read in forms:
            text = pattern.sub(taken(read), text)
    return found, text


def _days_back(days: int) -> _Reader:
    return lambda match, today: iter([(today - timedelta(days),) * 2])


def _week_before_last(match: re.Match[str], today: date) -> _Days:
    monday = today - timedelta(today.weekday() + 14)
    yield monday, monday + timedelta(6)


def _fortnight(match: re.Match[str], today: date) -> _Days:
    yield counted_back(2, 7, today)


def _half_a_year(match: re.Match[str], today: date) -> _Days:
    yield counted_back(6, 30, today)


def _ago(match: re.Match[str], today: date) -> _Days:
    count, unit = (part.lower() for part in match.groups() if part)
    yield counted_back(NUMBERS.get(one_way(count)) or han_number(count), UNIT_DAYS[one_way(unit)], today)


def _until_now(match: re.Match[str], today: date) -> _Days:
    """The days until today: "the last two weeks" in Chinese and Japanese; some days are a week."""
    few = match["few"] is not None
    number = 1 if few else NUMBERS.get(one_way(match["count"])) or han_number(match["count"])
    yield today - timedelta(min(number, 100) * (7 if few else UNIT_DAYS[one_way(match["of"])])), today


def _last_ones(match: re.Match[str], today: date) -> _Days:
    """The days until today: "the last two weeks"; a few days are a week, as in Chinese and Japanese."""
    count, unit = (part.lower() for part in match.groups() if part)
    length = UNIT_DAYS[unit]
    number = NUMBERS.get(count) or (int(count) if count.isdecimal() else 7 if length == 1 else 4)
    yield today - timedelta(min(number, 100) * length), today


def before_month(match: re.Match[str], today: date) -> _Days:
    """All before the first day of a month, the last one that has come where no year is told: 十月前, 今年三月前."""
    number, year = han_number(match["month"]), match.groupdict().get("year")
    with suppress(ValueError):
        in_year = year_of(year, today) if year else today.year - (number > today.month)
        yield date.min, date(in_year, number, 1) - timedelta(1)


def year_of(year: str, today: date) -> int:
    """The number of a year that is written in digits, or counted back by its first character: 今年, 작년, 前年."""
    return int(year) if year.isdecimal() else today.year - _YEARS_BACK.get(one_way(year[0]), 2)


_YEARS_BACK: Final = {**dict.fromkeys("今올금", 0), **dict.fromkeys("去昨작지", 1)}


def _month_of_year(match: re.Match[str], today: date) -> _Days:
    month, day = (han_number(match[part]) if match[part] else None for part in ("month", "day"))
    with suppress(ValueError):
        yield calendar_days(year_of(match["year"], today), month, day)


def _month_alone(match: re.Match[str], today: date) -> _Days:
    month = han_number(match["month"])
    with suppress(ValueError):
        yield calendar_days(today.year - (month > today.month), month)


def _day_of_month(match: re.Match[str], today: date) -> _Days:
    is_last = match["last"] is not None
    first = (today.replace(day=1) - timedelta(1) if is_last else today).replace(day=1)
    with suppress(ValueError):
        yield (first.replace(day=han_number(match["day"])),) * 2


def _season(match: re.Match[str], today: date) -> _Days:
    """The season of a year; or the last that is over, where it is called the last; or else the last that has begun."""
    parts = match.groupdict()
    if any(parts.get(each) for each in ("year", "last", "after", "in")) or "in" not in parts:
        yield from _any_season(match, today)


def _season_then(match: re.Match[str], today: date) -> _Days:
    """The same where it is told when it was: "last summer", "in the summer"; not what is of it: "my summer tyres"."""
    parts = match.groupdict()
    told = any(parts.get(each) for each in ("year", "last", "after", "past", "before"))
    if told or (parts.get("in") and _THEN.match(match["in"])):
        yield from _any_season(match, today)


def _any_season(match: re.Match[str], today: date) -> _Days:
    """The same of a season that may be named without a word for that."""
    if _CASE.match(match[0]):
        return
    parts, number = match.groupdict(), SEASONS[match["season"].lower()]
    if parts["year"] or parts.get("past") or parts.get("before"):
        year = int(parts["year"]) if parts["year"] else today.year - 1 - bool(parts["before"])
        yield from season_days(number, today, year)
    else:
        yield from season_days(number, today, is_last=bool(parts["last"] or parts.get("after")))


def counted_seasons(text: str, today: date) -> Iterator[tuple[re.Match[str], tuple[date, date]]]:
    """The seasons and weekends that a text names, each the last that has begun where it does not tell which."""
    if is_signed(folded_case(text), SIGNS):
        for pattern in (_SEASON, _SIGN_SEASON):
            for match in pattern.finditer(text):
                yield from ((match, days) for days in _any_season(match, today))
        for pattern in (_WEEKEND, _SIGN_WEEKEND):
            for match in pattern.finditer(text):
                yield from ((match, days) for days in weekend(match, today))


def season_days(season: int, today: date, year: int | None = None, *, is_last: bool = False) -> _Days:
    """First and last day of a season, 0 being spring.

    Args:
        season: its number.
        today: the day on which it is named.
        year: that it is said to be in; the last one that has begun is meant without it.
        is_last: whether the last one that is over is meant.
    """
    if year is not None:
        # A winter is called by the year that it begins in, or ends in.
        yield from (_months(each, season) for each in ((year - 1, year) if season == _WINTER else (year,)))
    else:
        recent = (_months(today.year - back, season) for back in range(3))
        yield next(days for days in recent if (days[1] < today if is_last else days[0] <= today))


_WINTER: Final = 3


def _months(year: int, season: int) -> tuple[date, date]:
    first = date(year, 3 * season + 3, 1)
    following = date(year + (season == _WINTER), (3 * season + 5) % 12 + 1, 1)
    return first, following - timedelta(1)


def weekend(match: re.Match[str], today: date) -> _Days:
    """The last weekend that has begun; or the last that is over, where it is called the last."""
    saturday = today - timedelta((today.weekday() - 5) % 7)
    is_last = match["last"] or match.groupdict().get("after")
    if is_last and today.weekday() >= 5:
        saturday -= timedelta(7)
    yield saturday, saturday + timedelta(1)


def _weekday(match: re.Match[str], today: date) -> _Days:
    weekday = "月火水木金土日".index(match["kanji"]) if match["kanji"] else "一二三四五六日天".index(match["day"]) % 7
    if match["day"] == "天":
        weekday = 6
    if match["last"] or match["before"]:
        yield (today - timedelta(today.weekday() + 7 - weekday),) * 2
    else:
        yield (today - timedelta((today.weekday() - weekday - 1) % 7 + 1),) * 2


_FORMS: Final[tuple[_Form, ...]] = (
    *((pattern, _days_back(days)) for pattern, days in _SINGLE),
    (_WEEK_BEFORE_LAST, _week_before_last),
    (_FORTNIGHT, _fortnight),
    (_HALF_A_YEAR, _half_a_year),
    (_UNTIL_NOW, _until_now),
    (_LAST_ONES, _last_ones),
    (_BEFORE_MONTH, before_month),
    (_MONTH_OF_YEAR, _month_of_year),
    (_DAY_OF_MONTH, _day_of_month),
    (_MONTH_ALONE, _month_alone),
    (_AGO, _ago),
    (_SEASON, _season),
    (_SIGN_SEASON, _season),
    (_WEEKEND, weekend),
    (_SIGN_WEEKEND, weekend),
    (_SIGN_WEEKDAY, _weekday),
)

TIMES_OF_THE_PAST: Final[tuple[_Form, ...]] = (
    *((pattern, _season_then if read is _season else read) for pattern, read in _FORMS if pattern is not _BEFORE_MONTH),
)
"""Those that tell when something was, in a question that asks for what was (`secom_core.text.lately`)."""
