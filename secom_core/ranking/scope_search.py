"""One search: what it looks at, computed when it is first needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from ..indexes.bm25 import BM25, Word, summed_scores
from ..indexes.fusion import rank_scores, standardise
from ..indexes.vector import VectorIndex
from ..memory import DocumentPlace, Memory
from ..protocols import Vectors
from ..text.dates import spans
from .signals import Column, dated, mentioned, recent, spread, turn_scores, word_signals
from .turn_table import Rows, TurnTable

_BY_WORDS: Final = frozenset({"turn_lexical", "turn_coverage", "window_lexical", "session_lexical"})
_BY_VECTOR: Final = frozenset({"turn_dense", "window_dense"})


class Indexes(NamedTuple):
    """What a scope is searched by: its turns, and the indexes of turns by row and of keys by memory."""

    table: TurnTable
    words: BM25
    keys: BM25
    turn_vectors: VectorIndex
    key_vectors: VectorIndex

    def rows_of(self, memory: Memory) -> list[int]:
        """The rows of the memory's turns that are there."""
        row_of = self.table.row_of
        return [row_of[turn.id] for turn in memory.turns if turn.id in row_of]


@dataclass(eq=False)
class ScopeSearch:
    """One query against one scope.

    Args:
        indexes: the scope.
        query: the query's text.
        vector: its vector, shape ``(d,)``, where there is one.
        now: when it is asked, where known.
        nearest: what a vector store has found for it, best first, in the place of vectors.
    """

    indexes: Indexes
    query: str
    vector: Vectors | None
    now: datetime | None
    nearest: Sequence[DocumentPlace]

    def __post_init__(self) -> None:
        self._table = self.indexes.table

    def pool(self, weights: Mapping[str, float], limit: int) -> Rows:
        """The rows of the turns worth a closer look, in rising order: the best ``limit`` by each kind of search."""
        parts: list[Rows] = []
        if not _BY_WORDS.isdisjoint(weights):
            parts.append(_above_0(spread(turn_scores(self._words, self._table), self._table), limit))
        if not _BY_VECTOR.isdisjoint(weights):
            parts += [_above_0(spread(self._cosines, self._table), limit), _above_0(self._cosines, limit)]
        if "date" in weights and parts:
            # Where whole months match, a date alone brings nobody in; it still counts for those who are.
            on_the_day = np.flatnonzero(self._dates == 1)
            parts.append(on_the_day[: limit if len(on_the_day) <= limit else 0])
        if not parts:
            parts.append(self._rows_of_best_memories(weights, limit))
        pool = np.unique(np.concatenate(parts))
        return pool[self._table.memory[pool] >= 0]

    def columns(self, names: Collection[str], pool: Rows) -> dict[str, Column]:
        """The signals of these names, raw, for each turn of the pool."""
        lexical = word_signals(self._words, self._table, pool) if not _BY_WORDS.isdisjoint(names) else {}
        return {name: lexical[name] if name in lexical else self._column(name, pool) for name in names}

    def _column(self, name: str, pool: Rows) -> Column:
        table = self._table
        match name:
            case "segment_lexical":
                return self._key_scores[table.memory[pool]]
            case "segment_dense":
                return self._key_cosines[table.memory[pool]]
            case "turn_dense":
                return self._cosines[pool]
            case "window_dense":
                around = table.around(pool)
                present = np.maximum((around >= 0).sum(axis=1), 1)
                return np.asarray(np.append(self._cosines, 0.0)[around].sum(axis=1) / present)
            case "speaker":
                return mentioned(self.query, table.casts)[table.cast[pool]]
            case "date":
                return self._dates[pool]
            case "recency":
                today = self.now.date().toordinal() if self.now else int(table.day.max(initial=0))
                return recent(table.day[pool], today)
            case "length":
                return table.length[pool]
            case "asks":
                return table.asks[pool]
            case "answers":
                return np.append(table.asks, 0.0)[table.before[pool]]
        raise AssertionError(f"no signal is called {name!r}")

    @cached_property
    def _words(self) -> list[Word]:
        return self.indexes.words.words(self.query)

    @cached_property
    def _cosines(self) -> Column:
        if self.nearest:
            return _by_rank(self._found("turn"), len(self._table.row_of), len(self._table))
        return self._by_vector(self.indexes.turn_vectors, len(self._table))

    @cached_property
    def _key_scores(self) -> Column:
        keys = self.indexes.keys
        return summed_scores(keys.words(self.query), keys.mean_length, self._memories)

    @cached_property
    def _key_cosines(self) -> Column:
        if self.nearest:
            memories = dict.fromkeys(self._table.memory[self._found("key")].tolist())
            return _by_rank(list(memories), len(np.unique(self._table.memory)), self._memories)
        return self._by_vector(self.indexes.key_vectors, self._memories)

    @cached_property
    def _dates(self) -> Column:
        today = self.now.date() if self.now else None
        return dated(spans(self.query, today, self._table.years), self._table)

    @cached_property
    def _memories(self) -> int:
        return int(self._table.memory.max(initial=-1)) + 1

    def _found(self, kind: str) -> list[int]:
        """The rows that a vector store has found by their words or by their memory's key, best first, each once."""
        rows = (self._table.row_at(place.session, place.index) for place in self.nearest if place.kind == kind)
        return [row for row in dict.fromkeys(rows) if row is not None and self._table.memory[row] >= 0]

    def _by_vector(self, index: VectorIndex, size: int) -> Column:
        return _placed(*index.scores(self.vector), size) if self.vector is not None else np.zeros(size)

    def _rows_of_best_memories(self, weights: Mapping[str, float], limit: int) -> Rows:
        scores = weights.get("segment_lexical", 0.0) * standardise(self._key_scores)
        scores = scores + weights.get("segment_dense", 0.0) * standardise(self._key_cosines)
        rows = np.flatnonzero(self._table.memory >= 0)
        return _top(rows, scores[self._table.memory[rows]], limit)


def _placed(ids: Rows, scores: Column, size: int) -> Column:
    column = np.zeros(max(size, int(ids.max(initial=-1)) + 1))
    column[ids] = scores
    return column


def _by_rank(found: Sequence[int], total: int, size: int) -> Column:
    ids = np.array(found, dtype=np.int64)
    return _placed(ids, rank_scores(len(ids), total), size)


def _above_0(scores: Column, limit: int) -> Rows:
    rows = np.flatnonzero(scores > 0)
    return _top(rows, scores[rows], limit)


def _top(rows: Rows, scores: Column, limit: int) -> Rows:
    """The rows with the highest scores, with those that tie with the last, up to as many again.

    So whole memories stay whole where all turns of one have its score: each is ranked, and shown, as one.
    """
    if len(rows) <= limit:
        return rows
    kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return rows[kept[np.argsort(-scores[kept], kind="stable")[: 2 * limit]]]
