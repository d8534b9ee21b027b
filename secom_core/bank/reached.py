"""How far an index has followed each session of its scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

import numpy as np

from ..indexes.postings import Longs

_NOT_YET: Final = 0


class Reached:
    """By the id of a session, the last turn that an index has, and the turn from which the session settles.

    Numbers by numbers, as the garbage collector follows none: of a scope with 50,000 sessions, that many pairs would
    have it look through all of the process while the first recall waits.
    """

    def __init__(self) -> None:
        self._turns: dict[int, int] = {}
        self._settled: dict[int, int] = {}

    def __call__(self, session_id: int) -> tuple[int, int]:
        """How far the index goes in a session; 0 and 0 where it has nothing of it."""
        return self._turns.get(session_id, _NOT_YET), self._settled.get(session_id, _NOT_YET)

    def note(self, session_id: int, last_turn: int, settled: int) -> None:
        """Note how far it goes now."""
        self._turns[session_id], self._settled[session_id] = last_turn, settled

    def lost(self, session_ids: Iterable[int]) -> None:
        """Note sessions that have lost something: they are followed from their beginning."""
        for session_id in session_ids:
            self.note(session_id, _NOT_YET, _NOT_YET)

    @property
    def sessions(self) -> set[int]:
        """The ids of the sessions that it has followed."""
        return set(self._turns)

    def rows(self, session_ids: Collection[int]) -> Longs:
        """For each of these sessions that it has followed, its id, the last turn and the settled one; by rising ids."""
        known = sorted(self._turns.keys() & session_ids)
        return np.array([(each, *self(each)) for each in known], dtype=np.int64).reshape(-1, 3)

    def load(self, rows: Longs) -> list[int]:
        """Note what `rows` gave, over what was noted before; the ids of its sessions."""
        sessions, turns, settled = rows.T.tolist()
        self._turns.update(zip(sessions, turns, strict=True))
        self._settled.update(zip(sessions, settled, strict=True))
        return list(sessions)
