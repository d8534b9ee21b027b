"""The columns of a scope's passages: those that came from disk are read when somebody first looks into them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..indexes.postings import Longs

Reals = npt.NDArray[np.float64]
Smalls = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]

ColumnReader: TypeAlias = Callable[[npt.NDArray[Any], str], None]
"""Writes the column of a name into an array of its length."""


class ColumnSource(Protocol):
    """Where columns are that came from disk."""

    def copy_to(self, column: npt.NDArray[Any], name: str, /) -> None:
        """Write the column of a name into an array of its length."""
        ...

    def reader_at(self, numbers: Longs, /) -> ColumnReader:
        """A function that writes what a column has at some rows, none of them below 0, and does not make the others."""
        ...

    def apart(self, name: str, step: int, /) -> Longs:
        """The rows for which a column does not have the row itself plus ``step``, in rising order."""
        ...


class HeldColumns:
    """Columns that are in memory already.

    Args:
        columns: by their names.
    """

    def __init__(self, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        self._columns = columns

    def copy_to(self, column: npt.NDArray[Any], name: str, /) -> None:
        """Write the column of a name into an array of its length."""
        column[...] = self._columns[name]

    def reader_at(self, numbers: Longs, /) -> ColumnReader:
        """A function that writes what a column has at some rows."""

        def read(found: npt.NDArray[Any], name: str) -> None:
            found[...] = self._columns[name][numbers]

        return read

    def apart(self, name: str, step: int, /) -> Longs:
        """The rows for which a column does not have the row itself plus ``step``, in rising order."""
        column = self._columns[name]
        return np.flatnonzero(column != np.arange(step, len(column) + step))


_MANY: Final = 50_000
"""From how many rows on a column is not made whole for a few of them, which would take longer than all else."""

_FEW: Final = 100
"""Of how many rows one is asked for at most: of more, a part takes longer than the whole."""

_OFTEN: Final = 6
"""How often parts of a column are asked for before it is made whole: by then, whoever asks goes on asking."""

_OF_A_QUERY, _HIGHEST = 8, 31 << 20

_NUMBERS: Final = np.dtype(np.int64)
_KINDS: Final[dict[str, tuple[np.dtype[Any], int]]] = {
    **dict.fromkeys(("before", "after", "head", "previous", "following", "session", "memory"), (_NUMBERS, -1)),
    **dict.fromkeys(("source", "index", "shown", "said", "digest"), (_NUMBERS, -1)),
    **dict.fromkeys(("cast", "day", "place", "start", "stop"), (np.dtype(np.int32), -1)),
    **dict.fromkeys(("about_first", "about_last"), (np.dtype(np.int32), -1)),
    "kind": (np.dtype(np.int8), -1),
    "mark": (np.dtype(np.int16), -1),
    **dict.fromkeys(("asks", "stands", "non_answer", "latest", "short"), (np.dtype(np.int8), 0)),
    **dict.fromkeys(("terms", "tokens", "turn_tokens", "times"), (np.dtype(np.int32), 0)),
    "moment": (np.dtype(np.float64), 0),
}
"""Of each column the type, and what it has where a row is empty."""


def _keep_freed_memory(nbytes: int) -> None:
    """Have the C library keep the memory of freed arrays of this size, of which a query makes a dozen, for the next.

    glibc gives what is larger than a threshold back to the system at once, and each new array then costs a page fault
    for every 4 KiB: a recall of 100,000 exchanges took 21 ms in place of 12. The threshold rises to the size of the
    largest array that was freed so far, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD). No byte of this one is touched.
    """
    np.empty(min(_OF_A_QUERY * nbytes, _HIGHEST), dtype=np.int8)


def _rooms(size: int) -> dict[str, npt.NDArray[Any]]:
    """Room for each column, all of them in one piece of memory.

    Of a piece of 4 MiB or more, numpy asks the system for huge pages: of small ones, each 4 KiB that are first written
    to cost a page fault, which takes longer than writing them.
    """
    whole, start = np.empty(size * sum(kind.itemsize for kind, _ in _KINDS.values()), dtype=np.int8), 0
    rooms: dict[str, npt.NDArray[Any]] = {}
    # The widest first, so that each begins where its numbers may.
    for name, (kind, _) in sorted(_KINDS.items(), key=lambda each: -each[1][0].itemsize):
        rooms[name] = whole[start : start + size * kind.itemsize].view(kind)
        start += rooms[name].nbytes
    return rooms


class _Named:
    """The columns by their names.

    Attributes:
        before, after: the row before it, and after it, in its session, or -1.
        head: the first row of its turn.
        previous, following: of a turn's first row, that of the turn before it, and after it, or -1.
        session: the number of its session.
        cast: the place of its speakers in `PassageTable.casts`.
        memory: the number of its memory, or -1.
        kind: an utterance among people, what a user says to an assistant, or a reply.
        day: the day on which it was said, as `datetime.date.toordinal` counts, or 0.
        source: the row whose words it repeats, which is indexed in its place; itself where it repeats none.
        index: the place of its turn in the session.
        shown: of a source, the row that says the same last.
        latest: whether it was not said again later.
        place: which message of its turn it is of.
        start, stop: where it begins and ends in the message, in characters.
        said: a number that is the same for what says the same (`secom_core.ranking.repeats.said`).
        digest: a number that stands for the id of its turn.
        mark: a part of the digest, by which a turn is told from another.
        about_first, about_last: the first and the last day that it speaks of, or 0.
        terms: how many terms it has in the lexical index.
        asks: 1 where it ends as a question; of what a user says to an assistant, where it tells nothing besides.
        stands: the place in `STANDING` of what a user says that holds from then on.
        non_answer: 1 where it says that nothing is known.
        tokens: how many tokens it has.
        turn_tokens: how many tokens its turn has with its labels.
        short: whether its turn is ranked and shown whole.
        moment: when it was said, in seconds since 1970.
        times: of a source, how many rows say the same.
    """

    before: Longs
    after: Longs
    head: Longs
    previous: Longs
    following: Longs
    session: Longs
    cast: Ints
    memory: Longs
    kind: Smalls
    day: Ints
    source: Longs
    index: Longs
    shown: Longs
    latest: Smalls
    place: Ints
    start: Ints
    stop: Ints
    said: Longs
    digest: Longs
    mark: Shorts
    about_first: Ints
    about_last: Ints
    terms: Ints
    asks: Smalls
    stands: Smalls
    non_answer: Smalls
    tokens: Ints
    turn_tokens: Ints
    short: Smalls
    moment: Reals
    times: Ints


class ColumnsAt(_Named):
    """What columns have at some rows, each read when it is asked for.

    Args:
        columns: the columns.
        rows: the rows, of any shape; where there are any rows, one may be -1, and what is there means nothing.
    """

    def __init__(self, columns: Columns, rows: Longs) -> None:
        self._columns, self._rows = columns, np.asarray(rows, dtype=np.int64)
        self._read: ColumnReader | None = None

    # Called for what is no attribute yet.
    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _KINDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        source = self._columns.source_of(name, self._rows.size)
        found = getattr(self._columns, name)[self._rows] if source is None else self._found(source, name)
        self.__dict__[name] = found
        return found

    def _found(self, source: ColumnSource, name: str) -> npt.NDArray[Any]:
        rows = np.maximum(self._rows.ravel(), 0)
        if self._read is None:
            self._read = source.reader_at(rows)
        found = np.empty(len(rows), dtype=_KINDS[name][0])
        self._read(found, name)
        return found.reshape(self._rows.shape)


class Columns(_Named):
    """Columns of one length, which grow together."""

    def __init__(self) -> None:
        self._size = 0
        self._rooms: dict[str, npt.NDArray[Any]] = {}
        self._source: ColumnSource | None = None
        self._asked = Counter[str]()
        self._held = {name: np.full(16, empty, dtype=kind) for name, (kind, empty) in _KINDS.items()}

    def __len__(self) -> int:
        return self._size

    # Called for what is no attribute yet: a column that nobody has asked for since the last row came.
    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _KINDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name not in self._held:
            if self._source is None:
                raise KeyError(f"no column {name!r} is on disk")
            self._source.copy_to(self._rooms[name], name)
            self._held[name] = self._rooms[name]
        column = self.__dict__[name] = self._held[name][: self._size]
        return column

    @property
    def nbytes(self) -> int:
        """How many bytes they take once all are read."""
        return self._size * sum(kind.itemsize for kind, _ in _KINDS.values())

    def hold(self) -> None:
        """Read what was not read yet, before rows come or go."""
        if self._source is not None:
            for name in _KINDS:
                getattr(self, name)
            self._source, self._rooms = None, {}

    def at(self, rows: Longs) -> ColumnsAt:
        """What the columns have at some rows; of many, one that is on disk is read there alone, the first few times."""
        return ColumnsAt(self, rows)

    def source_of(self, name: str, rows: int) -> ColumnSource | None:
        """Where a column is to be read at so many rows that are asked for; nothing where it is made whole."""
        if name in self._held or self._size < _MANY or rows * _FEW > self._size:
            return None
        self._asked[name] += 1
        return self._source if self._asked[name] <= _OFTEN else None

    def _apart(self, name: str, step: int) -> Longs:
        """The rows for which a column does not have the row itself plus ``step``, in rising order."""
        if name not in self._held and self._source is not None:
            return self._source.apart(name, step)
        return HeldColumns({name: getattr(self, name)}).apart(name, step)

    def columns(self, rows: Longs) -> dict[str, npt.NDArray[Any]]:
        """All that is known of rows beside their words: a column by name."""
        return {name: getattr(self, name)[rows] for name in _KINDS}

    def _hold_columns(self, size: int, source: ColumnSource) -> None:
        """Hold what `columns` gave of so many rows, in the place of what is held."""
        self._hide()
        self._held, self._rooms, self._source, self._size = {}, _rooms(size), source, size
        self._asked.clear()
        _keep_freed_memory(_NUMBERS.itemsize * size)

    def _add_row(self) -> int:
        """A new, empty row."""
        self.hold()
        self._hide()
        if self._size == len(self._held["head"]):
            for name, (kind, empty) in _KINDS.items():
                self._held[name] = np.concatenate([self._held[name], np.full(max(16, self._size), empty, dtype=kind)])
        self._size += 1
        return self._size - 1

    def _empty_row(self, row: int) -> None:
        for name, (_, empty) in _KINDS.items():
            getattr(self, name)[row] = empty

    def _hide(self) -> None:
        for name in _KINDS:
            self.__dict__.pop(name, None)
