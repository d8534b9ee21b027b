"""The semi-Markov model and the best partition, against listing all ways to cut."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

from secom_core.segmenters.cohesion import band_of
from secom_core.segmenters.partition import best_partition, boundary_probabilities, length_prior


def ways(turns: int, longest: int) -> list[tuple[int, ...]]:
    """All 0/1 strings of boundaries in which no segment is longer than allowed."""
    found = []
    for cuts in itertools.product((0, 1), repeat=turns - 1):
        ends = [0, *(place + 1 for place, cut in enumerate(cuts) if cut), turns]
        if max(np.diff(ends)) <= longest:
            found.append(cuts)
    return found


def lengths_of(cuts: tuple[int, ...]) -> list[int]:
    ends = [0, *(place + 1 for place, cut in enumerate(cuts) if cut), len(cuts) + 1]
    return [int(length) for length in np.diff(ends)]


@pytest.mark.parametrize(("turns", "longest"), [(2, 1), (2, 5), (5, 3), (8, 4), (8, 30)])
def test_probabilities_agree_with_all_ways_to_cut(turns: int, longest: int) -> None:
    evidence = np.random.default_rng(turns).normal(scale=2, size=(2, turns - 1))
    prior = length_prior(3, longest)
    chances, support = boundary_probabilities(evidence, prior)
    for row in range(2):
        total, marked = 0.0, np.zeros(turns - 1)
        for cuts in ways(turns, longest):
            *closed, last = lengths_of(cuts)
            weight = np.exp(prior[[length - 1 for length in closed]].sum() + evidence[row] @ cuts)
            weight *= np.exp(prior[last - 1 :]).sum()
            total, marked = total + weight, marked + weight * np.array(cuts)
        assert support[row] == pytest.approx(np.log(total))
        assert chances[row] == pytest.approx(marked / total)


@pytest.mark.parametrize(("turns", "longest"), [(1, 1), (2, 1), (6, 2), (9, 4), (9, 50)])
def test_best_partition_agrees_with_all_ways_to_cut(turns: int, longest: int) -> None:
    values = np.random.default_rng(turns).normal(size=turns - 1)
    best = max(ways(turns, longest), key=lambda cuts: float(values @ np.array(cuts)))
    assert best_partition(values, longest) == [place for place, cut in enumerate(best) if cut]


def test_strong_evidence_beats_the_prior() -> None:
    evidence = np.full((1, 9), -8.0)
    evidence[0, 4] = 12
    chances, _ = boundary_probabilities(evidence, length_prior(2, 40))
    assert chances[0].argmax() == 4
    assert chances[0, 4] > 0.99
    assert np.delete(chances[0], 4).max() < 0.05


def test_extreme_evidence_stays_finite() -> None:
    evidence = np.array([[1e6, -1e6, 1e6, 1e6]])
    chances, support = boundary_probabilities(evidence, length_prior(5, 40))
    assert np.isfinite(chances).all()
    assert np.isfinite(support).all()
    assert chances[0].round(3).tolist() == [1, 0, 1, 1]


def test_length_prior_is_a_distribution_with_the_mean() -> None:
    chances = np.exp(length_prior(6, 400, floor=0.0))
    assert chances.sum() == pytest.approx(1)
    assert chances @ np.arange(1, 401) == pytest.approx(6)
    assert np.exp(length_prior(6, 400))[-1] > 0


def test_band_agrees_with_the_whole_matrix() -> None:
    dice = np.random.default_rng(3)
    dense = np.where(dice.random((600, 20)) < 0.3, dice.random((600, 20)), 0.0)
    terms, units = np.nonzero(dense.T)
    band = band_of(terms, units, dense[units, terms], 600, 10)
    for step in range(11):
        assert band[: 600 - step, step] == pytest.approx((dense @ dense.T).diagonal(step))
        assert not band[600 - step :, step].any()


@pytest.mark.slow
def test_huge_messages_take_no_huge_memory() -> None:
    terms, units = np.arange(60_000 * 30), np.repeat(np.arange(30), 60_000)
    tracemalloc.start()
    band = band_of(terms, units, np.ones(len(terms)), 30, 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert band[:, 0] == pytest.approx(60_000)
    assert peak < 150e6  # all thirty in one matrix would take 430 MB
