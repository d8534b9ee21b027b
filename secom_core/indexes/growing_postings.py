"""Where terms occur, in an index that grows: slots, and how often each holds a term."""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from typing import Final

import numpy as np

from .postings import Ints, Longs, digest_of

_ENTRY_BYTES: Final = 8
_SLOT_BITS: Final = 32
_COUNT: Final = (1 << _SLOT_BITS) - 1
_MOSTLY_GONE: Final = 2
"""Of how many entries one may be of a unit that has gone: from half on, they are squeezed out."""
_LATE: Final = 512
"""How many entries may have to move up where one goes."""
_NONE: Final = np.zeros(0, dtype=np.int32)
_entry: Final = Struct("q").pack


class GrowingPostings:
    """By term, the slots that hold it, in rising order, and how often each does.

    The entries of a term are plain bytes, eight for each, with the slot above the count: an index has some ten terms a
    turn, and the garbage collector, for which everything waits, does not look at bytes.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytearray] = {}
        self._gone: dict[str, int] = {}

    def __len__(self) -> int:
        """How many terms there are."""
        return len(self._entries)

    @property
    def entries(self) -> int:
        """How many entries all terms have, those of units that have gone too."""
        return sum(map(entries_in, self._entries.values()))

    def units(self, term: str) -> int:
        """How many slots hold the term."""
        found = entries_in(self._entries.get(term, b""))
        return found - self._gone.get(term, 0) if self._gone else found

    def append(self, term: str, slot: int, count: int) -> None:
        """Note that a slot, higher than all before, holds the term so often."""
        entries = self._entries.get(term)
        if entries is None:
            entries = self._entries[term] = bytearray()
        entries += _entry(slot << _SLOT_BITS | count)

    def add(self, term: str, slot: int, count: int) -> None:
        """Note that a slot, which may hold the term already, holds it so much more often."""
        entries = self._entries.setdefault(term, bytearray())
        with memoryview(entries).cast("q") as numbers:
            place = bisect_left(numbers, slot << _SLOT_BITS)
            is_there = place < len(numbers) and numbers[place] >> _SLOT_BITS == slot
            if is_there:
                numbers[place] += count
        if not is_there:
            at = place * _ENTRY_BYTES
            entries[at:at] = _entry(slot << _SLOT_BITS | count)

    def discard(self, term: str, slot: int) -> None:
        """Note that the unit of a slot that holds the term has gone; costs the same however many hold it, on average.

        An entry among the last, such as those of a segment that grows, goes at once. Another one stays, with a count of
        0, until half of the term's have gone.
        """
        entries = self._entries[term]
        with memoryview(entries).cast("q") as numbers:
            place = bisect_left(numbers, slot << _SLOT_BITS)
            is_late = len(numbers) - place <= _LATE
            if not is_late:
                numbers[place] &= ~_COUNT
        if is_late:
            del entries[place * _ENTRY_BYTES : (place + 1) * _ENTRY_BYTES]
        else:
            self._gone[term] = self._gone.get(term, 0) + 1
        if not entries:
            del self._entries[term]
        elif term in self._gone and self._gone[term] * _MOSTLY_GONE >= entries_in(entries):
            self._set(term, *self.of(term))

    def count(self, term: str, slot: int) -> int:
        """How often a slot holds a term that it does hold."""
        with memoryview(self._entries[term]).cast("q") as numbers:
            return int(numbers[bisect_left(numbers, slot << _SLOT_BITS)]) & _COUNT

    def whole(self, term: str) -> bytearray | None:
        """The entries of a term, as `apart` reads them; nothing where there are none, or units of some have gone."""
        return self._entries.get(term) if term not in self._gone else None

    def of(self, term: str) -> tuple[Ints, Ints]:
        """The slots that hold a term, and how often each does."""
        entries = self._entries.get(term)
        if entries is None:
            return _NONE, _NONE
        slots, counts = apart(entries)
        return (slots[counts > 0], counts[counts > 0]) if term in self._gone else (slots, counts)

    def renumber(self, places: Ints) -> None:
        """Give each slot the number at its place in ``places``."""
        for term in list(self._entries):
            slots, counts = self.of(term)
            self._set(term, places[slots], counts)

    def joined(self) -> tuple[Longs, Ints]:
        """The digest of each entry's term, and the entries of all terms, as `FrozenPostings` reads them."""
        entries = np.stack(apart(b"".join(self._entries.values())), axis=1)
        digests = np.array([digest_of(term) for term in self._entries], dtype=np.int64)
        digests = np.repeat(digests, list(map(entries_in, self._entries.values())))
        return digests[entries[:, 1] > 0], entries[entries[:, 1] > 0]

    def _set(self, term: str, slots: Ints, counts: Ints) -> None:
        self._gone.pop(term, None)
        self._entries[term] = bytearray(together(slots, counts))
        if not len(slots):
            del self._entries[term]


def together(slots: Ints, counts: Ints) -> bytes:
    """Slots and counts as the bytes of entries."""
    return (slots.astype(np.int64) << _SLOT_BITS | counts).tobytes()


def apart(entries: bytes | bytearray) -> tuple[Ints, Ints]:
    """The slots and the counts of entries; copies, as no bytes can grow while numpy looks into them."""
    numbers = np.frombuffer(entries, dtype=np.int64)
    return (numbers >> _SLOT_BITS).astype(np.int32), (numbers & _COUNT).astype(np.int32)


def entries_in(entries: bytes | bytearray) -> int:
    """How many entries these bytes have."""
    return len(entries) // _ENTRY_BYTES
