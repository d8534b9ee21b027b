"""A scope's index kept with the bank, so that a process which starts reads it and analyses what is new only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..derived.space import EmbeddingSpace
from ..errors import StaleIndex, attempted, warn_degraded
from ..indexes.postings import FrozenPostings, Range, digest_of
from ..memory import passages_of
from ..protocols import TokenCounter
from ..ranking import ScopeIndex
from ..ranking.blocks import KEYS, WORDS, Block, Changed, EntryReader, Mark, block_of, merged, open_blocks
from ..stores.derived import SessionIds
from ..stores.index_blocks import OPENED, PIECE, packed, unpacked
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore

FORM: Final = 1
"""Which form blocks have, and how the texts in them are analysed: a block of another form is made again."""

_WORTH: Final = 4000
"""How many terms have to be new for a block: as long as it takes to read them anew, hardly anybody waits."""

_LARGE: Final = 200_000
"""How many passages a block has at most that is written again with those after it."""

_PROBES: Final = ("", "It's 12:30, isn't it? Grüße; 你好。", "a" * 50)
_ENTRY_BYTES: Final = 8
_UNFIT: Final = -1
_PIECES: Final = 256
"""How many pieces of postings that were read are kept for the next words."""
_NO_SPACE: Final = ""
"""What blocks without vectors go by."""
_BEHIND: Final = "the search index is not kept with the bank, the next process makes it again"


@dataclass
class KeptBlock:
    """A block that is in the store.

    Args:
        number: its number there.
        start: where it begins.
        passages: how many it has.
        changed: what of older blocks it says anew.
        sessions: the ids of the sessions that it says something of.
        runs: its postings of what the index has from disk, where it has any.
    """

    number: int
    start: Mark
    passages: int
    changed: Changed
    sessions: set[int]
    runs: dict[str, FrozenPostings] = field(default_factory=dict)


@dataclass
class Kept:
    """What of a scope's index is in the store.

    Args:
        blocks: in order.
        terms: how many terms the index had then.
        moved: how often its slots had moved then.
        sessions: ids of sessions that have changed since.
        given_up: whether nothing more is written.
        reader: what reads the postings of a block, by its number.
    """

    reader: Callable[[int], EntryReader]
    blocks: list[KeptBlock] = field(default_factory=list)
    terms: int = 0
    moved: int = 0
    sessions: set[int] = field(default_factory=set)
    given_up: bool = False


@dataclass(frozen=True)
class IndexKeeper:
    """Reads and writes the blocks of scopes' indexes.

    Args:
        store: where they are.
        counter: what the lengths in them are counted with.
        space: where the vectors in them are, nothing without vectors.
    """

    store: SqlStore
    counter: TokenCounter
    space: EmbeddingSpace | None = None

    # -- in -------------------------------------------------------------------------------------------------------

    def open(self, row: ScopeRow, index: ScopeIndex) -> tuple[Kept, int, dict[int, tuple[int, int]]] | None:
        """Fill an empty index with what is kept of the scope's.

        Returns:
            What is kept; the revision as of which it is; and by session how far it goes, as `LoadedScope.known`.
            Nothing where none is kept that can be used; what is damaged is thrown away, with a warning.
        """
        try:
            return self._opened(row, index)
        except StaleIndex as error:
            self.throw_away(row, error)
            return None

    def throw_away(self, row: ScopeRow, error: StaleIndex) -> None:
        """Delete what is kept of a scope's index, with a warning, where it is damaged."""
        if error.damaged:
            warn_degraded("the search index that is kept with the bank is made again", error)
            attempted("the store", partial(self.store.drop_index, row.id), "what is damaged of it stays")

    def _opened(self, row: ScopeRow, index: ScopeIndex) -> tuple[Kept, int, dict[int, tuple[int, int]]] | None:
        space = self.space.known_name if self.space is not None else _NO_SPACE
        stored = self.store.index_blocks(row.id, space) if space is not None else {}
        blocks = {number: Block(*unpacked(data)) for number, data in stored.items()}
        if not blocks or space != self._space:
            return None
        if not self._fits(list(blocks.values())[-1], row):
            unfit = [KeptBlock(number, Mark(), 0, Changed(), set()) for number in blocks]
            return Kept(self._reader(row.id), unfit, moved=_UNFIT), -1, {}
        kept = Kept(reader=self._reader(row.id))
        readers, ids = [kept.reader(number) for number in blocks], SessionIds(row.id)
        open_blocks(
            index.indexes,
            index.memories,
            list(blocks.values()),
            readers,
            partial(self.store.turns_at, ids),
            partial(self.store.keys_at, ids),
        )
        index.now_kept()
        known: dict[int, tuple[int, int]] = {}
        kept.terms, kept.moved = index.indexes.words.length, _moved(index)
        for (number, block), read in zip(blocks.items(), readers, strict=True):
            sessions = block.arrays["known"].tolist()
            known.update({session_id: (last, settled) for session_id, last, settled in sessions})
            runs = {name: block.postings(name, read) for name in (WORDS, KEYS)}
            size = block.stop.passages - block.start.passages
            of_sessions = {each[0] for each in sessions}
            kept.blocks.append(KeptBlock(number, block.start, size, block.changed, of_sessions, runs))
        return kept, int(block.about["revision"]), known

    def _fits(self, last: Block, row: ScopeRow) -> bool:
        return (last.about.get("stamp"), last.about.get("epoch")) == (self.stamp, row.epoch)

    @property
    def _space(self) -> str | None:
        """The name that blocks go by; nothing where the embedder that says it does not answer."""
        return self.space.name if self.space is not None else _NO_SPACE

    def _reader(self, scope_id: int) -> Callable[[int], EntryReader]:
        """What reads the postings of the scope's blocks; the last pieces that were read stay in memory."""
        # What is not settled yet is so by the time that a block is read.
        pieces = _Pieces(lambda *wanted: self.store.index_pieces(scope_id, self._space or _NO_SPACE, *wanted))
        return lambda number: partial(pieces.entries, number)

    def nothing(self, scope_id: int) -> Kept:
        """Where nothing is kept."""
        return Kept(self._reader(scope_id))

    @property
    def stamp(self) -> list[Any]:
        """What tells indexes that were made in one way from those that were made in another."""
        named = getattr(self.counter, "__qualname__", type(self.counter).__qualname__)
        counts = [int(self.counter(probe)) for probe in _PROBES]
        return [FORM, _stemmer(), f"{type(self.counter).__module__} {named}", *counts]

    # -- out ------------------------------------------------------------------------------------------------------

    def keep(self, row: ScopeRow, index: ScopeIndex, kept: Kept, known: dict[int, tuple[int, int]]) -> bool:
        """Write what is new, where that is enough to be worth it.

        Args:
            row: the scope, as of the revision that the index has reached.
            index: its index.
            kept: what is kept of it; brought up to what is written.
            known: by session, how far the index goes.

        Returns:
            Whether the store holds what this process says it does: where another has written, it does not.
        """
        if index.indexes.words.length - kept.terms < _WORTH or kept.given_up or (space := self._space) is None:
            return True
        written = attempted("the store", partial(self._written, space, row, index, kept, known), _BEHIND)
        kept.given_up = written is None
        return written is not False

    def _written(
        self, space: str, row: ScopeRow, index: ScopeIndex, kept: Kept, known: dict[int, tuple[int, int]]
    ) -> bool:
        table, stop = index.indexes.table, Mark.of(index.indexes, index.memories)
        staying, going = self._parted(kept, stop, anew=_moved(index) != kept.moved)
        start = going[0].start if going else index.kept if staying else Mark()
        changed = Changed(table.touched, index.memories.touched, index.indexes.words.gone, index.indexes.keys.gone)
        sessions = set(kept.sessions) if staying else set(known)
        for each in going:
            changed, sessions = changed | each.changed, sessions | each.sessions
        changed = changed.before(start)
        block = block_of(index.indexes, index.memories, start, changed, _runs(index, going, all_=not staying))
        if block is None:
            kept.given_up = True
            return True
        ranges = [(each, *known[each]) for each in sorted(sessions & known.keys())]
        arrays = {**block.arrays, "known": np.array(ranges, dtype=np.int64).reshape(-1, 3)}
        about = {**block.about, "stamp": self.stamp, "epoch": row.epoch, "revision": row.revision}
        parts = {OPENED: packed(about, arrays), **{name: each.tobytes() for name, each in block.entries.items()}}
        numbers = [each.number for each in staying], [each.number for each in going]
        number = self.store.save_index_block(row.id, space, row.epoch, parts, after=numbers[0], instead_of=numbers[1])
        if number is None:
            return False
        new = KeptBlock(number, start, stop.passages - start.passages, changed, sessions)
        kept.blocks = [*staying, new]
        for name, units, first in ((WORDS, index.indexes.words, start.words), (KEYS, index.indexes.keys, start.keys)):
            if first < units.thawed:
                new.runs[name] = block.postings(name, kept.reader(number), units.thawed)
            units.runs = [each.runs[name] for each in kept.blocks if name in each.runs]
        kept.terms, kept.moved, kept.sessions = index.indexes.words.length, _moved(index), set()
        index.now_kept()
        return True

    @staticmethod
    def _parted(kept: Kept, stop: Mark, *, anew: bool) -> tuple[list[KeptBlock], list[KeptBlock]]:
        """The blocks that stay, and those that are written again with what is new: as in a merge sort, each at most
        a logarithm of times.
        """
        if anew:
            return [], kept.blocks
        staying, going = list(kept.blocks), list[KeptBlock]()
        size = stop.passages - sum(each.passages for each in staying)
        while staying and staying[-1].passages <= 2 * size and size + staying[-1].passages <= _LARGE:
            going.insert(0, staying.pop())
            size += going[0].passages
        return staying, going


@cache
def _stemmer() -> str:
    return version("PyStemmer")


@dataclass
class _Pieces:
    """Reads pieces of postings; those read last stay in memory.

    Args:
        read: reads pieces of a part of a block by their numbers.
    """

    read: Callable[[int, str, Sequence[int]], dict[int, bytes]]
    _held: OrderedDict[tuple[int, str, int], bytes] = field(default_factory=OrderedDict)

    def entries(self, block: int, part: str, ranges: Sequence[Range]) -> list[npt.NDArray[np.int32]]:
        """The postings of a part of a block, from one entry up to another, by range."""
        numbers = [range(start * _ENTRY_BYTES // PIECE, -(-stop * _ENTRY_BYTES // PIECE)) for start, stop in ranges]
        pieces = self._pieces(block, part, {each for of_range in numbers for each in of_range})
        found: list[npt.NDArray[np.int32]] = []
        for (start, stop), of_range in zip(ranges, numbers, strict=True):
            begin = start * _ENTRY_BYTES - of_range.start * PIECE
            data = b"".join(pieces[each] for each in of_range)
            found.append(np.frombuffer(data, dtype="<i4", count=2 * (stop - start), offset=begin).reshape(-1, 2))
        return found

    def _pieces(self, block: int, part: str, numbers: set[int]) -> dict[int, bytes]:
        held = {each: self._held[block, part, each] for each in numbers if (block, part, each) in self._held}
        missing = sorted(numbers - held.keys())
        if not missing:
            return held
        read = self.read(block, part, missing)
        if len(read) <= _PIECES:
            self._held.update(((block, part, number), data) for number, data in read.items())
            while len(self._held) > _PIECES:
                self._held.popitem(last=False)
        return {**held, **read}


def flaw(store: SqlStore, scope: ScopeRow) -> str | None:
    """What is wrong with what is kept of a scope's index; nothing where it is whole, and that of the scope's turns."""
    try:
        for space in store.check_index(scope.id):
            blocks = [Block(*unpacked(data)) for data in store.index_blocks(scope.id, space).values()]
            if not blocks:
                return f"the search index that is kept with the bank for {space!r} is of no embedder's name"
            # One of another form is not read.
            wrong = _disagreement(store, scope, blocks) if blocks[-1].about["stamp"][0] == FORM else None
            if wrong is not None:
                return wrong
    except StaleIndex as error:
        return str(error)
    return None


def _disagreement(store: SqlStore, scope: ScopeRow, blocks: Sequence[Block]) -> str | None:
    last = blocks[-1]
    table = merged(blocks, "rows", "row ", last.stop.passages)
    rows = np.stack([table[name] for name in ("session", "index", "place", "start", "stop", "digest")], axis=1)
    numbers = {name: number for number, name in enumerate(name for each in blocks for name in each.about["sessions"])}
    changed_since = {each.id for each in store.sessions(scope.id, since=last.about["revision"])}
    for session in store.sessions(scope.id):
        if session.id not in changed_since:
            ours = rows[rows[:, 0] == numbers.get(session.name, _UNFIT)][:, 1:]
            held = sorted(map(tuple, ours.tolist()))
            if held != sorted(_places(store.turns(session))):
                return f"the search index that is kept with the bank is not of the turns of session {session.name!r}"
    return None


def _places(turns: Sequence[Turn]) -> list[tuple[int, ...]]:
    found = ((turn, passage) for turn in turns for passage in passages_of(turn))
    return [(turn.index, each.place, each.start, each.stop, digest_of(turn.id)) for turn, each in found]


def _moved(index: ScopeIndex) -> int:
    return index.indexes.words.moved + index.indexes.keys.moved


def _runs(index: ScopeIndex, going: Sequence[KeptBlock], *, all_: bool) -> dict[str, Sequence[FrozenPostings]]:
    if all_:
        return {WORDS: index.indexes.words.runs, KEYS: index.indexes.keys.runs}
    return {name: [each.runs[name] for each in going if name in each.runs] for name in (WORDS, KEYS)}
