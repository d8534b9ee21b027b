"""What a model was shown, what its answer cited of it, and what was learned from that (RMM, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal, get_args

from ..errors import shorten
from ..readers.fields import count_field, count_of, list_field, list_of, moment_field, number_of, text_field, text_of
from ..readers.fields import field as value_of

LessonKind = Literal["taught", "held out", "resting", "nothing", "known"]
"""What an answer taught; see `Lesson`."""

_LOGGED: Final = frozenset(get_args(LessonKind)) - {"known"}


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one answer taught.

    Args:
        kind: ``"taught"``; ``"held out"`` where it is kept to test with; ``"resting"`` for a while after what was
            learned was thrown away; ``"nothing"`` where all that was shown was cited, or none, or the scope is frozen;
            or ``"known"`` where a bank has taken in the same answer before.
    """

    kind: LessonKind


@dataclass(frozen=True, slots=True)
class Explanation:
    """One signal's part in a score.

    Args:
        signal: its name.
        value: of the memory at hand.
        weight: what it counts for now.
        base: what it counted for before anything was learned.
    """

    signal: str
    value: float
    weight: float
    base: float

    @property
    def part(self) -> float:
        """What it adds to the score."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Impression:
    """What a model was shown and how it was ranked: what is learned from, once an answer cites some of it.

    Args:
        id: its own, so that an answer counts once, however often it is taken in.
        numbers: what each memory was cited by, in the order in which they were shown.
        memory_ids: the memories.
        turn_ids: for each memory, its turns that were shown.
        signals: for each memory, those of its turns that were shown, by name.
        scores: of the memories, each by its best turn, under the weights of that moment.
        version: of these weights: how many answers had been taken in.
        at: when.
        epoch: of the scope, in a bank: another one means that something was forgotten since.
        draw: what `secom_core.citations.Reranker` drew, where it chose; not kept in a log.
    """

    id: str
    numbers: tuple[int, ...]
    memory_ids: tuple[str, ...]
    turn_ids: tuple[tuple[str, ...], ...]
    signals: tuple[tuple[Mapping[str, float], ...], ...] = field(hash=False)
    scores: tuple[float, ...]
    version: int
    at: datetime
    epoch: int = 0
    draw: object = field(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """For a log; ids and numbers, no words."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "draw"}
        return {**values, "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Impression:
        """What `as_json` gave.

        Raises:
            ValueError: it is something else; with the name of the field.
        """
        found = cls(
            text_field(record, "id"),
            _counts(record, "numbers"),
            _texts(value_of(record, "memory_ids"), "memory_ids"),
            tuple(_texts(turns, "turn_ids") for turns in list_field(record, "turn_ids")),
            tuple(tuple(map(_signals, list_of(memory, "signals"))) for memory in list_field(record, "signals")),
            tuple(number_of(score, "scores") for score in list_field(record, "scores")),
            count_field(record, "version"),
            moment_field(record, "at"),
            count_field(record, "epoch"),
        )
        columns = (found.numbers, found.memory_ids, found.turn_ids, found.signals, found.scores)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"expected as many of everything that was shown, got {[len(each) for each in columns]}")
        return found


@dataclass(frozen=True, slots=True)
class CitationEntry:
    """An answer in the citation log.

    Args:
        impression: what was shown, and how it was ranked.
        query: what was asked; nothing where something of the scope was forgotten since, which the words may repeat.
        cited: the numbers that the answer cited; none where it said that no memory was of use.
        lesson: what it taught, as `Lesson` has it.
        at: when it was taken in.
        number: its id in the store, which grows with every answer; another one after an import.
    """

    impression: Impression
    query: str | None
    cited: tuple[int, ...]
    lesson: str
    at: datetime
    number: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """The id of the impression."""
        return self.impression.id

    @property
    def numbers(self) -> tuple[int, ...]:
        """What the memories were cited by, in the order in which they were shown."""
        return self.impression.numbers

    @property
    def reward(self) -> float:
        """The share of what was shown that was cited."""
        return len(self.cited) / len(self.numbers) if self.numbers else 0.0

    def as_json(self) -> dict[str, Any]:
        """A line of an export."""
        answer = {"query": self.query, "shown": self.impression.as_json(), "cited": list(self.cited)}
        return {"kind": "citation", **answer, "lesson": self.lesson, "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> CitationEntry:
        """What `as_json` gave.

        Raises:
            ValueError: it is something else; with the name of the field.
        """
        if (lesson := text_field(record, "lesson")) not in _LOGGED:
            raise ValueError(f"'lesson': expected one of {sorted(_LOGGED)}, got {shorten(lesson)}")
        return cls(
            Impression.from_json(value_of(record, "shown")),
            None if value_of(record, "query") is None else text_field(record, "query"),
            _counts(record, "cited"),
            lesson,
            moment_field(record, "at"),
        )


@dataclass(frozen=True, slots=True)
class CitationWeights:
    """The weights of signals that a scope has learned from citations.

    Args:
        weights: by signal, as they are now.
        base: by signal, as they were at first.
        answers: how many answers were taken in.
        trust: how far the citations are believed, from 0 to 1.
        rollbacks: how often what was learned was thrown away because held-out answers said so.
        updates: how many batches the paper's reranker has learned from.
        frozen: whether nothing more is learned.
    """

    weights: Mapping[str, float] = field(hash=False)
    base: Mapping[str, float] = field(hash=False)
    answers: int
    trust: float
    rollbacks: int
    updates: int
    frozen: bool


def _counts(record: Mapping[str, Any], name: str) -> tuple[int, ...]:
    return tuple(count_of(each, name) for each in list_field(record, name))


def _texts(values: Any, name: str) -> tuple[str, ...]:
    return tuple(text_of(each, name) for each in list_of(values, name))


def _signals(values: Any) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise ValueError(f"'signals': expected an object, got {shorten(values)}")
    return {name: number_of(value, name) for name, value in values.items()}
