"""A scope's topics in memory: what they are, what is similar to them, and what a query finds by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from .analysis import terms
from .conversation import Turn
from .indexes.bm25 import BM25
from .indexes.dense import NumpyIndex
from .indexes.fusion import standardise
from .indexes.similarity import term_similarity
from .memory import Memory, Topic, TopicVersion
from .protocols import Statistics, Vectors
from .ranking import Candidate
from .reflection.prospective import Known
from .stores.topics import Changes, NoteRow, VersionRow

__all__ = ["DENSE", "LEXICAL", "Finder", "TopicIndex", "TopicUnits", "mean_vectors"]

DENSE: Final = "topic_dense"
LEXICAL: Final = "topic_lexical"
_DIGITS: Final = 6


class Finder:
    """Finds one speaker's topics by their summaries."""

    def __init__(self) -> None:
        self.words = BM25()
        self.vectors = NumpyIndex()
        self._texts: dict[int, str] = {}
        self._terms: dict[int, frozenset[str]] = {}

    def put(self, topic: int, text: str) -> None:
        """Add a topic, or replace its summary; its vector goes."""
        self._texts[topic], self._terms[topic] = text, frozenset(terms(text))
        self.words.add([topic], [text])
        self.vectors.remove([topic])

    def remove(self, topic: int) -> None:
        """Take a topic out."""
        self._texts.pop(topic, None)
        self._terms.pop(topic, None)
        self.words.remove([topic])
        self.vectors.remove([topic])

    def similar(
        self, text: str, vector: Vectors | None, k: int, statistics: Statistics | None
    ) -> list[tuple[int, str, float, bool]]:
        """The most similar topics, by vector where all have one, else by words: summary, similarity, by vector."""
        if vector is not None and len(self.vectors) == len(self._texts):
            found = self.vectors.search(vector, k)
            return [(topic, self._texts[topic], max(0.0, cosine), True) for topic, cosine in found]
        ours, known = frozenset(terms(text)), statistics or self.words
        near = [topic for topic, _ in self.words.search(text, k)]
        return [(topic, self._texts[topic], term_similarity(ours, self._terms[topic], known), False) for topic in near]

    def alike(self, text: str, other: str, statistics: Statistics | None) -> float:
        """How similar two texts are by words."""
        return term_similarity(frozenset(terms(text)), frozenset(terms(other)), statistics or self.words)


class TopicIndex:
    """The notes, versions and topics of a scope, as far as they have been followed."""

    def __init__(self) -> None:
        self.notes: dict[int, NoteRow] = {}
        self._versions: dict[int, VersionRow] = {}
        self._latest: dict[int, int] = {}
        self._of_topic: dict[int, set[int]] = {}
        self._of_note: dict[int, set[int]] = {}
        self._of_session: dict[int, set[int]] = {}
        self._finders: dict[str, Finder] = {}

    def follow(self, changes: Changes) -> list[int]:
        """Replace what is known of the sessions that changed; the topics that are other than before, or gone."""
        touched: set[int] = set()
        for session_id in changes.sessions:
            for note_id in self._of_session.pop(session_id, set()):
                touched |= self._drop_note(note_id)
        for note in changes.notes:
            self.notes[note.id] = note
            self._of_session.setdefault(note.session_id, set()).add(note.id)
        for version in changes.versions:
            self._versions[version.id] = version
            self._of_note.setdefault(version.note_id, set()).add(version.id)
            self._of_topic.setdefault(version.topic, set()).add(version.id)
            touched.add(version.topic)
        return sorted(topic for topic in touched if self._renew(topic))

    def _drop_note(self, note_id: int) -> set[int]:
        del self.notes[note_id]
        gone = [self._versions.pop(each) for each in self._of_note.pop(note_id, set())]
        for version in gone:
            self._of_topic[version.topic].discard(version.id)
        return {version.topic for version in gone}

    def _renew(self, topic: int) -> bool:
        """Let the topic be found by its latest version; whether that is another than before."""
        before, latest = self._latest.pop(topic, None), max(self._of_topic[topic], default=None)
        if latest is None:
            del self._of_topic[topic]
            for finder in self._finders.values():
                finder.remove(topic)
            return before is not None
        self._latest[topic] = latest
        if latest != before:
            self.finder(self.speaker(topic)).put(topic, self._versions[latest].text)
        return latest != before

    def __contains__(self, topic: int) -> bool:
        return topic in self._latest

    def ids(self) -> list[int]:
        """All topics, in the order in which they were made."""
        return sorted(self._latest)

    def finder(self, speaker: str) -> Finder:
        """What finds the speaker's topics."""
        return self._finders.setdefault(speaker, Finder())

    def similar(
        self, speaker: str, text: str, vector: Vectors | None, k: int, statistics: Statistics | None
    ) -> list[Known]:
        """The speaker's topics that are most similar to a text.

        Args:
            speaker: whose topics.
            text: what they are compared with.
            vector: its vector, where there is one.
            k: how many.
            statistics: how common terms are; as among the topics unless given.
        """
        found = self.finder(speaker).similar(text, vector, k, statistics)
        return [
            Known(topic, self._latest[topic], summary, similarity, by_vector, len(self.places(topic)))
            for topic, summary, similarity, by_vector in found
        ]

    def latest(self, topic: int) -> tuple[VersionRow, NoteRow]:
        """The topic's latest version, and the note that it rests on."""
        version = self._versions[self._latest[topic]]
        return version, self.notes[version.note_id]

    def speaker(self, topic: int) -> str:
        """Whose topic it is."""
        version = self._versions[self._latest[topic]]
        return self.notes[version.note_id].speaker

    def notes_of(self, session_id: int) -> list[NoteRow]:
        """The notes on a session, in the order of the turns that they rest on."""
        held = [self.notes[each] for each in self._of_session.get(session_id, ())]
        return sorted(held, key=lambda note: (note.turns[0].index if note.turns else 0, note.id))

    def is_placed(self, note_id: int) -> bool:
        """Whether a topic rests on the note."""
        return bool(self._of_note.get(note_id))

    def covered(self, session_id: int) -> frozenset[int]:
        """The indices of the session's turns that a topic refers to."""
        placed = (self.notes[each] for each in self._of_session.get(session_id, ()) if self.is_placed(each))
        return frozenset(turn.index for note in placed for turn in note.turns)

    def notes_in(self, topic: int) -> list[NoteRow]:
        """The notes that the topic rests on, each once, in the order in which they were merged."""
        notes = {self._versions[each].note_id: None for each in sorted(self._of_topic[topic])}
        return [self.notes[each] for each in notes]

    def places(self, topic: int) -> list[tuple[int, int]]:
        """Session and index of every turn that the topic rests on, each once, in time order."""
        turns = {
            turn: (note.session_id, turn.index)
            for each in self._of_topic[topic]
            for note in [self.notes[self._versions[each].note_id]]
            for turn in note.turns
        }
        return [turns[turn] for turn in sorted(turns)]

    def topic(self, topic: int) -> Topic:
        """The topic with all its versions."""
        rows = [self._versions[each] for each in sorted(self._of_topic[topic])]
        version = self._version(1, rows[0], None)
        for number, row in enumerate(rows[1:], start=2):
            version = self._version(number, row, version)
        resting = {turn for row in rows for turn in self.notes[row.note_id].turns}
        return Topic(topic, self.speaker(topic), version, tuple(turn.id for turn in sorted(resting)))

    def _version(self, number: int, row: VersionRow, previous: TopicVersion | None) -> TopicVersion:
        note = self.notes[row.note_id]
        ids = tuple(turn.id for turn in note.turns)
        return TopicVersion(number, row.text, note.text, note.session, ids, previous)


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
    """

    def __init__(self) -> None:
        self._words = BM25()
        self._vectors = NumpyIndex()
        self._memories: dict[int, Memory] = {}
        self._unit_of: dict[str, int] = {}
        self._of_topic: dict[int, int] = {}
        self._followed: dict[int, _Followed] = {}
        self._next = 0

    # -- change ---------------------------------------------------------------------------------------------------

    def since(self, session_id: int, covered: frozenset[int]) -> int:
        """The turn from which on the session's segments have to be set anew."""
        followed = self._followed.get(session_id)
        return followed.settled if followed is not None and followed.covered == covered else 0

    @staticmethod
    def left(memories: Sequence[Memory], covered: frozenset[int]) -> list[Memory]:
        """What topics leave of segments; a segment that is left whole keeps its key."""
        kept = ((each, tuple(turn for turn in each.turns if turn.index not in covered)) for each in memories)
        return [
            memory
            if len(turns) == len(memory.turns)
            else replace(memory, key="\n".join(turn.text for turn in turns), turns=turns)
            for memory, turns in kept
            if turns
        ]

    def set_session(
        self,
        session_id: int,
        since: int,
        turns: Sequence[Turn],
        left: Sequence[Memory],
        vectors: Vectors | None,
        *,
        settled: int,
        covered: frozenset[int],
    ) -> None:
        """Replace what is left of the session's segments from turn ``since`` on.

        Args:
            session_id: the session.
            since: as `since` says.
            turns: its turns from there on.
            left: what topics leave of its segments from there on.
            vectors: of those, shape ``(len(left), d)``, where there are vectors.
            settled: the turn from which on its segments may still change.
            covered: the indices of the turns that topics refer to.
        """
        followed = self._followed.setdefault(session_id, _Followed())
        while followed.units and self._memories[followed.units[-1]].turns[0].index >= since:
            self._drop(followed.units.pop())
        followed.units += self._add(left, vectors)
        kept = {index: turn for index, turn in followed.turns.items() if index < since and index in covered}
        followed.turns = kept | {turn.index: turn for turn in turns if turn.index in covered}
        followed.settled, followed.covered = settled, covered

    def turns(self, places: Iterable[tuple[int, int]]) -> list[tuple[int, Turn]]:
        """The turns at sessions and indices that topics refer to, each after its session; their sessions are set."""
        held = ((each, self._followed[each].turns.get(index)) for each, index in places if each in self._followed)
        return [(session_id, turn) for session_id, turn in held if turn is not None]

    def set_topic(self, topic: int, memory: Memory, vector: Vectors | None) -> None:
        """Add a topic as the unit that it is found and shown as, or replace it."""
        self.drop_topic(topic)
        [self._of_topic[topic]] = self._add([memory], vector[None] if vector is not None else None)

    def drop_topic(self, topic: int) -> None:
        """Take a topic out, if it is there."""
        if (unit := self._of_topic.pop(topic, None)) is not None:
            self._drop(unit)

    def _add(self, memories: Sequence[Memory], vectors: Vectors | None) -> list[int]:
        units = list(range(self._next, self._next + len(memories)))
        self._next += len(memories)
        self._memories.update(zip(units, memories, strict=True))
        self._unit_of.update(zip((memory.id for memory in memories), units, strict=True))
        self._words.add(units, [memory.key for memory in memories])
        if vectors is not None and units:
            self._vectors.add(units, vectors)
        return units

    def _drop(self, unit: int) -> None:
        del self._unit_of[self._memories.pop(unit).id]
        self._words.remove([unit])
        self._vectors.remove([unit])

    # -- search ---------------------------------------------------------------------------------------------------

    def search(self, query: str, vector: Vectors | None, limit: int, *, fused: bool = False) -> list[Candidate]:
        """The units that answer the query, best first: by vector where all have one, else by words.

        Args:
            query: a question, or what was just said.
            vector: its vector, where there is one.
            limit: how many at most.
            fused: by both where all have a vector, each with mean 0 and deviation 1, in equal parts.
        """
        dense = vector is not None and len(self._vectors) == len(self._memories)
        if dense and fused and vector is not None:
            return self._by_both(query, vector, limit)
        found = (
            self._vectors.search(vector, limit) if dense and vector is not None else self._words.search(query, limit)
        )
        signal = DENSE if dense else LEXICAL
        pairs = ((self._memories[unit], score) for unit, score in found)
        return [Candidate(memory.turns[0], memory, score, {signal: score}) for memory, score in pairs]

    def _by_both(self, query: str, vector: Vectors, limit: int) -> list[Candidate]:
        units, cosines = self._vectors.scores(vector)
        dense, lexical = standardise(cosines), standardise(self._words.scores_of(query, units.tolist()))
        best = np.argsort(-np.round(dense + lexical, _DIGITS), kind="stable")[:limit].tolist()
        rows = ((self._memories[int(units[place])], float(dense[place]), float(lexical[place])) for place in best)
        return [
            Candidate(memory.turns[0], memory, of_vector + of_words, {DENSE: of_vector, LEXICAL: of_words})
            for memory, of_vector, of_words in rows
        ]

    def vectors_of(self, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors of their keys, shape ``(len(memories), d)``; nothing where one has none."""
        units = [self._unit_of.get(memory.id, -1) for memory in memories]
        return self._vectors.vectors_of(units) if all(unit in self._vectors for unit in units) else None


def mean_vectors(memories: Sequence[Memory], of_turns: dict[str, Vectors]) -> list[Vectors]:
    """For each memory the mean of the vectors of its turns, by their ids."""
    return [np.mean([of_turns[turn.id] for turn in memory.turns], axis=0) for memory in memories]
