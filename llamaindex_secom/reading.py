"""A whole turn, a part at a time: the rest of what a recall has shown in excerpts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from secom_core.context.lines import CLOSE, OPEN, day_of, quoted_turn
from secom_core.conversation import Turn
from secom_core.errors import InvalidInput
from secom_core.memory import Passage, excerpt

from .cutting import Counter, beginning


def part_of(turn: Turn, start: int, room: int, counter: Counter) -> tuple[str, int | None]:
    """A part of a turn, quoted as data, and where the next part begins; nothing where this is the last.

    Args:
        turn: the turn.
        start: where the part begins, in characters of the messages one a line.
        room: how many tokens the part has at most; some words are shown in any case.
        counter: counts the tokens of a text.

    Raises:
        InvalidInput: the turn ends before ``start``.
    """
    text = "\n".join(message.text for message in turn.messages)
    if start and start >= len(text):
        raise InvalidInput(f"this memory has {len(text)} characters, it does not go on at {start}")
    left = room - counter(_block(turn, start, start))
    # What is quoted is a little longer than the words: further lines are indented, and each message has its speaker.
    while (over := counter(_block(turn, start, stop := beginning(text, start, left, counter))) - room) > 0:
        if stop <= start + 1:
            break
        left -= over
    return _block(turn, start, stop), stop if stop < len(text) else None


def _block(turn: Turn, start: int, stop: int) -> str:
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
        begin += len(message.text) + 1
