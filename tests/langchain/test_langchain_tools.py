"""Memory tools: the framework's conformance suites, scopes no model gets to name, agents and graphs that use them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_tests.integration_tests", reason="needs langchain-tests")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import SAVERS, WAYS, HttpAgentModel, run_agent, saver_of
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from langchain_secom import create_manage_memory_tool, create_search_memory_tool
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, InvalidScope
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN, BOB = ("acme", "ann"), ("acme", "bob")
KEYS = ("tenant_id", "user_id")
as_ann: Any = {"configurable": {"tenant_id": "acme", "user_id": "ann"}}
as_bob: Any = {"configurable": {"tenant_id": "acme", "user_id": "bob"}}
both = pytest.mark.parametrize("how", ["invoke", "ainvoke"])


def filled(path: str | Path = ":memory:") -> MemoryBank:
    bank = MemoryBank.open(path)
    bank.remember(ANN, [Message("My dog Bello swims in the Leie.", id="ann-1")], session="monday", close=True)
    bank.remember(BOB, [Message("My dog Rex swims in the sea.", id="bob-1")], session="monday", close=True)
    return bank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with filled(tmp_path / "memory.db") as bank:
        yield bank


def ids(text: Any) -> list[str]:
    return re.findall(r"memory_id: .*", str(text))


# -- conformance ------------------------------------------------------------------------------------------------------


class TestSearchUnit(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_search_memory_tool(filled(), scope=ANN)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "dog"}


class TestSearchIntegration(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_search_memory_tool(filled(), scope=ANN)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "dog"}


class TestManageUnit(ToolsUnitTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_manage_memory_tool(filled(), scope=ANN)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"action": "remember", "text": "Ann likes rye bread."}


class TestManageIntegration(ToolsIntegrationTests):
    @property
    def tool_constructor(self) -> BaseTool:
        return create_manage_memory_tool(filled(), scope=ANN)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"action": "forget", "memory_id": "ann-1"}


# -- what a model sees of them ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_schema_names_no_scope(bank: MemoryBank) -> None:
    search = convert_to_openai_tool(create_search_memory_tool(bank, scope_keys=KEYS))["function"]
    manage = convert_to_openai_tool(create_manage_memory_tool(bank, scope_keys=KEYS))["function"]
    assert list(search["parameters"]["properties"]) == ["query"]
    assert list(manage["parameters"]["properties"]) == ["action", "text", "memory_id"]
    assert manage["parameters"]["required"] == ["action"]
    assert manage["parameters"]["properties"]["action"]["enum"] == ["remember", "correct", "forget"]
    assert not re.search("scope|tenant|runtime|config|user_id", json.dumps([search, manage]))


@pytest.mark.slow
@both
async def test_a_scope_that_a_model_makes_up_is_passed_over(bank: MemoryBank, how: str) -> None:
    forged = {"query": "dog", "scope": ["acme", "bob"], "user_id": "bob", "runtime": None, "config": as_bob}
    order = Answer(tool_calls=(ToolCall("search_memory", forged, "call-1"),))
    with ScriptedServer([order, "Done."]) as server:
        search = create_search_memory_tool(bank, scope_keys=KEYS)
        agent = create_agent(HttpAgentModel(base_url=server.base_url), [search])
        [state] = await run_agent(how, agent, {"messages": [("user", "Hi.")]}, as_ann)
    [result] = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert "Bello" in result.text
    assert "Rex" not in result.text


# -- whose memory -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
async def test_pitfall_09_without_a_scope_nothing_happens(bank: MemoryBank, how: str) -> None:
    calls: list[tuple[BaseTool, Any]] = [
        (create_search_memory_tool(bank, scope_keys=KEYS), {"query": "dog"}),
        (create_manage_memory_tool(bank, scope_keys=KEYS), {"action": "forget", "memory_id": "ann-1"}),
    ]
    for tool, given in calls:
        for config in (None, {"configurable": {"tenant_id": "acme"}}):
            with pytest.raises(InvalidScope, match="user_id"):
                await run_agent(how, tool, given, config)
    bound = create_search_memory_tool(bank, scope=ANN)
    with pytest.raises(InvalidScope, match="bob"):
        await run_agent(how, bound, {"query": "dog"}, {"configurable": {"scope": BOB}})
    assert bank.stats(ANN).turns == 1


@both
@pytest.mark.filterwarnings("error:Pydantic serializer warnings")
async def test_the_scope_comes_with_the_call(bank: MemoryBank, how: str) -> None:
    search = create_search_memory_tool(bank, scope_keys=KEYS)
    [ann] = await run_agent(how, search, {"query": "dog"}, as_ann)
    [bob] = await run_agent(how, search, {"query": "dog"}, as_bob)
    assert "Bello" in ann
    assert "Rex" not in ann
    assert "Rex" in bob
    assert "Bello" not in bob


@dataclass
class Who:
    tenant_id: str
    user_id: str


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kept", SAVERS)
async def test_the_scope_comes_from_an_agents_context(bank: MemoryBank, tmp_path: Path, how: str, kept: str) -> None:
    search_it = Answer(tool_calls=(ToolCall("search_memory", {"query": "dog"}, "call-1"),))
    note = Answer(tool_calls=(ToolCall("manage_memory", {"action": "remember", "text": "Likes rye."}, "call-2"),))
    async with saver_of(kept, how, tmp_path) as keeper:
        with ScriptedServer([search_it, note, "Done."] * 2) as server:
            tools = [make(bank, scope_keys=KEYS) for make in (create_search_memory_tool, create_manage_memory_tool)]
            model = HttpAgentModel(base_url=server.base_url)
            agent = create_agent(model, tools, context_schema=Who, checkpointer=keeper)
            for place, (user, dog) in enumerate([("ann", "Bello"), ("bob", "Rex")]):
                given, config = {"messages": [("user", "Hi.")]}, {"configurable": {"thread_id": user}}
                await run_agent(how, agent, given, config, context=Who("acme", user))
                found, noted = (request.messages[-1][1] for request in server.requests[3 * place + 1 : 3 * place + 3])
                assert dog in found
                assert noted.startswith("Remembered")
    assert (bank.stats(ANN).turns, bank.stats(BOB).turns) == (2, 2)


@both
async def test_in_any_graph(bank: MemoryBank, how: str) -> None:
    search = create_search_memory_tool(bank, scope_keys=KEYS)
    graph = StateGraph(MessagesState).add_node("lookup", ToolNode([search])).add_edge(START, "lookup").compile()
    call = {"name": "search_memory", "args": {"query": "dog"}, "id": "call-1"}
    [state] = await run_agent(how, graph, {"messages": [AIMessage("", tool_calls=[call])]}, as_bob)
    assert "Rex" in state["messages"][-1].text


# -- what they do -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@both
async def test_remember_correct_forget(bank: MemoryBank, how: str) -> None:
    search, manage = create_search_memory_tool(bank, scope_keys=KEYS), create_manage_memory_tool(bank, scope_keys=KEYS)

    async def call(tool: BaseTool, **given: Any) -> str:
        return str((await run_agent(how, tool, given, as_ann))[0])

    new = (await call(manage, action="remember", text="Ann likes rye bread.")).split()[-1].rstrip(".")
    found = await call(search, query="Which bread does Ann like?")
    assert "note: Ann likes rye bread." in found
    assert new in ids(found)[0]
    changed = (await call(manage, action="correct", text="Ann likes white bread.", memory_id=new)).split()[-1]
    found = await call(search, query="Which bread does Ann like?")
    assert "white bread" in found
    assert "rye bread" not in found
    await call(manage, action="forget", memory_id=changed.rstrip("."))
    await call(manage, action="forget", memory_id="ann-1")
    assert await call(search, query="bread") == "Nothing about this is remembered."
    assert bank.stats(ANN).turns == 0
    assert bank.stats(BOB).turns == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"action": "forget", "memory_id": "bob-1"}, "no memory with the id 'bob-1'"),
        ({"action": "correct", "memory_id": "bob-1", "text": "x"}, "no memory with the id 'bob-1'"),
        ({"action": "forget"}, "needs a memory_id"),
        ({"action": "correct", "memory_id": "ann-1"}, "needs text"),
        ({"action": "remember", "text": "  "}, "needs text"),
    ],
)
@both
async def test_what_cannot_be_done_is_told_and_changes_nothing(
    bank: MemoryBank, how: str, given: Any, reason: str
) -> None:
    manage = create_manage_memory_tool(bank, scope_keys=KEYS)
    assert reason in (await run_agent(how, manage, given, as_ann))[0]
    order = Answer(tool_calls=(ToolCall("manage_memory", given, "call-1"),))
    with ScriptedServer([order, "Done."]) as server:
        agent = create_agent(HttpAgentModel(base_url=server.base_url), [manage])
        [state] = await run_agent(how, agent, {"messages": [("user", "Hi.")]}, as_ann)
    [result] = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    assert reason in result.text
    assert result.status == "error"
    assert (bank.stats(ANN).turns, bank.stats(BOB).turns) == (1, 1)


@both
async def test_actions_may_be_left_out(bank: MemoryBank, how: str) -> None:
    manage = create_manage_memory_tool(bank, scope=ANN, actions=["remember"])
    assert "not allowed" in (await run_agent(how, manage, {"action": "forget", "memory_id": "ann-1"}))[0]
    assert bank.stats(ANN).turns == 1
    for wrong in ([], ["delete"]):
        with pytest.raises(InvalidInput):
            create_manage_memory_tool(bank, scope=ANN, actions=wrong)  # type: ignore[arg-type]


@pytest.mark.slow
@both
async def test_limits_and_names(bank: MemoryBank, how: str) -> None:
    for number in range(30):
        bank.remember(ANN, [Message(f"Dog story {number}: it ran far.")], session=f"s{number}", close=True)
    search = create_search_memory_tool(bank, scope=ANN, k=2, show_ids=False, name="recall", description="Recall.")
    assert (search.name, search.description) == ("recall", "Recall.")
    [found] = await run_agent(how, search, {"query": "dog story"})
    assert len(re.findall(r"^\[\d+\]", found, re.M)) == 2
    assert "memory_id" not in found
    [short] = await run_agent(how, create_search_memory_tool(bank, scope=ANN, token_budget=80), {"query": "dog story"})
    assert bank.token_counter(short.split("\n\nmemory_id")[0]) <= 80
    assert "empty" in (await run_agent(how, search, {"query": " "}))[0]


async def test_pitfall_01_blockbuster_finds_nothing(bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    search, manage = create_search_memory_tool(bank, scope=ANN), create_manage_memory_tool(bank, scope=ANN)
    with blockbuster.blockbuster_ctx(["langchain_secom", "secom_core"]):
        assert "Bello" in await search.ainvoke({"query": "dog"})
        assert "Remembered" in await manage.ainvoke({"action": "remember", "text": "Ann likes rye bread."})
        assert "Forgot" in await manage.ainvoke({"action": "forget", "memory_id": "ann-1"})
