"""Where terms occur: runs of postings as they are kept on disk, read when a query asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
"""Arrays by name, as a part of an index is kept."""

Range: TypeAlias = tuple[int, int]

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

_DIGEST_BYTES: Final = 8
_NOTHING: Final = np.zeros((0, 2), dtype=np.int32)


def digest_of(text: str) -> int:
    """A number that stands for a text, the same in every process; of 10^9 texts, hardly two share one."""
    made = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
    return int.from_bytes(made.digest(), "little", signed=True)


@dataclass(frozen=True)
class FrozenPostings:
    """Where the terms of a run of slots occur.

    Args:
        digests: of the terms, in rising order; shape ``(terms,)``.
        stops: where the entries of each term end; shape ``(terms,)``.
        read: gives entries by their places, from one up to another, of several such ranges at once; each of shape
            ``(n, 2)``: slots, and how often each holds the term, those of a term by rising slots.
        until: the slot from which on entries do not count; all do unless given.
    """

    digests: Longs
    stops: Longs
    read: Callable[[Sequence[Range]], Sequence[Ints]]
    until: int | None = None

    def of(self, digests: Sequence[int]) -> list[Ints]:
        """The entries of each term, read at once."""
        wanted = np.array(digests, dtype=np.int64)
        places = np.searchsorted(self.digests, wanted)
        held = np.append(self.digests, 0)[places] == wanted
        held &= places < len(self.digests)
        ranges = [self._range(place) for place in places[held].tolist()]
        found = iter(self.read(ranges) if ranges else ())
        return [self._counted(next(found)) if is_held else _NOTHING for is_held in held.tolist()]

    def _range(self, place: int) -> Range:
        return self.stops.item(place - 1) if place else 0, self.stops.item(place)

    def _counted(self, entries: Ints) -> Ints:
        return entries if self.until is None else entries[: np.searchsorted(entries[:, 0], self.until)]

    def held(self) -> FrozenPostings:
        """The same, with all entries in memory."""
        [entries] = self.read([(0, self.stops.item(-1))]) if len(self.stops) else [_NOTHING]
        found = in_memory({"digests": self.digests, "stops": self.stops, "entries": entries})
        return replace(found, until=self.until)

    def all(self) -> tuple[Longs, Ints]:
        """The digest of each entry, and the entries."""
        digests = np.repeat(self.digests, np.diff(self.stops, prepend=0))
        [entries] = self.read([(0, len(digests))])
        counted = entries[:, 0] < (self.until if self.until is not None else np.inf)
        return digests[counted], entries[counted]


def frozen(digests: Longs, entries: Ints) -> dict[str, npt.NDArray[Any]]:
    """Entries with their terms, in any order, as `FrozenPostings` has them: ``digests``, ``stops``, ``entries``."""
    rising = (digests[1:] > digests[:-1]) | ((digests[1:] == digests[:-1]) & (entries[1:, 0] >= entries[:-1, 0]))
    if not rising.all():
        order = np.lexsort((entries[:, 0], digests))
        digests, entries = digests[order], entries[order]
    last = np.flatnonzero(np.append(digests[1:] != digests[:-1], True)) if len(digests) else np.zeros(0, np.int64)
    return {"digests": digests[last], "stops": last.astype(np.int64) + 1, "entries": entries}


@dataclass
class FrozenUnits:
    """The units that an index has from disk: all below a slot.

    Args:
        stop: the slot after their last.
        languages: the number of each one's language in ``names``, by slot, -1 where it has none.
        names: of the languages.
        runs: their postings, in the order of the slots.
        thinned: whether any of the units has gone.
    """

    stop: int = 0
    languages: npt.NDArray[np.int16] = field(default_factory=lambda: np.zeros(0, dtype=np.int16))
    names: Sequence[str] = ()
    runs: Sequence[FrozenPostings] = ()
    thinned: bool = False
    _read: dict[str, Ints] = field(default_factory=dict)
    _slots: dict[int, int] | None = None

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        held = sum(run.digests.nbytes + run.stops.nbytes for run in self.runs)
        return held + sum(entries.nbytes for entries in self._read.values()) + self.languages.nbytes

    def of(self, term: str) -> Ints:
        """The entries of a term, those of units that have gone too; kept in memory from then on."""
        if not self.stop:
            return _NOTHING
        if term not in self._read:
            self.hold([term])
        return self._read[term]

    def hold(self, terms: Iterable[str]) -> None:
        """Read the entries of several terms at once, before they are asked for one by one."""
        new = [term for term in dict.fromkeys(terms) if term not in self._read] if self.stop else []
        if new:
            found = zip(*(run.of([digest_of(term) for term in new]) for run in self.runs), strict=True)
            parts = found if self.runs else ((),) * len(new)
            self._read.update(
                (term, np.concatenate(each) if each else _NOTHING) for term, each in zip(new, parts, strict=True)
            )

    def language(self, slot: int) -> str | None:
        """The language of a unit."""
        number = int(self.languages[slot])
        return self.names[number] if number >= 0 else None

    def slots(self, ids: Longs, lengths: Ints) -> dict[int, int]:
        """The slot of each unit by its id, without those that were taken out.

        Args:
            ids: by slot.
            lengths: by slot, below 0 where the unit has gone.
        """
        if self._slots is None:
            live = np.flatnonzero(lengths[: self.stop] >= 0)
            self._slots = dict(zip(ids[live].tolist(), live.tolist(), strict=True))
        return self._slots

    def moved(self, places: Ints) -> FrozenUnits:
        """The same with other slots.

        Args:
            places: the new slot of each, in rising order; -1 of those that have gone.
        """
        ours = places[: self.stop]
        kept = np.flatnonzero(ours >= 0)
        arrays = self.entries(self.runs, places)
        return FrozenUnits(len(kept), self.languages[kept], self.names, [in_memory(arrays)] if len(kept) else ())

    @staticmethod
    def entries(runs: Iterable[FrozenPostings], places: Ints) -> dict[str, npt.NDArray[Any]]:
        """Several runs as one, with the slots that ``places`` gives; without those of which it gives -1."""
        read = [run.all() for run in runs]
        digests = np.concatenate([np.zeros(0, dtype=np.int64), *(each[0] for each in read)])
        entries = np.concatenate([_NOTHING, *(each[1] for each in read)])
        entries = np.stack([places[entries[:, 0]], entries[:, 1]], axis=1)
        return frozen(digests[entries[:, 0] >= 0], entries[entries[:, 0] >= 0])


def in_memory(arrays: Arrays) -> FrozenPostings:
    """What `frozen` gives, to be searched."""
    entries = arrays["entries"]
    return FrozenPostings(
        arrays["digests"], arrays["stops"], lambda ranges: [entries[start:stop] for start, stop in ranges]
    )
