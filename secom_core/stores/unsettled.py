"""The unsettled ends of the sessions that were written to last, so that one more turn does not read them all again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..conversation import Turn
from .rows import MemoryRow, SessionRow

_SESSIONS: Final = 128
_CHARACTERS: Final = 400_000
"""How long the turns of one session may be together."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A session's unsettled turns, as of one version of it.

    Args:
        session: its row as it was.
        turns: one or more, in order, from where it had settled to its end.
        rows: their memories.
    """

    session: SessionRow
    turns: Sequence[Turn]
    rows: Sequence[MemoryRow]

    def was_before(self, session: SessionRow) -> bool:
        """Whether messages have come since in one write, and nothing else has changed."""
        known = self.session
        one_write = session.version == known.version + 1 and session.messages > known.messages
        return one_write and session.settled == known.settled

    def grown(self, session: SessionRow, latest: Sequence[Turn]) -> list[Turn]:
        """The turns with those since the last one known, which may have grown; none where that is not all of them."""
        turns = [*self.turns[:-1], *latest]
        came = session.messages - self.session.messages
        return turns if _messages(turns) == _messages(self.turns) + came else []


def _messages(turns: Sequence[Turn]) -> int:
    return sum(len(turn.messages) for turn in turns)


class RecentlyUnsettled:
    """The unsettled ends of the sessions that this process derived last. Any thread may ask."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Unsettled] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session_id: int) -> Unsettled | None:
        """That of a session, where it is known."""
        return self._known.get(session_id)

    def keep(self, session: SessionRow, turns: Sequence[Turn], rows: Sequence[MemoryRow]) -> None:
        """Keep what has not settled of turns and their memories, where it is not long."""
        left = [turn for turn in turns if turn.index >= session.settled]
        open_rows = [row for row in rows if row.start >= session.settled]
        fits = sum(len(message.text) for turn in left for message in turn.messages) <= _CHARACTERS
        with self._lock:
            self._known.pop(session.id, None)
            if left and fits:
                self._known[session.id] = Unsettled(session, left, open_rows)
            while len(self._known) > _SESSIONS:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Keep none: something was forgotten, and its words are not to stay in memory."""
        with self._lock:
            self._known.clear()
