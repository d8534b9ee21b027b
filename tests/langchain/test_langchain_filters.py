"""LangChain's dictionary filters, and filters and other scopes through whatever recalls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")
pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")

from langchain.agents import create_agent
from langchain_core.runnables import RunnableLambda

from langchain_secom import (
    SecomChatMessageHistory,
    SecomMemory,
    SecomMiddleware,
    SecomRetriever,
    create_search_memory_tool,
    recalled_memories,
    with_citation_feedback,
)
from langchain_secom.filters import where_of
from secom_core import MemoryBank, Message
from secom_core.errors import InvalidInput
from tests.langchain.test_langchain_recall_options import Capturing

ANN, TEAM, BOB = ("acme", "ann"), ("acme", "team"), ("acme", "bob")
QUESTION = "Where is the harbour?"


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open(citations=True) as bank:
        for scope in (ANN, TEAM, BOB):
            for number, topic in enumerate(("boats", "rent")):
                said = f"The harbour of {scope[1]} costs {number}."
                bank.remember(scope, [Message(said, id=topic, metadata={"topic": topic, "n": number})], session=topic)
        yield bank


def recalls(bank: MemoryBank, **options: Any) -> Iterator[tuple[str, str]]:
    """What each thing that recalls shows for the question."""
    yield (
        "retriever",
        str([each.page_content for each in SecomRetriever(bank=bank, scope=ANN, **options).invoke(QUESTION)]),
    )
    yield "tool", create_search_memory_tool(bank, scope=ANN, **options).invoke({"query": QUESTION})
    memory = SecomMemory(bank=bank, scope=ANN, **options)
    yield "memory", memory.load_memory_variables({"input": QUESTION})["history"]
    again = SecomMemory(bank=bank, **memory.model_dump(mode="json"))
    yield "memory again", again.load_memory_variables({"input": QUESTION})["history"]
    model = Capturing(responses=["Fine."])
    middleware = SecomMiddleware(bank, scope=ANN, write="off", **options)
    create_agent(model, middleware=[middleware]).invoke({"messages": [("user", QUESTION)]})
    yield "middleware", model.prompts[0]
    history = SecomChatMessageHistory(bank, scope=ANN, session="now")
    yield "history", history.recall(QUESTION, **options)


@pytest.mark.slow
def test_a_filter_holds_through_whatever_recalls(bank: MemoryBank) -> None:
    for name, shown in recalls(bank, where={"metadata.topic": "rent"}):
        assert "ann costs 1" in shown, name
        assert "costs 0" not in shown, name
        assert not re.search("team costs|bob costs", shown), name


@pytest.mark.slow
def test_other_scopes_are_searched_where_they_are_named(bank: MemoryBank) -> None:
    for name, shown in recalls(bank, also=[TEAM]):
        assert "team costs" in shown, name
        assert "bob costs" not in shown, name
        assert name == "retriever" or "(memory of acme / team)" in shown, name


NAMED: Mapping[str, Any] = {"tenant_id": "acme", "user_id": "ann"}
BY_RUN: Mapping[str, Any] = {"scope_keys": ["tenant_id", "user_id"], "also_keys": [("tenant_id", "team_id")]}


def by_run(bank: MemoryBank, configurable: Mapping[str, Any], **options: Any) -> Iterator[tuple[str, str]]:
    """What each part that serves many users shows for the question, in a run of that configuration."""
    config: Any = {"configurable": {**configurable, "thread_id": "now"}}
    options = {**BY_RUN, **options}
    yield (
        "retriever",
        str([each.page_content for each in SecomRetriever(bank=bank, **options).invoke(QUESTION, config)]),
    )
    yield "tool", create_search_memory_tool(bank, **options).invoke({"query": QUESTION}, config)
    model = Capturing(responses=["Fine."])
    middleware = SecomMiddleware(bank, write="off", **options)
    create_agent(model, middleware=[middleware]).invoke({"messages": [("user", QUESTION)]}, config)
    yield "middleware", model.prompts[0]
    search = SecomMiddleware(bank, write="off", tools=True, **options).tools[0]
    yield "the middleware's tool", search.invoke({"query": QUESTION}, config)


def costs(shown: str) -> set[str]:
    return {f"{whose} {number}" for whose, number in re.findall(r"(\w+) costs (\d)", shown)}


@pytest.mark.slow
def test_a_run_names_the_other_scopes_that_it_may(bank: MemoryBank) -> None:
    for name, shown in by_run(bank, {**NAMED, "team_id": "team"}):
        assert costs(shown) == {"ann 0", "ann 1", "team 0", "team 1"}, name
    # Another run of the same user is in no team, and one of its parts alone is no scope.
    for name, shown in by_run(bank, NAMED):
        assert costs(shown) == {"ann 0", "ann 1"}, name
    # Names that no key asks for say nothing.
    for name, shown in by_run(bank, {**NAMED, "also": [BOB], "other_id": "bob"}, also=[TEAM]):
        assert costs(shown) == {"ann 0", "ann 1", "team 0", "team 1"}, name


@pytest.mark.slow
def test_what_a_middleware_leaves_out_its_tool_leaves_out(bank: MemoryBank) -> None:
    for name, shown in by_run(bank, {**NAMED, "team_id": "team"}, where={"session": "rent"}):
        assert costs(shown) == {"ann 1", "team 1"}, name


def test_keys_of_other_scopes_are_checked_when_a_part_is_made(bank: MemoryBank) -> None:
    for keys in ("team_id", ["team_id"], [()], [("",)], [7], 7):
        for make in (SecomMiddleware, create_search_memory_tool):
            with pytest.raises(InvalidInput, match="also_keys names the parts of scopes"):
                make(bank, also_keys=keys)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="citations are recorded for one scope"):
        SecomMiddleware(bank, cite=True, also_keys=[("team_id",)])
    with pytest.raises(InvalidInput, match="cannot be combined with where="):
        SecomMiddleware(bank, layers=["summaries"], also_keys=[("team_id",)])


def test_a_call_may_bring_a_filter_of_its_own(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank=bank, scope=ANN)
    found = retriever.invoke(QUESTION, where={"session": "boats"}, also=[TEAM])
    assert sorted(each.page_content for each in found) == [
        "(memory of acme / ann) user: The harbour of ann costs 0.",
        "(memory of acme / team) user: The harbour of team costs 0.",
    ]
    assert sorted(each.metadata["scope"] for each in found) == [list(ANN), list(TEAM)]


def test_the_ids_of_another_scope_are_not_given_to_a_model(bank: MemoryBank) -> None:
    """They name other turns in its own scope, which it could then change."""
    tool = create_search_memory_tool(bank, scope=ANN, also=[TEAM], where={"session": "boats"})
    block, _, ids = tool.invoke({"query": QUESTION}).partition("memory_id: ")
    [own] = re.findall(r"\[(\d)\] \(memory of acme / ann\)", block)
    assert ids == f"[{own}] boats"


def test_answers_cite_one_scope(bank: MemoryBank) -> None:
    for make in (
        lambda: SecomMiddleware(bank, scope=ANN, cite=True, also=[TEAM]),
        lambda: with_citation_feedback(RunnableLambda(str), bank, scope=ANN, also=[TEAM]),
    ):
        with pytest.raises(InvalidInput, match="citations are recorded for one scope"):
            make()


def test_a_filter_that_is_none_is_refused_when_a_part_is_made(bank: MemoryBank) -> None:
    for make in (
        lambda: SecomMiddleware(bank, scope=ANN, where={"rol": "user"}),
        lambda: create_search_memory_tool(bank, scope=ANN, where={"rol": "user"}),
        lambda: recalled_memories(bank, where={"rol": "user"}),
        lambda: SecomMemory(bank=bank, scope=ANN, where={"rol": "user"}),
    ):
        with pytest.raises(ValueError, match="a filter has the fields"):
            make()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"topic": "rent"}, ["rent"]),
        ({"topic": {"$eq": "rent"}}, ["rent"]),
        ({"topic": {"$ne": "rent"}}, ["boats"]),
        ({"topic": {"$in": ["rent", "x"]}}, ["rent"]),
        ({"topic": {"$nin": ["rent"]}}, ["boats"]),
        ({"n": {"$gt": 0}}, ["rent"]),
        ({"n": {"$gte": 0, "$lt": 1}}, ["boats"]),
        ({"n": {"$lte": 0}}, ["boats"]),
        ({"n": {"$between": [1, 2]}}, ["rent"]),
        ({"none": {"$exists": False}}, ["boats", "rent"]),
        ({"$and": [{"n": 1}, {"topic": "rent"}]}, ["rent"]),
        ({"$or": [{"n": 0}, {"topic": "rent"}]}, ["boats", "rent"]),
        ({"$not": {"n": 0}}, ["rent"]),
        ({"session": "rent", "role": "user"}, ["rent"]),
        ({}, ["boats", "rent"]),
    ],
    ids=str,
)
def test_a_dictionary_filter_is_translated(bank: MemoryBank, given: Mapping[str, Any], found: list[str]) -> None:
    recall = bank.recall(ANN, QUESTION, where=where_of(given))
    assert sorted(turn.id for turn in recall.turns) == found


@pytest.mark.parametrize(
    "given",
    ["topic", {"topic": {"$like": "r%"}}, {"$nor": []}, {"$and": {}}, {"n": {"$between": [1]}}, {"a": {"$in": "x"}}],
)
def test_a_dictionary_filter_that_has_no_form_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput):
        where_of(given)


def test_the_names_of_a_role_in_a_filter_mean_the_same(bank: MemoryBank) -> None:
    bank.remember(ANN, [("human", "The harbour froze."), ("ai", "The harbour thawed.")], session="ice")
    for name, found in (("human", "froze"), ("user", "froze"), ("ai", "thawed"), ("assistant", "thawed")):
        text = bank.recall(ANN, QUESTION, where=where_of({"role": name})).text
        assert [word for word in ("froze", "thawed") if word in text] == [found]


@pytest.mark.parametrize(("speaker", "found"), [("user", 1), ("assistant", 1), ("Bo", 1), ("tool", 0), ("Ann", 0)])
def test_a_filter_takes_the_speakers_that_a_document_shows(speaker: str, found: int) -> None:
    with MemoryBank.open() as bank:
        said = [
            Message("The harbour is in the west."),
            Message("Noted.", "assistant"),
            Message("In the east.", speaker="Bo"),
        ]
        bank.remember(ANN, said, session="s")
        retriever = SecomRetriever(bank=bank, scope=ANN, where=where_of({"speaker": speaker}), only_relevant=False)
        documents = retriever.invoke(QUESTION)
        assert len(documents) == found
        assert all(speaker in each.metadata["speakers"] for each in documents)


@pytest.mark.parametrize(("name", "field"), [("begin", "at"), ("end", "at"), ("speakers", "speaker")])
def test_a_name_that_only_documents_have_is_refused_with_the_field_that_is_meant(name: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"filters by '{field}', not by '{name}'; write 'metadata.{name}' if"):
        where_of({name: "2026-01-01"})
    assert where_of({f"metadata.{name}": "x"}) == {"and": [{"and": [{f"metadata.{name}": {"eq": "x"}}]}]}
