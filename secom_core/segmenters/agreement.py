"""How far two segmentations of one session agree: Pk, WindowDiff and the F1 of the boundaries.

A segmentation is a sequence of 0 and 1, one a turn: 1 where a segment ends after that turn, the last always 0
(`secom_core.memory.boundaries_of` makes one from segments).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import fmean

from ..errors import InvalidInput


def window_size(truth: Sequence[int]) -> int:
    """The window of Pk and WindowDiff: half the mean true segment, at least 2, at most the whole dialogue."""
    return min(max(2, round(len(truth) / (sum(truth) + 1) / 2)), len(truth))


def _check(truth: Sequence[int], predicted: Sequence[int]) -> None:
    if len(truth) != len(predicted):
        raise InvalidInput(f"both segmentations need the same turns, got {len(truth)} and {len(predicted)}")
    if not truth:
        raise InvalidInput("a segmentation of no turns cannot be measured")
    strange = {value for value in (*truth, *predicted) if value not in (0, 1)}
    if strange:
        raise InvalidInput(f"a segmentation holds only 0 and 1, got {sorted(strange)!r}")


def _window_counts(marks: Sequence[int], k: int) -> list[int]:
    totals = [0, *accumulate(marks)]
    return [late - early for early, late in zip(totals, totals[k:], strict=False)]


def _windows(truth: Sequence[int], predicted: Sequence[int], k: int | None) -> list[tuple[int, int]]:
    _check(truth, predicted)
    width = window_size(truth) if k is None else k
    if not 1 <= width <= len(truth):
        raise InvalidInput(f"a window needs 1 to {len(truth)} turns, got {width}")
    return list(zip(_window_counts(truth, width), _window_counts(predicted, width), strict=True))


def pk(truth: Sequence[int], predicted: Sequence[int], k: int | None = None) -> float:
    """Share of windows in which one has a boundary and the other has none (Beeferman et al. 1999). Lower is better.

    Args:
        truth: 0 or 1 a turn.
        predicted: the same length.
        k: the window in turns; `window_size` of the truth unless given.

    Raises:
        InvalidInput: for unequal lengths, no turns, other values than 0 and 1, or an impossible window.
    """
    return fmean((true > 0) != (guess > 0) for true, guess in _windows(truth, predicted, k))


def window_diff(truth: Sequence[int], predicted: Sequence[int], k: int | None = None) -> float:
    """Share of windows whose numbers of boundaries differ (Pevzner and Hearst 2002). Lower is better.

    Arguments and errors are those of `pk`.
    """
    return fmean(true != guess for true, guess in _windows(truth, predicted, k))


def boundary_f1(truth: Sequence[int], predicted: Sequence[int]) -> float:
    """F1 of the boundary class; 0 where neither has a boundary."""
    _check(truth, predicted)
    both = sum(true and guess for true, guess in zip(truth, predicted, strict=True))
    return 2 * both / max(sum(truth) + sum(predicted), 1)
