"""Whether what is derived of a session agrees with its turns, and its counts as its turns give them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from ..conversation import Turn
from ..stores.digests import digest
from ..stores.rows import MemoryRow, SessionRow


def agree(rows: Sequence[MemoryRow], turns: Sequence[Turn]) -> bool:
    """Whether each turn is in exactly one memory, and each memory was made of the words of its turns.

    Args:
        rows: memories of a session, in order.
        turns: the session's turns from where the first one starts, in order.
    """
    places = [turn.index for turn in turns]
    reached = last = 0
    for row in rows:
        first, stop = bisect_left(places, row.start), bisect_left(places, row.stop)
        words = "\n".join(turn.text for turn in turns[first:stop])
        if row.start < last or first != reached or stop <= first or digest(words) != row.digest:
            return False
        reached, last = stop, row.stop
    return reached == len(turns)


def counted(row: SessionRow, turns: Sequence[Turn]) -> SessionRow:
    """The session with at least as many turns and messages as it has, given all its turns; it may have had more."""
    end = turns[-1].index + 1 if turns else 0
    held = sum(len(turn.messages) for turn in turns)
    return replace(row, turns=max(row.turns, end), messages=max(row.messages, held))
