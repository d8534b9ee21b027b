from __future__ import annotations

import math

import pytest

from benchmarks.evaluation.retrieval import dcg, evidence_recall, strict_recall
from secom_core.errors import InvalidInput


def test_recall_is_the_share_of_the_evidence() -> None:
    assert evidence_recall(["a", "x", "b"], ["a", "b", "c", "d"]) == 0.5
    assert evidence_recall([], ["a"]) == 0.0
    assert evidence_recall(["a", "a"], ["a", "a"]) == 1.0


def test_strict_recall_wants_everything() -> None:
    assert strict_recall(["x", "b", "a"], ["a", "b"]) == 1.0
    assert strict_recall(["a", "x"], ["a", "b"]) == 0.0


def test_dcg_of_two_turns_at_ranks_two_and_three_by_hand() -> None:
    # 1/2 / log2(3) + 1/2 / log2(4) = 0.31546 + 0.25
    assert dcg(["x", "a", "b"], ["a", "b"]) == pytest.approx(0.565465, abs=1e-6)


def test_dcg_is_1_for_one_turn_found_first_and_counts_a_turn_once() -> None:
    assert dcg(["a", "a", "a"], ["a"]) == 1.0
    assert dcg(["x", "x", "a"], ["a"]) == pytest.approx(1 / math.log2(3))
    assert dcg(["x"], ["a"]) == 0.0


@pytest.mark.parametrize("measure", [evidence_recall, strict_recall, dcg])
def test_no_evidence_cannot_be_measured(measure) -> None:
    with pytest.raises(InvalidInput, match=r"without evidence.*\[\]"):
        measure(["a"], [])
