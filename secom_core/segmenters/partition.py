"""Where to cut a run, given the evidence at each gap: boundary probabilities and the best partition."""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log, log1p
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, shorten

Floats = npt.NDArray[np.float64]
"""Numbers in double precision, of any shape."""


CUT_EVERY: Final = 4
"""At which numbers of turns an open session is cut anew. Until the next one, its new turns are of its last segment: of
what has just begun, a segmenter cannot tell yet where it leads."""


def check_options(max_length: int, mean_length: float, threshold: float) -> None:
    """Refuse lengths of less than one turn, and a threshold that is no chance."""
    if not isinstance(max_length, (int, np.integer)) or max_length < 1:
        raise InvalidInput(f"max_length is at least 1 turn, got {shorten(max_length)}")
    if not _is_number(mean_length) or not mean_length >= 1:
        raise InvalidInput(f"mean_length is at least 1 turn, got {shorten(mean_length)}")
    if not _is_number(threshold) or not 0 < threshold < 1:
        raise InvalidInput(f"the threshold lies between 0 and 1, got {shorten(threshold)}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.number))


@lru_cache(maxsize=64)
def length_prior(mean: float, longest: int, shape: float = 3.0, floor: float = 1e-4) -> Floats:
    """The log probability of each segment length: a negative binomial with a floor, so that long ones stay possible.

    Args:
        mean: the expected length.
        longest: the longest length.
        shape: higher for lengths that differ less.
        floor: what is added to each before the probabilities are made to sum to 1.

    Returns:
        Shape ``(longest,)``, for the lengths 1 to ``longest``; not to be changed, as the same are asked for again.
    """
    chance = shape / (shape + max(mean, 1.01) - 1)
    logs = [lgamma(n + shape) - lgamma(shape) - lgamma(n + 1) + n * log1p(-chance) for n in range(longest)]
    weights = np.exp(np.array(logs) + shape * log(chance)) + floor
    return np.asarray(np.log(weights / weights.sum()))


def boundary_probabilities(evidence: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    """The posterior of a boundary in each gap, under a semi-Markov model, for several readings of one run at once.

    Args:
        evidence: log likelihood ratios of boundary against none, shape ``(readings, gaps)``.
        lengths: the log prior of segment lengths, shape ``(longest,)``.

    Returns:
        The probabilities, shape ``(readings, gaps)``, and the log evidence of each reading, shape ``(readings,)``.
    """
    readings, gaps = evidence.shape
    longest = min(len(lengths), gaps + 1)
    cuts = np.concatenate([np.zeros((readings, 1)), evidence, np.zeros((readings, 1))], axis=1)
    # The run's last segment may go on after it, so that it has the chance of being this long or longer.
    open_ended = np.log(np.exp(lengths)[::-1].cumsum()[::-1])
    forward, backward = _totals(np.stack([cuts, cuts[:, ::-1]]), lengths[:longest], open_ended[:longest])
    backward = backward[:, ::-1]
    whole = forward[:, -1:]
    # Both directions count the gap's own evidence.
    inside = forward[:, 1:-1] + backward[:, 1:-1] - evidence - whole
    return np.exp(np.minimum(inside, 0.0)), whole[:, 0]


def _totals(cuts: Floats, lengths: Floats, open_ended: Floats) -> Floats:
    """The log sum over all ways to cut what lies before each gap, forward and backward.

    Args:
        cuts: the evidence from the beginning on, and from the end on, shape ``(2, readings, places)``.
        lengths: the log prior of each length of a segment.
        open_ended: that of the segment at the end.
    """
    totals = np.full(cuts.shape, -np.inf)
    totals[:, :, 0] = 0.0
    places, longest = cuts.shape[2], len(lengths)
    longest_first, open_first = lengths[::-1], open_ended[::-1]
    for stop in range(1, places):
        start = max(0, stop - longest)
        values = totals[:, :, start:stop] + longest_first[longest - stop + start :]
        if stop == places - 1:
            values[0] = totals[0, :, start:stop] + open_first[longest - stop + start :]
        if start == 0:
            values[1, :, 0] = totals[1, :, 0] + open_ended[stop - 1]
        totals[:, :, stop] = np.logaddexp.reduce(values, axis=2) + cuts[:, :, stop]
    return totals


def best_partition(cuts: Floats, longest: int) -> list[int]:
    """The boundaries whose values sum to most, with no segment longer than ``longest`` turns.

    Args:
        cuts: what a boundary after turn ``i`` adds, shape ``(n - 1,)``.
        longest: the longest segment, in turns.

    Returns:
        The turns after which a segment ends, in order, without the last turn.
    """
    turns = len(cuts) + 1
    totals = np.zeros(turns + 1)
    starts = [0] * (turns + 1)
    for stop in range(1, turns + 1):
        first = max(0, stop - longest)
        starts[stop] = first + int(totals[first:stop].argmax())
        totals[stop] = totals[starts[stop]] + (cuts[stop - 1] if stop < turns else 0.0)
    found: list[int] = []
    stop = starts[turns]
    while stop > 0:
        found.append(stop - 1)
        stop = starts[stop]
    return found[::-1]
