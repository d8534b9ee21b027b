"""The unsettled ends of the sessions that were written to last, so that one more turn does not read them all again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..conversation import Turn
from .rows import MemoryRow, SessionRow, next_count

_SESSIONS: Final = 128
_CHARACTERS: Final = 1_000_000
"""How long the turns of one session may be together: fifty with long replies are half of it."""
_ALL_CHARACTERS: Final = 40_000_000
"""How long all of them may be together."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A session's unsettled turns, as of one version of it.

    Args:
        session: its row as it was.
        turns: one or more, in order, from where it had settled to its end.
        rows: their memories.
        settled: the turns that had not settled in the version before, and have now, which a search index has to follow.
        settled_rows: the memories of these.
        start: from which turn on these are all that there are.
        through: the version up to which nothing but messages of this process has come since; its own unless given.
    """

    session: SessionRow
    turns: Sequence[Turn]
    rows: Sequence[MemoryRow]
    settled: Sequence[Turn] = ()
    settled_rows: Sequence[MemoryRow] = ()
    start: int = -1
    through: int = -1

    def since(self, session: SessionRow, first: int) -> tuple[Sequence[Turn], Sequence[MemoryRow]] | None:
        """The session's turns and memories from a turn on, or from one before it; nothing where they are not known."""
        if self.session != session or first < self.start:
            return None
        return [*self.settled, *self.turns], [*self.settled_rows, *self.rows]

    @property
    def characters(self) -> int:
        """How long the turns are."""
        return sum(len(message.text) for turn in (*self.settled, *self.turns) for message in turn.messages)

    def was_before(self, session: SessionRow) -> bool:
        """Whether messages have come since, in one write or several of this process, and nothing else has changed."""
        known = self.session
        only_came = known.version < session.version <= max(known.version + 1, self.through)
        return only_came and session.messages > known.messages and session.settled == known.settled

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
        self._lengths: dict[int, int] = {}
        self._lock = threading.Lock()

    def of(self, session_id: int) -> Unsettled | None:
        """That of a session, where it is known."""
        return self._known.get(session_id)

    def keep(self, session: SessionRow, turns: Sequence[Turn], rows: Sequence[MemoryRow], start: int) -> None:
        """Keep what has not settled of turns and their memories, and what has settled just now, where it is not long.

        Args:
            session: the session's row.
            turns: its turns from ``start`` on.
            rows: their memories.
            start: where it had settled before.
        """
        left = [turn for turn in turns if turn.index >= session.settled]
        open_rows = [row for row in rows if row.start >= session.settled]
        settled = [turn for turn in turns if turn.index < session.settled]
        settled_rows = [row for row in rows if row.start < session.settled]
        new = Unsettled(session, left, open_rows, settled, settled_rows, min(start, session.settled))
        if new.characters > _CHARACTERS:
            new = Unsettled(session, left, open_rows, start=session.settled)
        length = new.characters
        with self._lock:
            self._let_go(session.id)
            if left and length <= _CHARACTERS:
                self._known[session.id], self._lengths[session.id] = new, length
            while len(self._known) > _SESSIONS or sum(self._lengths.values()) > _ALL_CHARACTERS:
                self._let_go(next(iter(self._known)))

    def came(self, session_id: int, version: int) -> None:
        """Note that this process has added messages to a session, which had this version before, and the next now."""
        with self._lock:
            known = self._known.get(session_id)
            if known is not None and version == max(known.session.version, known.through):
                self._known[session_id] = replace(known, through=next_count(version))

    def _let_go(self, session_id: int) -> None:
        self._known.pop(session_id, None)
        self._lengths.pop(session_id, None)

    def clear(self) -> None:
        """Keep none: something was forgotten, and its words are not to stay in memory."""
        with self._lock:
            self._known.clear()
            self._lengths.clear()
