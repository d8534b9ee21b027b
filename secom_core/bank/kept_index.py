"""A scope's index kept with the bank, so that a process which starts reads it and analyses what is new only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
import Stemmer

from ..derived.space import EmbeddingSpace
from ..errors import StaleIndex, attempted, warn_degraded
from ..indexes.packed import PackedArrays, packed, unpacked
from ..indexes.postings import FrozenPostings
from ..protocols import TokenCounter
from ..ranking import ScopeIndex
from ..ranking.block import KEYS, WORDS, Block, Changed, Mark
from ..ranking.blocks import APART, block_of, open_blocks, without
from ..stores.derived import SessionIds
from ..stores.index_blocks import OPENED, PIECE, WithoutThem
from ..stores.reasons import Damaged
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from ..text.terms import count_tokens
from .index_pieces import Pieces
from .index_steps import MISSING, OF_ANOTHER_VERSION, is_small
from .kept_blocks import UNFIT, Kept, KeptBlock, Opened, Unmade
from .reached import Reached

Names: TypeAlias = tuple[Sequence[str], Sequence[tuple[str, ...]]]

FORM: Final = 24
"""Which form blocks have, and how texts are analysed and counted: a block of another form is made again."""

_WORTH: Final = 4000
"""How many terms have to be new for a block: as long as it takes to read them anew, hardly anybody waits."""

_FAR: Final = 200
"""From how many revisions on a block is written that holds little: a start reads anew each session changed since."""

_LARGE: Final = 50_000
"""How many passages a block has at most that is written again with those after it, and at least one that is new in
the midst of reading a scope."""

_PROBES: Final = ("", "It's 12:30, isn't it? Grüße; 你好。", "a" * 50)
_NO_SPACE: Final = ""
"""What blocks without vectors go by."""
_BEHIND: Final = "the search index is not kept with the bank, the next process makes it again"


@dataclass(frozen=True)
class IndexKeeper:
    """Reads and writes the blocks of scopes' indexes.

    Args:
        store: where they are.
        counter: what the lengths in them are counted with.
        space: where the vectors in them are, nothing without vectors.
        stuck: ids of scopes of whose index something damaged is kept that cannot be deleted.
    """

    store: SqlStore
    counter: TokenCounter
    space: EmbeddingSpace | None = None
    stuck: set[int] = field(default_factory=set)

    # -- in -------------------------------------------------------------------------------------------------------

    def open(self, row: ScopeRow, index: ScopeIndex) -> Opened | None:
        """Fill an empty index with what is kept of the scope's; nothing where none is kept that can be used.

        Where none is kept for the embedder, it is filled with the words of what is kept for another one, or for none.
        What is damaged is thrown away, with a warning.
        """
        try:
            return None if row.id in self.stuck else self._opened(row, index) or self._opened_of_another(row, index)
        except (StaleIndex, Damaged) as error:
            self.throw_away(row, error if isinstance(error, StaleIndex) else StaleIndex(str(error)))
            return None

    def throw_away(self, row: ScopeRow, error: StaleIndex) -> None:
        """Delete what is kept of a scope's index, with a warning, where it is damaged."""
        if error.damaged:
            warn_degraded("the stored search index cannot be used and is built again", error)
            what = "what is damaged of it stays, and each process makes the index for itself"
            if not attempted("the store", lambda: self.store.drop_index(row.id) or True, what):
                self.stuck.add(row.id)

    def _opened(self, row: ScopeRow, index: ScopeIndex) -> Opened | None:
        space = self.space.known_name if self.space is not None else _NO_SPACE
        blocks = kept_blocks(self.store, row.id, space) if space is not None else {}
        if not blocks or space != self._space:
            return None
        if not self._fits(blocks):
            unfit = [KeptBlock(number, Mark(), 0, Changed(), set()) for number in blocks]
            kept = Kept(self._pieces(row.id), unfit, moved=UNFIT)
            return self._begun(row, index, kept, self.store.sessions(row.id), Unmade(cause=OF_ANOTHER_VERSION))
        kept = Kept(self._pieces(row.id))
        known = self._fill(row, index, kept, blocks)
        kept.terms, kept.moved = index.indexes.words.length, _moved(index)
        last = list(blocks.values())[-1]
        kept.revision = int(last.about["revision"])
        left, cause = set(last.arrays["left"].tolist()), str(last.about.get("cause", OF_ANOTHER_VERSION))
        unmade = Unmade(left, vectors=bool(last.about.get("lacks vectors")), cause=cause)
        return Opened(kept, kept.revision, known, unmade)

    def _opened_of_another(self, row: ScopeRow, index: ScopeIndex) -> Opened | None:
        """The words of the newest index that is kept for another space, to be kept for this one too."""
        found = ((space, kept_blocks(self.store, row.id, space)) for space in self.store.index_spaces(row.id))
        fit = [(space, blocks, list(blocks.values())[-1]) for space, blocks in found if self._fits(blocks)]
        if not fit:
            return None
        space, blocks, last = max(fit, key=lambda each: int(each[2].about["revision"]))
        known = self._fill(row, index, Kept(self._pieces(row.id, space)), blocks, vectors=False)
        left, revision = set(last.arrays["left"].tolist()), int(last.about["revision"])
        makes_vectors, answers = self.space is not None, self._space is not None
        unmade = Unmade(left, vectors=makes_vectors and answers, cause=MISSING)
        return Opened(self.nothing(row.id), revision, known, unmade, lacks_vectors=not answers)

    def _fill(
        self, row: ScopeRow, index: ScopeIndex, kept: Kept, blocks: Mapping[int, Block], *, vectors: bool = True
    ) -> Reached:
        """Fill an empty index with blocks, and note these as kept; by session, how far they go."""
        readers, ids = [kept.pieces.reader(number) for number in blocks], SessionIds(row.id)
        open_blocks(
            index.indexes,
            index.memories,
            list(blocks.values()),
            readers,
            partial(self.store.turns_at, ids),
            partial(self.store.keys_at, ids),
            vectors=vectors,
        )
        index.filtered.fields.reader = partial(self.store.messages_at, ids)
        index.now_kept()
        known = Reached()
        for (number, block), read in zip(blocks.items(), readers, strict=True):
            sessions = known.load(block.arrays["known"])
            runs = {name: block.postings(name, read) for name in (WORDS, KEYS)}
            size = block.stop.passages - block.start.passages
            kept.blocks.append(KeptBlock(number, block.start, size, block.changed, set(sessions), runs))
        return known

    def missing(self, row: ScopeRow, index: ScopeIndex) -> Opened | None:
        """The beginning of an index of which nothing is kept, to be made in steps.

        Returns:
            Nothing of a scope that is made at once: a small one, or one that this process itself has filled.
        """
        rows = self.store.sessions(row.id)
        if row.id in self.store.begun or is_small(sum(each.turns for each in rows)):
            return None
        unmade = Unmade(vectors=self.space is not None, cause=MISSING)
        return self._begun(row, index, self.nothing(row.id), rows, unmade)

    @staticmethod
    def _begun(row: ScopeRow, index: ScopeIndex, kept: Kept, rows: Sequence[SessionRow], unmade: Unmade) -> Opened:
        for each in rows:
            # They keep the order in which they came, in whichever order their turns come.
            index.indexes.table.number_of(each.name)
        return Opened(kept, row.revision, Reached(), replace(unmade, left={each.id for each in rows}))

    def _fits(self, blocks: Mapping[int, Block]) -> bool:
        """Whether there are any blocks, and this process makes them in the same way."""
        return bool(blocks) and list(blocks.values())[-1].about.get("stamp") == self.stamp

    @property
    def _space(self) -> str | None:
        """The name that blocks go by; nothing where the embedder that says it does not answer."""
        return self.space.name if self.space is not None else _NO_SPACE

    def _pieces(self, scope_id: int, space: str | None = None) -> Pieces:
        """What reads the postings of the scope's blocks."""

        def named() -> str:
            # What is not settled yet is so by the time that a block is read.
            return space if space is not None else self._space or _NO_SPACE

        return Pieces(lambda *wanted: self.store.index_pieces(scope_id, named(), *wanted))

    def nothing(self, scope_id: int) -> Kept:
        """Where nothing is kept."""
        return Kept(self._pieces(scope_id))

    @property
    def stamp(self) -> list[Any]:
        """What tells indexes that were made in one way from those that were made in another."""
        named = getattr(self.counter, "__qualname__", type(self.counter).__qualname__)
        counts = [int(self.counter(probe)) for probe in _PROBES if self.counter is not count_tokens]
        return [FORM, Stemmer.version(), f"{type(self.counter).__module__} {named}", *counts]

    # -- out ------------------------------------------------------------------------------------------------------

    @staticmethod
    def fills_a_block(index: ScopeIndex) -> bool:
        """Whether so much of an index is not on disk yet that it makes a block of its own."""
        return len(index.indexes.table) - index.kept.passages >= _LARGE

    def keep(self, row: ScopeRow, index: ScopeIndex, kept: Kept, known: Reached, unmade: Unmade) -> bool:
        """Write what is new, where that is enough to be worth it.

        Args:
            row: the scope, as of the revision that the index has reached.
            index: its index.
            kept: what is kept of it; brought up to what is written.
            known: by session, how far the index goes.
            unmade: what is still to be made.

        Returns:
            Whether the store holds what this process says it does: where another has written, it does not.
        """
        is_little = index.indexes.words.length - kept.terms < _WORTH and not (kept.blocks and kept.vectors)
        if is_little and (not kept.blocks or row.revision - kept.revision < _FAR):
            return True
        if kept.given_up or row.id in self.stuck or (space := self._space) is None:
            return True
        written = attempted("the store", partial(self._renewed, space, row, index, kept, known, unmade), _BEHIND)
        kept.given_up = written is None
        return written is not False

    def _renewed(self, *given: Any) -> bool:
        """Whether it is written; not where another process has written anew what it goes on from."""
        try:
            return self._written(*given)
        except StaleIndex as error:
            if error.damaged:
                raise
            return False

    def without(
        self,
        row: ScopeRow,
        index: ScopeIndex,
        kept: Kept,
        known: Reached,
        unmade: Unmade,
        named_before: Names,
    ) -> WithoutThem | None:
        """Write what is kept anew where something of it has gone from the index, before that goes from the store.

        Args:
            row: the scope, as of the revision that the index has reached.
            index: its index, from which it has gone.
            kept: what is kept of it; brought up to what is written.
            known: by session, how far the index goes.
            unmade: what is still to be made; the sessions that have lost something are left too.
            named_before: `names_of` the index when it had all.

        Returns:
            The blocks, which hold nothing of it; nothing where none are kept, or these cannot be written.
        """
        if kept.given_up or not kept.blocks or (space := self._space) is None:
            return None
        written = partial(self._written, space, row, index, kept, known, unmade, named_before)
        if not attempted("the store", written, _BEHIND):
            return None
        return WithoutThem(space, frozenset(each.number for each in kept.blocks))

    def _written(
        self,
        space: str,
        row: ScopeRow,
        index: ScopeIndex,
        kept: Kept,
        known: Reached,
        unmade: Unmade,
        named_before: Names | None = None,
    ) -> bool:
        table, stop = index.indexes.table, Mark.of(index.indexes, index.memories)
        # Once all vectors are there, they stand beside the words.
        is_filled = bool(kept.vectors) and not unmade.vectors
        is_anew = is_filled or _moved(index) != kept.moved
        parted = partial(kept.parted, stop.passages, len(table.touched), is_thinned=named_before is not None)
        staying, going = ([], kept.blocks) if is_anew else parted(most=_LARGE)
        start = going[0].start if going else index.kept if staying else Mark()
        changed = Changed(table.touched, index.memories.touched, index.indexes.words.gone, index.indexes.keys.gone)
        sessions = set(kept.sessions) if staying else known.sessions
        for each in going:
            changed, sessions = changed | each.changed, sessions | each.sessions
        changed = changed.before(start)
        block = block_of(index.indexes, index.memories, start, changed, _runs(index, going, all_=not staying))
        if block is None:
            kept.given_up = True
            return True
        arrays = {**block.arrays, "known": known.rows(sessions), "left": np.array(sorted(unmade.left), dtype=np.int64)}
        about = {**block.about, "stamp": self.stamp, "revision": row.revision}
        about |= {"cause": unmade.cause, "lacks vectors": unmade.vectors}
        thinned = self._thinned(space, row, index, staying, start, named_before) if named_before is not None else {}
        numbers = self.store.save_index_blocks(
            row.id,
            space,
            row.epoch,
            [*map(_parts, thinned.values()), _parts(replace(block, about=about, arrays=arrays))],
            staying=[each.number for each in staying if each.number not in thinned],
            going=[*thinned, *(each.number for each in going)],
        )
        if numbers is None:
            return False
        renumbered = dict(zip(thinned, numbers, strict=False))
        staying = [
            _moved_to(renumbered[each.number], each, thinned[each.number], kept) if each.number in thinned else each
            for each in staying
        ]
        new = KeptBlock(numbers[-1], start, stop.passages - start.passages, changed, sessions)
        kept.blocks = [*staying, new]
        for name, units, first in ((WORDS, index.indexes.words, start.words), (KEYS, index.indexes.keys, start.keys)):
            if first < units.thawed:
                new.runs[name] = block.postings(name, kept.pieces.reader(new.number), units.thawed)
            units.runs = [each.runs[name] for each in kept.blocks if name in each.runs]
        kept.terms, kept.moved, kept.sessions = index.indexes.words.length, _moved(index), set()
        kept.revision, kept.vectors = row.revision, 0
        index.now_kept()
        return True

    def _thinned(
        self,
        space: str,
        row: ScopeRow,
        index: ScopeIndex,
        staying: Sequence[KeptBlock],
        stop: Mark,
        named_before: Names,
    ) -> dict[int, Block]:
        """By number, the blocks that hold what has gone from the index, less that."""
        found: dict[int, Block] = {}
        gone = _gone(index)
        names = [
            {number for number, (name, now) in enumerate(zip(before, after, strict=False)) if name != now}
            for before, after in zip(named_before, names_of(index), strict=True)
        ]
        marks = [astuple(each) for each in (*(each.start for each in staying), stop)]
        for each, (start, end) in zip(staying, pairwise(marks), strict=True):
            numbers = (gone.rows, gone.words, gone.keys, gone.memories, *names)
            of_older = gone.rows & each.changed.rows or gone.memories & each.changed.memories
            within = zip(numbers, start, end, strict=True)
            if of_older or any(first <= number < last for some, first, last in within for number in some):
                parts = self.store.index_parts(row.id, space, each.number)
                if not parts.keys() >= {OPENED, *APART}:
                    raise StaleIndex("a part of the index that is kept with the bank is missing")
                about, opened = unpacked(parts.pop(OPENED))
                arrays = dict(opened) | {name: unpacked(parts.pop(name))[1][name] for name in APART}
                data = {name: np.frombuffer(parts.get(name, b""), dtype="<i4") for name in (WORDS, KEYS)}
                block = Block(about, arrays, {name: each.reshape(-1, 2) for name, each in data.items()})
                found[each.number] = without(block, index.indexes, index.memories, gone)
        return found


def names_of(index: ScopeIndex) -> Names:
    """The names of an index's sessions and casts, by their numbers."""
    return index.indexes.table.sessions, index.indexes.table.casts


def _gone(index: ScopeIndex) -> Changed:
    """What has gone from an index of what is on disk, since that was written."""
    rows = {row for row in index.indexes.table.touched if index.indexes.table.head[row] < 0}
    memories = {number for number in index.memories.touched if index.memories.is_gone(number)}
    return Changed(rows, memories, index.indexes.words.gone, index.indexes.keys.gone)


def _parts(block: Block) -> dict[str, bytes]:
    apart = {name: packed({}, {name: block.arrays[name]}) for name in APART}
    arrays = {name: array for name, array in block.arrays.items() if name not in APART}
    about = {**block.about, "apart": {name: len(data) for name, data in apart.items()}}
    return {OPENED: packed(about, arrays), **apart, **{name: each.tobytes() for name, each in block.entries.items()}}


def _moved_to(number: int, old: KeptBlock, block: Block, kept: Kept) -> KeptBlock:
    """A block that was written again under another number."""
    runs = {name: block.postings(name, kept.pieces.reader(number), run.until) for name, run in old.runs.items()}
    return replace(old, number=number, runs=runs)


def kept_blocks(store: SqlStore, scope_id: int, space: str) -> dict[int, Block]:
    """The blocks of a scope's index by number, in the order in which they go on from each other."""
    blocks: dict[int, Block] = {}
    for number, data in store.index_blocks(scope_id, space).items():
        about, arrays = unpacked(data, lambda told: told["stamp"][:1] == [FORM])
        read = partial(_part, store, scope_id, space, number)
        apart = {name: partial(read, name, size) for name, size in (about.get("apart", {}) if arrays else {}).items()}
        blocks[number] = Block(about, arrays.with_apart(apart))
    return dict(sorted(blocks.items(), key=lambda each: (each[1].start.passages, each[1].stop.passages)))


def _part(store: SqlStore, scope_id: int, space: str, block: int, name: str, size: int) -> PackedArrays:
    """A part of a block that is kept by itself, of so many bytes."""
    pieces = store.index_pieces(scope_id, space, block, name, range(-(-size // PIECE)))
    return unpacked(bytearray().join(data for _, data in sorted(pieces.items())))[1]


def _moved(index: ScopeIndex) -> int:
    return index.indexes.words.moved + index.indexes.keys.moved


def _runs(index: ScopeIndex, going: Sequence[KeptBlock], *, all_: bool) -> dict[str, Sequence[FrozenPostings]]:
    if all_:
        return {WORDS: index.indexes.words.runs, KEYS: index.indexes.keys.runs}
    return {name: [each.runs[name] for each in going if name in each.runs] for name in (WORDS, KEYS)}
