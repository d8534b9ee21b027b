"""Scores read from what a framework's reranker gives back: some of what it was given, best first, maybe scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple


class Returned(NamedTuple):
    """What was given back: which of the texts, and what it scores, where that is said."""

    place: int
    score: Any


def scores_of(returned: Sequence[Returned], count: int) -> list[float]:
    """A score a text, the higher the better: their own where these fit their order, else one a rank.

    What was not given back is as far below the last as that is below the first.

    Args:
        returned: what was given back, best first; what comes twice counts once.
        count: how many texts there were.
    """
    first: dict[int, Any] = {}
    for each in returned:
        first.setdefault(each.place, each.score)
    scores = list(first.values())
    if not all(_is_finite(score) for score in scores) or any(one < other for one, other in pairwise(scores)):
        scores = list(range(len(first), 0, -1))
    least = scores[-1] - ((scores[0] - scores[-1]) or 1.0) if scores else 0.0
    found = dict.fromkeys(range(count), float(least))
    return list((found | {place: float(score) for place, score in zip(first, scores, strict=True)}).values())


def _is_finite(score: Any) -> bool:
    try:
        return score is not None and not isinstance(score, (str, bool)) and math.isfinite(score)
    except (TypeError, ValueError, OverflowError):
        return False
