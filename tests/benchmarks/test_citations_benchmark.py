"""What the measure of citations prints, and what it never falls below."""

from __future__ import annotations

import sys

import pytest

from benchmarks import citations
from benchmarks.evaluation.citations import LabelledAnswer, reading_of
from secom_core.citations import read_citations


def test_citations_are_read_as_well_as_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["citations"])
    citations.main()
    *_, precision, recall, f1, text = capsys.readouterr().out.splitlines()[-1].split()
    assert (float(precision) >= 0.95, float(recall) >= 0.99, float(f1) >= 0.97, float(text) >= 0.97) == (True,) * 4


def test_precision_recall_and_text_are_counted_over_all_answers() -> None:
    answers = ["Marta [1][2].", "Marta [3]."]
    labelled = [
        LabelledAnswer(kind="x", answer=answers[0], cited=frozenset({1}), none=False, text="Marta."),
        LabelledAnswer(kind="x", answer=answers[1], cited=frozenset({3, 4}), none=False, text="Martha."),
    ]
    found = reading_of(labelled, [read_citations(each, range(1, 6), markers="strip") for each in answers])
    assert (found.answers, found.precision, found.recall, found.text_right) == (2, 2 / 3, 2 / 3, 0.5)
