"""The days that a text speaks of: dates as they are written, and days counted from its own.

In English and Chinese; the usual forms in German, Spanish, French, Italian, Portuguese, Japanese and Korean too.

What is found serves as a hint for ranking: an expression that is missed costs nothing but that hint.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Final, TypeAlias

from .han import HAN_NUMBER, han_number, one_way
from .patterns import regex
from .plans import is_planned
from .wording import folded_case, is_signed, signs, wording

_Form: TypeAlias = tuple[tuple[str, ...], bool, re.Pattern[str]]
Days: TypeAlias = tuple[date, date]

Span = tuple[int, int]
"""First and last day, as `datetime.date.toordinal` counts them."""

_MONTH_NAMES: Final = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|"
    "Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
)
_MONTH: Final = rf"(?P<month>{_MONTH_NAMES})\b\.?"
_SMALL_MONTH: Final = rf"(?P<month>{_MONTH_NAMES.lower()})\b"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAYS: Final = "mon tue wed thu fri sat sun".split()
_NUMBERS: Final = {
    **dict.fromkeys(("a", "an", "one", "一"), 1),
    **dict.fromkeys(("two", "couple", "二", "两"), 2),
    **dict.fromkeys(("three", "few", "三", "几"), 3),
    **{word: number for number, word in enumerate("four five six seven eight nine ten eleven twelve".split(), 4)},
    **{word: number for number, word in enumerate("四五六七八九十", 4)},
}
_COUNT: Final = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_SHORT: Final = 200
_OTHER_WORDS: Final = frozenset("der die und ich wir que el en los le la les nous che il di um".split())
_OTHER_LETTERS: Final = tuple("のはを가이는을에")
"""One of these stands in a text of more characters that is in a language other than English and Chinese."""
UNIT_DAYS: Final = {
    **dict.fromkeys(("day", "tag", "día", "jour", "dia", "giorn", "天", "日"), 1),
    **dict.fromkeys(("week", "woche", "semana", "semaine", "settiman", "周", "星期", "礼拜"), 7),
    **dict.fromkeys(("month", "monat", "mes", "mois", "mês", "月"), 30),
    **dict.fromkeys(("year", "jahr", "año", "an", "année", "ano", "ann", "年"), 365),
}
"""How many days each unit has in which time is counted."""

LONGEST_QUESTION: Final = 300
"""How many characters a question has at most that is read for more than single days."""

MONTHS: Final = {
    language: tuple(names.split())
    for language, names in {
        "english": "January February March April May June July August September October November December",
        "german": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "french": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    }.items()
}
"""The names of the months, from the first on, as they are written."""

_SHORT_MONTHS: Final = tuple(name[:3].lower() for name in MONTHS["english"])
_GERMAN, _ITALIAN = MONTHS["german"], MONTHS["italian"]
_ROMANCE: Final = (*MONTHS["spanish"], *MONTHS["french"], *_ITALIAN, *MONTHS["portuguese"])
_GERMAN_MONTH, _ITALIAN_MONTH, _ROMANCE_MONTH = (
    rf"(?P<month>{'|'.join(names)})\b" for names in (_GERMAN, _ITALIAN, _ROMANCE)
)
_OTHER_WEEKDAYS: Final = {
    "german": "montag dienstag mittwoch donnerstag freitag samstag sonntag".split(),
    "spanish": "lunes martes miércoles jueves viernes sábado domingo".split(),
    "french": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "italian": "lunedì martedì mercoledì giovedì venerdì sabato domenica".split(),
    "portuguese": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo".split(),
}

_IN_CAPITALS: Final = tuple(month.capitalize() for month in _SHORT_MONTHS)

# What stands in whatever a pattern finds, one of it at least, so that most texts need none; and whether it has a digit.
# Months need a capital letter, or the number of a day, because "may" and "march" are words too.
_CALENDAR: Final = tuple(
    (listed, has_digit, regex(pattern))
    for listed, has_digit, pattern in (
        (("-",), True, r"(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})"),
        (("年",), True, r"(?P<year>\d{4})年(?:(?P<number>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?)?"),
        (("月",), True, r"(?P<number>\d{1,2})月(?:(?P<day>\d{1,2})[日号])?(?!(?<=月)(?:[以之]前|前(?![半端后後往])))"),
        (
            ("月",),
            False,
            rf"(?<![一二三四五六七八九十])(?:(?P<year>\d{{4}})年)?(?P<number>{HAN_NUMBER})月(?P<day>{HAN_NUMBER})[日号]",
        ),
        (_IN_CAPITALS, True, rf"\b{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?"),
        (_IN_CAPITALS, True, rf"\b{_MONTH} {_DAY}\b(?!:)(?:,? {_YEAR})?"),
        (_IN_CAPITALS, True, rf"\b{_MONTH},?(?: of)? {_YEAR}"),
        (
            _IN_CAPITALS,
            False,
            rf"\b(?:[Ii]n|[Ss]ince|[Dd]uring|[Ll]ast|[Tt]his|[Bb]y|[Oo]f|[Ee]arly|[Ll]ate|[Uu]ntil) {_MONTH}",
        ),
        (("19", "20"), True, rf"\b{_YEAR}\b"),
    )
)
# Looked for in short texts, and in those that may be in such a language.
_SELDOM: Final = tuple(
    (listed, has_digit, regex(pattern))
    for listed, has_digit, pattern in (
        (("월",), True, r"(?:(?P<year>\d{4})년\s*)?(?P<number>\d{1,2})월(?:\s*(?P<day>\d{1,2})일)?"),
        # At the beginning of a line, "3. April" is the third of a list.
        (_GERMAN, True, rf"(?<=[\w,] )(?P<day>\d{{1,2}})\. {_GERMAN_MONTH}(?: {_YEAR})?"),
        (_GERMAN, False, rf"\b(?:[Ii]m|[Ss]eit|[Ll]etzten) {_GERMAN_MONTH}(?: {_YEAR})?"),
        (_ROMANCE, True, rf"\b(?P<day>\d{{1,2}})(?:er)?(?: de)? {_ROMANCE_MONTH}(?:(?: del?)? {_YEAR})?"),
        (_ROMANCE, False, rf"\b(?:[Ee][nm]|[Dd]esde|[Dd]epuis) {_ROMANCE_MONTH}(?:(?: del?)? {_YEAR})?"),
        (_ITALIAN, False, rf"\b(?:[Aa]d?|[Ii]n|[Dd]a|[Ll]o scorso) {_ITALIAN_MONTH}(?: (?:del )?{_YEAR})?"),
        (_SHORT_MONTHS, True, rf"\b{_DAY}(?: of)? {_SMALL_MONTH}(?:,? {_YEAR})?"),
        (_SHORT_MONTHS, True, rf"\b{_SMALL_MONTH} {_DAY}\b(?![:\d])(?:,? {_YEAR})?"),
    )
)
_DIGIT: Final = regex(r"\d")
# "十月前" is before October: months that are counted are 个月, but for 两 and 几, which name none.
_AGO: Final = regex(
    rf"\b{_COUNT}(?: of)? (?P<unit>day|week|month|year)s? (?:ago|back|earlier)\b"
    rf"|(?<![一二三四五六七八九十])(?P<zh>\d{{1,3}}|[两几]|{HAN_NUMBER})个?"
    rf"(?P<zh_unit>天|周|星期|礼拜|(?<=[个個两兩几幾])月|年)(?:前|以前|之前)",
    re.I,
)
_AGO_SIGNS: Final = signs("ago|back|earlier|前")
_WEEKDAY_SIGNS: Final = ("day",)
_LAST_WEEKDAY: Final = regex(r"\b(?:last|on|this past) (?P<name>mon|tue|wed|thu|fri|sat|sun)[a-z]*day\b", re.I)

MONTH_NUMBERS: Final = {
    name.lower(): number for names in (_SHORT_MONTHS, *MONTHS.values()) for number, name in enumerate(names, 1)
} | {"sept": 9}
"""The month that each name means, in small letters."""

MONTH: Final = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
"""Any of these names, as a regular expression."""

WEEKDAY_NUMBERS: Final = {
    name: number
    for names in (
        "monday tuesday wednesday thursday friday saturday sunday".split(),
        *_OTHER_WEEKDAYS.values(),
    )
    for number, name in enumerate(names)
}
"""The number of each weekday, from Monday, 0, in small letters."""

_ANY_WEEKDAY: Final = {language: rf"(?P<{language}>{'|'.join(names)})\b" for language, names in _OTHER_WEEKDAYS.items()}
_OTHER_WEEKDAY: Final = regex(
    rf"\b(?:am|(?:letzte|vorige)[nm]) {_ANY_WEEKDAY['german']}|\bel (?:pasado )?{_ANY_WEEKDAY['spanish']}(?: pasado\b)?"
    rf"|\b{_ANY_WEEKDAY['french']} dernier\b|\b{_ANY_WEEKDAY['italian']} (?:scors|passat)[oa]\b"
    rf"|\bn[ao] (?:últim[ao] )?{_ANY_WEEKDAY['portuguese']}(?: passad[ao]\b)?",
    re.I,
)
_OTHER_WEEKDAY_SIGNS: Final = tuple(name for names in _OTHER_WEEKDAYS.values() for name in names)
_COUNTED: Final = _LAST_WEEKDAY, _OTHER_WEEKDAY, _AGO
_UNITS: Final = ("day", "night", "morning", "week", "month", "year")
"""One of these stands in whatever counts days in English."""


def calendar_days(year: int, month: int | None = None, day: int | None = None) -> tuple[date, date]:
    """First and last day of a year, a month or a day; a `ValueError` where there is none such."""
    first_month, last_month = (1, 12) if month is None else (month, month)
    first_day, last_day = (1, calendar.monthrange(year, last_month)[1]) if day is None else (day, day)
    return date(year, first_month, first_day), date(year, last_month, last_day)


def _year(today: date, back: int) -> tuple[date, date]:
    return calendar_days(today.year - back)


def _month(today: date, back: int) -> tuple[date, date]:
    year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
    return calendar_days(year, month + 1)


def _week(today: date, back: int) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return monday, monday + timedelta(days=6)


def _day(today: date, back: int) -> tuple[date, date]:
    return (today - timedelta(days=back),) * 2


_RELATIVE: Final = tuple(
    (signs(listed), regex(pattern, re.I), period, back)
    for listed, pattern, period, back in (
        ("today|tonight|this morning|今", r"\b(?:today|tonight|this morning)\b|今天|今晚|今早", _day, 0),
        ("yesterday|last night|昨", r"(?<!before )\b(?:yesterday|last night)\b|昨天|昨晚|(?<!一)昨日", _day, 1),
        ("before yesterday|前天", r"\bday before yesterday\b|前天", _day, 2),
        ("this week|这|本周", r"\bthis week(?:end)?\b|这个?(?:周|星期|礼拜)|本周", _week, 0),
        (
            "last week|past week|previous week|上",
            r"\b(?:last|past|previous) week(?:end)?\b|上个?(?:周|星期|礼拜)",
            _week,
            1,
        ),
        ("this month|本月|这个月", r"\bthis month\b|这个月|本月", _month, 0),
        ("last month|past month|previous month|上", r"\b(?:last|past|previous) month\b|上个?月", _month, 1),
        ("this year|今年", r"\bthis year\b|今年", _year, 0),
        ("last year|past year|previous year|去年", r"\b(?:last|past|previous) year\b|去年", _year, 1),
        ("前年", r"前年", _year, 2),
    )
)


_SELDOM_RELATIVE: Final = tuple(
    (signs(listed), wording(phrases, anywhere=anywhere), period, back)
    for listed, phrases, anywhere, period, back in (
        ("heute|hoy|aujourd|oggi|hoje|今日|今朝|오늘", "heute|hoy|aujourd'hui|oggi|hoje", "今日|今朝|오늘", _day, 0),
        (
            "gestern|ayer|anoche|hier|ieri|ontem|昨日|昨夜|きのう|ゆうべ|어제",
            # "Hier" is "here" in German.
            r"""
            gestern|ayer|anoche|(?<!altro\s)ieri|ontem|(?<!avant-)hier(?= (?:soir|matin)\b)
            (?:on (?:a|avait|y|parlait|discutait)|a-t-on|ai-je|t'ai|m'as|quoi|qu'est-ce)\b.{0,80}(?<!avant-)\bhier
            (?:nous|vous|tu|avons|j'ai)\b.{0,80}(?<!avant-)\bhier|hier\b.{0,80}\b(?:nous|vous|tu|avons|j'ai)
            """,
            "昨夜|(?<![ぁ-ん])(?:きのう|ゆうべ)|어제",
            _day,
            1,
        ),
        (
            "vorgestern|anteayer|avant|altro ieri|anteontem|一昨|おと|그저",
            "vorgestern|anteayer|avant-hier|l'altro ieri|anteontem",
            "一昨日|おととい|그저께",
            _day,
            2,
        ),
        (
            "diese|esta|cette|今週|이번",
            "diese woche|esta semana|cette semaine|questa settimana",
            r"今週|이번\s?주(?!말)",
            _week,
            0,
        ),
        (
            "woche|semana|semaine|settimana|先週|지난|저번",
            r"""
            (?:letzte|vorige)[nr]? woche|semana pasada|semaine dernière|settimana (?:scorsa|passata)|scorsa settimana
            semana passada
            """,
            r"先週|(?<!지)(?:지난|저번)\s?주(?!말)",
            _week,
            1,
        ),
        (
            "diesen|este|ce mois|questo mese|今月|이번",
            "diesen monat|este mes|ce mois-ci|questo mese|este mês",
            r"今月|이번\s?달",
            _month,
            0,
        ),
        (
            "monat|mes|mois|mês|先月|지난|저번",
            "(?:letzte|vorige)[nm] monat|mes pasado|mois dernier|mese (?:scorso|passato)|scorso mese|mês passado",
            r"先月|(?<!지)(?:지난|저번)\s?달",
            _month,
            1,
        ),
        (
            "dieses|este|cette|올해|quest'anno|quest’anno",
            "dieses jahr|este (?:año|ano)|cette année|quest'anno",
            "올해",
            _year,
            0,
        ),
        (
            "jahr|año|année|l'an|l’an|ano passado|anno scorso|scorso anno|昨年|작년",
            r"""
            (?:letzte|vorige)[sm] jahr|año pasado|année dernière|l'an dernier|anno scorso|scorso anno|ano passado
            """,
            "(?<!一)昨年|(?<!재)작년",
            _year,
            1,
        ),
    )
)


def spans(text: str, today: date | None, years: Iterable[int] = ()) -> list[Span]:
    """The spans of days that ``text`` speaks of.

    Args:
        text: a question, or the text of a turn.
        today: the day on which it was said; without it, "yesterday" and the like are passed over.
        years: the years that a date without a year may be in; the one of ``today`` where there are none.

    Returns:
        First and last day of each, as ordinals; each pair once.
    """
    possible = list(years) or ([today.year] if today else [])
    with_seldom = len(text) <= _SHORT or _is_in_another_language(text)
    found = [*_written(text, possible, (*_SELDOM, *_CALENDAR) if with_seldom else _CALENDAR)]
    if today is not None:
        found += (days for _, days in counted(text, today, with_seldom=with_seldom))
    return list(dict.fromkeys((first.toordinal(), last.toordinal()) for first, last in found))


def _is_in_another_language(text: str) -> bool:
    # Far faster than to look for each of the words.
    words = text.split(" ")[1:-1]
    return not _OTHER_WORDS.isdisjoint(words) or (not text.isascii() and is_signed(text, _OTHER_LETTERS))


def without_days(text: str) -> str:
    """The text without the words by which `spans` finds days in it."""
    written, relative = (*_SELDOM, *_CALENDAR), (*_RELATIVE, *_SELDOM_RELATIVE)
    for pattern in (*(each[2] for each in written), *(each[1] for each in relative), *_COUNTED):
        text = pattern.sub(" ", text)
    return text


def _written(text: str, years: list[int], forms: Iterable[_Form]) -> Iterator[tuple[date, date]]:
    digit, named = _DIGIT.search(text) is not None, is_signed(text, _IN_CAPITALS)
    for listed, has_digit, pattern in forms:
        if (digit or not has_digit) and (named if listed is _IN_CAPITALS else is_signed(text, listed)):
            matches = list(pattern.finditer(text))
            for match in matches:
                yield from _dates(match.groupdict(), years)
            if matches:
                # So that a part of it, such as the year of a date, is not found again.
                text = pattern.sub(" ", text)


def _dates(parts: dict[str, str | None], years: list[int]) -> Iterator[tuple[date, date]]:
    named, number, day, year = (parts.get(each) for each in ("month", "number", "day", "year"))
    month = month_number(named) if named else han_number(number) if number else None
    for possible in [int(year)] if year else years:
        with suppress(ValueError):
            yield calendar_days(possible, month, han_number(day) if day else None)


def month_number(name: str) -> int:
    """The month of a name, which may be shortened, or misspelled behind its first three letters, in English."""
    return MONTH_NUMBERS.get(name.lower()) or MONTH_NUMBERS[name[:3].lower()]


def is_countable(today: date) -> bool:
    """Whether days, and years, can be counted from a day: `datetime.date` ends at the years 1 and 9999."""
    return 200 < today.year < 9900


def counted(text: str, today: date, *, with_seldom: bool = True) -> Iterator[tuple[re.Match[str], Days]]:
    """What in a text counts days from its own, such as "last week" or "two days ago", and which days it means."""
    if not is_countable(today):
        return
    folded = folded_case(text)
    if not with_seldom and folded.isascii() and not is_signed(folded, _UNITS):
        return
    for listed, pattern, period, back in (*_RELATIVE, *_SELDOM_RELATIVE) if with_seldom else _RELATIVE:
        if is_signed(folded, listed) and (found := pattern.search(text)):
            yield found, period(today, back)
    for match in _LAST_WEEKDAY.finditer(text) if is_signed(folded, _WEEKDAY_SIGNS) else ():
        if match[0][0] not in "oO" or not is_planned(match):
            yield match, last_weekday(today, _WEEKDAYS.index(match["name"].lower()))
    for match in _OTHER_WEEKDAY.finditer(text) if with_seldom and is_signed(folded, _OTHER_WEEKDAY_SIGNS) else ():
        language = match.lastgroup or ""
        yield match, last_weekday(today, _OTHER_WEEKDAYS[language].index(match[language].lower()))
    for match in _AGO.finditer(text) if is_signed(folded, _AGO_SIGNS) else ():
        yield match, _ago(match, today)


def last_weekday(today: date, weekday: int) -> tuple[date, date]:
    """The last day before ``today`` that is such a weekday, Monday being 0, as first and last day."""
    return _day(today, (today.weekday() - weekday - 1) % 7 + 1)


def _ago(match: re.Match[str], today: date) -> tuple[date, date]:
    count, unit = (match["count"] or match["zh"]).lower(), (match["unit"] or match["zh_unit"]).lower()
    number = _NUMBERS.get(one_way(count)) or han_number(count)
    return counted_back(number, UNIT_DAYS[one_way(unit)], today)


def counted_back(number: int, length: int, today: date) -> tuple[date, date]:
    """First and last day of so many times a number of days ago: "two months ago" may be off by half of its unit."""
    middle = today - timedelta(days=min(number, 100) * length)
    return middle - timedelta(days=length // 2), middle + timedelta(days=length // 2)
