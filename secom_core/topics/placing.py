"""Where the notes on a session go: into topics that are there, or into new ones (RMM section 5, memory update)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Final, cast

from ..conversation import Turn
from ..derived.coverage import covering
from ..derived.segments import Derivation
from ..drafts.extraction import Draft
from ..drafts.grounding import joins
from ..drafts.language import language_told
from ..errors import BadReply, ModelError, ModelUnavailable, warn_degraded
from ..layers import ClosedSession
from ..llm.flow import ChatModel, Prompt, run
from ..llm.retry import all_asked_twice
from ..protocols import Statistics, Vectors
from .index import Known, ScopeTopics
from .prompts import read_update, says_add, update_prompt
from .store import NewVersion, NoteRow

_LINES: Final = 6
_LINE_TOKENS: Final = 240
_UNUSABLE: Final = 3
"""After so many notes in a row about which it says nothing that can be used, a model is not asked about the others."""

Decided = MutableMapping[tuple[int, tuple[tuple[int, int], ...]], "dict[int, str] | ModelError"]
"""What was decided for a note, given the topics and versions that were shown; a question is asked once."""


@dataclass(frozen=True, slots=True)
class SimilarityRule:
    """Where a note goes without a language model: into the most similar topic, if it is similar enough.

    Args:
        least: the similarity by words from which on it is.
        least_by_vector: the same for the cosine of vectors.
        most_turns: how many turns a topic may rest on then: it comes back as a whole, or not at all.
    """

    least: float = 0.15
    least_by_vector: float = 0.65
    most_turns: int = 16

    def __call__(self, note: Draft, known: Sequence[Known]) -> dict[int, str]:
        """The summary of the topic that it goes into, by its place among those known; nothing where it is new."""
        near = [place for place, each in enumerate(known) if self._is_near(each, len(note.turns))]
        best = max(near, key=lambda place: known[place].similarity, default=None)
        return {best: _together(known[best].text, note.text)} if best is not None else {}

    def _is_near(self, known: Known, more: int) -> bool:
        least = self.least_by_vector if known.by_vector else self.least
        return known.similarity >= least and known.turns + more <= self.most_turns


class PlacedTopics:
    """The topics while a session's notes go into them: those stored, and over them what was placed a moment ago.

    Args:
        state: the scope's topics.
        session: the session.
        derivation: makes vectors, where there is an embedder.
        k: how many topics a note is compared with.
        probe: gives the text that a note is compared by.
        statistics: gives how common terms are, where that is at hand; asked only where there are no vectors.
    """

    def __init__(
        self,
        state: ScopeTopics,
        session: ClosedSession,
        derivation: Derivation,
        k: int,
        probe: Callable[[Draft], str],
        statistics: Callable[[], Statistics | None],
    ) -> None:
        self._state, self._k, self._vectors_of = state, k, partial(derivation.vectors, session.row.id)
        turns = {turn.index: turn for turn in session.turns}
        with state.lock:
            self.last = state.last
            placed = state.topics.placed(session.row.id)
            rows = [row for row in state.topics.notes_of(session.row.id) if row.id not in placed]
        self._ids = [row.id for row in rows]
        self.notes = [_note(row, turns) for row in rows]
        self.made: list[NewVersion] = []
        self._pending: dict[int, tuple[str, Known, Vectors | None]] = {}
        """By topic: whose it is, how it is to become, and its vector."""
        self._probes = [probe(note) for note in self.notes]
        self._vectors = self._vectors_of(self._probes)
        self._statistics = statistics() if self._vectors is None and self.notes else None

    def similar(self, note: int) -> list[Known]:
        """The topics of the note's speaker that are most similar to it, best first."""
        speaker, probe = self.notes[note].speaker, self._probes[note]
        vector = self._vectors[note] if self._vectors is not None else None
        with self._state.lock:
            stored = self._state.topics.similar(speaker, probe, vector, self._k + len(self._pending), self._statistics)
            found = [each for each in stored if each.topic not in self._pending]
            for whose, known, its_vector in self._pending.values():
                if whose == speaker and (compared := self._compared(note, speaker, known, its_vector)) is not None:
                    found.append(compared)
        return sorted(found, key=lambda each: (-each.similarity, each.topic))[: self._k]

    def _compared(self, note: int, speaker: str, known: Known, vector: Vectors | None) -> Known | None:
        """A topic that is not stored yet; nothing where it shares no word with the note, not even a name."""
        if self._vectors is not None and vector is not None:
            return replace(known, similarity=max(0.0, float(vector @ self._vectors[note])), by_vector=True)
        similarity = partial(self._state.topics.texts[speaker].similarity, self._probes[note], known.text)
        if not similarity(self._statistics):
            return None
        return replace(known, similarity=similarity(self._statistics, besides=speaker))

    def put(self, note: int, previous: Known | None, text: str) -> None:
        """Let a note continue a topic, or begin one; ``text`` is the topic's summary from now on."""
        version = -len(self.made) - 1
        self.made.append(NewVersion(self._ids[note], previous.version if previous else None, text))
        topic = previous.topic if previous else version
        vectors = self._vectors_of([text])
        turns = (previous.turns if previous else 0) + len(self.notes[note].turns)
        vector = vectors[0] if vectors is not None else None
        self._pending[topic] = self.notes[note].speaker, Known(topic, version, text, turns=turns), vector


def _note(row: NoteRow, turns: Mapping[int, Turn]) -> Draft:
    return Draft(row.text, tuple(turns[turn.index] for turn in row.turns if turn.index in turns), row.speaker)


def place(
    topics: PlacedTopics, *, rule: SimilarityRule, model: ChatModel | None, concurrency: int, decided: Decided
) -> bool:
    """Decide for each note whether it is a topic of its own or goes into one that is known, in order.

    Algorithm 1, lines 9 to 12. Notes on different speakers cannot meet, so one question of each speaker is in flight
    at a time. Nothing is asked where the speaker has no similar topic. A reply that cannot be used is asked for once
    more; what has none then goes by ``rule``, and so do all others after three notes in a row. One `DegradedWarning`
    names how many there were and the cause of the first.

    Args:
        topics: the notes, and the topics that they go into.
        rule: what decides without a language model.
        model: the language model, where there is one that answers.
        concurrency: how many questions are in flight at once.
        decided: what was decided before; grows.

    Returns:
        Whether the language model answered, where there is one.
    """
    failed: list[ModelError] = []
    unusable, by_rule = 0, 0
    for numbers in _rounds(topics.notes):
        known = {number: topics.similar(number) for number in numbers}
        keys = {number: (number, tuple((each.topic, each.version) for each in known[number])) for number in numbers}
        if model is not None and unusable < _UNUSABLE:
            new = [number for number in numbers if known[number] and keys[number] not in decided]
            asks = [partial(_ask_where, topics.notes[number], known[number]) for number in new]
            reads = [partial(read_where, topics.notes[number], known[number]) for number in new]
            replies = run(all_asked_twice(asks, reads), model, limit=concurrency)
            decided.update(zip((keys[number] for number in new), replies, strict=True))
            errors = [each for each in replies if isinstance(each, ModelError)]
            failed += errors
            unusable = unusable + len(errors) if len(errors) == len(replies) else 0
        for number in numbers:
            merges = decided.get(keys[number]) if model is not None else None
            if merges is None or isinstance(merges, ModelError):
                by_rule += bool(known[number]) and model is not None
                merges = rule(topics.notes[number], known[number])
            for index, text in merges.items():
                topics.put(number, known[number][index], text)
            if not merges:
                topics.put(number, None, topics.notes[number].text)
    if failed:
        what = f"the language model did not say where {by_rule} new topic summaries belong, similarity decided"
        warn_degraded(what, failed[0])
    return not any(isinstance(each, ModelUnavailable) for each in decided.values())


def _rounds(notes: Sequence[Draft]) -> Iterator[list[int]]:
    """The first note of each speaker, then the second, and so on."""
    of_speaker: dict[str, list[int]] = {}
    for number, note in enumerate(notes):
        of_speaker.setdefault(note.speaker, []).append(number)
    for numbers in zip_longest(*of_speaker.values()):
        yield [number for number in numbers if number is not None]


def _ask_where(note: Draft, known: Sequence[Known], *, complaint: str | None) -> Prompt:
    texts, language = [each.text for each in known], language_told([note.text])
    return update_prompt(texts, note.text, speaker=note.speaker, language=language, complaint=complaint)


def read_where(note: Draft, known: Sequence[Known], reply: str) -> dict[int, str]:
    """The merges in a reply, each of which tells what both parts tell; a `BadReply` for one that does not.

    Where ``Add()`` stands beside merges of which none does, it is what counts.
    """
    error: BadReply | None = None
    try:
        merges = read_update(reply, count=len(known))
    except BadReply as found:
        merges, error = cast("dict[int, str]", found.kept or {}), found
    kept = {
        index: text
        for index, text in merges.items()
        if joins(text, [known[index].text, note.text], names=[note.speaker])
    }
    if error is not None:
        raise type(error)(error.reason, reply, kept)
    if len(kept) < len(merges) and (kept or not says_add(reply)):
        strange = next(text for index, text in merges.items() if index not in kept)
        raise BadReply(f"that does not tell what the note and the new text tell: {strange}", reply, kept)
    return kept


def _together(text: str, note: str) -> str:
    """Both, a line each; of many lines those that cover most."""
    lines = list(dict.fromkeys([*text.splitlines(), *note.splitlines()]))
    kept = covering(lines, _LINES, tokens=_LINE_TOKENS) if len(lines) > _LINES else range(len(lines))
    return "\n".join(lines[place] for place in kept) or text
