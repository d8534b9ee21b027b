"""A whole turn, a part at a time: the rest of what a recall has shown in excerpts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from secom_core.context.lines import CLOSE, OPEN, day_of, quoted_turn
from secom_core.conversation import Turn
from secom_core.errors import InvalidInput
from secom_core.memory import Passage, excerpt

_LEAST: Final = 0.8
"""What share of a part is kept at least where it is cut back to the end of a sentence or word."""


@dataclass(frozen=True)
class Part:
    """A part of a turn.

    Args:
        text: the words, quoted as data.
        stop: where it ends, in characters of the turn's messages, one after the other.
        length: how many characters the turn has.
    """

    text: str
    stop: int
    length: int


def part_of(turn: Turn, start: int, tokens: int, counter: Callable[[str], int]) -> Part:
    """The part of a turn that begins at a place; it ends with a sentence or a word where it is cut.

    Args:
        turn: the turn.
        start: where the part begins, in characters of the turn's messages.
        tokens: how long it is at most, quoting and all; it has one character in any case.
        counter: counts the tokens of a text.

    Raises:
        InvalidInput: there is nothing at this place.
    """
    words = "".join(message.text for message in turn.messages)
    if not 0 <= start < max(len(words), 1):
        raise InvalidInput(f"this memory has {len(words)} characters; there is nothing at {start}")
    stops = range(start + 1, len(words) + 1)
    fitting = bisect_right(stops, tokens, key=lambda stop: counter(_quoted(turn, start, stop)))
    stop = stops[max(fitting - 1, 0)] if stops else start
    if stop < len(words):
        stop = _rounded(words, start, stop)
    return Part(_quoted(turn, start, stop), stop, len(words))


def _rounded(words: str, start: int, stop: int) -> int:
    """The last end of a line, sentence or word before ``stop``, unless that is far."""
    least = start + int((stop - start) * _LEAST)
    for end in ("\n", ". ", " "):
        if (place := words.rfind(end, least, stop)) >= 0:
            return place + len(end)
    return stop


def _quoted(turn: Turn, start: int, stop: int) -> str:
    lines = [replace(each.message, text=excerpt([each])).line for each in _passages(turn, start, stop)]
    day = f"{day_of(turn)}\n" if turn.at else ""
    return f"{OPEN}{day}{quoted_turn(turn, lines)}{CLOSE}"


def _passages(turn: Turn, start: int, stop: int) -> Iterator[Passage]:
    """What of each message lies between two places of the turn."""
    begin = 0
    for place, message in enumerate(turn.messages):
        first, last = max(start - begin, 0), min(stop - begin, len(message.text))
        if first < last:
            yield Passage(turn, place, first, last)
        begin += len(message.text)
