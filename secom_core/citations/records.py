"""What a model was shown, what its answer cited of it, and what was learned from that (RMM, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal

from ..readers.fields import count_field, count_of, list_field, list_of, moment_field, number_of, text_field, text_of
from ..readers.fields import field as value_of

LessonKind = Literal["taught", "recorded", "nothing", "known"]
"""What came of an answer; see `Lesson`."""

_NOT_LOGGED: Final = frozenset({"scope_id", "draw"})


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of one answer.

    Args:
        kind: ``"taught"`` where it is in the log and the paper's reranker has learned from it; ``"recorded"`` where it
            is in the log; ``"nothing"`` where it says nothing about what was shown; or ``"known"`` where a bank has
            taken in the same answer before.
    """

    kind: LessonKind


@dataclass(frozen=True, slots=True)
class Impression:
    """What a model was shown, and how it was ranked: what the citations of its answer are about.

    Args:
        id: its own, so that an answer counts once, however often it is taken in.
        numbers: what each memory was cited by, in the order in which they were shown.
        memory_ids: the memories.
        turn_ids: for each memory, its turns that were shown.
        scores: of the memories, each by its best turn; the higher, the better.
        at: when.
        epoch: of the scope, in a bank: another one means that something was forgotten since.
        scope_id: the scope's row, in a bank; not kept in a log.
        draw: what `secom_core.citations.Reranker` drew, where it chose; not kept in a log.
    """

    id: str
    numbers: tuple[int, ...]
    memory_ids: tuple[str, ...]
    turn_ids: tuple[tuple[str, ...], ...]
    scores: tuple[float, ...]
    at: datetime
    epoch: int = 0
    scope_id: int | None = field(default=None, compare=False, repr=False)
    draw: object = field(default=None, compare=False, repr=False)

    def as_json(self) -> dict[str, Any]:
        """For a log; ids and numbers, no words."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _NOT_LOGGED}
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
            tuple(number_of(score, "scores") for score in list_field(record, "scores")),
            moment_field(record, "at"),
            count_field(record, "epoch"),
        )
        columns = (found.numbers, found.memory_ids, found.turn_ids, found.scores)
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
        at: when it was taken in.
        number: its id in the store, which grows with every answer; another one after an import.
    """

    impression: Impression
    query: str | None
    cited: tuple[int, ...]
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
    def used_turns(self) -> tuple[str, ...]:
        """The ids of the turns that were shown of the memories cited."""
        shown = zip(self.numbers, self.impression.turn_ids, strict=True)
        return tuple(turn_id for number, turn_ids in shown if number in self.cited for turn_id in turn_ids)

    @property
    def reward(self) -> float:
        """The share of what was shown that was cited."""
        return len(self.cited) / len(self.numbers) if self.numbers else 0.0

    def as_json(self) -> dict[str, Any]:
        """A line of an export."""
        answer = {"query": self.query, "shown": self.impression.as_json(), "cited": list(self.cited)}
        return {"kind": "citation", **answer, "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> CitationEntry:
        """What `as_json` gave.

        Raises:
            ValueError: it is something else; with the name of the field.
        """
        return cls(
            Impression.from_json(value_of(record, "shown")),
            None if value_of(record, "query") is None else text_field(record, "query"),
            _counts(record, "cited"),
            moment_field(record, "at"),
        )


def _counts(record: Mapping[str, Any], name: str) -> tuple[int, ...]:
    return tuple(count_of(each, name) for each in list_field(record, name))


def _texts(values: Any, name: str) -> tuple[str, ...]:
    return tuple(text_of(each, name) for each in list_of(values, name))
