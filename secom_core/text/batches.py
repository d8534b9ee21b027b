"""Sequences in runs that one statement, or one call of a model, can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_SIZE: Final = 500
"""SQLite takes 999 parameters in a statement, in its older versions."""


def batches(values: Sequence[T], size: int = _SIZE) -> Iterator[Sequence[T]]:
    """The values in order, in runs of ``size`` at most; none where there are no values."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
