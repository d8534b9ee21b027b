"""The best few of many scores, in an order that is the same every time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


def begins(values: Ids) -> npt.NDArray[np.bool_]:
    """Of each of these values, which stand in order, whether it is the first of its kind."""
    return np.concatenate([np.ones(min(len(values), 1), dtype=np.bool_), values[1:] != values[:-1]])


def distinct(values: Ids) -> Ids:
    """The different values, in rising order; numpy's own function loads a module that takes longer than a search."""
    ordered = np.sort(values)
    return ordered[begins(ordered)]


def best(ids: Ids, scores: Scores, k: int) -> list[tuple[int, float]]:
    """The ``k`` highest scores with their ids, best first, ties by id.

    Args:
        ids: shape ``(n,)``.
        scores: shape ``(n,)``.
        k: how many at most; fewer where there are fewer.

    Raises:
        InvalidInput: where ``k`` is negative.
    """
    if k < 0:
        raise InvalidInput(f"k is how many units to return, 0 or more, got {k}")
    if 0 < k < len(ids):
        # Everything that ties with the last one stays, or the cut would depend on the order of storage.
        kept = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
        ids, scores = ids[kept], scores[kept]
    order = np.lexsort((ids, -scores))[:k]
    return [(int(ids[place]), float(scores[place])) for place in order]
