"""Fields of a JSON record that somebody else may have written, each of its kind and within stated limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..errors import shorten
from ..times import LONGEST_TIME, iso_time

LONGEST_LINE: Final = 500_000_000
"""How many characters a line of a file may have."""

LONGEST_TEXT: Final = 50_000_000
"""How many characters a message may have."""

LARGEST_COUNT: Final = 2**31 - 1
"""The largest index of a turn, and whatever else is counted."""

_LARGEST_NUMBER: Final = 1e100


def field(record: Any, name: str) -> Any:
    """The value of a record's field.

    Raises:
        ValueError: it has none, or is no record.
    """
    if not isinstance(record, Mapping):
        raise ValueError(f"expected an object with {name!r}, got {shorten(record)}")
    if name not in record:
        raise ValueError(f"{name!r} is missing")
    return record[name]


def text_of(value: Any, name: str, *, most: int = LONGEST_TEXT) -> str:
    """The value, if it is text that is not too long.

    Raises:
        ValueError: it is something else; with the field's name, and the limit.
    """
    if not isinstance(value, str):
        raise ValueError(f"{name!r}: expected text, got {shorten(value)}")
    if len(value) > most:
        raise ValueError(f"{name!r}: expected at most {most:,} characters, got {len(value):,}: {shorten(value[:200])}")
    return value


def text_field(record: Any, name: str, *, most: int = LONGEST_TEXT) -> str:
    """The text in a record's field; see `text_of`."""
    return text_of(field(record, name), name, most=most)


def count_of(value: Any, name: str) -> int:
    """The value, if it is a whole number from 0 to `LARGEST_COUNT`; ``true`` and 1.0 are none.

    Raises:
        ValueError: it is something else; with the field's name, and the limit.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_COUNT:
        raise ValueError(f"{name!r}: expected a whole number from 0 to {LARGEST_COUNT:,}, got {shorten(value)}")
    return value


def count_field(record: Any, name: str) -> int:
    """The whole number in a record's field; see `count_of`."""
    return count_of(field(record, name), name)


def number_of(value: Any, name: str) -> float:
    """The value, if it is a number that can be reckoned with.

    Raises:
        ValueError: it is something else, such as NaN; with the field's name, and the limit.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _LARGEST_NUMBER:
        raise ValueError(f"{name!r}: expected a number of {_LARGEST_NUMBER:.0e} at most, got {shorten(value)}")
    return value


def flag_field(record: Any, name: str) -> bool:
    """The ``true`` or ``false`` in a record's field.

    Raises:
        ValueError: it is something else.
    """
    value = field(record, name)
    if not isinstance(value, bool):
        raise ValueError(f"{name!r}: expected true or false, got {shorten(value)}")
    return value


def list_of(value: Any, name: str) -> Sequence[Any]:
    """The value, if it is a list.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name!r}: expected a list, got {shorten(value)}")
    return value


def list_field(record: Any, name: str) -> Sequence[Any]:
    """The list in a record's field; see `list_of`."""
    return list_of(field(record, name), name)


def moment_field(record: Any, name: str) -> datetime:
    """The time in a record's field, as ISO text.

    Raises:
        ValueError: it is something else.
    """
    text = text_field(record, name, most=LONGEST_TIME)
    try:
        return iso_time(text)
    except ValueError as error:
        raise ValueError(f"{name!r}: expected a time such as 2024-05-03T14:05:00+00:00, got {shorten(text)}") from error
