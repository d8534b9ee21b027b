"""How many paths there are, where that is more than a float can hold.

A count is a pair ``(m, e)`` and stands for ``m * 2 ** (512 * e)`` with ``m < 2 ** 512``. Sums of whole numbers are
exact up to ``2 ** 53`` and from there on right to a relative ``2 ** -53`` an addition, whatever their size. A summand
smaller than the sum by more than ``2 ** 512`` is lost: the chance of a path that goes with it is below ``2 ** -459``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["NO_PATH", "ONE_PATH", "Count", "product", "total", "weights"]

Count = tuple[float, int]

NO_PATH: Final[Count] = (0.0, 0)
ONE_PATH: Final[Count] = (1.0, 0)

_LIMIT: Final = 2.0**512
_STEP: Final = 2.0**-512


def total(counts: Iterable[Count]) -> Count:
    """The sum; `NO_PATH` of none."""
    mantissa, exponent = 0.0, 0
    for more, scale in counts:
        if scale == exponent:
            mantissa += more
        elif scale > exponent:
            mantissa = more + (mantissa * _STEP if scale == exponent + 1 else 0.0)
            exponent = scale
        elif scale == exponent - 1:
            mantissa += more * _STEP
        if mantissa >= _LIMIT:
            mantissa, exponent = mantissa * _STEP, exponent + 1
    return mantissa, exponent


def weights(counts: Sequence[Count]) -> list[float]:
    """The counts as floats on one scale, fit to draw by."""
    highest = max((scale for _, scale in counts), default=0)
    factors = (1.0, _STEP)
    return [
        mantissa * factors[highest - scale] if highest - scale < len(factors) else 0.0 for mantissa, scale in counts
    ]


def product(left: Count, right: Count) -> float:
    """The product as a float; infinite where a float cannot hold it."""
    if left[1] or right[1]:
        return float("inf") if left[0] and right[0] else 0.0
    return left[0] * right[0]
