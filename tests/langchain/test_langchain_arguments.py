"""Arguments that cannot be used are refused where they are given; ids of users are taken as they are."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_secom import (
    SecomChatMessageHistory,
    SecomMemory,
    SecomMiddleware,
    SecomRetriever,
    SessionHistories,
    create_search_memory_tool,
)
from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput, InvalidScope

UUID = uuid.UUID("6f1e7b1c-3c52-4d0e-9d1f-6d7365636f6d")


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as bank:
        yield bank


def agent_of(memory: SecomMiddleware, **more: Any) -> Any:
    return create_agent(FakeListChatModel(responses=["I see."]), middleware=[memory], **more)


def of_user(user: object) -> Any:
    return {"configurable": {"user_id": user, "thread_id": "friday"}}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"k": -1}, "k is a whole number from 1 on, got -1"),
        ({"token_budget": "1000"}, "token_budget is a whole number from 1 on, got '1000'"),
        ({"retracted": "keep"}, "retracted is one of 'forget', 'mark', got 'keep'"),
        ({"inject": "tool"}, "inject is one of 'human', 'system', got 'tool'"),
        ({"cite": "yes"}, "cite is one of True, False, got 'yes'"),
        ({"session_key": 3}, "session_key is a name in the context or the configuration, got 3"),
        ({"scope_keys": (1,)}, r"scope_keys as a sequence of names, got \(1,\)"),
    ],
)
def test_an_argument_is_refused_where_it_is_given(bank: MemoryBank, wrong: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        SecomMiddleware(bank, **wrong)


@pytest.mark.parametrize("cite", [False, True])
def test_a_path_is_no_bank_and_it_is_said_how_to_open_one(cite: bool) -> None:
    with pytest.raises(InvalidInput, match=r"MemoryBank\.open\(.*'memory.db'|'memory.db'.*MemoryBank\.open\("):
        SecomMiddleware("memory.db", cite=cite)  # type: ignore[arg-type]


@pytest.mark.parametrize("checkpointed", [False, True])
def test_input_that_cannot_be_used_is_not_passed_over_at_every_turn(bank: MemoryBank, checkpointed: bool) -> None:
    said = HumanMessage("Hello.", additional_kwargs={"timestamp": "yesterday"})
    agent = agent_of(SecomMiddleware(bank), checkpointer=InMemorySaver() if checkpointed else None)
    with pytest.raises(InvalidInput, match=r"a timestamp is a datetime.*'yesterday'"):
        agent.invoke({"messages": [said]}, of_user("ann"))


@pytest.mark.parametrize(("given", "text"), [(42, "42"), (UUID, str(UUID))])
def test_ids_that_are_no_strings_are_one_user_with_those_that_are(bank: MemoryBank, given: Any, text: str) -> None:
    memory = SecomMiddleware(bank, write="inline")
    agent_of(memory).invoke({"messages": [("user", "I live in Ghent.")]}, of_user(given))
    assert bank.scopes() == [(text,)]
    agent_of(memory, context_schema=dict).invoke(
        {"messages": [("user", "And you?")]}, of_user(given), context={"user_id": text}
    )
    for user in (given, text):
        assert "Ghent" in SecomRetriever(bank=bank).invoke("Where do I live?", of_user(user))[0].page_content
        assert "Ghent" in create_search_memory_tool(bank).invoke({"query": "Where do I live?"}, of_user(user))
        bound = SecomRetriever(bank=bank, scope=(user,))  # type: ignore[arg-type]
        assert bound.scope == (text,)
        assert bound.invoke("Where do I live?")
        assert SessionHistories(bank)(user, "friday").messages
        assert SecomChatMessageHistory(bank, scope=(user,), session="friday").messages
        assert SecomMemory(bank=bank, scope=(user,)).scope == (text,)  # type: ignore[arg-type]
    assert bank.scopes() == [(text,)]


@pytest.mark.parametrize("blank", ["", "  ", "\n", True, 4.2, b"ann"])
def test_ids_that_name_nobody_are_refused(bank: MemoryBank, blank: Any) -> None:
    with pytest.raises(InvalidScope):
        agent_of(SecomMiddleware(bank)).invoke({"messages": [("user", "I live in Ghent.")]}, of_user(blank))
    with pytest.raises(InvalidScope):
        SecomRetriever(bank=bank).invoke("Where do I live?", of_user(blank))
    with pytest.raises(InvalidScope):
        SecomMiddleware(bank, scope=(blank,))
    assert bank.scopes() == []
