"""The best way to cut a run of turns, by dynamic programming."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["best_partition", "pair_sums"]

Floats = npt.NDArray[np.float64]


def best_partition(cuts: Floats, gains: Floats) -> list[int]:
    """The boundaries whose total of cut and segment values is highest; on a tie, the longer last segment.

    Args:
        cuts: what a boundary after turn ``i`` adds, shape ``(n - 1,)``.
        gains: what the segment of ``length + 1`` turns that starts at turn ``i`` adds, shape ``(n, max_length)``,
            at ``[i, length]``; segments that would pass the end are not looked at.

    Returns:
        The turns after which a segment ends, in order, without the last turn.
    """
    turns, longest = gains.shape
    totals = np.zeros(turns + 1)
    starts = np.zeros(turns + 1, dtype=np.intp)
    for stop in range(1, turns + 1):
        first = np.arange(max(0, stop - longest), stop)
        values = totals[first] + gains[first, stop - first - 1]
        starts[stop] = first[int(values.argmax())]
        totals[stop] = values.max() + (cuts[stop - 1] if stop < turns else 0.0)
    return _walk_back(starts)


def _walk_back(starts: npt.NDArray[np.intp]) -> list[int]:
    found: list[int] = []
    stop = int(starts[-1])
    while stop > 0:
        found.append(stop - 1)
        stop = int(starts[stop])
    return found[::-1]


def pair_sums(band: Floats) -> Floats:
    """The sum over all pairs inside each segment, from the pairs that lie close together.

    Args:
        band: value of the pair of turns ``i`` and ``i + d + 1`` at ``[i, d]``, shape ``(n, max_length - 1)``.

    Returns:
        Shape ``(n, max_length)``: at ``[i, length]`` the sum over pairs of the segment of ``length + 1`` turns from ``i``.
    """
    turns, width = band.shape
    reach = np.zeros((turns, width + 1))  # at [j, m]: the pairs of turn j with the m turns before it
    for back in range(1, width + 1):
        reach[back:, back] = band[:-back, back - 1] if back < turns else 0.0
    reach = reach.cumsum(axis=1)
    sums = np.zeros((turns, width + 1))
    for length in range(1, width + 1):
        sums[:, length] = sums[:, length - 1]
        sums[: turns - length, length] += reach[length:, length] if length < turns else 0.0
    return sums
