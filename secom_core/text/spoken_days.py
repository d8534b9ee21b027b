"""Days of a month in words, as speech recognition writes them: "the twelfth of may", "am zwölften mai"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .dates import MONTHS
from .patterns import regex
from .wording import folded_case, is_signed, signs

_UNITS: Final = "first second third fourth fifth sixth seventh eighth ninth".split()
_ENGLISH: Final = (
    *_UNITS,
    *"tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth".split(),
    *("twentieth", *(f"twenty {unit}" for unit in _UNITS), "thirtieth", "thirty first"),
)
_GERMAN_UNITS: Final = "ein zwei drei vier fünf sechs sieben acht neun".split()
_GERMAN: Final = (
    *"ersten zweiten dritten vierten fünften sechsten siebten achten neunten zehnten elften zwölften".split(),
    *"dreizehnten vierzehnten fünfzehnten sechzehnten siebzehnten achtzehnten neunzehnten zwanzigsten".split(),
    *(*(f"{unit}undzwanzigsten" for unit in _GERMAN_UNITS), "dreißigsten", "einunddreißigsten"),
)
_SPANISH: Final = (
    *"uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis".split(),
    *"diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco".split(),
    *"veintiséis veintisiete veintiocho veintinueve treinta".split(),
    "treinta y uno",
)
_FRENCH: Final = (
    *"premier deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept".split(),
    *"dix-huit dix-neuf vingt vingt-et-un vingt-deux vingt-trois vingt-quatre vingt-cinq vingt-six".split(),
    *"vingt-sept vingt-huit vingt-neuf trente trente-et-un".split(),
)


def _number(word: str) -> str:
    """A word as it is looked up, for "twenty-third" and "twenty third"."""
    return " ".join(word.casefold().replace("-", " ").split())


_NUMBERS: Final = {
    **{_number(word): day for days in (_ENGLISH, _GERMAN, _SPANISH, _FRENCH) for day, word in enumerate(days, start=1)},
    "primero": 1,
}


def _any(words: Iterable[str]) -> str:
    spelled = (word.replace("-", " ").replace(" ", r"[\s-]").replace("ß", "(?:ß|ss)") for word in words)
    return "|".join(sorted(spelled, key=len, reverse=True))


_MONTHS, _GERMAN_MONTHS, _SPANISH_MONTHS, _FRENCH_MONTHS = (
    "|".join(names).lower()
    for names in (MONTHS["english"], (*MONTHS["german"], "jänner"), MONTHS["spanish"], MONTHS["french"])
)
_SIGNS: Final = signs("|".join((_MONTHS, _GERMAN_MONTHS, _SPANISH_MONTHS, _FRENCH_MONTHS)))
_DAY_FIRST: Final = regex(rf"\b(?:the\s)?(?P<day>{_any(_ENGLISH)})\sof\s(?P<month>{_MONTHS})\b", re.I)
# "You may first …" is no day.
_MONTH_FIRST: Final = regex(
    rf"\b(?P<on>(?:on|since|from|between|and|to|until|till|by|of|say|said)\s)?(?P<month>(?(on)(?:{_MONTHS})"
    rf"|(?!may\b|march\b)(?:{_MONTHS})))\s(?:the\s)?(?P<day>{_any(_ENGLISH)})\b",
    re.I,
)
_IN_GERMAN: Final = regex(
    rf"\b(?:(?P<day>{_any(_GERMAN)})|(?P<number>\d\d?)\.)\s(?P<month>{_GERMAN_MONTHS})\b",
    re.I,
)
_IN_SPANISH: Final = regex(rf"\b(?P<day>primero|{_any(_SPANISH)})\sde\s(?P<month>{_SPANISH_MONTHS})\b", re.I)
_IN_FRENCH: Final = regex(rf"\b(?P<day>{_any(_FRENCH)})\s(?P<month>{_FRENCH_MONTHS})\b", re.I)


def days_in_digits(text: str) -> str:
    """The text with days of a month in digits: "May 12" for "the twelfth of may"; English, German, Spanish, French."""
    if not is_signed(folded_case(text), _SIGNS):
        return text
    text = _DAY_FIRST.sub(lambda found: f"{found['month'].title()} {_day(found)}", text)
    text = _MONTH_FIRST.sub(lambda found: f"{found['on'] or ''}{found['month'].title()} {_day(found)}", text)
    text = _IN_GERMAN.sub(lambda found: f"{found['number'] or _day(found)}. {found['month'].title()}", text)
    text = _IN_SPANISH.sub(lambda found: f"{_day(found)} de {found['month']}", text)
    return _IN_FRENCH.sub(lambda found: f"{_day(found)} {found['month']}", text)


def _day(found: re.Match[str]) -> int:
    return _NUMBERS[_number(found["day"])]
