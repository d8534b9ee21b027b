"""Everything searchable of one scope, held in memory and grown a turn at a time."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np

from ..conversation import Turn
from ..errors import InvalidInput
from ..indexes.bm25 import BM25
from ..indexes.dense import NumpyIndex
from ..indexes.fusion import standardise
from ..memory import DocumentPlace, Memory
from ..protocols import Statistics, TokenCounter, Vectors
from .look import Look, Parts, Ranked
from .signals import Column
from .turn_table import TurnTable
from .weights import DENSE, HINTS, LEXICAL, SIGNALS

__all__ = ["Candidate", "ScopeIndex"]

_MEMORY_BYTES: Final = 620
"""Of a memory with its places in dictionaries, beside its key, as tracemalloc has it."""

_DIGITS: Final = 6
"""Scores are rounded, so that the order in which sums were formed does not show."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn that may answer the query.

    Args:
        turn: the turn.
        memory: the memory that holds it.
        score: higher is better; comparable within one search only.
        signals: what the score is the weighted sum of, each standardised within the pool.
        tokens: how long the turn is; 0 where nobody counted.
    """

    turn: Turn
    memory: Memory
    score: float
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    tokens: int = 0


class ScopeIndex:
    """Ranks the turns of one scope by several signals at once.

    A search looks through the whole scope by words and, where it has vectors, by vector; it takes the turns that do
    best in either respect, with what surrounds them, and ranks this pool by the weighted sum of the signals in
    `SIGNALS`, standardised within the pool. Adding a turn costs the same in a small scope and in a large one. Calls
    must not overlap with a change.

    Args:
        dense: whether turns and memories come with vectors.
        weights: by signal; the ones fitted for lexical or for lexical and dense search unless given. Only what has a
            weight is computed: ``{"segment_lexical": 1}`` is SeCom's own ranking by BM25 (section 2.1).
        counter: counts a turn's tokens.
        learned: signals to compute besides, for who learns what they are worth.

    Raises:
        InvalidInput: for a weight of no known signal.
    """

    def __init__(
        self,
        *,
        dense: bool,
        weights: Mapping[str, float] | None = None,
        counter: TokenCounter,
        learned: Collection[str] = (),
    ) -> None:
        unknown = sorted(set(weights or ()) - set(SIGNALS))
        if unknown:
            raise InvalidInput(f"no signal is called {unknown[0]!r}; there are {sorted(SIGNALS)}")
        besides = dict.fromkeys(learned, 0.0)
        self._weights = {**besides, **(weights if weights is not None else DENSE if dense else LEXICAL)}
        by_words = all(not name.endswith("_dense") for name in self._weights)
        # Weights that were fitted with vectors, or are all about vectors, say little about words alone.
        self._weights_by_words = self._weights if by_words else {**besides, **LEXICAL}
        self._counter = counter
        self._table = TurnTable()
        self._words, self._turn_vectors = BM25(), NumpyIndex()
        self._keys, self._key_vectors = BM25(), NumpyIndex()
        self._parts = Parts(self._table, self._words, self._keys, self._turn_vectors, self._key_vectors)
        self._memories: dict[int, Memory] = {}
        self._of_session: dict[str, list[int]] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._table.row_of)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, within a quarter; costs as much as looking at every turn and term once."""
        keys = sum(_MEMORY_BYTES + sys.getsizeof(memory.key) for memory in self._memories.values())
        parts = (self._table, self._words, self._keys, self._turn_vectors, self._key_vectors)
        return sum(part.nbytes for part in parts) + keys

    @property
    def statistics(self) -> Statistics:
        """How common terms are among the scope's turns."""
        return self._words

    # -- change ---------------------------------------------------------------------------------------------------

    def add_turns(self, turns: Sequence[Turn], vectors: Vectors | None) -> None:
        """Add turns, or replace those whose id is known.

        Args:
            turns: of any sessions.
            vectors: shape ``(len(turns), d)``, where there are vectors.
        """
        rows = [self._table.put(turn, self._counter(turn.text)) for turn in turns]
        self._words.add(rows, [turn.text for turn in turns])
        self._table.terms[rows] = self._words.lengths_of(rows)
        if vectors is not None and rows:
            self._turn_vectors.add(rows, vectors)

    def remove_turns(self, ids: Iterable[str]) -> None:
        """Remove turns; unknown ids are passed over. The caller sets the memories that lose one anew."""
        rows = [row for each in ids if (row := self._table.drop(each)) is not None]
        self._table.terms[rows] = 0
        self._words.remove(rows)
        self._turn_vectors.remove(rows)

    def set_memories(self, session: str, since: int, memories: Sequence[Memory], vectors: Vectors | None) -> None:
        """Replace the memories of a session whose first turn has the index ``since`` or a later one.

        Args:
            session: whose memories.
            since: an index of a turn.
            memories: in order; their turns are added before.
            vectors: of their keys, shape ``(len(memories), d)``, where there are vectors.
        """
        held = self._of_session.setdefault(session, [])
        while held and self._memories[held[-1]].turns[0].index >= since:
            self._drop_memory(held.pop())
        numbers = [self._hold(memory) for memory in memories]
        held += numbers
        self._keys.add(numbers, [memory.key for memory in memories])
        if vectors is not None and numbers:
            self._key_vectors.add(numbers, vectors)

    def _hold(self, memory: Memory) -> int:
        number = self._free.pop() if self._free else len(self._memories)
        self._memories[number] = memory
        rows = [self._table.row_of[turn.id] for turn in memory.turns if turn.id in self._table.row_of]
        self._table.memory[rows] = number
        return number

    def _drop_memory(self, number: int) -> None:
        rows = self._rows_of(number)
        self._table.memory[[row for row in rows if self._table.memory[row] == number]] = -1
        del self._memories[number]
        self._free.append(number)
        self._keys.remove([number])
        self._key_vectors.remove([number])

    def _rows_of(self, number: int) -> list[int]:
        known = self._table.row_of
        return [known[turn.id] for turn in self._memories[number].turns if turn.id in known]

    # -- search ---------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        vector: Vectors | None = None,
        *,
        nearest: Sequence[DocumentPlace] | None = None,
        now: datetime | None = None,
        limit: int = 400,
        weights: Mapping[str, float] | None = None,
    ) -> list[Candidate]:
        """The turns that may answer the query, best first; none where nothing speaks for any turn.

        Args:
            query: a question, or what was just said, in any language.
            vector: the query's vector, shape ``(d,)``; without it the search is by words.
            nearest: what a vector store outside has found, best first, in the place of a vector; only the order counts.
            now: when the query is asked, for "last week".
            limit: how many at most.
            weights: what a scope has learned, for the signals of `usable_weights`; these unless given.
        """
        weights = weights or self.usable_weights(vector, nearest)
        look = Look(self._parts, query, vector, now, self._ranked(nearest))
        pool = look.pool(weights, limit)
        if not len(pool):
            return []
        columns = {name: _comparable(name, look.column(name, pool)) for name in weights}
        names, matrix = list(columns), np.stack(list(columns.values()), axis=1)
        total = np.round(matrix @ np.array([weights[name] for name in names]), _DIGITS)
        best = np.argsort(-total, kind="stable")[:limit]
        rows = zip(pool[best].tolist(), total[best].tolist(), np.round(matrix[best], _DIGITS).tolist(), strict=True)
        return [self._candidate(row, score, dict(zip(names, values, strict=True))) for row, score, values in rows]

    def _ranked(self, nearest: Sequence[DocumentPlace] | None) -> Ranked | None:
        if not nearest:
            return None
        rows: dict[str, dict[int, None]] = {"turn": {}, "key": {}}
        for place in nearest:
            row = self._table.row_at(place.session, place.index)
            if row is not None and self._table.memory[row] >= 0:
                rows[place.kind][row if place.kind == "turn" else int(self._table.memory[row])] = None
        return Ranked(list(rows["turn"]), list(rows["key"]))

    def _candidate(self, row: int, score: float, signals: Mapping[str, float]) -> Candidate:
        turn, tokens = self._table.turn(row), int(self._table.tokens[row])
        return Candidate(turn, self._memories[int(self._table.memory[row])], score, signals, tokens)

    @property
    def weights(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """By signal: of a search with vectors, and of one by words alone."""
        return self._weights, self._weights_by_words

    def usable_weights(
        self, vector: Vectors | None, nearest: Sequence[DocumentPlace] | None = None
    ) -> Mapping[str, float]:
        """The weights of a search with this vector, or what a vector store has found; or of one without either."""
        dense = bool(nearest) or (vector is not None and len(self._turn_vectors) > 0)
        return self._weights if dense else self._weights_by_words

    def key_vectors(self, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors of the memories' keys, shape ``(len(memories), d)``; nothing where one has none."""
        numbers = [int(self._table.memory[self._table.row_of[memory.turns[0].id]]) for memory in memories]
        return self._key_vectors.vectors_of(numbers) if all(each in self._key_vectors for each in numbers) else None


def _comparable(name: str, column: Column) -> Column:
    """The signal with mean 0; a hint, which is 0 or 1, keeps its size however few turns it holds for."""
    return 2 * (column - column.mean()) if name in HINTS else standardise(column)
