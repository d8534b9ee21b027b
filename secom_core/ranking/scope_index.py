"""The search index of one scope, kept in memory and grown a turn at a time."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np

from ..conversation import Turn
from ..errors import InvalidInput
from ..indexes.bm25 import BM25
from ..indexes.fusion import standardise
from ..indexes.vector import VectorIndex
from ..memory import DocumentPlace, Memory
from ..protocols import Statistics, TokenCounter, Vectors
from .scope_search import Indexes, ScopeSearch
from .signals import Column
from .turn_table import TurnTable
from .weights import DENSE, HINTS, LEXICAL, SIGNALS

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
        fitted = {**besides, **(weights if weights is not None else DENSE if dense else LEXICAL)}
        by_words = all(not name.endswith("_dense") for name in fitted)
        # Weights that were fitted with vectors, or are all about vectors, say little about words alone.
        self.weights = (fitted, fitted if by_words else {**besides, **LEXICAL})
        """By signal: of a search with vectors, and of one by words alone."""
        self._counter = counter
        self._indexes = Indexes(TurnTable(), BM25(), BM25(), VectorIndex(), VectorIndex())
        self._table = self._indexes.table
        self._memories: dict[int, Memory] = {}
        self._of_session: dict[str, list[int]] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._table.row_of)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, within a quarter; costs as much as looking at every turn and term once."""
        keys = sum(_MEMORY_BYTES + sys.getsizeof(memory.key) for memory in self._memories.values())
        return keys + sum(index.nbytes for index in self._indexes)

    @property
    def statistics(self) -> Statistics:
        """How common terms are among the scope's turns."""
        return self._indexes.words

    # -- change ---------------------------------------------------------------------------------------------------

    def add_turns(self, turns: Sequence[Turn], vectors: Vectors | None) -> None:
        """Add turns, or replace those whose id is known.

        Args:
            turns: of any sessions.
            vectors: shape ``(len(turns), d)``, where there are vectors.
        """
        rows = [self._table.put(turn, self._counter(turn.text)) for turn in turns]
        self._indexes.words.add(rows, [turn.text for turn in turns])
        self._table.terms[rows] = self._indexes.words.lengths_of(rows)
        if vectors is not None and rows:
            self._indexes.turn_vectors.add(rows, vectors)

    def set_memories(self, session: str, since: int, memories: Sequence[Memory], vectors: Vectors | None) -> None:
        """Replace the memories of a session whose first turn has the index ``since`` or a later one.

        Args:
            session: whose memories.
            since: an index of a turn.
            memories: in order; their turns are added before.
            vectors: of their keys, shape ``(len(memories), d)``, where there are vectors.
        """
        numbers = self._of_session.setdefault(session, [])
        while numbers and self._memories[numbers[-1]].turns[0].index >= since:
            self._remove_memory(numbers.pop())
        new = [self._add_memory(memory) for memory in memories]
        numbers += new
        self._indexes.keys.add(new, [memory.key for memory in memories])
        if vectors is not None and new:
            self._indexes.key_vectors.add(new, vectors)

    def _add_memory(self, memory: Memory) -> int:
        number = self._free.pop() if self._free else len(self._memories)
        self._memories[number] = memory
        self._table.memory[self._indexes.rows_of(memory)] = number
        return number

    def _remove_memory(self, number: int) -> None:
        rows = self._indexes.rows_of(self._memories.pop(number))
        self._table.memory[[row for row in rows if self._table.memory[row] == number]] = -1
        self._free.append(number)
        self._indexes.keys.remove([number])
        self._indexes.key_vectors.remove([number])

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
        search = ScopeSearch(self._indexes, query, vector, now, nearest or ())
        pool = search.pool(weights, limit)
        if not len(pool):
            return []
        names, columns = list(weights), search.columns(weights, pool)
        matrix = np.stack([_comparable(name, columns[name]) for name in names], axis=1)
        total = np.round(matrix @ np.array(list(weights.values())), _DIGITS)
        best = np.argsort(-total, kind="stable")[:limit]
        rows = zip(pool[best].tolist(), total[best].tolist(), np.round(matrix[best], _DIGITS).tolist(), strict=True)
        return [self._candidate(row, score, dict(zip(names, values, strict=True))) for row, score, values in rows]

    def _candidate(self, row: int, score: float, signals: Mapping[str, float]) -> Candidate:
        turn, tokens = self._table.turns[row], int(self._table.tokens[row])
        return Candidate(turn, self._memories[int(self._table.memory[row])], score, signals, tokens)

    def usable_weights(
        self, vector: Vectors | None, nearest: Sequence[DocumentPlace] | None = None
    ) -> Mapping[str, float]:
        """The weights of a search with this vector, or what a vector store has found; or of one without either."""
        with_vectors, by_words = self.weights
        dense = nearest or (vector is not None and len(self._indexes.turn_vectors))
        return with_vectors if dense else by_words

    def key_vectors(self, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors of the memories' keys, shape ``(len(memories), d)``; nothing where one has none."""
        numbers = [int(self._table.memory[self._table.row_of[memory.turns[0].id]]) for memory in memories]
        return self._indexes.key_vectors.vectors_of(numbers)


def _comparable(name: str, column: Column) -> Column:
    """The signal with mean 0; a hint, which is 0 or 1, keeps its size however few turns it holds for."""
    return 2 * (column - column.mean()) if name in HINTS else standardise(column)
