"""Topics, and what they leave of segments, as units that a query finds."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import accumulate, count
from typing import TYPE_CHECKING, Final

import numpy as np

from ..conversation import Scope, Turn
from ..derived.segments import Derivation
from ..drafts.resting import RestingTurn
from ..errors import StoreUnwritable
from ..indexes.texts import TextIndex
from ..memory import Memory
from ..protocols import Vectors
from ..ranking import Candidate
from ..stores.database import waiting_at_most
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from ..stores.unsettled import Unsettled

if TYPE_CHECKING:
    from .index import TopicIndex

DENSE: Final = "topic_dense"

LEXICAL: Final = "topic_lexical"

_DIGITS: Final = 6
_NO_TIME: Final = datetime.min.replace(tzinfo=timezone.utc)


@dataclass(slots=True)
class _Followed:
    """How far a session's segments were followed: where they had settled, and which turns topics referred to."""

    settled: int = 0
    covered: frozenset[int] = frozenset()
    units: list[int] = field(default_factory=list)
    turns: dict[int, Turn] = field(default_factory=dict)


class TopicUnits:
    """What a query is compared with: topics by their summaries, and what is left of segments, in one index.

    A unit is a `Memory`: its key is searched and its turns are shown. The turns that a topic refers to are its own;
    a segment of which it took some stays with the others, under their words.

    Args:
        store: where sessions are.
        derivation: makes segments and vectors.
        key: what a query is compared with: ``"summary"`` or ``"words"``.
    """

    def __init__(self, store: SqlStore, derivation: Derivation, key: str) -> None:
        self._store, self._derivation, self._key = store, derivation, key
        self._index = TextIndex()
        self._memories: dict[int, Memory] = {}
        self._unit_of: dict[str, int] = {}
        self._of_topic: dict[int, int] = {}
        self._followed: dict[int, _Followed] = {}
        self._numbers = count()
        self._by_time: list[tuple[datetime, str, int]] = []
        """When each unit was spoken of last, its memory's id and its number, in order."""
        self.unsaved: set[int] = set()
        """The sessions whose segments are not written yet, as the store was locked; they are to be followed again."""

    # -- follow the store -----------------------------------------------------------------------------------------

    def follow_session(self, scope: Scope, session_id: int, covered: frozenset[int]) -> bool:
        """Bring what topics leave of a session's segments up to date.

        Args:
            scope: the session's scope.
            session_id: the session.
            covered: the indices of the turns that topics refer to.

        Returns:
            Whether the vectors of segments are missing.
        """
        row, unsaved = self._derived(scope, session_id)
        if row is None:
            return False
        followed = self._followed.setdefault(session_id, _Followed())
        since = followed.settled if followed.covered == covered else 0
        if unsaved is not None:
            _, memories = self._derivation.grown(scope, row, since, since, unsaved)
            turns = [turn for memory in memories for turn in memory.turns]
        else:
            turns = self._store.turns(row, since)
            memories = self._derivation.memories(scope, row, turns, since)
        with waiting_at_most(0) if unsaved is not None else nullcontext():
            left, vectors = self._left(row, memories, covered)
        while followed.units and self._memories[followed.units[-1]].turns[0].index >= since:
            self._drop(followed.units.pop())
        followed.units += self._add(left, vectors)
        kept = {index: turn for index, turn in followed.turns.items() if index < since and index in covered}
        followed.turns = kept | {turn.index: turn for turn in turns if turn.index in covered}
        followed.settled, followed.covered = row.settled, covered
        return bool(left) and vectors is None

    def _derived(self, scope: Scope, session_id: int) -> tuple[SessionRow | None, Unsettled | None]:
        """A session, derived; where the store is locked, what was made of it and is not written."""
        made: list[Unsettled] = []
        try:
            # It is waited for the lock once, and not for each session.
            with waiting_at_most(0) if self.unsaved else nullcontext():
                row = self._derivation.derive(session_id, scope, unsaved=made.append)
        except StoreUnwritable:
            if not made:
                row = self._store.session(session_id)
                if row is not None and row.derived < row.messages:
                    raise
                return row, None
            self.unsaved.add(session_id)
            return made[-1].session, made[-1]
        self.unsaved.discard(session_id)
        return row, None

    def _left(
        self, row: SessionRow, memories: Sequence[Memory], covered: frozenset[int]
    ) -> tuple[list[Memory], Vectors | None]:
        """What topics leave of segments, with vectors: the key's where one is left whole, else the turns' mean."""
        left: list[Memory] = []
        texts: list[list[str]] = []
        for memory in memories:
            rest = tuple(turn for turn in memory.turns if turn.index not in covered)
            if len(rest) == len(memory.turns):
                left.append(memory)
                texts.append([memory.key])
            elif rest:
                texts.append([turn.text for turn in rest])
                left.append(replace(memory, key="\n".join(texts[-1]), turns=rest))
        vectors = self._derivation.vectors(row.id, [text for each in texts for text in each])
        if vectors is None:
            return left, None
        rows = np.split(vectors, list(accumulate(map(len, texts)))[:-1])
        return left, np.stack([each.mean(axis=0) for each in rows])

    def renew(self, topic: int, topics: TopicIndex) -> None:
        """Add a topic as the unit that it is found and shown as, or replace it, or take it out where it is gone."""
        if (unit := self._of_topic.pop(topic, None)) is not None:
            self._drop(unit)
        known = topics.turns(topic) if topic in topics.latest else []
        turns = {each: turn for each in known if (turn := self._turn(each)) is not None}
        if not turns:
            return
        version = topics.latest[topic]
        if self._key == "summary":
            key, texts = version.text, [(version.note.session_id, version.text)]
        else:
            key = "\n".join([version.text, *(turn.text for turn in turns.values())])
            # What a note rests on is a segment where no language model wrote it: its key's vector is at hand.
            texts = [
                (note.session_id, "\n".join(turns[each].text for each in note.turns if each in turns))
                for note in topics.notes_in(topic)
            ]
        vectors = self._derivation.vectors_of_sessions(texts)
        memory = Memory(f"topic#{topic}", key, tuple(turns.values()), version.text)
        mean = vectors.mean(axis=0, keepdims=True) if vectors is not None else None
        [self._of_topic[topic]] = self._add([memory], mean)

    def _turn(self, turn: RestingTurn) -> Turn | None:
        followed = self._followed.get(turn.session_id)
        return followed.turns.get(turn.index) if followed is not None else None

    def _add(self, memories: Sequence[Memory], vectors: Vectors | None) -> list[int]:
        units = [next(self._numbers) for _ in memories]
        self._memories.update(zip(units, memories, strict=True))
        self._unit_of.update(zip((memory.id for memory in memories), units, strict=True))
        self._index.add(units, [memory.key for memory in memories], vectors)
        for unit, memory in zip(units, memories, strict=True):
            insort(self._by_time, _spoken(unit, memory))
        return units

    def _drop(self, unit: int) -> None:
        memory = self._memories.pop(unit)
        del self._unit_of[memory.id]
        self._index.remove([unit])
        del self._by_time[bisect_left(self._by_time, _spoken(unit, memory))]

    # -- search ---------------------------------------------------------------------------------------------------

    def search(self, query: str, vector: Vectors | None, limit: int) -> list[Candidate]:
        """The units that answer the query, best first.

        By vector where all have one, else by words; where keys are words, by both in equal parts where all have a
        vector, each with mean 0 and deviation 1.

        Args:
            query: a question, or what was just said.
            vector: its vector, where there is one.
            limit: how many at most.
        """
        dense = vector is not None and self._index.has_vectors
        if dense and self._key == "words" and vector is not None:
            units, by_vector, by_words = self._index.standardised(query, vector)
            places = np.argsort(-np.round(by_vector + by_words, _DIGITS), kind="stable")[:limit].tolist()
            return [
                self._candidate(int(units[each]), {DENSE: float(by_vector[each]), LEXICAL: float(by_words[each])})
                for each in places
            ]
        signal = DENSE if dense else LEXICAL
        return [self._candidate(unit, {signal: score}) for unit, score in self._index.search(query, vector, limit)]

    def latest(self, found: Sequence[Candidate]) -> Iterator[Candidate]:
        """The units that were not found, those that were spoken of last first; they fill what room is left."""
        known = {self._unit_of[each.memory.id] for each in found}
        for _, _, unit in reversed(self._by_time):
            if unit not in known:
                yield replace(self._candidate(unit, {}), kind="recent")

    def _candidate(self, unit: int, signals: dict[str, float]) -> Candidate:
        memory = self._memories[unit]
        return Candidate(memory.turns[0], memory, sum(signals.values()), signals)

    def vectors_of(self, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors of their keys, shape ``(len(memories), d)``; nothing where one has none."""
        return self._index.vectors_of([self._unit_of.get(memory.id, -1) for memory in memories])


def _spoken(unit: int, memory: Memory) -> tuple[datetime, str, int]:
    return memory.turns[-1].at or _NO_TIME, memory.id, unit
