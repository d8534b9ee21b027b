"""A scope's topics in memory: what they are, what is similar to them, and what a query finds by them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from ..derived.scope_states import ScopeState
from ..drafts.resting import RestingTurn
from ..indexes.texts import TextIndex
from ..protocols import Statistics, Vectors
from .records import Topic, TopicVersion
from .search import TopicUnits
from .store import Changes, NoteRow, VersionRow


@dataclass(frozen=True, slots=True)
class Known:
    """A topic of a speaker that is similar to a note.

    Args:
        topic: its id; below 0 where it was made a moment ago and is not stored.
        version: the id of its latest version, likewise.
        text: its summary.
        similarity: how similar, from 0 to 1.
        by_vector: whether the similarity is that of vectors, not of words.
        turns: how many turns the topic rests on.
    """

    topic: int
    version: int
    text: str
    similarity: float = 0.0
    by_vector: bool = False
    turns: int = 0


class TopicIndex:
    """The notes, versions and topics of a scope, as far as they have been followed."""

    def __init__(self) -> None:
        self._notes: dict[int, list[NoteRow]] = {}
        self._versions: dict[int, list[VersionRow]] = {}
        """Both by session."""
        self._chains: dict[int, dict[int, VersionRow]] = {}
        self.latest: dict[int, VersionRow] = {}
        """By topic."""
        self.texts: defaultdict[str, TextIndex] = defaultdict(TextIndex)
        """By speaker: the summaries of their topics, by the topics' ids."""

    def follow(self, changes: Changes) -> list[int]:
        """Replace what is known of the sessions that changed; the topics that are other than before, or gone."""
        touched = {version.topic for version in changes.versions}
        for session_id in changes.sessions:
            self._notes.pop(session_id, None)
            for version in self._versions.pop(session_id, ()):
                del self._chains[version.topic][version.id]
                touched.add(version.topic)
        for note in changes.notes.values():
            self._notes.setdefault(note.session_id, []).append(note)
        for version in changes.versions:
            self._versions.setdefault(version.note.session_id, []).append(version)
            self._chains.setdefault(version.topic, {})[version.id] = version
        return [topic for topic in sorted(touched) if self._renew(topic)]

    def _renew(self, topic: int) -> bool:
        """Let the topic be found by its latest version; whether that is another than before."""
        before, chain = self.latest.pop(topic, None), self._chains[topic]
        if not chain:
            del self._chains[topic]
            for texts in self.texts.values():
                texts.remove([topic])
            return before is not None
        latest = self.latest[topic] = chain[max(chain)]
        if before is not None and before.id == latest.id:
            return False
        self.texts[latest.note.speaker].add([topic], [latest.text])
        return True

    def similar(
        self, speaker: str, text: str, vector: Vectors | None, k: int, statistics: Statistics | None
    ) -> list[Known]:
        """The speaker's topics that are most similar to a text.

        Args:
            speaker: whose topics. The name, which stands in each, makes none similar.
            text: what they are compared with.
            vector: its vector, where there is one.
            k: how many.
            statistics: how common terms are; as among the topics unless given.
        """
        texts = self.texts[speaker]
        by_vector = vector is not None and texts.has_vectors
        return [
            Known(topic, self.latest[topic].id, texts.texts[topic], similarity, by_vector, len(self.turns(topic)))
            for topic, similarity in texts.similar(text, vector, k, statistics, besides=speaker)
        ]

    def speaker(self, topic: int) -> str:
        """Whose topic it is."""
        return self.latest[topic].note.speaker

    def notes_of(self, session_id: int) -> list[NoteRow]:
        """The notes on a session, in the order of the turns that they rest on."""
        notes = self._notes.get(session_id, ())
        return sorted(notes, key=lambda note: (note.turns[0].index if note.turns else 0, note.id))

    def placed(self, session_id: int) -> dict[int, NoteRow]:
        """The session's notes that a topic rests on, by id."""
        return {version.note.id: version.note for version in self._versions.get(session_id, ())}

    def covered(self, session_id: int) -> frozenset[int]:
        """The indices of the session's turns that a topic refers to."""
        return frozenset(turn.index for note in self.placed(session_id).values() for turn in note.turns)

    def _chain(self, topic: int) -> list[VersionRow]:
        return [version for _, version in sorted(self._chains[topic].items())]

    def notes_in(self, topic: int) -> list[NoteRow]:
        """The notes that the topic rests on, each once, in the order in which they were merged."""
        return list({version.note.id: version.note for version in self._chain(topic)}.values())

    def turns(self, topic: int) -> list[RestingTurn]:
        """Every turn that the topic rests on, each once, in time order."""
        return sorted({turn for note in self.notes_in(topic) for turn in note.turns})

    def topic(self, topic: int) -> Topic:
        """The topic with all its versions."""
        first, *later = self._chain(topic)
        version = _version(1, first, None)
        for number, row in enumerate(later, start=2):
            version = _version(number, row, version)
        return Topic(topic, self.speaker(topic), version, tuple(turn.id for turn in self.turns(topic)))


def _version(number: int, row: VersionRow, previous: TopicVersion | None) -> TopicVersion:
    ids = tuple(turn.id for turn in row.note.turns)
    return TopicVersion(number, row.text, row.note.text, row.note.session, ids, previous)


@dataclass
class ScopeTopics(ScopeState):
    """A scope's topics, and how far they and the units of a search have followed the store."""

    topics: TopicIndex = field(default_factory=TopicIndex)
    last: int = 0
    units: TopicUnits | None = None
    units_revision: int = -1
    renewed: set[int] = field(default_factory=set)
