"""A text that is too long for what is left: its beginning, and its beginning and end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final

from secom_core.memory import CUT
from secom_core.text.passages import passage_spans
from secom_core.text.terms import sentence_spans

Counter = Callable[[str], int]

_TOKEN_CHARACTERS: Final = 20
"""So many characters have a token at least, unless they are blanks."""


def beginning(text: str, start: int, room: int, counter: Counter) -> int:
    """Where the words from ``start`` on end that fit: between passages, else words, else anywhere, but past ``start``.

    Args:
        text: any text.
        start: a place in it.
        room: how many tokens there is room for.
        counter: counts the tokens of a text.
    """
    near = text[start : start + _TOKEN_CHARACTERS * max(room, 1)]
    first, *_ = passages = [stop for _, stop in passage_spans(near)]
    words = [place for place in range(1, first) if near[place - 1].isspace()]
    for places in (passages, words, list(range(1, first + 1))):
        fits = _last_fitting(near, places, room, counter)
        if fits:
            return start + fits
    return min(start + 1, len(text))


def _last_fitting(text: str, places: list[int], room: int, counter: Counter) -> int:
    """The last of the places up to which the text fits, by bisection; 0 where none does."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if counter(text[: places[middle]]) <= room:
            low = middle + 1
        else:
            high = middle
    return places[low - 1] if low else 0


def without_middle(text: str, room: int, counter: Counter) -> str | None:
    """The text with ``[…]`` for its middle, cut between sentences, between words where a sentence does not fit.

    Args:
        text: any text.
        room: how many tokens there is room for.
        counter: counts the tokens of a text.

    Returns:
        The text itself where it fits; nothing where there is no room for any of its words.
    """
    if counter(text) <= room:
        return text
    short: str | None = None
    for places in (_sentence_ends(text), _word_ends(text), list(range(len(text) + 1))):
        short = _outer(text, places, room, counter) or short
        # Where sentences are so long that most of the room stays empty, words are better.
        if short is not None and 2 * counter(short) >= room:
            break
    return short


def _sentence_ends(text: str) -> list[int]:
    return [0, *(stop for _, stop in sentence_spans(text))]


def _word_ends(text: str) -> list[int]:
    return [0, *(place for place in range(1, len(text)) if text[place - 1].isspace()), len(text)]


def _outer(text: str, places: list[int], room: int, counter: Counter) -> str | None:
    """As much of the beginning and the end as fits, of the beginning twice as much, cut at the places."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter(_joined(text, *_ends(text, places, middle))) <= room:
            low = middle
        else:
            high = middle - 1
    head, tail = _ends(text, places, low)
    short = _joined(text, head, tail)
    return short if 0 < head <= tail < len(text) and counter(short) <= room else None


def _ends(text: str, places: list[int], kept: int) -> tuple[int, int]:
    """Where the beginning ends and the end begins, where about so many characters are kept."""
    return places[bisect_right(places, kept * 2 // 3) - 1], places[bisect_left(places, len(text) - kept // 3)]


def _joined(text: str, head: int, tail: int) -> str:
    return f"{text[:head].rstrip()} {CUT} {text[tail:].lstrip()}" if head < tail else text
