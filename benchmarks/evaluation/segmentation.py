"""How well a segmentation agrees with the truth: Pk, WindowDiff, boundary F1 and SeCom's segment score.

A segmentation is a sequence of 0 and 1, one a turn: 1 where a segment ends after that turn, the last always 0
(`secom_core.memory.boundaries_of` makes one from segments). Measures are taken per dialogue and averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from secom_core.errors import InvalidInput
from secom_core.segmenters.agreement import boundary_f1, pk, window_diff, window_size

__all__ = ["SegmentationScore", "boundary_f1", "evaluate", "half_interval", "pk", "window_diff", "window_size"]


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
        halves: half of the 95 per cent interval of ``Pk``, ``WindowDiff``, ``F1`` and ``Score``; nothing for one
            dialogue.
    """

    pk: float
    window_diff: float
    f1: float
    density: float
    true_density: float
    dialogues: int = 1
    halves: Mapping[str, float] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The segment score, higher is better (SeCom eq. 3)."""
        return segment_score(self.pk, self.window_diff, self.f1)

    @property
    def measures(self) -> dict[str, float]:
        """The four by the names that they have in tables, then half of each interval under ``name ±``."""
        named = {"Pk": self.pk, "WindowDiff": self.window_diff, "F1": self.f1, "Score": self.score}
        return named | {f"{name} ±": half for name, half in self.halves.items()}


def segment_score(pk: float, window_diff: float, f1: float) -> float:
    """SeCom eq. 3."""
    return (2 * f1 + (1 - pk) + (1 - window_diff)) / 4


def half_interval(values: Sequence[float]) -> float | None:
    """Half of the 95 per cent interval of a mean: 1.96 standard errors; None for fewer than two values."""
    return 1.96 * stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


def evaluate(truths: Iterable[Sequence[int]], predictions: Iterable[Sequence[int]]) -> SegmentationScore:
    """Measure each dialogue with its own window, then average.

    Raises:
        InvalidInput: for no dialogues, or a pair that cannot be compared.
    """
    pairs = list(zip(truths, predictions, strict=True))
    if not pairs:
        raise InvalidInput("there are no dialogues to measure")
    measured = [(pk(*pair), window_diff(*pair), boundary_f1(*pair)) for pair in pairs]
    pks, window_diffs, f1s = zip(*measured, strict=True)
    scores = [segment_score(*each) for each in measured]
    halves = {
        name: half
        for name, values in (("Pk", pks), ("WindowDiff", window_diffs), ("F1", f1s), ("Score", scores))
        if (half := half_interval(values)) is not None
    }
    return SegmentationScore(
        pk=fmean(pks),
        window_diff=fmean(window_diffs),
        f1=fmean(f1s),
        density=fmean(fmean(predicted) for _, predicted in pairs),
        true_density=fmean(fmean(truth) for truth, _ in pairs),
        dialogues=len(pairs),
        halves=halves,
    )
