"""A scope's index as it is kept: blocks of what came, and of what changed, since the block before.

A block holds the columns of new passages and of older ones that have changed; the postings of new units, of passages
and of keys; the units that have gone; new and changed memories; and vectors of these. What is read whenever the index
is opened stands apart from postings, of which a query needs a few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import StaleIndex
from ..indexes.postings import FrozenPostings, Longs
from ..indexes.vector import VectorIndex
from .block import KEYS, WORDS, Block, Changed, EntryReader, Mark, numbers_of
from .memory_table import MemoryTable
from .merged_columns import Merged, fitting
from .passage_table import TurnReader
from .scope_search import Indexes
from .stored_memories import StoredMemories

_COMPACT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("index", "said", "digest"), "<i8"),
    "moment": "<f8",
    "mark": "<i2",
    **dict.fromkeys(("kind", "asks", "stands", "non_answer", "latest", "short"), "|i1"),
}
_USUAL: Final = "<i4"
APART: Final = ("row said", "row digest", "row moment")
"""Arrays that hardly any query asks for: each is kept by itself, to be read alone when it is asked for."""


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
    rows = numbers_of(changed.rows, start.passages, stop.passages)
    of_memories = numbers_of(changed.memories, start.memories, stop.memories)
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
    *,
    vectors: bool = True,
) -> None:
    """Fill an empty index with blocks, the first ever made first.

    Args:
        indexes: the index.
        memories: its memories.
        blocks: all of them; each goes on where the one before it ends.
        readers: for each block, what reads its postings.
        read_turns: reads turns.
        read_keys: reads the keys of memories by the names of their sessions and the turns that they begin at.
        vectors: whether the blocks' vectors are wanted.

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
    table.load(columns.numbers, columns, sessions, casts, read_turns)
    table.kept = stop.passages
    for name, index in ((WORDS, indexes.words), (KEYS, indexes.keys)):
        runs = [block.postings(name, read) for block, read in zip(blocks, readers, strict=True)]
        with fitting():
            units = _units(blocks, name)
        index.thaw(units, runs, blocks[-1].about["languages"][name])
    if vectors:
        _load_vectors(indexes.passage_vectors, blocks, "passage", "changed rows")
        _load_vectors(indexes.key_vectors, blocks, "key", "changed memories")
    read = StoredMemories(table, memories, sessions, read_keys)
    memories.load(Merged(blocks, "memories"), sessions, read)


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
