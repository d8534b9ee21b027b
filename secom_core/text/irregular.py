"""Irregular forms of English words, which no stemmer brings together: "bought" is of "buy", "children" of "child"."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Final

from .terms import latin_language_of, terms, word_spans
from .word_lists import word_lists

_MOST: Final = 2
"""Of how many terms a question rests on each: "What did I buy?". One of more is found by its other words."""

_WEIGHT: Final = 0.5


def irregular_forms(query: str) -> list[tuple[str, float]]:
    """The other forms of the irregular words of a short question, with what they weigh beside its own.

    Args:
        query: the question; one in another language has none.
    """
    if latin_language_of(query) != "english" or len({*terms(query, language="english")}) > _MOST:
        return []
    words = {query[start:stop].lower() for start, stop in word_spans(query)}
    found = dict.fromkeys(chain.from_iterable(_others().get(word, ()) for word in sorted(words)))
    forms = " ".join(each for each in found if each not in words)
    return [(forms, _WEIGHT)] if forms else []


@cache
def _others() -> dict[str, tuple[str, ...]]:
    """The other forms of each form. One in brackets is also another word, such as "left", and has none of its own."""
    rows = [line.split() for line in word_lists(__package__, "irregular.txt")["english"].splitlines()]
    return {
        form: tuple(other.strip("()") for other in forms if other != form)
        for forms in rows
        for form in forms
        if not form.startswith("(")
    }
