"""One block of a scope's index as it is kept: what came, and what changed, since the block before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..indexes.postings import Arrays, FrozenPostings, Longs, Range, in_memory
from .memory_table import MemoryTable
from .scope_search import Indexes

WORDS, KEYS = "words", "keys"
"""The postings of a block: of passages, and of keys."""

EntryReader: TypeAlias = Callable[[str, Sequence[Range]], Sequence[npt.NDArray[np.int32]]]
"""Reads the postings of a block, `WORDS` or `KEYS`, from one entry up to another, of several such ranges at once."""


@dataclass(frozen=True)
class Mark:
    """How far an index had come: the numbers of its passages, slots of words and of keys, memories, sessions, casts."""

    passages: int = 0
    words: int = 0
    keys: int = 0
    memories: int = 0
    sessions: int = 0
    casts: int = 0

    @classmethod
    def of(cls, indexes: Indexes, memories: MemoryTable) -> Mark:
        """Where an index is now."""
        table = indexes.table
        return cls(
            len(table), indexes.words.used, indexes.keys.used, len(memories), len(table.sessions), len(table.casts)
        )


@dataclass
class Changed:
    """What of older blocks a block says anew: rows and memories that have changed, slots whose units have gone."""

    rows: set[int] = field(default_factory=set)
    memories: set[int] = field(default_factory=set)
    words: set[int] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)

    def __or__(self, other: Changed) -> Changed:
        return Changed(
            self.rows | other.rows, self.memories | other.memories, self.words | other.words, self.keys | other.keys
        )

    def before(self, mark: Mark) -> Changed:
        """Those before a mark."""
        return Changed(
            {each for each in self.rows if each < mark.passages},
            {each for each in self.memories if each < mark.memories},
            {each for each in self.words if 0 <= each < mark.words},
            {each for each in self.keys if 0 <= each < mark.keys},
        )


@dataclass(frozen=True)
class Block:
    """What is kept at once.

    Args:
        about: numbers and names, as JSON can hold them.
        arrays: what is read when the index is opened, by name.
        entries: postings by `WORDS` and `KEYS`, shape ``(n, 2)``; mostly nothing in a block that was read.
    """

    about: Mapping[str, Any]
    arrays: Arrays
    entries: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)

    @property
    def start(self) -> Mark:
        """Where it begins."""
        return Mark(*self.about["start"])

    @property
    def stop(self) -> Mark:
        """Where it ends."""
        return Mark(*self.about["stop"])

    @property
    def rows(self) -> Longs:
        """The rows that its columns of passages are of."""
        return numbers_of(self.arrays["changed rows"].tolist(), self.start.passages, self.stop.passages)

    @property
    def memories(self) -> Longs:
        """The numbers of the memories that its columns are of."""
        return numbers_of(self.arrays["changed memories"].tolist(), self.start.memories, self.stop.memories)

    @property
    def changed(self) -> Changed:
        """What of older blocks it says anew."""
        parts = (self.arrays[f"changed {name}"].tolist() for name in ("rows", "memories", "words", "keys"))
        return Changed(*map(set, parts))

    def postings(self, of: str, read: EntryReader, until: int | None = None) -> FrozenPostings:
        """Its postings of passages or keys, up to a slot."""
        digests, stops = self.arrays[f"{of} digests"], self.arrays[f"{of} stops"]
        return FrozenPostings(digests, stops, partial(read, of), until)

    def held(self, of: str) -> FrozenPostings:
        """The same with all entries, which it has in memory."""
        return in_memory(
            {**{part: self.arrays[f"{of} {part}"] for part in ("digests", "stops")}, "entries": self.entries[of]}
        )


def numbers_of(changed: Collection[int], start: int, stop: int) -> Longs:
    """Those that have changed, in rising order, and behind them those from a start up to a stop."""
    return np.array([*sorted(changed), *range(start, stop)], dtype=np.int64)
