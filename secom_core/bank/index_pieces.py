"""Pieces of the search index that is kept with the bank, read when a query asks for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from ..indexes.postings import Range
from ..ranking.block import EntryReader
from ..stores.index_blocks import PIECE

_ENTRY_BYTES: Final = 8
_PIECES: Final = 1024
"""How many pieces of postings that were read are kept for the next words."""


@dataclass
class Pieces:
    """Reads pieces of postings; those read last stay in memory.

    Args:
        read: reads pieces of a part of a block by their numbers.
    """

    read: Callable[[int, str, Sequence[int]], dict[int, bytes]]
    _held: OrderedDict[tuple[int, str, int], bytes] = field(default_factory=OrderedDict)

    @property
    def nbytes(self) -> int:
        """How many bytes those in memory have."""
        return sum(map(len, self._held.values()))

    def reader(self, block: int) -> EntryReader:
        """What reads the postings of a block."""
        return partial(self.entries, block)

    def entries(self, block: int, part: str, ranges: Sequence[Range]) -> list[npt.NDArray[np.int32]]:
        """The postings of a part of a block, from one entry up to another, by range."""
        numbers = [range(start * _ENTRY_BYTES // PIECE, -(-stop * _ENTRY_BYTES // PIECE)) for start, stop in ranges]
        pieces = self._pieces(block, part, {each for of_range in numbers for each in of_range})
        found: list[npt.NDArray[np.int32]] = []
        for (start, stop), of_range in zip(ranges, numbers, strict=True):
            begin = start * _ENTRY_BYTES - of_range.start * PIECE
            data = b"".join(pieces[each] for each in of_range)
            found.append(np.frombuffer(data, dtype="<i4", count=2 * (stop - start), offset=begin).reshape(-1, 2))
        return found

    def _pieces(self, block: int, part: str, numbers: set[int]) -> dict[int, bytes]:
        held = {each: self._held[block, part, each] for each in numbers if (block, part, each) in self._held}
        missing = sorted(numbers - held.keys())
        if not missing:
            return held
        read = self.read(block, part, missing)
        if len(read) <= _PIECES:
            self._held.update(((block, part, number), data) for number, data in read.items())
            while len(self._held) > _PIECES:
                self._held.popitem(last=False)
        return {**held, **read}
