"""One search: what it looks at, computed when it is first needed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Final, NamedTuple

import numpy as np

from ..indexes.bm25 import BM25
from ..indexes.fusion import rank_scores, standardise
from ..indexes.scoring import Words, summed_scores
from ..indexes.top import distinct
from ..indexes.vector import VectorIndex
from ..memory import Memory
from ..protocols import Vectors
from ..text.code import CodeAsked
from ..text.first_or_last import end_asked
from ..text.kin_words import other_words
from ..text.list_items import item_asked, item_begins
from ..text.replies_asked import asks_again, asks_of_replies
from ..text.totals import asks_in_all
from ..vectors import DocumentPlace
from .columns import ColumnsAt
from .dialogue import LEANT_ON
from .own_words import own_words_first
from .passage_table import PassageTable, Rows
from .signals import (
    LATER,
    Column,
    Mask,
    ahead,
    group_scores,
    mentioned,
    passage_scores,
    recent,
    spread,
    word_signals,
)
from .speaking import REPLY, SAID_BY_USER, STANDING, UTTERANCE
from .surroundings import around, holding
from .time_order import in_time_order
from .time_scores import time_scores
from .weights import STANDS, USERS
from .whole_columns import at_rows

_BY_WORDS: Final = frozenset(
    {"passage_lexical", "passage_coverage", "window_lexical", "window_coverage", "turn_lexical", "session_lexical"}
)
_NONE: Final[Rows] = np.zeros(0, dtype=np.int64)
_STANDING_ROWS: Final = 50
"""How many passages that hold whatever is asked are ranked with what is found, the newest."""

_OPENED: Final = 40
"""The replies of how many finds are looked through for what is asked for of them, the best of each kind of search."""
_NEWEST_REPLIES: Final = 200
"""How many passages of replies, the newest, are looked through for an item, or code, that is asked for."""
_NEWEST_FOUND: Final = 3
"""How many of them that hold it are ranked with what is found, the newest."""

_FAR: Final = 100
"""In how many characters it is counted how far into a message a passage begins."""

_NOBODY: Final = -1
"""Whose words count more where either side may have told what is asked for."""

_BY_VECTOR: Final = frozenset({"passage_dense", "window_dense"})


class Indexes(NamedTuple):
    """What a scope is searched by: its passages, and the indexes of passages by row and of keys by memory."""

    table: PassageTable
    words: BM25
    keys: BM25
    passage_vectors: VectorIndex
    key_vectors: VectorIndex

    def holds(self, place: DocumentPlace) -> bool:
        """Whether the turn is there that a document of a vector store stands for, or begins with."""
        return bool(self.table.rows_at(place.session, place.index))

    def rows_of(self, memory: Memory) -> list[int]:
        """The rows of the memory's turns that are there."""
        return [row for turn in memory.turns for row in self.table.turn_rows.get(turn.id)]


@dataclass(eq=False)
class ScopeSearch:
    """One query against one scope.

    Args:
        indexes: the scope.
        query: the query's text.
        vector: its vector, shape ``(d,)``, where there is one.
        now: when it is asked, where known.
        nearest: what a vector store has found for it, best first, in the place of vectors.
        context: what was said before it, each with what its words weigh beside the query's, the heaviest first.
        exclude: ids of turns that are neither found nor heard beside others.
        rules: whether other words are looked for than it has.
    """

    indexes: Indexes
    query: str
    vector: Vectors | None
    now: datetime | None
    nearest: Sequence[DocumentPlace]
    context: Sequence[tuple[str, float]] = ()
    exclude: Collection[str] = ()
    rules: bool = True

    def __post_init__(self) -> None:
        self._table = table = self.indexes.table
        self._heard: tuple[Rows, Rows] | None = None
        self._read: tuple[Rows, ColumnsAt] | None = None
        self._out = np.zeros(len(table), dtype=np.bool_)
        self._out[[row for turn_id in self.exclude for row in table.turn_rows.get(turn_id)]] = True
        self.only_ask = table.only_ask
        """Of each row, whether its turn only asks (`PassageTable.only_ask`): it is found for itself alone."""
        # A long reply has many passages, and is read once; each as one of what was found, and as one of the pool.
        self._begins, self._code, self._is_of_code = cache(item_begins), CodeAsked(self.query), cache(self._holds_code)
        self._silent = self._out | self.only_ask

    def pool(self, weights: Mapping[str, float], limit: int) -> Rows:
        """The rows of the turns worth a closer look, in rising order: the best ``limit`` by each kind of search.

        And half as many of what users say to an assistant, or its long replies would leave them no place.
        """
        parts, opened = list[Rows](), list[Rows]()
        # What was said again later takes no place from what was not.
        there = self._table.findable & ~self._out
        users = there & self._table.of_users
        among = ((there, limit), (users, limit // 2)) if users.any() else ((there, limit),)

        def best(scores: Column) -> list[Rows]:
            if self._asks_of_replies:
                opened.append(_above_0(scores, there, _OPENED))
            return [_above_0(scores, those, most) for those, most in among]

        if not _BY_WORDS.isdisjoint(weights):
            parts += best(self._heard_around(passage_scores(self._words, self._table)))
        if not _BY_VECTOR.isdisjoint(weights):
            parts += [*best(self._heard_around(self._cosines)), *best(self._cosines)]
        if not STANDS.isdisjoint(weights) and parts:
            parts.append(np.array(holding(self._table, _STANDING_ROWS), dtype=np.int64))
        if "date" in weights and parts:
            parts.append(self._on_the_days(users, limit))
        if not parts:
            parts.append(self._rows_of_best_memories(weights, limit))
        if opened:
            parts += self._in_replies(np.concatenate(opened), weights)
        pool = distinct(np.concatenate(parts))
        return pool[there[pool]]

    def _on_the_days(self, users: Mask, limit: int) -> Rows:
        """What was said in the time that is asked for; of long times only what users say.

        Where even that is too much, a time alone brings nobody in; it still counts for those who are.
        """
        if self._dates is None:
            return _NONE
        on_days = self._dates > LATER
        return next(
            (rows for which in (on_days, on_days & users) if len(rows := np.flatnonzero(which)) <= limit), _NONE
        )

    @property
    def _asks_of_replies(self) -> bool:
        return self.item != 0 or self._code.is_asked

    def _in_replies(self, found: Rows, weights: Mapping[str, float]) -> Iterator[Rows]:
        """What is asked for of the replies in turns that were found, where their other words may be all that is alike.

        And the newest items of lists that are asked for by their place, and the newest code that is asked for.
        """
        turns = np.zeros(len(self._table) + 1, dtype=np.bool_)
        turns[self._table.head[found]] = True
        replies = np.flatnonzero(turns[self._table.head] & (self._table.kind == REPLY))
        if self.item and "item" in weights:
            yield replies[self._items(replies) > 0]
            yield self._newest(lambda rows: self._items(rows) > 0)
        if self._code.is_asked:
            yield replies[self._is_wanted(replies)]
        if self._code.by_kind:
            yield self._newest(self._is_wanted)

    def _newest(self, wanted: Callable[[Rows], Mask]) -> Rows:
        """The newest passages of replies that hold what is asked for, such as the item of a list; a few."""
        table = self._table
        newest = np.flatnonzero((table.kind == REPLY) & table.findable & ~self._out)[-_NEWEST_REPLIES:]
        return newest[wanted(newest)][-_NEWEST_FOUND:]

    def _heard_around(self, scores: Column) -> Column:
        """Each passage's score with half of what is heard of its neighbours'."""
        if not self._silent.any():
            return spread(scores, self._table)
        return np.where(self._silent, scores, 0.0) + spread(np.where(self._silent, 0.0, scores), self._table)

    def _around(self, pool: Rows) -> Rows:
        """What is heard around each row, with the row itself, as `secom_core.ranking.surroundings.around` says."""
        if self._heard is None or self._heard[0] is not pool:
            beside = around(self._table, pool)
            silent = at_rows(self._silent, beside, nowhere=False)
            silent[:, 2] = False
            self._heard = pool, np.where(silent, -1, beside)
        return self._heard[1]

    def _at(self, pool: Rows) -> ColumnsAt:
        """What the columns have at the pool's rows."""
        if self._read is None or self._read[0] is not pool:
            self._read = pool, self._table.at(pool)
        return self._read[1]

    @cached_property
    def item(self) -> int:
        """The place of the item of a list that the query asks for; 0 where it names none."""
        return item_asked(self.query)

    @property
    def worth(self) -> dict[str, float]:
        """What each term of the query, and of what was said before it, weighs."""
        return dict(zip(self._words.terms, self._words.idf.tolist(), strict=True))

    @property
    def has_cosines(self) -> bool:
        """Whether vectors are compared here; what a vector store outside says is an order only."""
        return not self.nearest and self.vector is not None and len(self.indexes.passage_vectors) > 0

    def columns(self, names: Collection[str], pool: Rows) -> dict[str, Column]:
        """The signals of these names, raw, for each passage of the pool."""
        names = dict.fromkeys(name.removeprefix(USERS) for name in names)
        by_words = not _BY_WORDS.isdisjoint(names)
        lexical = word_signals(self._words, self._table, pool, self._around(pool)) if by_words else {}
        return {name: lexical[name] if name in lexical else self._column(name, pool) for name in names}

    def _column(self, name: str, pool: Rows) -> Column:
        table, at = self._table, self._at(pool)
        match name:
            case "turn_lexical":
                return group_scores(self._words, table, table.head, table.turn_terms, self._out)[table.head[pool]]
            case "session_lexical":
                return group_scores(self._words, table, table.session, table.session_terms, self._silent)[
                    table.session[pool]
                ]
            case "segment_lexical":
                return self._key_scores[table.memory[pool]]
            case "segment_dense":
                return self._key_cosines[table.memory[pool]]
            case "passage_dense":
                return self._cosines[pool]
            case "window_dense":
                beside = self._around(pool)
                present = np.maximum((beside >= 0).sum(axis=1), 1)
                return np.asarray(at_rows(self._cosines, beside, 0.0).sum(axis=1) / present)
            case "speaker":
                asked = " ".join([self.query, *(text for text, weight in self.context if weight >= LEANT_ON)])
                return mentioned(asked, table.casts)[at.cast]
            case "date":
                return np.zeros(len(pool)) if self._dates is None else self._dates[pool]
            case "recency":
                today = self.now.date().toordinal() if self.now else int(table.days.max(initial=0))
                return recent(at.day, today)
            case "length":
                return np.asarray(np.log1p(at.stop - at.start))
            case "depth":
                depth = np.log1p(at.start / _FAR)
                return np.asarray(np.where(table.kind[pool] == SAID_BY_USER, depth, 0.0))
            case "asks":
                return table.asks[pool].astype(np.float64)
            case "user":
                whose = REPLY if asks_of_replies(self.query) else _NOBODY if asks_again(self.query) else SAID_BY_USER
                return np.asarray(table.kind[pool] == whose, dtype=np.float64)
            case "instruction" | "preference" | "fact":
                return np.asarray(table.stands[pool] == STANDING.index(name), dtype=np.float64)
            case "non_answer":
                return table.non_answer[pool].astype(np.float64)
            case "item":
                return self._items(pool)
            case "answers":
                return np.asarray(at_rows(table.asks, at.before, 0.0) * (table.kind[pool] == UTTERANCE))
        raise AssertionError(f"no signal is called {name!r}")

    def _items(self, pool: Rows) -> Column:
        """Of each passage of a reply, whether the item of a list begins there that the query names by its place."""
        found = np.zeros(len(pool))
        if self.item:
            replies = np.flatnonzero(self._table.kind[pool] == REPLY).tolist()
            self._table.read(pool[replies].tolist())
            for at in replies:
                passage = self._table.passage(pool.item(at))
                there = self._begins(passage.message.text, self.item)
                found[at] = bisect_left(there, passage.start) < bisect_left(there, passage.stop)
        return found

    def preferred(self, scores: Column, pool: Rows) -> Column:
        """The scores, with what the user told before the rest, where much of it answers the query together.

        And what was told last, or first, before what says the same, where that is asked for.
        """
        if asks_in_all(self.query):
            scores = own_words_first(scores, self._table, pool)
        end = end_asked(self.query)
        return in_time_order(scores, self._table, pool, self._words, end) if end else scores

    def code_first(self, scores: Column, pool: Rows) -> Column:
        """The scores, with the code that is asked for before the other words of its reply, in the best replies."""
        if not self._code.is_asked:
            return scores
        turns = self._table.head[pool]
        best = turns[_top(np.arange(len(pool)), scores, _OPENED)]
        replies = (self._table.kind[pool] == REPLY) & np.isin(turns, best)
        wanted = np.zeros(len(pool), dtype=np.bool_)
        wanted[replies] = self._is_wanted(pool[replies])
        return ahead(scores, turns, wanted, replies & ~wanted)

    def _is_wanted(self, rows: Rows) -> Mask:
        """Of each passage of a reply, whether it is of the code, or holds a name of it, that the query asks for."""
        self._table.read(rows.tolist())
        return np.fromiter(map(self._is_of_code, rows.tolist()), np.bool_, len(rows))

    def _holds_code(self, row: int) -> bool:
        passage = self._table.passage(row)
        return self._code.is_in(passage.message.text, passage.start, passage.stop)

    @cached_property
    def _words(self) -> Words:
        return self.indexes.words.weighted_words(self._texts)

    @cached_property
    def _texts(self) -> list[tuple[str, float]]:
        return [(self.query, 1.0), *(other_words(self.query) if self.rules else ()), *self.context]

    @cached_property
    def _cosines(self) -> Column:
        if self.nearest:
            found = self._found("turn")
            scores = np.repeat(rank_scores(len(found), self._table.turns), np.array([*map(len, found)], dtype=np.int64))
            return _placed(np.array([row for rows in found for row in rows], dtype=np.int64), scores, len(self._table))
        cosines = self._by_vector(self.indexes.passage_vectors, len(self._table))
        return np.asarray(np.append(cosines[: len(self._table)], 0.0)[self._table.source])

    @cached_property
    def _key_scores(self) -> Column:
        keys = self.indexes.keys
        return summed_scores(keys.weighted_words(self._texts), keys.mean_length, self._table.memories)

    @cached_property
    def _key_cosines(self) -> Column:
        if self.nearest:
            memories = dict.fromkeys(self._table.memory.item(rows[0]) for rows in self._found("key"))
            scores = rank_scores(len(memories), len(distinct(self._table.memory)))
            return _placed(np.array(list(memories), dtype=np.int64), scores, self._table.memories)
        return self._by_vector(self.indexes.key_vectors, self._table.memories)

    @cached_property
    def _dates(self) -> Column | None:
        """How well each passage fits the time that the query tells; nothing where it tells none."""
        words, silent = self.indexes.words, self._out | self.only_ask
        return time_scores(self.query, self.now, self._table, words, silent)

    def _found(self, kind: str) -> list[list[int]]:
        """The rows of each turn that a vector store has found, itself or by its memory's key, best first, each once."""
        places = dict.fromkeys((place.session, place.index) for place in self.nearest if place.kind == kind)
        turns = (self._table.rows_at(*place) for place in places)
        return [rows for rows in turns if rows and self._table.memory[rows[0]] >= 0]

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


def _above_0(scores: Column, among: Mask, limit: int) -> Rows:
    rows = np.flatnonzero((scores > 0) & among)
    return _top(rows, scores[rows], limit)


def _top(rows: Rows, scores: Column, limit: int) -> Rows:
    """The rows with the highest scores, with those that tie with the last, up to as many again.

    So whole memories stay whole where all turns of one have its score: each is ranked, and shown, as one.
    """
    if len(rows) <= limit:
        return rows
    kept = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return rows[kept[np.argsort(-scores[kept], kind="stable")[: 2 * limit]]]
