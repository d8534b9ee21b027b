"""Function words by Snowball language: closed-class words that say nothing about what a text is about."""

from __future__ import annotations

from typing import Final

from .word_lists import word_lists

STOPWORDS: Final = {
    language: frozenset(words.split()) for language, words in word_lists(__package__, "stopwords.txt").items()
}
"""The function words of each language, lower-cased."""
