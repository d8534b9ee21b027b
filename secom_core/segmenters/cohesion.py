"""How well the words on both sides of a gap hang together. Every measure is free of the texts' length and script.

The terms are those of `secom_core.text.terms.terms`. Each is weighed by how few of the run's units hold it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from typing import Final

import numpy as np
import numpy.typing as npt

from ..text.terms import terms

Floats = npt.NDArray[np.float64]

COSINES: Final[dict[str, tuple[tuple[int, int], tuple[int, int]]]] = {
    **{f"cosine_{width}": ((-width, 0), (0, width)) for width in (1, 2, 3, 5)},
    "next_with_before": ((-4, 0), (0, 1)),
    "next_with_after": ((0, 1), (1, 4)),
    "last_with_before": ((-4, -1), (-1, 0)),
    "last_with_after": ((-1, 0), (0, 3)),
    "over_last": ((-2, -1), (0, 1)),
    "over_next": ((-1, 0), (1, 2)),
}
"""Two windows by name, each as offsets from the unit after the gap."""
_SEEN: Final = {"seen_2": 2, "seen_6": 6, "seen_ever": 1 << 60}
_MODELS: Final = {"model_2": 2, "model_4": 4}
COHESION: Final = (*COSINES, *_SEEN, *_MODELS)
"""The names of the columns of `cohesion`."""

_BLOCK: Final = 256
_CELLS: Final = 8_000_000
_REACH: Final = 10
# A Dirichlet prior over a small vocabulary; with these two, the measure separated best in all kinds of talk tried.
_ALPHA: Final = 0.1
_VOCABULARY: Final = 300


def bags_of(texts: Sequence[str]) -> list[Counter[str]]:
    """The terms of each message, with their counts."""
    return [Counter(terms(text)) for text in texts]


def cohesion(bags: Sequence[Counter[str]]) -> Floats:
    """The measures for each gap.

    Args:
        bags: the terms of each unit (a message), with their counts.

    Returns:
        Shape ``(len(bags) - 1, len(COHESION))``.
    """
    if len(bags) < 2:
        return np.zeros((0, len(COHESION)))
    weights = _weights(bags)
    band = band_of(_vectors(bags, weights), _REACH)
    columns = [cosines(band, *windows) for windows in COSINES.values()]
    columns += _seen(bags, weights)
    columns += [_models(bags, window) for window in _MODELS.values()]
    return np.stack(columns, axis=1)


def _weights(bags: Sequence[Counter[str]]) -> dict[str, float]:
    frequency = Counter(term for bag in bags for term in bag)
    return {term: math.log1p(len(bags) / count) for term, count in frequency.items()}


def _vectors(bags: Sequence[Counter[str]], weights: dict[str, float]) -> list[tuple[npt.NDArray[np.intp], Floats]]:
    places = {term: place for place, term in enumerate(weights)}
    return [
        (np.array([places[t] for t in bag], np.intp), np.array([n * weights[t] for t, n in bag.items()], np.float64))
        for bag in bags
    ]


def band_of(vectors: Sequence[tuple[npt.NDArray[np.intp], Floats]], reach: int) -> Floats:
    """Dot products of each sparse vector with itself and the ``reach`` that follow, shape ``(n, reach + 1)``.

    Worked out in blocks, so that memory does not grow with the square of the number of vectors.
    """
    band = np.zeros((len(vectors), reach + 1))
    start = 0
    while start < len(vectors):
        size = _block_size(vectors[start : start + _BLOCK + reach], reach)
        products = _products(vectors[start : start + size + reach])
        for step in range(reach + 1):
            diagonal = products.diagonal(step)[:size]
            band[start : start + len(diagonal), step] = diagonal
        start += size
    return band


def _block_size(vectors: Sequence[tuple[npt.NDArray[np.intp], Floats]], reach: int) -> int:
    """How many vectors fit into a dense block; fewer where messages are huge."""
    size, terms = _BLOCK, sum(len(places) for places, _ in vectors)
    while size > 1 and (size + reach) * terms > _CELLS:
        size //= 2
        terms = sum(len(places) for places, _ in vectors[: size + reach])
    return size


def _products(vectors: Sequence[tuple[npt.NDArray[np.intp], Floats]]) -> Floats:
    used, columns = np.unique(np.concatenate([places for places, _ in vectors]), return_inverse=True)
    dense = np.zeros((len(vectors), len(used)))
    rows = np.repeat(np.arange(len(vectors)), [len(places) for places, _ in vectors])
    dense[rows, columns] = np.concatenate([values for _, values in vectors])
    return np.asarray(dense @ dense.T)


def window_sums(band: Floats, left: tuple[int, int], right: tuple[int, int]) -> Floats:
    """For each gap the sum of the dot products of all units of one window with all of the other, shape ``(n - 1,)``.

    Args:
        band: dot products as `band_of` gives them, shape ``(n, reach + 1)``.
        left: a window, as offsets from the unit after the gap.
        right: the other window.
    """
    gaps = np.arange(1, len(band))
    total = np.zeros(len(gaps))
    for one in range(*left):
        for other in range(*right):
            first, last = gaps + min(one, other), gaps + max(one, other)
            inside = (first >= 0) & (last < len(band))
            total[inside] += band[first[inside], abs(one - other)]
    return total


def cosines(band: Floats, left: tuple[int, int], right: tuple[int, int]) -> Floats:
    """For each gap the cosine between the sums of two windows, shape ``(n - 1,)``. Arguments as in `window_sums`."""
    lengths = window_sums(band, left, left) * window_sums(band, right, right)
    return window_sums(band, left, right) / np.sqrt(np.maximum(lengths, 1e-9))


def _seen(bags: Sequence[Counter[str]], weights: dict[str, float]) -> list[Floats]:
    """The share of the next unit's terms, by weight, that were said lately."""
    last: dict[str, int] = {}
    shares = np.zeros((len(_SEEN), len(bags)))
    for place, bag in enumerate(bags):
        # One extra unit of weight keeps a single common word from counting as a whole.
        mass = sum(weights[term] for term in bag) + 1.0
        for row, reach in enumerate(_SEEN.values()):
            lately = (weights[term] for term in bag if place - last.get(term, -reach - 1) <= reach and term in last)
            shares[row, place] = sum(lately) / mass
        last.update(dict.fromkeys(bag, place))
    return list(shares[:, 1:])


@lru_cache(maxsize=8192)
def _log_rising(count: int, start: float) -> float:
    """The logarithm of ``start (start + 1) … (start + count - 1)``."""
    return math.lgamma(count + start) - math.lgamma(start)


def _log_evidence(bag: Counter[str]) -> float:
    """The log probability of the words under one unknown distribution (as in Eisenstein and Barzilay 2008)."""
    each = sum(map(_log_rising, bag.values(), repeat(_ALPHA)))
    return each - _log_rising(sum(bag.values()), _ALPHA * _VOCABULARY)


def _models(bags: Sequence[Counter[str]], window: int) -> Floats:
    """How much better two distributions explain the words around the gap than one does, a word."""
    values = np.zeros(len(bags) - 1)
    for gap in range(1, len(bags)):
        before, after = _joined(bags[max(0, gap - window) : gap]), _joined(bags[gap : gap + window])
        both = before + after
        gain = _log_evidence(before) + _log_evidence(after) - _log_evidence(both)
        values[gap - 1] = gain / (sum(both.values()) + 5)
    return values


def _joined(bags: Sequence[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for bag in bags:
        total.update(bag)
    return total


def alternation(bags: Sequence[Counter[str]]) -> float:
    """How much more alike units are at even distances than at odd ones: high where two parties speak differently."""
    if len(bags) < 4:
        return 0.0
    band = band_of(_vectors(bags, _weights(bags)), 6)
    lengths = np.sqrt(np.maximum(band[:, 0], 1e-9))
    alike = [band[:-step, step] / (lengths[:-step] * lengths[step:]) for step in range(1, 7) if step < len(bags)]
    return float(np.concatenate(alike[1::2]).mean() - np.concatenate(alike[::2]).mean())
