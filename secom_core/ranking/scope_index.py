"""The search index of one scope, kept in memory and grown a turn at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Final

import numpy as np

from ..conversation import Turn
from ..errors import InvalidInput
from ..filters import Joined
from ..indexes.bm25 import BM25
from ..indexes.growing_bm25 import GrowingBM25
from ..indexes.vector import VectorIndex
from ..memory import HitKind, Memory, Passage, passages_of
from ..protocols import Statistics, TokenCounter, Vectors
from ..text.intents import Subject
from ..vectors import DocumentPlace, row_products
from .block import Mark
from .candidate import Candidate, signals_of
from .choosing import TimesSaid, each_once, enough_for, measures
from .cores import with_narrower
from .filtered import FilteredParts
from .memory_table import MemoryTable, place_of
from .passage_table import PassageTable, Rows
from .relevance import CALIBRATED, relevances
from .scope_search import Indexes, ScopeSearch
from .signals import behind, comparable, of_whom
from .speaking import LONG, SAID_BY_USER
from .surroundings import Beside, Besides, asked_about, besides, exchange, instructions, taken_back
from .weights import DENSE, LEXICAL, SIGNALS

_DIGITS: Final = 6
"""Scores are rounded, so that the order in which sums were formed does not show."""

_ECHOES: Final = 3
"""How many turns that tell nothing are found at most."""

_ANYHOW, _BY_RULE = 0.05, 0.9
"""How relevant what holds whatever is asked counts as, where it shares no word; and what a rule has found."""

_AT_ONCE: Final = 64  # candidates are made together: each by itself takes ten times as long
_FEW, _NEAREST = 30, 0.3
"""Among how many that share no word with the query, how relevant the nearest counts as at most."""

_NEAR: Final = 1.0
"""How many standard deviations above the mean a cosine is that makes a passage relevant without a common word."""


class ScopeIndex:
    """Ranks the turns of one scope by several signals at once.

    A search looks through the whole scope by words and, where it has vectors, by vector; it takes the turns that do
    best in either respect, with what surrounds them, and ranks this pool by the weighted sum of the signals in
    `SIGNALS`, standardised within the pool. Adding a turn costs the same in a small scope and in a large one. Calls
    must not overlap with a change.

    Args:
        dense: whether turns and memories come with vectors.
        weights: by signal; the ones fitted for lexical or for lexical and dense search unless given. What has no
            weight counts for nothing: ``{"segment_lexical": 1}`` without ``rules`` is SeCom's own (section 2.1).
        rules: whether what only stands, or only asks, goes behind the best others, and code that is asked for first.
        counter: counts a turn's tokens.

    Raises:
        InvalidInput: for a weight of no known signal.
    """

    def __init__(
        self, *, dense: bool, weights: Mapping[str, float] | None = None, rules: bool = True, counter: TokenCounter
    ) -> None:
        unknown = sorted(set(weights or ()) - set(SIGNALS))
        if unknown:
            raise InvalidInput(f"no signal is called {unknown[0]!r}; there are {sorted(SIGNALS)}")
        fitted = weights if weights is not None else DENSE if dense else LEXICAL
        by_words = all(not name.endswith("_dense") for name in fitted)
        # Weights that were fitted with vectors, or are all about vectors, say little about words alone.
        self.weights = (fitted, fitted if by_words else LEXICAL)
        """By signal: of a search with vectors, and of one by words alone."""
        self._rules = rules
        self.indexes = Indexes(PassageTable(counter), BM25(), keys := GrowingBM25(), VectorIndex(), VectorIndex())
        self._table, self._keys = self.indexes.table, keys
        self.memories = MemoryTable()
        self._times_said = TimesSaid(self._table)
        self.filtered: FilteredParts[ScopeIndex] = FilteredParts(self._table)
        self.kept = Mark()
        """How far it is on disk."""

    def __len__(self) -> int:
        return self._table.turns

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes, within a quarter; costs as much as looking at every turn and term once."""
        return self.memories.nbytes + sum(index.nbytes for index in self.indexes) + self.filtered.fields.nbytes

    @property
    def statistics(self) -> Statistics:
        """How common terms are among the scope's turns."""
        return self.indexes.words

    def now_kept(self) -> None:
        """Note that all of it is on disk, so that what changes from then on is known."""
        self.kept = Mark.of(self.indexes, self.memories)
        self._table.kept, self.memories.kept = self.kept.passages, self.kept.memories
        for changed in (self._table.touched, self.memories.touched, self.indexes.words.gone, self.indexes.keys.gone):
            changed.clear()

    def add_turns(self, turns: Sequence[Turn], vectors: Vectors | None) -> None:
        """Add turns, or replace those whose id is known.

        Args:
            turns: of any sessions.
            vectors: of their passages in order (`secom_core.memory.passages_of`), where there are any.
        """
        self._changed()
        self._table.read([row for turn in turns for row in self._table.turn_rows.get(turn.id)])
        place = 0
        for turn in turns:
            passages, known = passages_of(turn), self._table.turn_rows.get(turn.id)
            is_same = partial(self._is_indexed, also_vector=vectors is not None)
            same = {row for row, passage in zip(known, passages, strict=False) if is_same(row, passage)}
            self._remove_passages([row for row in known if row not in same])
            rows = self._table.put(turn, passages)
            self.filtered.fields.forget(rows)
            self._add_passages(rows, None if vectors is None else vectors[place : place + len(rows)], same)
            place += len(rows)

    def remove_turns(self, turns: Sequence[Turn], *, but: Collection[str] = ()) -> None:
        """Take turns out with their memories and names, ``but`` names to come; `set_memories` makes up for it."""
        self._changed()
        for turn in turns:
            rows = self._table.turn_rows.get(turn.id)
            for number in sorted(set(self._table.memory[rows].tolist()) - {-1}):
                self._remove_memory(number)
            self._remove_passages(rows)
            self._table.remove(turn)
        self.memories.forget_names(self._table.forget_names(but=but))

    def _changed(self) -> None:
        self._table.hold()
        self._times_said.clear()
        self.filtered.clear()

    def _is_indexed(self, row: int, passage: Passage, *, also_vector: bool) -> bool:
        """Whether the row's words are those of the passage, and said by the same at the same time."""
        known = self._table.passage(row)
        before = known.searched, known.message.role, known.message.at, known.turn.at
        if before != (passage.searched, passage.message.role, passage.message.at, passage.turn.at):
            return False
        return not also_vector or self.indexes.passage_vectors.vectors_of([self._table.source.item(row)]) is not None

    def _add_passages(self, rows: Sequence[int], vectors: Vectors | None, same: Collection[int]) -> None:
        """Index the words of rows but the same, or let them stand behind those that say the same."""
        table = self._table
        for place, row in enumerate(rows):
            if row in same:
                continue
            passage = table.passage(row)
            alike, before = table.repeats.add(row, table.said.item(row))
            table.source[row], table.times[alike[0]] = alike[0], len(alike)
            table.touch((alike[0], before))
            table.latest[before], table.latest[row] = 0, 0
            table.shown[alike[0]] = last = table.repeats.latest(row)
            table.latest[last] = 1
            if len(alike) > 1:
                table.terms[row] = table.terms[alike[0]]
                continue
            self.indexes.words.add([row], [passage.searched])
            [table.terms[row]] = self.indexes.words.lengths_of([row])
            if vectors is not None:
                self.indexes.passage_vectors.add([row], vectors[place : place + 1])

    def _remove_passages(self, rows: Sequence[int]) -> None:
        """Take the words of rows out; where others say the same, one of these comes in their place."""
        table = self._table
        for row in rows:
            left = table.repeats.remove(row)
            if not left:
                self.indexes.words.remove([row])
                self.indexes.passage_vectors.remove([row])
                continue
            table.touch(left)
            table.times[left[0]] = len(left)
            table.shown[left[0]] = last = table.repeats.latest(left[0])
            table.latest[last] = 1
            if int(table.source[left[0]]) == row:
                table.source[left] = left[0]
                self.indexes.words.remove([row])
                self.indexes.words.add([left[0]], [table.passage(left[0]).searched])
                self.indexes.passage_vectors.rename(row, left[0])

    def set_memories(self, session: str, since: int, memories: Sequence[Memory], vectors: Vectors | None) -> None:
        """Replace the memories of a session whose first turn has the index ``since`` or a later one.

        Args:
            session: whose memories.
            since: an index of a turn.
            memories: in order; their turns are added before.
            vectors: of their keys, shape ``(len(memories), d)``, where there are vectors.
        """
        self._changed()
        number_of_session, table = self._table.number_of(session), self.memories
        old = table.since(number_of_session, since)
        places = [place_of(memory) for memory in memories]
        same = {place: old.pop(place) for place in places if place in old}
        longer = table.longer(old, places, memories)
        for number in old.values():
            self._remove_memory(number)
        before = {number: table[number].key for number in longer.values()}
        put, known = partial(table.put, number_of_session), {**same, **longer}
        numbers = [put(place, each, known.get(place)) for place, each in zip(places, memories, strict=True)]
        for number, memory in zip(numbers, memories, strict=True):
            rows = self.indexes.rows_of(memory)
            self._table.memory[rows] = number
            self._table.touch(rows)
        new = [place for place, each in enumerate(places) if each not in same]
        keys = [memories[place].key for place in new]
        self._keys.put([numbers[place] for place in new], keys, before, since=self.kept.keys)
        if vectors is not None and numbers:
            self.indexes.key_vectors.add([numbers[place] for place in new], vectors[new])

    def _remove_memory(self, number: int) -> None:
        rows = np.flatnonzero(self._table.memory == number)
        self._table.memory[rows] = -1
        self._table.touch(rows.tolist())
        self.memories.remove(number)
        self.indexes.keys.remove([number])
        self.indexes.key_vectors.remove([number])

    def only(self, where: Joined) -> ScopeIndex:
        """The part of it that passes a filter, to be searched until the next change; the last few are held."""
        return self.filtered.part(where, self.indexes, self.memories, self._over)

    def _over(self, indexes: Indexes, memories: MemoryTable) -> ScopeIndex:
        part = copy(self)
        part.indexes, part.memories, part._table = indexes, memories, indexes.table
        part._times_said = TimesSaid(part._table)
        return part

    def search(
        self,
        query: str,
        vector: Vectors | None = None,
        *,
        nearest: Sequence[DocumentPlace] | None = None,
        now: datetime | None = None,
        limit: int = 400,
        budget: int | None = None,
        narrow: int = 0,
        context: Sequence[tuple[str, float]] = (),
        exclude: Collection[str] = (),
    ) -> list[Candidate]:
        """What may answer the query, best first; none where nothing speaks for any passage.

        Args:
            query: a question, or what was just said.
            vector: the query's vector, shape ``(d,)``; without it the search is by words.
            nearest: what a vector store outside has found, best first, in the place of a vector; only the order counts.
            now: when the query is asked, for "last week".
            limit: how many each kind of search looks closer at.
            budget: how many tokens there is room for: several times as much is given back; ``limit`` unless given.
            narrow: of how many, the best, the most telling sentence is found too.
            context: what was said before the query, each with what its words weigh beside the query's.
            exclude: ids of turns that count for nothing.
        """
        by_vector = nearest or (vector is not None and len(self.indexes.passage_vectors))
        weights = self.weights[0 if by_vector else 1]
        search = ScopeSearch(self.indexes, query, vector, now, nearest or (), context, exclude, self._rules)
        pool = search.pool(weights, limit)
        if not len(pool):
            return []
        columns = search.columns([*weights, *CALIBRATED], pool)
        users = (self._table.kind[pool] == SAID_BY_USER) & (self._table.at(pool).turn_tokens > LONG)
        only_asks = search.only_ask[pool] & self._rules
        # What was asked before is nearest to the query; what answers it is to stand out among the others.
        among = ~only_asks if not only_asks.all() else only_asks
        compared = {name: comparable(name, column, among) for name, column in columns.items()}
        matrix = np.stack([of_whom(name, compared, users) for name in weights], axis=1)
        total = search.preferred(row_products(matrix, np.array(list(weights.values()))), pool)
        near = columns["window_coverage"] > 0
        if "passage_dense" in compared:
            near |= compared["passage_dense"] > _NEAR
        only_stands = (self._table.stands[pool] > 0) & ~near & self._rules
        ruled = search.code_first(behind(total, only_stands | only_asks), pool) if self._rules else total
        total = np.round(ruled, _DIGITS)
        # Rows come in the order in which they were indexed, which says nothing.
        order = np.lexsort((*self._table.order(pool), -total))
        best = each_once(self._table, pool, order)
        best = best[~only_asks[best] | (np.cumsum(only_asks[best]) <= _ECHOES)]
        most = limit if budget is None else enough_for(self._table, budget, pool[best])
        relevance = np.round(relevances(columns, total, best, dense=search.has_cosines), _DIGITS)[:most]
        best = best[:most]
        relevance = np.where(only_stands[best], _ANYHOW, relevance)
        if len(pool) < _FEW:
            # Among few something is always nearest.
            relevance = np.where(columns["window_coverage"][best] > 0, relevance, np.minimum(relevance, _NEAREST))
        self._table.read(pool[best].tolist())
        signals = signals_of(weights, np.round(matrix[best], _DIGITS))
        kinds: list[HitKind] = ["standing" if each else "relevant" for each in only_stands[best].tolist()]
        found = self._made(pool[best], total[best].tolist(), signals, relevance.tolist(), kinds)
        worth = search.worth if narrow else {}
        firsts = zip(found[:narrow], map(self._table.passage, pool[best[:narrow]].tolist()), strict=True)
        return [*(with_narrower(*each, worth, search.item) for each in firsts), *found[narrow:]]

    def rest_of(self, strong: Sequence[Candidate], *shown: Sequence[Candidate]) -> Iterator[Candidate]:
        """What takes back what is shown, and what else was said in the turns of passages, where that is not long.

        Args:
            strong: turns and passages, best first.
            shown: what else is shown first.
        """
        first = {each.turn.id: self._table.turn_rows.get(each.turn.id)[0] for each in chain(strong, *shown)}
        heads = dict.fromkeys(first[each.turn.id] for each in strong if each.passage)
        rest = (exchange(self._table, head) for head in heads)
        rows = chain(taken_back(self._table, first.values()), *rest)
        least = min((each.score for each in chain(strong, *shown)), default=0.0)
        return self._shown((Besides(row, "surrounding") for row in rows), strong, score=least - 1)

    def besides(self, found: Sequence[Candidate], *, of: Beside = besides) -> Iterator[Candidate]:
        """What may be shown where what was found leaves room, in order: its surroundings, then the latest turns.

        Args:
            found: what was found, best first; what only holds whatever is asked has its surroundings left out.
            of: which surroundings (`secom_core.ranking.surroundings`).
        """
        least = min((each.score for each in found), default=0.0) - 1
        rows = (self._row_of(each) for each in found if each.kind == "relevant")
        return self._shown(of(self._table, rows), found, score=least)

    def asked_about(
        self, subject: Subject, exclude: Collection[str], days: Sequence[tuple[int, int]]
    ) -> Iterator[Candidate]:
        """What answers a question about the conversation itself, the most telling first.

        Args:
            subject: what is asked about (`secom_core.text.intents.subject`).
            exclude: ids of turns that are in the prompt already.
            days: that are asked about.
        """
        rows = asked_about(self._table, subject, exclude, days)
        # Of other days than those that are asked about.
        is_near = bool(rows) and rows[0].kind == "surrounding"
        return self._shown(rows, relevance=_NEAREST if is_near else _BY_RULE)

    def instructions(self) -> Iterator[Candidate]:
        """What the user wants of every answer, the newest first."""
        return self._shown((Besides(row, "standing") for row in instructions(self._table)), relevance=_ANYHOW)

    def turns_named(
        self, turn_ids: Iterable[str], kind: HitKind, *, score: float = 0.0, relevance: float = 0.0
    ) -> list[Candidate]:
        """Candidates for turns that were not searched for, by their ids; a long one in its passages."""
        rows = (row for each in turn_ids for row in self._table.turn_rows.get(each))
        return list(self._shown((Besides(row, kind) for row in rows), score=score, relevance=relevance))

    def _row_of(self, candidate: Candidate) -> int:
        rows = self._table.turn_rows.get(candidate.turn.id)
        return next((row for row in rows if self._table.passages.get(row) is candidate.passage), rows[0])

    def _shown(
        self, rows: Iterable[Besides], known: Sequence[Candidate] = (), *, relevance: float = 0.0, score: float = 0.0
    ) -> Iterator[Candidate]:
        """Candidates for rows that were not searched for, each turn or passage once."""
        seen = {each.part for each in known}
        left = iter(rows)
        while some := list(islice(left, _AT_ONCE)):
            (numbers, kinds), size = zip(*some, strict=True), len(some)
            for candidate in self._made(np.array(numbers), [score] * size, [{}] * size, [relevance] * size, kinds):
                if (part := candidate.part) not in seen:
                    seen.add(part)
                    yield candidate

    def _made(
        self,
        rows: Rows,
        scores: Sequence[float],
        signals: Sequence[Mapping[str, float]],
        relevance: Sequence[float],
        kinds: Sequence[HitKind],
    ) -> list[Candidate]:
        """Candidates for rows: a recall makes over a hundred, so all are made at once."""
        places, is_whole, tokens, numbers, is_repeated = measures(self._table, rows)
        read = self._table.passages.get
        passages = [read(row) or self._table.passage(row) for row in places]
        memories = map(self.memories.__getitem__, numbers)
        shown = [None if whole else passage for passage, whole in zip(passages, is_whole, strict=True)]
        said = [self._times_said(row) if again else 1 for row, again in zip(places, is_repeated, strict=True)]
        turns = [passage.turn for passage in passages]
        return list(map(Candidate, turns, memories, scores, signals, tokens, shown, kinds, relevance, said))

    def key_vectors(self, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors of the memories' keys, shape ``(len(memories), d)``; nothing where one has none."""
        rows = [self._table.turn_rows.get(memory.turns[0].id)[0] for memory in memories]
        return self.indexes.key_vectors.vectors_of(self._table.memory[rows].tolist())
