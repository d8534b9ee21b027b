"""Fields of a JSON record that somebody else may have written."""

from __future__ import annotations

from typing import Any


def text_field(value: Any) -> str:
    """The value, if it is text.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {value!r}")
    return value


def count_field(value: Any) -> int:
    """The value, if it is a whole number from 0 on.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"expected a whole number from 0 on, got {value!r}")
    return value
