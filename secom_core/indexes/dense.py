"""Nearest vectors by cosine: with numpy alone, and with FAISS, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from secom_core.errors import InvalidInput, MissingExtra
from secom_core.indexes.top import Ids, Scores, best

__all__ = ["FaissIndex", "NumpyIndex"]

_Rows = npt.NDArray[np.float32]
_Places = npt.NDArray[np.intp]

# Single precision sums differ in the last digits with the order of the addends, so candidates this close to the cut
# stay in until they have been scored in double precision.
_CLOSE: Final = 1e-5
_SPARE: Final = 16
_SPARE_PLACES: Final = 256
_NEIGHBOURS: Final = 32
_EF_CONSTRUCTION: Final = 100
_EF_SEARCH: Final = 128
# FAISS links up to 100 vectors a call on one thread, hence in the same order every time.
_LINKED_AT_ONCE: Final = 100
_LINKED_A_CALL: Final = 8


def _unit_rows(vectors: npt.ArrayLike, dimensions: int | None) -> _Rows:
    """Rows of length 1 in single precision; a row of zeros stays as it is."""
    rows = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
    if rows.ndim != 2:
        raise InvalidInput(f"vectors come as an array of shape (n, d), got shape {rows.shape}")
    if dimensions is not None and rows.size and rows.shape[1] != dimensions:
        raise InvalidInput(f"this index holds vectors of {dimensions} dimensions, got {rows.shape[1]}")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InvalidInput(f"a vector must be finite, got {rows[row, column]} in row {row}, dimension {column}")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: _Rows = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
    return unit


def _unit_vector(vector: npt.ArrayLike, dimensions: int | None) -> _Rows:
    rows = _unit_rows(vector, dimensions)
    if rows.shape[0] != 1:
        raise InvalidInput(f"a query is one vector, got {rows.shape[0]}")
    query: _Rows = rows[0]
    return query


def _exactly(rows: _Rows, vector: _Rows) -> Scores:
    """Inner products in double precision, the same for equal rows wherever these are stored."""
    products: Scores = (rows.astype(np.float64) * vector.astype(np.float64)).sum(axis=1)
    return products


def _rows_for(ids: Sequence[int], vectors: npt.ArrayLike, dimensions: int | None) -> _Rows:
    rows = _unit_rows(vectors, dimensions)
    if not rows.size:
        rows = rows[:0]
    if len(ids) != len(rows):
        raise InvalidInput(f"each vector needs one id, got {len(ids)} ids for {len(rows)} vectors")
    return rows


# A vector's place in a dictionary, as tracemalloc has it.
_PLACE_BYTES: Final = 110


class NumpyIndex:
    """Exact cosine search by one matrix product over all vectors.

    Adding, replacing or removing a vector costs O(d), averaged over many; searching costs O(n d). Vectors are scaled
    to length 1; a vector of zeros scores 0. Calls must not overlap with a change: whoever shares an index between
    threads holds a lock.

    Args:
        dimensions: d; taken from the first vectors where ``None``.
    """

    def __init__(self, dimensions: int | None = None) -> None:
        self._rows: _Rows = np.zeros((0, dimensions or 0), dtype=np.float32)
        self._dimensions = dimensions
        self._ids: Ids = np.zeros(0, dtype=np.int64)
        self._live: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._place_of: dict[int, int] = {}
        self._free: list[int] = []
        self._used = 0

    def __len__(self) -> int:
        return len(self._place_of)

    def __contains__(self, unit: int) -> bool:
        return unit in self._place_of

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors, once known."""
        return self._dimensions

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return self._rows.nbytes + self._ids.nbytes + self._live.nbytes + _PLACE_BYTES * len(self._place_of)

    def add(self, ids: Sequence[int], vectors: npt.ArrayLike) -> None:
        """Add vectors, or replace those whose id is known.

        Args:
            ids: one integer a vector; of an id that comes twice the last vector stays.
            vectors: shape ``(n, d)``.

        Raises:
            InvalidInput: for another number of ids, another number of dimensions, or a value that is not finite.
        """
        rows = _rows_for(ids, vectors, self._dimensions)
        self._dimensions = self._dimensions or rows.shape[1] or None
        for unit_id, row in zip(ids, rows, strict=True):
            place = self._place_of.get(int(unit_id))
            if place is None:
                place = self._claim(int(unit_id))
            self._rows[place] = row

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are passed over."""
        for unit_id in ids:
            place = self._place_of.pop(int(unit_id), None)
            if place is not None:
                self._live[place] = False
                self._free.append(place)

    def search(self, vector: npt.ArrayLike, k: int) -> list[tuple[int, float]]:
        """The ``k`` vectors with the highest cosine to ``vector``, best first, ties by id."""
        if not self._place_of:
            return []
        query = _unit_vector(vector, self._dimensions)
        places = np.flatnonzero(self._live[: self._used])
        rough = (self._rows[: self._used] @ query)[places]
        if 0 < k < len(places):
            places = places[rough >= np.partition(rough, -k)[-k] - _CLOSE]
        return best(self._ids[places], _exactly(self._rows[places], query), k)

    def scores(self, vector: npt.ArrayLike) -> tuple[Ids, Scores]:
        """The ids of all vectors and their cosines to ``vector``."""
        if not self._place_of:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        query = _unit_vector(vector, self._dimensions)
        live = self._live[: self._used]
        return self._ids[: self._used][live], (self._rows[: self._used] @ query)[live].astype(np.float64)

    def vectors_of(self, ids: Sequence[int]) -> _Rows:
        """The vectors of ``ids``, shape ``(len(ids), d)``, of length 1.

        Raises:
            InvalidInput: for an unknown id.
        """
        return self._rows[_places(self._place_of, ids)]

    def _claim(self, unit_id: int) -> int:
        place = self._free.pop() if self._free else self._used
        if place == len(self._rows):
            self._grow()
        self._used = max(self._used, place + 1)
        self._ids[place], self._live[place] = unit_id, True
        self._place_of[unit_id] = place
        return place

    def _grow(self) -> None:
        room = max(16, 2 * len(self._rows))
        rows = np.zeros((room, self._dimensions or 0), dtype=np.float32)
        if self._used:
            rows[: self._used] = self._rows[: self._used]
        self._rows = rows
        self._ids = np.resize(self._ids, room)
        self._live = np.concatenate([self._live, np.zeros(room - len(self._live), dtype=np.bool_)])


def _places(known: dict[int, int], ids: Sequence[int]) -> list[int]:
    missing = [unit_id for unit_id in ids if int(unit_id) not in known]
    if missing:
        raise InvalidInput(f"no vector has the id {missing[0]!r}")
    return [known[int(unit_id)] for unit_id in ids]


class FaissIndex:
    """Cosine search with FAISS: exact up to a size, by a graph beyond it.

    Up to ``exact_up_to`` vectors the search is exact (``IndexFlatIP``) and agrees with `NumpyIndex`. Beyond that, an
    HNSW graph (Malkov & Yashunin, 2018; inner product) takes over a few vectors with every call to `add`, so that no
    single addition waits for a graph to be built; what the graph does not hold yet is searched exactly beside it.
    `link` brings the graph up to date at once.

    Removed vectors are filtered out of the search, and the index is rebuilt once they are more than half, which
    keeps the average cost of a change at O(d), or at that of a graph insertion. Vectors are scaled to length 1; a
    vector of zeros scores 0. Calls must not overlap with a change.

    Args:
        dimensions: d; taken from the first vectors where ``None``.
        exact_up_to: the number of vectors up to which the search is exact.

    Raises:
        MissingExtra: where FAISS is not installed.
    """

    def __init__(self, dimensions: int | None = None, exact_up_to: int = 50_000) -> None:
        self._faiss = _import_faiss()
        self._dimensions = dimensions
        self._exact_up_to = exact_up_to
        self._clear()

    def __len__(self) -> int:
        return len(self._place_of)

    def __contains__(self, unit: int) -> bool:
        return unit in self._place_of

    @property
    def dimensions(self) -> int | None:
        """The length of the vectors, once known."""
        return self._dimensions

    @property
    def linked(self) -> int:
        """How many vectors are searched through the graph; 0 while the search is exact."""
        return int(self._graph.ntotal) if self._graph is not None else 0

    def add(self, ids: Sequence[int], vectors: npt.ArrayLike) -> None:
        """Add vectors, or replace those whose id is known.

        Args:
            ids: one integer a vector; of an id that comes twice the last vector stays.
            vectors: shape ``(n, d)``.

        Raises:
            InvalidInput: for another number of ids, another number of dimensions, or a value that is not finite.
        """
        rows = _rows_for(ids, vectors, self._dimensions)
        if not len(rows):
            return
        self._append([int(unit_id) for unit_id in ids], rows)
        self._rebuild_if_sparse()
        self._link(_LINKED_A_CALL)

    def remove(self, ids: Sequence[int]) -> None:
        """Remove vectors; unknown ids are passed over."""
        for unit_id in ids:
            self._discard(int(unit_id))
        self._rebuild_if_sparse()

    def link(self) -> None:
        """Bring the graph up to date at once, where there are enough vectors for one."""
        self._link(self._used)

    def search(self, vector: npt.ArrayLike, k: int) -> list[tuple[int, float]]:
        """The ``k`` vectors with the highest cosine to ``vector``, best first, ties by id."""
        if not self._place_of or k <= 0:
            return best(self._ids[:0], np.zeros(0), k)
        query = _unit_vector(vector, self._dimensions)
        places = np.concatenate([self._through_graph(query, k), self._exhaustively(query, k)])
        return best(self._ids[places], _exactly(self._stored()[places], query), k)

    def scores(self, vector: npt.ArrayLike) -> tuple[Ids, Scores]:
        """The ids of all vectors and their cosines to ``vector``, exact at any size."""
        if not self._place_of:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        query = _unit_vector(vector, self._dimensions)
        live = self._live[: self._used]
        return self._ids[: self._used][live], (self._stored() @ query)[live].astype(np.float64)

    def vectors_of(self, ids: Sequence[int]) -> _Rows:
        """The vectors of ``ids``, shape ``(len(ids), d)``, of length 1.

        Raises:
            InvalidInput: for an unknown id.
        """
        places = _places(self._place_of, ids)
        return self._stored()[places] if places else np.zeros((0, self._dimensions or 0), dtype=np.float32)

    def _clear(self) -> None:
        self._flat: Any = None
        self._graph: Any = None
        self._ids: Ids = np.zeros(0, dtype=np.int64)
        self._live: npt.NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._place_of: dict[int, int] = {}
        self._used = 0

    def _append(self, ids: Sequence[int], rows: _Rows) -> None:
        if self._flat is None:
            self._dimensions = rows.shape[1]
            self._flat = self._faiss.IndexFlatIP(self._dimensions)
        self._flat.add(np.ascontiguousarray(rows))
        self._make_room(len(rows))
        for unit_id in ids:
            self._discard(unit_id)
            self._ids[self._used], self._live[self._used] = unit_id, True
            self._place_of[unit_id] = self._used
            self._used += 1

    def _make_room(self, more: int) -> None:
        if self._used + more > len(self._ids):
            room = 2 * (self._used + more)
            self._ids = np.resize(self._ids, room) if len(self._ids) else np.zeros(room, dtype=np.int64)
            self._live = np.concatenate([self._live, np.zeros(room - len(self._live), dtype=np.bool_)])

    def _discard(self, unit_id: int) -> None:
        place = self._place_of.pop(unit_id, None)
        if place is not None:
            self._live[place] = False

    def _stored(self) -> _Rows:
        # A view into FAISS's own memory, valid until the next addition: no second copy of the vectors.
        shape = (self._used, self._flat.d)
        view: _Rows = self._faiss.rev_swig_ptr(self._flat.get_xb(), self._used * self._flat.d).reshape(shape)
        return view

    def _rebuild_if_sparse(self) -> None:
        if self._used <= 2 * len(self._place_of) + _SPARE_PLACES:
            return
        live = self._live[: self._used]
        ids, rows = self._ids[: self._used][live], self._stored()[live]
        self._clear()
        if len(ids):
            self._append(ids.tolist(), rows)

    def _link(self, at_most: int) -> None:
        if len(self._place_of) <= self._exact_up_to and self._graph is None:
            return
        if self._graph is None:
            self._graph = self._faiss.IndexHNSWFlat(self._flat.d, _NEIGHBOURS, self._faiss.METRIC_INNER_PRODUCT)
            self._graph.hnsw.efConstruction = _EF_CONSTRUCTION
        stop = min(self._used, self.linked + at_most)
        for start in range(self.linked, stop, _LINKED_AT_ONCE):
            self._graph.add(self._stored()[start : min(start + _LINKED_AT_ONCE, stop)])

    def _selector(self, start: int, stop: int) -> tuple[Any, npt.NDArray[np.uint8]]:
        """A filter for the live places of a range, and the bits that it looks into."""
        wanted = self._live[: self._used].copy()
        wanted[:start] = False
        wanted[stop:] = False
        bits = np.packbits(wanted, bitorder="little")
        return self._faiss.IDSelectorBitmap(self._used, self._faiss.swig_ptr(bits)), bits

    def _through_graph(self, query: _Rows, k: int) -> _Places:
        if not self.linked:
            return np.zeros(0, dtype=np.intp)
        selector, bits = self._selector(0, self.linked)
        fetched = min(k + _SPARE, self.linked)
        options = self._faiss.SearchParametersHNSW(efSearch=max(_EF_SEARCH, 2 * fetched), sel=selector)
        _, places = self._graph.search(query[None], fetched, params=options)
        del bits
        found: _Places = places[0][places[0] >= 0].astype(np.intp)
        return found

    def _exhaustively(self, query: _Rows, k: int) -> _Places:
        """The places of the best ``k`` outside the graph, and of all that come close to the last of them."""
        selector, bits = self._selector(self.linked, self._used)
        options = self._faiss.SearchParameters(sel=selector)
        count = int(self._live[self.linked : self._used].sum())
        fetched = min(k + _SPARE, count)
        while fetched:
            scores, places = self._flat.search(query[None], fetched, params=options)
            if fetched == count or scores[0][-1] < scores[0][k - 1] - _CLOSE:
                break
            fetched = min(2 * fetched, count)
        del bits
        found: _Places = places[0].astype(np.intp) if fetched else np.zeros(0, dtype=np.intp)
        return found


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError as missing:
        raise MissingExtra("FaissIndex", "dense") from missing
    return faiss
