"""Drawing without replacement, one after the other, by softmax: the Plackett-Luce distribution, and its slope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]


def best(scores: Array, count: int) -> list[int]:
    """The places of the highest ``count`` scores, best first.

    Of logits plus fresh Gumbel noise they are a draw without replacement, each place by the softmax of those that are
    left (Maddison et al. 2014).
    """
    places: list[int] = np.argsort(-scores, kind="stable")[:count].tolist()
    return places


def put_first(places: Sequence[int], count: int) -> list[int]:
    """All places below ``count``: these first, then the others in rising order."""
    return [*places, *sorted(set(range(count)) - set(places))]


def slope(logits: Array, order: Sequence[int], credits: Array) -> Array:
    """The gradient of the draw's log-chances, each times its credit, by the logits, in closed form.

    The log-chance of a place is that of drawing it among those that are left: its logit less the logarithm of the sum
    of their exponentials.

    Args:
        logits: shape ``(n,)``.
        order: different places, in the order in which they were drawn.
        credits: what each draw counts for, shape ``(len(order),)``.

    Returns:
        Shape ``(n,)``: each draw adds its credit at its own place and takes it from all that were left, by their
        chances.
    """
    places = put_first(order, len(logits))
    placed = logits[places]
    # Sums over what is left, from the last place back, each against its own largest term.
    left = np.logaddexp.accumulate(placed[::-1])[::-1]
    steps = len(order)
    by_place = np.zeros(len(logits))
    for step, credit in enumerate(credits.tolist()):
        by_place[step:] -= credit * np.exp(placed[step:] - left[step])
    by_place[:steps] += credits
    gradient = np.empty(len(logits))
    gradient[places] = by_place
    return gradient
