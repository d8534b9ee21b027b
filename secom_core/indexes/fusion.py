"""Several rankings into one: by rank, or by standardised score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from secom_core.errors import InvalidInput
from secom_core.indexes.top import Scores

__all__ = ["rank_scores", "reciprocal_rank_fusion", "standardise", "standardised_fusion"]


def reciprocal_rank_fusion(rankings: Iterable[Sequence[int]], k: float = 60) -> list[tuple[int, float]]:
    """Fuse rankings by rank alone: each gives a unit ``1 / (k + rank)`` (Cormack, Clarke & Büttcher, SIGIR 2009).

    Args:
        rankings: ids, best first; rankings need not hold the same ids.
        k: how little the first ranks stand out, more than -1.

    Returns:
        ``(id, score)``, best first, ties by id.
    """
    if k <= -1:
        raise InvalidInput(f"reciprocal rank fusion needs k > -1, got {k}")
    fused: defaultdict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, unit_id in enumerate(ranking, start=1):
            fused[unit_id] += 1 / (k + rank)
    return sorted(fused.items(), key=lambda entry: (-entry[1], entry[0]))


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
    if not found:
        return np.zeros(0)
    normal = NormalDist()
    shares = (np.arange(found) + 0.5) / max(total, found)
    scores = np.array([normal.inv_cdf(1 - share) for share in shares])
    rest = 1 - found / total if total > found else 0.5 / found
    last = normal.inv_cdf(rest)
    floor: Scores = scores + normal.pdf(last) / rest
    return floor


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


def standardised_fusion(scores: Sequence[npt.ArrayLike], weights: Sequence[float]) -> Scores:
    """Fuse scores of the same units: the weighted sum of the standardised scores (Montague & Aslam, CIKM 2001).

    Args:
        scores: one array of shape ``(n,)`` a signal, all for the same ``n`` units in the same order.
        weights: one a signal.

    Returns:
        Shape ``(n,)``; higher is better.

    Raises:
        InvalidInput: where signals and weights, or the lengths of the signals, differ.
    """
    if len(scores) != len(weights) or not len(scores):
        raise InvalidInput(f"each signal needs one weight, got {len(scores)} signals and {len(weights)} weights")
    lengths = [np.shape(signal) for signal in scores]
    if len(set(lengths)) > 1:
        raise InvalidInput(f"signals must score the same units, got shapes {lengths}")
    fused: Scores = np.asarray(weights, dtype=np.float64) @ np.stack([standardise(signal) for signal in scores])
    return fused
