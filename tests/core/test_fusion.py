"""Scores made comparable, with values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from secom_core.indexes.fusion import rank_scores, standardise


def test_standardised_scores_by_hand() -> None:
    np.testing.assert_allclose(standardise([1, 3, 5]), np.array([-1, 0, 1]) * np.sqrt(1.5))


@pytest.mark.parametrize("scores", [[], [4.0], [0.1] * 7, [1e300] * 3, [0.0, 0.0]])
def test_constant_scores_say_nothing(scores: list[float]) -> None:
    np.testing.assert_array_equal(standardise(scores), np.zeros(len(scores)))


def test_standardising_is_blind_to_scale_and_offset() -> None:
    scores = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(standardise(scores), standardise(scores * 30 - 4))


@pytest.mark.parametrize(("found", "total"), [(1, 1), (3, 3), (3, 10), (200, 50_000)])
def test_scores_by_rank_fall_and_stand_above_what_was_not_found(found: int, total: int) -> None:
    scores = rank_scores(found, total)
    assert scores.shape == (found,)
    assert (scores > 0).all()
    assert (np.diff(scores) < 0).all()


def test_the_top_of_many_stands_out_further() -> None:
    assert rank_scores(10, 10_000)[0] > rank_scores(10, 20)[0]
    assert rank_scores(0, 10).shape == (0,)
