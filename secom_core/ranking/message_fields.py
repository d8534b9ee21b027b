"""What is known of the messages of a scope beside their words, by row: who says them, and their metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..conversation import Message
from ..errors import StaleIndex
from ..filters import MISSING, Condition, Joined, Mask
from ..text.batches import batches
from .passage_table import PassageTable, Rows
from .speaking import PROGRAMS

_UNKNOWN: Final = -1
_ROLE, _SPEAKER, _METADATA = range(3)
_FIELDS: Final = {"role": _ROLE, "speaker": _SPEAKER, "metadata": _METADATA}
_AT_ONCE: Final = 2000
_VALUE_BYTES: Final = 300
_CONDITIONS: Final = 32
"""Of how many conditions it is held which values meet them."""


MessageReader: TypeAlias = Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], Sequence[Message]]]
"""Reads the messages of turns, whose words do not matter, by the names of their sessions and their places there."""


class MessageFields:
    """The role, speaker and metadata of each row's message, each different value held once.

    Rows are looked up when a filter first asks for them: messages that are not in memory are read from disk then.

    Args:
        table: the rows.
    """

    def __init__(self, table: PassageTable) -> None:
        self.reader: MessageReader | None = None
        """Reads what came from disk."""
        self._table = table
        self._codes = np.full((len(_FIELDS), 0), _UNKNOWN, dtype=np.int32)
        self._numbers: list[dict[str | None, int]] = [{}, {}, {}]
        self._values: list[list[Any]] = [[], [], []]
        self._known: dict[str, Mask] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        texts = sum(len(each) for each in self._numbers[_METADATA] if each)
        return self._codes.nbytes + 2 * texts + _VALUE_BYTES * sum(map(len, self._values))

    def forget(self, rows: Iterable[int]) -> None:
        """Look rows up again when they are next asked for."""
        self._codes[:, [row for row in rows if row < self._codes.shape[1]]] = _UNKNOWN

    def passing(self, where: Joined) -> Rows:
        """The rows that pass a filter, in rising order."""
        live = np.flatnonzero(self._table.head >= 0)
        return live[where.mask(lambda condition: self._meeting(condition, live), len(live))]

    def _meeting(self, condition: Condition, rows: Rows) -> Mask:
        table = self._table
        if condition.field == "at":
            return condition.of_moments(table.moment[rows])
        if condition.field == "session":
            return np.asarray(_verdicts(condition, table.sessions)[table.session[rows]])
        self._look_up(rows)
        field = _FIELDS[condition.field]
        return np.asarray(self._verdicts(condition, self._values[field])[self._codes[field, rows]])

    def _verdicts(self, condition: Condition, values: Sequence[Any]) -> Mask:
        """Whether a condition holds of each value; of those that came since it was last asked for."""
        key = repr(condition)
        known = self._known.pop(key, np.zeros(0, dtype=np.bool_))
        self._known[key] = verdicts = np.append(known, _verdicts(condition, values[len(known) :]))
        for each in list(self._known)[:-_CONDITIONS]:
            del self._known[each]
        return verdicts

    def labels(self, rows: Rows) -> Rows:
        """How many tokens the label of each row's message has."""
        self._look_up(rows)
        of_roles, of_speakers = (
            np.array([self._table.label_tokens(each) if each is not MISSING else 0 for each in self._values[field]])
            for field in (_ROLE, _SPEAKER)
        )
        named = np.array([bool(each) and each is not MISSING for each in self._values[_SPEAKER]], dtype=np.bool_)
        roles, speakers = self._codes[_ROLE, rows], self._codes[_SPEAKER, rows]
        return np.where(named[speakers], of_speakers[speakers], of_roles[roles]) if len(rows) else rows

    def speakers(self, rows: Rows) -> list[str]:
        """Who says each row's message; empty where nobody is named, and where a program answers."""
        self._look_up(rows)
        names = ["" if each is MISSING else each for each in self._values[_SPEAKER]]
        is_program = [role in PROGRAMS for role in self._values[_ROLE]]
        codes = zip(self._codes[_SPEAKER, rows].tolist(), self._codes[_ROLE, rows].tolist(), strict=True)
        return ["" if is_program[role] else names[speaker] for speaker, role in codes]

    def _look_up(self, rows: Rows) -> None:
        size = len(self._table)
        if self._codes.shape[1] < size:
            more = np.full((len(_FIELDS), size - self._codes.shape[1]), _UNKNOWN, dtype=np.int32)
            self._codes = np.concatenate([self._codes, more], axis=1)
        unknown = rows[self._codes[_ROLE, rows] == _UNKNOWN]
        # One message stands for all that say the same, where it was read.
        codes: dict[int, tuple[Message, tuple[int, int, int]]] = {}
        numbers = np.empty((len(_FIELDS), len(unknown)), dtype=np.int32)
        for place, message in enumerate(self._messages(unknown)):
            if id(message) not in codes:
                codes[id(message)] = message, self._codes_of(message)
            numbers[:, place] = codes[id(message)][1]
        self._codes[:, unknown] = numbers

    def _codes_of(self, message: Message) -> tuple[int, int, int]:
        return (
            self._number(_ROLE, message.role, message.role),
            self._number(_SPEAKER, message.speaker, MISSING if message.speaker is None else message.speaker),
            self._number(_METADATA, json.dumps(dict(message.metadata)), message.metadata),
        )

    def _messages(self, rows: Rows) -> Iterator[Message]:
        """The message of each row; what is not in memory is read, and not held there."""
        table, names = self._table, self._table.sessions
        for batch in batches(rows.tolist(), _AT_ONCE):
            unread = [row for row in batch if row not in table.passages]
            places = {row: (names[table.session.item(row)], table.index.item(row)) for row in unread}
            found = self.reader(list(dict.fromkeys(places.values()))) if places and self.reader is not None else {}
            for row in batch:
                passage = table.passages.get(row)
                yield passage.message if passage is not None else self._at(row, found.get(places[row], ()))

    def _at(self, row: int, messages: Sequence[Message]) -> Message:
        place = self._table.place.item(row)
        if place >= len(messages):
            raise StaleIndex("a turn is not where the index that is kept with the bank says")
        return messages[place]

    def _number(self, field: int, key: str | None, value: Any) -> int:
        number = self._numbers[field].setdefault(key, len(self._numbers[field]))
        if number == len(self._values[field]):
            self._values[field].append(value)
        return number


def _verdicts(condition: Condition, values: Sequence[Any]) -> Mask:
    return np.array([condition.holds(each) for each in values], dtype=np.bool_)
