"""A part of an index, searched as though nothing else were in it; its words and vectors stay where they are."""

from __future__ import annotations

from collections.abc import Sequence

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
