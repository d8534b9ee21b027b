"""How well a segmentation agrees with the truth: Pk, WindowDiff, boundary F1 and SeCom's segment score.

A segmentation is a sequence of 0 and 1, one a turn: 1 where a segment ends after that turn, the last always 0
(`secom_core.memory.boundaries_of` makes one from segments). Measures are taken per dialogue and averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from secom_core.errors import InvalidInput
from secom_core.segmenters.agreement import boundary_f1, pk, window_diff, window_size

__all__ = ["SegmentationScore", "boundary_f1", "evaluate", "pk", "window_diff", "window_size"]


@dataclass(frozen=True, slots=True)
class SegmentationScore:
    """Agreement with the truth, averaged over dialogues.

    Args:
        pk: lower is better.
        window_diff: lower is better.
        f1: of the boundary class; higher is better.
        density: share of turns after which a boundary was predicted.
        true_density: the same in the truth.
        dialogues: how many there were.
    """

    pk: float
    window_diff: float
    f1: float
    density: float
    true_density: float
    dialogues: int = 1

    @property
    def score(self) -> float:
        """The segment score, higher is better (SeCom eq. 3)."""
        return (2 * self.f1 + (1 - self.pk) + (1 - self.window_diff)) / 4


def evaluate(truths: Iterable[Sequence[int]], predictions: Iterable[Sequence[int]]) -> SegmentationScore:
    """Measure each dialogue with its own window, then average.

    Raises:
        InvalidInput: for no dialogues, or a pair that cannot be compared.
    """
    pairs = list(zip(truths, predictions, strict=True))
    if not pairs:
        raise InvalidInput("there are no dialogues to measure")
    return SegmentationScore(
        pk=fmean(pk(*pair) for pair in pairs),
        window_diff=fmean(window_diff(*pair) for pair in pairs),
        f1=fmean(boundary_f1(*pair) for pair in pairs),
        density=fmean(fmean(predicted) for _, predicted in pairs),
        true_density=fmean(fmean(truth) for truth, _ in pairs),
        dialogues=len(pairs),
    )
