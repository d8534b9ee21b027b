"""Times of a question that have a name of their own, put such that they are read as other dates are.

"A year ago today", "July two years ago", "two summers ago", "last November", the year before last, weeks, quarters and
halves of a year, Easter, New Year and 29 February; in English, German, Spanish, French, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from typing import Final, TypeAlias

from .dates import LONGEST_QUESTION, MONTH, MONTH_NUMBERS, MONTHS, calendar_days, is_countable
from .han import one_way
from .patterns import regex
from .seasons import COUNT, NUMBERS, SEASON_NAMES, SEASONS, season_days
from .wording import folded_case, is_signed, signs

_Reader: TypeAlias = Callable[[re.Match[str], date], str | None]
_Form: TypeAlias = tuple[tuple[str, ...], re.Pattern[str], _Reader]

_YEAR: Final = (
    r"(?:19|20)\d\d|(?:the )?(?:last|past|previous|this) year|(?:des |im )?(?:letzte|vorige|diese)[snm] jahr(?:es)?"
    r"|(?:el )?año pasado|este año|l['’]an(?:née)? derni(?:er|ère)|cette année|今年|去年|昨年|前年|一昨年"
)
_OF_YEAR: Final = rf"(?:,?(?: ?(?:of|in|von|del?|/|的|の))? ?(?P<year>{_YEAR}))"
_ENGLISH_MONTHS: Final = MONTHS["english"]
_SEASON: Final = "|".join(SEASON_NAMES)
_TIME: Final = rf"(?P<time>{MONTH}|{_SEASON})\b"
_AGO: Final = (
    rf"(?:\b(?P<n>{COUNT}|an?) years? ago\b|\bvor (?P<n_de>{COUNT}) jahr(?:en)?\b"
    rf"|\bhace (?P<n_es>{COUNT}) años?\b|\bil y a (?P<n_fr>{COUNT}) ans?\b)"
)
_THIS_DAY: Final = (
    r"(?:today|to the day|(?:on )?(?:this|the same) (?:very )?(?:day|date)|heute|auf den tag(?: genau)?"
    r"|aujourd['’]hui|jour pour jour|(?:tal día como )?hoy)\b"
)
_NTH: Final = {
    name: number
    for number, names in enumerate(
        (
            "first 1st erste ersten erstes primer premier 一 1",
            "second 2nd zweite zweiten zweites segundo deuxième 二 2",
            "third 3rd dritte dritten drittes tercer troisième 三 3",
            "fourth 4th vierte vierten viertes cuarto quatrième 四 4",
        ),
        1,
    )
    for name in names.split()
}
_LAST_PART: Final = "last", "letzte", "letzten", "letztes", "último", "dernier"
_MONTHS_OF: Final = {
    **dict.fromkeys(("quarter", "quartal", "trimestre", "季度", "四半期"), 3),
    **dict.fromkeys(("half", "halbjahr", "semestre"), 6),
}
_AS_END: Final = regex(
    r"\b(?:between|from|since|until|till|and|to|zwischen|und|von|seit|bis|entre|y|desde|hasta|et|depuis|de)"
    r" (?:the |la )?$|[从從自到至]$",
    re.I,
)
"""What stands before a day that is an end of a range."""
_SPACES: Final = regex(" {2,}")
_AS_BEGIN: Final = regex(" ?(?:到|至|から|以来|以後|之后|以后)")


def named_times(text: str, today: date, *, is_asked: bool = False) -> str:
    """The question with such times written as dates.

    Args:
        text: the question.
        today: the day on which it is asked.
        is_asked: whether what was said then is asked for, so that Easter and New Year are times and no subjects.
    """
    if not is_countable(today) or len(text) > LONGEST_QUESTION:
        return text
    folded = folded_case(text)
    for listed, pattern, read in (*_FORMS, *_FEASTS) if is_asked else _FORMS:
        if is_signed(folded, listed):
            # Ranges are read with one space beside their ends.
            text = _SPACES.sub(" ", pattern.sub(_writing(read, today), text))
    return text


def _writing(read: _Reader, today: date) -> Callable[[re.Match[str]], str]:
    def written(match: re.Match[str]) -> str:
        time = read(match, today)
        return match[0] if time is None else f" {time} " if time[-1].isdigit() else time

    return written


def _between(first: date, last: date) -> str:
    return f"between {first} and {last}"


def _part_named(match: re.Match[str], name: str) -> str | None:
    """What was found by the group of this name, in whichever language it is."""
    return next((value for group, value in match.groupdict().items() if group.split("_")[0] == name and value), None)


def _number(match: re.Match[str]) -> int:
    count = _part_named(match, "n") or ""
    return NUMBERS.get(one_way(count.lower())) or (int(count) if count.isdecimal() else 1)


def _year_told(match: re.Match[str], today: date) -> int | None:
    year = _part_named(match, "year")
    if year is None or year.isdecimal():
        return int(year) if year else None
    is_this = re.search("this|diese|este|cette|今", year, re.I)
    return today.year - (2 if year in ("前年", "一昨年") else 0 if is_this else 1)


def _anniversary(match: re.Match[str], today: date) -> str:
    year = _year_told(match, today) or today.year - _number(match)
    last = calendar_days(year, today.month)[1]
    return str(min(last, today.replace(year=year, day=min(today.day, last.day))))


def _time_years_ago(match: re.Match[str], today: date) -> str:
    month, year = MONTH_NUMBERS.get(match["time"].lower()), today.year - _number(match)
    return f"{_ENGLISH_MONTHS[month - 1]} {year}" if month else f"{match['time']} {year}"


def _in_year_ago(match: re.Match[str], today: date) -> str:
    return f"{today.year - _number(match)}年"


def _last_month(match: re.Match[str], today: date) -> str:
    month = MONTH_NUMBERS[(_part_named(match, "month") or "").lower()]
    return f"{_ENGLISH_MONTHS[month - 1]} {today.year - (month >= today.month)}"


def _seasons_ago(match: re.Match[str], today: date) -> str:
    name = (_part_named(match, "season") or "").lower()
    season = next(number for each, number in SEASONS.items() if name.startswith(each))
    back = 1 if _part_named(match, "before") else _number(match) - 1
    first, last = next(season_days(season, today, is_last=True))
    # The day after, as the last day of February may be another.
    after = (last + timedelta(1)).replace(year=last.year - min(back, 100))
    return _between(first.replace(year=first.year - min(back, 100)), after - timedelta(1))


def _year_before_last(match: re.Match[str], today: date) -> str:
    return str(today.year - 2)


def _week(match: re.Match[str], today: date) -> str | None:
    number, year = int(_part_named(match, "w") or 0), _year_told(match, today)
    for each in [year] if year else [today.year, today.year - 1]:
        with suppress(ValueError):
            monday = date.fromisocalendar(each, number, 1)
            if year or monday <= today:
                return _between(monday, monday + timedelta(6))
    return None


def _part_of_year(match: re.Match[str], today: date) -> str | None:
    quarter, half, nth = (_part_named(match, name) for name in ("q", "half", "nth"))
    months = 3 if quarter else 6 if half else _MONTHS_OF[(_part_named(match, "part") or "").lower()]
    parts = 12 // months
    number = int(quarter) if quarter else 1 + (half == "下") if half else _NTH.get((nth or "").lower(), parts)
    if number > parts:
        return None
    month = (number - 1) * months + 1
    year = _year_told(match, today) or today.year - (month > today.month)
    return _between(date(year, month, 1), calendar_days(year, month + months - 1)[1])


def _era(match: re.Match[str], today: date) -> str:
    year = 1 if match["n"] == "元" else int(match["n"])
    return f"{_ERAS[one_way(match['era'])] + year}年"


def _feast(of_year: Callable[[int], date | None], before: int = 0, after: int = 0) -> _Reader:
    """What reads the last such day, with so many days before and after it where it is no end of a range."""

    def read(match: re.Match[str], today: date) -> str | None:
        told = _year_told(match, today)
        days = map(of_year, [told] if told else range(today.year, today.year - 9, -1))
        day = next((each for each in days if each and (told or each <= today)), None)
        if day is None:
            return None
        is_end = _AS_END.search(match.string[: match.start()]) or _AS_BEGIN.match(match.string, match.end())
        is_alone = is_end or not before + after
        return str(day) if is_alone else _between(day - timedelta(before), day + timedelta(after))

    return read


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


_ERAS: Final = {"令和": 2018, "平成": 1988, "民国": 1911}


def _form(listed: str, pattern: str, read: _Reader) -> _Form:
    return signs(listed), regex(pattern.replace(" ?", r"\s?").replace(" ", r"\s"), re.I), read


_ORDINAL: Final = "|".join(sorted({*filter(str.isalnum, _NTH), *_LAST_PART} - {*"一二三四1234"}, key=len, reverse=True))
_SEASON_ENDS: Final = r"(?:s|n|en|es)?\b"
_FORMS: Final = (
    _form("令和|平成|民国", r"(?P<era>令和|平成|民[国國]) ?(?P<n>元|\d{1,3})年", _era),
    _form(
        "today|day|date|exact|precise|heute|genau|tag|jour|hoy|justo",
        rf"(?:\b(?:{_THIS_DAY}|exactly|precisely|genau)\b,? )+{_AGO}(?:,? {_THIS_DAY})?",
        _anniversary,
    ),
    _form("today|day|tag|jour|hoy", rf"{_AGO},? {_THIS_DAY}", _anniversary),
    _form("exact|tout juste", rf"\bil y a (?:exactement|tout juste) (?P<n>{COUNT}) ans?\b", _anniversary),
    _form("exact|justo", rf"\b(?:hoy )?hace (?:exactamente|justo) (?P<n>{COUNT}) años?\b", _anniversary),
    _form(
        "today|day|date|heute|tag|jour|hoy",
        rf"\b{_THIS_DAY},? (?:im |in |el |de )?(?P<year>last year|(?:letzte|vorige)[snm] jahr(?:es)?|año pasado"
        r"|l['’]an(?:née)? derni(?:er|ère))\b",
        _anniversary,
    ),
    _form(
        "今天|今日|きょう",
        rf"(?:ちょうど|丁度)?(?:(?P<n>{COUNT})年前|(?P<year>一昨年|去年|前年|昨年))[的の](?:今天|今日|きょう)",
        _anniversary,
    ),
    _form("ちょうど|丁度", rf"(?:ちょうど|丁度)(?P<n>{COUNT})年前", _anniversary),
    _form("ago|vor |hace|il y a", rf"\b(?:(?:in|im|en) (?:the )?)?{_TIME},? (?:de )?{_AGO}", _time_years_ago),
    _form("ago|vor |hace|il y a", rf"{_AGO},? (?:in|im|en) (?:the )?{_TIME}", _time_years_ago),
    _form("年前", rf"(?P<n>{COUNT})年前[的の](?=(?:\d\d?|[一二三四五六七八九十]+)月|[春夏秋冬])", _in_year_ago),
    _form(
        "last|letzten|dernier|pasado",
        rf"\b(?:in )?last (?P<month>(?=(?-i:[A-Z]))(?:{MONTH}))\b(?! \d)|\b(?:im )?letzten (?P<month_de>{MONTH})\b"
        rf"|\b(?:en )?(?P<month_fr>{MONTH}) dernier\b|\b(?:en )?(?P<month_es>{MONTH}) pasado\b",
        _last_month,
    ),
    _form(
        "ago|before last|vor |vorletzt|hace|penúltim|il y a|avant-dernier",
        rf"\b(?:the )?(?P<season>{_SEASON}) (?P<before>before last)\b"
        rf"|\b(?:im )?(?P<before_de>vorletzte)[nmr]? (?P<season_de>{_SEASON})\b"
        rf"|\b(?P<before_es>penúltim)[oa] (?P<season_es>{_SEASON})\b"
        rf"|\bl['’](?P<before_fr>avant-dernier) (?P<season_fr>{_SEASON})\b"
        rf"|\b(?P<n>{COUNT}) (?P<season_ago>{_SEASON})s ago\b"
        rf"|\b(?:vor|hace|il y a) (?P<n_back>{COUNT}) (?P<season_back>{_SEASON}){_SEASON_ENDS}",
        _seasons_ago,
    ),
    _form(
        "before last|vorletzt|antepasado|avant-dernière",
        r"\b(?:the )?year before last\b|\b(?:im )?vorletzte[sn]? jahr\b|\b(?:el )?año antepasado\b"
        r"|\bl['’]avant-dernière année\b",
        _year_before_last,
    ),
    _form("-w", r"\b(?P<year>(?:19|20)\d\d)-W(?P<w>\d\d)\b", _week),
    _form(
        "week|woche|kw|semana|semaine",
        rf"\b(?:calendar week|iso week|kalenderwoche|kw) (?P<w>\d\d?)\b{_OF_YEAR}?"
        rf"|\b(?P<w_de>\d\d?)\. (?:kalenderwoche|kw)\b",
        _week,
    ),
    _form("week|woche|semana|semaine", rf"\b(?:week|woche|semana|semaine) (?P<w>\d\d?)\b{_OF_YEAR}\b", _week),
    _form("第", rf"(?:(?P<year>{_YEAR})年?[的の]?)第(?P<w>\d\d?)[周週]", _week),
    _form("q1|q2|q3|q4|t1|t2|t3|t4", rf"\b[QT](?P<q>[1-4])\b{_OF_YEAR}", _part_of_year),
    _form(
        "quart|half|halbjahr|mestre",
        rf"\b(?:the |im |el |le |au )?(?P<nth>{_ORDINAL}) (?P<part>quarter|half|quartal|halbjahr|trimestre|semestre)\b"
        rf"{_OF_YEAR}",
        _part_of_year,
    ),
    _form("季度|四半期", rf"(?P<year>{_YEAR})年?[的の]?第?(?P<nth>[一二三四1-4])(?P<part>季度|四半期)", _part_of_year),
    _form("半年|半期", rf"(?P<year>{_YEAR})年?[的の]?(?P<half>[上下])半[年期]", _part_of_year),
)
_FEASTS: Final = (
    _form(
        "easter|oster|pâques|semana santa|pascua|复活节|イースター",
        rf"\b(?:easter|ostern?|pâques|semana santa|pascua)\b(?: sunday| monday)?{_OF_YEAR}?"
        rf"|(?:(?P<year_before>{_YEAR})年?[的の]?)?(?:复活节|復活節|イースター)",
        _feast(_easter, before=2, after=1),
    ),
    _form(
        "new year|silvester|nochevieja|sylvestre|大晦日",
        rf"\b(?:new year['’]?s eve|silvester|nochevieja|(?:la )?saint-sylvestre)\b{_OF_YEAR}?"
        rf"|(?:(?P<year_before>{_YEAR})年?の?)?大晦日",
        _feast(lambda year: date(year, 12, 31)),
    ),
    _form(
        "new year|neujahr|año nuevo|nouvel an|元旦|元日|お正月",
        rf"\b(?:new year(?!['’]?s resol)(?:['’]?s(?: day)?)?|neujahr|año nuevo|(?:le )?nouvel an)\b{_OF_YEAR}?"
        rf"|(?:(?P<year_before>{_YEAR})年?[的の]?)?(?:元旦|元日|お?正月)",
        _feast(lambda year: date(year, 1, 1), before=1, after=1),
    ),
    _form(
        "leap day|schalttag|día bisiesto|jour bissextile|闰日|うるう日",
        rf"\b(?:leap day|schalttag|día bisiesto|jour bissextile)\b{_OF_YEAR}?|闰日|うるう日",
        _feast(_leap_day),
    ),
)
