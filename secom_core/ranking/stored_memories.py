"""Memories of a scope whose index came from disk, made of the rows of the index, the turns and the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import StaleIndex
from ..indexes.postings import Longs
from ..memory import Memory
from .memory_table import MemoryTable
from .passage_table import PassageTable


@dataclass(frozen=True)
class StoredMemories:
    """Reads memories whole by their numbers.

    Args:
        table: the passages.
        memories: the memories.
        sessions: the names of the sessions, by number.
        read_keys: reads keys by the names of their sessions and the turns that the memories begin at.
    """

    table: PassageTable
    memories: MemoryTable
    sessions: Sequence[str]
    read_keys: Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], str]]

    def __call__(self, numbers: Sequence[int]) -> dict[int, Memory]:
        """The memories of these numbers, whole."""
        # The last is that of no memory.
        wanted = np.zeros(max(self.table.memories, *numbers, 0) + 2, dtype=np.bool_)
        wanted[list(numbers)] = True
        rows = np.flatnonzero(wanted[self.table.memory])
        heads = rows[self.table.head[rows] == rows]
        heads = heads[np.argsort(self.table.at(heads).index, kind="stable")]
        self.table.read(heads.tolist())
        places = {number: self.memories.place(number) for number in numbers}
        named = {number: (self.sessions[session], start) for number, (session, start, *_) in places.items()}
        keys = self.read_keys(list(named.values()))
        return {number: self._memory(number, named[number], heads, keys) for number in numbers}

    def _memory(self, number: int, named: tuple[str, int], heads: Longs, keys: Mapping[tuple[str, int], str]) -> Memory:
        """A memory of turns among those that begin at some rows, in their order."""
        ours = heads[self.table.memory[heads] == number]
        turns = tuple(self.table.passage(head).turn for head in ours.tolist())
        if named not in keys or not turns:
            raise StaleIndex("a memory is not where the index that is kept with the bank says")
        return Memory(self.memories[number].id, keys[named], turns)
