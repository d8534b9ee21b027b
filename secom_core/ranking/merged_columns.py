"""The columns of a scope's index over all blocks that it is kept in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ..errors import StaleIndex
from ..indexes.packed import PackedArrays
from ..indexes.postings import Arrays, Longs
from .block import Block
from .columns import ColumnReader

_COLUMNS: Final = {"passages": ("row ", "changed rows"), "memories": ("memory ", "changed memories")}
"""How the names of the columns of passages and of memories begin, and the numbers of those before a block that it says
anew: these come first in its columns."""


@contextmanager
def fitting() -> Iterator[None]:
    """What does not fit together is damaged."""
    try:
        yield
    except (ValueError, IndexError, KeyError) as error:
        raise StaleIndex(f"the index that is kept with the bank is damaged: {error}") from error


@dataclass(frozen=True)
class _Part:
    """What one block has of columns.

    Args:
        arrays: the columns, with others.
        older: the numbers before the block that it says anew, in rising order; these come first in its columns.
        start: the first number that is new in it.
        stop: the number after its last.
    """

    arrays: Arrays
    older: Longs
    start: int
    stop: int

    def places(self, numbers: Longs) -> Longs:
        """Where in the block's columns these numbers are, which are new in it."""
        return numbers - (self.start - len(self.older))


@dataclass(frozen=True)
class Merged(Mapping[str, npt.NDArray[Any]]):
    """The columns of all blocks by number; what a later one says counts. One is made when it is asked for, every time.

    Args:
        blocks: all of them, in order.
        of: what they are columns of: ``"passages"`` or ``"memories"``.
    """

    blocks: Sequence[Block]
    of: Literal["passages", "memories"]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        found = np.empty(self.numbers, dtype=self.blocks[0].arrays[self._prefix + name].dtype)
        self.copy_to(found, name)
        return found

    @property
    def _prefix(self) -> str:
        return _COLUMNS[self.of][0]

    @cached_property
    def _parts(self) -> list[_Part]:
        _, changed = _COLUMNS[self.of]
        return [
            _Part(each.arrays, each.arrays[changed], getattr(each.start, self.of), getattr(each.stop, self.of))
            for each in self.blocks
        ]

    @property
    def numbers(self) -> int:
        """How many there are of each column."""
        return int(getattr(self.blocks[-1].stop, self.of))

    def copy_to(self, column: npt.NDArray[Any], name: str) -> None:
        """Write a column into an array of a type that is wide enough for it.

        Raises:
            StaleIndex: a block says it of more or fewer numbers than it has.
        """
        with fitting():
            for part in self._parts:
                # What has come since the block before is a range, into which is copied ten times as fast.
                new = column[part.start : part.stop]
                if isinstance(part.arrays, PackedArrays) and not len(part.older):
                    part.arrays.copy_to(new, self._prefix + name)
                else:
                    said = part.arrays[self._prefix + name]
                    column[part.older], new[...] = said[: len(part.older)], said[len(part.older) :]

    def reader_at(self, numbers: Longs) -> ColumnReader:
        """A function that writes what a column has at some numbers, and does not make the others.

        Args:
            numbers: in any order; none below 0. Shape ``(n,)``.

        Returns:
            The function, of an array of shape ``(n,)`` and a column's name; it raises `StaleIndex` as `copy_to` does.
        """
        of_part = np.searchsorted([part.start for part in self._parts], numbers, side="right") - 1
        asked: list[tuple[_Part, Longs, Longs]] = []
        for at, part in enumerate(self._parts):
            ours = np.flatnonzero(of_part == at)
            if len(ours):
                asked.append((part, ours, part.places(numbers[ours])))
            if len(part.older):
                # A few numbers are looked up among many, and not the other way round.
                places = np.minimum(np.searchsorted(part.older, numbers), len(part.older) - 1)
                again = np.flatnonzero(part.older[places] == numbers)
                asked += [(part, again, places[again])] if len(again) else []

        def read(found: npt.NDArray[Any], name: str) -> None:
            with fitting():
                for part, where, places in asked:
                    found[where] = _at(part.arrays, self._prefix + name, places)

        return read

    def apart(self, name: str, step: int) -> Longs:
        """The numbers for which a column does not have the number itself plus ``step``, in rising order."""
        is_apart = np.zeros(self.numbers, dtype=np.bool_)
        with fitting():
            for part in self._parts:
                first, arrays = part.start - len(part.older) + step, part.arrays
                size = part.stop - part.start + len(part.older)
                if isinstance(arrays, PackedArrays):
                    may_be = arrays.may_differ(self._prefix + name, first, size)
                    is_apart[part.start : part.stop] = may_be[len(part.older) :]
                else:
                    is_apart[part.start : part.stop] = True
                is_apart[part.older] = True
        found = np.flatnonzero(is_apart)
        values = np.empty(len(found), dtype=np.int64)
        self.reader_at(found)(values, name)
        return np.asarray(found[values != found + step])

    def __iter__(self) -> Iterator[str]:
        prefix = self._prefix
        return (name.removeprefix(prefix) for name in self.blocks[0].arrays if name.startswith(prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _at(arrays: Arrays, name: str, places: Longs) -> npt.NDArray[Any]:
    return np.asarray(arrays.at(name, places) if isinstance(arrays, PackedArrays) else arrays[name][places])
