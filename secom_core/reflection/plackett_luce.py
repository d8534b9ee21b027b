"""Drawing without replacement, one after the other, by softmax: the Plackett-Luce distribution, and its slope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["drawn", "gumbel", "log_probabilities", "slope", "softmax"]

Array = npt.NDArray[np.floating]


def softmax(logits: Array) -> Array:
    """Shares that add up to 1; shape ``(n,)``."""
    shares = np.exp(logits - logits.max())
    return np.asarray(shares / shares.sum())


def gumbel(count: int, random: np.random.Generator) -> Array:
    """Standard Gumbel noise, ``-log(-log(u))`` (RMM eq. 2); shape ``(count,)``."""
    return random.gumbel(size=count)


def drawn(logits: Array, count: int, random: np.random.Generator) -> list[int]:
    """Draw ``count`` places without replacement, each by the softmax of those that are left.

    The best by ``logits`` plus fresh Gumbel noise are such a draw (Maddison et al. 2014), so one sort does it.
    """
    best = np.argsort(-(logits + gumbel(len(logits), random)), kind="stable")[:count]
    return [int(place) for place in best]


def log_probabilities(logits: Array, order: Sequence[int]) -> Array:
    """For each place drawn, the logarithm of its chance among those left; their sum is that of the ordered draw.

    Args:
        logits: shape ``(n,)``.
        order: different places, in the order in which they were drawn.

    Returns:
        Shape ``(len(order),)``.
    """
    placed = logits[[*order, *_others(len(logits), order)]]
    # Sums over what is left, from the last place back, each against its own largest term.
    left = np.logaddexp.accumulate(placed[::-1])[::-1]
    return np.asarray(placed[: len(order)] - left[: len(order)])


def slope(logits: Array, order: Sequence[int], credits: Array) -> Array:
    """The gradient of ``sum(credits * log_probabilities(logits, order))`` by the logits, in closed form.

    Args:
        logits: shape ``(n,)``.
        order: as for `log_probabilities`.
        credits: what each draw counts for, shape ``(len(order),)``.

    Returns:
        Shape ``(n,)``: each draw adds its credit at its own place and takes it from all that were left, by their
        chances.
    """
    places = [*order, *_others(len(logits), order)]
    placed = logits[places]
    left = np.logaddexp.accumulate(placed[::-1])[::-1]
    steps = len(order)
    by_place = np.zeros(len(logits))
    for step, credit in enumerate(credits.tolist()):
        by_place[step:] -= credit * np.exp(placed[step:] - left[step])
    by_place[:steps] += credits
    gradient = np.empty(len(logits))
    gradient[places] = by_place
    return gradient


def _others(count: int, order: Sequence[int]) -> list[int]:
    taken = set(order)
    return [place for place in range(count) if place not in taken]
