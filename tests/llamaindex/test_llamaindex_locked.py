"""A chat while another program holds the store's lock: what waits is shown, and is kept once, whole and in order."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock

from llamaindex_secom import RecursiveSummaryMemoryBlock, SecomMemory, SecomMemoryBlock
from secom_core import MemoryBank
from secom_core.stores.reasons import ConnectionLost

ANN = ("acme", "ann")


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def call(number: int, *said: str) -> ChatMessage:
    asked = ToolCallBlock(tool_call_id=f"c{number}", tool_name="look_up", tool_kwargs={"number": number})
    return ChatMessage(role="assistant", blocks=[*(TextBlock(text=text) for text in said), asked])


def result(number: int) -> ChatMessage:
    return ChatMessage(role="tool", content=f"result {number}", additional_kwargs={"tool_call_id": f"c{number}"})


def answers(number: int) -> ChatMessage:
    return ChatMessage(role="tool", content=f"answer {number}", additional_kwargs={"tool_call_id": "c0"})


def turn(number: int) -> list[ChatMessage]:
    return [user(f"Question {number}?"), call(number, "Let me look."), result(number), bot(f"Answer {number}.")]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program writes, and takes its time."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("COMMIT")


def written(bank: MemoryBank) -> None:
    deadline = time.monotonic() + 60
    while bank.health().unwritten and time.monotonic() < deadline:
        time.sleep(0.02)


def of(bank: MemoryBank, **options: Any) -> SecomMemory:
    return SecomMemory(scope=ANN, session="now", bank=bank, **options)


def plain(messages: list[ChatMessage]) -> list[tuple[str, str, int]]:
    return [(each.role.value, each.content or "", len(each.blocks)) for each in messages]


@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("goes_on", [False, True])
def test_calls_of_tools_that_met_a_lock_outlive_their_memory(tmp_path: Path, write: Any, goes_on: bool) -> None:
    path, said = tmp_path / "m.db", [*turn(0), *turn(1), *turn(2)]
    with MemoryBank.open(path) as bank:
        memory = of(bank, write=write)
        memory.put_messages(turn(0))
        with locked(path):
            for number in (1, 2):
                asked, *steps = turn(number)
                memory.put(asked)
                memory.put_messages(steps)
                assert plain(memory.get_all()) == plain(said[: 4 * number + 4])
            assert plain(of(bank).get_all()) == plain(said), "another memory shows what waits"
            if not goes_on:
                del memory
        written(bank)
        if goes_on:
            memory.put_messages(turn(3))
            said += turn(3)
            assert plain(memory.get_all()) == plain(said)
        assert plain(of(bank).get_all()) == plain(said)
    with MemoryBank.open(path) as bank:
        assert plain(of(bank).get_all()) == plain(said)
        assert [len(each.messages) for each in bank.turns(ANN, "now")] == [3] * (len(said) // 4)


def test_calls_of_tools_that_come_by_themselves_outlive_their_memory(tmp_path: Path) -> None:
    path, said = tmp_path / "m.db", [user("Question 1?"), call(1), result(1), bot("Answer 1.")]
    with MemoryBank.open(path) as bank:
        memory = of(bank)
        memory.put(said[0])
        with locked(path):
            for message in said[1:3]:
                memory.put(message)
            assert plain(of(bank).get_all()) == plain(said[:3])
            memory.put(said[3])
            del memory
        written(bank)
        assert plain(of(bank).get_all()) == plain(said)


@pytest.mark.parametrize("steps", [[0, 1], [0], [1, 2, 1, 3]])
def test_a_tool_that_is_called_as_before_is_called_again(tmp_path: Path, steps: list[int]) -> None:
    # Many servers give the name of a tool for the id of its call.
    path, said = tmp_path / "m.db", [user("Is it done?"), call(0), answers(0), bot("No."), user("And now?")]
    with MemoryBank.open(path) as bank:
        memory = of(bank)
        for message in said:
            memory.put(message)
        with locked(path):
            for number in steps:
                for message in (call(0), answers(number)):
                    memory.put(message)
                    said.append(message)
                    assert plain(of(bank).get_all()) == plain(said)
        written(bank)
        assert plain(of(bank).get_all()) == plain(said)


def test_a_memory_for_each_request_goes_on_with_what_waits_of_the_last_one(tmp_path: Path) -> None:
    path, said = tmp_path / "m.db", turn(0)
    with MemoryBank.open(path) as bank:
        of(bank).put_messages(turn(0))
        with locked(path):
            for number in (1, 2):
                asked, *steps = turn(number)
                of(bank).put(asked)
                said.append(asked)
                assert plain(of(bank).get("Why?")) == plain(said)
                of(bank).put_messages(steps)
                said += steps
                assert plain(of(bank).get_all()) == plain(said)
        written(bank)
        of(bank).put_messages(turn(3))
        assert plain(of(bank).get_all()) == plain([*said, *turn(3)])
        turns = [[each.text for each in one.messages] for one in bank.turns(ANN, "now")]
        assert turns == [[f"Question {n}?", "Let me look.", f"Answer {n}."] for n in range(4)]


@pytest.mark.parametrize("session", [None, "now"])
@pytest.mark.parametrize("is_shown", [False, True])
def test_what_waited_for_a_lock_and_was_forgotten_since_is_not_stored_again(
    tmp_path: Path, session: str | None, is_shown: bool
) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        memory = of(bank)
        memory.put_messages(turn(0))
        memory.get_all()
        with locked(path):
            memory.put_messages(turn(1))
        written(bank)
        bank.forget(ANN, session=session)
        if is_shown:
            assert memory.get_all() == []
        memory.put_messages(turn(2))
        assert [each.messages[0].text for each in bank.turns(ANN, "now")] == ["Question 2?"]
        for each in (memory, of(bank)):
            assert plain(each.get_all()) == plain(turn(2))


@pytest.mark.parametrize(("is_written", "is_read"), [(False, True), (True, True), (False, False)])
def test_a_context_that_is_saved_while_a_turn_waits_has_its_calls_of_tools(
    tmp_path: Path, is_written: bool, is_read: bool
) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank, MemoryBank.open(path) as elsewhere:
        memory = of(bank)
        memory.put_messages(turn(0))
        with locked(path):
            memory.put_messages(turn(1))
            saved = json.loads(json.dumps(memory.to_dict()))
            if not is_written:
                # As where the process is killed.
                for writer in bank.writers:
                    writer.forget(ANN)
            again = SecomMemory.from_dict(saved, bank=elsewhere)
            if is_read:
                assert plain(again.get_all()) == plain([*turn(0), *turn(1)])
        written(bank)
        again.put_messages(turn(2))
        written(elsewhere)
        for each in (again, of(bank)):
            assert plain(each.get_all()) == plain([*turn(0), *turn(1), *turn(2)])


@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
@pytest.mark.parametrize("kind", [SecomMemoryBlock, RecursiveSummaryMemoryBlock])
async def test_what_left_the_window_while_the_server_went_away_is_written_without_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise ConnectionLost("the server is away")

    with MemoryBank.open(tmp_path / "m.db", summaries=True) as bank:
        block = kind(scope=ANN, bank=bank)
        with monkeypatch.context() as away:
            away.setattr(bank._store, "append", lost)
            await block.aput([user("I moved to Ghent."), bot("Nice.")], from_short_term_memory=True, session_id="now")
        del block
        written(bank)
        said = [each.text for name in bank.sessions(ANN) for one in bank.turns(ANN, name) for each in one.messages]
        assert said == ["I moved to Ghent.", "Nice."]
