"""Nearest vectors by cosine, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..vectors import Vectors, row_products, unit_rows
from .top import Ids, Scores, best

# Single precision sums differ in the last digits with the order of the addends, so candidates this close to the cut
# stay in until they have been scored in double precision.
_CLOSE: Final = 1e-5

_FEW: Final = 0.25
"""Up to which share of all vectors some are compared alone."""

_PLACE_BYTES: Final = 110
"""A vector's place in a dictionary, as tracemalloc has it."""


class VectorIndex:
    """Exact cosine search over all vectors.

    Adding, replacing or removing a vector costs O(d), averaged over many; searching costs O(n d). Vectors are scaled
    to length 1; a vector of zeros scores 0. The first vectors say how many dimensions all have. Calls must not overlap
    with a change: whoever shares an index between threads holds a lock.
    """

    def __init__(self) -> None:
        # The first so many places are in use, without gaps.
        self._rows: Vectors = np.zeros((0, 0), dtype=np.float32)
        self._ids: Ids = np.zeros(0, dtype=np.int64)
        self._place_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._place_of)

    @property
    def dimensions(self) -> int:
        """How many dimensions the vectors have; 0 where there are none."""
        return int(self._rows.shape[1])

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return self._rows.nbytes + self._ids.nbytes + _PLACE_BYTES * len(self)

    def add(self, ids: Sequence[int], vectors: npt.ArrayLike) -> None:
        """Add vectors, or replace those whose id is known.

        Args:
            ids: one integer a vector; of an id that comes twice the last vector stays.
            vectors: shape ``(n, d)``.

        Raises:
            InvalidInput: for another number of ids, another number of dimensions, or a value that is not finite.
        """
        for unit_id, row in zip(ids, self._unit_rows(vectors, len(ids)), strict=True):
            place = self._place_of.setdefault(int(unit_id), len(self))
            if place == len(self._rows):
                self._grow(len(row))
            self._ids[place], self._rows[place] = unit_id, row

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are passed over."""
        for unit_id in ids:
            place = self._place_of.pop(int(unit_id), None)
            if place is not None and place < len(self):
                self._move(len(self), place)

    def rename(self, unit_id: int, new: int) -> None:
        """Give a vector another id, which none has; an unknown one is passed over."""
        if (place := self._place_of.pop(unit_id, None)) is not None:
            self._place_of[new] = place
            self._ids[place] = new

    def search(self, vector: npt.ArrayLike, k: int) -> list[tuple[int, float]]:
        """The ``k`` vectors with the highest cosine to ``vector``, best first, ties by id."""
        if not len(self):
            return []
        query, rough = self._cosines(vector)
        cut = np.partition(rough, -k)[-k] - _CLOSE if 0 < k < len(self) else -np.inf
        places = np.flatnonzero(rough >= cut)
        # In double precision, and the same for equal rows wherever these are stored.
        exact = (self._rows[places].astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        return best(self._ids[places], exact, k)

    def scores(self, vector: npt.ArrayLike) -> tuple[Ids, Scores]:
        """The ids of all vectors and their cosines to ``vector``."""
        if not len(self):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        return self._ids[: len(self)].copy(), self._cosines(vector)[1].astype(np.float64)

    def vectors_of(self, ids: Sequence[int]) -> Vectors | None:
        """The vectors of ``ids``, shape ``(len(ids), d)``, of length 1; nothing where one has none."""
        places = [self._place_of.get(int(unit_id), -1) for unit_id in ids]
        return None if -1 in places else self._rows[places]

    def places_of(self, ids: Ids) -> Ids:
        """The places of the vectors of ``ids`` until the next change, -1 where one has none."""
        return np.array([self._place_of.get(each, -1) for each in ids.tolist()], dtype=np.int64)

    def at(self, places: Ids) -> Vectors:
        """The vectors at these places, shape ``(len(places), d)``."""
        return self._rows[places]

    def scores_at(self, places: Ids, vector: npt.ArrayLike) -> Scores:
        """The cosines to ``vector`` of the vectors at these places."""
        if len(places) > len(self) * _FEW:
            return self._cosines(vector)[1][places].astype(np.float64)
        [query] = self._unit_rows(np.asarray(vector, dtype=np.float32)[None], 1)
        return np.asarray(row_products(self._rows[places], query), dtype=np.float64)

    def load(self, ids: Ids, rows: Vectors) -> None:
        """Hold these vectors, which are of length 1 or 0, in the place of all.

        Args:
            ids: each once, shape ``(n,)``.
            rows: shape ``(n, d)``.
        """
        self._ids, self._rows = ids, rows
        self._place_of = dict(zip(ids.tolist(), range(len(ids)), strict=True))

    def held(self, ids: Ids) -> tuple[Ids, Vectors]:
        """Those of the ids that have a vector, and their vectors, of length 1 or 0."""
        known = np.array([each for each in ids.tolist() if each in self._place_of], dtype=np.int64)
        return known, self._rows[[self._place_of[each] for each in known.tolist()]]

    def _cosines(self, vector: npt.ArrayLike) -> tuple[Vectors, Vectors]:
        """The vector at length 1, and its cosines to all others, in single precision."""
        [query] = self._unit_rows(np.asarray(vector, dtype=np.float32)[None], 1)
        return query, row_products(self._rows[: len(self)], query)

    def _unit_rows(self, vectors: npt.ArrayLike, count: int) -> Vectors:
        rows = unit_rows(np.asarray(vectors, dtype=np.float32), count)
        dimensions = self._rows.shape[1]
        if dimensions and count and rows.shape[1] != dimensions:
            raise InvalidInput(f"this index holds vectors of {dimensions} dimensions, got {rows.shape[1]}")
        return rows

    def _move(self, place: int, to: int) -> None:
        self._rows[to], self._ids[to] = self._rows[place], self._ids[place]
        self._place_of[int(self._ids[to])] = to

    def _grow(self, dimensions: int) -> None:
        more = max(16, len(self._rows))
        self._rows = np.concatenate([self._rows.reshape(-1, dimensions), np.zeros((more, dimensions), np.float32)])
        self._ids = np.concatenate([self._ids, np.zeros(more, dtype=np.int64)])
