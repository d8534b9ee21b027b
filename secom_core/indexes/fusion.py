"""Scores of different kinds made comparable, so that they can be added up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .top import Scores


def rank_scores(found: int, total: int) -> Scores:
    """What ranks say of scores that nobody knows: the normal scores, less what is expected of the units not found.

    The unit of rank ``r`` among ``n`` gets the quantile ``1 - (r - 1/2) / n`` of the normal distribution (van der
    Waerden 1952), so that the top stands out as it does among similarities. All that was not found counts 0: the mean
    of the normal distribution below the last rank.

    Args:
        found: how many units have a rank.
        total: how many units there are, at least as many as were found.

    Returns:
        Shape ``(found,)``, the best first; all above 0.
    """
    from statistics import NormalDist

    if not found:
        return np.zeros(0)
    normal = NormalDist()
    shares = (np.arange(found) + 0.5) / max(total, found)
    scores = np.array([normal.inv_cdf(1 - share) for share in shares])
    rest = 1 - found / total if total > found else 0.5 / found
    return np.asarray(scores + normal.pdf(normal.inv_cdf(rest)) / rest)


def standardise(scores: npt.ArrayLike) -> Scores:
    """Scores with mean 0 and deviation 1; scores that are all the same become 0."""
    values = np.asarray(scores, dtype=np.float64)
    if not values.size:
        return values
    centred: Scores = values - values.mean()
    deviation = float(centred.std())
    # The mean of equal floats can miss them by a last digit, which a division would blow up to 1.
    if deviation <= 1e-12 * float(np.abs(values).max()):
        return np.zeros_like(centred)
    return centred / deviation
