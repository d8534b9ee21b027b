"""The part of a scope's index that passes a filter, searched as though the scope held nothing else.

Its rows are those that pass, under new numbers: what stands beside a row, what repeats it and what was said last is
told among them. Words and vectors stay in the index of the whole scope, and are not analysed or copied again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..filters import Joined, Mask
from ..indexes.part import BM25Part, CutUnits, KeysPart, KeyVectorsPart, VectorPart
from ..indexes.postings import Arrays
from ..indexes.top import begins, distinct
from ..memory import Memory
from .columns import HeldColumns
from .memory_table import MemoryTable
from .message_fields import MessageFields
from .passage_table import PassageTable, Rows
from .scope_search import Indexes
from .speaking import SHORT

T = TypeVar("T")

_HELD: Final = 4
"""How many parts are held."""


class FilteredParts(Generic[T]):
    """The parts of a scope that pass filters: the last few, until the scope changes.

    Args:
        table: the passages of the scope.
    """

    def __init__(self, table: PassageTable) -> None:
        self.fields = MessageFields(table)
        self._held: dict[str, T] = {}

    def clear(self) -> None:
        """Hold none, as the scope has changed."""
        self._held.clear()

    def part(
        self, where: Joined, indexes: Indexes, memories: MemoryTable, make: Callable[[Indexes, MemoryTable], T]
    ) -> T:
        """What is made of the part that passes a filter."""
        key = repr(where)
        if key not in self._held:
            rows = self.fields.passing(where)
            self._held[key] = make(*part_of(indexes, memories, self.fields, rows))
        part = self._held[key] = self._held.pop(key)
        for each in list(self._held)[:-_HELD]:
            del self._held[each]
        return part


def part_of(indexes: Indexes, memories: MemoryTable, fields: MessageFields, rows: Rows) -> tuple[Indexes, MemoryTable]:
    """The indexes and memories of some rows.

    Args:
        indexes: of the whole scope.
        memories: of the whole scope.
        fields: what is known of its messages.
        rows: those of the part, in rising order.
    """
    whole, table = indexes.table, PassageTable(indexes.table.counter)
    numbers = _Numbers(whole, rows)
    columns = {**whole.columns(rows), **numbers.links(), **numbers.repeats()}
    casts = list(whole.casts)
    columns |= _cut_turns(columns, numbers, whole, fields, casts)

    table.load(len(rows), HeldColumns(columns), whole.sessions, casts, _TurnsWithin(whole, table, rows))
    of_words = _numbered(numbers.sources, numbers.firsts, len(whole))
    words = BM25Part(indexes.words, of_words)
    vectors = VectorPart(indexes.passage_vectors, numbers.sources, numbers.firsts)
    known = numbers.memories
    units = CutUnits(numbers.cut_memories, table.memory, table.source, table.terms.astype(np.float64))
    of_keys = _numbered(known[units.whole], units.whole, len(memories))
    keys = KeysPart(indexes.keys, of_keys, words, units)
    part = Indexes(table, words, keys, vectors, KeyVectorsPart(indexes.key_vectors, known, vectors, units))
    within = MemoryTable()
    within.load(memories.columns(known), whole.sessions, _MemoriesWithin(memories, table, known, units.cut))
    return part, within


def _numbered(ids: Rows, numbers: Rows, size: int) -> Rows:
    column = np.full(size, -1, dtype=np.int64)
    column[ids] = numbers
    return column


@dataclass
class _Numbers:
    """Rows under new numbers: their places among the rows that pass.

    Args:
        whole: the table that they are of.
        rows: those that pass.
    """

    whole: PassageTable
    rows: Rows

    @cached_property
    def order(self) -> Rows:
        """The rows as they stand in their sessions."""
        return np.lexsort(self.whole.order(self.rows))

    def _begins(self, *columns: npt.NDArray[np.signedinteger[Any]]) -> Mask:
        """Of the rows in order, whether one of these columns is another than that of the row before."""
        changes = [begins(column[self.rows][self.order]) for column in columns]
        return np.asarray(np.logical_or.reduce(changes))

    @cached_property
    def new_session(self) -> Mask:
        """Of the rows in order, whether a session begins with it."""
        return self._begins(self.whole.session)

    @cached_property
    def new_turn(self) -> Mask:
        """Of the rows in order, whether a turn begins with it."""
        return self._begins(self.whole.session, self.whole.index)

    @cached_property
    def new_message(self) -> Mask:
        """Of the rows in order, whether a message begins with it."""
        return self._begins(self.whole.session, self.whole.index, self.whole.place)

    @cached_property
    def turn(self) -> Rows:
        """Of the rows in order, the number of its turn, from 0."""
        return np.cumsum(self.new_turn) - 1

    @cached_property
    def memories(self) -> Rows:
        """The numbers of the memories that any of the rows is of, in rising order."""
        of_rows = self.whole.memory[self.rows]
        return distinct(of_rows[of_rows >= 0])

    @property
    def cut_memories(self) -> Mask:
        """Which of `memories` have rows that do not pass."""
        of_all, of_rows = self.whole.memory, self.whole.memory[self.rows]
        passing = np.bincount(of_rows[of_rows >= 0], minlength=self._most)
        return np.asarray((passing < np.bincount(of_all[of_all >= 0], minlength=self._most))[self.memories])

    @cached_property
    def _by_source(self) -> tuple[Rows, Mask]:
        sources = self.whole.source[self.rows]
        grouped = np.argsort(sources, kind="stable")
        return grouped, begins(sources[grouped])

    @cached_property
    def firsts(self) -> Rows:
        """The first row of those that say the same, for each thing that is said."""
        grouped, first = self._by_source
        return grouped[first]

    @cached_property
    def sources(self) -> Rows:
        """The row of the whole table that is indexed for each of `firsts`."""
        return self.whole.source[self.rows[self.firsts]]

    def links(self) -> dict[str, Rows]:
        """What stands beside each row, the turn and the memory that it is of."""
        order, heads = self.order, self.order[self.new_turn]
        column = np.full((6, len(order)), -1, dtype=np.int64)
        head, before, after, previous, following, place = column
        head[order] = heads[self.turn]
        before[order[1:]] = np.where(self.new_session[1:], -1, order[:-1])
        after[order[:-1]] = np.where(self.new_session[1:], -1, order[1:])
        another = self.new_session[self.new_turn][1:]
        previous[heads[1:]] = np.where(another, -1, heads[:-1])
        following[heads[:-1]] = np.where(another, -1, heads[1:])
        messages = np.cumsum(self.new_message)
        place[order] = messages - messages[self.new_turn][self.turn]
        of_memories = np.append(_numbered(self.memories, np.arange(len(self.memories)), self._most), -1)
        names = ("head", "before", "after", "previous", "following", "place")
        return {**dict(zip(names, column, strict=True)), "memory": of_memories[self.whole.memory[self.rows]]}

    @property
    def _most(self) -> int:
        return int(self.whole.memory.max(initial=-1)) + 1

    def repeats(self) -> dict[str, Any]:
        """Which rows say the same, which of them does last, and how many there are."""
        table, rows = self.whole, self.rows
        grouped, first = self._by_source
        group = np.cumsum(first) - 1
        said = np.lexsort((*table.order(rows), table.moment[rows], table.source[rows]))
        last = said[np.append(first[1:], True)] if len(rows) else said
        source, shown = np.empty(len(rows), dtype=np.int64), np.arange(len(rows))
        source[grouped] = self.firsts[group]
        shown[self.firsts] = last
        latest, times = np.zeros(len(rows)), np.zeros(len(rows))
        latest[last], times[self.firsts] = 1, np.bincount(group, minlength=len(self.firsts))
        return {"source": source, "shown": shown, "latest": latest, "times": times}


def _cut_turns(
    columns: Arrays, numbers: _Numbers, whole: PassageTable, fields: MessageFields, casts: list[tuple[str, ...]]
) -> dict[str, Any]:
    """The length and the speakers of turns of which not all messages pass."""
    heads = whole.head[whole.head >= 0]
    of_turns = np.bincount(heads, minlength=len(whole))[whole.head[numbers.rows[numbers.order]]]
    turns, size = numbers.turn, int(numbers.new_turn.sum())
    is_cut = np.bincount(turns, minlength=size)[turns] < of_turns
    order = numbers.order[is_cut]
    if not len(order):
        return {}
    turn, begun = turns[is_cut], numbers.new_message[is_cut]
    messages, pieces = np.bincount(turn[begun], minlength=size), np.bincount(turn, minlength=size)
    labels = np.where(begun, fields.labels(numbers.rows[order]), 0)
    tokens = np.bincount(turn, weights=columns["tokens"][order] + labels, minlength=size)
    made = {name: columns[name].copy() for name in ("turn_tokens", "short", "cast")}
    made["turn_tokens"][order] = tokens[turn]
    made["short"][order] = ((messages == pieces) & (tokens <= SHORT))[turn]
    known = {cast: number for number, cast in enumerate(casts)}
    speaking: dict[int, dict[str, None]] = {}
    for each, name in zip(turn.tolist(), fields.speakers(numbers.rows[order]), strict=True):
        speaking.setdefault(each, {}).update({name: None} if name else {})
    cast = {each: known.setdefault(tuple(names), len(known)) for each, names in speaking.items()}
    casts[:] = known
    made["cast"][order] = [cast[each] for each in turn.tolist()]
    return made


@dataclass(frozen=True)
class _TurnsWithin:
    """Reads turns of the whole with those of their messages that pass."""

    whole: PassageTable
    table: PassageTable
    rows: Rows

    def __call__(self, places: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], Turn]:
        there = {place: self.rows[self.table.rows_at(*place)] for place in places}
        self.whole.read(row for rows in there.values() for row in rows.tolist())
        return {place: self._turn(rows) for place, rows in there.items()}

    def _turn(self, rows: Rows) -> Turn:
        turn = self.whole.passage(int(rows[0])).turn
        passing = dict.fromkeys(self.whole.place[rows].tolist())
        if len(passing) == len(turn.messages):
            return turn
        return replace(turn, messages=tuple(turn.messages[place] for place in passing), id=turn.id)


@dataclass(frozen=True)
class _MemoriesWithin:
    """Reads memories of the whole with what passes of their turns, whose words are the key of one that was cut."""

    whole: MemoryTable
    table: PassageTable
    known: Rows
    is_cut: Mask

    def __call__(self, numbers: Sequence[int]) -> dict[int, Memory]:
        of_whole = {number: self.known.item(number) for number in numbers}
        read = self.whole.read(list(of_whole.values()))
        found = {number: read[old] for number, old in of_whole.items()}
        cut = [number for number in numbers if self.is_cut[number]]
        rows = {turn.id: self.table.turn_rows.get(turn.id) for number in cut for turn in found[number].turns}
        self.table.read(row for each in rows.values() for row in each[:1])
        return found | {number: self._cut(found[number], rows) for number in cut}

    def _cut(self, memory: Memory, rows: Mapping[str, Sequence[int]]) -> Memory:
        turns = tuple(self.table.passage(rows[turn.id][0]).turn for turn in memory.turns if rows[turn.id])
        return replace(memory, key="\n".join(turn.content for turn in turns), turns=turns)
