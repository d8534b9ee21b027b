"""Function words by Snowball language: closed-class words that say nothing about what a text is about."""

from __future__ import annotations

from typing import Final

from .word_lists import word_lists


def _listed(file: str) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in word_lists(__package__, file).items()}


STOPWORDS: Final = _listed("stopwords.txt")
"""The function words of each language, lower-cased."""

ASKING: Final = _listed("asking.txt")
"""More of them, which are not searched for: what asks, what helps a verb, whose something is.

They are none of `STOPWORDS`, because these also tell the language of a text, and some of them ("comment", "plus") are
content words of another.
"""

LETTERS: Final = {"czech": "ěřů", "hungarian": "őű", "polish": "łśźż", "romanian": "ășț", "turkish": "ğı"}
"""Letters that tell a language in Latin script: words with long endings leave little room for function words."""
