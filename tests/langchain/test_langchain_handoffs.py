"""Agents that hand over to each other, as in langgraph-supervisor and langgraph-swarm: what counts as said, once."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import HttpAgentModel
from langchain.agents import create_agent
from langchain.tools import InjectedToolCallId
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, Send

from langchain_secom import SecomMiddleware
from langchain_secom.convert import to_messages
from secom_core.bank import MemoryBank
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN = ("ann",)
BACK: dict[str, Any] = {"response_metadata": {"__is_handoff_back": True}}


def calling(called: str, text: str = "", number: str = "1", **more: Any) -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": called, "args": {}, "id": number, "type": "tool_call"}], **more)


def result(text: str, name: str, number: str = "1", **more: Any) -> ToolMessage:
    return ToolMessage(text, name=name, tool_call_id=number, **more)


def lines(*messages: BaseMessage) -> list[str]:
    return [message.text for message in to_messages(messages)]


def test_handoffs_are_nobodys_words() -> None:
    asked, told = HumanMessage("Who teaches the violin?"), AIMessage("Lena does.", name="music_teacher")
    there = result("Successfully transferred to Music Teacher", "transfer_to_music_teacher")
    back = (
        calling("transfer_back_to_supervisor", "Transferring back to supervisor", "2", name="music_teacher", **BACK),
        result("Successfully transferred back to supervisor", "transfer_back_to_supervisor", "2", **BACK),
    )
    handing = calling("transfer_to_music_teacher", name="supervisor")
    assert lines(asked, handing, there, told, *back) == [asked.text, told.text]
    saying = calling("transfer_to_music_teacher", "I ask the teacher.", name="supervisor")
    assert lines(asked, saying, there, told) == [asked.text, saying.text, told.text]
    renamed = result("Successfully transferred to m1", "ask", response_metadata={"__handoff_destination": "m1"})
    assert lines(asked, calling("ask"), renamed, told) == [asked.text, told.text]
    assert [each.text for each in to_messages([asked, saying, there, told, *back], tools="omit")] == [
        *(asked.text, saying.text, told.text)
    ]


def test_a_transfer_of_something_else_is_the_result_of_a_tool() -> None:
    paid = result("Successfully transferred to the savings account", "pay")
    assert lines(calling("pay"), paid) == ["[calls pay({})]", paid.text]
    moved = result("Successfully transferred to savings, 40 euros", "transfer_to_savings")
    assert lines(calling("transfer_to_savings"), moved) == ["[calls transfer_to_savings({})]", moved.text]


@tool
def transfer_to_bob(
    state: Annotated[dict[str, Any], InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any]:
    """Ask bob."""
    told = result("Successfully transferred to bob", "transfer_to_bob", tool_call_id)
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [*state["messages"], told]})


def test_a_turn_of_agents_that_hand_over_is_stored_once_without_the_handoff() -> None:
    handing = Answer(tool_calls=(ToolCall("transfer_to_bob", id="h1"),))
    with MemoryBank.open() as bank, ScriptedServer([handing, "Lena does.", handing, "She does, on Mondays."]) as server:
        model = HttpAgentModel(base_url=server.base_url)
        memories = [SecomMiddleware(bank, scope=ANN, write="inline", on_error="raise", name=name) for name in "ab"]
        graph = StateGraph(MessagesState)
        graph.add_node("alice", create_agent(model, [transfer_to_bob], middleware=memories[:1]), destinations=("bob",))
        graph.add_node("bob", create_agent(model, [], middleware=memories[1:]))
        swarm = graph.add_edge(START, "alice").compile(checkpointer=InMemorySaver())
        for text in ("Who teaches the violin?", "Does Lena teach it here?"):
            swarm.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "friday"}})
        assert [[message.text for message in turn.messages] for turn in bank.turns(ANN)] == [
            ["Who teaches the violin?", "Lena does."],
            ["Does Lena teach it here?", "She does, on Mondays."],
        ]


def memory_of(bank: MemoryBank) -> SecomMiddleware:
    return SecomMiddleware(bank, scope=ANN, write="inline", on_error="raise")


def said(bank: MemoryBank) -> list[list[tuple[str, str]]]:
    return [[(message.role, message.text) for message in turn.messages] for turn in bank.turns(ANN, "friday")]


FRIDAY: Any = {"configurable": {"thread_id": "friday"}}


@pytest.mark.parametrize("agent_name", [None, "researcher"])
def test_an_answer_that_a_node_hands_on_as_a_users_message_is_stored_once_and_as_the_agents(
    agent_name: str | None,
) -> None:
    script = ["Ghent has 270,000 people.", "A tenth of 2.7 million.", "Bruges has 120,000.", "Half of it."]
    with MemoryBank.open() as bank, ScriptedServer(script) as server:
        model, memory = HttpAgentModel(base_url=server.base_url), memory_of(bank)
        researcher = create_agent(model, middleware=[memory], name=agent_name)
        counter = create_agent(model, middleware=[memory], name="counter")

        def research(state: MessagesState) -> dict[str, Any]:
            messages = researcher.invoke(state)["messages"]
            # Not all models take an answer for the last message of a prompt.
            return {"messages": [*messages[:-1], HumanMessage(messages[-1].text, name="researcher")]}

        graph = StateGraph(MessagesState).add_node("research", research).add_node("counter", counter)
        app = graph.add_edge(START, "research").add_edge("research", "counter").compile(checkpointer=InMemorySaver())
        for text in ("How large is Ghent?", "And Bruges?"):
            app.invoke({"messages": [HumanMessage(text)]}, FRIDAY)
        assert said(bank) == [
            [
                ("user", "How large is Ghent?"),
                ("assistant", "Ghent has 270,000 people."),
                ("assistant", "A tenth of 2.7 million."),
            ],
            [("user", "And Bruges?"), ("assistant", "Bruges has 120,000."), ("assistant", "Half of it.")],
        ]


def test_who_says_what_an_agent_has_said_says_it() -> None:
    with MemoryBank.open() as bank, ScriptedServer(["Yes.", "Good."]) as server:
        agent = create_agent(HttpAgentModel(base_url=server.base_url), middleware=[memory_of(bank)])
        app = StateGraph(MessagesState).add_node("agent", agent).add_edge(START, "agent").compile(InMemorySaver())
        for text in ("Shall we go?", "Yes."):
            app.invoke({"messages": [HumanMessage(text, name="bob")]}, FRIDAY)
        assert said(bank) == [
            [("user", "Shall we go?"), ("assistant", "Yes.")],
            [("user", "Yes."), ("assistant", "Good.")],
        ]


def test_tasks_that_are_marked_as_made_up_are_nobodys_words() -> None:
    @tool
    def assign_to_bob(task: str, state: Annotated[dict[str, Any], InjectedState]) -> Command[Any]:
        """Have bob do a task."""
        told = HumanMessage(task, additional_kwargs={"lc_source": "supervisor"})
        return Command(goto=[Send("bob", {**state, "messages": [told]})], graph=Command.PARENT)

    assigning = Answer(tool_calls=(ToolCall("assign_to_bob", {"task": "Find a teacher."}, id="h1"),))
    script = [assigning, "Lena teaches.", "Lena does.", assigning, "On Mondays.", "She does, on Mondays."]
    with MemoryBank.open() as bank, ScriptedServer(script) as server:
        model, memory = HttpAgentModel(base_url=server.base_url), memory_of(bank)
        graph = StateGraph(MessagesState)
        graph.add_node("alice", create_agent(model, [assign_to_bob], middleware=[memory]), destinations=("bob",))
        graph.add_node("bob", create_agent(model, [], middleware=[memory])).add_edge("bob", "alice")
        app = graph.add_edge(START, "alice").compile(checkpointer=InMemorySaver())
        for text in ("Who teaches the violin?", "When?"):
            app.invoke({"messages": [HumanMessage(text)]}, FRIDAY)
        assert said(bank) == [
            [("user", "Who teaches the violin?"), ("assistant", "Lena teaches."), ("assistant", "Lena does.")],
            [("user", "When?"), ("assistant", "On Mondays."), ("assistant", "She does, on Mondays.")],
        ]
