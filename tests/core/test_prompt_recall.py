"""What is recalled for the prompts of agents, by runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secom_core.agents import PromptRecall
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.memory import RecallOptions

ASKED = [Message("What is my cat called?")]


def test_what_a_long_prompt_holds_is_not_recalled(tmp_path: Path) -> None:
    said = [Message(f"My cat number {number} is called Rosa-{number}.") for number in range(200)]
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(("alice",), [("user", "My cat is called Max.")], session="earlier")
        bank.remember(("alice",), said, session="s", later=True)
        block = PromptRecall(bank, RecallOptions(500), "test").block(("alice",), "s", [*said, *ASKED], begins=True)
    assert "Max" in block
    assert "Rosa" not in block


class Overtaken(PromptRecall):
    """Bob's run comes right after what Alice's has found is noted, as a thread of his could."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if value is not None and name == "_last" and value[0][0] == ("alice",):
            self.block(("bob",), "s", ASKED, begins=True)


def test_nobody_gets_what_was_recalled_for_somebody_else(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(("alice",), [("user", "My cat is called Rosa.")], session="earlier")
        bank.remember(("bob",), [("user", "My cat is called Max.")], session="earlier")
        block = Overtaken(bank, RecallOptions(500), "test").block(("alice",), "s", ASKED, begins=True)
    assert "Rosa" in block
    assert "Max" not in block


def test_the_calls_of_one_turn_get_the_same_memories(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(("alice",), [("user", "My cat is called Rosa.")], session="earlier")
        recall = PromptRecall(bank, RecallOptions(500), "test")
        first = recall.block(("alice",), "s", ASKED, begins=True)
        bank.remember(("alice",), [("user", "My second cat is called Tom.")], session="later")
        assert recall.block(("alice",), "s", ASKED, begins=False) == first
        assert "Tom" in recall.block(("alice",), "s", ASKED, begins=True)
        assert "Tom" in recall.block(("alice",), "s", [Message("Which other cat do I have?")], begins=False)
