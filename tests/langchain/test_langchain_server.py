"""What LangGraph's server does to an agent: wrapped checkpointers, and runs without a thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import HttpAgentModel, run_agent
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from langchain_secom import SecomMiddleware
from secom_core.bank import MemoryBank
from secom_core.testing import ScriptedServer

ANN = ("ann",)
both = pytest.mark.parametrize("how", ["invoke", "ainvoke"])
in_thread: Any = {"configurable": {"thread_id": "friday"}}


class Wrapped(BaseCheckpointSaver[Any]):
    """Passes on what a server calls in its event loop, and nothing else."""

    def __init__(self) -> None:
        self.inner = InMemorySaver()
        super().__init__(serde=self.inner.serde)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self.inner.aget_tuple(config)

    async def aput(self, *given: Any) -> RunnableConfig:
        return await self.inner.aput(*given)

    async def aput_writes(self, *given: Any) -> None:
        await self.inner.aput_writes(*given)

    async def alist(self, config: RunnableConfig | None, **more: Any) -> AsyncIterator[CheckpointTuple]:
        async for each in self.inner.alist(config, **more):
            yield each

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.inner.get_next_version(current, channel)


class Unlisted(Wrapped):
    """One that lists nothing, in the event loop either."""

    alist = BaseCheckpointSaver.alist


def agent_of(server: ScriptedServer, bank: MemoryBank, saver: Any = None) -> Any:
    memory = SecomMiddleware(bank, scope=ANN, write="inline", on_error="raise")
    return create_agent(HttpAgentModel(base_url=server.base_url), [], middleware=[memory], checkpointer=saver)


def said(bank: MemoryBank, session: str) -> list[list[str]]:
    return [[message.text for message in turn.messages] for turn in bank.turns(ANN, session)]


async def test_a_checkpointer_that_works_in_the_event_loop_only_is_followed(
    server: ScriptedServer, bank: MemoryBank
) -> None:
    agent = agent_of(server, bank, Wrapped())
    for text in ("My cat is called Mimi.", "How old do cats get?"):
        await agent.ainvoke({"messages": [HumanMessage(text)]}, in_thread)
    history = [each async for each in agent.aget_state_history(in_thread)]
    await agent.ainvoke(None, next(each.config for each in history if each.next == ("model",)))
    assert said(bank, "friday")[1:] == [["How old do cats get?", "Answer 2."]]
    earlier = next(each.config for each in history if len(each.values["messages"]) == 2)
    await agent.ainvoke({"messages": [HumanMessage("And dogs?")]}, earlier)
    assert said(bank, "friday") == [["My cat is called Mimi.", "Answer 0."], ["And dogs?", "Answer 3."]]


async def test_a_checkpointer_that_lists_nothing_leaves_what_is_remembered(
    server: ScriptedServer, bank: MemoryBank
) -> None:
    saver = Unlisted()
    agent = agent_of(server, bank, saver)
    for text in ("My cat is called Mimi.", "How old do cats get?"):
        await agent.ainvoke({"messages": [HumanMessage(text)]}, in_thread)
    history = list(agent_of(server, bank, saver.inner).get_state_history(in_thread))
    earlier = next(each.config for each in history if len(each.values["messages"]) == 2)
    await agent.ainvoke({"messages": [HumanMessage("And dogs?")]}, earlier)
    assert [turn[0] for turn in said(bank, "friday")] == ["My cat is called Mimi.", "How old do cats get?", "And dogs?"]


@both
async def test_a_history_that_is_sent_to_runs_without_a_thread_is_stored_once(
    server: ScriptedServer, bank: MemoryBank, how: str
) -> None:
    agent, thread = agent_of(server, bank), list[BaseMessage]()
    for text in ("My cat is called Mimi.", "She likes fish.", "And milk."):
        of_server = {"thread_id": str(uuid4()), "langgraph_request_id": str(uuid4()), "graph_id": "agent"}
        thread = [*thread, HumanMessage(text)]
        [state] = await run_agent(how, agent, {"messages": thread}, {"configurable": of_server})
        thread = state["messages"]
    [session] = bank.sessions(ANN)
    assert [turn[0] for turn in said(bank, session)] == ["My cat is called Mimi.", "She likes fish.", "And milk."]
