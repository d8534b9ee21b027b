"""Answers that come after the next question has come: each stands with its own question."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.testing import ScriptedEmbedder

ANN = ("acme", "ann")
MAY = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
pytestmark = pytest.mark.usefixtures("each_store")

SAID = [
    Message("Which tea keeps me awake?", "user", id="tea", at=MAY),
    Message("How old do dogs get?", "user", id="dogs", at=MAY + timedelta(seconds=1)),
    Message("Strong Assam, above all.", "assistant", id="assam", at=MAY + timedelta(seconds=3)),
    Message("Ten to thirteen years.", "assistant", id="years", at=MAY + timedelta(seconds=4)),
]
QUERIES = ("Which tea was it?", "How old do they get?", "Assam", "What did we talk about last time?")


def told(bank: MemoryBank, session: str = "s1") -> list[list[str | None]]:
    return [[message.id for message in turn.messages] for turn in bank.turns(ANN, session)]


def recalled(bank: MemoryBank) -> list[str]:
    return [bank.recall(ANN, query, token_budget=budget).text for query in QUERIES for budget in (40, 400)]


@pytest.mark.parametrize("late_first", [True, False])
@pytest.mark.parametrize("later", [True, False])
@pytest.mark.parametrize("parts", [{}, {"embedder": ScriptedEmbedder(), "changes": True}])
def test_an_answer_stands_with_its_question(
    tmp_path: Path, parts: dict[str, Any], later: bool, late_first: bool
) -> None:
    tea, dogs, assam, years = SAID
    with MemoryBank.open(tmp_path / "in-order.db", **parts) as bank:
        bank.remember(ANN, [tea, assam, dogs, years], session="s1")
        in_order = recalled(bank)
    with MemoryBank.open(tmp_path / "late.db", **parts) as bank, BackgroundWriter(bank) as writer:
        target = writer if later else bank
        for question in (tea, dogs):
            target.remember(ANN, [question], session="s1")
            recalled(bank)
        for answer, turn in [(assam, "tea"), (years, "dogs")][:: 1 if late_first else -1]:
            done = target.remember(ANN, [answer], session="s1", answers=turn)
            assert done.turn_ids == (turn,)
            assert done.turns_of([answer]) == [turn]
            recalled(bank)
        assert told(bank) == [["tea", "assam"], ["dogs", "years"]]
        assert recalled(bank) == in_order
        assert writer.flush()
        assert bank.check(ANN) == ()
        target.remember(ANN, [("user", "Thanks!"), ("assistant", "You are welcome.")], session="s1", answers="dogs")
        assert [len(turn) for turn in told(bank)] == [2, 2, 2]
        after = recalled(bank)
    with MemoryBank.open(tmp_path / "late.db", **parts) as bank:
        assert recalled(bank) == after


def test_what_follows_an_answer_begins_a_turn_of_its_own(tmp_path: Path) -> None:
    tea, dogs, assam, years = SAID
    with MemoryBank.open(tmp_path / "late.db") as bank:
        bank.remember(ANN, [tea, dogs], session="s1")
        again = Message("Thanks. And Rex?", "user", id="rex", at=MAY + timedelta(seconds=9))
        done = bank.remember(ANN, [assam, again, years], session="s1", answers="tea")
        assert done.turn_ids == ("tea", "rex")
        assert told(bank) == [["tea", "assam"], ["dogs"], ["rex", "years"]]


def test_an_answer_to_nothing_that_goes_on_joins_the_last_turn(tmp_path: Path) -> None:
    tea, dogs, assam, years = SAID
    with MemoryBank.open(tmp_path / "late.db") as bank:
        bank.remember(ANN, [tea], session="s1", close=True)
        bank.remember(ANN, [dogs], session="s1")
        bank.remember(ANN, [assam], session="s1", answers="tea")
        bank.remember(ANN, [years], session="s1", answers="nobody's")
        assert told(bank) == [["tea"], ["dogs", "assam", "years"]]
        bank.remember(ANN, [("user", "Who is Rex?")], session="s2")
        bank.remember(ANN, [Message("A dog.", "assistant", id="dog")], session="s2", answers="dogs")
        assert told(bank, "s2")[0][1:] == ["dog"]
        assert told(bank) == [["tea"], ["dogs", "assam", "years"]]


def test_a_turn_that_has_settled_does_not_change(tmp_path: Path) -> None:
    tea, _, assam, _ = SAID
    with MemoryBank.open(tmp_path / "late.db") as bank:
        bank.remember(ANN, [tea], session="s1")
        for place in range(200):
            line = f"Line {place} of a long list of things."
            bank.remember(ANN, [("user", line), ("assistant", "Yes.")], session="s1")
        bank.remember(ANN, [assam], session="s1", answers="tea")
        assert told(bank)[0] == ["tea"]
        assert told(bank)[-1][-1] == "assam"
