"""The rows of each turn, found by its id and by its place in a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..indexes.postings import Longs, digest_of

_NO_ROWS: Longs = np.zeros(0, dtype=np.int64)
_NOWHERE = (-1, -1)


class TurnRows:
    """Rows by turn. Those that came from disk are looked up in sorted arrays, which are made when first needed.

    Args:
        rows_from: the rows of the turn that begins at a row.
    """

    def __init__(self, rows_from: Callable[[int], list[int]]) -> None:
        self._rows_from = rows_from
        self._rows: dict[str, list[int]] = {}
        self._ends: dict[tuple[int, int], tuple[int, int]] = {}
        self._turns = 0
        self._heads = _NO_ROWS
        self._read: Callable[[], tuple[Longs, Longs, Longs]] = lambda: (_NO_ROWS, _NO_ROWS, _NO_ROWS)
        self._about: tuple[Longs, Longs, Longs] | None = None
        self._by_id: tuple[Longs, Longs] | None = None
        self._by_place: Sequence[Longs] | None = None

    def __len__(self) -> int:
        return self._turns

    def load(self, heads: Longs, read: Callable[[], tuple[Longs, Longs, Longs]]) -> None:
        """Know the turns that came from disk.

        Args:
            heads: the first row of each.
            read: gives of each a digest of its id (`secom_core.indexes.postings.digest_of`), the number of its session
                and its place there.
        """
        self._heads, self._turns, self._read, self._about = heads, len(heads), read, None

    def hold(self) -> None:
        """Read what is known of the turns that came from disk, before rows change."""
        self._about = self._about or self._read()

    @property
    def _of_heads(self) -> tuple[Longs, Longs, Longs]:
        return self._about or self._read()

    # -- by id ----------------------------------------------------------------------------------------------------

    def get(self, turn_id: str) -> list[int]:
        """The rows of a turn, in order; none where it is not there."""
        if turn_id not in self._rows and len(self._heads):
            head = self._kept(digest_of(turn_id))
            return self._rows_from(head) if head >= 0 else []
        return self._rows.get(turn_id, [])

    def found(self, turn_id: str, rows: list[int]) -> None:
        """Note the rows of a turn that came from disk, so that they need not be looked up."""
        self._rows[turn_id] = rows

    def put(self, turn_id: str, rows: list[int]) -> None:
        """Set the rows of a turn, which had none."""
        self._rows[turn_id] = rows
        self._turns += 1

    def pop(self, turn_id: str) -> list[int]:
        """The rows of a turn, which has none from then on."""
        rows = self.get(turn_id)
        if rows:
            # Empty, and not away: it is not to be looked up again.
            self._rows[turn_id] = []
            self._turns -= 1
        return rows

    def _kept(self, digest: int) -> int:
        if self._by_id is None:
            digests, _, _ = self._of_heads
            order = np.argsort(digests, kind="stable")
            self._by_id = digests[order], self._heads[order]
        digests, heads = self._by_id
        place = int(np.searchsorted(digests, digest))
        return int(heads[place]) if place < len(digests) and digests[place] == digest else -1

    # -- by place -------------------------------------------------------------------------------------------------

    def ends(self, session: int, index: int) -> tuple[int, int]:
        """The first and the last row of the turn of that index; -1 where there is none.

        Args:
            session: the number of its session.
            index: its place there.
        """
        if (session, index) not in self._ends and len(self._heads) and session >= 0:
            return self._kept_ends(session, index)
        return self._ends.get((session, index), _NOWHERE)

    def set_ends(self, session: int, index: int, first: int = -1, last: int = -1) -> None:
        """Set the first and the last row of a turn."""
        self._ends[session, index] = first, last

    def _kept_ends(self, session: int, index: int) -> tuple[int, int]:
        if self._by_place is None:
            _, sessions, indices = self._of_heads
            order = np.lexsort((indices, sessions))
            self._by_place = sessions[order], indices[order], self._heads[order]
        sessions, indices, heads = self._by_place
        first, stop = np.searchsorted(sessions, [session, session + 1]).tolist()
        place = first + int(np.searchsorted(indices[first:stop], index))
        if place == stop or indices[place] != index:
            return _NOWHERE
        head = int(heads[place])
        return head, self._rows_from(head)[-1]
