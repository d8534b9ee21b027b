"""One search: what it looks at, computed when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np

from ..indexes.bm25 import BM25
from ..indexes.dense import NumpyIndex
from ..indexes.fusion import rank_scores, standardise
from ..protocols import Vectors
from .dates import spans
from .signals import Column, Word, dated, idf, mentioned, recent, saturated, spread, turn_scores, word_signals
from .turn_table import Rows, TurnTable

__all__ = ["Look", "Parts", "Ranked"]

_MOST_WORDS: Final = 64
"""How many of the query's words are looked at, the rarest first: a query may be a page."""

_BY_WORDS: Final = frozenset({"turn_lexical", "turn_coverage", "window_lexical", "session_lexical"})
_BY_VECTOR: Final = frozenset({"turn_dense", "window_dense"})


@dataclass(frozen=True)
class Parts:
    """What a scope is searched by: its turns, and the indexes of turns by row and of keys by memory."""

    table: TurnTable
    words: BM25
    keys: BM25
    turn_vectors: NumpyIndex
    key_vectors: NumpyIndex


@dataclass(frozen=True)
class Ranked:
    """What a vector store has found, best first: turns by row, and memories by number."""

    turns: Sequence[int]
    keys: Sequence[int]


class Look:
    """One query against one scope.

    Args:
        parts: the scope.
        query: the query's text.
        vector: its vector, shape ``(d,)``, where there is one.
        now: when it is asked, where known.
        ranked: what a vector store has found for it, in the place of vectors.
    """

    def __init__(
        self,
        parts: Parts,
        query: str,
        vector: Vectors | None,
        now: datetime | None,
        ranked: Ranked | None = None,
    ) -> None:
        self._parts, self._table = parts, parts.table
        self._query, self._vector, self._now = query, vector, now
        self._ranked = ranked
        self._word_signals: dict[str, Column] | None = None

    def pool(self, weights: Mapping[str, float], limit: int) -> Rows:
        """The rows of the turns worth a closer look, in rising order: the best ``limit`` by each kind of search."""
        parts: list[Rows] = []
        if not _BY_WORDS.isdisjoint(weights):
            parts.append(_top(spread(self._turn_scores, self._table), limit))
        if not _BY_VECTOR.isdisjoint(weights):
            parts += [_top(spread(self._cosines, self._table), limit), _top(self._cosines, limit)]
        if "date" in weights and parts:
            # Where whole months match, a date alone brings nobody in; it still counts for those who are.
            on_the_day = np.flatnonzero(self._dates == 1)
            parts.append(on_the_day[: limit if len(on_the_day) <= limit else 0])
        if not parts:
            parts.append(self._rows_of_best_memories(weights, limit))
        pool = np.unique(np.concatenate(parts))
        return pool[self._table.memory[pool] >= 0]

    def column(self, name: str, pool: Rows) -> Column:
        """One signal, raw, for each turn of the pool."""
        if name in _BY_WORDS:
            if self._word_signals is None:
                self._word_signals = word_signals(self._words, self._table, pool)
            return self._word_signals[name]
        column: Column = getattr(self, f"_{name}")(pool)
        return column

    @cached_property
    def _words(self) -> list[Word]:
        return _rarest(self._parts.words, self._query)

    @cached_property
    def _turn_scores(self) -> Column:
        return turn_scores(self._words, self._table)

    @cached_property
    def _cosines(self) -> Column:
        if self._ranked is not None:
            return _by_rank(self._ranked.turns, len(self._table.row_of), len(self._table))
        return self._by_vector(self._parts.turn_vectors, len(self._table))

    @cached_property
    def _key_scores(self) -> Column:
        # Not the index's own scores: with few memories the classic idf of a word that half of them hold is 0.
        keys = self._parts.keys
        scores = np.zeros(self._memories)
        for weight, numbers, counts, lengths in _rarest(keys, self._query):
            scores[numbers] += weight * saturated(counts, lengths, keys.mean_length)
        return scores

    @cached_property
    def _key_cosines(self) -> Column:
        if self._ranked is not None:
            return _by_rank(self._ranked.keys, len(np.unique(self._table.memory)), self._memories)
        return self._by_vector(self._parts.key_vectors, self._memories)

    @cached_property
    def _dates(self) -> Column:
        today = self._now.date() if self._now else None
        return dated(spans(self._query, today, self._table.years), self._table)

    @cached_property
    def _memories(self) -> int:
        return int(self._table.memory.max(initial=-1)) + 1

    def _by_vector(self, index: NumpyIndex, size: int) -> Column:
        if self._vector is None or not len(index):
            return np.zeros(size)
        return _placed(*index.scores(self._vector), size)

    def _rows_of_best_memories(self, weights: Mapping[str, float], limit: int) -> Rows:
        scores = weights.get("segment_lexical", 0.0) * standardise(self._key_scores)
        scores = scores + weights.get("segment_dense", 0.0) * standardise(self._key_cosines)
        held = np.flatnonzero(self._table.memory >= 0)
        by_turn = scores[self._table.memory[held]]
        # Not fewer than the whole of the last memory: it is ranked, and shown, as one.
        cut = np.partition(by_turn, -limit)[-limit] if len(by_turn) > limit else -np.inf
        kept = np.flatnonzero(by_turn >= cut)
        return held[kept[np.argsort(-by_turn[kept], kind="stable")[: 2 * limit]]]

    def _segment_lexical(self, pool: Rows) -> Column:
        return self._key_scores[self._table.memory[pool]]

    def _segment_dense(self, pool: Rows) -> Column:
        return self._key_cosines[self._table.memory[pool]]

    def _turn_dense(self, pool: Rows) -> Column:
        return self._cosines[pool]

    def _window_dense(self, pool: Rows) -> Column:
        around = self._table.around(pool)
        present = np.maximum((around >= 0).sum(axis=1), 1)
        return np.asarray(np.append(self._cosines, 0.0)[around].sum(axis=1) / present)

    def _speaker(self, pool: Rows) -> Column:
        return mentioned(self._query, self._table.casts)[self._table.cast[pool]]

    def _date(self, pool: Rows) -> Column:
        return self._dates[pool]

    def _recency(self, pool: Rows) -> Column:
        said = self._table.said
        today = self._now.date().toordinal() if self._now else int(said.max(initial=0))
        return recent(said[pool], today)

    def _length(self, pool: Rows) -> Column:
        return self._table.length[pool]

    def _asks(self, pool: Rows) -> Column:
        return self._table.asks[pool]

    def _answers(self, pool: Rows) -> Column:
        return np.append(self._table.asks, 0.0)[self._table.before[pool]]


def _rarest(index: BM25, query: str) -> list[Word]:
    """The query's words that the index knows, the rarest first, up to a limit."""
    found = index.occurrences(query)
    weighted = [
        (idf(len(ids), index.total), ids, counts.astype(np.float64), lengths.astype(np.float64))
        for ids, counts, lengths in found
    ]
    return sorted(weighted, key=lambda word: -word[0])[:_MOST_WORDS]


def _placed(ids: Rows, scores: Column, size: int) -> Column:
    column = np.zeros(max(size, int(ids.max(initial=-1)) + 1))
    column[ids] = scores
    return column


def _by_rank(found: Sequence[int], total: int, size: int) -> Column:
    ids = np.array(found, dtype=np.int64)
    return _placed(ids, rank_scores(len(ids), total), size)


def _top(scores: Column, limit: int) -> Rows:
    """The rows of the highest scores above 0, with those that tie with the last, up to as many again."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        rows = rows[scores[rows] >= np.partition(scores[rows], -limit)[-limit]]
    if len(rows) > 2 * limit:
        rows = np.sort(rows[np.argsort(-scores[rows], kind="stable")[: 2 * limit]])
    return rows
