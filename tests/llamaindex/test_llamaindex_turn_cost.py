"""What one more exchange costs the bank: few statements, and as many of them late in a session as early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.base.llms.types import ChatMessage
from sql_log import statements

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank

ANN = ("acme", "ann")
EARLY, LATE, SOME = 20, 200, 8


def question(number: int) -> str:
    return f"How do I oil loom {number} of hall {number % 7}?"


def reply(number: int) -> str:
    return " ".join(f"Step {number}.{part}: oil the spindle, turn the wheel, let the wood dry." for part in range(12))


def turn(memory: SecomMemory, number: int, words: str) -> dict[str, int]:
    """The calls of an agent's turn, each with how many statements it takes."""
    asked = question(number)
    calls: dict[str, Any] = {
        "user": lambda: memory.put(ChatMessage(role="user", content=asked)),
        "get": lambda: memory.get(),
        "again": lambda: memory.get(asked),
        "reply": lambda: memory.put_messages([ChatMessage(role="assistant", content=words)]),
    }
    took = {}
    for name, call in calls.items():
        with statements(memory.bank) as found:
            call()
        took[name] = len(found)
    return took


def test_a_put_takes_few_statements(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        memory = SecomMemory(scope=ANN, session="s", bank=bank, write="background")
        assert memory._writer is not None
        memory._writer._debounce = 60.0  # what follows a write is made after the test
        took = [turn(memory, number, "Every month.") for number in range(4)][-1]
    # What has ended; begin, the session, known ids, the last message, open sessions; four that write; commit.
    assert took["user"] <= 12  # before it, how long to wait for others
    assert took["reply"] <= 12  # before it, whether what it answers was forgotten
    assert took["again"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
def test_a_late_turn_takes_as_many_as_an_early_one(tmp_path: Path, write: Any) -> None:
    took: dict[int, int] = {}
    with MemoryBank.open(tmp_path / "m.db") as bank:
        memory = SecomMemory(scope=ANN, session="s", bank=bank, write=write)
        for number in range(LATE + SOME):
            if number < EARLY + SOME or number >= LATE:
                took[number] = sum(turn(memory, number, reply(number)).values())
            else:  # said, but not counted, so that nothing is asked
                said = ("user", question(number)), ("assistant", reply(number))
                memory.put_messages([ChatMessage(role=role, content=words) for role, words in said])
            memory.flush()
    # Now and then a block of the index is written too, whose pieces are a statement each.
    early, late = (min(took[start + place] for place in range(SOME)) for start in (EARLY, LATE))
    assert late <= early + 2
