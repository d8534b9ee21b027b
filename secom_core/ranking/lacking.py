"""What of a scope's index has no vectors yet, and how it gets them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..protocols import Vectors
from .passage_table import Rows
from .scope_index import ScopeIndex


@dataclass(frozen=True)
class Lacking:
    """Passages and keys of one session that have no vectors.

    Args:
        session: the session's name.
        rows: of passages.
        memories: the numbers of the memories whose keys they are.
    """

    session: str
    rows: Sequence[int]
    memories: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows) + len(self.memories)

    def runs(self, size: int) -> list[Lacking]:
        """The same in parts of so many at most."""
        parts = [Lacking(self.session, self.rows[at : at + size], ()) for at in range(0, len(self.rows), size)]
        keys = [Lacking(self.session, (), self.memories[at : at + size]) for at in range(0, len(self.memories), size)]
        return [self] if len(self) <= size else [*parts, *keys]

    def texts(self, index: ScopeIndex) -> list[str]:
        """What is embedded."""
        table = index.indexes.table
        table.read(self.rows)
        read = index.memories.read(self.memories)
        return [*(table.passage(row).searched for row in self.rows), *(read[each].key for each in self.memories)]

    def add(self, index: ScopeIndex, vectors: Vectors) -> None:
        """Give the index their vectors, in the order of the texts."""
        index.filtered.clear()
        index.indexes.passage_vectors.add(self.rows, vectors[: len(self.rows)])
        index.indexes.key_vectors.add(self.memories, vectors[len(self.rows) :])
        index.indexes.table.touch(self.rows)
        for each in self.memories:
            index.memories.touch(each)


def lacking(index: ScopeIndex) -> list[Lacking]:
    """All that is searched and has no vector, by sessions, the last first."""
    table, indexes = index.indexes.table, index.indexes
    rows = np.flatnonzero((table.head >= 0) & (table.source == np.arange(len(table))))
    rows = rows[indexes.passage_vectors.places_of(rows) < 0]
    numbers = np.arange(len(index.memories))
    sessions = index.memories.columns(numbers)["session"]
    numbers = numbers[(sessions >= 0) & (indexes.key_vectors.places_of(numbers) < 0)]
    of_rows, of_keys = _by_session(rows, table.session[rows]), _by_session(numbers, sessions[numbers])
    names = table.sessions
    return [
        Lacking(names[each], of_rows.get(each, ()), of_keys.get(each, ()))
        for each in sorted({*of_rows, *of_keys}, reverse=True)
    ]


def _by_session(numbers: Rows, sessions: Rows) -> dict[int, list[int]]:
    order = np.argsort(sessions, kind="stable")
    pairs = zip(sessions[order].tolist(), numbers[order].tolist(), strict=True)
    return {session: [number for _, number in those] for session, those in groupby(pairs, key=lambda pair: pair[0])}
