"""The memories of a scope by number: those that came from disk are read when somebody looks into them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar

import numpy as np

from ..conversation import Turn
from ..errors import StaleIndex
from ..indexes.postings import Arrays, Longs, digest_of
from ..memory import Hit, Memory
from .candidate import Candidate

MemoryReader: TypeAlias = Callable[[Sequence[int]], Mapping[int, Memory]]
"""Reads memories by their numbers."""

Place: TypeAlias = tuple[int, int, int]
"""The turn that a memory begins at, the turn after it, and the digest of its key."""

Shown = TypeVar("Shown", Candidate, Hit)

_BYTES: Final = 620
"""Of a memory with its places in dictionaries, beside its key, as tracemalloc has it."""
_GONE: Final = -1
_COLUMNS: Final = ("session", "start", "stop", "key")
_RANGE: Final = re.compile(r"#(\d{1,18})-(\d{1,18})$")


def place_of(memory: Memory) -> Place:
    """Where a memory is in its session, as its id says, or else its turns."""
    told = _RANGE.search(memory.id)
    start, stop = map(int, told.groups()) if told else (memory.turns[0].index, memory.turns[-1].index + 1)
    return start, stop, digest_of(memory.key)


class UnreadMemory(Memory):
    """A memory whose key and turns are read when they are first asked for.

    Args:
        id: the memory's.
        number: its number.
        read: gives memories whole, by their numbers.
    """

    __slots__ = ("_read", "number")
    number: int
    _read: MemoryReader

    def __init__(self, id: str, number: int, read: MemoryReader) -> None:
        object.__setattr__(self, "id", id)
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "_read", read)

    @property
    def whole(self) -> Memory:
        """It, as it is when read."""
        return self._read([self.number])[self.number]

    @property
    def key(self) -> str:
        """What is searched."""
        return self.whole.key

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The raw turns that it points to."""
        return self.whole.turns

    @property
    def summary(self) -> str:
        """Nothing: it is no topic."""
        return ""

    def __eq__(self, other: object) -> bool:
        return self.whole == (other.whole if isinstance(other, UnreadMemory) else other)

    def __hash__(self) -> int:
        return hash(self.whole)


class MemoryTable:
    """Memories by number, in sessions by number.

    Attributes:
        touched: numbers below ``kept`` that have changed since these were kept.
        kept: how many numbers are on disk.
    """

    def __init__(self) -> None:
        self._known: dict[int, Memory] = {}
        self._of_session: dict[int, list[int]] = {}
        # The number of the session, where it begins and ends, and the digest of its key.
        self._columns = np.full((4, 16), _GONE, dtype=np.int64)
        self._used = self._old_sessions = 0
        self._free: list[int] = []
        self.touched: set[int] = set()
        self.kept = 0
        self._read: MemoryReader | None = None
        self._names: list[str] = []

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """About how many bytes those that are in memory take, their turns apart."""
        return sum(_BYTES + sys.getsizeof(memory.key) for memory in self._known.values())

    def __getitem__(self, number: int) -> Memory:
        found = self._known.get(number)
        if found is not None:
            return found
        session, start, stop, _ = self._columns[:, number].tolist()
        if session == _GONE:
            raise StaleIndex("a passage is of no memory in the index that is kept with the bank")
        return UnreadMemory(f"{self._names[session]}#{start}-{stop}", number, self.read)

    def read(self, numbers: Sequence[int]) -> dict[int, Memory]:
        """Memories whole, those that are on disk read at once."""
        missing = [number for number in dict.fromkeys(numbers) if number not in self._known]
        if missing and self._read is not None:
            self._known.update(self._read(missing))
        return {number: self._known[number] for number in numbers}

    def whole(self, found: Sequence[Shown]) -> list[Shown]:
        """The same finds, or hits, with their memories read from disk where they were not yet."""
        unread = {each.memory.id: each.memory for each in found if isinstance(each.memory, UnreadMemory)}
        read = self.read([memory.number for memory in unread.values()])
        return [
            replace(each, memory=read[each.memory.number]) if isinstance(each.memory, UnreadMemory) else each
            for each in found
        ]

    def place(self, number: int) -> tuple[int, int, int, int]:
        """The number of its session, where it begins and ends, and the digest of its key."""
        session, start, stop, key = self._columns[:, number].tolist()
        return session, start, stop, key

    def since(self, session: int, start: int) -> dict[Place, int]:
        """The numbers of a session's memories from a turn on, by their places."""
        numbers = self._numbers(session)
        first = bisect_left(numbers, start, key=lambda number: int(self._columns[1, number]))
        return {self._place(number): number for number in numbers[first:]}

    def longer(self, old: dict[Place, int], places: Sequence[Place], new: Sequence[Memory]) -> dict[Place, int]:
        """The numbers of those of the old memories that only go on in a new one, by its place; taken out of the old.

        Args:
            old: numbers of memories of a session, by their places.
            places: where the new memories are.
            new: the new memories of the session.
        """
        found: dict[Place, int] = {}
        begun = {place[0]: place for place in old}
        for place, memory in zip(places, new, strict=True):
            before = begun.get(place[0])
            known = self._known.get(old[before]) if before is not None and before[1] <= place[1] else None
            if before is not None and known is not None and memory.key.startswith(f"{known.key}\n"):
                found[place] = old.pop(before)
        return found

    def _place(self, number: int) -> Place:
        start, stop, key = self._columns[1:, number].tolist()
        return start, stop, key

    def put(self, session: int, place: Place, memory: Memory, number: int | None = None) -> int:
        """Add a memory, or set the one of that number to it.

        Args:
            session: the number of its session.
            place: where it begins and ends, and the digest of its key.
            memory: the memory.
            number: one that is there, and says the same, or begins with the same turn.

        Returns:
            Its number.
        """
        if number is None:
            number = self._free.pop() if self._free else self._new_number()
            numbers = self._numbers(session)
            self._columns[:, number] = session, *place
            # One that comes again after a deletion stands before others.
            insort(numbers, number, key=lambda each: int(self._columns[1, each]))
            self.touch(number)
        elif self._place(number) != place:
            self._columns[1:, number] = place
            self.touch(number)
        self._known[number] = memory
        return number

    def is_gone(self, number: int) -> bool:
        """Whether there is no memory of this number any more."""
        return bool(self._columns[0, number] == _GONE)

    def remove(self, number: int) -> None:
        """Take a memory out."""
        self._numbers(int(self._columns[0, number])).remove(number)
        self._known.pop(number, None)
        self._columns[:, number] = _GONE
        self._free.append(number)
        self.touch(number)

    def forget_names(self, sessions: Sequence[int]) -> None:
        """Forget the names of sessions that came from disk, by their numbers."""
        for number in sessions:
            if number < len(self._names):
                self._names[number] = ""

    def _new_number(self) -> int:
        if self._used == self._columns.shape[1]:
            self._columns = np.concatenate([self._columns, np.full_like(self._columns, _GONE)], axis=1)
        self._used += 1
        return self._used - 1

    def touch(self, number: int) -> None:
        """Note that a memory has changed, where it is on disk."""
        if number < self.kept:
            self.touched.add(number)

    def _numbers(self, session: int) -> list[int]:
        if session not in self._of_session:
            old = self._columns[:, : self.kept] if session < self._old_sessions else self._columns[:, :0]
            numbers = np.flatnonzero(old[0] == session)
            self._of_session[session] = numbers[np.argsort(old[1, numbers])].tolist()
        return self._of_session[session]

    # -- on disk --------------------------------------------------------------------------------------------------

    def columns(self, numbers: Longs) -> Arrays:
        """What is known of memories beside their turns and keys: a column by name."""
        return dict(zip(_COLUMNS, self._columns[:, numbers], strict=True))

    def load(self, columns: Arrays, names: list[str], read: MemoryReader) -> None:
        """Hold what `columns` gave of all memories, in the place of what is held.

        Args:
            columns: by name, each of shape ``(n,)``.
            names: of the sessions, by number; the list is held, and a name that is forgotten goes from it.
            read: reads memories by their numbers.
        """
        self._columns = np.stack([columns[name] for name in _COLUMNS], dtype=np.int64)
        self._used, self._names, self._old_sessions, self._read = self._columns.shape[1], names, len(names), read
        self._free = np.flatnonzero(self._columns[0] == _GONE).tolist()
        self.kept = self._used
