"""A scope's index as it is kept: blocks of what came, and of what changed, since the block before.

A block holds the columns of new passages and of older ones that have changed; the postings of new units, of passages
and of keys; the units that have gone; new and changed memories; and vectors of these. What is read whenever the index
is opened stands apart from postings, of which a query needs a few.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import StaleIndex
from ..indexes.packed import PackedArrays
from ..indexes.postings import Arrays, FrozenPostings, Longs, Range, in_memory
from ..indexes.vector import VectorIndex
from .memory_table import MemoryTable
from .passage_table import TurnReader
from .scope_search import Indexes
from .stored_memories import StoredMemories

WORDS, KEYS = "words", "keys"
"""The postings of a block: of passages, and of keys."""

EntryReader: TypeAlias = Callable[[str, Sequence[Range]], Sequence[npt.NDArray[np.int32]]]
"""Reads the postings of a block, `WORDS` or `KEYS`, from one entry up to another, of several such ranges at once."""

_COMPACT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("index", "said", "digest"), "<i8"),
    "moment": "<f8",
    "mark": "<i2",
    **dict.fromkeys(("kind", "asks", "stands", "non_answer", "latest", "short"), "|i1"),
}
_USUAL: Final = "<i4"
APART: Final = ("row said", "row digest", "row moment")
"""Arrays that hardly any query asks for: each is kept by itself, to be read alone when it is asked for."""

_COLUMNS: Final = {"passages": ("row ", "changed rows"), "memories": ("memory ", "changed memories")}
"""How the names of the columns of passages and of memories begin, and the numbers of those before a block that it says
anew: these come first in its columns."""


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
        return _numbers(self.arrays["changed rows"].tolist(), self.start.passages, self.stop.passages)

    @property
    def memories(self) -> Longs:
        """The numbers of the memories that its columns are of."""
        return _numbers(self.arrays["changed memories"].tolist(), self.start.memories, self.stop.memories)

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


# -- out ---------------------------------------------------------------------------------------------------------------


def block_of(
    indexes: Indexes,
    memories: MemoryTable,
    start: Mark,
    changed: Changed,
    runs: Mapping[str, Sequence[FrozenPostings]],
) -> Block | None:
    """What an index holds from a mark on, and what has changed before it.

    Args:
        indexes: the index.
        memories: its memories.
        start: the mark.
        changed: what has changed before it.
        runs: the postings, by `WORDS` and `KEYS`, of what was itself read from blocks, from the mark on.

    Returns:
        Nothing where a number is out of all bounds.
    """
    table, stop = indexes.table, Mark.of(indexes, memories)
    rows = _numbers(changed.rows, start.passages, stop.passages)
    of_memories = _numbers(changed.memories, start.memories, stop.memories)
    columns = _compact(table.columns(rows))
    if columns is None:
        return None
    arrays: dict[str, npt.NDArray[Any]] = {f"row {name}": column for name, column in columns.items()}
    arrays |= {f"memory {name}": column for name, column in memories.columns(of_memories).items()}
    entries: dict[str, npt.NDArray[np.int32]] = {}
    for name, index in ((WORDS, indexes.words), (KEYS, indexes.keys)):
        made = index.frozen(getattr(start, name), runs.get(name, ()))
        entries[name] = made.pop("entries")
        arrays |= {f"{name} {part}": array for part, array in made.items()}
    for name, vectors, ids in (("passage", indexes.passage_vectors, rows), ("key", indexes.key_vectors, of_memories)):
        arrays[f"{name} vector ids"], arrays[f"{name} vectors"] = vectors.held(ids)
    for name in ("rows", "memories", "words", "keys"):
        arrays[f"changed {name}"] = np.array(sorted(getattr(changed, name)), dtype=np.int64)
    about = {
        "start": _plain(start),
        "stop": _plain(stop),
        "sessions": table.sessions[start.sessions :],
        "casts": table.casts[start.casts :],
        "languages": {WORDS: indexes.words.kept_languages, KEYS: indexes.keys.kept_languages},
    }
    return Block(about, arrays, entries)


def without(block: Block, indexes: Indexes, memories: MemoryTable, gone: Changed) -> Block:
    """A block less what has gone from the index since it was written.

    Args:
        block: as it was read, with its entries.
        indexes: the index as it is now.
        memories: its memories.
        gone: what has gone from it.
    """
    table, arrays = indexes.table, {name: array.copy() for name, array in block.arrays.items()}
    rows, numbers = list(gone.rows), list(gone.memories)
    # What has gone has no words any more, and its columns say so.
    for name, ids, taken, columns in (
        ("row ", block.rows, rows, table.columns),
        ("memory ", block.memories, numbers, memories.columns),
    ):
        places = np.flatnonzero(np.isin(ids, taken))
        for column, values in columns(ids[places]).items():
            arrays[name + column][places] = values
    entries: dict[str, npt.NDArray[np.int32]] = {}
    for name, index in ((WORDS, indexes.words), (KEYS, indexes.keys)):
        start, stop = getattr(block.start, name), getattr(block.stop, name)
        places = np.array([slot - start for slot in getattr(gone, name) if start <= slot < stop], dtype=np.int64)
        for part in ("ids", "lengths", "languages"):
            arrays[f"{name} {part}"][places] = -1
        made = index.thinned(block.held(name))
        entries[name] = made.pop("entries")
        arrays |= {f"{name} {part}": array for part, array in made.items()}
    for name, taken in (("passage", rows), ("key", numbers)):
        kept = ~np.isin(arrays[f"{name} vector ids"], taken)
        for part in (f"{name} vector ids", f"{name} vectors"):
            arrays[part] = arrays[part][kept]
    names: dict[str, Any] = {
        "sessions": table.sessions[block.start.sessions : block.stop.sessions],
        "casts": table.casts[block.start.casts : block.stop.casts],
        "languages": {name: dict.fromkeys(counts, 0) for name, counts in block.about["languages"].items()},
    }
    return Block({**block.about, **names}, arrays, entries)


def _plain(mark: Mark) -> list[int]:
    return [mark.passages, mark.words, mark.keys, mark.memories, mark.sessions, mark.casts]


def _numbers(changed: Collection[int], start: int, stop: int) -> Longs:
    return np.array([*sorted(changed), *range(start, stop)], dtype=np.int64)


def _compact(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]] | None:
    small = {name: column.astype(_COMPACT.get(name, _USUAL)) for name, column in columns.items()}
    return small if all(np.array_equal(small[name], column) for name, column in columns.items()) else None


# -- in ----------------------------------------------------------------------------------------------------------------


def open_blocks(
    indexes: Indexes,
    memories: MemoryTable,
    blocks: Sequence[Block],
    readers: Sequence[EntryReader],
    read_turns: TurnReader,
    read_keys: Callable[[Sequence[tuple[str, int]]], Mapping[tuple[str, int], str]],
) -> None:
    """Fill an empty index with blocks, the first ever made first.

    Args:
        indexes: the index.
        memories: its memories.
        blocks: all of them; each goes on where the one before it ends.
        readers: for each block, what reads its postings.
        read_turns: reads turns.
        read_keys: reads the keys of memories by the names of their sessions and the turns that they begin at.

    Raises:
        StaleIndex: they do not fit together.
    """
    if [each.start for each in blocks] != [Mark(), *(each.stop for each in blocks[:-1])]:
        raise StaleIndex("the blocks of the index that is kept with the bank do not follow each other")
    sessions = [name for each in blocks for name in each.about["sessions"]]
    casts = [cast for each in blocks for cast in each.about["casts"]]
    stop = blocks[-1].stop
    table = indexes.table
    columns = Merged(blocks, "passages")
    table.load(columns.numbers, columns.copy_to, sessions, casts, read_turns)
    table.kept = stop.passages
    for name, index in ((WORDS, indexes.words), (KEYS, indexes.keys)):
        runs = [block.postings(name, read) for block, read in zip(blocks, readers, strict=True)]
        with _fitting():
            units = _units(blocks, name)
        index.thaw(units, runs, blocks[-1].about["languages"][name])
    _load_vectors(indexes.passage_vectors, blocks, "passage", _COLUMNS["passages"][1])
    _load_vectors(indexes.key_vectors, blocks, "key", _COLUMNS["memories"][1])
    read = StoredMemories(table, memories, sessions, read_keys)
    memories.load(Merged(blocks, "memories"), sessions, read)


@contextmanager
def _fitting() -> Iterator[None]:
    """What does not fit together is damaged."""
    try:
        yield
    except (ValueError, IndexError, KeyError) as error:
        raise StaleIndex(f"the index that is kept with the bank is damaged: {error}") from error


@dataclass(frozen=True)
class Merged(Mapping[str, npt.NDArray[Any]]):
    """The columns of all blocks by number; what a later one says counts. One is made when it is asked for, every time.

    Args:
        blocks: all of them, in order.
        of: what they are columns of: ``"passages"`` or ``"memories"``.
    """

    blocks: Sequence[Block]
    of: Literal["passages", "memories"]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        found = np.empty(self.numbers, dtype=self.blocks[0].arrays[_COLUMNS[self.of][0] + name].dtype)
        self.copy_to(found, name)
        return found

    @property
    def numbers(self) -> int:
        """How many there are of each column."""
        return int(getattr(self.blocks[-1].stop, self.of))

    def copy_to(self, column: npt.NDArray[Any], name: str) -> None:
        """Write a column into an array of a type that is wide enough for it.

        Raises:
            StaleIndex: a block says it of more or fewer numbers than it has.
        """
        with _fitting():
            self._copy_to(column, name)

    def _copy_to(self, column: npt.NDArray[Any], name: str) -> None:
        prefix, changed = _COLUMNS[self.of]
        for block in self.blocks:
            older = block.arrays[changed]
            # What has come since the block before is a range, into which is copied ten times as fast.
            new = column[getattr(block.start, self.of) : getattr(block.stop, self.of)]
            if isinstance(block.arrays, PackedArrays) and not len(older):
                block.arrays.copy_to(new, prefix + name)
            else:
                said = block.arrays[prefix + name]
                column[older], new[...] = said[: len(older)], said[len(older) :]

    def __iter__(self) -> Iterator[str]:
        prefix, _ = _COLUMNS[self.of]
        return (name.removeprefix(prefix) for name in self.blocks[0].arrays if name.startswith(prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _units(blocks: Sequence[Block], name: str) -> dict[str, npt.NDArray[Any]]:
    last = list(blocks[-1].about["languages"][name])
    ids, lengths, languages = (np.empty(getattr(blocks[-1].stop, name), dtype=kind) for kind in ("<i8", "<i4", "<i2"))
    for block in blocks:
        new = slice(getattr(block.start, name), getattr(block.stop, name))
        ids[new], lengths[new] = block.arrays[f"{name} ids"], block.arrays[f"{name} lengths"]
        languages[new] = _renumbered(block, name, last)
        lengths[block.arrays[f"changed {name}"]] = -1
    return {"ids": ids, "lengths": lengths, "languages": languages}


def _renumbered(block: Block, name: str, names: list[str]) -> npt.NDArray[np.int16]:
    """The languages of a block's units, as the last block numbers them."""
    own = [names.index(each) if each in names else -1 for each in block.about["languages"][name]]
    return np.array([*own, -1], dtype=np.int16)[block.arrays[f"{name} languages"]]


def _load_vectors(index: VectorIndex, blocks: Sequence[Block], name: str, changed: str) -> None:
    parts: list[tuple[Longs, npt.NDArray[np.float32]]] = []
    said = np.zeros(0, dtype=np.int64)
    # The last block that names a number says what its vector is, or that it has none.
    for block in reversed(blocks):
        ids, vectors = block.arrays[f"{name} vector ids"], block.arrays[f"{name} vectors"]
        new = ~np.isin(ids, said)
        if len(ids):
            parts.insert(0, (ids[new], vectors[new]) if not new.all() else (ids, vectors))
        # What is new in a block, none before it names.
        said = np.concatenate([said, block.arrays[changed]])
    if parts:
        whole = [part[1] for part in parts]
        index.load(np.concatenate([part[0] for part in parts]), whole[0] if len(whole) == 1 else np.concatenate(whole))
