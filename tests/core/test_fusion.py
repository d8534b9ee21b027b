"""Fusion, with values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from secom_core.errors import InvalidInput
from secom_core.indexes.fusion import reciprocal_rank_fusion, standardise, standardised_fusion


def test_reciprocal_rank_fusion_by_hand() -> None:
    assert reciprocal_rank_fusion([[7, 3, 5], [3, 9]]) == [
        (3, pytest.approx(1 / 62 + 1 / 61)),
        (7, pytest.approx(1 / 61)),
        (9, pytest.approx(1 / 62)),
        (5, pytest.approx(1 / 63)),
    ]


def test_ties_come_in_the_order_of_ids() -> None:
    assert [unit for unit, _ in reciprocal_rank_fusion([[9, 1], [1, 9], [4]])] == [1, 9, 4]


def test_a_small_k_lets_first_ranks_stand_out() -> None:
    rankings = [[1, 2, 3], [4, 2, 3], [5, 2, 3]]
    assert reciprocal_rank_fusion(rankings)[0][0] == 2
    assert reciprocal_rank_fusion(rankings, k=-0.9)[0][0] == 1
    with pytest.raises(InvalidInput, match="got -1"):
        reciprocal_rank_fusion(rankings, k=-1)


def test_no_rankings_give_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []


def test_standardised_scores_by_hand() -> None:
    np.testing.assert_allclose(standardise([1, 3, 5]), np.array([-1, 0, 1]) * np.sqrt(1.5))


@pytest.mark.parametrize("scores", [[], [4.0], [0.1] * 7, [1e300] * 3, [0.0, 0.0]])
def test_constant_scores_say_nothing(scores: list[float]) -> None:
    np.testing.assert_array_equal(standardise(scores), np.zeros(len(scores)))


def test_fusion_is_blind_to_scale_and_offset() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(size=50), random.normal(size=50)
    np.testing.assert_allclose(
        standardised_fusion([first, second], [1.0, 0.5]), standardised_fusion([first * 30 - 4, second / 9], [1.0, 0.5])
    )


def test_weights_weigh() -> None:
    fused = standardised_fusion([[0.0, 1.0], [5.0, 1.0], [2.0, 2.0]], [1.0, 3.0, 100.0])
    np.testing.assert_allclose(fused, [2.0, -2.0])


def test_mismatches_are_named() -> None:
    with pytest.raises(InvalidInput, match="1 signals and 2 weights"):
        standardised_fusion([[1.0]], [1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"\(2,\), \(1,\)"):
        standardised_fusion([[1.0, 2.0], [1.0]], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="0 signals"):
        standardised_fusion([], [])
