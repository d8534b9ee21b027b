"""What a cell of a notebook, a prompt or a log shows of a bank and of what it returns."""

from __future__ import annotations

from pathlib import Path

import pytest

from secom_core import AsyncMemoryBank, MemoryBank, Message, Session, Turn
from secom_core.memory import Passage, Section

ANN = ("acme", "ann")
REPLY = "Begin with the chain. " + " ".join(f"Step {step} is to clean part {step}." for step in range(300))


@pytest.mark.parametrize("words", [REPLY, "Oil it!\n" * 2000])
def test_what_is_returned_is_shown_on_one_line_however_long_the_replies_are(words: str) -> None:
    with MemoryBank.open() as bank:
        for day in ("monday", "tuesday"):
            bank.remember(ANN, [("user", "How do I repair my bike?"), ("assistant", words)] * 12, session=day)
        recall = bank.recall(ANN, "How do I repair my bike?", token_budget=20_000)
        [memory, *_] = bank.memories(ANN, "monday")
        [turn, *_] = bank.turns(ANN, "monday")
        values = [recall, *recall.hits, memory, turn, turn.messages[1], Passage(turn, 1, 0, 9000), *memory.turns]
        values += [Session("monday", tuple(bank.turns(ANN, "monday")))]
        values += [Section("summaries", "Summary", (words,) * 20)]
    assert recall.hits
    for value in values:
        shown = repr(value)
        assert shown.startswith(f"{type(value).__name__}(")
        assert len(shown) < 6000
        assert "\n" not in shown
    assert all(len(repr(hit)) < 1000 for hit in recall.hits)
    assert len(repr(recall.hits[0].turns[0].messages)) < 1000


def test_a_hit_shows_what_it_found_and_how_well() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("My dog is called Bello.", id="m1")], session="monday")
        [hit] = bank.recall(ANN, "What is my dog called?").hits
    shown = repr(hit)
    assert shown.startswith("Hit(number=1, score=")
    assert "scope=('acme', 'ann'), memory_id='monday#0-1', turn_ids=('m1',)" in shown
    assert shown.endswith("text='user: My dog is called Bello.')")


def test_what_is_short_is_shown_whole_and_what_is_empty_is_left_out() -> None:
    assert repr(Message("x" * 160, role="")) == f"Message(text='{'x' * 160}')"
    assert repr(Message("a" * 100 + "b" * 500 + "c" * 20)) == f"Message(text='{'a' * 100} […] {'c' * 20}', role='user')"
    assert repr(Turn((Message("Hello", id="m1"),), "s")) == (
        "Turn(id='m1', session='s', index=0, messages=(Message(text='Hello', role='user', id='m1'),))"
    )
    assert len(repr(Message("Hi", metadata={"page": "x" * 9000}))) < 300
    many = Session("s", tuple(Turn((Message("Hi"),), "s", place) for place in range(12)))
    assert repr(many).endswith("… and 2 more))")


def test_what_remember_returns_is_short_however_much_it_stored() -> None:
    with MemoryBank.open() as bank:
        stored = bank.remember(ANN, [("user", f"Fact {number}.") for number in range(300)], session="monday")
        again = bank.remember(ANN, [Message("Fact.", id="m1")], session="tuesday")
    assert len(repr(stored)) < 400
    assert "… and 290 more" in repr(stored)
    assert repr(again) == "Remembered(turn_ids=('m1',), new=1, ended=('monday',), session='tuesday')"


async def test_a_bank_shows_its_file_and_whether_it_is_closed(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    bank = MemoryBank.open(path)
    assert repr(bank) == f"MemoryBank({path!r})"
    assert repr(AsyncMemoryBank(bank)) == f"AsyncMemoryBank(MemoryBank({path!r}))"
    bank.close()
    assert repr(bank) == f"MemoryBank({path!r}, closed)"
    with MemoryBank.open() as bank:
        assert repr(bank) == "MemoryBank(':memory:')"
