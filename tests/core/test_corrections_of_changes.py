"""What is corrected by hand was said when that was said which it corrects: what changed it since changes it too."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core import MemoryBank, Message

ANN = ("acme", "ann")
MAY = datetime(2025, 5, 3, 12, tzinfo=timezone.utc)
JULY = datetime(2025, 7, 3, 12, tzinfo=timezone.utc)
RENTS = ("My rent is 900 euros.", "My rent is 950 euros now.")
COUNTS = ("My library has 45 sources.", "My library has 52 sources.")
RENT, COUNT = "How much is my rent?", "How many sources does my library have?"


def told(bank: MemoryBank, *texts: str) -> list[str]:
    """The ids of what was said, a week after the other."""
    return [
        bank.remember(
            ANN,
            [Message(text, "user", at=MAY + timedelta(weeks=week)), Message("Noted.", "assistant")],
            session=f"week-{week}",
            close=True,
        ).turn_ids[0]
        for week, text in enumerate(texts)
    ]


@pytest.mark.parametrize("is_rebuilt", [False, True])
@pytest.mark.parametrize(
    ("texts", "correction", "question", "value"),
    [
        (RENTS, "My rent is 890 euros.", RENT, "950"),
        (RENTS, "Actually, my rent was 890 euros, not 900.", RENT, "950"),
        (COUNTS, "My library has 43 sources.", COUNT, "52"),
    ],
)
def test_a_corrected_statement_was_changed_all_the_same(texts, correction, question, value, is_rebuilt) -> None:
    with MemoryBank.open(changes=True) as bank:
        older, newer = told(bank, *texts)
        corrected = bank.correct(ANN, older, correction, at=JULY)
        if is_rebuilt:
            bank.rebuild(ANN)
        replaced = {
            turn: each.newer for hit in bank.recall(ANN, question).hits for turn, [each] in hit.replaced.items()
        }
        assert replaced == {older: corrected, corrected: newer}
        now = bank.recall(ANN, question, history=False).text
        assert value in now
        assert "89" not in now
        assert "43" not in now


def test_a_correction_of_a_correction_was_changed_all_the_same() -> None:
    with MemoryBank.open(changes=True) as bank:
        older, newer = told(bank, *RENTS)
        first = bank.correct(ANN, older, "My rent is 890 euros.", at=JULY)
        second = bank.correct(ANN, older, "My rent is 880 euros.", at=JULY)
        replaced = {turn: each.newer for hit in bank.recall(ANN, RENT).hits for turn, [each] in hit.replaced.items()}
        assert replaced == {older: second, first: second, second: newer}


def test_the_correction_of_what_was_told_last_holds() -> None:
    with MemoryBank.open(changes=True) as bank:
        _, newer = told(bank, *RENTS)
        bank.correct(ANN, newer, "My rent is 940 euros.", at=JULY)
        now = bank.recall(ANN, RENT, history=False).text
        assert "940" in now
        assert "900" not in now
        assert "950" not in now


def test_corrections_one_after_the_other_take_nothing_back_of_one_another() -> None:
    with MemoryBank.open(changes=True) as bank:
        rent, weight = told(bank, "My rent is 900 euros.", "I weigh 80 kilos.")
        corrected = bank.correct(ANN, rent, "Sorry, I meant 890 euros.", at=JULY)
        bank.correct(ANN, weight, "Sorry, I meant 78.", at=JULY)
        assert corrected not in {each.older for each in bank.changes(ANN)}
