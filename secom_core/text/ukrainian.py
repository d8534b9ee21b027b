"""Ukrainian words for the stemmer of Russian, as Snowball has none for them: most endings differ in letters only."""

from __future__ import annotations

from typing import Final

_LETTERS: Final = str.maketrans("іїєґ", "ииег")
_TELLING: Final = frozenset("іїєґ")
_ENDINGS: Final = {"ів": "ов", "ість": "ость", "ою": "ой", **{f"{each}ці": f"{each}ки" for each in "тжчш"}}
"""Endings that Russian has with another sound: "братів", "радість", "відпустці"."""


def as_in_russian(word: str) -> str:
    """A word, in small letters, as Russian would write its ending; one without a letter of Ukrainian stays as it is."""
    if _TELLING.isdisjoint(word):
        return word
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) > len(each) + 2), "")
    return (word.removesuffix(ending) + _ENDINGS.get(ending, "")).translate(_LETTERS)
