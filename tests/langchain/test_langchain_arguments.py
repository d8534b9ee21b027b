"""Arguments that cannot be used are refused where they are given; ids of users are taken as they are."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from langchain_secom import (
    RecursiveSummaryMemory,
    SecomChatMessageHistory,
    SecomMemory,
    SecomMiddleware,
    SecomRetriever,
    SecomStore,
    SegmentTextSplitter,
    SessionHistories,
    create_manage_memory_tool,
    create_mark_memory_tool,
    create_read_memory_tool,
    create_search_memory_tool,
    with_citation_feedback,
)
from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput, InvalidScope

UUID = uuid.UUID("6f1e7b1c-3c52-4d0e-9d1f-6d7365636f6d")


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


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "an instruction": (SecomMiddleware, {"instruction": 5}, "instruction is a string, got 5"),
    "a name": (SecomMiddleware, {"name": 5}, "name is a string that is not empty, got 5"),
    "no name": (SecomMiddleware, {"name": ""}, "name is a string that is not empty, got ''"),
    "paths": (SecomStore, {"fields": 5}, r"fields is a sequence of paths such as .* got 5"),
    "a time": (SecomStore, {"ttl": 5}, r"ttl is a mapping such as \{'default_ttl': 60\}, in minutes, got 5"),
    "a tool's name": (create_search_memory_tool, {"name": 5}, "name is a string that is not empty, got 5"),
    "a description": (create_read_memory_tool, {"description": 5}, "description is a string that is not empty, got 5"),
    "actions": (create_manage_memory_tool, {"actions": 5}, "actions are some of 'remember', .*, got 5"),
    "marks": (create_mark_memory_tool, {"actions": None}, "actions are some of 'retract', .*, got None"),
    "a session": (create_manage_memory_tool, {"session": 5}, "session is a string .*, such as 'notes', got 5"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_was_given_is_named(bank: MemoryBank, case: str) -> None:
    made, wrong, says = WRONG[case]
    with pytest.raises(InvalidInput, match=says):
        made(bank=bank, **wrong)


@pytest.mark.parametrize("argument", ["memory_key", "input_key", "output_key"])
def test_a_variable_without_a_name_is_refused(bank: MemoryBank, argument: str) -> None:
    with pytest.raises(ValidationError, match=rf"{argument}\n.* at least 1 character .*input_value=''"):
        SecomMemory(bank=bank, scope=("ann",), **{argument: ""})


@pytest.mark.parametrize("size", ["x", -1, 0, True, []])
def test_a_size_is_a_whole_number_from_1_on(size: Any) -> None:
    with pytest.raises(InvalidInput, match="chunk_size is a whole number from 1 on, got"):
        SegmentTextSplitter(chunk_size=size)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"question_key": 5}, "question_key is a string .*, such as 'question', got 5"),
        ({"documents_key": ""}, "documents_key is a string that is not empty, such as 'documents', got ''"),
        ({"instruction": None}, "instruction is a string, got None"),
        ({"scope_keys": "user_id"}, r"scope_keys is a sequence of names, such as \('user_id',\), got 'user_id'"),
    ],
)
def test_the_arguments_of_a_chain_with_citations(wrong: Any, says: str) -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
    with MemoryBank.open(citations=True) as bank, pytest.raises(InvalidInput, match=says):
        with_citation_feedback(prompt | FakeListChatModel(responses=["I see."]), bank, **wrong)


@pytest.mark.parametrize("session", [7, UUID])
def test_a_session_may_be_a_number_or_a_uuid_as_a_thread_may(bank: MemoryBank, session: Any) -> None:
    SessionHistories(bank)(42, session).add_messages([HumanMessage("I moved to Ghent.")])
    assert bank.sessions(("42",)) == [str(session)]
    assert len(SecomChatMessageHistory(bank, scope=("42",), session=str(session)).messages) == 1
    assert "Ghent" in SecomMemory(bank=bank, scope=("42",), session=session).load_memory_variables({})["history"]


@pytest.mark.parametrize("session", ["", True, 1.5, None])
def test_a_session_without_a_name_is_refused_with_what_is_one(bank: MemoryBank, session: Any) -> None:
    says = "session names the conversation, such as 'monday', a whole number or a UUID, got "
    with pytest.raises(InvalidInput, match=says + repr(session)):
        SecomChatMessageHistory(bank, scope=("alice",), session=session)
    with pytest.raises(ValidationError, match=says + repr(session)):
        SecomMemory(bank=bank, scope=("alice",), session=session)


@pytest.mark.parametrize(
    ("made", "theirs", "ours"),
    [
        (SecomMemory, "max_token_limit", "window limits the latest messages by their number"),
        (RecursiveSummaryMemory, "max_token_limit", "max_tokens limits the turns of the session"),
        (RecursiveSummaryMemory, "llm", r"MemoryBank.open\(model=LangChainChatModel\(llm\), summaries=True\)"),
        (SecomMemory, "chat_memory", "the bank keeps the messages"),
        (RecursiveSummaryMemory, "moving_summary_buffer", "a message of the speaker Summary"),
        (SecomMemory, "retriever", "it searches the bank"),
        (SecomMemory, "return_docs", "messages with return_messages=True"),
        (SecomMemory, "session_id", "session is its name"),
    ],
)
def test_a_classic_memory_says_what_stands_for_an_argument_of_langchains_own(
    made: type[SecomMemory], theirs: str, ours: str
) -> None:
    with MemoryBank.open(summaries=True) as bank, pytest.raises(ValidationError, match=f"takes no {theirs}: .*{ours}"):
        made(bank=bank, scope=("alice",), **{theirs: "anything"})


def test_a_classic_memory_without_a_scope_says_that_one_is_needed_and_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"Give SecomMemory a scope, such as scope=\('acme', 'alice'\)"):
        SecomMemory(store_path=str(tmp_path / "memory.db"))
    assert not (tmp_path / "memory.db").exists()
