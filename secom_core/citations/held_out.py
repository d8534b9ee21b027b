"""Whether new weights do worse than old ones on citations that had not taught them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

_FEWEST: Final = 8
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


_TIGHTEST: Final = 0.08
"""Where the test is most powerful: after 64 answers that rank a tenth better or worse, by Howard et al. (2021, eq. 18)
at 0.05. It is valid everywhere."""


def evidence_of_loss(total: float, squares: float) -> float:
    """The logarithm of the evidence that new weights do worse than old ones, however often one looks.

    Each answer is ranked by weights that it has not taught yet, and by the old ones; the difference of the rewards is
    what it says (progressive validation: Blum, Kalai & Langford 1999). Were the new weights no worse, a bet on their
    loss would win nothing in the mean: its capital, with a normal mixture of stakes (Robbins 1970; de la Peña 1999),
    would ever reach ``1 / alpha`` with a chance of no more than ``alpha`` (Ville 1939). The capital's logarithm is
    what is returned.

    Args:
        total: the sum of the differences, new less old.
        squares: the sum of their squares.

    Returns:
        Above 0 where the differences speak for a loss; ``log(1 / alpha)`` or more where they prove it.
    """
    if total >= 0:
        return 0.0
    width = squares + _TIGHTEST
    return max(total**2 / (2 * width) - 0.5 * math.log(width / _TIGHTEST), 0.0)
