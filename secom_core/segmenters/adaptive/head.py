"""A small logistic regression over the gaps of sessions, in numpy.

A gap's score is linear in what is seen at the gap and in the four turns around it. The four turns share one matrix of
turn features, so that nothing is copied per gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..partition import Floats
from .gaps import Rows

OFFSETS: Final = (-1, 0, 1, 2)
"""The turns around a gap that are read, counted from the turn before it."""


def sigmoid(scores: Floats) -> Floats:
    """The logistic function, safe for large values."""
    return np.asarray(0.5 * (1 + np.tanh(scores / 2)))


@dataclass(frozen=True, slots=True)
class Gaps:
    """The gaps of some sessions.

    Args:
        seen: features of each gap, shape ``(g, k)``.
        turns: features of the turns of all sessions, with a row of zeros before, between and after the sessions.
        before: for each gap, the row in ``turns`` of the turn before it.
        lengths: how many gaps each session has.
    """

    seen: Rows
    turns: Rows
    before: npt.NDArray[np.intp]
    lengths: tuple[int, ...]

    @property
    def widths(self) -> tuple[int, int]:
        """How many features a gap has, and a turn."""
        return self.seen.shape[1], self.turns.shape[1]

    @classmethod
    def of(cls, seen: Sequence[Rows], turns: Sequence[Rows]) -> Gaps:
        """Put sessions one after another; each has one gap less than turns."""
        blank = np.zeros((1, turns[0].shape[1]), dtype=np.float32)
        padded = np.vstack([blank, *(part for rows in turns for part in (rows, blank))])
        lengths = tuple(len(rows) - 1 for rows in turns)
        starts = np.cumsum([1, *(length + 2 for length in lengths[:-1])])
        before = [start + np.arange(length) for start, length in zip(starts, lengths, strict=True)]
        return cls(np.vstack(seen), padded, np.concatenate(before), lengths)


@dataclass(frozen=True, slots=True)
class Head:
    """Weights of the regression.

    Args:
        seen: shape ``(k,)``.
        turns: shape ``(d, 4)``, a column an offset.
        bias: the score of a gap where nothing is seen.
    """

    seen: Floats
    turns: Floats
    bias: float

    def scores(self, gaps: Gaps) -> Floats:
        """The log-odds of a boundary in each gap."""
        around = gaps.turns @ self.turns.astype(np.float32)
        parts = (around[gaps.before + offset, column] for column, offset in enumerate(OFFSETS))
        return np.asarray(sum(parts, start=gaps.seen @ self.seen + self.bias), dtype=np.float64)

    def flat(self) -> Floats:
        """All weights as one vector."""
        return np.concatenate([self.seen, self.turns.ravel(), [self.bias]])

    @classmethod
    def unflat(cls, weights: Floats, seen: int, turns: int) -> Head:
        """The inverse of `flat`, for ``seen`` gap features and ``turns`` turn features."""
        return cls(weights[:seen], weights[seen:-1].reshape(turns, len(OFFSETS)), float(weights[-1]))


@dataclass(frozen=True, slots=True)
class Penalty:
    """A squared penalty on weights.

    Args:
        l2: on what is seen at a gap.
        caution: how many times more on what is read of the turns, where few sessions are easily learned by heart; again
            so many times more on the turns further off, and on words.
        words: how many of the turns' first columns are words.
    """

    l2: float
    caution: float = 1.0
    words: int = 0

    def costs(self, seen: int, turns: int) -> Floats:
        """What each weight of `Head.flat` costs."""
        rows = np.full((turns, len(OFFSETS)), self.caution)
        rows[: self.words] *= self.caution
        rows[:, [0, -1]] *= self.caution
        return np.concatenate([np.full(seen, self.l2), self.l2 * rows.ravel(), [0.0]])


def fit_head(
    gaps: Gaps, targets: Floats, weights: Floats, penalty: Penalty, start: Head | None = None, steps: int = 60
) -> Head:
    """The weights that explain ``targets`` best, with a squared penalty on all but the bias.

    Args:
        gaps: the sessions.
        targets: 0 to 1 a gap.
        weights: how much each gap counts; 0 leaves it out.
        penalty: how strong it is.
        start: weights to begin from.
        steps: the most steps taken.
    """
    used = np.flatnonzero(weights)
    cost = penalty.costs(*gaps.widths)

    def loss(flat: Floats) -> tuple[float, Floats]:
        head = Head.unflat(flat, *gaps.widths)
        scores = head.scores(gaps)[used]
        error = weights[used] * (sigmoid(scores) - targets[used])
        value = weights[used] @ (np.logaddexp(0, scores) - targets[used] * scores)
        spread = np.zeros((len(gaps.turns), len(OFFSETS)), dtype=np.float32)
        for column, offset in enumerate(OFFSETS):
            spread[gaps.before[used] + offset, column] = error
        slope = np.concatenate([error @ gaps.seen[used], (gaps.turns.T @ spread).ravel(), [error.sum()]])
        return float(value + 0.5 * cost @ flat**2), slope + cost * flat

    begin = np.zeros(len(cost)) if start is None else start.flat()
    return Head.unflat(minimise(loss, begin, steps=steps), *gaps.widths)


def minimise(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, *, steps: int = 60, memory: int = 8
) -> Floats:
    """A minimum of a smooth convex function by L-BFGS (Liu and Nocedal 1989) with backtracking."""
    point, (value, slope) = start, loss(start)
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        way = -_two_loops(slope, pairs) if pairs else -slope / max(1.0, float(np.linalg.norm(slope)))
        length, fall = 1.0, float(slope @ way)
        while True:
            there = point + length * way
            next_value, next_slope = loss(there)
            if next_value <= value + 1e-4 * length * fall or length < 1e-8:
                break
            length /= 2
        moved, turned = there - point, next_slope - slope
        if moved @ turned > 1e-10:
            pairs = [*pairs[-memory + 1 :], (moved, turned)]
        if value - next_value <= 1e-5 * max(1.0, abs(value)):
            return there if next_value < value else point
        point, value, slope = there, next_value, next_slope
    return point


def _two_loops(slope: Floats, pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    way, shares = slope.copy(), []
    for moved, turned in reversed(pairs):
        share = float(moved @ way) / float(moved @ turned)
        way -= share * turned
        shares.append(share)
    moved, turned = pairs[-1]
    way *= float(moved @ turned) / float(turned @ turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        way += (share - float(turned @ way) / float(moved @ turned)) * moved
    return np.asarray(way)
