"""What is made of a session when it ends: notes on each speaker, and the topics that they go into (RMM section 5).

`extract` is the paper's memory extraction, `place` its memory update (Algorithm 1, lines 9 to 12). Without a language
model, `segment_notes` takes the session's segments for notes, and `place` goes by similarity.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from ..asking import all_asked_twice
from ..conversation import Turn
from ..coverage import covering
from ..errors import DegradedWarning, ModelError, ModelUnavailable
from ..flow import Procedure, Prompt
from ..informative import informative_lines
from ..memory import Memory
from ..prompts.topics import Add, Merge, read_topics, read_update, topics_prompt, update_prompt
from ..windows import day_of, shown, windows, within

__all__ = [
    "Decided",
    "Extraction",
    "Known",
    "Note",
    "Placement",
    "Shelf",
    "SimilarityRule",
    "extract",
    "place",
    "segment_notes",
]

_REPLIES: Final = frozenset({"assistant", "ai", "tool", "function", "developer", "system"})
_LINES: Final = 6
_LINE_TOKENS: Final = 240


@dataclass(frozen=True, slots=True)
class Note:
    """What a session says about one speaker, on one topic.

    Args:
        speaker: who; empty where nobody is named.
        text: the summary, or the words of the conversation where no language model wrote one.
        turns: the turns of the session that it rests on, in order; never none.
    """

    speaker: str
    text: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The notes of a session, and whether a language model answered at all."""

    notes: tuple[Note, ...]
    answered: bool


# -- memory extraction ------------------------------------------------------------------------------------------------


def extract(
    turns: Sequence[Turn], memories: Sequence[Memory], *, max_tokens: int = 8_000, assistants: bool = False
) -> Procedure[Extraction]:
    """Ask for the notes on every speaker of a session, one question for each of them and each window, all together.

    A reply is repaired where it has one reading only; a bad one is asked for once more. Where there is none, the
    segments of which the speaker says most are the notes, and a `DegradedWarning` names the cause.

    Args:
        turns: the session's turns, in order.
        memories: its segments, which take over.
        max_tokens: the most tokens of conversation in one question, estimated.
        assistants: ask about speakers who only ever reply to a user, too.
    """
    asked = [(window, speaker) for window in windows(turns, max_tokens) for speaker in _speakers(window, assistants)]
    found = yield from all_asked_twice(
        [partial(_ask_about, window, speaker, max_tokens) for window, speaker in asked],
        [partial(read_topics, count=len(window)) for window, _ in asked],
    )
    notes: list[Note] = []
    for (window, speaker), said in zip(asked, found, strict=True):
        if isinstance(said, ModelError):
            _degraded(window, speaker, said)
            notes += [note for note in segment_notes(within(memories, window)) if note.speaker == speaker]
        else:
            notes += [Note(speaker, text, tuple(window[number] for number in numbers)) for text, numbers in said]
    return Extraction(tuple(notes), answered=not any(isinstance(each, ModelUnavailable) for each in found))


def segment_notes(memories: Sequence[Memory]) -> list[Note]:
    """Each segment as a note on whoever says most in it: their most informative sentence, with all its turns.

    Args:
        memories: the segments of a session, in order.
    """
    chosen = zip(informative_lines(memories, of_main_speaker=True), memories, strict=True)
    return [Note(line.speaker, line.text, memory.turns) for line, memory in chosen if line.text]


def _speakers(window: Sequence[Turn], assistants: bool) -> list[str]:
    said = [message for turn in window for message in turn.messages if message.text.strip()]
    asked = [message for message in said if assistants or message.role not in _REPLIES]
    return list(dict.fromkeys(message.label for message in asked))


def _ask_about(window: Sequence[Turn], speaker: str, max_tokens: int, *, complaint: str | None) -> Prompt:
    return topics_prompt(shown(window, max_tokens), speaker=speaker, date=day_of(window), complaint=complaint)


def _degraded(window: Sequence[Turn], speaker: str, error: ModelError) -> None:
    warnings.warn(
        f"the language model found no topics of {speaker or 'anybody'} in {len(window)} turns, segments are the "
        f"topics: {error}",
        DegradedWarning,
        stacklevel=2,
    )


# -- memory update ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Known:
    """A topic of the speaker that is similar to a note.

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


@dataclass(frozen=True, slots=True)
class Placement:
    """A version to be written.

    Args:
        note: the place of its note among those given.
        previous: the topic that it continues, or nothing where it begins one.
        text: the topic's summary from now on.
    """

    note: int
    previous: Known | None
    text: str


class Shelf(Protocol):
    """The topics as they are, and as they become while the notes of a session are placed one after the other."""

    def similar(self, note: int) -> list[Known]:
        """The topics of the note's speaker that are most similar to it, best first; as many as are compared."""
        ...

    def put(self, placement: Placement) -> None:
        """Let the topics be as the placement leaves them."""
        ...


Decided = MutableMapping[tuple[int, tuple[tuple[int, int], ...]], "list[Add | Merge] | ModelError"]
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

    def __call__(self, note: Note, known: Sequence[Known]) -> list[Add | Merge]:
        """The action: add, or merge into one of those known."""
        near = [place for place, each in enumerate(known) if self._is_near(each, len(note.turns))]
        if not near:
            return [Add()]
        index = max(near, key=lambda place: known[place].similarity)
        return [Merge(index, _together(known[index].text, note.text))]

    def _is_near(self, known: Known, more: int) -> bool:
        least = self.least_by_vector if known.by_vector else self.least
        return known.similarity >= least and known.turns + more <= self.most_turns


def place(
    notes: Sequence[Note], shelf: Shelf, *, rule: SimilarityRule, ask: bool = True, decided: Decided | None = None
) -> Procedure[list[Placement]]:
    """Decide for each note whether it is a topic of its own or goes into one that is known, in order.

    Notes on different speakers cannot meet, so one question of each speaker is in flight at a time. Nothing is asked
    where the speaker has no similar topic. A reply that cannot be used is asked for once more; what has none then goes
    by ``rule``, and one `DegradedWarning` names how many there were and the cause of the first.

    Args:
        notes: the session's notes.
        shelf: the topics.
        rule: what decides without a language model.
        ask: whether there is one.
        decided: what was decided before; grows.
    """
    decided = {} if decided is None else decided
    placements: list[Placement] = []
    failed: list[ModelError] = []
    for abreast in _rounds(notes):
        known: dict[int, list[Known]] = yield partial(_all_similar, shelf, abreast)
        asked = [number for number in abreast if ask and known[number] and _key(number, known) not in decided]
        found = yield from all_asked_twice(
            [partial(_ask_where, notes[number], known[number]) for number in asked],
            [partial(read_update, count=len(known[number])) for number in asked],
        )
        decided.update(zip((_key(number, known) for number in asked), found, strict=True))
        failed += [each for each in found if isinstance(each, ModelError)]
        for number in abreast:
            said = decided.get(_key(number, known)) if ask else None
            for placement in _placements(number, notes[number], known[number], said, rule):
                yield partial(shelf.put, placement)
                placements.append(placement)
    _warn(failed)
    return placements


def _rounds(notes: Sequence[Note]) -> Iterator[list[int]]:
    """The first note of each speaker, then the second, and so on."""
    of_speaker: dict[str, list[int]] = {}
    for number, note in enumerate(notes):
        of_speaker.setdefault(note.speaker, []).append(number)
    for turn in range(max(map(len, of_speaker.values()), default=0)):
        yield [numbers[turn] for numbers in of_speaker.values() if turn < len(numbers)]


def _all_similar(shelf: Shelf, numbers: Sequence[int]) -> dict[int, list[Known]]:
    return {number: shelf.similar(number) for number in numbers}


def _key(number: int, known: dict[int, list[Known]]) -> tuple[int, tuple[tuple[int, int], ...]]:
    return number, tuple((each.topic, each.version) for each in known[number])


def _ask_where(note: Note, known: Sequence[Known], *, complaint: str | None) -> Prompt:
    return update_prompt([each.text for each in known], note.text, speaker=note.speaker, complaint=complaint)


def _placements(
    number: int, note: Note, known: Sequence[Known], said: list[Add | Merge] | ModelError | None, rule: SimilarityRule
) -> list[Placement]:
    actions = rule(note, known) if known and not isinstance(said, list) else said
    merges = [each for each in actions if isinstance(each, Merge)] if isinstance(actions, list) else []
    return [Placement(number, known[each.index], each.text) for each in merges] or [Placement(number, None, note.text)]


def _together(text: str, note: str) -> str:
    """Both, a line each; of many lines those that cover most."""
    lines = list(dict.fromkeys([*text.splitlines(), *note.splitlines()]))
    kept = covering(lines, _LINES, tokens=_LINE_TOKENS) if len(lines) > _LINES else range(len(lines))
    return "\n".join(lines[place] for place in kept) or text


def _warn(errors: Sequence[ModelError]) -> None:
    if errors:
        warnings.warn(
            f"the language model did not say where {len(errors)} new topic summaries belong, similarity decided: "
            f"{errors[0]}",
            DegradedWarning,
            stacklevel=2,
        )
