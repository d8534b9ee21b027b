"""Filters as they are given, checked at the door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, tzinfo
from math import isfinite
from typing import Any, Final

from ..conversation import joined
from ..errors import InvalidInput, shorten
from ..times import EPOCH, MICROSECOND, in_zone, iso_time
from .conditions import FIELDS, METADATA, OPERATORS, ORDER, ROLES, Condition, Field, Joined, kind_of

_JOINS: Final = ("and", "or", "not")

_DEEPEST: Final = 16
"""How deeply ``and``, ``or`` and ``not`` may be nested."""

_MOST: Final = 1000
"""How many conditions, and values to compare with, a filter may have."""

_LONGEST: Final = 2000
"""How many characters a value, or a name, may have."""

_LARGEST: Final = 10**_LONGEST
"""Below which whole numbers are, as they have so many digits."""

_LONGEST_DAY: Final = 10
"""How many characters the ISO text of a day has at most."""


def read_filter(given: Mapping[str, Any], zone: tzinfo | None = None) -> Joined:
    """A filter as it is applied, checked.

    Args:
        given: the filter.
        zone: whose days, and times without an offset, it has; those of UTC unless given.

    Raises:
        InvalidInput: it is none; with what was given, and what is allowed.
    """
    return _Reader(zone).mapping(given, 0)


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

    def __init__(self, zone: tzinfo | None) -> None:
        self._parts, self._zone = 0, zone

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

    def _condition(self, field: Field, key: str, by: object, value: object) -> Condition | Joined:
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
        at, zone = field == "at", self._zone
        read: tuple[Any, ...] = tuple(_lasting(each, zone) if at else _value(field, key, by, each) for each in values)
        if field in ("role", "speaker") and by in ("eq", "in"):
            of_role = Condition("role", "", by, tuple(dict.fromkeys(role for each in read for role in _roles(each))))
            return of_role if field == "role" else _said_by(Condition(field, key, by, read), of_role)
        return Condition(field, key, by, read)


def _said_by(named: Condition, of_role: Condition) -> Joined:
    """Whoever has the name, or no name and the role: who has none is shown under the role."""
    nameless = Condition("speaker", "", "exists", (False,))
    return Joined("or", (named, Joined("and", (nameless, of_role))))


def _roles(name: str) -> Sequence[str]:
    return ROLES.get(name, (name,))


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


def _value(field: Field, key: str, by: str, value: object) -> Any:
    if isinstance(value, str) and len(value) <= _LONGEST:
        return joined(value)
    is_number = (isinstance(value, int) and abs(value) < _LARGEST) or (isinstance(value, float) and isfinite(value))
    if field == "metadata" and (is_number or value is None) and not (by in ORDER and kind_of(value) != "number"):
        return value
    others = "" if field != "metadata" else " or a number" if by in ORDER else ", a finite number, True, False or None"
    name = METADATA + key if field == "metadata" else field
    advice = ""
    if isinstance(value, (list, tuple, set, frozenset)):
        advice = "; for any of several values use 'in'" + (", for a list that holds a value 'has'" if key else "")
    raise InvalidInput(
        f"{shorten(name)} compares by {by!r} with a text of at most {_LONGEST} characters{others}, got "
        f"{shorten(value)}{advice}"
    )


def _lasting(value: object, zone: tzinfo | None) -> tuple[int, int]:
    """From when and up to when a moment, or a day of a zone, lasts, in microseconds since 1970."""
    at = _moment(value)
    if isinstance(at, datetime):
        start = _microseconds(in_zone(at, zone))
        return start, start + 1
    begin = _microseconds(in_zone(datetime.combine(at, time()), zone))
    # Where the clocks are changed, a day has 23 or 25 hours, of which the last may come twice.
    last = _microseconds(in_zone(datetime.combine(at, time.max.replace(fold=1)), zone))
    return begin, last + 1


def _microseconds(at: datetime) -> int:
    return (at - EPOCH) // MICROSECOND


def _moment(value: object) -> date:
    if isinstance(value, date):
        return value
    read = _read_moment(value) if isinstance(value, str) else None
    if read is None:
        raise InvalidInput(
            f"'at' compares with a datetime or a text such as '2025-06-01' or '2025-06-01T14:05Z', got {shorten(value)}"
        )
    return read


def _read_moment(text: str) -> date | None:
    with suppress(ValueError):
        at = iso_time(text)
        return at.date() if len(text.strip()) <= _LONGEST_DAY else at
    return None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value
