"""What layers make of sessions in which something was corrected or taken back: nothing of what holds no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank, Message
from secom_core.summaries import Summarizer
from secom_core.testing import ScriptedModel, ScriptedRequest
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

ANN = ("acme", "ann")
OLD, NEW = "Our rent is 1,450 euros a month.", "Our rent is 1,700 euros a month."
DOG, WORK = "My dog Rex had surgery on Monday.", "I work at a bakery called Flour."
LAYERS = ("summaries", "timelines", "topics")


def opened(place: Path | str = ":memory:", **parts: Any) -> MemoryBank:
    made = TimelineOptions(recall_without_model=True), TopicOptions(recall_without_model=True)
    bank = MemoryBank.open(place, summaries=True, timelines=made[0], topics=made[1], **parts)
    bank.layers["summaries"].recall_without_model = True
    return bank


def fill(bank: MemoryBank) -> None:
    said = [(OLD, "rent"), ("Noted.", "noted"), (WORK, "work"), ("Good.", "good")]
    bank.remember(ANN, [message(*each) for each in said], session="one", close=True)
    bank.remember(ANN, [message(DOG, "dog"), message("Oh no!", "oh")], session="two", close=True)


def message(text: str, name: str) -> Message:
    role = "assistant" if name in ("noted", "good", "oh") else "user"
    return Message(text, role, id=name, at=datetime(2025, 5, 3, 12, tzinfo=timezone.utc))


def made(bank: MemoryBank) -> dict[str, str]:
    """What each layer has made."""
    version = bank.summaries.latest(ANN)
    return {
        "summaries": version.text if version is not None else "",
        "timelines": " ".join(event.text for event in bank.timelines.events(ANN)),
        "topics": " ".join(topic.summary for topic in bank.topics.all(ANN)),
    }


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with opened(tmp_path / "memory.db") as bank:
        fill(bank)
        for name, text in made(bank).items():
            assert "1,450" in text, name
            assert "Rex" in text, name
        yield bank


def test_what_was_corrected_is_in_no_layer(bank: MemoryBank) -> None:
    bank.correct(ANN, "rent", NEW)
    for name, text in made(bank).items():
        assert "1,450" not in text, name
        assert "1,700" in text, name
        assert "Flour" in text, name
        assert "Rex" in text, name


def test_what_was_taken_back_is_in_no_layer_though_nothing_is_left_of_its_session(bank: MemoryBank) -> None:
    bank.corrections.retract(ANN, "dog")
    for name, text in made(bank).items():
        assert "Rex" not in text, name
        assert "1,450" in text, name
        assert not bank.layers.behind(ANN, name)
    bank.remember(ANN, [message("I play the bassoon.", "play")], session="three", close=True)
    for name, text in made(bank).items():
        assert "bassoon" in text, name
        assert "Rex" not in text, name


def test_what_holds_again_is_in_the_layers_again(bank: MemoryBank) -> None:
    before = made(bank)
    bank.correct(ANN, "rent", NEW)
    bank.corrections.retract(ANN, "dog")
    bank.corrections.undo(ANN, "rent")
    bank.corrections.undo(ANN, "dog")
    assert {name: sorted(text.split()) for name, text in made(bank).items()} == {
        name: sorted(text.split()) for name, text in before.items()
    }


def test_a_correction_that_is_corrected_again_is_in_no_layer(bank: MemoryBank) -> None:
    bank.correct(ANN, "rent", NEW)
    bank.correct(ANN, "rent", "We own the flat now.")
    for name, text in made(bank).items():
        assert "1,450" not in text, name
        assert "1,700" not in text, name
        assert "own" in text, name


@pytest.mark.parametrize("how", ["rebuild", "another process", "another bank's layers"])
def test_nothing_brings_it_back(bank: MemoryBank, tmp_path: Path, how: str) -> None:
    if how == "another process":
        with opened(tmp_path / "memory.db") as other:
            # It holds the layers in memory, from before.
            assert "1,450" in made(other)["timelines"]
            bank.correct(ANN, "rent", NEW)
            for name, text in made(other).items():
                assert "1,450" not in text, name
                assert "1,700" in text, name
        return
    if how == "rebuild":
        bank.correct(ANN, "rent", NEW)
        bank.rebuild(ANN)
    else:
        # The bank that corrects was opened without layers, and makes none.
        with MemoryBank.open(tmp_path / "memory.db") as plain:
            plain.correct(ANN, "rent", NEW)
        bank.derive(ANN)
    for name, text in made(bank).items():
        assert "1,450" not in text, name
        assert "1,700" in text, name


def test_a_turn_that_was_taken_back_before_its_session_ended_is_not_taken_in() -> None:
    with opened() as bank:
        bank.remember(ANN, [message(OLD, "rent"), message(WORK, "work")], session="one")
        bank.corrections.retract(ANN, "rent")
        bank.close_session(ANN, "one")
        for name, text in made(bank).items():
            assert "1,450" not in text, name
            assert "Flour" in text, name


def test_a_language_model_is_asked_when_a_session_next_ends() -> None:
    numbers = count()

    def summary(request: ScriptedRequest) -> str:
        said = request.text.rpartition("<session")[2]
        word = next(each for each in ("rent", "bassoon", "moved", "Flour", "Rex") if each in said)
        return f"<memory>Of {word}: version {next(numbers)}.</memory>"

    model = ScriptedModel(summary)
    with MemoryBank.open(summaries=Summarizer(model, retain=False), model=model) as bank:
        fill(bank)
        assert len(model.requests) == 2
        bank.corrections.retract(ANN, "dog")
        assert "version 0." in bank.summaries.latest(ANN).text, "what was made of it is gone at once"
        bank.correct(ANN, "rent", NEW)
        assert bank.summaries.latest(ANN) is None
        assert len(model.requests) == 2
        bank.remember(ANN, [message("I play the bassoon.", "play")], session="three", close=True)
        asked = [request.text for request in model.requests[2:]]
        assert len(asked) == 3, (
            "the session that lost a turn, the correction, and the new one: of the other nothing holds"
        )
        assert not any("Rex" in text or "1,450" in text for text in asked)
        assert any("1,700" in text for text in asked)
        # What had corrected the rent is taken back: neither number is in the summary again.
        [correction] = [mark.newer for mark in bank.corrections.marks(ANN) if mark.kind == "corrected"]
        bank.corrections.retract(ANN, correction)
        bank.remember(ANN, [message("I moved.", "moved")], session="four", close=True)
        asked = [request.text for request in model.requests[5:]]
        assert asked
        assert not any(number in text for text in asked for number in ("1,450", "1,700"))
