"""What one more exchange costs the bank: few statements, and as many of them late in a session as early."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

import sqlalchemy as sa
from llama_index.core.base.llms.types import ChatMessage

from llamaindex_secom import SecomMemory
from secom_core import MemoryBank

ANN = ("acme", "ann")
EARLY, LATE = 20, 120


@contextmanager
def statements(bank: MemoryBank) -> Iterator[list[str]]:
    """What the bank's database is asked meanwhile."""
    asked: list[str] = []

    def traced(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(asked.append)

    def untraced(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(None)

    listened: list[tuple[str, Any]] = [("checkout", traced), ("checkin", untraced)]
    for name, listen in listened:
        sa.event.listen(bank.storage._store.engine, name, listen)
    try:
        yield asked
    finally:
        for name, listen in listened:
            sa.event.remove(bank.storage._store.engine, name, listen)


def reply(number: int) -> str:
    return " ".join(f"Step {number}.{part}: oil the spindle, turn the wheel, let the wood dry." for part in range(70))


def turn(memory: SecomMemory, number: int) -> dict[str, int]:
    """The calls of an agent's turn, each with how many statements it takes."""
    asked = f"How do I oil loom {number} of hall {number % 7}?"
    calls = {
        "user": lambda: memory.put(ChatMessage(role="user", content=asked)),
        "get": lambda: memory.get(),
        "again": lambda: memory.get(asked),
        "reply": lambda: memory.put_messages([ChatMessage(role="assistant", content=reply(number))]),
    }
    took = {}
    for name, call in calls.items():
        with statements(memory.bank) as found:
            call()
        took[name] = len(found)
    return took


def test_a_put_takes_few_statements(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        # What follows a write is made in the background, after this.
        memory = SecomMemory(scope=ANN, session="s", bank=bank, write="background")
        memory._writer._debounce = 60.0  # type: ignore[union-attr]
        for number in range(4):
            took = turn(memory, number)
    # What has ended; begin, session, known ids, last message, open sessions; four that write, and commit.
    assert took["user"] <= 12
    assert took["reply"] <= 11
    assert took["again"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
def test_a_late_turn_takes_as_many_as_an_early_one(tmp_path: Path, write: Any) -> None:
    took = {}
    with MemoryBank.open(tmp_path / "m.db") as bank:
        memory = SecomMemory(scope=ANN, session="s", bank=bank, write=write)
        for number in range(LATE + 8):
            counted = turn(memory, number)
            memory.flush()
            took[number] = sum(counted.values())
    # Now and then a block of the index is written, and its pieces are one statement each.
    assert min(took[number] for number in range(LATE, LATE + 8)) <= min(took[n] for n in range(EARLY, EARLY + 8)) + 2
