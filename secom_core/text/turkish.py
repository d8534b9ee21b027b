"""Turkish words by their stems: without one ending after the other, and what is left by its first letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_LETTERS: Final = 5
"""By how many letters a stem is known: it is seldom longer, and the stemmer leaves endings (Can et al. 2008)."""
_LEAST: Final = 2
"""Letters; what is shorter has lost more than its endings: "o" of "our room" (odamız)."""
_LONGEST: Final = 100
"""Letters; no word has more, and one letter after the other may be taken off what is none."""


def turkish_stem(word: str, stem: Callable[[str], str]) -> str:
    """The stem of a word in small letters, which is the same for "wedding" and "at our wedding"."""
    if not word.isalpha():
        return word
    word = word[:_LONGEST]
    # The stemmer takes one ending off "our wedding", and another one off what it leaves.
    while _LEAST <= len(stemmed := stem(word)) < len(word):
        word = stemmed
    return (stemmed if len(stemmed) >= _LEAST else word)[:_LETTERS]
