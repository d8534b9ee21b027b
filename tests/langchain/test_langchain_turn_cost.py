"""What one more turn of an agent costs: its thread is read once, and the bank is asked as little late as early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from sql_log import statements

from langchain_secom import SecomMiddleware, messages, readings
from langchain_secom.known_messages import ThreadOptions, ids_of_messages
from secom_core.bank import MemoryBank

RUN: Any = {"configurable": {"user_id": "ann", "thread_id": "friday"}}
EARLY, LATE, SOME = 20, 60, 6


def replies(count: int) -> list[str]:
    said = "Step {}.{}: oil the spindle, turn the wheel, let the wood dry."
    return [" ".join(said.format(number, part) for part in range(12)) for number in range(count)]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> Iterator[list[str]]:
    calls, real = list[str](), getattr(where, name)

    def counting(*args: Any) -> Any:
        calls.append(name)
        return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(where, name, counting)
        yield calls


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
def test_a_late_turn_costs_what_an_early_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any) -> None:
    asked, read, named = list[int](), list[int](), list[int]()
    with MemoryBank.open(tmp_path / "m.db") as bank:
        memory = SecomMiddleware(bank, write=write)
        model = FakeListChatModel(responses=replies(LATE + SOME))
        agent: Any = create_agent(model, middleware=[memory], checkpointer=InMemorySaver())
        for number in range(LATE + SOME):
            with (
                statements(bank) as found,
                counted(monkeypatch, readings, "to_message") as converted,
                counted(monkeypatch, readings, "stable_id") as digested,
            ):
                agent.invoke({"messages": [("user", f"How do I oil loom {number}?")]}, RUN)
            memory.flush()
            asked.append(len(found))
            read.append(len(converted))
            named.append(len(digested))
    # Now and then a block of the index is written too, whose pieces are a statement each.
    early, late = (min(asked[start : start + SOME]) for start in (EARLY, LATE))
    assert late <= early + 2
    # The thread comes anew out of its checkpoint, and is looked at four times a turn.
    assert read == named == [2 * number + 2 for number in range(LATE + SOME)]


@pytest.mark.parametrize("tools", ["brief", "omit"])
def test_each_step_of_a_turn_names_and_holds_only_what_is_new(monkeypatch: pytest.MonkeyPatch, tools: Any) -> None:
    thread: list[BaseMessage] = [HumanMessage("Water the garden.", id="q")]
    for number in range(20):
        call: Any = {"name": "water", "args": {"bed": number}, "id": f"c{number}"}
        thread.append(AIMessage(f"Bed {number} is next.", id=f"a{number}", tool_calls=[call]))
        thread.append(ToolMessage("Wet.", id=f"t{number}", tool_call_id=f"c{number}"))
    options = ThreadOptions(tools, markers=True, readings=readings.Readings())
    with (
        counted(monkeypatch, readings, "to_message") as converted,
        counted(monkeypatch, readings, "stable_id") as digested,
    ):
        for end in range(1, len(thread) + 1, 2):
            ids = ids_of_messages(thread[:end], "friday", options)
    assert len(digested) == len(ids) == (41 if tools == "brief" else 21)
    assert tools == "brief" or len(converted) == 21


def test_a_message_that_has_other_words_is_read_again() -> None:
    read = readings.Readings()
    said = HumanMessage("My dog is Bello.", id="1")
    first = read.message(said)
    assert read.message(said) is first
    assert read.stable_id("s", first) == messages.stable_id("s", first) != read.stable_id("t", first)
    said.content = "My dog is Rex."
    assert read.message(said).text == "My dog is Rex."
    said.additional_kwargs["timestamp"] = 1_700_000_000
    assert read.message(said).at is not None
    called = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Ghent"}, "id": "c"}])
    assert read.message(called).text == '[calls weather({"city": "Ghent"})]'
