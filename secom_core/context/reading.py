"""A whole turn, a part at a time: the rest of what a recall has shown in excerpts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..conversation import Scope, Turn
from ..errors import InvalidInput
from ..memory import Passage, Recall, RecallOptions, excerpt
from ..protocols import TokenCounter
from .lines import CLOSE, OPEN, day_of, quoted_turn

IN_PART: Final = " (in part)"
"""What stands behind the id of a turn that is shown in part."""

_LEAST: Final = 0.8
"""What share of a part is kept at least where it is cut back to the end of a sentence or word."""

_TOKEN_CHARACTERS: Final = 20
"""So many characters have a token at least, unless they are blanks."""


def part_of(turn: Turn, start: int, tokens: int, counter: TokenCounter) -> tuple[str, int | None]:
    """The part of a turn that begins at a place; it ends with a sentence or a word where it is cut.

    Args:
        turn: the turn.
        start: where the part begins, in characters of the turn's messages, one after the other.
        tokens: how long it is at most, with the line that says where the next one begins; it has one character in any
            case.
        counter: counts the tokens of a text.

    Returns:
        The words, quoted as data; and where the next part begins, or nothing where this is the last.

    Raises:
        InvalidInput: there is nothing at this place.
    """
    words = "".join(message.text for message in turn.messages)
    if not 0 <= start < max(len(words), 1):
        raise InvalidInput(f"this memory has {len(words)} characters; there is nothing at {start}")
    stops = range(start + 1, min(len(words), start + _TOKEN_CHARACTERS * max(tokens, 1)) + 1)
    fitting = bisect_right(stops, tokens, key=lambda stop: counter(_part(turn, start, stop, len(words))))
    stop = stops[max(fitting - 1, 0)] if stops else start
    if stop < len(words):
        stop = _rounded(words, start, stop)
    return _part(turn, start, stop, len(words)), stop if stop < len(words) else None


def with_ids(recall: Recall, scope: Scope) -> str:
    """The block, and below it the ids of the scope's turns by number, those that are shown in part marked.

    Args:
        recall: what was found; without anything of the scope there are no ids.
        scope: whose turns may be read, corrected and forgotten.
    """
    in_part = {each.turn.id for hit in recall.hits for each in hit.excerpts}
    ids = "; ".join(
        f"[{number}] {', '.join(f'{each}{IN_PART}' if each in in_part else each for each in turn_ids)}"
        for number, turn_ids in recall.turns_in(scope).items()
    )
    return f"{recall.text}\n\nmemory_id: {ids}" if ids else recall.text


def why_empty(options: RecallOptions, *, remembered: bool) -> str:
    """Why a search shows nothing, for a model to read.

    Args:
        options: what was asked for.
        remembered: whether the scope has anything that could be shown.
    """
    if not remembered:
        return "Nothing about this is remembered."
    if options.only_relevant or options.layers or options.token_budget is None:
        return "No memory was found by these words; try others."
    return f"There are memories, but none fits into {options.token_budget} tokens."


def _rounded(words: str, start: int, stop: int) -> int:
    """The last end of a line, sentence or word before ``stop``, unless that is far."""
    least = start + int((stop - start) * _LEAST)
    for end in ("\n", ". ", " "):
        if (place := words.rfind(end, least, stop)) >= 0:
            return place + len(end)
    return stop


def _part(turn: Turn, start: int, stop: int, length: int) -> str:
    lines = [replace(each.message, text=excerpt([each])).line for each in _passages(turn, start, stop)]
    day = f"{day_of(turn)}\n" if turn.at else ""
    more = f"\n\nThere is more: start={stop} of {length}." if stop < length else ""
    return f"{OPEN}{day}{quoted_turn(turn, lines)}{CLOSE}{more}"


def _passages(turn: Turn, start: int, stop: int) -> Iterator[Passage]:
    """What of each message lies between two places of the turn."""
    begin = 0
    for place, message in enumerate(turn.messages):
        first, last = max(start - begin, 0), min(stop - begin, len(message.text))
        if first < last:
            yield Passage(turn, place, first, last)
        begin += len(message.text)
