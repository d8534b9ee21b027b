"""Where a term occurs, in an index that grows: slots, and how often each holds it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from struct import Struct
from typing import Final, TypeAlias

import numpy as np

from .postings import Ints, Longs, digest_of

_ENTRY_BYTES: Final = 8
_SLOT_BITS: Final = 32
_COUNT: Final = (1 << _SLOT_BITS) - 1
_entry: Final = Struct("q").pack

Postings: TypeAlias = bytearray
"""Where one term occurs: by rising slots, how often in each; eight bytes an entry, the slot above the count.

Plain bytes, as an index has some ten terms a turn, and the garbage collector follows no bytes: it looks at all that it
follows while everything waits.
"""


def units_of(postings: Postings) -> int:
    """How many slots hold the term."""
    return len(postings) // _ENTRY_BYTES


def append(postings: Postings, slot: int, count: int) -> None:
    """Note that a slot, higher than all before, holds the term so often."""
    postings += _entry(slot << _SLOT_BITS | count)


def discard(postings: Postings, slot: int) -> None:
    """Note that the unit of a slot has gone."""
    start = _place(postings, slot) * _ENTRY_BYTES
    del postings[start : start + _ENTRY_BYTES]


def count_of(postings: Postings, slot: int) -> int:
    """How often a slot holds the term that does."""
    place = _place(postings, slot)
    with memoryview(postings).cast("q") as entries:
        return int(entries[place]) & _COUNT


def renumbered(postings: Postings, places: Ints) -> Postings:
    """The same, with for each slot the number at its place in ``places``."""
    slots, counts = apart(postings)
    return bytearray(together(places[slots], counts).tobytes())


def _place(postings: Postings, slot: int) -> int:
    with memoryview(postings).cast("q") as entries:
        return bisect_left(entries, slot << _SLOT_BITS)


def together(slots: Ints, counts: Ints) -> Longs:
    """Slots and counts as `Postings` has them."""
    return np.asarray(slots.astype(np.int64) << _SLOT_BITS | counts)


def apart(entries: bytes | bytearray) -> tuple[Ints, Ints]:
    """The slots and the counts of entries as `Postings` has them; copies, as no bytes grow while numpy looks in."""
    numbers = np.frombuffer(entries, dtype=np.int64)
    return (numbers >> _SLOT_BITS).astype(np.int32), (numbers & _COUNT).astype(np.int32)


def joined(of_terms: Mapping[str, Postings]) -> tuple[Longs, Ints]:
    """The digest of each entry's term, and the entries of all terms, as `FrozenPostings` reads them."""
    entries = np.stack(apart(b"".join(of_terms.values())), axis=1)
    digests = np.array([digest_of(term) for term in of_terms], dtype=np.int64)
    return np.repeat(digests, list(map(units_of, of_terms.values()))), entries
