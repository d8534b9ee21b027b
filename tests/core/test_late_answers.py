"""Answers that come after the next question has come: each stands with its own question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder
from mood_layer import MoodLayer

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.layers import register, unregister
from secom_core.protocols import Segmenter
from secom_core.segmenters import LexicalSegmenter, ZeroShotSegmenter
from secom_core.testing import ScriptedEmbedder, ScriptedModel

unregister("moods")  # importing it made it known to every test
ANN = ("acme", "ann")
MAY = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
pytestmark = pytest.mark.usefixtures("each_store")

SAID = [
    Message("Which tea keeps me awake?", "user", id="tea", at=MAY),
    Message("How old do dogs get?", "user", id="dogs", at=MAY + timedelta(seconds=1)),
    Message("Strong Assam, above all.", "assistant", id="assam", at=MAY + timedelta(seconds=3)),
    Message("Ten to thirteen years.", "assistant", id="years", at=MAY + timedelta(seconds=4)),
]
NUMBERS = {"id", "from", "to", "topic"}
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


@pytest.mark.parametrize("close", [False, True])
def test_a_vector_store_outside_follows_an_answer_that_comes_late(tmp_path: Path, close: bool) -> None:
    tea, dogs, assam, _ = SAID
    with MemoryBank.open(tmp_path / "late.db", vector_store=DictionaryStore(HashingEmbedder(64))) as bank:
        bank.remember(ANN, [tea, dogs], session="s1", close=close)
        recalled(bank)
        bank.remember(ANN, [assam], session="s1", answers="tea")
        late = recalled(bank)
        assert bank.check(ANN) == ()
    with MemoryBank.open(tmp_path / "in-order.db", vector_store=DictionaryStore(HashingEmbedder(64))) as bank:
        bank.remember(ANN, [tea, assam, dogs], session="s1")
        assert recalled(bank) == late


def test_what_follows_an_answer_begins_a_turn_of_its_own(tmp_path: Path) -> None:
    tea, dogs, assam, years = SAID
    with MemoryBank.open(tmp_path / "late.db") as bank:
        bank.remember(ANN, [tea, dogs], session="s1")
        again = Message("Thanks. And Rex?", "user", id="rex", at=MAY + timedelta(seconds=9))
        done = bank.remember(ANN, [assam, again, years], session="s1", answers="tea")
        assert done.turn_ids == ("tea", "rex")
        assert told(bank) == [["tea", "assam"], ["dogs"], ["rex", "years"]]


@pytest.mark.parametrize("late_first", [True, False])
@pytest.mark.parametrize("later", [True, False])
def test_an_answer_stands_with_its_question_though_another_session_has_begun(
    tmp_path: Path, later: bool, late_first: bool
) -> None:
    tea, dogs, assam, years = SAID
    rex = Message("Who is Rex?", "user", id="rex", at=MAY + timedelta(seconds=2))
    with MemoryBank.open(tmp_path / "late.db") as bank, BackgroundWriter(bank) as writer:
        target = writer if later else bank
        for question, session in [(tea, "s1"), (dogs, "s1"), (rex, "s2")]:
            target.remember(ANN, [question], session=session)
            recalled(bank)
        for answer, turn in [(assam, "tea"), (years, "dogs")][:: 1 if late_first else -1]:
            assert target.remember(ANN, [answer], session="s1", answers=turn).turn_ids == (turn,)
            recalled(bank)
        assert told(bank) == [["tea", "assam"], ["dogs", "years"]]
        assert told(bank, "s2") == [["rex"]]
        assert writer.flush()
        assert bank.check(ANN) == ()
        after = recalled(bank)
    with MemoryBank.open(tmp_path / "late.db") as bank:
        assert recalled(bank) == after
        assert bank.forget(ANN, turn_ids=["tea"]) == 1
        assert told(bank) == [["dogs", "years"]]
        assert not any("Assam" in text for text in recalled(bank))
        assert bank.check(ANN) == ()


@pytest.mark.parametrize("turns", [3, 60, 200])
@pytest.mark.parametrize("segmenter", [None, ZeroShotSegmenter(ScriptedModel([]), fallback=LexicalSegmenter())])
def test_an_answer_to_a_turn_that_has_settled_is_in_its_memory(
    tmp_path: Path, segmenter: Segmenter | None, turns: int
) -> None:
    tea, _, assam, _ = SAID
    with MemoryBank.open(tmp_path / "late.db", segmenter=segmenter, embedder=ScriptedEmbedder()) as bank:
        bank.remember(ANN, [tea], session="s1")
        for place in range(turns):
            line = f"Line {place} of a long list of things."
            bank.remember(ANN, [("user", line), ("assistant", "Yes.")], session="s1", at=MAY)
        bank.remember(ANN, [assam], session="s1", answers="tea")
        assert told(bank)[0] == ["tea", "assam"]
        assert assam.text in bank.memories(ANN, "s1")[0].key
        assert assam.text in bank.recall(ANN, "Assam", token_budget=60).text
        assert bank.check(ANN) == ()
        made = [memory.key for memory in bank.memories(ANN, "s1")]
        assert [key.count(assam.text) for key in made] == [1] + [0] * (len(made) - 1)


@pytest.fixture
def moods() -> Iterator[None]:
    """The layer is known while a test runs, and to no other test."""
    register(MoodLayer)
    yield
    unregister("moods")


@pytest.mark.usefixtures("moods")
def test_layers_take_in_an_answer_to_what_they_have_taken_in(tmp_path: Path) -> None:
    tea, dogs, assam, years = SAID
    tea = replace(tea, text="I moved to Ghent in May and sleep badly. Which tea keeps me awake?")
    answer = replace(assam, text="Strong Assam. I am proud of you, and tired.")
    in_order = [tea, answer, dogs, years]
    layers: dict[str, Any] = {"summaries": True, "timelines": True, "topics": True, "changes": True}
    made = []
    for name, first, then in [("in-order", in_order, []), ("late", [m for m in in_order if m != answer], [answer])]:
        with MemoryBank.open(tmp_path / f"{name}.db", layers=[MoodLayer], **layers) as bank:
            bank.remember(ANN, first, session="s1", close=True)
            bank.remember(ANN, then, session="s1", answers="tea")
            bank.close_session(ANN, "s1")
            assert all(bank.layers.behind(ANN, each) == 0 for each in bank.layers)
            assert bank.check(ANN) == ()
            lines = map(json.loads, bank.storage.export(ANN))
            # What is made again gets a number of its own.
            made.append([{**each, **dict.fromkeys(each.keys() & NUMBERS)} for each in lines])
    assert made[0] == made[1]
    assert {"memory", "summary", "event", "topic", "mood"} <= {each["kind"] for each in made[0]}


def test_an_answer_to_no_turn_of_the_session_joins_the_last_one(tmp_path: Path) -> None:
    tea, dogs, assam, years = SAID
    with MemoryBank.open(tmp_path / "late.db") as bank:
        bank.remember(ANN, [tea], session="s1", close=True)
        bank.remember(ANN, [dogs], session="s1")
        bank.remember(ANN, [assam], session="s1", answers="tea")
        bank.remember(ANN, [years], session="s1", answers="nobody's")
        assert told(bank) == [["tea", "assam"], ["dogs", "years"]]
        bank.remember(ANN, [("user", "Who is Rex?")], session="s2")
        bank.remember(ANN, [Message("A dog.", "assistant", id="dog")], session="s2", answers="dogs")
        assert told(bank, "s2")[0][1:] == ["dog"]
        assert told(bank) == [["tea", "assam"], ["dogs", "years"]]
