"""Runs that nobody reads to their end: what the user said in them is remembered, once and of its time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from http_agent import HttpAgentModel
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from langchain_secom import SecomMiddleware, create_mark_memory_tool
from langchain_secom import open_turns as module
from langchain_secom.known_messages import MEMORY_TOOLS
from langchain_secom.open_turns import OpenTurn, OpenTurns
from secom_core import MemoryBank
from secom_core.errors import DegradedWarning, StoreLocked, StoreUnwritable
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN = ("ann",)
LENA = "My sister Lena lives in Porto."


class Rerun(BaseException):
    """How a page ends its program to begin it again."""


ANSWER = "How nice to hear that. " * 20


class Model(BaseChatModel):
    """Streams the same long answer every time, word by word, and keeps what it was asked."""

    asked: list[str] = Field(default_factory=list)
    wait: Callable[[str], None] = lambda text: None

    @property
    def _llm_type(self) -> str:
        return "test"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages))

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.asked.append(messages[-1].text)
        self.wait(messages[-1].text)
        for word in ANSWER.split(" "):
            yield ChatGenerationChunk(message=AIMessageChunk(f"{word} "))


@pytest.fixture
def model() -> Model:
    return Model()


def agent_of(bank: MemoryBank, model: Model, **options: Any) -> Any:
    saver = options.pop("saver", True)
    memory = SecomMiddleware(bank, **{"write": "inline", "on_error": "raise", **options})
    return create_agent(model, middleware=[memory], checkpointer=InMemorySaver() if saver else None)


def of(thread: str, who: str = "ann") -> Any:
    return {"configurable": {"user_id": who, "thread_id": thread}}


def said_to(text: str) -> Any:
    return {"messages": [("user", text)]}


def cut(agent: Any, text: str, thread: str, *, how: str = "close", mode: str = "messages") -> None:
    """Say something, and read one piece of the answer."""
    stream = agent.stream(said_to(text), of(thread), stream_mode=mode)
    next(piece for piece in stream if mode == "messages" or "model" in piece)
    if how == "throw":
        with pytest.raises(Rerun):
            stream.throw(Rerun())
    stream.close()


def said(bank: MemoryBank, session: str) -> list[list[str]]:
    return [[message.text for message in turn.messages] for turn in bank.turns(ANN, session)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["messages", "updates"])
@pytest.mark.parametrize("how", ["close", "throw"])
def test_a_new_chat_knows_what_was_said_before_the_answer_was_stopped(
    bank: MemoryBank, model: Model, how: str, mode: str
) -> None:
    agent = agent_of(bank, model)
    cut(agent, LENA, "monday", how=how, mode=mode)
    agent.invoke(said_to("Where does my sister live?"), of("tuesday"))
    assert LENA in model.asked[-1]
    agent.invoke(said_to("And what is she called?"), of("monday"))
    first, second = said(bank, "monday")
    # An answer that the thread has is remembered by the thread's next run.
    assert (first[0], len(first), second[0]) == (LENA, 1 + (mode == "updates"), "And what is she called?")


@pytest.mark.slow
def test_it_is_known_though_the_page_has_made_another_agent(bank: MemoryBank, model: Model) -> None:
    cut(agent_of(bank, model), LENA, "monday")
    agent_of(bank, model).invoke(said_to("Where does my sister live?"), of("tuesday"))
    assert LENA in model.asked[-1]


@pytest.mark.slow
async def test_an_asynchronous_stream_that_is_dropped_is_known_too(bank: MemoryBank, model: Model) -> None:
    agent = agent_of(bank, model)
    stream = agent.astream(said_to(LENA), of("monday"), stream_mode="messages")
    await anext(stream)
    await agent.ainvoke(said_to("Where does my sister live?"), of("tuesday"))
    assert LENA in model.asked[-1]
    await stream.aclose()


def test_it_is_of_its_time_and_of_nobody_else(bank: MemoryBank, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    then = datetime.now(timezone.utc) - timedelta(days=3)
    agent = agent_of(bank, model)
    with monkeypatch.context() as patch:
        patch.setattr("langchain_secom.thread_memory.present", lambda zone: then)
        cut(agent, LENA, "monday")
    agent.invoke(said_to("Where does my sister live?"), of("tuesday", "bob"))
    assert LENA not in model.asked[-1]
    assert said(bank, "monday") == []
    agent.invoke(said_to("Hello."), of("tuesday"))
    assert bank.turns(ANN, "monday")[0].messages[0].at == then


@pytest.mark.slow
def test_said_again_or_edited_it_is_stored_once(bank: MemoryBank, model: Model) -> None:
    agent = agent_of(bank, model)
    agent.invoke(said_to("Hello."), of("monday"))
    before = agent.get_state(of("monday")).config["configurable"]
    cut(agent, LENA, "monday")
    agent.invoke(said_to("Good morning."), of("tuesday"))
    agent.invoke(said_to(LENA), of("monday"))
    assert said(bank, "monday")[1:] == [[LENA, f"{ANSWER} "]]
    again = {"configurable": {**of("monday")["configurable"], **before}}
    agent.invoke(said_to("My sister Lena lives in Faro."), again)
    assert said(bank, "monday")[1:] == [["My sister Lena lives in Faro.", f"{ANSWER} "]]


def test_an_answer_that_comes_after_all_joins_it(bank: MemoryBank) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def wait(text: str) -> None:
        if text.startswith(LENA):
            begun.set()
            goes_on.wait(120)

    agent = agent_of(bank, Model(wait=wait))
    run = threading.Thread(target=agent.invoke, args=(said_to(LENA), of("monday")))
    run.start()
    begun.wait(10)
    agent.invoke(said_to("Hello."), of("tuesday"))
    assert said(bank, "monday") == [[LENA]]
    goes_on.set()
    run.join()
    assert said(bank, "monday") == [[LENA, f"{ANSWER} "]]


@pytest.mark.slow
def test_what_fails_or_is_forgotten_or_has_no_thread_is_not_remembered(bank: MemoryBank) -> None:
    def fail(text: str) -> None:
        raise RuntimeError("the model is away")

    failing = agent_of(bank, Model(wait=fail))
    with pytest.raises(RuntimeError, match="the model is away"):
        failing.invoke(said_to(LENA), of("monday"))
    agent = agent_of(bank, Model())
    agent.invoke(said_to("Hello."), of("other"))
    cut(agent, LENA, "forgotten")
    bank.forget(ANN)
    cut(agent, LENA, "forgotten session")
    bank.forget(ANN, session="forgotten session")
    cut(agent_of(bank, Model(), saver=False), LENA, "no thread")
    cut(agent_of(bank, Model(), write="off"), LENA, "off")
    memory = SecomMiddleware(bank)
    cut(agent, LENA, "retracted")
    memory.retract_thread("retracted", scope=ANN)
    agent.invoke(said_to("Hello."), of("tuesday"))
    assert bank.sessions(ANN) == ["tuesday"]


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["middleware", "bank", "neither"])
def test_a_process_that_ends_remembers_it(tmp_path: Path, closed: str) -> None:
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
from test_langchain_open_turns import *
bank = MemoryBank.open({str(tmp_path / "memory.db")!r})
memory = SecomMiddleware(bank)
agent = create_agent(Model(), middleware=[memory], checkpointer=InMemorySaver())
agent.invoke(said_to("Hello."), of("sunday"))
cut(agent, LENA, "monday")
if {closed!r} == "middleware":
    memory.close()
elif {closed!r} == "bank":
    bank.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    # LangGraph may say that a run which was broken off goes on as the process ends.
    is_its = "cannot schedule new futures after" in done.stderr and "_secom" not in done.stderr
    assert (done.returncode, "" if is_its else done.stderr) == (0, "")
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        assert said(bank, "monday") == [[LENA]]
        assert LENA in bank.recall(ANN, "Where does my sister live?").text


def test_of_many_turns_the_oldest_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    turns, remembered = OpenTurns(), list[tuple[str, bool]]()
    for name in ("one", "two", "one", "three"):
        turns.begin(OpenTurn(ANN, name, lambda closing, name=name: remembered.append((name, closing))))
    assert remembered == [("two", False)]
    turns.end()
    turns.end()
    assert remembered[1:] == [("one", True), ("three", True)]


def test_a_turn_waits_where_no_file_may_be_opened_to_read_what_is_stored(
    bank: MemoryBank, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = agent_of(bank, model, on_error="warn")
    agent.invoke(said_to("Hello."), of("monday"))

    def fails(*given: Any, **options: Any) -> Any:
        raise StoreUnwritable("the store cannot be opened, as this process has as many files open as it may")

    with monkeypatch.context() as patched:
        patched.setattr(MemoryBank, "turns", fails)
        with pytest.warns(DegradedWarning):
            agent.invoke(said_to(LENA), of("monday"))
    told = said(bank, "monday")
    assert [each[0] for each in told] == ["Hello.", LENA]
    assert [len(each) for each in told] == [2, 2]


def test_what_cannot_be_remembered_as_a_bank_closes_is_held() -> None:
    turns, remembered, fails = OpenTurns(), list[str](), [True]

    def remember(name: str) -> None:
        if fails:
            raise StoreLocked("the store is locked")
        remembered.append(name)

    for name in ("one", "two"):
        turns.begin(OpenTurn(ANN, name, lambda closing, name=name: remember(name)))
    with pytest.raises(StoreLocked):
        turns.end()
    fails.clear()
    turns.end()
    assert remembered == ["one", "two"]


def test_what_cannot_be_remembered_at_the_next_run_is_held() -> None:
    turns, written, failing = OpenTurns(), list[str](), {"a"}

    def turn(session: str) -> OpenTurn:
        def remember(closing: bool) -> None:
            if session in failing:
                raise StoreLocked("the bank's file is locked")
            written.append(session)

        return OpenTurn(ANN, session, remember)

    for session in ("a", "b"):
        turns.begin(turn(session))
    with pytest.raises(StoreLocked):
        turns.remember(ANN, besides="new")
    failing.clear()
    turns.remember(ANN, besides="new")
    turns.remember(ANN, besides="new")
    assert written == ["a", "b"]


def test_of_a_run_that_broke_off_in_a_memory_tool_no_call_is_remembered() -> None:
    class BreaksOff(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: ToolCallRequest, handler: Any) -> Any:
            raise ConnectionError

    call = Answer("Let me look.", tool_calls=(ToolCall("search_memory", {"query": "allergy"}, "call-1"),))
    with MemoryBank.open() as bank, ScriptedServer([call, "Peanuts."]) as server:
        memory = SecomMiddleware(bank, scope=ANN, tools=True, write="inline")
        assert {each.name for each in (*memory.tools, create_mark_memory_tool(bank))} == MEMORY_TOOLS
        model = HttpAgentModel(base_url=server.base_url)
        agent: Any = create_agent(model, [], middleware=[memory, BreaksOff()], checkpointer=InMemorySaver())
        monday = {"configurable": {"thread_id": "monday"}}
        with pytest.raises(ConnectionError):
            agent.invoke({"messages": [("user", "Which allergy do I have?")]}, monday)
        agent.invoke({"messages": [("user", "Tell me.")]}, monday)
        said = [message.text for turn in bank.turns(ANN) for message in turn.messages]
    assert said == ["Which allergy do I have?", "Let me look.", "Tell me.", "Peanuts."]
