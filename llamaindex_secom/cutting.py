"""A text that is too long for what is left: its beginning and its end."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from secom_core.memory import CUT
from secom_core.text.terms import sentence_spans

Counter = Callable[[str], int]


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
