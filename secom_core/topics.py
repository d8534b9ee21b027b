"""The layer of topics: made when a session closes, merged with what was there, and searched by their summaries.

RMM's prospective reflection (section 5) over its memory of pairs of topic summary and raw dialogue (section 4).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from .conversation import Scope, Turn
from .derivation import Derivation, memories_of
from .errors import InvalidInput, ModelUnavailable
from .flow import ChatModel, Prompt, run
from .memory import Memory, Topic
from .protocols import Statistics, Vectors
from .ranking import Candidate
from .recent_scopes import RecentScopes
from .reflection.prospective import (
    Decided,
    Extraction,
    Known,
    Note,
    Placement,
    SimilarityRule,
    extract,
    place,
    segment_notes,
)
from .reflection_layers import ClosedSession
from .stores.sql import ScopeRow, SessionRow, SqlStore
from .stores.topics import LAYER, NewVersion, NoteRow, Placed, TopicStore
from .topic_index import DENSE, LEXICAL, TopicIndex, TopicUnits, mean_vectors

__all__ = ["TOPIC_WEIGHTS", "TopicLayer", "TopicOptions"]

TOPIC_WEIGHTS: Final[tuple[Mapping[str, float], ...]] = (
    {DENSE: 1.0},
    {LEXICAL: 1.0},
    {DENSE: 1.0, LEXICAL: 1.0},
)
"""What the ranking of topics begins with where a scope learns its weights: similarity by vector, by words, or both."""
_TRIES: Final = 30
"""How often it is decided anew because another writer has added topics; each time, that writer got on."""


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How topics are made.

    Args:
        similar: with how many similar topics of the speaker a new summary is compared (section 5, ``K``). The paper
            gives no number for this step: appendix A.1 names 20 for what the reranker gets and 5 for the training of
            its retriever. 5 is ours: a question that a model can read at a glance.
        extract_tokens: how much of a session is shown in one question.
        assistants: make topics of speakers who only ever reply to a user, too.
        rule: what merges without a language model.
        key: what a query is compared with: the ``"summary"`` of a topic (RMM section 4), or the ``"words"`` of all its
            turns under it, by words and vector both. Unless given, the summary where the bank has a language model;
            one that is a sentence of the conversation says too little of the rest.
        concurrency: how many questions to the language model are in flight at once.

    Raises:
        InvalidInput: for a number out of range.
    """

    similar: int = 5
    extract_tokens: int = 8_000
    assistants: bool = False
    rule: SimilarityRule = field(default_factory=SimilarityRule)
    key: Literal["summary", "words"] | None = None
    concurrency: int = 8

    def __post_init__(self) -> None:
        if min(self.similar, self.extract_tokens, self.concurrency) < 1:
            raise InvalidInput(f"topics need counts of 1 or more, got {self}")
        if self.key not in (None, "summary", "words"):
            raise InvalidInput(f"the key of a topic is 'summary' or 'words', not {self.key!r}")


@dataclass
class _Loaded:
    """A scope's topics, and how far they and the units of a search have followed the store."""

    row: ScopeRow
    topics: TopicIndex = field(default_factory=TopicIndex)
    last: int = 0
    units: TopicUnits | None = None
    units_revision: int = -1
    renewed: set[int] = field(default_factory=set)
    lacks_vectors: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)


class _NoModel:
    """In the place of a language model where nothing is asked."""

    def complete(self, prompt: Prompt) -> str:
        raise ModelUnavailable(f"there is no language model to ask for {prompt.purpose}")


class TopicLayer:
    """Makes topics of closed sessions and finds what is said by them; for `secom_core.reflection_layers`.

    Args:
        store: the bank's store.
        derivation: makes segments and vectors.
        model: the language model; without one segments are the notes, and similarity merges them.
        options: how.
        statistics: how common terms are in a scope, where that is at hand.
        size: how many scopes are kept ready; the least recently used is dropped first.
    """

    def __init__(
        self,
        store: SqlStore,
        derivation: Derivation,
        model: ChatModel | None = None,
        *,
        options: TopicOptions | None = None,
        statistics: Callable[[Scope], Statistics | None] | None = None,
        size: int = 1000,
    ) -> None:
        self._store = store
        self._rows = TopicStore(store)
        self._derivation = derivation
        self._model = model
        self.options = options or TopicOptions()
        self._statistics = statistics or _unknown
        self._held: RecentScopes[_Loaded] = RecentScopes(_Loaded, size=size)

    @property
    def name(self) -> str:
        """The layer's name in the store."""
        return LAYER

    # -- look -----------------------------------------------------------------------------------------------------

    def topics(self, scope: Scope, speaker: str | None = None) -> list[Topic]:
        """The scope's topics, those of one speaker where given, in the order in which they were made."""
        loaded = self._caught_up(scope)
        if loaded is None:
            return []
        with loaded.lock:
            ids = loaded.topics.ids()
            return [loaded.topics.topic(each) for each in ids if speaker in (None, loaded.topics.speaker(each))]

    def undo(self, scope: Scope, topic: int) -> Topic:
        """Take the topic's last merge back; what was merged in becomes a topic of its own again.

        Raises:
            InvalidInput: there is no such topic, or nothing was merged into it.
        """
        row = self._store.scope(scope)
        undone = self._rows.undo(row.id, topic) if row is not None else None
        loaded = self._caught_up(scope)
        if loaded is None or topic not in loaded.topics:
            raise InvalidInput(f"this scope has no topic {topic!r}")
        if undone is None:
            raise InvalidInput(f"nothing was merged into topic {topic}, so there is nothing to take back")
        self._derivation.drop_vectors(undone[0], [undone[1]])
        with loaded.lock:
            return loaded.topics.topic(topic)

    def drop(self, scope: Scope) -> None:
        """Forget the topics in memory; they are loaded again when asked for."""
        self._held.drop(scope)

    # -- search ---------------------------------------------------------------------------------------------------

    def candidates(
        self, scope: Scope, query: str, vector: Vectors | None, limit: int = 400, *, exclude: Collection[str] = ()
    ) -> list[Candidate]:
        """Topics, and what they leave of segments, that answer the query, best first; their turns are the value.

        Args:
            scope: whose.
            query: a question, or what was just said.
            vector: the query's vector, where there is one; without it the search is by words.
            limit: how many at most.
            exclude: ids of turns that need not come back.
        """
        loaded = self._caught_up(scope, retry_vectors=vector is not None)
        if loaded is None or not query.strip():
            return []
        with loaded.lock:
            found = self._units(scope, loaded).search(query, vector, limit, fused=self._key == "words")
        return [left for each in found if (left := _without(each, exclude)) is not None] if exclude else found

    def key_vectors(self, scope: Scope, memories: Sequence[Memory]) -> Vectors | None:
        """The vectors that `candidates` compares memories by, shape ``(n, d)``; nothing where one has none."""
        loaded = self._caught_up(scope)
        if loaded is None:
            return None
        with loaded.lock:
            return self._units(scope, loaded).vectors_of(memories)

    def _units(self, scope: Scope, loaded: _Loaded) -> TopicUnits:
        if loaded.units is None:
            loaded.units, loaded.units_revision = TopicUnits(), -1
            loaded.renewed = set(loaded.topics.ids())
        if loaded.units_revision < loaded.row.revision or loaded.renewed:
            for row in self._store.sessions(loaded.row.id, since=loaded.units_revision):
                current = self._derivation.derive(row.id, scope)
                if current is not None:
                    self._follow_session(loaded, loaded.units, current)
            self._renew_topics(loaded, loaded.units)
            loaded.units_revision = loaded.row.revision
        return loaded.units

    def _follow_session(self, loaded: _Loaded, units: TopicUnits, row: SessionRow) -> None:
        covered = loaded.topics.covered(row.id)
        since = units.since(row.id, covered)
        turns = self._store.turns(row, since)
        memories = memories_of(row.name, self._store.memories(row.id, since), turns)
        left = units.left(memories, covered)
        whole = {memory.id: memory.key for memory in memories}
        vectors = self._vectors_of(row.id, left, [whole[each.id] == each.key for each in left])
        loaded.lacks_vectors |= bool(left) and vectors is None
        units.set_session(row.id, since, turns, left, vectors, settled=row.settled, covered=covered)

    def _vectors_of(self, session_id: int, left: Sequence[Memory], whole: Sequence[bool]) -> Vectors | None:
        """The vectors of segments: of the key where it is left whole, else the mean of those of the turns left."""
        parts = [memory for memory, all_of_it in zip(left, whole, strict=True) if not all_of_it]
        keys = [memory.key for memory, all_of_it in zip(left, whole, strict=True) if all_of_it]
        turns = [turn for memory in parts for turn in memory.turns]
        found = self._derivation.vectors(session_id, [*keys, *(turn.text for turn in turns)])
        if found is None:
            return None
        of_turns = {turn.id: vector for turn, vector in zip(turns, found[len(keys) :], strict=True)}
        of_keys, means = iter(found[: len(keys)]), iter(mean_vectors(parts, of_turns))
        return np.stack([next(of_keys) if all_of_it else next(means) for all_of_it in whole])

    def _renew_topics(self, loaded: _Loaded, units: TopicUnits) -> None:
        for topic in sorted(loaded.renewed):
            units.drop_topic(topic)
            if topic in loaded.topics:
                self._set_topic(loaded, units, topic)
        loaded.renewed.clear()

    def _set_topic(self, loaded: _Loaded, units: TopicUnits, topic: int) -> None:
        version, note = loaded.topics.latest(topic)
        turns = units.turns(loaded.topics.places(topic))
        if not turns:
            return
        if self._key == "summary":
            found = self._derivation.vectors(note.session_id, [version.text])
            key, vector = version.text, found[0] if found is not None else None
        else:
            key = "\n".join([version.text, *(turn.text for _, turn in turns)])
            vector = self._mean_vector(
                loaded.topics.notes_in(topic), {(session_id, turn.index): turn for session_id, turn in turns}
            )
        units.set_topic(topic, Memory(f"topic#{topic}", key, tuple(turn for _, turn in turns), version.text), vector)

    def _mean_vector(self, notes: Sequence[NoteRow], turns: Mapping[tuple[int, int], Turn]) -> Vectors | None:
        """The mean of the vectors of what each note rests on; where that is a segment, its key's is at hand."""
        found = []
        for note in notes:
            held = [turns[key] for turn in note.turns if (key := (note.session_id, turn.index)) in turns]
            found.append(self._derivation.vectors(note.session_id, ["\n".join(turn.text for turn in held)]))
        known = [vectors[0] for vectors in found if vectors is not None]
        return np.mean(known, axis=0) if len(known) == len(found) else None

    @property
    def _key(self) -> str:
        return self.options.key or ("summary" if self._model is not None else "words")

    # -- reflect --------------------------------------------------------------------------------------------------

    def begin_again(self, scope_id: int) -> None:
        """Drop every topic of the scope, and the notes they were made of."""
        self._rows.drop(scope_id)

    def reflect(self, session: ClosedSession) -> bool:
        """Note what the session says about each speaker, and let the topics take it in (Algorithm 1, 8 to 12)."""
        answered = self._noted(session)
        return answered is not None and self._placed(session, ask=answered)

    def _noted(self, session: ClosedSession) -> bool | None:
        """Save the notes on the session; whether there is a model that answers, or nothing if they were refused."""
        taken = self._rows.notes_pending(session.row)
        if taken is None:
            return self._model is not None
        loaded = self._caught_up(session.scope)
        if loaded is None:
            return None
        with loaded.lock:
            known = loaded.topics.notes_of(session.row.id)
        extraction = self._extracted(session, taken)
        new, stale = _difference(extraction.notes, known, keep=bool(taken) and self._model is not None)
        rows = [(note.speaker, note.text, [turn.index for turn in note.turns]) for note in new]
        if not self._rows.save_notes(session.row, taken, rows, stale):
            return None
        return extraction.answered

    def _extracted(self, session: ClosedSession, taken: int) -> Extraction:
        if self._model is None:
            return Extraction(tuple(segment_notes(session.memories)), answered=False)
        asked = extract(
            replace(session, taken=taken).new_turns,
            session.memories,
            max_tokens=self.options.extract_tokens,
            assistants=self.options.assistants,
        )
        return run(asked, self._model, limit=self.options.concurrency)

    def _placed(self, session: ClosedSession, *, ask: bool) -> bool:
        """Decide where the notes go that are in no topic; anew where another writer has changed the topics."""
        decided: Decided = {}
        for _ in range(_TRIES):
            loaded = self._caught_up(session.scope)
            if loaded is None:
                return False
            shelf = _Shelf(self, loaded, session, self._probe, self._statistics)
            rule, model = self.options.rule, self._model or _NoModel()
            procedure = place(shelf.notes, shelf, rule=rule, ask=ask, decided=decided)
            run(procedure, model, limit=self.options.concurrency)
            placed = self._rows.place(session.row, session.taken, shelf.last, shelf.made)
            if placed is not Placed.SAVED:
                self._derivation.drop_vectors(session.row.id, [each.text for each in shelf.made])
            if placed is not Placed.OUTDATED:
                return placed is Placed.SAVED
        return False

    def _probe(self, note: Note, memories: Sequence[Memory]) -> str:
        """What a note is compared by: its words, or the segment that it stands for where nobody wrote it."""
        if self._model is not None:
            return note.text
        segment = next((memory.key for memory in memories if memory.turns == note.turns), None)
        return segment or "\n".join(turn.text for turn in note.turns)

    def vectors(self, session_id: int, texts: Sequence[str]) -> Vectors | None:
        """Vectors of texts, kept with the session; nothing where there are none."""
        return self._derivation.vectors(session_id, texts)

    # -- follow the store -----------------------------------------------------------------------------------------

    def _caught_up(self, scope: Scope, *, retry_vectors: bool = False) -> _Loaded | None:
        """The scope's topics with everything that any process has written; nothing where nothing is remembered."""
        row = self._store.scope(scope)
        if row is None:
            self.drop(scope)
            return None
        loaded = self._held.of(scope, row, retry_vectors=retry_vectors)
        with loaded.lock:
            if loaded.row.revision < row.revision:
                self._follow(loaded)
        return loaded

    def _follow(self, loaded: _Loaded) -> None:
        changes = self._rows.changes(loaded.row.id, loaded.row.revision)
        if changes is None:
            return
        renewed = loaded.topics.follow(changes)
        loaded.renewed |= set(renewed)
        self._add_vectors(loaded, [topic for topic in renewed if topic in loaded.topics])
        # A new epoch is for the next call to see.
        loaded.row = ScopeRow(changes.row.id, changes.row.revision, loaded.row.epoch)
        loaded.last = changes.last

    def _add_vectors(self, loaded: _Loaded, topics: Iterable[int]) -> None:
        by_session: dict[int, list[tuple[int, str, str]]] = {}
        for topic in topics:
            version, note = loaded.topics.latest(topic)
            by_session.setdefault(note.session_id, []).append((topic, note.speaker, version.text))
        for session_id, held in by_session.items():
            vectors = self._derivation.vectors(session_id, [text for _, _, text in held])
            if vectors is None:
                loaded.lacks_vectors = True
                return
            for (topic, speaker, _), vector in zip(held, vectors, strict=True):
                loaded.topics.finder(speaker).vectors.add([topic], vector[None])


@dataclass(slots=True)
class _Held:
    """A topic as it is to become."""

    known: Known
    speaker: str
    vector: Vectors | None


class _Shelf:
    """The topics while a session's notes go into them: those stored, and over them what was placed a moment ago."""

    def __init__(
        self,
        layer: TopicLayer,
        loaded: _Loaded,
        session: ClosedSession,
        probe: Callable[[Note, Sequence[Memory]], str],
        statistics: Callable[[Scope], Statistics | None],
    ) -> None:
        self._layer, self._loaded, self._session = layer, loaded, session
        turns = {turn.index: turn for turn in session.turns}
        with loaded.lock:
            self.last = loaded.last
            rows = [row for row in loaded.topics.notes_of(session.row.id) if not loaded.topics.is_placed(row.id)]
        self._ids = [row.id for row in rows]
        self.notes = [_note(row, turns) for row in rows]
        self.made: list[NewVersion] = []
        self._over: dict[int, _Held] = {}
        self._probes = [probe(note, session.memories) for note in self.notes]
        self._vectors = layer.vectors(session.row.id, self._probes)
        self._statistics = statistics(session.scope) if self._vectors is None and self.notes else None

    def similar(self, note: int) -> list[Known]:
        """The topics of the note's speaker that are most similar to it."""
        speaker, k = self.notes[note].speaker, self._layer.options.similar
        vector = self._vectors[note] if self._vectors is not None else None
        with self._loaded.lock:
            stored = self._loaded.topics.similar(
                speaker, self._probes[note], vector, k + len(self._over), self._statistics
            )
            found = [each for each in stored if each.topic not in self._over]
            found += [self._compared(each, note, vector) for each in self._over.values() if each.speaker == speaker]
        near = [each for each in found if each.by_vector or each.similarity > 0]
        return sorted(near, key=lambda each: (-each.similarity, each.topic))[:k]

    def _compared(self, held: _Held, note: int, vector: Vectors | None) -> Known:
        if vector is not None and held.vector is not None:
            return replace(held.known, similarity=max(0.0, float(held.vector @ vector)), by_vector=True)
        finder = self._loaded.topics.finder(held.speaker)
        return replace(
            held.known, similarity=finder.alike(self._probes[note], held.known.text, self._statistics), by_vector=False
        )

    def put(self, placement: Placement) -> None:
        """Let the topics be as the placement leaves them."""
        before = placement.previous
        version = -len(self.made) - 1
        self.made.append(
            NewVersion(version, self._ids[placement.note], before.version if before else None, placement.text)
        )
        topic = before.topic if before else version
        vectors = self._layer.vectors(self._session.row.id, [placement.text])
        vector = vectors[0] if vectors is not None else None
        speaker = self.notes[placement.note].speaker
        turns = (before.turns if before else 0) + len(self.notes[placement.note].turns)
        self._over[topic] = _Held(Known(topic, version, placement.text, turns=turns), speaker, vector)


def _unknown(scope: Scope) -> Statistics | None:
    return None


def _without(candidate: Candidate, exclude: Collection[str]) -> Candidate | None:
    """The candidate with the turns that are wanted, if there are any."""
    memory = candidate.memory
    turns = tuple(turn for turn in memory.turns if turn.id not in exclude)
    return replace(candidate, turn=turns[0], memory=replace(memory, turns=turns)) if turns else None


def _note(row: NoteRow, turns: Mapping[int, Turn]) -> Note:
    return Note(row.speaker, row.text, tuple(turns[turn.index] for turn in row.turns if turn.index in turns))


def _difference(notes: Sequence[Note], known: Sequence[NoteRow], *, keep: bool) -> tuple[list[Note], list[int]]:
    """The notes that are new, and the ids of those that are to go; one that stays keeps its place in the topics."""
    wanted = {(note.speaker, note.text, tuple(turn.index for turn in note.turns)): note for note in notes}
    stale = [
        row.id
        for row in known
        if wanted.pop((row.speaker, row.text, tuple(turn.index for turn in row.turns)), None) is None and not keep
    ]
    return list(wanted.values()), stale
