"""Pk, WindowDiff, F1 and Score: worked by hand, and against nltk."""

from __future__ import annotations

import random

import pytest

from benchmarks.evaluation.segmentation import boundary_f1, evaluate, pk, window_diff, window_size
from secom_core.errors import InvalidInput

TRUTH = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]
NEAR = [0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
NONE = [0] * 12


def test_window_is_half_the_mean_segment_and_at_least_two() -> None:
    assert window_size(TRUTH) == 2  # 12 turns, 3 segments
    assert window_size(NONE) == 6
    assert window_size([1, 1, 1, 0]) == 2
    assert window_size([0] * 5) == 2  # 2.5 is rounded to even, as Python and the data's definition do
    assert window_size([0]) == 1


def test_worked_by_hand() -> None:
    # 11 windows of 2; the boundary moved from 3 to 2 is seen wrongly in the windows that start at 1 and at 3.
    assert pk(TRUTH, NEAR) == pytest.approx(2 / 11)
    assert window_diff(TRUTH, NEAR) == pytest.approx(2 / 11)
    assert boundary_f1(TRUTH, NEAR) == pytest.approx(0.5)
    # four windows of 2 hold one of the two true boundaries
    assert pk(TRUTH, NONE) == pytest.approx(4 / 11)
    assert boundary_f1(TRUTH, NONE) == 0


def test_window_diff_counts_where_pk_only_looks() -> None:
    truth, double = [0, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]
    assert pk(truth, double, 2) == pytest.approx(1 / 5)
    assert window_diff(truth, double, 2) == pytest.approx(2 / 5)


def test_the_truth_itself_is_perfect() -> None:
    score = evaluate([TRUTH], [TRUTH])
    assert (score.pk, score.window_diff, score.f1, score.score) == (0, 0, 1, 1)
    assert score.density == score.true_density == pytest.approx(2 / 12)


def test_f1_is_zero_where_undefined() -> None:
    assert boundary_f1(NONE, NONE) == 0
    assert evaluate([NONE], [NONE]).score == 0.5


def test_averaged_over_dialogues_not_over_turns() -> None:
    score = evaluate([TRUTH, [0, 1, 0]], [TRUTH, [0, 0, 0]])
    assert score.f1 == 0.5
    assert score.pk == pytest.approx((0 + 1) / 2)
    assert score.score == pytest.approx((2 * 0.5 + 0.5 + 0.5) / 4)
    assert score.dialogues == 2


def test_means_come_with_half_of_their_interval() -> None:
    # F1 of the four is 1, 0, 1 and 0: variance 4 x 0.25 / 3, standard error sqrt(1 / 3 / 4).
    score = evaluate([TRUTH] * 4, [TRUTH, NONE] * 2)
    assert score.measures["F1 ±"] == pytest.approx(1.96 * (1 / 12) ** 0.5)
    assert score.measures["Pk ±"] == pytest.approx(1.96 * 4 / 11 * (1 / 12) ** 0.5)
    assert list(score.measures) == ["Pk", "WindowDiff", "F1", "Score", "Pk ±", "WindowDiff ±", "F1 ±", "Score ±"]
    assert not evaluate([TRUTH], [NONE]).halves, "one dialogue has no interval"


def test_one_turn() -> None:
    assert evaluate([[0]], [[0]]).pk == 0


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([0, 0], [0], "both segmentations need the same turns, got 2 and 1"),
        ([], [], "a segmentation of no turns cannot be measured"),
        ([0, 2], [0, 0], r"a segmentation holds only 0 and 1, got \[2\]"),
    ],
)
def test_what_cannot_be_measured_is_named(truth: list[int], predicted: list[int], message: str) -> None:
    for measure in (pk, window_diff, boundary_f1):
        with pytest.raises(InvalidInput, match=message):
            measure(truth, predicted)


def test_an_impossible_window_is_named() -> None:
    with pytest.raises(InvalidInput, match="a window needs 1 to 12 turns, got 13"):
        pk(TRUTH, NEAR, 13)


def test_no_dialogues() -> None:
    with pytest.raises(InvalidInput, match="no dialogues"):
        evaluate([], [])


@pytest.mark.slow
def test_agrees_with_nltk() -> None:
    nltk_measures = pytest.importorskip("nltk.metrics.segmentation", reason="nltk is the oracle")
    dice = random.Random(5)
    for _ in range(300):
        turns = dice.randint(2, 40)
        truth, predicted = ([int(dice.random() < 0.2) for _ in range(turns - 1)] + [0] for _ in range(2))
        k = window_size(truth)
        strings = "".join(map(str, truth)), "".join(map(str, predicted))
        assert pk(truth, predicted) == pytest.approx(nltk_measures.pk(*strings, k=k))
        assert window_diff(truth, predicted) == pytest.approx(nltk_measures.windowdiff(*strings, k))
