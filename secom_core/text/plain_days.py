"""Dates of a question put such that they are read as others are: 18.05.2026, 5/18, May last year.

`secom_core.text.dates` passes those in digits alone over in what is said, where 18.05 may be a price and 5/8 a
fraction. In a question a year makes a date of them. Without one it takes a word before it, such as "on", and nothing
behind it that may be counted.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final, Literal, TypeAlias

from .dates import LONGEST_QUESTION, MONTH_NUMBERS, MONTHS, WEEKDAY_NUMBERS
from .day_words import days_in_english
from .named_times import named_times
from .patterns import regex
from .seasons import SEASON_NAMES
from .spoken_days import days_in_digits
from .wording import folded_case, is_signed, signs, wording

_First: TypeAlias = Literal["day", "month", ""]
"""Which of the two comes first in 5/6, where that is known."""

_ENGLISH_MONTHS: Final = MONTHS["english"]
# In Chinese and Japanese no space stands beside a date.
_HAN: Final = "[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]"
_OPENS: Final = r"(?<![A-Za-zÀ-ÿ\d_.,/:$€£+-])"
_ENDS: Final = r"(?![A-Za-zÀ-ÿ\d_/%€]|[.,:-]\d)"
_SLASHES: Final = r"(?P<first>\d\d?)/(?P<second>\d\d?)"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_DOTTED: Final = r"(?P<day>\d\d?)\.\s?(?P<month>\d\d?)\."
_YEAR_FIRST: Final = regex(rf"{_OPENS}{_YEAR}/(?P<month>\d\d?)/(?P<day>\d\d?){_ENDS}")
# The weekday of a date tells nothing more.
_WEEKDAY: Final = rf"(?:{'|'.join(WEEKDAY_NUMBERS)}),?(?:\s(?:the|dem|den))?"
_WHOLE: Final = regex(rf"(?:\b{_WEEKDAY}\s)?{_OPENS}(?:{_DOTTED}\s?|{_SLASHES}/){_YEAR}{_ENDS}", re.I)
_ON: Final = rf"(?P<weekday>{_WEEKDAY})|on(?:\sthe)?|since|(?<!I\s)am|vom|dem|seit|el|del|desde|le|du|depuis"
# Where what was said is asked for, more may stand before a date; or nothing, at the beginning.
_ASKED_ON: Final = (
    rf"{_ON}|from|between|and|to|until|till|bis|zum|und|ab|entre|y|al?|hasta|et|au|say|said|discuss(?:ed)?|happened"
)
# Neither what is counted nor what it is a part of: "5/8 inch", "3/4 of", "4/5 stars".
_BEHIND: Final = (
    rf"(?=\s*{_HAN}|\s*(?:[?!;:,.)、。？，–—]|$)|\s(?:j|qu)['’]"
    r"|\s(?:and|to|until|till|through|did|do|was|were|have|had|we|I|you|about|what|when|und|bis|zum|habe?n?|wir|ich"
    r"|gesagt|geschrieben|erzählt|gesprochen|besprochen|geredet|y|al?|hasta|te|me|et|au|nous|on)\b)"
)
_SHORT_YEAR: Final = r"(?P<short>\d\d)"
_IN_PARTS: Final = (
    rf"(?:{_SLASHES}(?:/{_SHORT_YEAR})?{_ENDS}{_BEHIND}|(?P<day>\d\d?)\.\s?(?P<month>\d\d?)"
    rf"(?:\.(?![\d/])|\.(?P<dotted>\d\d)(?![\w.])|{_ENDS}{_BEHIND}))"
)
_PARTS: Final = regex(rf"(?P<on>\b(?:{_ON})\s){_IN_PARTS}", re.I)
_ASKED_PARTS: Final = regex(rf"(?P<on>\A\W*|(?<={_HAN})|\b(?:{_ASKED_ON})\s){_IN_PARTS}", re.I)
_DAY_FIRST: Final = wording(
    r"el|del|le|du|depuis|desde|am (?=\d)|vom|seit|ich|wir|qué|dije|hablamos|quoi|nous|qu'est-ce|j'ai"
)
_SIGNED: Final = regex(_HAN)
"""In Chinese, Japanese and Korean the month comes first."""

_MAY_HOLD: Final = regex(r"\d/\d|\d\.\s?\d\d?\.|\b(?:am|vom|dem|on)\s\d\d?\.\d", re.I)
_SLASHED: Final = regex(rf"{_OPENS}{_SLASHES}(?=/(?:19|20)?\d\d\b|(?![\w/]))")
_NAME: Final = rf"(?P<name>{'|'.join(sorted((*MONTH_NUMBERS, *SEASON_NAMES), key=len, reverse=True))})\b"
_YEAR_AFTER: Final = regex(
    rf"\b{_NAME}\.?,?\s"
    r"(?:(?:of\s)?(?:(?P<last>last|the\s(?:past|previous))|this)\syear"
    r"|(?:des\s)?(?:(?P<last_de>letzten|vorigen|vergangenen)|dieses|diesen)\sjahre?s"
    r"|(?:del?\s)?(?:(?P<last_es>año\spasado)|este\saño)"
    r"|(?:de\s)?(?:(?P<last_fr>l['’](?:année\sdernière|an\sdernier))|cette\sannée))\b",
    re.I,
)
_YEAR_BEFORE: Final = regex(
    r"\b(?:(?P<last>last\syear|(?:letztes|voriges|vergangenes)\sjahr|(?:el\s)?año\spasado|l['’]année\sdernière|l['’]an\sdernier)"
    r"|this\syear|dieses\sjahr|este\saño|cette\sannée)"
    rf"(?:['’]s|,?\s(?P<in>in|im|en)(?:\sthe)?)\s{_NAME}",
    re.I,
)
# As people type: "in march", "im märz", "en Marzo". "This may help" is no month.
_SMALL_NAMES: Final = {name.lower(): name for language in ("english", "german") for name in MONTHS[language]}
_TYPED_SIGNS: Final = tuple(_SMALL_NAMES)
_TYPED: Final = regex(
    r"\b(?P<before>(?:(?:in|since|during|last|by|of|early|late|until|im|seit|letzten|vergangenen|anfang|mitte|ende)\s)?)"
    rf"(?P<small>(?-i:{'|'.join(_SMALL_NAMES)}))\b(?P<year>(?:,?\s(?:of\s)?(?:19|20)\d\d\b)?)",
    re.I,
)
_GOES_ON: Final = regex(r"\s+\w")
_ROMANCE: Final = tuple(
    name.title() for each in ("spanish", "french", "italian", "portuguese") for name in MONTHS[each]
)
_CAPITAL: Final = regex(rf"(?P<before>\b(?:en|em|a|in|de|desde|depuis)\s)(?P<name>{'|'.join(_ROMANCE)})\b")
_LAST_YEAR_SIGNS: Final = signs("year|jahr|año|année|l'an|l’an")


def plain_days(text: str, today: date | None, *, is_asked: bool = False) -> str:
    """The question with its dates as others are written: "on May 18" for "on 5/18", both where it may be 5 June too.

    So are days in words, such as "the eighteenth of may".

    Args:
        text: the question.
        today: the day on which it is asked; without it, "last year" is left.
        is_asked: whether what was said then is asked for, so that 5/18 is a date where it need not be one elsewhere.
    """
    if len(text) > LONGEST_QUESTION:
        return text
    text = days_in_english(text)
    if is_signed(folded_case(text), _TYPED_SIGNS):
        text = _TYPED.sub(_as_written, text)
    if is_signed(text, _ROMANCE):
        text = _CAPITAL.sub(lambda found: found["before"] + found["name"].lower(), text)
    text = days_in_digits(text)
    if today:
        text = named_times(text, today, is_asked=is_asked)
    if today and is_signed(folded_case(text), _LAST_YEAR_SIGNS):
        for pattern in (_YEAR_AFTER, _YEAR_BEFORE):
            text = pattern.sub(lambda match: _of_year(match, today), text)
    if not _MAY_HOLD.search(text):
        return text
    first = _which_first(text)
    for pattern in (_YEAR_FIRST, _WHOLE, _ASKED_PARTS if is_asked else _PARTS):
        text = pattern.sub(lambda match: _written(match, first), text)
    return text


def _as_written(match: re.Match[str]) -> str:
    """A month with its capital letter where a word before it, or a year, says that it is one."""
    is_march = match["small"] in ("march", "may") and match["before"].lower().startswith("last")
    is_month = match["year"] or (match["before"] and not (is_march and _GOES_ON.match(match.string, match.end())))
    return f"{match['before']}{_SMALL_NAMES[match['small']]}{match['year']}" if is_month else match[0]


def _of_year(match: re.Match[str], today: date) -> str:
    """The month, or season, with the number of its year; in English such that it is a month by its capital letter."""
    parts, name = match.groupdict(), match["name"]
    is_last = any(told for part, told in parts.items() if part.startswith("last"))
    opening = f"{parts['in']} " if parts.get("in") else ""
    return f"{opening}{name.title() if name.title() in _ENGLISH_MONTHS else name} {today.year - is_last}"


def _written(match: re.Match[str], first: _First) -> str:
    parts = match.groupdict()
    short = parts.get("short") or parts.get("dotted")
    year = f"20{short}" if short else parts.get("year")
    in_signs = _SIGNED.search(match.string) is not None
    named = [_named(year, month, day, in_signs=in_signs) for month, day in _days(parts, first)]
    # "May 18:30" would be a time.
    closing = " " if match.string.startswith(":", match.end()) else ""
    opening = "" if parts.get("weekday") else parts.get("on") or ""
    return opening + " / ".join(named) + closing if named else match[0]


def _named(year: str | None, month: int, day: int, *, in_signs: bool) -> str:
    if in_signs:
        return f"{year}年{month}月{day}日" if year else f"{month}月{day}日"
    return f"{year}-{month}-{day}" if year else f"{_ENGLISH_MONTHS[month - 1]} {day}"


def _days(parts: dict[str, str | None], first: _First) -> list[tuple[int, int]]:
    """The month and the day that are meant, or all that may be."""
    if parts["day"] and parts["month"]:
        return _possible((int(parts["month"]), int(parts["day"])))
    month_first = int(parts["first"] or 0), int(parts["second"] or 0)
    day_first = month_first[::-1]
    given = _possible(*{"day": (day_first,), "month": (month_first,), "": ()}[first])
    return given or _possible(*dict.fromkeys((month_first, day_first)))


def _possible(*days: tuple[int, int]) -> list[tuple[int, int]]:
    return [(month, day) for month, day in days if 1 <= month <= 12 and 1 <= day <= 31]


def _which_first(text: str) -> _First:
    """Which comes first by the language, or by another date; in English the month where there are several."""
    if _DAY_FIRST.search(text):
        return "day"
    found = [(int(match["first"]), int(match["second"])) for match in _SLASHED.finditer(text)]
    if any(first > 12 for first, _ in found):
        return "day"
    return "month" if len(found) > 1 or _SIGNED.search(text) else ""
