"""What handlers, tracers and event streams see of a recall: a retriever's run, once a turn, wordless on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import WAYS, HttpAgentModel, run_agent
from http_chat import HttpChatModel
from langchain.agents import create_agent
from langchain_classic.chains import ConversationChain
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langchain_core.tracers.schemas import Run

from langchain_secom import RecursiveSummaryMemory, SecomMemory, SecomMiddleware, SessionHistories, recalled_memories
from secom_core.bank import MemoryBank
from secom_core.errors import DegradedWarning, StoreError
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN = ("ann",)
FACT = "My dog Bello swims in the river Leie."
QUESTION = "Where does my dog Bello swim?"
each_way = pytest.mark.parametrize("how", WAYS)
worded = pytest.mark.parametrize("contents", [True, False], ids=["words", "no words"])
CALL = Answer(tool_calls=(ToolCall("weather", {"city": "Ghent"}, id="call-1"),))


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", summaries=True) as bank:
        bank.remember(ANN, [("user", FACT)], session="monday", close=True)
        yield bank


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


class Ear(AsyncCallbackHandler):
    """An asynchronous handler, as those of servers are."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
        self.calls.append(f"start {query}")

    async def on_retriever_end(self, documents: Any, **kwargs: Any) -> None:
        self.calls.append(f"end {len(documents)}")


def below(runs: list[Run]) -> list[Run]:
    return [each for run in runs for each in (run, *below(run.child_runs))]


def recalls(collector: RunCollectorCallbackHandler) -> list[Run]:
    """The recalls among the runs, each once."""
    found = {run.id: run for run in below(collector.traced_runs) if run.run_type == "retriever"}
    assert {run.name for run in found.values()} <= {"secom_recall"}
    assert all("secom" in (run.tags or ()) for run in found.values())
    return list(found.values())


def check(run: Run, contents: bool) -> None:
    """That a run tells which memory was found, and its words only where they are wanted."""
    [document] = (run.outputs or {})["documents"]
    assert document.metadata["secom_memory_id"] == "monday#0-1"
    assert document.metadata["number"] == 1
    trace = repr((run.inputs, run.outputs, run.metadata, run.extra, run.events))
    assert (FACT in trace) is contents
    assert (QUESTION in trace) is contents
    assert ("'ann'" in repr(document)) is contents


# -- agents -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
@worded
async def test_an_agents_recall_is_a_run_of_its_own_once_a_turn(bank: MemoryBank, how: str, contents: bool) -> None:
    collector, ear = RunCollectorCallbackHandler(), Ear()
    with ScriptedServer([CALL, "In the Leie."]) as server:
        memory = SecomMiddleware(bank, scope=ANN, write="inline", trace_contents=contents)
        agent = create_agent(HttpAgentModel(base_url=server.base_url), [weather], middleware=[memory])
        config = {"callbacks": [collector, ear], "configurable": {"thread_id": "friday"}}
        seen = await run_agent(how, agent, {"messages": [("user", QUESTION)]}, config)
        assert FACT in server.requests[1].messages[0][1]
    [run] = recalls(collector)
    assert run.parent_run_id is not None
    check(run, contents)
    assert ear.calls == [f"start {QUESTION if contents else ''}", "end 1"]
    if how == "events":
        events = [event for event in seen if event["name"] == "secom_recall"]
        assert [event["event"] for event in events] == ["on_retriever_start", "on_retriever_end"]
        assert (FACT in str(events)) is contents
    elif how not in ("messages", "amessages"):
        assert FACT not in repr(seen)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_a_recall_that_fails_is_traced_as_failed(
    bank: MemoryBank, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(bank, "recall", fails)
    agent = create_agent(FakeListChatModel(responses=["Hm."]), middleware=[SecomMiddleware(bank, scope=ANN)])
    collector = RunCollectorCallbackHandler()
    with pytest.warns(DegradedWarning, match="the disk is full"):
        await run_agent(how, agent, {"messages": [("user", QUESTION)]}, {"callbacks": [collector]})
    [run] = recalls(collector)
    assert "the disk is full" in str(run.error)


# -- chat histories ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
@worded
@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory")
async def test_recalled_memories_are_a_run_of_their_own(bank: MemoryBank, how: str, contents: bool) -> None:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "{memories}"), MessagesPlaceholder("history"), ("human", "{question}")]
    )
    memories = recalled_memories("question", trace_contents=contents)
    histories = SessionHistories(bank, scope=ANN)
    chat = RunnableWithMessageHistory(
        RunnablePassthrough.assign(memories=memories) | prompt | FakeListChatModel(responses=["In the Leie."]),
        histories,
        input_messages_key="question",
        history_messages_key="history",
        history_factory_config=histories.specs,
    )
    collector = RunCollectorCallbackHandler()
    config: Any = {"callbacks": [collector], "configurable": {"session_id": "friday"}}
    given = {"question": QUESTION}
    if how == "events":
        seen = [event async for event in chat.astream_events(given, config, version="v2")]
        events = [event["event"] for event in seen if event["name"] == "secom_recall"]
        assert events == ["on_retriever_start", "on_retriever_end"]
    elif how.startswith("a"):
        await chat.ainvoke(given, config) if how == "ainvoke" else [each async for each in chat.astream(given, config)]
    else:
        chat.invoke(given, config) if how == "invoke" else list(chat.stream(given, config))
    [run] = recalls(collector)
    assert run.parent_run_id is not None
    assert "recalled_memories" not in {each.name for each in below(collector.traced_runs)}
    check(run, contents)


async def test_a_history_recalls_by_itself(bank: MemoryBank) -> None:
    history, collector = SessionHistories(bank, scope=ANN)("friday"), RunCollectorCallbackHandler()
    config: Any = {"callbacks": [collector]}
    assert FACT in history.recall(QUESTION, config=config)
    assert FACT in await history.arecall(QUESTION, config=config, k=1)
    assert await history.arecall(" ", config=config) == ""
    assert len(recalls(collector)) == 2


# -- classic memory ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@worded
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
@pytest.mark.parametrize("kind", [SecomMemory, RecursiveSummaryMemory])
@pytest.mark.filterwarnings("ignore:.*ConversationChain")
async def test_a_classic_memorys_recall_is_told_to_its_handlers(
    bank: MemoryBank, how: str, kind: type[SecomMemory], contents: bool
) -> None:
    collector = RunCollectorCallbackHandler()
    more = {"retrieve": True} if kind is RecursiveSummaryMemory else {}
    memory = kind(bank=bank, scope=ANN, trace_contents=contents, callbacks=[collector], **more)
    chain = ConversationChain(llm=FakeListChatModel(responses=["In the Leie."]), memory=memory)
    given = {"input": QUESTION}
    if how.startswith("a"):
        await chain.ainvoke(given) if how == "ainvoke" else [each async for each in chain.astream(given)]
    else:
        chain.invoke(given) if how == "invoke" else list(chain.stream(given))
    [run] = recalls(collector)
    check(run, contents)
    assert "callbacks" not in memory.model_dump(mode="json")


def test_a_classic_memory_in_a_chain_of_runnables_is_part_of_its_trace(bank: MemoryBank) -> None:
    collector = RunCollectorCallbackHandler()
    memory = SecomMemory(bank=bank, scope=ANN)
    RunnableLambda(memory.load_memory_variables).invoke({"input": QUESTION}, {"callbacks": [collector]})
    [run] = recalls(collector)
    assert run.parent_run_id == collector.traced_runs[-1].id


# -- what the bank asks -----------------------------------------------------------------------------------------------


class Loud:
    """A model of the bank's in the naive way: its calls are part of the user's run, as any model's are."""

    def __init__(self, model: HttpChatModel) -> None:
        self._model = model

    def complete(self, prompt: Any) -> str:
        return str(self._model.invoke(prompt.text).text)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["messages", "amessages"])
@pytest.mark.parametrize("naive", [False, True])
async def test_pitfall_06_what_a_recall_asks_a_model_stays_out_of_the_stream(
    tmp_path: Path, how: str, naive: bool
) -> None:
    from langchain_secom import LangChainChatModel, rewritten_query

    with ScriptedServer("<question>inner words?</question>") as inner, ScriptedServer("In the Leie.") as server:
        theirs = HttpChatModel(base_url=inner.base_url)
        model: Any = Loud(theirs) if naive else LangChainChatModel(theirs)
        with MemoryBank.open(tmp_path / "memory.db") as bank:
            bank.remember(ANN, [("user", FACT), ("assistant", "Nice.")], session="monday")
            middleware = SecomMiddleware(bank, scope=ANN, query=rewritten_query(model))
            agent = create_agent(HttpAgentModel(base_url=server.base_url), [], middleware=[middleware])
            messages = [("user", "Hello."), ("assistant", "Hello."), ("user", QUESTION)]
            seen = await run_agent(how, agent, {"messages": messages}, {"configurable": {"thread_id": "t"}})
            assert inner.requests, "the bank has called its model within the run"
    assert ("inner words" in "".join(message.text for message, _ in seen)) is naive
    assert "In the Leie." in "".join(message.text for message, _ in seen)
