"""How well the words on both sides of a gap hang together. Every measure is free of the texts' length and script.

The terms are those of `secom_core.text.terms.terms`. Each is weighed by how few of the run's units hold it.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ..text.kept import KEPT, Kept
from ..text.terms import terms

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

Pair = tuple[tuple[int, int], tuple[int, int]]
"""Two windows, each as offsets from the unit after the gap."""

COSINES: Final[dict[str, Pair]] = {
    **{f"cosine_{width}": ((-width, 0), (0, width)) for width in (1, 2, 3, 5)},
    "next_with_before": ((-4, 0), (0, 1)),
    "next_with_after": ((0, 1), (1, 4)),
    "last_with_before": ((-4, -1), (-1, 0)),
    "last_with_after": ((-1, 0), (0, 3)),
    "over_last": ((-2, -1), (0, 1)),
    "over_next": ((-1, 0), (1, 2)),
}
"""Pairs of windows by name."""
_SEEN: Final = {"seen_2": 2, "seen_6": 6, "seen_ever": 1 << 60}
_MODELS: Final = {"model_2": 2, "model_4": 4}
COHESION: Final = (*COSINES, *_SEEN, *_MODELS)
"""The names of the columns of `cohesion`."""

_REACH: Final = 10
_ALTERNATING: Final = 6
# A Dirichlet prior over a small vocabulary; with these two, the measure separated best in all kinds of talk tried.
_ALPHA: Final = 0.1
_VOCABULARY: Final = 300


_bag: Final[Kept[str, Counter[str]]] = Kept(lambda text: Counter(terms(text)), characters=KEPT)


def bags_of(texts: Sequence[str]) -> list[Counter[str]]:
    """The terms of each message, with their counts; not to be changed, as the same messages come again."""
    return [_bag(text) for text in texts]


@dataclass(frozen=True)
class _Entries:
    """Which unit holds which term, sorted by term, then by unit.

    Args:
        terms: the number of each entry's term.
        units: the place of its unit.
        counts: how often the unit holds the term.
        weights: what the term weighs.
        size: how many units there are.
    """

    terms: Places
    units: Places
    counts: Places
    weights: Floats
    size: int

    @property
    def again(self) -> Places:
        """The entries whose term stands in an earlier unit too; the entry before them is the last one of those."""
        return np.flatnonzero(self.terms[1:] == self.terms[:-1]) + 1


def _entries(bags: Sequence[Counter[str]]) -> _Entries:
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    found = np.array([*map(numbers.__getitem__, itertools.chain.from_iterable(bags))], dtype=np.intp)
    units = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    counts = np.array([*itertools.chain.from_iterable(bag.values() for bag in bags)], dtype=np.intp)
    order = np.argsort(found, kind="stable")
    weights = np.log1p(len(bags) / np.bincount(found, minlength=len(numbers)))
    return _Entries(found[order], units[order], counts[order], weights[found[order]], len(bags))


def cohesion(bags: Sequence[Counter[str]]) -> Floats:
    """The measures for each gap.

    Args:
        bags: the terms of each unit (a message), with their counts.

    Returns:
        Shape ``(len(bags) - 1, len(COHESION))``.
    """
    if len(bags) < 2:
        return np.zeros((0, len(COHESION)))
    entries = _entries(bags)
    band = _band(entries, _REACH)
    models = [_models(entries, window) for window in _MODELS.values()]
    return np.concatenate([cosines(band, COSINES.values()), np.stack([*_seen(entries), *models], axis=1)], axis=1)


def _band(entries: _Entries, reach: int) -> Floats:
    return band_of(entries.terms, entries.units, entries.counts * entries.weights, entries.size, reach)


def band_of(terms: Places, units: Places, values: Floats, size: int, reach: int) -> Floats:
    """Dot products of each sparse vector with itself and the ``reach`` that follow, shape ``(size, reach + 1)``.

    Args:
        terms: the column of each entry, in order.
        units: the vector that it is of, in order where the column is the same.
        values: its value.
        size: how many vectors there are.
        reach: how far apart two of them are at most.
    """
    band = np.zeros(size * (reach + 1))
    # A vector has one entry a column at most: of two that are near, the entries are as near.
    for step in range(min(reach + 1, len(terms))):
        stop = len(terms) - step
        apart = units[step:] - units[:stop]
        near = np.flatnonzero((terms[step:] == terms[:stop]) & (apart <= reach))
        places = units[near] * (reach + 1) + apart[near]
        band += np.bincount(places, values[near] * values[near + step], len(band))
    return band.reshape(size, reach + 1)


@lru_cache(maxsize=16)
def _chosen(pairs: tuple[Pair, ...], width: int) -> Floats:
    """Which products of a band, by offset from the gap and by distance, the sums over pairs of windows are of."""
    chosen = np.zeros((width, 2 * width, len(pairs)))
    for number, (left, right) in enumerate(pairs):
        for one in range(*left):
            for other in range(*right):
                chosen[abs(one - other), width + min(one, other), number] += 1
    return chosen.reshape(-1, len(pairs))


def window_sums(band: Floats, pairs: Iterable[Pair]) -> Floats:
    """For each gap the sums of the dot products of all units of one window with all of another.

    Args:
        band: dot products as `band_of` gives them, shape ``(n, reach + 1)``.
        pairs: windows, as offsets from the unit after the gap.

    Returns:
        Shape ``(n - 1, pairs)``.
    """
    # Beyond both ends nothing stands, and a band holds 0 where its second vector would.
    width = band.shape[1]
    beyond, wanted = np.zeros((width, width)), _chosen(tuple(pairs), width)
    around = sliding_window_view(np.concatenate([beyond, band, beyond]), 2 * width, axis=0)[1 : len(band)]
    return np.asarray(around.reshape(len(around), len(wanted)) @ wanted)


def cosines(band: Floats, pairs: Iterable[Pair]) -> Floats:
    """For each gap the cosines between the sums of two windows, shape ``(n - 1, pairs)``; see `window_sums`."""
    pairs = list(pairs)
    sums = window_sums(band, [*pairs, *((left, left) for left, _ in pairs), *((right, right) for _, right in pairs)])
    across, ours, theirs = np.split(sums, 3, axis=1)
    return np.asarray(across / np.sqrt(np.maximum(ours * theirs, 1e-9)))


def _seen(entries: _Entries) -> list[Floats]:
    """The share of the next unit's terms, by weight, that were said lately."""
    # One extra unit of weight keeps a single common word from counting as a whole.
    mass = np.bincount(entries.units, entries.weights, entries.size) + 1.0
    apart = entries.units[entries.again] - entries.units[entries.again - 1]
    lately = (entries.again[apart <= reach] for reach in _SEEN.values())
    sums = (np.bincount(entries.units[each], entries.weights[each], entries.size) for each in lately)
    return [(each / mass)[1:] for each in sums]


@lru_cache(maxsize=16)
def _rising_table(size: int, start: float) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(start + np.arange(size - 1)))])


def _log_rising(counts: Places, start: float) -> Floats:
    """The logarithm of ``start (start + 1) … (start + count - 1)`` for each count."""
    return _rising_table(1 << int(counts.max(initial=1)).bit_length(), start)[counts]


def _models(entries: _Entries, window: int) -> Floats:
    """How much better two distributions explain the words around the gap than one does, a word.

    The log probability of words under one unknown distribution is that of Eisenstein and Barzilay (2008). What only
    one side says adds the same to both explanations, so that the terms of both sides are looked at alone.
    """
    gaps = np.arange(1, entries.size)
    totals = np.concatenate([[0], np.cumsum(np.bincount(entries.units, entries.counts, entries.size))]).astype(np.intp)
    before = totals[gaps] - totals[np.maximum(gaps - window, 0)]
    after = totals[np.minimum(gaps + window, entries.size)] - totals[gaps]
    gains = _shared_gains(entries, window)[1:]
    lengths = np.stack([before + after, before, after])
    both, one, other = _log_rising(lengths, _ALPHA * _VOCABULARY)
    gains += both - one - other
    return np.asarray(gains / (before + after + 5))


def _shared_gains(entries: _Entries, window: int) -> Floats:
    """What the terms on both sides of the gap before each unit add, shape ``(size,)``."""
    size = entries.size
    # Sorted, so that a term's entries from a unit on are found by searching.
    keys = entries.terms * size + entries.units
    counted = np.concatenate([[0], np.cumsum(entries.counts)])
    after = entries.again
    first = np.maximum(entries.units[after - 1] + 1, entries.units[after] - window + 1)
    last = np.minimum(entries.units[after], entries.units[after - 1] + window)
    step, there = np.nonzero(first + np.arange(window)[:, None] <= last)
    entry, gap = after[there], first[there] + step
    base = entries.terms[entry] * size
    begin = np.searchsorted(keys, base + np.maximum(gap - window, 0))
    end = np.searchsorted(keys, base + np.minimum(gap + window, size))
    counts = counted[np.stack([end, entry, end])] - counted[np.stack([begin, begin, entry])]
    both, left, right = _log_rising(counts, _ALPHA)
    gains = np.bincount(step * size + gap, left + right - both, window * size)
    # Of nothing, numpy counts in whole numbers.
    return np.asarray(gains.reshape(window, size).sum(axis=0), dtype=np.float64)


def alternation(bags: Sequence[Counter[str]]) -> float:
    """How much more alike units are at even distances than at odd ones: high where two parties speak differently."""
    if len(bags) < 4:
        return 0.0
    band = _band(_entries(bags), _ALTERNATING)
    lengths = np.sqrt(np.maximum(band[:, 0], 1e-9))
    steps = range(1, min(_ALTERNATING + 1, len(bags)))
    alike = [band[:-step, step] / (lengths[:-step] * lengths[step:]) for step in steps]
    return float(np.concatenate(alike[1::2]).mean() - np.concatenate(alike[::2]).mean())
