"""Whether new weights do worse than old ones on citations that taught nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["chance_of_no_fall"]

_FEWEST = 8
"""Fewer differences than this tell nothing."""


def chance_of_no_fall(before: Sequence[float], after: Sequence[float]) -> float:
    """The p-value of "the rewards have not fallen": Wilcoxon's signed-rank test, one-sided, for paired rewards.

    Rewards of one and the same answer under two rankings are paired, far from normal, and mostly equal; the test
    (Wilcoxon 1945) needs no distribution and looks at those that differ, by size. Normal approximation with
    corrections for ties and for continuity.

    Args:
        before: the reward of each held-out answer under the old weights.
        after: the same under the new weights.

    Returns:
        Small where rewards have fallen; 1 where too few differ to tell.
    """
    change = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    change = change[np.abs(change) > 1e-12]
    count = len(change)
    if count < _FEWEST:
        return 1.0
    _, places, ties = np.unique(np.round(np.abs(change), 12), return_inverse=True, return_counts=True)
    last = np.cumsum(ties)
    ranks = (last - (ties - 1) / 2)[places]
    risen = float(ranks[change > 0].sum())
    mean = count * (count + 1) / 4
    variance = count * (count + 1) * (2 * count + 1) / 24 - float((ties**3 - ties).sum()) / 48
    return 0.5 * math.erfc(-(risen - mean + 0.5) / math.sqrt(2 * variance))
