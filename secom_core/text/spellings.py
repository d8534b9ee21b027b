"""Words that are written in several ways, in the one under which they are counted.

Digits of other scripts, letters that are two letters on many a keyboard, and what is optional in Hindi and its
neighbours: the dot below a letter, either sign of a nasal, and a glide between two vowels.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from .patterns import regex

_DIGIT: Final = regex(r"[^\D0-9]")
_DEVANAGARI: Final = regex("[\u0900-\u097f]")
_DOT_BELOW: Final = "\u093c"
_MOON: Final = "\u0901"
_NASAL_SIGN: Final = "\u0902"
_NASAL: Final = regex(
    "(?:\u0919(?=\u094d[\u0915-\u0918])|\u091e(?=\u094d[\u091a-\u091d])|\u0923(?=\u094d[\u091f-\u0922])"
    "|\u0928(?=\u094d[\u0924-\u0927])|\u092e(?=\u094d[\u092a-\u092d]))\u094d"
)
"""A nasal before a consonant of its own place, for which a sign may stand."""
_GLIDE: Final = regex("(?<=[\u0900-\u0963])\u092f([\u0940\u0947])")
_VOWELS: Final = {"\u0940": "\u0908", "\u0947": "\u090f"}
"""What the vowel after a glide is where the glide is not written."""
_LETTERS: Final = {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "œ": "oe", "æ": "ae"}
"""Letters that are no letter with an accent, as people write them without."""


def spelt_one_way(folded: str) -> str:
    """A casefolded text with its words in the first of the ways in which they may be written."""
    if _DEVANAGARI.search(folded):
        folded = _NASAL.sub(_NASAL_SIGN, folded.replace(_DOT_BELOW, "").replace(_MOON, _NASAL_SIGN))
        folded = _GLIDE.sub(lambda glide: _VOWELS[glide[1]], folded)
    return _DIGIT.sub(_plain_digit, folded)


def _plain_digit(digit: re.Match[str]) -> str:
    return str(unicodedata.decimal(digit[0]))


def unaccented(letter: str) -> str:
    """A letter in Latin script as people write it who leave accents out."""
    return _LETTERS.get(letter) or unicodedata.normalize("NFD", letter)[0]
