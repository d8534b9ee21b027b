"""Topics from words alone: no model, any script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..analysis import terms
from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Segment, segments_from
from .partition import best_partition

__all__ = ["LexicalSegmenter"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LexicalSegmenter:
    """Cuts where the words change (Hearst 1997), with an optimal partition on top.

    Args:
        max_length: the longest segment, in turns.
        window: how many turns on each side of a gap are compared.
        threshold: how deep a gap has to be, in standard deviations above the mean.

    Raises:
        InvalidInput: for a length or window below 1.
    """

    max_length: int = 40
    window: int = 3
    threshold: float = 0.0

    def __post_init__(self) -> None:
        if self.max_length < 1 or self.window < 1:
            raise InvalidInput(f"max_length and window are at least 1, got {self.max_length} and {self.window}")

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        if not turns:
            return []
        gains = np.zeros((len(turns), min(self.max_length, len(turns))))
        return segments_from(best_partition(self.scores(turns), gains), len(turns))

    def scores(self, turns: Sequence[Turn]) -> Floats:
        """The strength of a boundary in each gap, shape ``(len(turns) - 1,)``; above 0 where it pays."""
        if len(turns) < 2:
            return np.zeros(0)
        bags = [Counter(terms(turn.content)) for turn in turns]
        weights = _weights(bags)
        depth = 1 - np.array([_similarity(bags, gap, self.window, weights) for gap in range(1, len(turns))])
        return np.asarray((depth - depth.mean()) / (depth.std() + 1e-9) - self.threshold)


def _weights(bags: Sequence[Counter[str]]) -> dict[str, float]:
    frequency = Counter(term for bag in bags for term in bag)
    return {term: math.log1p(len(bags) / count) for term, count in frequency.items()}


def _similarity(bags: Sequence[Counter[str]], gap: int, window: int, weights: dict[str, float]) -> float:
    before: Counter[str] = sum(bags[max(0, gap - window) : gap], Counter())
    after: Counter[str] = sum(bags[gap : gap + window], Counter())
    shared = sum(before[term] * after[term] * weights[term] ** 2 for term in before.keys() & after.keys())
    return shared / math.sqrt(_square(before, weights) * _square(after, weights) + 1e-9)


def _square(bag: Counter[str], weights: dict[str, float]) -> float:
    return sum((count * weights[term]) ** 2 for term, count in bag.items())
