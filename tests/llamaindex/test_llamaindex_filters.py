"""LlamaIndex's metadata filters, and filters and other scopes through whatever recalls."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from llamaindex_secom import SecomMemory, SecomMemoryBlock, SecomRetriever, memory_tools
from llamaindex_secom.filters import where_of
from secom_core import MemoryBank, Message
from secom_core.errors import InvalidInput

ANN, TEAM, BOB = ("acme", "ann"), ("acme", "team"), ("acme", "bob")
QUESTION = "Where is the harbour?"


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open(citations=True) as bank:
        for scope in (ANN, TEAM, BOB):
            for number, topic in enumerate(("boats", "rent")):
                about = {"topic": topic, "n": number, "tags": [topic, "all"]}
                said = f"The harbour of {scope[1]} costs {number}."
                bank.remember(scope, [Message(said, id=topic, metadata=about)], session=topic)
        yield bank


def recalls(bank: MemoryBank, **options: Any) -> Iterator[tuple[str, str]]:
    """What each thing that recalls shows for the question."""
    yield "retriever", str([each.text for each in SecomRetriever(bank, ANN, **options).retrieve(QUESTION)])
    [search] = memory_tools(bank, scope=ANN, actions=["search"], **options)
    yield "tool", str(search(query=QUESTION))
    memory = SecomMemory(bank=bank, scope=ANN, **options)
    yield "memory", str(memory.get(input=QUESTION))
    yield "memory again", str(SecomMemory.from_dict(json.loads(memory.to_json()), bank=bank).get(input=QUESTION))
    block = SecomMemoryBlock(bank=bank, scope=ANN, **options)
    yield "block", asyncio.run(block.aget([ChatMessage(QUESTION)]))


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


def test_a_node_says_whose_memory_it_is(bank: MemoryBank) -> None:
    nodes = SecomRetriever(bank, ANN, also=[TEAM], where={"session": "rent"}).retrieve(QUESTION)
    assert sorted(tuple(json.loads(each.metadata["scope"])) for each in nodes) == [ANN, TEAM]
    assert len({each.node_id for each in nodes}) == 2


def test_the_ids_of_another_scope_are_not_given_to_a_model(bank: MemoryBank) -> None:
    [search] = memory_tools(bank, scope=ANN, actions=["search"], also=[TEAM], where={"session": "boats"})
    block, _, ids = str(search(query=QUESTION)).partition("memory_id: ")
    [own] = re.findall(r"\[(\d+)\] \(memory of acme / ann\)", block)
    assert ids == f"[{own}] boats"


def test_answers_cite_one_scope(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="citations are recorded for one scope"):
        SecomMemory(bank=bank, scope=ANN, citations=True, also=[TEAM])


def test_a_filter_that_is_none_is_refused_when_a_part_is_made(bank: MemoryBank) -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key="topic", value="rent")])
    for make in (
        lambda: SecomRetriever(bank, ANN, where={"rol": "user"}),
        lambda: SecomRetriever(bank, ANN, where={"role": "user"}, filters=filters),
        lambda: memory_tools(bank, scope=ANN, where={"rol": "user"}),
        lambda: SecomMemory(bank=bank, scope=ANN, where={"rol": "user"}),
        lambda: SecomMemoryBlock(bank=bank, scope=ANN, where={"rol": "user"}),
    ):
        with pytest.raises(InvalidInput, match=r"a filter has the fields|not both"):
            make()


CASES = [
    (FilterOperator.EQ, "topic", "rent", ["rent"]),
    (FilterOperator.NE, "topic", "rent", ["boats"]),
    (FilterOperator.IN, "topic", ["rent", "x"], ["rent"]),
    (FilterOperator.NIN, "topic", ["rent"], ["boats"]),
    (FilterOperator.GT, "n", 0, ["rent"]),
    (FilterOperator.GTE, "n", 0, ["boats", "rent"]),
    (FilterOperator.LT, "n", 1, ["boats"]),
    (FilterOperator.LTE, "n", 0, ["boats"]),
    (FilterOperator.CONTAINS, "tags", "rent", ["rent"]),
    (FilterOperator.ANY, "tags", ["rent", "boats"], ["boats", "rent"]),
    (FilterOperator.ALL, "tags", ["rent", "all"], ["rent"]),
    (FilterOperator.IS_EMPTY, "nothing", None, ["boats", "rent"]),
    (FilterOperator.EQ, "session", "rent", ["rent"]),
]


@pytest.mark.parametrize(("operator", "key", "value", "found"), CASES, ids=[str(each[:3]) for each in CASES])
def test_metadata_filters_are_translated(
    bank: MemoryBank, operator: FilterOperator, key: str, value: Any, found: list[str]
) -> None:
    filters = MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])
    nodes = SecomRetriever(bank, ANN, filters=filters).retrieve(QUESTION)
    assert sorted(each.metadata["session"] for each in nodes) == found


def test_metadata_filters_are_joined_as_the_framework_joins_them(bank: MemoryBank) -> None:
    parts: list[Any] = [MetadataFilter(key="topic", value="rent"), MetadataFilter(key="n", value=0)]
    for condition, found in (
        (FilterCondition.AND, []),
        (FilterCondition.OR, ["boats", "rent"]),
        (FilterCondition.NOT, []),
    ):
        where = where_of(MetadataFilters(filters=[MetadataFilters(filters=parts, condition=condition)]))
        assert sorted(turn.id for turn in bank.recall(ANN, QUESTION, where=where).turns) == found
    assert where_of(MetadataFilters(filters=[])) == {}


@pytest.mark.parametrize("operator", [FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE])
def test_a_filter_that_matches_texts_is_refused(operator: FilterOperator) -> None:
    with pytest.raises(InvalidInput, match=r"a recall cannot filter .* by 'text_match"):
        where_of(MetadataFilters(filters=[MetadataFilter(key="topic", value="r", operator=operator)]))


@pytest.mark.parametrize(("key", "field"), [("begin", "at"), ("timestamp", "at"), ("speakers", "speaker")])
def test_a_key_that_only_nodes_have_is_refused_with_the_field_that_is_meant(key: str, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"filters by '{field}', not by '{key}'; write 'metadata.{key}' if"):
        where_of(MetadataFilters(filters=[MetadataFilter(key=key, value="2026-01-01", operator=FilterOperator.GTE)]))
    own = MetadataFilters(filters=[MetadataFilter(key=f"metadata.{key}", value="x")])
    assert where_of(own) == {"and": [{f"metadata.{key}": {"eq": "x"}}]}


@pytest.mark.parametrize(("speaker", "found"), [("user", 1), ("assistant", 1), ("Bo", 1), ("tool", 0), ("Ann", 0)])
def test_a_filter_takes_the_speakers_that_a_node_shows(speaker: str, found: int) -> None:
    with MemoryBank.open() as bank:
        said = [
            Message("The harbour is in the west."),
            Message("Noted.", "assistant"),
            Message("In the east.", speaker="Bo"),
        ]
        bank.remember(ANN, said, session="s")
        filters = MetadataFilters(filters=[MetadataFilter(key="speaker", value=speaker)])
        nodes = SecomRetriever(bank, ANN, filters=filters).retrieve(QUESTION)
        assert len(nodes) == found
        assert all(speaker in json.loads(each.metadata["speakers"]) for each in nodes)
