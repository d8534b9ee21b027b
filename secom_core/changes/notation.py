"""Values in one notation, so that "March 28" and "28th of March", or "€1200" and "1,200.00 euros", are the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Final

from ..text.dates import MONTH_NUMBERS
from ..text.han import han_number, one_way
from ..text.patterns import regex

_CURRENCIES: Final = {
    word: code
    for code, words in {
        "eur": "€ eur euro euros",
        "usd": "$ usd dollar dollars bucks",
        "gbp": "£ gbp pound pounds",
        "cny": "元 块",
        "jpy": "円",
        "krw": "원",
    }.items()
    for word in one_way(words).split()
}
_TIMES_AS_MUCH: Final = {"k": 1_000, "千": 1_000, "천": 1_000, "万": 10_000, "만": 10_000}
_DAY: Final = regex(
    r"(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)|(?P<eastern_month>\d\d?)[月월]\s?(?P<eastern_day>\d\d?)[日号號일]"
    r"|(?P<name>[^\W\d_]+)\.? (?P<after>\d\d?)(?:st|nd|rd|th)?(?:, (?P<its_year>\d{4}))?"
    r"|(?P<before>\d\d?)(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<name_after>[^\W\d_]+)"
)
_TIME: Final = regex(
    r"(?P<hour>\d{1,2}|[一二三四五六七八九十]{1,2})(?:[:.](?P<minutes>\d\d))?"
    r" ?(?:(?P<half>am|pm)|uhr|o'clock|h(?:eures?)? ?(?P<after>\d\d)?|[時点시](?P<thirty>半|반)?)?"
)
_MONEY: Final = regex(r"(?P<sign>[€$£¥])? ?(?P<number>\d[\d., ]*)(?P<more>[k千천万만])? ?(?P<unit>[^\W\d_]+|[€$£¥])?")
_GROUPED: Final = regex(r"\d{1,3}(?:([., ])\d{3})(?:\1\d{3})*")
_NUMBER: Final = regex(r"#?(\d[\d., ]*)")
_MANY: Final = regex(r"(\d[\d.,]*)[万만](?:(\d+)([千천])?)?")
"""A number in tens of thousands, with what is beside them."""
_NO_DIGIT: Final = regex(r"\D")
_DRESS: Final = regex(r"\s|(?<=\d)(?:st|nd|rd|th)\b|[.,]$")
"""What stands beside a value and says nothing of it."""
_NOON, _MINUTES = 12, 60


def one_notation(sort: str, shown: str) -> str:
    """A value as all notations of it are written: an amount with its currency, ``day/month[/year]``, ``hour:minutes``.

    What is in no known notation stays as it is, without blanks. An hour that may be before or after noon begins with
    ``~``; see `is_same`.

    Args:
        sort: the sort of the value; see `secom_core.changes.values.Value`.
        shown: how it stands in the text.
    """
    folded = one_way(unicodedata.normalize("NFKC", shown).casefold()).strip()
    written = _WAYS.get(sort, _number)(folded)
    return written or _DRESS.sub("", folded)


def is_same(one: str, other: str) -> bool:
    """Whether two values of a sort, each in `one_notation`, may be meant as the same.

    A day without a year, or without a month, is that of any, and an hour of which nobody says whether it is before
    noon is either.
    """
    if one == other:
        return True
    if "~" in one + other:
        return _hour_on_dial(one) == _hour_on_dial(other)
    days = one.split("/"), other.split("/")
    told = min(map(len, days))
    return "/" in one + other and one[:1].isdigit() and days[0][:told] == days[1][:told]


def _hour_on_dial(written: str) -> str:
    hour, colon, minutes = written.removeprefix("~").partition(":")
    return f"{int(hour) % _NOON}:{minutes}" if colon and hour.isdecimal() else written


def _day(shown: str) -> str:
    found = _DAY.match(shown)
    if found is None:
        return ""
    year, month, day, eastern_month, eastern_day, name, after, its_year, before, name_after = found.groups()
    number = month or eastern_month or MONTH_NUMBERS.get(name or name_after, "")
    told = [int(day or eastern_day or after or before), int(number)] if number else []
    return "/".join(map(str, [*told, *filter(None, [year or its_year])])) if told else ""


def _time(shown: str) -> str:
    found = _TIME.fullmatch(shown)
    if found is None:
        return ""
    hour, minutes = han_number(found["hour"]), found["minutes"] or found["after"] or ("30" if found["thirty"] else "00")
    if hour > 2 * _NOON or int(minutes) >= _MINUTES:
        return ""
    if found["half"]:
        return f"{hour % _NOON + _NOON * (found['half'] == 'pm')}:{minutes}"
    return f"{'~' if 0 < hour <= _NOON else ''}{hour}:{minutes}"


def _money(shown: str) -> str:
    found = _MONEY.fullmatch(shown)
    currency = _CURRENCIES.get(found["unit"] or found["sign"] or "", found["unit"] or found["sign"]) if found else None
    if found is None or currency is None:
        return ""
    amount = _plain_number(found["number"])
    more = _TIMES_AS_MUCH.get(found["more"] or "", 1)
    return (f"{float(amount) * more:.10g}" if more > 1 else amount) + currency


def _percent(shown: str) -> str:
    number = _NUMBER.match(shown)
    return f"{_plain_number(number[1])}%" if number else ""


def _number(shown: str) -> str:
    if (many := _MANY.fullmatch(shown)) is not None:
        # "2万8" is 28,000.
        thousands = int(many[2] or 0) * (1_000 if many[3] or len(many[2] or "") == 1 else 1)
        return f"{float(_plain_number(many[1])) * 10_000 + thousands:.10g}"
    number = _NUMBER.match(shown)
    return _plain_number(number[1]) + shown[number.end() :].strip() if number else ""


def _plain_number(shown: str) -> str:
    """A number without what groups its digits, with a full stop before its fraction."""
    digits = shown.strip(" .,")
    if _GROUPED.fullmatch(digits):
        return _NO_DIGIT.sub("", digits)
    whole, stop, fraction = max(digits.rpartition("."), digits.rpartition(","), key=lambda parted: len(parted[0]))
    if not stop:
        return _NO_DIGIT.sub("", digits)
    fraction = fraction.rstrip("0")
    return _NO_DIGIT.sub("", whole) + (f".{fraction}" if fraction else "")


_WAYS: Final[Mapping[str, Callable[[str], str]]] = {"day": _day, "time": _time, "money": _money, "percent": _percent}
