"""Memory in agents: every way to run one, with and without a checkpointer, and each pitfall that others fell into."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, get_type_hints

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import SAVERS, WAYS, HttpAgentModel, run_agent, saver_of, skip_if_config_is_lost
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ProviderStrategy
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langchain_secom import SecomMiddleware
from langchain_secom.agent_turn import MEMORY_USE
from langchain_secom.streaming import awithout_markers, without_markers
from secom_core.bank import MemoryBank
from secom_core.citations.prompt import CITE_INSTRUCTION
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope, StoreError
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer, ToolCall

ANN, BOB = ("ann",), ("bob",)
FACT = "My dog Bello swims in the river Leie."
QUESTION = "Where does my dog Bello swim?"
as_ann: Any = {"configurable": {"user_id": "ann", "thread_id": "friday"}}
each_way = pytest.mark.parametrize("how", WAYS)
each_saver = pytest.mark.parametrize("kept", SAVERS)
either = pytest.mark.parametrize("checkpointed", [False, True], ids=["no checkpointer", "checkpointer"])
both = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def filled(path: str | Path = ":memory:") -> MemoryBank:
    bank = MemoryBank.open(path, citations=True)
    at = datetime(2024, 5, 1, tzinfo=timezone.utc)
    bank.remember(ANN, [Message(FACT, id="ann-1", at=at)], session="monday", close=True)
    bank.remember(BOB, [Message("My dog Rex swims in the sea.", id="bob-1", at=at)], session="monday", close=True)
    return bank


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with filled() as bank:
        yield bank


def stored(bank: MemoryBank, session: str = "friday", scope: Any = ANN) -> list[tuple[str, str]]:
    return [(each.role, each.text) for turn in bank.turns(scope, session) for each in turn.messages]


def asks(text: str = QUESTION, **kwargs: Any) -> Any:
    return {"messages": [HumanMessage(text, **kwargs)]}


def another(bank: MemoryBank) -> None:
    """A second memory: of one alone nothing can be learned."""
    at = datetime(2024, 5, 2, tzinfo=timezone.utc)
    bank.remember(ANN, [Message("My dog Bello barks at the trams.", id="ann-2", at=at)], session="tuesday", close=True)


def saver(checkpointed: bool) -> Any:
    return InMemorySaver() if checkpointed else None


def agent_of(server: ScriptedServer, *middleware: Any, tools: Any = (), **kwargs: Any) -> Any:
    return create_agent(HttpAgentModel(base_url=server.base_url), list(tools), middleware=middleware, **kwargs)


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


CALL = Answer(tool_calls=(ToolCall("weather", {"city": "Ghent"}, id="call-1"),))
CALL_LINE = '[calls weather({"city": "Ghent"})]'


# -- the matrix -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.pairwise
@each_way
@each_saver
@pytest.mark.parametrize("write", ["background", "inline"])
async def test_a_turn_recalls_and_is_remembered(
    bank: MemoryBank, tmp_path: Path, how: str, kept: str, write: Any
) -> None:
    with ScriptedServer([CALL, "In the Leie."]) as server:
        memory = SecomMiddleware(bank, write=write)
        async with saver_of(kept, how, tmp_path) as keeper:
            agent = agent_of(server, memory, tools=[weather], system_prompt="Be kind.", checkpointer=keeper)
            seen = await run_agent(how, agent, asks(), as_ann)
        assert memory.flush(10)

        for request in server.requests:
            system, (role, question) = request.messages[:2]
            assert (system, role) == (("system", "Be kind."), "user")
            assert question.startswith(f"{QUESTION}\n\n\n<memories>\n")
            assert FACT in question
            assert request.prompt.count("<memories>") == 1
            assert "Rex" not in str(request.body)
        assert len(server.requests) == 2
    assert stored(bank) == [
        ("user", QUESTION),
        ("assistant", CALL_LINE),
        ("tool", "rain in Ghent"),
        ("assistant", "In the Leie."),
    ]
    if how != "events":  # which tell what the model was given
        assert FACT not in repr(seen)
    memory.close()


async def test_events_can_be_printed(bank: MemoryBank) -> None:
    memory = SecomMiddleware(bank, scope=ANN, write="off")
    agent = create_agent(FakeListChatModel(responses=["Hi."]), middleware=[memory])
    printed = [str(event) async for event in agent.astream_events(asks(), version="v2")]
    assert any("'tokens': " in event and "'memories': 1" in event for event in printed)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream", "values", "avalues"])
async def test_what_streams_show_of_memory_is_json_and_holds_no_words(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("In the Leie.") as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"))
        for chunk in await run_agent(how, agent, asks(), as_ann):
            assert FACT not in json.dumps(chunk, default=lambda message: message.model_dump(mode="json"))


@pytest.mark.slow
@both
async def test_recall_happens_once_a_turn(bank: MemoryBank, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []
    recall = MemoryBank.recall

    def counted(self: MemoryBank, scope: Any, query: str, **kwargs: Any) -> Any:
        queries.append(query)
        return recall(self, scope, query, **kwargs)

    monkeypatch.setattr(MemoryBank, "recall", counted)
    with ScriptedServer([CALL, CALL, "In the Leie.", "You are welcome."]) as server:
        agent = agent_of(server, SecomMiddleware(bank), tools=[weather], checkpointer=InMemorySaver())
        await run_agent(how, agent, asks(), as_ann)
        assert queries == [QUESTION]
        await run_agent(how, agent, asks("Thanks for Bello."), as_ann)
        assert queries == [QUESTION, "Thanks for Bello."]


@pytest.mark.slow
async def test_what_the_thread_shows_is_not_recalled(bank: MemoryBank) -> None:
    with ScriptedServer(["Noted.", "In the basket."] * 2) as server:
        for checkpointed in (True, False):
            memory = SecomMiddleware(bank, write="inline")
            agent = agent_of(server, memory, checkpointer=saver(checkpointed))
            config = {"configurable": {"user_id": "ann", "thread_id": f"t{checkpointed}"}}
            first = agent.invoke(asks("My cat Mimi sleeps in the basket."), config)
            again = asks("Where does my cat Mimi sleep?")
            if not checkpointed:
                again = {"messages": [("user", m.text) if m.type == "human" else m for m in first["messages"]]}
                again["messages"].append(("user", "Where does my cat Mimi sleep?"))
            agent.invoke(again, config)
            assert str(server.requests[-1].body).count("sleeps in the basket") == 1
            bank.forget(ANN, session=f"t{checkpointed}")


@pytest.mark.slow
@each_way
async def test_without_memories_nothing_is_added(how: str) -> None:
    with MemoryBank.open() as bank, ScriptedServer("Hello.") as server:
        memory = SecomMiddleware(bank, scope=ANN, cite=False)
        await run_agent(how, agent_of(server, memory, system_prompt="Be kind."), asks())
        [request] = server.requests
        assert request.messages == (("system", "Be kind."), ("user", QUESTION))
        memory.close()


@pytest.mark.slow
@both
async def test_tokens_injected_are_told(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("In the Leie.") as server:
        [state] = await run_agent(how, agent_of(server, SecomMiddleware(bank, cite=True)), asks(), as_ann)
        [(_, question)] = server.requests[0].messages
    use = state["messages"][-1].response_metadata[MEMORY_USE]
    assert use == {"tokens": bank.token_counter(question.removeprefix(f"{QUESTION}\n")), "memories": 1}


# -- the pitfalls of the notes, by their numbers ----------------------------------------------------------------------


@pytest.mark.slow
@both
async def test_pitfall_01_nothing_runs_on_the_event_loop(bank: MemoryBank, how: str) -> None:
    threads: set[str] = set()
    recall, remember, turns = bank.recall, bank.remember, bank.turns

    def noted(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            threads.add(threading.current_thread().name)
            return function(*args, **kwargs)

        return call

    bank.recall, bank.remember, bank.turns = noted(recall), noted(remember), noted(turns)  # type: ignore[method-assign]
    with ScriptedServer([CALL, "In the Leie."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), tools=[weather], checkpointer=InMemorySaver())
        await run_agent(how, agent, asks(), as_ann)
    here = threading.current_thread().name
    assert (here in threads) == (how == "invoke")
    assert stored(bank)[-1] == ("assistant", "In the Leie.")


@pytest.mark.slow
@either
@pytest.mark.parametrize("write", ["background", "inline"])
async def test_pitfall_01_blockbuster_finds_nothing(tmp_path: Path, checkpointed: bool, write: Any) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with ScriptedServer([CALL, "In the Leie [1]."]) as server, filled(tmp_path / "memory.db") as bank:
        memory = SecomMiddleware(bank, write=write, cite=True, tools=True, on_error="raise")
        agent = agent_of(server, memory, tools=[weather], checkpointer=saver(checkpointed))
        with blockbuster.blockbuster_ctx(["langchain_secom", "secom_core"]):
            # The detector works: the same call, on the loop, is found.
            with pytest.raises(blockbuster.BlockingError):
                bank.remember(ANN, [Message("on the loop")], session="loop")
            await run_agent("ainvoke", agent, asks(), as_ann)
        assert stored(bank)[-1] == ("assistant", "In the Leie.")
        memory.close()


@pytest.mark.slow
@both
@each_saver
async def test_pitfall_02_nothing_recalled_is_in_a_checkpoint(
    bank: MemoryBank, tmp_path: Path, how: str, kept: str
) -> None:
    with ScriptedServer([CALL, "I see."]) as server:
        async with saver_of(kept, how, tmp_path) as keeper:
            agent = agent_of(server, SecomMiddleware(bank), tools=[weather], checkpointer=keeper)
            [state] = await run_agent(how, agent, asks(), as_ann)
            if keeper is not None:
                snapshot = agent.get_state(as_ann) if how == "invoke" else await agent.aget_state(as_ann)
                assert set(snapshot.values) == {"messages", "secom_SecomMiddleware_thread"}
        assert FACT in server.requests[0].messages[0][1]
    assert set(state) == {"messages"}
    assert FACT not in repr(state)
    if kept == "memory":
        assert FACT not in repr((dict(keeper.storage), dict(keeper.writes), dict(keeper.blobs)))
    for file in tmp_path.glob("checkpoints.db*"):
        assert QUESTION.encode() in file.read_bytes()
        assert FACT.encode() not in file.read_bytes()


def test_pitfall_02_the_next_turn_does_not_see_the_last_ones_memories(bank: MemoryBank) -> None:
    bank.remember(ANN, [Message("The kitchen tiles are green.", id="ann-2")], session="tuesday", close=True)
    with ScriptedServer("Yes.") as server:
        agent = agent_of(server, SecomMiddleware(bank, k=1), checkpointer=InMemorySaver())
        agent.invoke(asks(), as_ann)
        agent.invoke(asks("What colour are the kitchen tiles?"), as_ann)
        first, second = (request.messages[-1][1] for request in server.requests)
    assert FACT in first
    assert "tiles are green" in second
    assert FACT not in second


class Interrupter(AgentMiddleware[Any, Any, Any]):
    """Says something for the user while the agent works."""

    def before_model(self, state: Any, runtime: Any) -> Any:
        tiles = "What colour are the kitchen tiles?"
        return {"messages": [HumanMessage(tiles)]} if state["messages"][-1].type == "tool" else None


@pytest.mark.slow
@both
async def test_what_is_said_while_the_agent_works_is_recalled_for(bank: MemoryBank, how: str) -> None:
    bank.remember(ANN, [Message("The kitchen tiles are green.", id="ann-2")], session="tuesday", close=True)
    with ScriptedServer([CALL, "Green."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, k=1, write="inline"), Interrupter(), tools=[weather])
        await run_agent(how, agent, asks(), as_ann)
        first, second = (request.messages[-1][1] for request in server.requests)
    assert FACT in first
    assert "tiles are green" in second
    assert [text for role, text in stored(bank) if role == "user"] == [QUESTION, "What colour are the kitchen tiles?"]


def taking_screenshots(**marks: Any) -> Any:
    """A tool that shows the model a picture, which many models take in messages of users only."""

    @tool
    def screenshot(runtime: ToolRuntime) -> Command[Any]:
        """Take a screenshot."""
        shown: Any = [
            {"type": "text", "text": "The page:"},
            {"type": "image", "base64": "AA==", "mime_type": "image/png"},
        ]
        taken = ToolMessage("taken", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [taken, HumanMessage(shown, additional_kwargs=marks)]})

    return screenshot


def looks(text: str, number: int = 1) -> Answer:
    return Answer(text, (ToolCall("screenshot", {}, id=f"look-{number}"),))


@pytest.mark.slow
def test_what_is_said_before_a_screenshot_is_remembered_each_time(bank: MemoryBank) -> None:
    with ScriptedServer([looks("I look."), "All green."] * 2) as server:
        memory = SecomMiddleware(bank, write="inline")
        agent = agent_of(server, memory, tools=[taking_screenshots()], checkpointer=InMemorySaver())
        for _ in range(2):
            agent.invoke(asks("Check the page."), as_ann)
    answers = [text for role, text in stored(bank) if role == "assistant"]
    assert answers == ["I look.\n[calls screenshot({})]", "All green."] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "mark", [{"lc_source": "screenshot"}, {"read_file_media_result": True}], ids=["ours", "deepagents"]
)
def test_pictures_of_a_tool_that_are_marked_are_nobodys_words(bank: MemoryBank, mark: Any) -> None:
    with ScriptedServer([looks("I look."), "In the Leie."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), tools=[taking_screenshots(**mark)])
        agent.invoke(asks(), as_ann)
        first, *_, last = server.requests[1].messages
    assert [text for role, text in stored(bank) if role == "user"] == [QUESTION]
    assert FACT in first[1]
    assert "The page:" in last[1]
    assert "<memories>" not in last[1]


def test_the_mark_of_deepagents_is_its_own() -> None:
    filesystem = pytest.importorskip("deepagents.middleware.filesystem", reason="needs deepagents")
    assert filesystem._is_read_file_media_result(HumanMessage("x", additional_kwargs={"read_file_media_result": True}))


@pytest.mark.slow
@pytest.mark.pairwise
@both
@pytest.mark.parametrize("kept", SAVERS[1:])
@pytest.mark.parametrize("decision", ["approve", "edit", "reject", "respond"])
async def test_pitfall_02_a_resumed_turn_recalls_again(
    bank: MemoryBank, tmp_path: Path, how: str, kept: str, decision: str
) -> None:
    skip_if_config_is_lost(how)
    another(bank)
    async with saver_of(kept, how, tmp_path) as keeper:
        with ScriptedServer([CALL, "In the Leie [1]."]) as server:
            memory = SecomMiddleware(bank, write="inline", cite=True)
            asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
            agent = agent_of(server, memory, asking, tools=[weather], checkpointer=keeper)
            await run_agent(how, agent, asks(), as_ann)
            assert len(server.requests) == 1
            edited = {"name": "weather", "args": {"city": "Bruges"}}
            said = {"message": "No weather."}
            more = {"edit": {"edited_action": edited}, "reject": said, "respond": said}.get(decision, {})
            resume = Command(resume={"decisions": [{"type": decision, **more}]})
            # As a process that was started anew would: nothing of the turn is left in this one.
            await run_agent(how, agent, resume, as_ann)
            asked = server.requests[1].messages[0][1]
            assert FACT in asked
            # The turn at hand is no memory of earlier conversations.
            assert asked.count(QUESTION) == 1
    results = {"approve": "rain in Ghent", "edit": "rain in Bruges"}
    turns = stored(bank)
    assert [text for role, text in turns if role == "user"] == [QUESTION]
    assert results.get(decision, said["message"]) in str(turns)
    assert [text for role, text in turns if "Leie" in text] == ["In the Leie."]
    assert len(bank.citations.log(ANN)) == 1


def test_pitfall_03_the_state_schema_can_be_read_at_run_time(bank: MemoryBank) -> None:
    hints = get_type_hints(SecomMiddleware(bank).state_schema, include_extras=True)
    assert list(hints) == ["secom_SecomMiddleware", "secom_SecomMiddleware_thread"]
    agent = create_agent(FakeListChatModel(responses=["x"]), middleware=[SecomMiddleware(bank)])
    for schema in (agent.get_input_jsonschema(), agent.get_output_jsonschema()):
        assert "secom" not in json.dumps(schema)


@pytest.mark.slow
@both
async def test_pitfall_04_history_that_is_sent_again_is_not_remembered_again(bank: MemoryBank, how: str) -> None:
    answers = ["Hello.", "In the Leie.", "Yes.", "Yes, really."]
    with ScriptedServer(answers) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"))
        history: list[Any] = []
        for text in ("Hi.", QUESTION, "Really?", "Really?"):
            history.append({"role": "user", "content": text})
            [state] = await run_agent(how, agent, {"messages": history}, as_ann)
            history.append({"role": "assistant", "content": state["messages"][-1].text})
    assert stored(bank) == [(each["role"], each["content"]) for each in history]


@pytest.mark.slow
def test_pitfall_04_an_answer_that_is_sent_again_trimmed_is_not_remembered_again(bank: MemoryBank) -> None:
    with ScriptedServer(["Hello.\n", " In the Leie. "]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"))
        agent.invoke({"messages": [("user", "Hi. ")]}, as_ann)
        agent.invoke({"messages": [("user", "Hi."), ("assistant", "Hello."), ("user", QUESTION)]}, as_ann)
    assert stored(bank) == [
        ("user", "Hi. "),
        ("assistant", "Hello.\n"),
        ("user", QUESTION),
        ("assistant", " In the Leie. "),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 3, 5])
def test_pitfall_04_a_window_of_the_history_is_enough(bank: MemoryBank, window: int) -> None:
    history: list[Any] = []
    with ScriptedServer([f"Answer {n}." for n in range(8)]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"))
        for n in range(8):
            history.append(("user", "Yes." if n % 2 else f"Message {n}."))
            state = agent.invoke({"messages": history[-window:]}, as_ann)
            history.append(("assistant", state["messages"][-1].text))
    assert stored(bank) == history


@pytest.mark.slow
def test_pitfall_04_without_a_thread_a_conversation_is_known_by_its_beginning(bank: MemoryBank) -> None:
    with ScriptedServer(["One.", "Two.", "Three.", "Four."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, scope=ANN, write="inline"))
        agent.invoke({"messages": [("user", "Hi.")]})
        agent.invoke({"messages": [("user", "Hi."), ("assistant", "One."), ("user", "And?")]})
        agent.invoke({"messages": [("user", "Something else.")]})
        # Who says the same again says it twice.
        agent.invoke({"messages": [("user", "Something else.")]})
    first, second = bank.sessions(ANN)[1:]
    assert [text for _, text in stored(bank, first)] == ["Hi.", "One.", "And?", "Two."]
    assert [text for _, text in stored(bank, second)] == ["Something else.", "Three.", "Something else.", "Four."]


def test_pitfall_04_ids_that_return_in_another_thread_are_no_clash(bank: MemoryBank) -> None:
    with ScriptedServer("Yes.") as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline", on_error="raise"))
        for thread in ("a", "b"):
            config = {"configurable": {"user_id": "ann", "thread_id": thread}}
            agent.invoke(asks(f"Hello, {thread}.", id="1"), config)
            assert stored(bank, thread) == [("user", f"Hello, {thread}."), ("assistant", "Yes.")]


@pytest.mark.slow
def test_a_thread_from_before_the_memory_is_remembered_whole(bank: MemoryBank) -> None:
    keeper = InMemorySaver()
    with ScriptedServer(["One.", "Two.", "Three."]) as server:
        agent_of(server, checkpointer=keeper).invoke(asks("First."), as_ann)
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), checkpointer=keeper)
        agent.invoke(asks("Second."), as_ann)
        agent.invoke(asks("Third."), as_ann)
    assert [text for _, text in stored(bank)] == ["First.", "One.", "Second.", "Two.", "Third.", "Three."]


@pytest.mark.slow
@pytest.mark.parametrize("write", ["background", "inline"])
def test_a_finished_answer_does_not_wait_for_a_locked_file(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "m.db"
    with filled(path) as bank, ScriptedServer([Answer("In the Leie [1].")]) as server:
        bank.recall(ANN, QUESTION)
        memory = SecomMiddleware(bank, scope=ANN, write=write, cite=True)
        agent = agent_of(server, memory)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with warnings.catch_warnings():
                # What the answer cites may be lost.
                warnings.simplefilter("ignore", DegradedWarning)
                agent.invoke(asks(), as_ann)
            waited = time.monotonic() - began
            other.execute("COMMIT")
        assert waited < 20
        deadline = time.monotonic() + 60
        while not stored(bank) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [role for role, _ in stored(bank)] == ["user", "assistant"]
        memory.close()


@pytest.mark.slow
@pytest.mark.parametrize("away", ["its tables are another program's", "it is stopped"])
def test_a_turn_is_remembered_also_where_the_server_cannot_tell_what_is_stored(
    postgres: Any, postgres_url: str, away: str
) -> None:
    with filled(postgres_url) as bank, ScriptedServer(["Hello.", "In the Leie."]) as server:
        memory = SecomMiddleware(bank, scope=ANN)
        agent = agent_of(server, memory, checkpointer=InMemorySaver())
        agent.invoke(asks("Hi."), as_ann)
        with ExitStack() as held, warnings.catch_warnings():
            # Nothing is recalled.
            warnings.simplefilter("ignore", DegradedWarning)
            if away == "it is stopped":
                postgres.stop_now()
                held.callback(postgres.start_again)
            else:
                held.enter_context(postgres.tables_taken(postgres_url))
            agent.invoke({"messages": [HumanMessage("I moved to Ghent."), HumanMessage(QUESTION)]}, as_ann)
        deadline = time.monotonic() + 60
        while len(stored(bank)) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [text for _, text in stored(bank)] == ["Hi.", "Hello.", "I moved to Ghent.", QUESTION, "In the Leie."]
        memory.close()


@pytest.mark.slow
def test_what_was_forgotten_stays_so_where_the_store_cannot_tell_it(postgres: Any, postgres_url: str) -> None:
    with filled(postgres_url) as bank, ScriptedServer(["Hello.", "In the Leie.", "In it."]) as server:
        memory = SecomMiddleware(bank, scope=ANN)
        agent = agent_of(server, memory, checkpointer=InMemorySaver())
        agent.invoke(asks("Hi."), as_ann)
        agent.invoke(asks(), as_ann)
        bank.forget(ANN, session="friday")
        with postgres.tables_taken(postgres_url), warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            agent.invoke({"messages": []}, as_ann)
        deadline = time.monotonic() + 60
        while not stored(bank) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert stored(bank) == [("assistant", "In it.")]
        memory.close()


@pytest.mark.slow
def test_an_agent_with_tools_does_not_wait_until_another_program_gives_the_tables_back(
    postgres: Any, postgres_url: str
) -> None:
    with filled(postgres_url) as bank, ScriptedServer([CALL, "Rain."]) as server:
        memory = SecomMiddleware(bank, scope=ANN)
        agent = agent_of(server, memory, checkpointer=InMemorySaver(), tools=[weather])
        with postgres.tables_taken(postgres_url, seconds=30), warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            began = time.monotonic()
            agent.invoke(asks(), as_ann)
            assert time.monotonic() - began < 15
        deadline = time.monotonic() + 60
        while len(stored(bank)) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [text for _, text in stored(bank)] == [QUESTION, CALL_LINE, "rain in Ghent", "Rain."]
        memory.close()


@both
async def test_pitfall_05_what_was_redacted_is_not_remembered(bank: MemoryBank, how: str) -> None:
    with ScriptedServer([CALL, "I write to ann@example.org."] * 2) as server:
        redact = PIIMiddleware("email", strategy="redact", apply_to_output=True)
        for order in ((SecomMiddleware(bank, write="inline"), redact), (redact, SecomMiddleware(bank, write="inline"))):
            agent = agent_of(server, *order, tools=[weather], checkpointer=InMemorySaver())
            await run_agent(how, agent, asks("My address is ann@example.org, and Bello swims."), as_ann)
            assert "ann@example.org" not in str(stored(bank))
            assert [text for _, text in stored(bank)][::3] == [
                "My address is [REDACTED_EMAIL], and Bello swims.",
                "I write to [REDACTED_EMAIL].",
            ]
            assert "ann@example.org" not in str(server.requests[-1].messages[-1])
            bank.forget(ANN, session="friday")


class Censor(AgentMiddleware[Any, Any, Any]):
    """Takes a message out of the thread, for good."""

    def after_model(self, state: Any, runtime: Any) -> Any:
        doomed = [message for message in state["messages"] if "secret" in message.text]
        return {"messages": [RemoveMessage(id=message.id) for message in doomed]} if doomed else None


def test_pitfall_05_what_was_taken_out_of_the_thread_is_not_remembered(bank: MemoryBank) -> None:
    with ScriptedServer("Fine.") as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), Censor())
        agent.invoke({"messages": [("user", "It is secret."), ("user", "Hello.")]}, as_ann)
    assert stored(bank) == [("user", "Hello."), ("assistant", "Fine.")]


def test_pitfall_05_nor_in_a_thread_that_was_summed_up_before(bank: MemoryBank) -> None:
    summary = HumanMessage("A summary.", additional_kwargs={"lc_source": "summarization"})
    with ScriptedServer([CALL, "Fine."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), Censor(), tools=[weather])
        agent.invoke({"messages": [summary, HumanMessage("Hello."), HumanMessage("It is secret.")]}, as_ann)
    assert [text for role, text in stored(bank) if role != "tool"] == ["Hello.", CALL_LINE, "Fine."]


def test_pitfall_05_made_up_messages_are_neither_remembered_nor_the_question(bank: MemoryBank) -> None:
    made_up = HumanMessage("Here is a summary: kitchen.", additional_kwargs={"lc_source": "summarization"})
    with ScriptedServer("In the Leie.") as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline", inject="human"))
        agent.invoke({"messages": [HumanMessage(QUESTION), made_up]}, as_ann)
        [request] = server.requests
    assert stored(bank) == [("user", QUESTION), ("assistant", "In the Leie.")]
    assert request.messages[0][1].startswith(f"{QUESTION}\n\n\n<memories>")
    assert request.messages[1][1] == made_up.text


@pytest.mark.slow
@pytest.mark.pairwise
@each_way
@either
@pytest.mark.parametrize("markers", ["keep", "strip"])
async def test_pitfall_07_citations_teach_once_and_are_stripped(
    bank: MemoryBank, how: str, checkpointed: bool, markers: Any
) -> None:
    another(bank)
    with ScriptedServer([CALL, "In the Leie [1]."]) as server:
        memory = SecomMiddleware(bank, write="inline", cite=True, markers=markers)
        keeper = saver(checkpointed)
        agent = agent_of(server, memory, tools=[weather], checkpointer=keeper)
        seen = await run_agent(how, agent, asks(), as_ann)
        assert all(request.messages[0][1].endswith(CITE_INSTRUCTION) for request in server.requests)
        assert all(request.messages[0][1].count(CITE_INSTRUCTION) == 1 for request in server.requests)
    [entry] = bank.citations.log(ANN)
    assert (entry.cited, entry.query) == ((1,), QUESTION)
    assert len(bank.citations.log(ANN)) == 1
    # What is remembered holds no markers in either case: they name nothing later.
    assert stored(bank)[-1] == ("assistant", "In the Leie.")
    if how in ("invoke", "ainvoke"):
        answer = seen[0]["messages"][-1]
        assert answer.text == ("In the Leie [1]." if markers == "keep" else "In the Leie.")
        [cited] = answer.response_metadata["secom_citations"]
        assert cited == {"number": 1, "memory_id": entry.impression.memory_ids[0], "turn_ids": ["ann-1"]}
        assert answer.id
    if checkpointed:
        assert ("[1]" in agent.get_state(as_ann).values["messages"][-1].text) == (markers == "keep")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "cited"),
    [("In the Leie.", None), ("In the Leie [7].", None), ("I cannot say. [NO_CITE]", ()), ("Leie [1][1].", (1,))],
)
@both
async def test_pitfall_07_only_what_tells_something_teaches(
    bank: MemoryBank, how: str, answer: str, cited: Any
) -> None:
    with ScriptedServer(answer) as server:
        await run_agent(how, agent_of(server, SecomMiddleware(bank, cite=True)), asks(), as_ann)
    assert [entry.cited for entry in bank.citations.log(ANN)] == ([] if cited is None else [cited])


def test_pitfall_07_an_answer_that_is_cut_short_teaches_nothing(bank: MemoryBank) -> None:
    with ScriptedServer(Answer("In the Leie [1]", finish_reason="length")) as server:
        agent_of(server, SecomMiddleware(bank, cite=True)).invoke(asks(), as_ann)
    assert bank.citations.log(ANN) == []


STREAMED = [
    ("In the Leie [1]. Bye.", "In the Leie. Bye."),
    ("Leie [1], [1][1].", "Leie."),
    ("xs = [1, 1] [1]. Leie [7].", "xs = [1, 1]. Leie [7]."),
    ("An open bracket [", "An open bracket ["),
    ("As in [a list] or x [12", "As in [a list] or x [12"),
]


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize(("answer", "visible"), STREAMED)
@pytest.mark.parametrize("modes", ["messages", ["updates", "messages"]], ids=["one mode", "two modes"])
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_pitfall_07_streamed_tokens_go_without_citations(
    bank: MemoryBank, how: str, answer: str, visible: str, modes: Any
) -> None:
    skip_if_config_is_lost(how)
    with ScriptedServer([CALL, answer]) as server:
        agent = agent_of(server, SecomMiddleware(bank, cite=True), tools=[weather])
        if how == "stream":
            items = list(without_markers(agent.stream(asks(), as_ann, stream_mode=modes)))
        else:
            items = [item async for item in awithout_markers(agent.astream(asks(), as_ann, stream_mode=modes))]
    if modes != "messages":
        assert {mode for mode, _ in items} == {"updates", "messages"}
        items = [data for mode, data in items if mode == "messages"]
    tokens = [token for token, _ in items if token.type == "AIMessageChunk"]
    assert "".join(token.text for token in tokens) == visible
    assert [token.text for token, _ in items if token.type == "tool"] == ["rain in Ghent"]
    assert len({token.id for token in tokens}) == 2
    assert any(token.tool_call_chunks for token in tokens)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"subgraphs": True}, {"version": "v2"}, {"version": "v2", "subgraphs": True}])
@pytest.mark.parametrize("modes", ["messages", ["updates", "messages"]], ids=["one mode", "two modes"])
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_pitfall_07_tokens_go_without_citations_in_every_form_of_a_stream(
    bank: MemoryBank, how: str, modes: Any, options: Any
) -> None:
    with ScriptedServer("In the Leie [1].") as server:
        agent = agent_of(server, SecomMiddleware(bank, cite=True, write="off"))
        graph = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile()
        if how == "stream":
            items = list(without_markers(graph.stream(asks(), as_ann, stream_mode=modes, **options)))
        else:
            asynchronous = graph.astream(asks(), as_ann, stream_mode=modes, **options)
            items = [item async for item in awithout_markers(asynchronous)]
    parts = [
        item["data"] if isinstance(item, dict) else item[-1] if options.get("subgraphs") else item for item in items
    ]
    texts = [part[0].text for part in parts if isinstance(part, tuple) and isinstance(part[0], AIMessage)]
    assert "".join(texts) == "In the Leie."


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "visible"), STREAMED)
@pytest.mark.filterwarnings("ignore:The v3 streaming")
def test_pitfall_07_event_streams_go_without_citations(bank: MemoryBank, answer: str, visible: str) -> None:
    with ScriptedServer([CALL, answer]) as server:
        agent = agent_of(server, SecomMiddleware(bank, cite=True), tools=[weather])
        run = agent.stream_events(asks(), as_ann, version="v3")
        seen = [("".join(message.text), message.output.text) for message in run.messages]
    assert seen[-1] == (visible, visible)


def test_pitfall_07_handlers_are_told(bank: MemoryBank) -> None:
    seen: list[Any] = []

    class Told(BaseCallbackHandler):
        def on_custom_event(self, name: str, data: Any, **kwargs: Any) -> None:
            seen.append((name, data))

    with ScriptedServer("In the Leie [1].") as server:
        another(bank)
        config = {**as_ann, "callbacks": [Told()]}
        agent_of(server, SecomMiddleware(bank, cite=True)).invoke(asks(), config)
    [(name, data)] = seen
    counts = {"numbers": [1, 2], "cited": [1], "unknown": [], "none_used": False, "reward": 0.5}
    assert (name, data) == ("secom_citations", {**counts, "lesson": "recorded"})


def test_pitfall_08_of_content_only_words_are_remembered(bank: MemoryBank) -> None:
    picture = base64.b64encode(b"picture").decode()
    content: Any = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": picture, "mime_type": "image/png"},
    ]
    with ScriptedServer("<think>A dog, I think.</think>A dog.") as server:
        agent_of(server, SecomMiddleware(bank, write="inline")).invoke({"messages": [HumanMessage(content)]}, as_ann)
    assert stored(bank) == [("user", "What is this?\n[image]"), ("assistant", "A dog.")]


def test_pitfall_08_a_refusal_answers_the_question(bank: MemoryBank) -> None:
    refusals = [
        AIMessage([{"type": "refusal", "refusal": "I can't open it."}]),
        AIMessage("", additional_kwargs={"refusal": "Nor that."}),
    ]
    model = FakeMessagesListChatModel(responses=list(refusals))
    agent = create_agent(model, middleware=[SecomMiddleware(bank, write="inline")], checkpointer=InMemorySaver())
    for text in ("How do I open his lock?", "And his safe?"):
        agent.invoke(asks(text), as_ann)
    turns = [[message.text for message in turn.messages] for turn in bank.turns(ANN, "friday")]
    assert turns == [["How do I open his lock?", "I can't open it."], ["And his safe?", "Nor that."]]


@pytest.mark.slow
def test_pitfall_08_a_call_and_its_result_stay_together(bank: MemoryBank) -> None:
    calls = Answer(tool_calls=(ToolCall("weather", {"city": "Ghent"}, "a"), ToolCall("weather", {"city": "Rome"}, "b")))
    with ScriptedServer([calls, "Rain."] * 2) as server:
        agent_of(server, SecomMiddleware(bank, write="inline"), tools=[weather]).invoke(asks("Weather?"), as_ann)
        agent = agent_of(server, SecomMiddleware(bank, write="inline", tool_lines="omit"), tools=[weather])
        agent.invoke(asks("Weather?"), {"configurable": {"user_id": "ann", "thread_id": "omitted"}})
    [turn] = bank.turns(ANN, "friday")
    assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert stored(bank, "omitted") == [("user", "Weather?"), ("assistant", "Rain.")]


@dataclass
class Who:
    tenant_id: str | None = None
    user_id: str | None = None
    thread_id: str | None = None


@pytest.mark.slow
@both
@pytest.mark.parametrize("on_error", ["warn", "raise"])
async def test_pitfall_09_without_a_scope_nothing_happens(bank: MemoryBank, how: str, on_error: Any) -> None:
    with ScriptedServer("Hello.") as server:
        agent = agent_of(server, SecomMiddleware(bank, on_error=on_error), context_schema=Who)
        with pytest.raises(InvalidScope, match="user_id"):
            await run_agent(how, agent, asks())
        with pytest.raises(InvalidScope, match="user_id"):
            await run_agent(how, agent, asks(), context=Who(tenant_id="acme"))
        with pytest.raises(InvalidScope, match="'bob'"):
            await run_agent(how, agent, asks(), as_ann, context=Who(user_id="bob"))
        with pytest.raises(InvalidScope, match="give one of the two, or the same in both"):
            await run_agent(how, agent, asks(), {"configurable": {"scope": ("bob",), "user_id": "ann"}})
        bound = agent_of(server, SecomMiddleware(bank, scope=ANN, on_error=on_error))
        with pytest.raises(InvalidScope, match="bob"):
            await run_agent(how, bound, asks(), {"configurable": {"scope": ("bob",)}})
        assert server.requests == ()


@pytest.mark.slow
@each_way
async def test_pitfall_09_the_scope_comes_from_the_context(bank: MemoryBank, how: str) -> None:
    scope = ("acme", "ann@example.org")
    bank.remember(scope, [Message(FACT, id="x")], session="monday")
    with ScriptedServer("In the Leie.") as server:
        memory = SecomMiddleware(bank, scope_keys=("tenant_id", "user_id"), write="inline")
        agent = agent_of(server, memory, context_schema=Who)
        await run_agent(how, agent, asks(), context=Who("acme", "ann@example.org", "friday"))
        assert FACT in server.requests[0].messages[0][1]
    assert stored(bank, scope=scope) == [("user", QUESTION), ("assistant", "In the Leie.")]


def test_pitfall_09_a_thread_may_be_the_scope(bank: MemoryBank) -> None:
    with ScriptedServer("Hello.") as server:
        agent = agent_of(server, SecomMiddleware(bank, scope_keys=("thread_id",), write="inline"))
        agent.invoke(asks("Hi."), {"configurable": {"thread_id": "t1"}})
    assert stored(bank, "t1", ("t1",)) == [("user", "Hi."), ("assistant", "Hello.")]


@pytest.mark.slow
def test_pitfall_09_two_of_one_name_raise_and_two_of_different_names_work(bank: MemoryBank) -> None:
    another(bank)
    with ScriptedServer([CALL, "In the Leie [1]."]) as server:
        with pytest.raises(AssertionError, match="duplicate"):
            agent_of(server, SecomMiddleware(bank), SecomMiddleware(bank))
        own = SecomMiddleware(bank, scope=ANN, write="inline", cite=True)
        bob = SecomMiddleware(bank, scope=BOB, write="off", name="Shared")
        state = agent_of(server, own, bob, tools=[weather]).invoke(asks(), {"configurable": {"thread_id": "friday"}})
        assert all("Leie" in r.messages[0][1] and "sea" in r.messages[0][1] for r in server.requests)
    assert state["messages"][-1].text == "In the Leie."
    assert len(bank.citations.log(ANN)) == 1
    assert bank.sessions(BOB) == ["monday"]


def test_pitfall_09_the_middleware_keeps_nothing_of_a_run(bank: MemoryBank) -> None:
    with ScriptedServer("In the Leie.") as server:
        memory = SecomMiddleware(bank, write="inline")
        before = repr(sorted(vars(memory).items()))
        agent_of(server, memory).invoke(asks(), as_ann)
    assert repr(sorted(vars(memory).items())) == before


@tool
def ask_expert(question: str) -> str:
    """Ask the expert."""
    raise NotImplementedError


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("how", [way for way in WAYS if way != "events"])
@either
@pytest.mark.parametrize("subagents", ["recall", "remember", "off"])
async def test_pitfall_10_what_sub_agents_do_is_said(
    bank: MemoryBank, how: str, checkpointed: bool, subagents: Any
) -> None:
    order = Answer(tool_calls=(ToolCall("ask_expert", {"question": "expert, where does Bello swim?"}, "call-1"),))
    with ScriptedServer([order, "Expert: the Leie.", "In the Leie."]) as server:
        expert = agent_of(server, SecomMiddleware(bank, write="inline", subagents=subagents))

        def ask(question: str) -> str:
            return str(expert.invoke(asks(question))["messages"][-1].text)

        async def aask(question: str) -> str:
            return str((await expert.ainvoke(asks(question)))["messages"][-1].text)

        asking = ask_expert.model_copy(update={"func": ask, "coroutine": aask})
        memory = SecomMiddleware(bank, write="inline")
        agent = agent_of(server, memory, tools=[asking], checkpointer=saver(checkpointed))
        await run_agent(how, agent, asks(), as_ann)
        inner = server.requests[1]
    assert (FACT in str(inner.body)) == (subagents != "off")
    # The conversation with the user is whole in any case, and holds no message of the sub-agent.
    assert [role for role, _ in stored(bank)] == ["user", "assistant", "tool", "assistant"]
    others = [name for name in bank.sessions(ANN) if name not in ("monday", "friday")]
    assert len(others) == (subagents == "remember")
    for name in others:
        assert name.startswith("friday/")
        assert stored(bank, name) == [("user", "expert, where does Bello swim?"), ("assistant", "Expert: the Leie.")]


@pytest.mark.slow
@pytest.mark.pairwise
@both
@either
@pytest.mark.parametrize("subagents", ["recall", "remember", "off"])
async def test_pitfall_10_a_sub_agent_may_have_a_thread_of_its_own(
    bank: MemoryBank, how: str, checkpointed: bool, subagents: Any
) -> None:
    order = Answer(tool_calls=(ToolCall("ask_expert", {"question": "expert, where does Bello swim?"}, "call-1"),))
    own: Any = {"configurable": {"user_id": "ann", "thread_id": "expert"}}
    with ScriptedServer([order, "Expert: the Leie.", "In the Leie."] * 2) as server:
        memory = SecomMiddleware(bank, write="inline", subagents=subagents)
        expert = agent_of(server, memory, checkpointer=saver(checkpointed))

        def ask(question: str) -> str:
            return str(expert.invoke(asks(question), own)["messages"][-1].text)

        async def aask(question: str) -> str:
            return str((await expert.ainvoke(asks(question), own))["messages"][-1].text)

        asking = ask_expert.model_copy(update={"func": ask, "coroutine": aask})
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), tools=[asking], checkpointer=InMemorySaver())
        for _ in range(2):
            await run_agent(how, agent, asks(), as_ann)
        inner = server.requests[1]
    assert (FACT in str(inner.body)) == (subagents != "off")
    task, said = ("user", "expert, where does Bello swim?"), ("assistant", "Expert: the Leie.")
    assert stored(bank, "expert") == ([task, said] * 2 if subagents == "remember" else [])
    assert [text for role, text in stored(bank) if role == "user"] == [QUESTION, QUESTION]
    assert set(bank.sessions(ANN)) == {"monday", "friday", *(["expert"] if subagents == "remember" else [])}


@pytest.mark.slow
@pytest.mark.parametrize("called", ["in a worker thread", "by a node"])
def test_pitfall_10_a_sub_agent_is_known_by_the_context_or_the_configuration(bank: MemoryBank, called: str) -> None:
    order = Answer(tool_calls=(ToolCall("ask_expert", {"question": "expert, where does Bello swim?"}, "call-1"),))
    with ScriptedServer([order, "Expert: the Leie.", "In the Leie."]) as server, ThreadPoolExecutor(1) as worker:
        expert = agent_of(server, SecomMiddleware(bank, write="inline"))

        @tool
        def ask_expert(question: str, runtime: ToolRuntime) -> str:
            """Ask the expert."""
            own: Any = {"configurable": {"user_id": "ann", "thread_id": "expert"}}
            if called == "by a node":
                own = {**runtime.config, "configurable": {**runtime.config["configurable"], "thread_id": "expert"}}
            state = worker.submit(copy_context().run, expert.invoke, asks(question), own).result()
            return str(state["messages"][-1].text)

        keeper = InMemorySaver()
        is_node = called == "by a node"
        memory = SecomMiddleware(bank, write="inline")
        agent = agent_of(server, memory, tools=[ask_expert], checkpointer=None if is_node else keeper)
        if is_node:
            agent = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile(keeper)
        agent.invoke(asks(), as_ann)
        assert FACT in str(server.requests[1].body)
    assert set(bank.sessions(ANN)) == {"monday", "friday"}


@pytest.mark.slow
@both
@either
async def test_pitfall_10_an_agent_that_is_a_node_of_a_graph_is_no_sub_agent(
    bank: MemoryBank, how: str, checkpointed: bool
) -> None:
    with ScriptedServer("In the Leie.") as server:
        inner = agent_of(server, SecomMiddleware(bank, write="inline"))
        graph = StateGraph(MessagesState).add_node("agent", inner).add_edge(START, "agent")
        await run_agent(how, graph.compile(checkpointer=saver(checkpointed)), asks(), as_ann)
    assert stored(bank) == [("user", QUESTION), ("assistant", "In the Leie.")]


class Recorder(AgentMiddleware[Any, Any, Any]):
    def __init__(self) -> None:
        self.requests: list[Any] = []

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.requests.append(request)
        return handler(request)


@pytest.mark.slow
@pytest.mark.parametrize("inject", ["system", "human"])
def test_pitfall_11_the_base_prompt_stays_first_and_as_it_was(bank: MemoryBank, inject: Any) -> None:
    base = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    prompt, seen = SystemMessage([base]), Recorder()
    with ScriptedServer("In the Leie.") as server:
        agent = agent_of(server, SecomMiddleware(bank, inject=inject), seen, system_prompt=prompt)
        agent.invoke(asks(), as_ann)
    [request] = seen.requests
    system, human = request.system_message, request.messages[-1]
    assert system.content[0] == base
    if inject == "system":
        assert system.content[-1]["text"].startswith("\n\n<memories>")
        assert len(system.content) == 2
        assert human.content == QUESTION
    else:
        assert system.content == [base]
        assert [block["type"] for block in human.content] == ["text", "text"]
        assert human.content[0]["text"] == QUESTION
        assert human.content[1]["text"].startswith("\n\n<memories>")
    assert prompt.content == [base]


@pytest.mark.slow
@both
async def test_pitfall_12_what_was_just_said_is_recalled_elsewhere_at_once(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("Noted.") as server:
        memory = SecomMiddleware(bank)
        agent = agent_of(server, memory)
        config = {"configurable": {"user_id": "ann", "thread_id": "one"}}
        await run_agent(how, agent, asks("The spare key is under the blue pot."), config)
        await run_agent(how, agent, asks("Where is the spare key?"), as_ann)
        assert "under the blue pot" in server.requests[-1].messages[0][1]
        bank.forget(ANN)
        assert memory.flush(10)
        assert bank.sessions(ANN) == []
        memory.close()


def test_pitfall_12_one_writer_may_serve_several(bank: MemoryBank) -> None:
    from secom_core.bank import BackgroundWriter

    with ScriptedServer("Noted.") as server, BackgroundWriter(bank, debounce=60) as writer:
        for name in ("one", "two"):
            memory = SecomMiddleware(bank, writer=writer, scope=ANN)
            agent_of(server, memory).invoke(asks("Hi."), {"configurable": {"thread_id": name}})
        assert len(writer) == 2
        assert memory.flush(10)
        assert len(writer) == 0


def test_pitfall_13_times_are_stamped_or_taken_over(bank: MemoryBank) -> None:
    stamp = {"timestamp": "2024-05-07T12:00:00Z"}
    with ScriptedServer("Yes.") as server:
        agent_of(server, SecomMiddleware(bank, write="inline")).invoke(asks(additional_kwargs=stamp), as_ann)
    [turn] = bank.turns(ANN, "friday")
    assert turn.at == datetime(2024, 5, 7, 12, tzinfo=timezone.utc)
    answered = turn.messages[1].at
    assert answered is not None
    assert abs((datetime.now(timezone.utc) - answered).total_seconds()) < 60


# -- beside other middleware ------------------------------------------------------------------------------------------


def summing_up(keep: int) -> SummarizationMiddleware:
    return SummarizationMiddleware(
        FakeListChatModel(responses=["unused"]),
        trigger=("messages", 4),
        keep=("messages", keep),
        summarizer=RunnableLambda(lambda messages: f"{len(messages)} messages were summed up"),
    )


@pytest.mark.slow
@pytest.mark.pairwise
@both
@either
@pytest.mark.parametrize("first", ["memory", "summary"])
@pytest.mark.parametrize("keep", [1, 2])
async def test_summaries_lose_nothing_and_are_not_remembered(
    bank: MemoryBank, how: str, checkpointed: bool, first: str, keep: int
) -> None:
    texts = [f"Message {n}." for n in range(6)]
    spoken: list[tuple[str, str]] = []
    with ScriptedServer([reply for n in range(6) for reply in (CALL, f"Answer {n}.")]) as server:
        both_ = [SecomMiddleware(bank, write="inline"), summing_up(keep)]
        order = both_ if first == "memory" else both_[::-1]
        agent = agent_of(server, *order, tools=[weather], checkpointer=saver(checkpointed))
        history: list[Any] = []
        for n, text in enumerate(texts):
            history.append(("user", text))
            given = {"messages": [("user", text)] if checkpointed else history}
            [state] = await run_agent(how, agent, given, as_ann)
            history = list(state["messages"])
            spoken += [("user", text), ("assistant", f"Answer {n}.")]
        assert any("summed up" in str(request.body) for request in server.requests)
    assert [pair for pair in stored(bank) if pair[0] != "tool" and pair[1] != CALL_LINE] == spoken
    assert "summed up" not in str(stored(bank))


@pytest.mark.slow
@both
@either
async def test_a_turn_that_is_summed_up_again_and_again_is_remembered_whole(
    bank: MemoryBank, how: str, checkpointed: bool
) -> None:
    cities = [f"City {number}" for number in range(6)]
    calls = [Answer(tool_calls=(ToolCall("weather", {"city": city}, f"call-{city}"),)) for city in cities]
    with ScriptedServer([*calls, "Rain everywhere."]) as server:
        agent = agent_of(
            server,
            SecomMiddleware(bank, write="inline"),
            summing_up(1),
            tools=[weather],
            checkpointer=saver(checkpointed),
        )
        await run_agent(how, agent, asks(), as_ann)
    [turn] = bank.turns(ANN, "friday")
    lines = [line for city in cities for line in (f'[calls weather({{"city": "{city}"}})]', f"rain in {city}")]
    assert [message.text for message in turn.messages] == [QUESTION, *lines, "Rain everywhere."]


@pytest.mark.slow
@both
@either
async def test_a_turn_with_screenshots_that_is_summed_up_is_remembered_whole(
    bank: MemoryBank, how: str, checkpointed: bool
) -> None:
    with ScriptedServer([*(looks(f"Look {number}.", number) for number in range(4)), "In the Leie."]) as server:
        around = SecomMiddleware(bank, write="inline"), summing_up(2)
        agent = agent_of(server, *around, tools=[taking_screenshots()], checkpointer=saver(checkpointed))
        await run_agent(how, agent, asks(), as_ann)
    answers = [text.partition("\n")[0] for role, text in stored(bank) if role == "assistant"]
    assert stored(bank)[0] == ("user", QUESTION)
    assert answers == ["Look 0.", "Look 1.", "Look 2.", "Look 3.", "In the Leie."]


class Translator(AgentMiddleware[Any, Any, Any]):
    """Puts another message into the place of what the user said."""

    def before_model(self, state: Any, runtime: Any) -> Any:
        last = state["messages"][-1]
        return (
            {"messages": [RemoveMessage(last.id), HumanMessage(QUESTION)]} if last.text == "Waar zwemt hij?" else None
        )


@pytest.mark.slow
@either
def test_a_turn_whose_question_was_replaced_is_remembered_whole(bank: MemoryBank, checkpointed: bool) -> None:
    with ScriptedServer([CALL, CALL, CALL, "In the Leie."]) as server:
        around = SecomMiddleware(bank, write="inline"), Translator(), summing_up(1)
        agent = agent_of(server, *around, tools=[weather], checkpointer=saver(checkpointed))
        agent.invoke(asks("Waar zwemt hij?"), as_ann)
    assert stored(bank) == [
        ("user", QUESTION),
        *[("assistant", CALL_LINE), ("tool", "rain in Ghent")] * 3,
        ("assistant", "In the Leie."),
    ]


@pytest.mark.slow
@both
async def test_an_answer_that_has_to_fit_a_schema_is_left_alone(bank: MemoryBank, how: str) -> None:
    another(bank)
    with ScriptedServer('{"places": [1]}') as server:
        schema = ProviderStrategy({"title": "Places", "type": "object", "properties": {"places": {"type": "array"}}})
        agent = agent_of(server, SecomMiddleware(bank, cite=True, write="inline"), response_format=schema)
        [state] = await run_agent(how, agent, asks(), as_ann)
        assert CITE_INSTRUCTION not in server.requests[0].messages[0][1]
    assert state["messages"][-1].text == '{"places": [1]}'
    assert state["structured_response"] == {"places": [1]}
    assert stored(bank)[-1] == ("assistant", '{"places": [1]}')
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
@both
@pytest.mark.parametrize("first", ["memory", "summary"])
async def test_what_a_summary_takes_away_while_a_turn_waits_is_remembered(
    bank: MemoryBank, how: str, first: str
) -> None:
    @tool
    def confirm(text: str) -> str:
        """Ask the user."""
        return str(interrupt(text))

    asking = Answer(tool_calls=(ToolCall("confirm", {"text": "Sure?"}, "call-9"),))
    with ScriptedServer([CALL, asking, "Done."]) as server:
        both_ = [SecomMiddleware(bank, write="inline"), summing_up(1)]
        order = both_ if first == "memory" else both_[::-1]
        agent = agent_of(server, *order, tools=[weather, confirm], checkpointer=InMemorySaver())
        await run_agent(how, agent, asks(), as_ann)
        await run_agent(how, agent, Command(resume="yes, sure"), as_ann)
    users = [text for role, text in stored(bank) if role == "user"]
    assert users == [QUESTION]
    assert "rain in Ghent" in str(stored(bank))
    assert stored(bank)[-1] == ("assistant", "Done.")


# -- when something fails ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
@pytest.mark.parametrize("broken", ["recall", "remember", "reward"])
async def test_a_memory_that_fails_costs_a_warning_or_raises(
    bank: MemoryBank, how: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise StoreError("the disk is full")

    monkeypatch.setattr(bank.citations if broken == "reward" else bank, broken, fails)
    with ScriptedServer("In the Leie [1].") as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline", cite=True))
        with pytest.warns(DegradedWarning, match="the disk is full"):
            [state] = await run_agent(how, agent, asks(), as_ann)
        assert "In the Leie" in state["messages"][-1].text
        strict = agent_of(server, SecomMiddleware(bank, write="inline", cite=True, on_error="raise"))
        with pytest.raises(StoreError):
            await run_agent(how, strict, asks(), as_ann)


@pytest.mark.slow
@both
@either
async def test_a_run_that_fails_is_not_remembered_and_leaves_nothing_behind(
    bank: MemoryBank, how: str, checkpointed: bool
) -> None:
    import openai

    with ScriptedServer([Fault(500), "In the Leie."]) as server:
        agent = agent_of(server, SecomMiddleware(bank, write="inline"), checkpointer=saver(checkpointed))
        with pytest.raises(openai.InternalServerError):
            await run_agent(how, agent, asks(id="q1"), as_ann)
        assert stored(bank) == []
        await run_agent(how, agent, asks(id="q1"), as_ann)
    assert stored(bank) == [("user", QUESTION), ("assistant", "In the Leie.")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    [
        {"inject": "tool"},
        {"write": "later"},
        {"markers": "drop"},
        {"subagents": "on"},
        {"on_error": "ignore"},
        {"tool_lines": "long"},
        {"layers": ("timelines",)},
        {"layers": "timelines"},
        {"k": 0},
        {"token_budget": 0},
        {"scope_keys": "user_id"},
        {"scope_keys": ()},
    ],
)
def test_wrong_arguments_are_refused(bank: MemoryBank, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        SecomMiddleware(bank, **wrong)
    with pytest.raises(TypeError):
        SecomMiddleware(bank, tokenbudget=3)  # type: ignore[call-arg]


def test_citing_needs_a_bank_that_learns() -> None:
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match="citations=True"):
        SecomMiddleware(bank, scope=ANN, cite=True)


def test_nothing_is_written_where_writing_is_off(bank: MemoryBank) -> None:
    with ScriptedServer("In the Leie.") as server:
        agent_of(server, SecomMiddleware(bank, write="off")).invoke(asks(), as_ann)
        assert FACT in server.requests[0].messages[0][1]
    assert bank.sessions(ANN) == ["monday"]


# -- tools, and many at once ------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
@either
async def test_memory_tools_are_given_on_request(bank: MemoryBank, how: str, checkpointed: bool) -> None:
    search = Answer(tool_calls=(ToolCall("search_memory", {"query": "dog swim"}, "call-1"),))

    def script(request: ScriptedRequest) -> Any:
        role, text = request.messages[-1]
        if role == "user":
            return search
        if "memory_id: " in text:
            change = {"action": "correct", "memory_id": "ann-1", "text": "Bello swims in the Scheldt."}
            return Answer(tool_calls=(ToolCall("manage_memory", change, "call-2"),))
        return "Noted."

    with ScriptedServer(script) as server:
        agent = agent_of(server, SecomMiddleware(bank, tools=True, write="inline"), checkpointer=saver(checkpointed))
        await run_agent(how, agent, asks("Bello swims in the Scheldt now."), as_ann)
        assert FACT in server.requests[1].messages[-1][1]
        offered = [each["function"]["name"] for each in server.requests[0].body["tools"]]
        assert offered == ["search_memory", "read_memory", "manage_memory"]
        assert "user_id" not in str(server.requests[0].body["tools"])
    [turn] = bank.turns(ANN, "monday/corrections")
    assert turn.content == "Bello swims in the Scheldt."
    assert [(each.turn_id, each.newer) for each in bank.corrections.marks(ANN)] == [("ann-1", turn.id)]
    # What a tool recalled is not remembered as a message.
    assert stored(bank) == [("user", "Bello swims in the Scheldt now."), ("assistant", "Noted.")]


@pytest.mark.slow
async def test_many_users_at_once_never_mix(tmp_path: Path) -> None:
    users, turns = 25, 6

    def echo(request: ScriptedRequest) -> str:
        system = request.messages[0][1] if request.messages[0][0] == "system" else ""
        return f"{request.messages[-1][1]} | {'; '.join(sorted({w for w in system.split() if w.startswith('mark')}))}"

    with MemoryBank.open(tmp_path / "many.db") as bank, ScriptedServer(echo) as server:
        memory = SecomMiddleware(bank, token_budget=200)
        agent = agent_of(server, memory, context_schema=Who)

        async def one(user: int) -> None:
            for turn in range(turns):
                who = Who(user_id=f"user-{user}", thread_id=f"thread-{turn % 2}")
                state = await agent.ainvoke(asks(f"mark{user}x turn {turn} of my garden plans"), context=who)
                marks = {word for word in state["messages"][-1].text.replace(";", " ").split() if "mark" in word}
                assert marks <= {f"mark{user}x"}, marks

        began = time.perf_counter()
        await asyncio.gather(*(one(user) for user in range(users)))
        assert time.perf_counter() - began < 120
        assert memory.flush(60)
        for user in range(users):
            scope = (f"user-{user}",)
            texts = [text for name in bank.sessions(scope) for role, text in stored(bank, name, scope)]
            assert len(texts) == 2 * turns
            assert all(f"mark{user}x" in text for text in texts)
        memory.close()


def test_traces_may_leave_contents_out(bank: MemoryBank) -> None:
    assert SecomMiddleware(bank).trace_policy is None
    policy = SecomMiddleware(bank, trace_contents=False).trace_policy
    assert policy is not None
    assert FACT not in str(policy.process_inputs({"request": FACT}))  # type: ignore[misc]


# -- sessions end by themselves ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
def test_four_threads_have_a_summary_events_and_topics(tmp_path: Path, write: Any) -> None:
    threads = ["My dog Bello swims.", "I bought a canoe.", "The kiln is cold.", "The accordion is new."]
    with (
        ScriptedServer("I see.") as server,
        MemoryBank.open(tmp_path / "m.db", summaries=True, timelines=True, topics=True) as bank,
    ):
        memory = SecomMiddleware(bank, scope=ANN, write=write)
        agent = agent_of(server, memory, checkpointer=InMemorySaver())
        for number, text in enumerate(threads):
            agent.invoke(asks(text), {"configurable": {"thread_id": f"thread {number}"}})
        assert memory.flush(20)
        assert [each.session for each in bank.summaries.versions(ANN)] == ["thread 0", "thread 1", "thread 2"]
        assert {event.session for event in bank.timelines.events(ANN)} == {"thread 0", "thread 1", "thread 2"}
        assert bank.topics.all(ANN)
        assert bank.layers.behind(ANN, "topics") == 0
        # Two threads at once go on side by side.
        for number, text in enumerate(["And Bello?", "And the canoe?"] * 2):
            agent.invoke(asks(text), {"configurable": {"thread_id": f"thread {number % 2}"}})
        assert memory.flush(20)
        assert len(bank.summaries.versions(ANN)) == 3
        assert [row.closed for row in bank._store.sessions_of(ANN)] == [False, False, True, False]
        memory.close()


@pytest.mark.slow
@both
@pytest.mark.parametrize("key", ["thread_id", "chat"])
async def test_the_search_tool_finds_earlier_conversations_and_not_the_thread(
    bank: MemoryBank, how: str, key: str
) -> None:
    bank.remember(ANN, [Message("My violin teacher is Marta.", id="marta")], session="old", close=True)
    search = Answer(tool_calls=(ToolCall("search_memory", {"query": "violin"}, id="call-9"),))
    with ScriptedServer(["Hold it gently.", "Rosin it.", search, "On Mondays."]) as server:
        memory = SecomMiddleware(bank, write="inline", tools=True, session_key=key, on_error="raise")
        agent = agent_of(server, memory, checkpointer=InMemorySaver())
        run = {"configurable": {**as_ann["configurable"], "thread_id": "t", "chat": "friday"}}
        for text in ("How do I hold a violin?", "How do I rosin a violin bow?", "When are my violin lessons?"):
            await run_agent(how, agent, {"messages": [("user", text)]}, run)
        found = server.requests[-1].messages[-1][1]
    assert "Marta" in found
    assert "rosin" not in found
    assert "lessons" not in found
