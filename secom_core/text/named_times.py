"""Times of a question that have a name of their own, put such that they are read as other dates are.

"A year ago today", "July two years ago", "two summers ago", "last November", the year before last, weeks, quarters and
halves of a year, Easter, New Year and 29 February; in English, German, Spanish, French, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import date, timedelta
from typing import Final

from .dates import LONGEST_QUESTION, MONTH, MONTH_NUMBERS, MONTHS, calendar_days, is_countable
from .feasts import FEASTS, OF_FEASTS
from .han import one_way
from .parts_of_years import PARTS_OF_THE_PAST, PARTS_OF_YEARS
from .past_questions import clauses_of_the_past
from .patterns import regex
from .seasons import COUNT, SEASON_NAMES, SEASONS, season_days
from .told_years import AGO, OF_YEAR, YEAR, Form, Reader, between, form, number_told, part_named, year_told
from .wording import Signs, folded_case, is_signed

_ENGLISH_MONTHS: Final = MONTHS["english"]
_SEASON: Final = "|".join(SEASON_NAMES)
_TIME: Final = rf"(?P<time>{MONTH}|{_SEASON})\b"
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
_SPACES: Final = regex(" {2,}")


def named_times(text: str, today: date, *, is_asked: bool = False) -> str:
    """The question with such times written as dates.

    Args:
        text: the question.
        today: the day on which it is asked.
        is_asked: whether what was said then is asked for; else Christmas and the like are times only in clauses that
            ask for what was, and Easter and New Year are subjects.
    """
    if not is_countable(today) or len(text) > LONGEST_QUESTION:
        return text
    if is_asked:
        text = _written(text, today, (*_OF_THE_PAST, *FEASTS))
    elif _PAST_SIGNS.found_in(folded_case(text)):
        for begin, end in reversed(clauses_of_the_past(text)):
            text = f"{text[:begin]}{_written(text[begin:end], today, _OF_THE_PAST)}{text[end:]}"
    return _written(text, today, _FORMS)


def _written(text: str, today: date, forms: Iterable[Form]) -> str:
    folded = folded_case(text)
    for listed, pattern, read in forms:
        if is_signed(folded, listed):
            # Ranges are read with one space beside their ends.
            text = _SPACES.sub(" ", pattern.sub(_writing(read, today), text))
    return text


def _writing(read: Reader, today: date) -> Callable[[re.Match[str]], str]:
    def written(match: re.Match[str]) -> str:
        time = read(match, today)
        return match[0] if time is None else f" {time} " if time[-1].isdigit() else time

    return written


def _anniversary(match: re.Match[str], today: date) -> str:
    year = year_told(match, today) or today.year - number_told(match)
    last = calendar_days(year, today.month)[1]
    return str(min(last, today.replace(year=year, day=min(today.day, last.day))))


def _time_years_ago(match: re.Match[str], today: date) -> str:
    month, year = MONTH_NUMBERS.get(match["time"].lower()), today.year - number_told(match)
    return f"{_ENGLISH_MONTHS[month - 1]} {year}" if month else f"{match['time']} {year}"


def _in_year_ago(match: re.Match[str], today: date) -> str:
    return f"{today.year - number_told(match)}年"


def _last_month(match: re.Match[str], today: date) -> str:
    month = MONTH_NUMBERS[(part_named(match, "month") or "").lower()]
    return f"{_ENGLISH_MONTHS[month - 1]} {today.year - (month >= today.month)}"


def _seasons_ago(match: re.Match[str], today: date) -> str:
    name = (part_named(match, "season") or "").lower()
    season = next(number for each, number in SEASONS.items() if name.startswith(each))
    back = 1 if part_named(match, "before") else number_told(match) - 1
    first, last = next(season_days(season, today, is_last=True))
    # The day after, as the last day of February may be another.
    after = (last + timedelta(1)).replace(year=last.year - min(back, 100))
    return between(first.replace(year=first.year - min(back, 100)), after - timedelta(1))


def _year_before_last(match: re.Match[str], today: date) -> str:
    return str(today.year - 2)


def _week(match: re.Match[str], today: date) -> str | None:
    number, year = int(part_named(match, "w") or 0), year_told(match, today)
    for each in [year] if year else [today.year, today.year - 1]:
        with suppress(ValueError):
            monday = date.fromisocalendar(each, number, 1)
            if year or monday <= today:
                return between(monday, monday + timedelta(6))
    return None


def _part_of_year(match: re.Match[str], today: date) -> str | None:
    quarter, half, nth = (part_named(match, name) for name in ("q", "half", "nth"))
    months = 3 if quarter else 6 if half else _MONTHS_OF[(part_named(match, "part") or "").lower()]
    parts = 12 // months
    number = int(quarter) if quarter else 1 + (half == "下") if half else _NTH.get((nth or "").lower(), parts)
    if number > parts:
        return None
    month = (number - 1) * months + 1
    year = year_told(match, today) or today.year - (month > today.month)
    return between(date(year, month, 1), calendar_days(year, month + months - 1)[1])


def _era(match: re.Match[str], today: date) -> str:
    year = 1 if match["n"] == "元" else int(match["n"])
    return f"{_ERAS[one_way(match['era'])] + year}年"


_ERAS: Final = {"令和": 2018, "平成": 1988, "民国": 1911}


_ORDINAL: Final = "|".join(sorted({*filter(str.isalnum, _NTH), *_LAST_PART} - {*"一二三四1234"}, key=len, reverse=True))
_SEASON_ENDS: Final = r"(?:s|n|en|es)?\b"
_FORMS: Final = (
    *PARTS_OF_YEARS,
    form("令和|平成|民国", r"(?P<era>令和|平成|民[国國]) ?(?P<n>元|\d{1,3})年", _era),
    form(
        "today|day|date|exact|precise|heute|genau|tag|jour|hoy|justo",
        rf"(?:\b(?:{_THIS_DAY}|exactly|precisely|genau)\b,? )+{AGO}(?:,? {_THIS_DAY})?",
        _anniversary,
    ),
    form("today|day|tag|jour|hoy", rf"{AGO},? {_THIS_DAY}", _anniversary),
    form("exact|tout juste", rf"\bil y a (?:exactement|tout juste) (?P<n>{COUNT}) ans?\b", _anniversary),
    form("exact|justo", rf"\b(?:hoy )?hace (?:exactamente|justo) (?P<n>{COUNT}) años?\b", _anniversary),
    form(
        "today|day|date|heute|tag|jour|hoy",
        rf"\b{_THIS_DAY},? (?:im |in |el |de )?(?P<year>last year|(?:letzte|vorige)[snm] jahr(?:es)?|año pasado"
        r"|l['’]an(?:née)? derni(?:er|ère))\b",
        _anniversary,
    ),
    form(
        "今天|今日|きょう",
        rf"(?:ちょうど|丁度)?(?:(?P<n>{COUNT})年前|(?P<year>一昨年|去年|前年|昨年))[的の](?:今天|今日|きょう)",
        _anniversary,
    ),
    form("ちょうど|丁度", rf"(?:ちょうど|丁度)(?P<n>{COUNT})年前", _anniversary),
    form("ago|vor |hace|il y a", rf"\b(?:(?:in|im|en) (?:the )?)?{_TIME},? (?:de )?{AGO}", _time_years_ago),
    form("ago|vor |hace|il y a", rf"{AGO},? (?:in|im|en) (?:the )?{_TIME}", _time_years_ago),
    form("年前", rf"(?P<n>{COUNT})年前[的の](?=(?:\d\d?|[一二三四五六七八九十]+)月|[春夏秋冬])", _in_year_ago),
    form(
        "last|letzten|vergangenen|vorigen|dernier|pasado",
        rf"\b(?:in )?last (?P<month>(?=(?-i:[A-Z]))(?:{MONTH}))\b(?! \d)"
        rf"|\b(?:im )?(?:letzten|vergangenen|vorigen) (?P<month_de>{MONTH})\b"
        rf"|\b(?:en )?(?P<month_fr>{MONTH}) dernier\b|\b(?:en )?(?P<month_es>{MONTH}) pasado\b"
        rf"|\bel pasado (?:mes de )?(?P<month_pasado>{MONTH})\b",
        _last_month,
    ),
    form(
        "ago|before last|vor |vorletzt|hace|penúltim|il y a|avant-dernier",
        rf"\b(?:the )?(?P<season>{_SEASON}) (?P<before>before last)\b"
        rf"|\b(?:im )?(?P<before_de>vorletzte)[nmr]? (?P<season_de>{_SEASON})\b"
        rf"|\b(?P<before_es>penúltim)[oa] (?P<season_es>{_SEASON})\b"
        rf"|\bl['’](?P<before_fr>avant-dernier) (?P<season_fr>{_SEASON})\b"
        rf"|\b(?P<n>{COUNT}) (?P<season_ago>{_SEASON})s ago\b"
        rf"|\b(?:vor|hace|il y a) (?P<n_back>{COUNT}) (?P<season_back>{_SEASON}){_SEASON_ENDS}",
        _seasons_ago,
    ),
    form(
        "before last|vorletzt|antepasado|avant-dernière",
        r"\b(?:the )?year before last\b|\b(?:im )?vorletzte[sn]? jahr\b|\b(?:el )?año antepasado\b"
        r"|\bl['’]avant-dernière année\b",
        _year_before_last,
    ),
    form("-w", r"\b(?P<year>(?:19|20)\d\d)-W(?P<w>\d\d)\b", _week),
    form(
        "week|woche|kw|semana|semaine",
        rf"\b(?:calendar week|iso week|kalenderwoche|kw) (?P<w>\d\d?)\b{OF_YEAR}?"
        rf"|\b(?P<w_de>\d\d?)\. (?:kalenderwoche|kw)\b",
        _week,
    ),
    form("week|woche|semana|semaine", rf"\b(?:week|woche|semana|semaine) (?P<w>\d\d?)\b{OF_YEAR}\b", _week),
    form("第", rf"(?:(?P<year>{YEAR})年?[的の]?)第(?P<w>\d\d?)[周週]", _week),
    form("q1|q2|q3|q4|t1|t2|t3|t4", rf"\b[QT](?P<q>[1-4])\b{OF_YEAR}", _part_of_year),
    form(
        "quart|half|halbjahr|mestre",
        rf"\b(?:the |im |el |le |au )?(?P<nth>{_ORDINAL}) (?P<part>quarter|half|quartal|halbjahr|trimestre|semestre)\b"
        rf"{OF_YEAR}",
        _part_of_year,
    ),
    form("季度|四半期", rf"(?P<year>{YEAR})年?[的の]?第?(?P<nth>[一二三四1-4])(?P<part>季度|四半期)", _part_of_year),
    form("半年|半期", rf"(?P<year>{YEAR})年?[的の]?(?P<half>[上下])半[年期]", _part_of_year),
)
_OF_THE_PAST: Final = (*OF_FEASTS, *PARTS_OF_THE_PAST)
_PAST_SIGNS: Final = Signs(listed for listed, *_ in _OF_THE_PAST)
