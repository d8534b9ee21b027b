"""One set of options for everything that recalls: all of them taken, checked, serialised and passed on."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import MetadataMode, NodeWithScore
from llama_index.core.workflow import Context, JsonSerializer

import llamaindex_secom
from llamaindex_secom import (
    CitationNumberer,
    CitationReward,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    TimelinePostprocessor,
    TimelineRetriever,
    memory_tools,
)
from llamaindex_secom.convert import turn_ids_of
from llamaindex_secom.timeline_nodes import timeline_of
from secom_core import InvalidInput, MemoryBank, StoreError
from secom_core.memory import RecallOptions
from secom_core.testing import Answer, ScriptedModel, ScriptedServer, ToolCall
from secom_core.text.terms import count_tokens
from secom_core.timelines import TimelineOptions
from secom_core.topics import TopicOptions

ANN = ("acme", "ann")
DAY = datetime(2025, 3, 3, tzinfo=timezone.utc)
QUERY = "Who is my violin teacher?"
MESSAGES = (
    "I want to learn the violin, with a teacher in Ghent.",
    "My violin teacher in Ghent is Marta, she gives violin lessons.",
    "The tomatoes on the balcony are ripe at last.",
)
NAMES = {field.name for field in fields(RecallOptions)}
SUMMARY, TIMELINES = "# Summary of the earlier sessions:", "# How things came about, oldest first:"


def fill(bank: MemoryBank) -> MemoryBank:
    for week, text in enumerate(MESSAGES):
        turn = [{"role": "user", "content": text, "id": f"t{week}"}]
        bank.remember(ANN, turn, session=f"s{week}", at=DAY + timedelta(weeks=week), close=True)
    return bank


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    timelines = TimelineOptions(recall_without_model=True)
    with fill(MemoryBank.open(tmp_path / "m.db", summaries=True, timelines=timelines)) as bank:
        yield bank


# How each of them is made, and how it recalls for the query; what comes back is the text that a model sees.


def by_memory(bank: MemoryBank, **options: Any) -> Callable[[], str]:
    memory = SecomMemory(scope=ANN, bank=bank, session="now", **options)
    return lambda: "\n".join(str(message.content) for message in memory.get(input=QUERY))


def by_block(bank: MemoryBank, **options: Any) -> Callable[[], str]:
    block = SecomMemoryBlock(scope=ANN, bank=bank, **options)
    return lambda: block._block([ChatMessage(role="user", content=QUERY)], "now")


def by_retriever(bank: MemoryBank, **options: Any) -> Callable[[], str]:
    retriever = SecomRetriever(bank, ANN, **options)
    return lambda: "\n".join(node.get_content(MetadataMode.LLM) for node in retriever.retrieve(QUERY))


def by_tools(bank: MemoryBank, **options: Any) -> Callable[[], str]:
    (search,) = memory_tools(bank, scope=ANN, actions=["search"], **options)
    return lambda: str(search.call(query=QUERY))


RECALLING = {
    "SecomMemory": by_memory,
    "SecomMemoryBlock": by_block,
    "SecomRetriever": by_retriever,
    "memory_tools": by_tools,
}
each_of_them = pytest.mark.parametrize("recalling", RECALLING.values(), ids=RECALLING)


def test_everything_public_that_recalls_is_in_the_list() -> None:
    """Found in the source, so that another class or function that recalls is tested here too."""
    found = set()
    for name in llamaindex_secom.__all__:
        part = getattr(llamaindex_secom, name)
        if inspect.isclass(part) or inspect.isfunction(part):
            module = inspect.getsource(inspect.getmodule(part))  # type: ignore[arg-type]
            assert ".recall(" not in module, "every recall goes through traced_recall: it is an event and a span"
            if "traced_recall(" in module:
                found.add(name)
    assert found == set(RECALLING)


@pytest.mark.parametrize("name", RECALLING)
def test_it_takes_every_option_of_a_recall(name: str) -> None:
    part = getattr(llamaindex_secom, name)
    assert set(inspect.signature(part).parameters) >= NAMES
    if inspect.isclass(part) and issubclass(part, BaseModel):
        assert set(part.model_fields) >= NAMES, "what is no field is not serialised"


@pytest.mark.slow
@each_of_them
def test_it_passes_every_option_on(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, recalling: Any) -> None:
    options = RecallOptions(token_budget=321, k=2, layers=("timelines", "summaries"), only_relevant=True)
    assert options.arguments.keys() == NAMES
    calls: list[dict[str, Any]] = []
    recall = bank.recall
    monkeypatch.setattr(bank, "recall", lambda *a, **k: calls.append(k) or recall(*a, **k))
    recalling(bank, **options.arguments)()
    assert [{name: call[name] for name in NAMES} for call in calls] == [options.arguments]


@pytest.mark.slow
@each_of_them
def test_a_layer_takes_part_for_real(bank: MemoryBank, recalling: Any) -> None:
    plain = recalling(bank)()
    assert "Marta" in plain
    assert SUMMARY not in plain
    assert "SameTopic" not in plain
    text = recalling(bank, layers=["summaries"])()
    assert SUMMARY in text
    assert "The tomatoes" in text.partition(SUMMARY)[2].partition("\n2025")[0]
    text = recalling(bank, layers=["summaries", "timelines"])()
    assert SUMMARY in text
    assert "→ (SameTopic) 2025-03-10" in text


@pytest.mark.slow
@each_of_them
def test_k_and_token_budget_limit_it_for_real(bank: MemoryBank, recalling: Any) -> None:
    assert sum(message in recalling(bank, k=1)() for message in MESSAGES) == 1
    whole = recalling(bank, token_budget=500)()
    assert sum(message in whole for message in MESSAGES) > 1
    short = recalling(bank, token_budget=55)()
    assert 0 < count_tokens(short.partition("\n\nmemory_id")[0]) <= 55


@pytest.mark.slow
@each_of_them
def test_what_does_not_answer_fills_the_budget_unless_only_what_is_relevant_is_asked_for(
    bank: MemoryBank, recalling: Any
) -> None:
    assert all(message in recalling(bank)() for message in MESSAGES)
    relevant = recalling(bank, only_relevant=True)()
    assert MESSAGES[1] in relevant
    assert MESSAGES[2] not in relevant


@pytest.mark.slow
@each_of_them
def test_what_cannot_be_used_is_refused_at_once(bank: MemoryBank, recalling: Any) -> None:
    for name in ("token_budget", "k"):
        for value in (0, -1, True, "many"):
            with pytest.raises(InvalidInput, match=f"{name} is a whole number from 1 on, got {value!r}"):
                recalling(bank, **{name: value})
    with pytest.raises(InvalidInput, match="only_relevant is True or False, got 'yes'"):
        recalling(bank, only_relevant="yes")
    with pytest.raises(InvalidInput, match=r"layers is a sequence of names such as .*, got 'summaries'"):
        recalling(bank, layers="summaries")
    for message in (r"opened without 'topics' \(it has: summaries, timelines\)", "no layer is called 'weather'"):
        with pytest.raises(InvalidInput, match=message):
            recalling(bank, layers=["summaries", message.split("'")[1]])


@pytest.mark.slow
@each_of_them
@pytest.mark.parametrize("layer", ["timelines", "topics"])
def test_without_a_model_timelines_and_topics_have_to_be_asked_for_twice(recalling: Any, layer: str) -> None:
    twice: dict[str, Any] = {"timelines": TimelineOptions(recall_without_model=True)}
    twice["topics"] = TopicOptions(recall_without_model=True)
    refused = pytest.raises(
        InvalidInput, match=f"the layer '{layer}' makes a recall worse .* recall_without_model=True"
    )
    with fill(MemoryBank.open(**{layer: True})) as bank, refused:
        recalling(bank, layers=[layer])
    with MemoryBank.open(**{layer: True}, model=ScriptedModel("")) as bank:
        assert recalling(bank, layers=[layer])() is not None
    with fill(MemoryBank.open(**{layer: twice[layer]})) as bank:
        assert "Marta" in recalling(bank, layers=[layer])()


@pytest.mark.slow
async def test_tools_without_a_bank_check_the_layers_of_the_runs_bank_when_they_are_called(bank: MemoryBank) -> None:
    for name in ("token_budget", "k"):
        with pytest.raises(InvalidInput, match=f"{name} is a whole number from 1 on"):
            memory_tools(**{name: 0})
    results = []
    for layer in ("summaries", "topics"):
        call = Answer("", (ToolCall("search_memory", {"query": QUERY}, "c"),))
        with ScriptedServer([call, "Marta."]) as server:
            tools: Any = memory_tools(actions=["search"], layers=[layer])
            agent = FunctionAgent(tools=tools, llm=HttpLLM(base_url=server.base_url), streaming=False)
            memory = SecomMemory(scope=ANN, bank=bank, insert_method="off")
            await agent.run("Who is it?", memory=memory)
            results.append(server.requests[-1].messages[-1])
    assert [role for role, _ in results] == ["tool", "tool"]
    assert SUMMARY in results[0][1]
    assert "this bank was opened without 'topics'" in results[1][1]


# -- serialised -------------------------------------------------------------------------------------------------------

OPTIONS: dict[str, Any] = {
    "token_budget": 321,
    "k": 2,
    "layers": ("summaries",),
    "only_relevant": True,
    "where": None,
    "also": (),
    "history": False,
}


def options_of(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in NAMES}


@pytest.mark.slow
def test_a_memory_keeps_its_options(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, session="now", **OPTIONS)
    data = json.loads(memory.to_json())
    assert {name: data[name] for name in NAMES} == {**OPTIONS, "layers": ["summaries"], "also": []}
    for again in (SecomMemory.from_dict(data), SecomMemory.from_dict(data, bank=bank)):
        assert again.bank is bank
        assert options_of(again) == OPTIONS
        assert SUMMARY in str(again.get(input=QUERY)[-1].content)
    made = SecomMemory.from_defaults(scope=ANN, bank=bank, **OPTIONS)
    assert options_of(made) == OPTIONS


def test_a_block_keeps_its_options(bank: MemoryBank) -> None:
    block = SecomMemoryBlock(scope=ANN, bank=bank, **OPTIONS)
    data = json.loads(block.model_dump_json())
    for again in (SecomMemoryBlock(**data, bank=bank), copy.deepcopy(block)):
        assert again.bank is bank
        assert options_of(again) == OPTIONS


@pytest.mark.slow
@pytest.mark.parametrize("citations", [False, True])
async def test_a_saved_context_goes_on_with_its_layers_in_another_process(bank: MemoryBank, citations: bool) -> None:
    path = bank.storage.path or ""
    with MemoryBank.open(path, summaries=True, citations=True) as first, ScriptedServer("Ok.") as server:
        memory = SecomMemory(scope=ANN, bank=first, session="now", citations=citations, **OPTIONS)
        agent = FunctionAgent(llm=HttpLLM(base_url=server.base_url), streaming=False)
        context = Context(agent)
        await agent.run("Hello", ctx=context, memory=memory)
        data = json.loads(json.dumps(context.to_dict(serializer=JsonSerializer())))
        del memory, context
        first.close()
        bank.close()
        restored = Context.from_dict(agent, data, serializer=JsonSerializer())
        await agent.run(QUERY, ctx=restored)
        again = await restored.store.get("memory")
        assert SUMMARY in server.requests[-1].prompt
    assert again.bank is not first
    assert options_of(again) == OPTIONS
    assert set(again.bank.layers) == {"summaries", "citations"}, "those that the bank had"
    again.bank.close()


@pytest.mark.slow
def test_a_bank_is_opened_with_the_layers_that_are_asked_for(tmp_path: Path) -> None:
    path = str(tmp_path / "other.db")
    fill(MemoryBank.open(path, summaries=True)).close()
    memory = SecomMemory(scope=ANN, store_path=path, layers=["summaries"])
    assert SUMMARY in str(memory.get(input=QUERY)[-1].content)
    assert SecomMemoryBlock(scope=ANN, store_path=path, layers=["summaries"]).bank is memory.bank
    with pytest.raises(InvalidInput, match="opened without 'citations'"):
        SecomMemory(scope=ANN, store_path=path, citations=True)  # the bank is open already
    memory.bank.close()
    with pytest.raises(InvalidInput, match="no layer is called 'weather'"):
        SecomMemory(scope=ANN, store_path=str(tmp_path / "third.db"), layers=["weather"])
    parted = SecomMemory.from_defaults(
        scope=ANN, store_path=path, segmenter=llamaindex_secom.SegmentTextSplitter().segmenter, layers=["summaries"]
    )
    assert parted.bank is not memory.bank
    assert list(parted.bank.layers) == ["summaries"]
    parted.bank.close()


# -- what layers add, in each of them ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_retriever_returns_sections_as_nodes(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank, ANN, k=2, layers=["summaries", "timelines"])
    nodes = retriever.retrieve(QUERY)
    layers = [node.metadata.get("layer") for node in nodes]
    assert layers[0] == "summaries"
    assert layers[-1] == "timelines"
    hits = [node for node in nodes if "layer" not in node.metadata]
    assert len(hits) == 2
    assert layers.index(None) == 1, "the memories stand between them"
    summary, *timelines = [node for node in nodes if "layer" in node.metadata]
    recall = bank.recall(ANN, QUERY, k=2, layers=["summaries", "timelines"])
    assert summary.node.get_content() == recall.sections[0].text.rstrip("\n")
    assert summary.metadata["heading"] == "Summary of the earlier sessions:"
    assert [node.node.get_content() for node in timelines] == [each.rstrip() for each in recall.sections[1].entries]
    assert [turn_ids_of(node) for node in timelines] == list(recall.sections[1].turn_ids)
    assert turn_ids_of(summary) == ()
    assert summary.score == max(node.score or 0.0 for node in hits)
    assert {node.score for node in timelines} == {min(node.score or 0.0 for node in hits)}
    for node in (summary, *timelines):
        assert json.loads(node.metadata["scope"]) == list(ANN)
        assert all(isinstance(value, str) for value in node.metadata.values())
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert node.node.get_content(mode) == node.node.get_content(), "bookkeeping is hidden"
    assert [node.node_id for node in retriever.retrieve(QUERY)] == [node.node_id for node in nodes]
    assert len({node.node_id for node in nodes}) == len(nodes)
    in_time = SecomRetriever(bank, ANN, k=2, layers=["summaries", "timelines"], order="time").retrieve(QUERY)
    assert [node.metadata.get("layer") for node in in_time] == layers


def test_a_section_without_any_memory_is_a_node_too(bank: MemoryBank) -> None:
    retriever = SecomRetriever(bank, ANN, layers=["summaries"], only_relevant=True, empty="Nothing.")
    nodes = retriever.retrieve("zeppelin")
    assert [(node.metadata["layer"], node.score) for node in nodes] == [("summaries", 0.0)]
    nobody = SecomRetriever(bank, ("acme", "nobody"), layers=["summaries"], empty="Nothing.").retrieve(QUERY)
    assert [node.node.get_content() for node in nobody] == ["Nothing."]


@pytest.mark.slow
def test_section_nodes_are_numbered_and_teach_nothing(bank: MemoryBank) -> None:
    with fill(MemoryBank.open(summaries=True, citations=True)) as learner:
        nodes = SecomRetriever(learner, ANN, layers=["summaries"]).retrieve(QUERY)
        numbered = CitationNumberer(learner).postprocess_nodes(nodes, query_str=QUERY)
        assert numbered[0].node.get_content(MetadataMode.LLM).startswith(f"[1]\n{SUMMARY}")
        assert CitationReward(learner).take_in("As the summary says [1].", numbered) == []
        again = CitationNumberer(learner).postprocess_nodes(nodes, query_str=QUERY)
        assert [lesson.kind for lesson in CitationReward(learner).take_in("Marta [1][2].", again)] == ["recorded"]
        assert [entry.cited for entry in learner.citations.log(ANN)] == [(2,)]


def test_timelines_of_a_recall_can_be_replaced_by_those_with_their_events(bank: MemoryBank) -> None:
    nodes = SecomRetriever(bank, ANN, k=1, layers=["timelines"]).retrieve(QUERY)
    replaced = TimelinePostprocessor(bank, ANN).postprocess_nodes(nodes, query_str=QUERY)
    assert all(timeline_of(node) is not None for node in replaced)
    assert {turn for node in replaced for turn in turn_ids_of(node)} >= {"t0", "t1"}


def test_the_timeline_retriever_is_about_timelines_alone(bank: MemoryBank) -> None:
    with pytest.raises(TypeError, match="layers"):
        TimelineRetriever(bank, ANN, layers=["summaries"])
    nodes: list[NodeWithScore] = TimelineRetriever(bank, ANN, k=1, token_budget=60).retrieve(QUERY)
    assert [timeline_of(node) is not None for node in nodes] == [True]


def test_a_search_tool_numbers_timelines_after_the_memories_and_names_their_turns(bank: MemoryBank) -> None:
    (search,) = memory_tools(bank, scope=ANN, actions=["search"], k=1, layers=["summaries", "timelines"], first=7)
    result = str(search.call(query=QUERY))
    block, _, ids = result.partition("\n\nmemory_id: ")
    assert "\n[7] " in block
    assert f"{TIMELINES}\n[8] 2025-03-03" in block
    assert ids.startswith("[7] t1; [8] t0, t1")
    (search,) = memory_tools(bank, scope=ANN, actions=["search"], layers=["summaries"], only_relevant=True)
    alone = str(search.call(query="zeppelin"))
    assert SUMMARY in alone
    assert "memory_id" not in alone


@pytest.mark.slow
def test_an_answer_that_cites_a_timeline_loses_its_marker_and_teaches_nothing(tmp_path: Path) -> None:
    timelines = TimelineOptions(recall_without_model=True)
    with fill(MemoryBank.open(tmp_path / "l.db", timelines=timelines, citations=True)) as bank:
        memory = SecomMemory(scope=ANN, bank=bank, session="now", citations=True, k=1, layers=["timelines"])
        for answer, cited in (("It began in March [2].", []), ("Marta [1][2].", [(1,)])):
            memory.put(ChatMessage(role="user", content=QUERY))
            memory.get()
            assert memory.last_recall is not None
            assert memory.last_recall.numbers == (1, 2)
            memory.put(ChatMessage(role="assistant", content=answer))
            assert [entry.cited for entry in bank.citations.log(ANN)] == cited
            assert "[" not in str(memory.get_all()[-1].content)


def test_a_recall_that_fails_with_layers_costs_no_answer(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise StoreError("locked")

    memory = SecomMemory(scope=ANN, bank=bank, layers=["summaries"])
    memory.put(ChatMessage(role="user", content=QUERY))
    monkeypatch.setattr(bank, "recall", fails)
    with pytest.warns(UserWarning, match="nothing is recalled: locked"):
        assert [message.content for message in memory.get()] == [QUERY]
