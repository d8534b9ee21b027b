"""Which messages a recall may find: conditions on what is known of them beside their words, as plain data.

A filter is a mapping. Each name stands for a field, all of which have to pass::

    {"role": "user"}
    {"session": {"in": ["monday", "tuesday"]}, "at": {"ge": "2025-01-01", "lt": "2025-02-01"}}
    {"or": [{"metadata.project": "harbour"}, {"not": {"metadata.project": {"exists": True}}}]}

The fields are ``role``, ``speaker``, ``session``, ``at``, when a message was said, and ``metadata.KEY``; dots in KEY
lead into mappings, unless the metadata has a key that is written so. A field has a value, or operators that all have to
hold: ``eq``, ``in``, ``lt``, ``le``, ``gt``, ``ge``, ``exists``, and ``has`` for a list in metadata that holds a value.
``and`` and ``or`` take a list of filters, ``not`` takes one.

Values compare with their own kind only: texts, numbers, truth values, ``None``. What a message does not have fails
every condition but ``exists: False``, and so passes every ``not`` around one. A moment is a datetime or its ISO form,
in UTC where it has no zone; a day without a time stands for all of it: ``le`` takes it in, and ``gt`` does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from math import isfinite
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .conversation import joined
from .errors import InvalidInput, shorten

Mask: TypeAlias = npt.NDArray[np.bool_]
Field: TypeAlias = Literal["role", "speaker", "session", "at", "metadata"]

MISSING: Final = object()
"""The value of a field that a message does not have."""

FIELDS: Final = ("role", "speaker", "session", "at")
METADATA: Final = "metadata."
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_MOMENTS: Final[Mapping[str, Callable[[Any, int, int], Any]]] = {
    "lt": lambda at, start, stop: at < start,
    "le": lambda at, start, stop: at < stop,
    "gt": lambda at, start, stop: at >= stop,
    "ge": lambda at, start, stop: at >= start,
}
OPERATORS: Final = ("eq", "in", *_ORDER, "exists", "has")
_JOINS: Final = ("and", "or", "not")

_DEEPEST: Final = 16
"""How deeply ``and``, ``or`` and ``not`` may be nested."""

_MOST: Final = 1000
"""How many conditions, and values to compare with, a filter may have."""

_LONGEST: Final = 2000
"""How many characters a value, or a name, may have."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Condition:
    """What one field has to be.

    Args:
        field: the field.
        key: of metadata, which key.
        by: the operator, one of `OPERATORS`.
        values: what it compares with; of ``at`` each the microseconds since 1970 from which and up to which it lasts.
    """

    field: Field
    key: str
    by: str
    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Whether it holds of a value, `MISSING` where there is none; of ``metadata`` all of it is given."""
        if self.field == "metadata":
            value = _value_at(value, self.key)
        if self.by == "exists":
            return (value is not MISSING) is self.values[0]
        if value is MISSING:
            return False
        if self.by == "has":
            return isinstance(value, (list, tuple)) and any(map(self._equals, value))
        if self.by in _ORDER:
            return self._compares(value)
        return self._equals(value)

    def of_moments(self, moments: npt.NDArray[np.float64]) -> Mask:
        """Of each of these times, in seconds since 1970, whether it holds; of the field ``at``. -inf is no time."""
        known = np.isfinite(moments)
        if self.by == "exists":
            return np.asarray(known == self.values[0])
        at = np.rint(np.where(known, moments, 0) * 1e6).astype(np.int64)
        if self.by in _ORDER:
            return np.asarray(known & _MOMENTS[self.by](at, *self.values[0]))
        lasting = [(at >= start) & (at < stop) for start, stop in self.values]
        return np.asarray(known & np.logical_or.reduce([np.zeros(len(at), dtype=np.bool_), *lasting]))

    def _equals(self, value: Any) -> bool:
        return any(_kind(value) == _kind(each) and value == each for each in self.values)

    def _compares(self, value: Any) -> bool:
        [bound] = self.values
        return _kind(value) == _kind(bound) and _ORDER[self.by](value, bound)


@dataclass(frozen=True, slots=True)
class Joined:
    """Filters that all have to pass, or any of them, or the only one must not."""

    how: Literal["and", "or", "not"]
    parts: tuple[Joined | Condition, ...]

    def mask(self, mask_of: Callable[[Condition], Mask], size: int) -> Mask:
        """Which of so many messages pass, from which of them meet each condition."""
        masks = [each.mask(mask_of, size) if isinstance(each, Joined) else mask_of(each) for each in self.parts]
        if self.how == "or":
            return np.asarray(np.logical_or.reduce([np.zeros(size, dtype=np.bool_), *masks]))
        together = np.asarray(np.logical_and.reduce([np.ones(size, dtype=np.bool_), *masks]))
        return ~together if self.how == "not" else together


def read_filter(given: Mapping[str, Any]) -> Joined:
    """A filter as it is applied, checked.

    Raises:
        InvalidInput: it is none; with what was given, and what is allowed.
    """
    return _Reader().mapping(given, 0)


def checked_filter(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A filter as JSON can hold it, checked; nothing where none, or an empty one, is given.

    Raises:
        InvalidInput: it is none; with what was given, and what is allowed.
    """
    if given is None:
        return None
    read_filter(given)
    plain: dict[str, Any] = _plain(given)
    return plain or None


class _Reader:
    """Reads a filter, and counts its parts."""

    def __init__(self) -> None:
        self._parts = 0

    def mapping(self, given: object, depth: int) -> Joined:
        if not isinstance(given, Mapping):
            raise InvalidInput(f"a filter is a mapping such as {{'role': 'user'}}, got {shorten(given)}")
        if depth > _DEEPEST:
            raise InvalidInput(f"a filter is nested at most {_DEEPEST} levels deep, and this one is deeper")
        self._count(1)
        return Joined("and", tuple(self._part(name, value, depth) for name, value in given.items()))

    def _part(self, name: object, value: object, depth: int) -> Joined:
        if name in ("and", "or"):
            if not isinstance(value, Sequence) or isinstance(value, str) or not value:
                raise InvalidInput(f"{name!r} in a filter takes a list of filters, got {shorten(value)}")
            return Joined("or" if name == "or" else "and", tuple(self.mapping(each, depth + 1) for each in value))
        if name == "not":
            return Joined("not", (self.mapping(value, depth + 1),))
        field, key = _field(name)
        tests = value if isinstance(value, Mapping) else {"eq": value}
        return Joined("and", tuple(self._condition(field, key, *each) for each in tests.items()))

    def _count(self, more: int) -> None:
        self._parts += more
        if self._parts > _MOST:
            raise InvalidInput(f"a filter has at most {_MOST} conditions and values, and this one has more")

    def _condition(self, field: Field, key: str, by: object, value: object) -> Condition:
        if not isinstance(by, str) or by not in OPERATORS:
            raise InvalidInput(f"a filter compares by {', '.join(OPERATORS)}, got {shorten(by)}")
        if by == "has" and field != "metadata":
            raise InvalidInput(f"'has' is for lists in metadata, and {field!r} is none")
        if by == "exists":
            if not isinstance(value, bool):
                raise InvalidInput(f"'exists' is True or False, got {shorten(value)}")
            return Condition(field, key, by, (value,))
        values = _list(value) if by == "in" else [value]
        self._count(len(values))
        return Condition(field, key, by, tuple(_value(field, by, each) for each in values))


def _field(name: object) -> tuple[Field, str]:
    if isinstance(name, str) and len(name) <= _LONGEST:
        if name in FIELDS:
            return name, ""  # type: ignore[return-value]
        if name.startswith(METADATA) and name != METADATA:
            return "metadata", joined(name.removeprefix(METADATA))
    raise InvalidInput(
        f"a filter has the fields {', '.join(FIELDS)} and {METADATA}KEY, and {', '.join(_JOINS)}, got {shorten(name)}"
    )


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise InvalidInput(f"'in' takes a list of values, got {shorten(value)}")
    return list(value)


def _value(field: Field, by: str, value: object) -> Any:
    if field == "at":
        return _lasting(value)
    if isinstance(value, str) and len(value) <= _LONGEST:
        return joined(value)
    is_number = isinstance(value, int) or (isinstance(value, float) and isfinite(value))
    if field == "metadata" and (is_number or value is None) and not (by in _ORDER and _kind(value) != "number"):
        return value
    others = "" if field != "metadata" else " or a number" if by in _ORDER else ", a finite number, True, False or None"
    raise InvalidInput(
        f"{field!r} compares by {by!r} with a text of at most {_LONGEST} characters{others}, got {shorten(value)}"
    )


def _lasting(value: object) -> tuple[int, int]:
    """From when and up to when a moment, or a day, lasts, in microseconds since 1970."""
    at = _moment(value)
    if isinstance(at, datetime):
        start = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
        return _microseconds(start), _microseconds(start) + 1
    start = datetime.combine(at, time(), timezone.utc)
    return _microseconds(start), _microseconds(start) + timedelta(days=1) // _INSTANT


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _INSTANT


def _moment(value: object) -> date:
    if isinstance(value, date):
        return value
    read = _read_moment(value.strip().replace("Z", "+00:00")) if isinstance(value, str) else None
    if read is None:
        raise InvalidInput(
            f"'at' compares with a datetime or a text such as '2025-06-01' or '2025-06-01T14:05Z', got {shorten(value)}"
        )
    return read


def _read_moment(text: str) -> date | None:
    for read in (date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(text)
    return None


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number" if isinstance(value, (int, float)) else type(value).__name__


def _value_at(metadata: Any, key: str) -> Any:
    """The value of a key, or else of the path that it is written as."""
    if not isinstance(metadata, Mapping):
        return MISSING
    if key in metadata:
        return metadata[key]
    first, dot, rest = key.partition(".")
    return _value_at(metadata[first], rest) if dot and first in metadata else MISSING


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
