"""A part of an index, searched as though nothing else were in it; its words and vectors stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..vectors import Vectors
from .bm25 import BM25
from .postings import Ints
from .top import Ids, Scores
from .vector import VectorIndex


class BM25Part(BM25):
    """Some of the units of an index, under numbers of their own. It cannot be changed.

    How rare a word is, and how long units are, is told among these units; the languages in which a query is read are
    those of the whole.

    Args:
        whole: the index.
        numbers: the number of each unit by its id in the whole, -1 where it is none of the part.
    """

    def __init__(self, whole: BM25, numbers: Ids) -> None:
        super().__init__()
        self._whole = whole
        ids, lengths = whole.units
        numbers = np.append(numbers, -1)[np.minimum(ids, len(numbers))]
        self._ids, self._lengths = np.where(lengths >= 0, numbers, -1), lengths
        self._there = self._ids >= 0
        self._units, self._length = int(self._there.sum()), int(lengths[self._there].sum())

    @property
    def languages(self) -> dict[str, float]:
        """The share of each language among the units of the whole."""
        return self._whole.languages

    def _held(self, query: str | Sequence[str]) -> list[tuple[str, ...]]:
        return self._whole._held(query)

    def _frequency(self, variants: tuple[str, ...]) -> int:
        return len(self._occurrences(variants)[0])

    def _occurrences(self, variants: tuple[str, ...]) -> tuple[Ints, Ints]:
        slots, counts = self._whole._occurrences(variants)
        there = self._there[slots]
        return slots[there], counts[there]


class VectorPart(VectorIndex):
    """Some of the vectors of an index, under numbers of their own. It cannot be changed.

    Args:
        whole: the index.
        ids: of units of the whole, with a vector or without.
        numbers: the number of each.
    """

    def __init__(self, whole: VectorIndex, ids: Ids, numbers: Ids) -> None:
        super().__init__()
        self._whole, places = whole, whole.places_of(ids)
        self._places, self._ids = places[places >= 0], numbers[places >= 0]
        self._place_of = dict(zip(self._ids.tolist(), self._places.tolist(), strict=True))

    def scores(self, vector: npt.ArrayLike) -> tuple[Ids, Scores]:
        """The numbers of its vectors and their cosines to ``vector``."""
        return self._ids, self._whole.scores_at(self._places, vector)

    def vectors_of(self, ids: Sequence[int]) -> Vectors | None:
        """The vectors of these numbers, shape ``(len(ids), d)``, of length 1; nothing where one has none."""
        places = self.places_of(np.array(ids, dtype=np.int64))
        return None if (places < 0).any() else self._whole.at(places)


@dataclass(frozen=True)
class CutUnits:
    """Units of which only some passages are in a part: their own words are what these passages say.

    Args:
        cut: of each unit, whether it is cut.
        unit_of: the number of the unit that each passage is of, -1 where it is of none.
        source: the passage that is indexed in its place; itself where it repeats none.
        terms: how many terms it has.
    """

    cut: npt.NDArray[np.bool_]
    unit_of: Ids
    source: Ids
    terms: Scores

    @property
    def whole(self) -> Ids:
        """The numbers of the units that are not cut."""
        return np.flatnonzero(~self.cut)

    @property
    def passages(self) -> Ids:
        """The passages of units that are cut."""
        return np.flatnonzero(np.append(self.cut, False)[self.unit_of])

    def sums(self, of_passages: npt.NDArray[Any]) -> Scores:
        """What the passages of each unit have together; 0 of those that are not cut."""
        rows = self.passages
        weights = of_passages[self.source[rows]]
        return np.bincount(self.unit_of[rows], weights=weights, minlength=len(self.cut)).astype(np.float64)


class KeysPart(BM25Part):
    """The keys of units in a part: those that are cut have the words of their passages.

    Args:
        whole: the index of keys.
        numbers: the number of each unit that is not cut by its id in the whole, -1 for all others.
        passages: the part of the index of passages.
        units: which are cut.
    """

    def __init__(self, whole: BM25, numbers: Ids, passages: BM25Part, units: CutUnits) -> None:
        super().__init__(whole, numbers)
        self._passages, self._cut, self._first = passages, units, len(self._ids)
        lengths = units.sums(units.terms).astype(np.int32)
        self._ids = np.concatenate([self._ids, np.arange(len(units.cut))])
        self._lengths = np.concatenate([self._lengths, lengths])
        self._units, self._length = self._units + int(units.cut.sum()), self._length + int(lengths.sum())

    def _held(self, query: str | Sequence[str]) -> list[tuple[str, ...]]:
        self._passages._held(query)
        return super()._held(query)

    def _occurrences(self, variants: tuple[str, ...]) -> tuple[Ints, Ints]:
        slots, counts = super()._occurrences(variants)
        if not self._cut.cut.any():
            return slots, counts
        of_passages = np.zeros(len(self._cut.source))
        held, often = self._passages._occurrences(variants)
        of_passages[self._passages._ids[held]] = often
        sums = self._cut.sums(of_passages).astype(np.int32)
        cut = np.flatnonzero(sums)
        return np.concatenate([slots, cut + self._first]).astype(np.int32), np.concatenate([counts, sums[cut]])


class KeyVectorsPart(VectorPart):
    """The vectors of keys in a part: of units that are cut, the mean of their passages counts.

    Args:
        whole: the index of the keys' vectors.
        ids: of the units in the whole, by their numbers.
        passages: the part of the index of the passages' vectors.
        units: which are cut.
    """

    def __init__(self, whole: VectorIndex, ids: Ids, passages: VectorPart, units: CutUnits) -> None:
        super().__init__(whole, ids[units.whole], units.whole)
        self._passages, self._cut = passages, units

    def scores(self, vector: npt.ArrayLike) -> tuple[Ids, Scores]:
        """The numbers of the units and their cosines to ``vector``."""
        ids, cosines = super().scores(vector)
        if not self._cut.cut.any() or not len(self._passages):
            return ids, cosines
        of_passages = np.zeros(len(self._cut.source))
        of_passages[self._passages._ids] = self._passages.scores(vector)[1]
        cut = np.flatnonzero(self._cut.cut)
        count = np.maximum(self._cut.sums(np.ones(len(self._cut.source)))[cut], 1)
        return np.concatenate([ids, cut]), np.concatenate([cosines, self._cut.sums(of_passages)[cut] / count])
