"""Arrays as the bytes that they are kept in, whole numbers in as few as hold them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import StaleIndex

_HEAD: Final = struct.Struct("<Q")
_ALIGNED: Final = 8
_KINDS_OF_WHOLE: Final = ("|i1", "<i2", "<i4", "<i8")
_KINDS: Final = frozenset({*_KINDS_OF_WHOLE, "<f8", "<f4"})


def packed(about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Arrays and what is to be known of them as bytes, which `unpacked` reads."""
    small = {name: _narrowed(array) for name, array in arrays.items()}
    named = {name: [array.dtype.str, list(array.shape), *small[name][1:]] for name, array in arrays.items()}
    head = json.dumps({"about": dict(about), "arrays": named}).encode()
    parts = [_HEAD.pack(len(head)), head, *(_padded(array.tobytes()) for array, *_ in small.values())]
    parts[1] = _padded(head)
    return b"".join(parts)


def _narrowed(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str, int, bool]:
    """An array as it is kept: whole numbers in as few bytes as hold how much more each is than the least, or than the
    one before, as most columns rise; then what it is kept as, the number that is taken off, and whether they are steps.
    """
    if array.dtype.kind == "i" and array.ndim == 1 and array.size:
        least, first = int(array.min()), int(array[0])
        for kind in _KINDS_OF_WHOLE:
            limit = np.iinfo(kind).max
            if np.dtype(kind).itemsize >= array.dtype.itemsize:
                break
            if int(array.max()) - least <= limit:
                return (array.astype(np.int64) - least).astype(kind), kind, least, False
            steps = np.diff(array.astype(np.int64), prepend=first)
            if -limit <= int(steps.min()) and int(steps.max()) <= limit:
                return steps.astype(kind), kind, first, True
    return array, array.dtype.str, 0, False


def _widened(kept: npt.NDArray[Any], kind: str, base: int, out: npt.NDArray[Any], *, steps: bool) -> None:
    """Write into ``out`` what `_narrowed` was given."""
    if kept.dtype.str == kind:
        out[...] = kept
    elif steps:
        np.cumsum(kept, dtype=out.dtype, out=out)
        out += np.array(base, dtype=kind)
    else:
        np.add(kept, np.array(base, dtype=kind), out=out, casting="unsafe", dtype=kind)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNED)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where an array is in bytes, and how: see `_narrowed`."""

    kind: str
    shape: tuple[int, ...]
    kept_as: str
    base: int
    steps: bool
    place: int

    @classmethod
    def at(cls, place: int, told: Sequence[Any]) -> _Kept:
        """What the head of the bytes tells of the array that begins at a place; `ValueError` where that cannot be."""
        kind, shape, kept_as, base, steps = told
        if not {kind, kept_as} <= _KINDS:
            raise ValueError(f"arrays are of {sorted(_KINDS)}, not {kind!r} and {kept_as!r}")
        if not all(isinstance(each, int) and each >= 0 for each in shape):
            raise ValueError(f"an array cannot have the shape {shape!r}")
        # Whether it is within bounds.
        np.array(base, dtype=kind)
        return cls(kind, tuple(shape), kept_as, base, steps, place)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.kept_as).itemsize


class PackedArrays(Mapping[str, npt.NDArray[Any]]):
    """Arrays by name in the bytes that they are kept in; each is made when it is asked for, every time.

    Args:
        data: the bytes.
        kept: where each is.
    """

    def __init__(self, data: bytearray, kept: Mapping[str, _Kept]) -> None:
        self._data, self._kept = data, kept

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        kept, read = self._kept[name], self._read(name)
        if kept.kept_as == kept.kind:
            return read
        found = np.empty(kept.shape, dtype=kept.kind)
        _widened(read, kept.kind, kept.base, found, steps=kept.steps)
        return found

    def copy_to(self, found: npt.NDArray[Any], name: str) -> None:
        """Write an array into another of its shape, which may be of a wider type."""
        kept = self._kept[name]
        _widened(self._read(name), kept.kind, kept.base, found, steps=kept.steps)

    def _read(self, name: str) -> npt.NDArray[Any]:
        kept = self._kept[name]
        read = np.frombuffer(self._data, dtype=kept.kept_as, count=math.prod(kept.shape), offset=kept.place)
        return read.reshape(kept.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def unpacked(data: bytearray) -> tuple[dict[str, Any], PackedArrays]:
    """What `packed` was given; arrays that were not narrowed look into ``data``.

    Raises:
        StaleIndex: these are no such bytes.
    """
    try:
        [size] = _HEAD.unpack_from(data)
        head = json.loads(bytes(data[_HEAD.size : _HEAD.size + size]))
        place = _HEAD.size + size + -size % _ALIGNED
        arrays: dict[str, _Kept] = {}
        for name, told in head["arrays"].items():
            kept = arrays[name] = _Kept.at(place, told)
            place += kept.nbytes + -kept.nbytes % _ALIGNED
        if place > len(data):
            raise ValueError(f"arrays of {place:,} bytes are not in {len(data):,}")
        return head["about"], PackedArrays(data, arrays)
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise StaleIndex(f"the index that is kept with the bank is damaged: {error}") from error
