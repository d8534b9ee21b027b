"""Korean questions about what was said then: the days that they mean, and their words that tell nothing else.

Beside `secom_core.text.dates`, which reads dates, and "yesterday", "last week" and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, timedelta
from typing import Final, TypeAlias

from .dates import Span, calendar_days, counted_back
from .patterns import regex
from .seasons import before_month, days_read, season_days, weekend
from .wording import is_signed

_Days: TypeAlias = Iterator[tuple[date, date]]

_NATIVE: Final = {
    word: number for number, word in enumerate("한 두 세 네 다섯 여섯 일곱 여덟 아홉 열 열한 열두".split(), 1)
} | {"석": 3, "넉": 4, "몇": 3}
_SINO: Final = {word: number for number, word in enumerate("일 이 삼 사 오 육 칠 팔 구 십".split(), 1)}
_DAYS: Final = {
    word: number for number, word in enumerate("하루 이틀 사흘 나흘 닷새 엿새 이레 여드레 아흐레 열흘".split(), 1)
} | {"보름": 15, "며칠": 7}
_UNITS: Final = {"일": 1, "주": 7, "주일": 7, "달": 30, "개월": 30, "년": 365, "해": 365}
_COUNTED: Final = (
    rf"(?:(?P<days>{'|'.join(_DAYS)})"
    rf"|(?P<count>\d{{1,3}}|{'|'.join(sorted(_NATIVE, key=len, reverse=True))})\s?(?P<of>주일|개월|[일주달년해])"
    r"|(?P<sino>[일이삼사오육칠팔구십])\s?(?P<unit>주일|개월|[주년]))"
)
_OPENS: Final = r"(?<![가-힣\d])"
_NOT_NEXT: Final = r"(?<!다음)(?<!다음\s)(?<!다음주\s)(?<!다음\s주\s)"
_LAST: Final = "지난|저번"
_BEFORE: Final = r"전(?=에|엔|쯤|부터|까지|$|[^가-힣])"
# After a month it is a date: "before 3 May".
_AGO: Final = regex(rf"{_OPENS}(?<!월)(?<!월\s)(?:{_COUNTED}|(?P<half>반\s?년))\s?{_BEFORE}")
_UNTIL_NOW: Final = regex(rf"{_OPENS}(?:지난|최근|요)\s?{_COUNTED}(?:\s?(?:동안|간|사이))?(?!\s?전)")
_MONTH_OF_YEAR: Final = regex(
    r"(?:(?P<before>재작년)|(?P<past>작년|지난해)|올해|금년)\s?(?P<month>\d\d?)월(?:\s?(?P<day>\d\d?)일)?"
)
_DAY_OF_MONTH: Final = regex(rf"(?:(?P<last>(?:{_LAST})\s?달)|이번\s?달|이달)\s?(?P<day>\d\d?)일")
_BEFORE_MONTH: Final = regex(
    r"(?:(?P<year>재작년|작년|지난해|올해|금년|(?:19|20)\d\d(?=년))년?\s?|(?<!\d)(?<!년)(?<!년\s))"
    rf"(?P<month>\d\d?)월\s?이?{_BEFORE}"
)
_SEASONS: Final = "봄", "여름", "가을", "겨울"
_SEASON: Final = regex(
    rf"{_OPENS}(?:(?:(?P<year>(?:19|20)\d\d)년|(?P<before>재작년)|(?P<past>작년|지난해)|올해|(?P<last>{_LAST})|이번)\s?)?"
    rf"(?P<season>{'|'.join(_SEASONS)})(?=에|동안|\s|$)"
)
_WEEKEND: Final = regex(rf"{_NOT_NEXT}(?:(?P<last>{_LAST})\s?(?:주\s?)?|이번\s?(?:주\s?)?)?주말")
_WEEKDAY: Final = regex(
    rf"{_NOT_NEXT}(?:(?P<last>(?:{_LAST})\s?주)\s?|(?:이번\s?주|지난)\s?)?(?P<day>[월화수목금토일])요일"
)
_WEEK_BEFORE_LAST: Final = regex(r"(?:지지난|저저번)\s?주(?P<end>말)?")
_YEAR: Final = regex(r"(?P<before>재작년)|지난\s?해")
_SINGLE: Final = regex(
    rf"그(?P<three>[끄그]저께)|엊그제|엊그저께|{_OPENS}그제(?!야|서야)|(?P<one>어젯밤|간밤|지난\s?밤)"
)

SIGNS: Final = tuple("전 지난 최근 요 저번 작년 올해 금년 이번 이달 봄 여름 가을 겨울 주말 그제 저께 젯밤 간밤".split())


def korean_periods(text: str, today: date) -> tuple[list[Span], str]:
    """The spans of days that these expressions of a question mean, and the rest of it.

    Args:
        text: a question about what was said then.
        today: the day on which it is asked.
    """
    return days_read(text, today, _FORMS) if is_signed(text, SIGNS) else ([], text)


def without_talk(text: str) -> str:
    """The text without the Korean words of a question about a conversation: what was said, by whom."""
    return text if text.isascii() else _WORD.sub(lambda word: "" if _TALK.fullmatch(word[0]) else word[0], text)


_WORD: Final = regex("[가-힣]+")
_ENDING: Final = "(?:[지죠나니냐어아던]|지요|나요|[어아]요|었(?:어|지|나요|죠)|습니까|던가요?|더라고?|는지|을까요?)?"
_SPOKE: Final = (
    f"(?:했|하셨|하였|나눴|나누었|물었|물어봤|물어보았|말했|말씀드렸|얘기했|이야기했|알려줬|알려드렸|들었){_ENDING}"
)
_TALK: Final = regex(
    rf"""
    (?:에|에는|엔|은|는|이|가|의|도|쯤|쯤에|날|날에|때|때에|동안|동안에|중|중에|사이|사이에|로|으로|로는|까지)
    |(?:우리|우리가|우리는|우린|내가|나는|난|나|제가|저는|저|저희|저희가|저희는)
    |(?:너|너는|넌|네가|니가|너와|너랑|너한테|너에게|나한테|나에게|저한테|저에게|당신|당신이|당신은|당신에게|서로|같이|함께)
    |(?:무슨|어떤|무엇|무엇을|무엇에|무얼|뭐|뭐를|뭘|뭔|뭐라고|무엇이라고|뭐에|뭔가)
    |(?:대해|대해서|대하여|관해|관해서)
    |(?:얘기|이야기|말|말씀|대화|질문|논의|주제|내용|일)(?:를|을|가|이|에|는|은|들|들을|도|이나)?
    |(?:얘기|이야기|말|대화|질문|논의|말씀)?{_SPOKE}
    |(?:얘기|이야기|말|대화|질문|논의|말씀)?(?:한|하신|나눈|했던|나눴던|하던)
    |(?:거|것|게|건|것은|것이|것을|거지|거야|거였지|건가요)
    |(?:뭐|무엇이|뭔)(?:지|죠|야|였지|였죠|였나요|였더라|예요|에요|가요|었지|었나요|인가요|인지|었는지)
    |(?:있었|일어났|생겼){_ENDING}
    |(?:알려|말해|요약해|정리해|얘기해|이야기해|가르쳐)(?:줘|줘요|주세요|줄래|줄래요)?
    |(?:기억|기억해|기억하니|기억나|기억나니|기억해요|기억나요|다시|좀|혹시|그때|줘|줄래|주세요)
    """,
    re.X,
)


def _length(match: re.Match[str]) -> tuple[int, int]:
    """How many units are counted, and how many days each has."""
    if match["days"]:
        return _DAYS[match["days"]], 1
    if match["sino"]:
        return _SINO[match["sino"]], _UNITS[match["unit"]]
    count = match["count"]
    return _NATIVE.get(count) or int(count), _UNITS[match["of"]]


def _ago(match: re.Match[str], today: date) -> _Days:
    yield counted_back(*((6, 30) if match["half"] else _length(match)), today)


def _until_now(match: re.Match[str], today: date) -> _Days:
    number, length = _length(match)
    yield today - timedelta(min(number, 100) * length), today


def _month_of_year(match: re.Match[str], today: date) -> _Days:
    with suppress(ValueError):
        day = int(match["day"]) if match["day"] else None
        yield calendar_days(_year_of(match, today), int(match["month"]), day)


def _year_of(match: re.Match[str], today: date) -> int:
    return today.year - (2 if match["before"] else 1 if match["past"] else 0)


def _day_of_month(match: re.Match[str], today: date) -> _Days:
    first = (today.replace(day=1) - timedelta(1)).replace(day=1) if match["last"] else today.replace(day=1)
    with suppress(ValueError):
        yield (first.replace(day=int(match["day"])),) * 2


def _season(match: re.Match[str], today: date) -> _Days:
    is_named = match["before"] or match["past"]
    year = int(match["year"]) if match["year"] else _year_of(match, today) if is_named else None
    yield from season_days(_SEASONS.index(match["season"]), today, year, is_last=match["last"] is not None)


def _weekday(match: re.Match[str], today: date) -> _Days:
    weekday = "월화수목금토일".index(match["day"])
    back = today.weekday() + 7 - weekday if match["last"] else (today.weekday() - weekday - 1) % 7 + 1
    yield (today - timedelta(back),) * 2


def _week_before_last(match: re.Match[str], today: date) -> _Days:
    monday = today - timedelta(today.weekday() + 14)
    yield monday + timedelta(5 if match["end"] else 0), monday + timedelta(6)


def _year(match: re.Match[str], today: date) -> _Days:
    yield calendar_days(today.year - (2 if match["before"] else 1))


def _single(match: re.Match[str], today: date) -> _Days:
    yield (today - timedelta(1 if match["one"] else 3 if match["three"] else 2),) * 2


_FORMS: Final = (
    (_SINGLE, _single),
    (_WEEK_BEFORE_LAST, _week_before_last),
    (_AGO, _ago),
    (_UNTIL_NOW, _until_now),
    (_BEFORE_MONTH, before_month),
    (_MONTH_OF_YEAR, _month_of_year),
    (_DAY_OF_MONTH, _day_of_month),
    (_SEASON, _season),
    (_WEEKEND, weekend),
    (_WEEKDAY, _weekday),
    (_YEAR, _year),
)
