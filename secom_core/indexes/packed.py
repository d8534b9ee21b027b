"""Arrays as the bytes that they are kept in, whole numbers in as few as hold them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import StaleIndex

_HEAD: Final = struct.Struct("<Q")
_ALIGNED: Final = 8
_KINDS_OF_WHOLE: Final = ("|i1", "<i2", "<i4", "<i8")
_KINDS: Final = frozenset({*_KINDS_OF_WHOLE, "<f8", "<f4"})

PLAIN, STEPS, PLACES, SPARSE, ROWS = 0, 1, 2, 3, 4
"""How numbers are kept: as they are; as the difference from the number before, or from their place; or, where most are
equal, the others alone; or, where most differ from their place by the same, the others alone."""

_WAYS: Final = ((PLAIN, 0), (STEPS, 0), (PLACES, 1), (SPARSE, 2), (ROWS, 2))
"""Each way, and how many arrays hold the numbers that are kept apart."""

_NOWHERE, _ODD = -128, -127
"""What stands for -1, and for a number that is told apart, where numbers are kept by their places."""
_FEW_ODD: Final = 32
"""Of how many numbers one may be told apart."""
_FARTHEST: Final = 2**40
"""How far numbers may be from their places: the sums have room."""


def packed(about: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Arrays and what is to be known of them as bytes, which `unpacked` reads."""
    small = {name: _narrowed(array) for name, array in arrays.items()}
    told = {
        name: [array.dtype.str, list(array.shape), each.kept.dtype.str, each.base, each.way, *map(len, each.odd)]
        for (name, array), each in zip(arrays.items(), small.values(), strict=True)
    }
    head = json.dumps({"about": dict(about), "arrays": told}).encode()
    bodies = (b"".join([_padded(each.kept.tobytes()), *(odd.tobytes() for odd in each.odd)]) for each in small.values())
    return b"".join([_HEAD.pack(len(head)), _padded(head), *bodies])


class _Narrow(NamedTuple):
    """An array as it is kept: the numbers, which take as few bytes as hold them.

    Args:
        kept: what is left of each.
        base: the number that was taken off.
        way: `PLAIN`, `STEPS`, `PLACES`, `SPARSE` or `ROWS`.
        odd: of numbers by their places, those that are told apart; where most are alike, the places of the others, and
            the numbers there.
    """

    kept: npt.NDArray[Any]
    base: int = 0
    way: int = PLAIN
    odd: tuple[npt.NDArray[np.int64], ...] = ()


def _narrowed(array: npt.NDArray[Any]) -> _Narrow:
    if array.dtype.kind != "i" or array.ndim != 1 or not array.size:
        return _Narrow(array)
    places = np.arange(len(array))
    for way, alike in ((SPARSE, array), (ROWS, array.astype(np.int64) - places)):
        sparse = _as_most_are(array, way, alike)
        if sparse is not None:
            return sparse
    plain = _by_size_or_steps(array)
    # Rows that point to rows beside them, or to none; each is read without those before it.
    by_places = None if plain.kept.itemsize == 1 and plain.way == PLAIN else _by_places(array)
    return by_places or plain


def _as_most_are(array: npt.NDArray[Any], way: int, alike: npt.NDArray[Any]) -> _Narrow | None:
    """What most have in common, and the numbers of the others with their places; nothing where these are too many."""
    ordered = np.sort(alike)
    # What more than half are is in the middle.
    usual = int(ordered[len(ordered) // 2])
    others = np.flatnonzero(alike != usual)
    limits = np.iinfo(array.dtype)
    is_far = way == ROWS and not max(limits.min, -_FARTHEST) <= usual <= min(limits.max, _FARTHEST)
    if len(others) * _FEW_ODD > len(array) or is_far:
        return None
    return _Narrow(array[:0], usual, way, (others.astype(np.int64), array[others].astype(np.int64)))


def _by_size_or_steps(array: npt.NDArray[Any]) -> _Narrow:
    """How much more each is than the least, or than the one before: most columns rise."""
    least, first = int(array.min()), int(array[0])
    for kind in _KINDS_OF_WHOLE:
        limit = np.iinfo(kind).max
        if np.dtype(kind).itemsize >= array.dtype.itemsize:
            break
        if int(array.max()) - least <= limit:
            return _Narrow((array.astype(np.int64) - least).astype(kind), least)
        steps = np.diff(array.astype(np.int64), prepend=first)
        if -limit <= int(steps.min()) and int(steps.max()) <= limit:
            return _Narrow(steps.astype(kind), first, STEPS)
    return _Narrow(array)


def _by_places(array: npt.NDArray[Any]) -> _Narrow | None:
    """How much more each is than its place; nothing where too many are far from theirs."""
    numbers = array.astype(np.int64)
    apart, there = numbers - np.arange(len(numbers)), numbers != -1
    if not there.any():
        return None
    base = int(np.median(apart[there]))
    if abs(base) > _FARTHEST:
        return None
    apart -= base
    # No absolute values: the least number has none.
    is_odd = there & ((apart <= _ODD) | (apart >= -_ODD))
    if np.count_nonzero(is_odd) * _FEW_ODD > len(numbers):
        return None
    kept = np.where(is_odd, _ODD, np.where(there, apart, _NOWHERE)).astype(np.int8)
    return _Narrow(kept, base, PLACES, (numbers[is_odd],))


def _widened(each: _Kept, narrow: _Narrow, out: npt.NDArray[Any]) -> None:
    """Write into ``out`` what `_narrowed` was given; `ValueError` where that has another shape."""
    if out.shape != each.shape:
        raise ValueError(f"an array of the shape {each.shape} is not of {out.shape}")
    kept, base = narrow.kept, np.array(narrow.base, dtype=each.kind)
    if narrow.way == ROWS:
        places, numbers = narrow.odd
        out[...] = np.arange(narrow.base, narrow.base + len(out))
        out[places] = numbers
    elif narrow.way == STEPS:
        np.cumsum(kept, dtype=out.dtype, out=out)
        out += base
    elif narrow.way == PLACES:
        np.add(np.arange(narrow.base, narrow.base + len(kept)), kept, out=out, casting="unsafe")
        np.putmask(out, kept == _NOWHERE, -1)
        out[kept == _ODD] = narrow.odd[0]
    elif narrow.way == SPARSE:
        places, numbers = narrow.odd
        out[...] = base
        out[places] = numbers
    elif kept.dtype.str == each.kind:
        out[...] = kept
    else:
        np.add(kept, base, out=out, casting="unsafe", dtype=each.kind)


def _widened_at(each: _Kept, narrow: _Narrow, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """What `_narrowed` was given at some places."""
    if narrow.way in (SPARSE, ROWS):
        others, numbers = narrow.odd
        of_most = places if narrow.way == ROWS else np.zeros(len(places), dtype=np.int64)
        mostly: npt.NDArray[Any] = (of_most + narrow.base).astype(each.kind)
        at = np.searchsorted(others, places)
        is_other = np.append(others, -1)[at] == places
        mostly[is_other] = numbers[at[is_other]]
        return mostly
    if narrow.way == STEPS:
        return np.asarray(np.cumsum(narrow.kept, dtype=each.kind)[places] + np.array(narrow.base, dtype=each.kind))
    kept = narrow.kept[places]
    if narrow.way == PLACES:
        found: npt.NDArray[Any] = np.add(places + narrow.base, kept).astype(each.kind)
        found[kept == _NOWHERE] = -1
        is_odd = kept == _ODD
        if is_odd.any():
            found[is_odd] = narrow.odd[0][np.searchsorted(np.flatnonzero(narrow.kept == _ODD), places[is_odd])]
        return found
    return kept if each.is_as_kept else np.asarray(np.add(kept, narrow.base, casting="unsafe", dtype=each.kind))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNED)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where an array is in bytes, and how: see `_Narrow`."""

    kind: str
    shape: tuple[int, ...]
    kept_as: str
    base: int
    way: int
    odd: tuple[int, ...]
    place: int

    @classmethod
    def at(cls, place: int, told: Sequence[Any]) -> _Kept:
        """What the head of the bytes tells of the array that begins at a place; `ValueError` where that cannot be."""
        kind, shape, kept_as, base, way, *odd = told
        if not {kind, kept_as} <= _KINDS or (way, len(odd)) not in _WAYS:
            raise ValueError(f"arrays are of {sorted(_KINDS)}, not {kind!r} and {kept_as!r}, {way!r}, {odd!r}")
        if not all(isinstance(each, int) and each >= 0 for each in (*shape, *odd)):
            raise ValueError(f"an array cannot have the shape {shape!r}, and {odd!r} numbers told apart")
        if not isinstance(base, int):
            raise TypeError(f"what is taken off an array's numbers is a whole number, not {base!r}")
        # Whether it is within bounds.
        np.array(base, dtype=kind)
        return cls(kind, tuple(shape), kept_as, base, way, tuple(odd), place)

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self._place_of_odd + sum(self.odd) * _ALIGNED

    @property
    def is_as_kept(self) -> bool:
        """Whether it is kept as it is."""
        return self.kept_as == self.kind and self.way == PLAIN

    @property
    def _shape_kept(self) -> tuple[int, ...]:
        return (0,) if self.way in (SPARSE, ROWS) else self.shape

    @property
    def _place_of_odd(self) -> int:
        size = math.prod(self._shape_kept) * np.dtype(self.kept_as).itemsize
        return self.place + size + -size % _ALIGNED

    def read(self, data: bytearray) -> _Narrow:
        """It, as it is kept in the bytes."""
        kept = np.frombuffer(data, dtype=self.kept_as, count=math.prod(self._shape_kept), offset=self.place)
        odd: list[npt.NDArray[np.int64]] = []
        place = self._place_of_odd
        for count in self.odd:
            odd.append(np.frombuffer(data, dtype=np.int64, count=count, offset=place))
            place += odd[-1].nbytes
        return _Narrow(kept.reshape(self._shape_kept), self.base, self.way, tuple(odd))


class PackedArrays(Mapping[str, npt.NDArray[Any]]):
    """Arrays by name in the bytes that they are kept in; each is made when it is asked for, every time.

    Args:
        data: the bytes.
        kept: where each is.
        apart: what reads each of the arrays that are kept elsewhere, by name.
    """

    def __init__(
        self, data: bytearray, kept: Mapping[str, _Kept], apart: Mapping[str, Callable[[], PackedArrays]] | None = None
    ) -> None:
        self._data, self._kept, self._apart = data, kept, apart or {}

    def with_apart(self, apart: Mapping[str, Callable[[], PackedArrays]]) -> PackedArrays:
        """The same, and arrays that are kept elsewhere: by name, what reads those that it is among."""
        return PackedArrays(self._data, self._kept, apart)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name in self._apart:
            return self._apart[name]()[name]
        kept = self._kept[name]
        narrow = kept.read(self._data)
        if kept.is_as_kept:
            return narrow.kept
        found = np.empty(kept.shape, dtype=kept.kind)
        _widened(kept, narrow, found)
        return found

    def copy_to(self, found: npt.NDArray[Any], name: str) -> None:
        """Write an array into another of its shape, which may be of a wider type."""
        if name in self._apart:
            self._apart[name]().copy_to(found, name)
        else:
            _widened(self._kept[name], self._kept[name].read(self._data), found)

    def at(self, name: str, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """What an array of one dimension has at some places, of which none is below 0; the others are not made.

        Raises:
            IndexError: a place is behind its end.
        """
        if name in self._apart:
            return self._apart[name]().at(name, places)
        kept = self._kept[name]
        if len(places) and int(places.max()) >= kept.shape[0]:
            raise IndexError(f"{name!r} has {kept.shape[0]:,} numbers, and none at {int(places.max()):,}")
        return _widened_at(kept, kept.read(self._data), places)

    def may_differ(self, name: str, first: int, size: int) -> npt.NDArray[np.bool_]:
        """Of each number of an array, whether it may be another than the sum of ``first`` and its place.

        Where it is not kept by its place, all may.

        Raises:
            ValueError: the array does not have so many numbers.
        """
        kept = self._kept[name]
        if kept.shape != (size,):
            raise ValueError(f"{name!r} has the shape {kept.shape}, not {(size,)}")
        narrow, step = kept.read(self._data), first - kept.base
        if kept.way == ROWS and not step:
            found = np.zeros(size, dtype=np.bool_)
            found[narrow.odd[0]] = True
            return found
        if kept.way == PLACES and _ODD < step < -_ODD:
            return np.asarray(narrow.kept != step)
        return np.ones(size, dtype=np.bool_)

    def __iter__(self) -> Iterator[str]:
        yield from self._kept
        yield from self._apart

    def __len__(self) -> int:
        return len(self._kept) + len(self._apart)


def unpacked(
    data: bytearray, fits: Callable[[Mapping[str, Any]], bool] = lambda about: True
) -> tuple[dict[str, Any], PackedArrays]:
    """What `packed` was given; arrays that were not narrowed look into ``data``.

    Args:
        data: the bytes.
        fits: whether what is known of the arrays says that they are of this form; where not, none is looked at.

    Raises:
        StaleIndex: these are no such bytes.
    """
    try:
        [size] = _HEAD.unpack_from(data)
        head = json.loads(bytes(data[_HEAD.size : _HEAD.size + size]))
        place = _HEAD.size + size + -size % _ALIGNED
        arrays: dict[str, _Kept] = {}
        for name, told in head["arrays"].items() if fits(head["about"]) else ():
            arrays[name] = _Kept.at(place, told)
            place = arrays[name].stop
        if place > len(data):
            raise ValueError(f"arrays of {place:,} bytes are not in {len(data):,}")
        return head["about"], PackedArrays(data, arrays)
    except (struct.error, LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise StaleIndex(f"the index that is kept with the bank is damaged: {error}") from error
