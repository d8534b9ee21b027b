"""What a statement may say of a thing: an amount, a day, a time, a name; so that two can be compared."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ..text.han import one_way
from ..text.patterns import regex
from ..text.terms import is_stopword
from .cues import CHANGED
from .notation import one_notation


class Value(NamedTuple):
    """A value in a clause.

    Args:
        sort: what it can be compared with: ``"money"``, ``"time"``, ``"weekday"``, ``"day"``, ``"name"``, or the unit.
        value: the value in one notation; see `secom_core.changes.notation.is_same`.
        start: where it begins, in characters.
        stop: where it ends.
        is_hour: whether a number without a unit stands where a time would: "at 7".
    """

    sort: str
    value: str
    start: int
    stop: int
    is_hour: bool = False


_WEEKDAYS: Final = {
    name: day
    for day, names in enumerate(
        (
            "monday mondays montag montags lunes lundi lundis 周一 星期一 礼拜一 月曜 월요일",
            "tuesday tuesdays dienstag dienstags martes mardi mardis 周二 星期二 礼拜二 火曜 화요일",
            "wednesday wednesdays mittwoch mittwochs miércoles mercredi mercredis 周三 星期三 礼拜三 水曜 수요일",
            "thursday thursdays donnerstag donnerstags jueves jeudi jeudis 周四 星期四 礼拜四 木曜 목요일",
            "friday fridays freitag freitags viernes vendredi vendredis 周五 星期五 礼拜五 金曜 금요일",
            "saturday saturdays samstag samstags sábado sábados samedi samedis 周六 星期六 礼拜六 土曜 토요일",
            "sunday sundays sonntag sonntags domingo domingos dimanche dimanches "
            "周日 星期日 礼拜日 周天 星期天 礼拜天 日曜 일요일",
        )
    )
    for name in names.split()
}
MONTHS: Final = (
    r"jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?|enero|febrero|marzo|abril|mayo|junio|julio"
    r"|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_MONTH: Final = regex(MONTHS, re.I)
_COUNTED: Final = {
    word: str(number)
    for number, words in enumerate(
        (
            "one ein eine einen un una une 一 하나 한",
            "two zwei dos deux 二 两 両 두",
            "three drei tres trois 三 세",
            "four vier cuatro quatre 四 네",
            "five fünf cinco cinq 五 다섯",
            "six sechs seis 六 여섯",
            "seven sieben siete sept 七 일곱",
            "eight acht ocho huit 八 여덟",
            "nine neun nueve neuf 九 아홉",
            "ten zehn diez dix 十 열",
            "eleven elf once onze 十一",
            "twelve zwölf doce douze 十二",
        ),
        1,
    )
    for word in words.split()
}
_MONEY: Final = r"euros?|eur|dollars?|usd|pounds?|gbp|bucks|元|块|円|만\s?원|원|€|\$|£|¥|万円|千円"
_NUMBER: Final = r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,3}|\d[\d.,]{0,30})"
"""Bounded, so that thousands of digits in a row are read in time."""
_SUM: Final = rf"(?:[€$£¥] ?{_NUMBER}k?|{_NUMBER} ?(?:{_MONEY}|%|prozent|percent))"
_AMOUNT: Final = rf"(?:{_SUM} ?|{_NUMBER} ?)"
_PATTERNS: Final = tuple(
    (sort, regex(pattern, re.I))
    for sort, pattern in (
        # HTTP statuses, which count nothing.
        (
            "",
            r"\b[45]\d\d:? (?:not found|internal server|service unavailable|bad (?:request|gateway)|unauthori[sz]ed"
            r"|forbidden|too many requests|gateway time-?out|method not|unprocessable)\b",
        ),
        ("", r"\bv?\d+\.\d+\.\d+\b|\bv\d[\d.]*|https?:\S+|\w+[._/]\w+[._/]\w+"),
        # An age, or years.
        ("", r"\b(?:her|his|my|their|our|your|the|mid|early|late)[ -](?:(?:early|mid|late)[ -]?)?['’]?\d0s\b"),
        # By how much something differs from what it was: of that nobody knows what it is.
        (
            "",
            rf"{_AMOUNT}(?:[\w-]{{1,30}} )?(?:more|less|fewer|extra|longer|shorter|mehr|weniger|más|menos)\b"
            rf"|{_AMOUNT}(?:[\w-]{{1,30}} )?de (?:plus|moins)\b"
            rf"|\b(?:by|um) (?:{_SUM}|{_NUMBER}[ -](?!(?:am|pm|uhr|o'clock|{MONTHS})\b)[a-z])"
            rf"|(?:涨|贵|便宜|多|少|加|减)了 ?{_AMOUNT}",
        ),
        (
            "",
            r"\b\d+ (?:of (?:them|these|those|us|which|you|the(?! (?:\d+ )?(?:[a-z]+ ){0,2}[a-z]{3,}s\b))|davon"
            r"|de (?:ell[oa]s|es[oa]s))\b",
        ),
        ("", r"(?<=\d )of (?:the|my|our) \d+(?= (?:[a-z]+ ){0,2}[a-z]{3,}s\b)"),
        (
            "",
            r"\b(?:last|this past|letzten?|el pasado) \w+|\b\w+ derni(?:er|ère)\b"
            r"|上(?:个?(?:周|星期|礼拜))[一二三四五六日天]",
        ),
        (
            "weekday",
            "|".join(
                sorted(
                    (rf"\b{each}\b" if each.isalpha() and each.isascii() else each for each in _WEEKDAYS),
                    key=len,
                    reverse=True,
                )
            ),
        ),
        ("day", r"\b\d{4}-\d{1,2}-\d{1,2}\b|(?:\d{1,2}月\d{1,2}[日号])|\d{1,2}월 ?\d{1,2}일"),
        ("day", rf"\b(?:{MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:, \d{{4}})?"),
        ("day", rf"\b\d{{1,2}}(?:st|nd|rd|th|er|\.)?(?: of| de)? (?:{MONTHS})\b"),
        # A day of the month alone, where no noun follows that it counts.
        (
            "day",
            r"(?<=\bthe )\d{1,2}(?:st|nd|rd|th)\b"
            r"(?=[.,;:!?)]|$| (?:at|in|on|for|as|because|since|instead|not|now|and|or|but)\b)",
        ),
        ("day", r"(?:(?<=\bam )|(?<=\bden )|(?<=\bzum )|(?<=\bdem ))\d{1,2}\.(?![\d\w])(?-i:(?! [A-ZÄÖÜ]))"),
        ("day", r"(?:(?<=\bal )|(?<=\bau )|(?<=\ble ))\d{1,2}(?=[.,;:!?)]|$)(?![.,]\d)"),
        (
            "time",
            r"(?<=à )\d{1,2} ?(?:h|heures?)(?: ?\d\d)?\b|(?:\b\d{1,2}:|(?:(?<=\bat )|(?<=\bum ))\d{1,2}\.)\d\d"
            r"(?! ?(?:%|€|[km]?[gms]|secs?|seconds?|mins?|minutes?|hours?)\b) ?(?:am|pm|uhr)?\b"
            r"|\b\d{1,2}\.\d\d ?(?:am|pm|uhr)\b"
            r"|\b\d{1,2} ?(?:am|pm|uhr|o'clock)\b|\d{1,2}[時点시](?:半|반)?"
            r"|[一二三四五六七八九十]{1,2}点",
        ),
        (
            "money",
            rf"[€$£¥] ?{_NUMBER}k?|{_NUMBER}(?:[万千만]\d*[千천]?)? ?(?:천 )?(?:{_MONEY})(?![a-z])"
            r"|[一二两三四五六七八九十]{1,2}[万千][一二两三四五六七八九十百千]{0,5}(?:元|块|円)?(?![人次字步米个天年万])"
            r"|[一二两三四五六七八九十百]{2,5}(?:元|块|円)",
        ),
        ("percent", rf"{_NUMBER}(?: ?%| per ?cent\b| prozent\b| por ciento\b| pour cent\b)"),
        (
            "#",
            r"(?<![A-Za-z\d.,])(?:\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,3}(?![\d.,]*\d)"
            r"|\d[\d.,]{0,30}[万만](?:\d{1,4}[千천]?)?|#?\d[\d.,]*\d|\d)",
        ),
    )
)
_UNIT: Final = regex(r"[\s-]*([^\W\d_\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]+)")
_SHORT_UNITS: Final = frozenset({"ms", "s"})
"""Units that are no plural of anything, though they end like one."""
_PLURAL: Final = regex(
    r"(?: (?:of (?:the|my|our)(?: \d+)?|de (?:l[oa]s|mis|mes)|des))?"
    r"(?: (?!(?:of|for|to|in|on|at|per|by|and|or|de|en|von|und|y|et|pour|par|du|des|au)\b)[a-z]+){0,2}"
    r" ([a-z]{3,}(?<!s)s)\b"
)
"""The noun that is counted, behind what is said of it: "12 new probability problems", "4 of the modules"."""
_HAN_UNIT: Final = regex(
    r"\s?(公斤|毫克|キロ|ミリグラム|킬로|밀리그램|(?![ぁ-ん了的吗呢吧이에예의은는을를로으도])[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3])"
)
"""No particle, and no ending."""
_HOW: Final = regex(
    r"tall|long|high|wide|deep|old|heavy|hoch|lang|breit|tief|alt|schwer|groß|haut|large|lourd|alto|ancho|largo", re.I
)
"""What says how something is measured, behind a number without a unit: "118 tall"."""
_HOUR: Final = regex(r"(?:\b(?:at|um|à|a las?|until|till|bis|jusqu'à|hasta las?) )$", re.I)
_HOUR_BEHIND: Final = regex(r"\s?(?:に|에)")
"""What stands around a number that is an hour."""
_WORD_COUNT: Final = regex(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf"
    r"|zwölf|dos|tres|cuatro|cinco|siete|ocho|nueve|diez|doce|deux|trois|quatre|cinq"
    r"|(?-i:sept)|huit|neuf|dix|onze|douze)(mal\b)?\b"
    r"|[週周]\w?([一二三四五六七八九两])(?:次|回)|(하나|두|세|네|다섯|여섯|일곱|여덟|아홉) ?(번|살)"
    r"|([一二两三四五六七八九十])岁",
    re.I,
)
_WORD: Final = regex(r"\S+")
_OWNS: Final = regex(r"['’]s$")
_DIGIT: Final = regex(r"[\d一二两三四五六七八九十]")
_NAME: Final = regex(
    r"(?:(?:Dr|Mrs?|Ms|Prof|Mme)\.? |Herrn? |Frau |doctora? |docteure? |[Mm]adame |[Mm]onsieur )?"
    r"[A-ZÄÖÜÁÉÍÓÚÑÀÂÇÈÊÎÔ][\w'’-]*[a-zäöüßáéíóúñàâçèêëîïôûœ0-9][\w'’-]*"
    r"(?: [A-ZÄÖÜÁÉÍÓÚÀÂÇÈÊÎÔ][\w'’-]+)*"
)
_EASTERN_NAME: Final = regex(
    r"[\u4e00-\u9fff\u30a1-\u30fa\u30fc]{1,5}(?=さん)|[\uac00-\ud7a3]{2,4}(?= ?씨)|[\u30a1-\u30fa\u30fc]{3,}"
)


def has_number(text: str) -> bool:
    """Whether any amount can stand in a text; far faster than `values_of`."""
    return _DIGIT.search(text) is not None or _WORD_COUNT.search(text) is not None


def values_of(text: str) -> list[Value]:
    """The values in a clause, in order.

    Args:
        text: the clause.
    """
    found: list[Value] = []
    left = text
    for sort, pattern in _PATTERNS:
        found += [_value(sort, match, text) for match in pattern.finditer(left) if sort]
        left = pattern.sub(lambda match: "\0" * len(match[0]), left)
    found += [_counted(match) for match in _WORD_COUNT.finditer(left)]
    names = [*(_bare(match) for match in _NAME.finditer(left)), *(each.span() for each in _EASTERN_NAME.finditer(left))]
    names_found = [
        Value("name", _OWNS.sub("", one_way(text[start:stop].casefold())), start, stop)
        for start, stop in names
        if stop - start > 1
        and not _begins(text, start, stop)
        and not is_stopword(text[start:stop])
        and not _MONTH.fullmatch(text, start, stop)
        and not any(value.start <= start < value.stop for value in found)
    ]
    return sorted([*found, *names_found], key=lambda each: each.start)


def _bare(match: re.Match[str]) -> tuple[int, int]:
    """Where a name stands without the words around it that are capital as well, as in "Also I'm" and "The Alvo"."""
    words = [each for each in _WORD.finditer(match[0]) if not is_stopword(each[0].partition("'")[0])]
    first, last = (words[0].start(), words[-1].end()) if words else (0, 0)
    return match.start() + first, match.start() + last


def _begins(text: str, start: int, stop: int) -> bool:
    """Whether a name is only capital because the sentence begins with it; one that owns something is a name."""
    name = text[start:stop]
    return start == 0 and " " not in name and name[0].isascii() and not _OWNS.search(name)


def _value(sort: str, match: re.Match[str], text: str) -> Value:
    shown = match[0]
    start, stop = match.span()
    if sort == "weekday":
        return Value(sort, f"weekday {_WEEKDAYS[one_way(shown.casefold())]}", start, stop)
    if sort != "#":
        return Value(sort, one_notation(sort, shown), start, stop)
    eastern = _HAN_UNIT.match(text, stop)
    unit = eastern or _PLURAL.match(text, stop) or _UNIT.match(text, stop)
    counts = unit is not None and (unit[1] == "s" or not (is_stopword(unit[1]) or _says_no_unit(unit[1])))
    named = one_way(unit[1].casefold()) if unit and counts else ""
    is_hour = not named and bool(_HOUR.search(text, 0, start) or _HOUR_BEHIND.match(text, stop))
    sort = f"#{named if named in _SHORT_UNITS else named.rstrip('s')}"
    return Value(sort, one_notation("#", shown), start, stop, is_hour)


def _says_no_unit(word: str) -> bool:
    return CHANGED.search(word) is not None or _HOW.fullmatch(word) is not None


def _counted(match: re.Match[str]) -> Value:
    word = next(filter(None, match.groups()))
    times = match[2] or match[3]
    ages = (match[5] == "살") or bool(match[6])
    sort = "#times" if times or match[5] == "번" else "#years" if ages else "#"
    return Value(sort, _COUNTED.get(one_way(word.casefold()), word), *match.span())
