"""Timelines as nodes: in engines, agents and tools over real HTTP, as a postprocessor, and as a property graph."""

from __future__ import annotations

import contextvars
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpEmbedding, HttpLLM
from llama_index.core import PropertyGraphIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.bridge.pydantic import Field
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores import SimpleVectorStore

from llamaindex_secom import (
    LlamaIndexChatModel,
    SecomRetriever,
    SegmentTextSplitter,
    TimelinePostprocessor,
    TimelineRetriever,
    to_property_graph,
)
from llamaindex_secom.convert import turn_ids_of
from llamaindex_secom.property_graph import SCOPE_KEY
from llamaindex_secom.timeline_nodes import timeline_node, timeline_of
from secom_core import DegradedWarning, InvalidInput, InvalidScope, MemoryBank
from secom_core.testing import Answer, Fault, ScriptedServer, ToolCall
from secom_core.timelines import Event, Relation, Timeline, response_instructions

ANN, BOB = ("acme", "ann"), ("acme", "bob")
DAY = datetime(2025, 3, 3, tzinfo=timezone.utc)
QUERY = "What became of my violin lessons with a teacher?"
MESSAGES = {
    "s1": ("t1", "I want to learn the violin, with a teacher in Ghent."),
    "s2": ("t2", "My violin teacher in Ghent moved away, so the violin lessons stopped."),
    "s3": ("t3", "A new violin teacher in Ghent gives me violin lessons now, {context_str} is her motto."),
    "s4": ("t4", "The tomatoes on the balcony are ripe at last."),
}


def fill(bank: MemoryBank, scope: tuple[str, ...] = ANN) -> None:
    for week, (session, (turn, text)) in enumerate(MESSAGES.items()):
        messages = [{"role": "user", "content": text, "id": turn}]
        bank.remember(scope, messages, session=session, at=DAY + timedelta(weeks=week), close=True)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db", timelines=True) as bank:
        fill(bank)
        bank.remember(BOB, [{"role": "user", "content": "I keep bees.", "id": "t1"}], session="s", close=True)
        yield bank


def about_events(request: Any) -> str:
    """What the scripted model says of a session, of two events, and of a timeline."""
    if "<events>" in request.text:
        said = re.findall(r"\[Exchange 0\]:\s*(.*)", request.text)[-1]
        return f'<events>\n{{"event": "Of the violin: {said}", "exchanges": [0]}}\n</events>'
    if "<notes>" in request.text:
        return "<notes>Ann lost a teacher and found another.</notes>"
    return "Relation: Cause"


def hidden(node: NodeWithScore) -> set[str]:
    return set(node.node.excluded_llm_metadata_keys) & set(node.node.excluded_embed_metadata_keys)


# -- the retriever ----------------------------------------------------------------------------------------------------


def test_smoke(bank: MemoryBank) -> None:
    retriever = TimelineRetriever(bank, ANN, verbose=True)
    assert isinstance(retriever, BaseRetriever)
    assert {"BaseRetriever", "PromptMixin"} <= {each.__name__ for each in type(retriever).__mro__}
    assert retriever.scope == ANN
    assert retriever.get_prompts() == {}


async def test_a_node_is_a_timeline_with_its_provenance_sync_and_async(bank: MemoryBank) -> None:
    retriever = TimelineRetriever(bank, ANN, k=1)
    found = retriever.retrieve(QUERY)
    assert await retriever.aretrieve(QUERY) == found
    assert retriever._retrieve(query_bundle=QueryBundle(QUERY)) == found
    assert await retriever._aretrieve(query_bundle=QueryBundle(QUERY)) == found
    [node] = found
    lines = node.node.get_content().splitlines()
    assert [line[: line.index("2025")] for line in lines] == ["", "→ (SameTopic) ", "→ (SameTopic) "]
    assert [turn_text for _, turn_text in list(MESSAGES.values())[:3]] == [line.split("user: ")[1] for line in lines]
    about = node.metadata
    assert turn_ids_of(node) == ("t1", "t2", "t3")
    assert json.loads(about["relations"]) == ["SameTopic", "SameTopic"]
    assert json.loads(about["sessions"]) == ["s1", "s2", "s3"]
    assert json.loads(about["scope"]) == list(ANN)
    assert [event["at"][:10] for event in json.loads(about["events"])] == ["2025-03-03", "2025-03-10", "2025-03-17"]
    ids = [event.id for event in bank.timelines.events(ANN)[:3]]
    assert [event["id"] for event in json.loads(about["events"])] == ids
    assert about["refined"] is False
    assert (about["begin"][:10], about["end"][:10], node.score) == ("2025-03-03", "2025-03-17", 1.0)
    assert timeline_of(node) == replace(bank.timelines.find(ANN, QUERY, k=1)[0], hits=())


def test_metadata_is_flat_and_survives_json(bank: MemoryBank) -> None:
    [node] = TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)
    assert all(isinstance(value, (str, int, float, bool)) for value in node.metadata.values())
    again = TextNode.from_json(node.node.to_json())
    assert again.metadata == node.metadata
    assert timeline_of(again) == timeline_of(node)


def test_pitfall_16_the_model_and_the_embedder_see_the_text_alone_unless_wanted(bank: MemoryBank) -> None:
    [node] = TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)
    assert hidden(node) == set(node.metadata)
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.node.get_content(mode) == node.node.get_content()
    [node] = TimelineRetriever(bank, ANN, k=1, visible_metadata=["sessions"]).retrieve(QUERY)
    assert 'sessions: ["s1", "s2", "s3"]' in node.node.get_content(MetadataMode.LLM)
    assert "turn_ids" not in node.node.get_content(MetadataMode.LLM)


def test_ids_stay_and_differ_between_scopes(bank: MemoryBank, tmp_path: Path) -> None:
    [node] = TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)
    with MemoryBank.open(tmp_path / "m.db", timelines=True) as reopened:
        assert TimelineRetriever(reopened, ANN, k=1).retrieve("violin teacher")[0].node_id == node.node_id
    timeline = timeline_of(node)
    assert timeline is not None
    assert timeline_node(timeline, ANN).node_id == node.node_id != timeline_node(timeline, BOB).node_id


def test_order_budget_and_number(bank: MemoryBank) -> None:
    query = "ripe tomatoes on the balcony, and a violin teacher"
    best = TimelineRetriever(bank, ANN, k=4).retrieve(query)
    assert [each.score for each in best] == [1.0, 0.5]
    assert "tomatoes" in best[0].node.get_content()
    in_time = TimelineRetriever(bank, ANN, k=4, order="time").retrieve(query)
    assert [each.score for each in in_time] == [0.5, 1.0]
    cut = TimelineRetriever(bank, ANN, k=1, token_budget=45).retrieve(QUERY)
    assert 1 <= len(cut[0].node.get_content().splitlines()) < 3
    assert len(TimelineRetriever(bank, ANN, k=1, n=1, seed=3).retrieve(QUERY)) == 1
    for name in ("k", "n", "token_budget"):
        with pytest.raises(InvalidInput, match=f"{name} is a whole number from 1 on, got 0"):
            TimelineRetriever(bank, ANN, **{name: 0})


def test_scopes_never_meet_and_errors_come_at_once(bank: MemoryBank) -> None:
    found = TimelineRetriever(bank, BOB, k=9).retrieve("violin teacher, bees")
    assert [each.node.get_content().split("user: ")[1] for each in found] == ["I keep bees."]
    for scope in (None, (), ("acme", ""), "acme"):
        with pytest.raises(InvalidScope):
            TimelineRetriever(bank, scope)  # type: ignore[arg-type]
    with MemoryBank.open() as without:
        for make in (TimelineRetriever, TimelinePostprocessor):
            with pytest.raises(InvalidInput, match=r"opened without 'timelines'.* open it with timelines=True"):
                make(without, ANN)


VISITOR: contextvars.ContextVar[str] = contextvars.ContextVar("VISITOR", default="nobody")


async def test_it_does_not_block_the_loop_and_keeps_context(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    seen: list[str] = []
    find = bank.timelines.find
    monkeypatch.setattr(bank.timelines, "find", lambda *a, **k: (seen.append(VISITOR.get()), find(*a, **k))[1])
    VISITOR.set("ann")
    with blockbuster.blockbuster_ctx():
        retriever = TimelineRetriever(bank, ANN, k=1)
        postprocessor = TimelinePostprocessor(bank, ANN)
        nodes = await SecomRetriever(bank, ANN, k=1).aretrieve(QUERY)
        assert await retriever.aretrieve(QUERY)
        assert await postprocessor.apostprocess_nodes(nodes, query_str=QUERY)
        with pytest.raises(blockbuster.BlockingError):
            time.sleep(0.001)  # the probe works
    assert seen == ["ann"]


# -- a language model behind the bank ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_banks_model_writes_links_and_rewrites_over_http() -> None:
    with ScriptedServer(about_events) as server:
        model = LlamaIndexChatModel(HttpLLM(base_url=server.base_url))
        with MemoryBank.open(model=model, timelines=True) as bank:
            fill(bank)
            [node] = TimelineRetriever(bank, ANN, k=1).retrieve("violin")
            plain = TimelineRetriever(bank, ANN, k=1, refined=False).retrieve("violin")
    assert node.node.get_content() == "Ann lost a teacher and found another."
    assert node.metadata["refined"] is True
    assert set(json.loads(node.metadata["relations"])) == {"Cause"}
    timeline = timeline_of(node)
    assert timeline is not None
    assert timeline.text == node.node.get_content()
    assert all(event.text.startswith("Of the violin: ") for event in timeline.events)
    assert plain[0].node.get_content().startswith("2025-03-03: Of the violin: ")
    assert plain[0].node_id == node.node_id


@pytest.mark.slow
def test_a_model_that_fails_loses_nothing_and_says_so() -> None:
    def failing(request: Any) -> Any:
        return Fault(status=500)

    with ScriptedServer(failing) as server:
        model = LlamaIndexChatModel(HttpLLM(base_url=server.base_url))
        with MemoryBank.open(model=model, timelines=True) as bank:
            with pytest.warns(DegradedWarning, match="found no events"):
                fill(bank)
            with pytest.warns(DegradedWarning, match="did not rewrite 1 of 1 timelines"):
                [node] = TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)
            assert len(bank.timelines.events(ANN)) == len(MESSAGES)
    assert turn_ids_of(node) == ("t1", "t2", "t3")
    assert node.metadata["refined"] is False


# -- in engines, agents and tools -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_a_query_engine_over_http(bank: MemoryBank, streaming: bool) -> None:
    with ScriptedServer({"violin": "You have a new teacher."}) as server:
        engine = RetrieverQueryEngine.from_args(
            TimelineRetriever(bank, ANN, k=1), llm=HttpLLM(base_url=server.base_url), streaming=streaming
        )
        response = engine.query(QUERY)
        answer = "".join(response.response_gen) if streaming else str(response)
        prompt = server.requests[0].text
    assert answer.strip() == "You have a new teacher."
    assert "→ (SameTopic) 2025-03-17" in prompt
    assert "turn_ids" not in prompt, "bookkeeping does not reach the model"
    assert "{context_str} is her motto" in prompt, "words in braces are not filled in"
    assert turn_ids_of(response.source_nodes[0]) == ("t1", "t2", "t3")


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
async def test_an_async_query_engine_over_http(bank: MemoryBank, streaming: bool) -> None:
    with ScriptedServer("A new one.") as server:
        engine = RetrieverQueryEngine.from_args(
            TimelineRetriever(bank, ANN, k=1), llm=HttpLLM(base_url=server.base_url), streaming=streaming
        )
        response = await engine.aquery(QUERY)
        answer = "".join([part async for part in response.async_response_gen()]) if streaming else str(response)
    assert answer == "A new one."


@pytest.mark.slow
def test_citations_lead_back_to_events_and_turns(bank: MemoryBank) -> None:
    """CitationQueryEngine gives every chunk a new node id; the metadata leads back."""
    with ScriptedServer("A new teacher [1].") as server:
        engine = CitationQueryEngine(
            TimelineRetriever(bank, ANN, k=1),
            llm=HttpLLM(base_url=server.base_url),
            text_splitter=SegmentTextSplitter(),
        )
        response = engine.query(QUERY)
        assert "Source 1:" in server.requests[0].text
    source = response.source_nodes[0]
    assert source.node_id != TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)[0].node_id
    timeline = timeline_of(source)
    assert timeline is not None
    assert timeline.turn_ids == ("t1", "t2", "t3")


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_a_context_chat_engine_over_http(bank: MemoryBank, streaming: bool) -> None:
    with ScriptedServer("A new one.") as server:
        engine = ContextChatEngine.from_defaults(
            retriever=TimelineRetriever(bank, ANN, k=1),
            memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
            llm=HttpLLM(base_url=server.base_url),
            system_prompt=response_instructions(),
        )
        response = engine.stream_chat(QUERY) if streaming else engine.chat(QUERY)
        answer = "".join(response.response_gen) if streaming else str(response)
        system = server.requests[0].messages[0]
    assert answer == "A new one."
    assert system[0] == "system"
    assert response_instructions() in system[1]
    assert "→ (SameTopic)" in system[1]
    assert [turn_ids_of(each) for each in response.source_nodes] == [("t1", "t2", "t3")]


@pytest.mark.slow
async def test_a_context_chat_engine_asks_async(bank: MemoryBank) -> None:
    with ScriptedServer("A new one.") as server:
        engine = ContextChatEngine.from_defaults(
            retriever=SecomRetriever(bank, ANN, k=2),
            node_postprocessors=[TimelinePostprocessor(bank, ANN)],
            memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
            llm=HttpLLM(base_url=server.base_url),
        )
        streamed = await engine.astream_chat(QUERY)
        assert "".join([part async for part in streamed.async_response_gen()]) == "A new one."
        assert "→ (SameTopic)" in server.requests[0].messages[0][1]
    assert timeline_of(streamed.source_nodes[0]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "dist_based_score", "simple"])
@pytest.mark.parametrize("use_async", [False, True])
def test_fusion_with_turns(bank: MemoryBank, mode: str, use_async: bool) -> None:
    with ScriptedServer("what stopped, what moved away\nwho has a motto, who is new") as server:
        fusion = QueryFusionRetriever(
            [TimelineRetriever(bank, ANN, k=2), SecomRetriever(bank, ANN, k=2)],
            llm=HttpLLM(base_url=server.base_url),
            mode=mode,  # type: ignore[arg-type]
            num_queries=3,
            similarity_top_k=6,
            use_async=use_async,
        )
        found = fusion.retrieve(QUERY)
    drawn = [node for node in found if timeline_of(node) is not None]
    assert len(drawn) == 1, "three queries drew one timeline, which is given once"
    assert len(found) > 1
    assert len({node.node_id for node in found}) == len(found)
    if mode == "reciprocal_rerank":
        assert drawn[0].score == pytest.approx(3 / 60), "what three queries found adds up"


@pytest.mark.slow
async def test_a_function_agent_asks_for_a_timeline(bank: MemoryBank) -> None:
    replies = [Answer("", (ToolCall("past", {"input": QUERY}, "c1"),)), "You found a new teacher."]
    with ScriptedServer(replies) as server:
        tool = RetrieverTool.from_defaults(
            SecomRetriever(bank, ANN, k=1), [TimelinePostprocessor(bank, ANN)], name="past", description="The past."
        )
        direct = RetrieverTool.from_defaults(TimelineRetriever(bank, ANN, k=1), name="t", description="Timelines.")
        agent = FunctionAgent(tools=[tool, direct], llm=HttpLLM(base_url=server.base_url), streaming=False)
        assert str(await agent.run(QUERY)) == "You found a new teacher."
        role, result = server.requests[1].messages[-1]
    assert role == "tool"
    assert result.count("→ (SameTopic)") == 2
    assert "turn_ids" not in result
    assert direct.call(QUERY).content.strip() == result.strip() == (await direct.acall(QUERY)).content.strip()


@pytest.mark.slow
def test_pitfall_13_nothing_found_can_still_ask_the_model(bank: MemoryBank) -> None:
    nobody = ("acme", "nobody")
    assert TimelineRetriever(bank, nobody).retrieve(QUERY) == []
    neutral = TimelineRetriever(bank, nobody, empty="Nothing is remembered about this.")
    with ScriptedServer("I do not know.") as server:
        engine = RetrieverQueryEngine.from_args(neutral, llm=HttpLLM(base_url=server.base_url))
        assert str(engine.query("Who?")) == "I do not know."
        assert "Nothing is remembered about this." in server.requests[0].text


# -- the postprocessor ------------------------------------------------------------------------------------------------


def retrieved(bank: MemoryBank, query: str, k: int = 4) -> list[NodeWithScore]:
    return SecomRetriever(bank, ANN, k=k).retrieve(query)


async def test_nodes_of_one_thread_become_one_timeline_sync_and_async(bank: MemoryBank) -> None:
    nodes = retrieved(bank, QUERY, k=3)
    before = [node.model_copy(deep=True) for node in nodes]
    postprocessor = TimelinePostprocessor(bank, ANN)
    done = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert nodes == before, "pitfall 16: the nodes given stay as they are"
    assert len(nodes) == 3
    assert [turn_ids_of(each) for each in done] == [("t1", "t2", "t3")]
    assert json.loads(done[0].metadata["node_ids"]) == [each.node_id for each in nodes]
    assert done[0].score == max(each.score or 0 for each in nodes)
    assert done[0].node_id == TimelineRetriever(bank, ANN, k=1).retrieve(QUERY)[0].node_id
    assert await postprocessor.apostprocess_nodes(nodes, query_str=QUERY) == done
    assert postprocessor.postprocess_nodes(done) == done, "timelines stay"


def test_nodes_that_rest_on_no_event_stay_in_their_places(bank: MemoryBank) -> None:
    bank.remember(ANN, [{"role": "user", "content": "An open talk of a violin.", "id": "t5"}], session="s5")
    foreign = [
        NodeWithScore(node=TextNode(text="A page of a book."), score=0.9),
        NodeWithScore(node=TextNode(text="Theirs.", metadata={"turn_ids": "not ours", "events": 3}), score=0.8),
        NodeWithScore(node=TextNode(text="Numbers.", metadata={"turn_ids": [1, 2]}), score=0.7),
    ]
    [open_talk] = [node for node in retrieved(bank, "open talk of a violin", 9) if turn_ids_of(node) == ("t5",)]
    others = {turn_ids_of(node)[0]: node for node in retrieved(bank, QUERY + " tomatoes", 9)}
    nodes = [foreign[0], others["t2"], foreign[1], others["t4"], open_talk, foreign[2], others["t1"]]
    done = TimelinePostprocessor(bank, ANN).postprocess_nodes(nodes)
    assert [done[place] for place in (0, 2, 4, 5)] == [foreign[0], foreign[1], open_talk, foreign[2]]
    assert [turn_ids_of(done[place]) for place in (1, 3)] == [("t1", "t2", "t3"), ("t4",)]
    assert len(done) == 6
    kept = TimelinePostprocessor(bank, ANN, keep_nodes=True).postprocess_nodes(nodes)
    assert [node for node in kept if timeline_of(node) is None] == nodes
    assert timeline_of(kept[2]) is not None


def test_a_node_of_another_scope_stays_although_its_turn_has_the_same_id(bank: MemoryBank) -> None:
    nodes = SecomRetriever(bank, BOB, k=1).retrieve("bees")
    assert turn_ids_of(nodes[0]) == ("t1",)
    assert TimelinePostprocessor(bank, ANN).postprocess_nodes(nodes) == nodes
    [node] = TimelinePostprocessor(bank, BOB).postprocess_nodes(nodes)
    assert "bees" in node.node.get_content()


def test_another_retrievers_nodes_are_placed_by_turn_id(bank: MemoryBank) -> None:
    # Lists as such, without a scope, as an in-memory vector index over exported turns gives them.
    node = NodeWithScore(node=TextNode(text="…", metadata={"turn_ids": ["t3", "unknown"]}))
    [done] = TimelinePostprocessor(bank, ANN).postprocess_nodes([node])
    assert turn_ids_of(done) == ("t1", "t2", "t3")
    assert done.score is None


@pytest.mark.slow
def test_a_model_of_its_own_rewrites_over_http_and_may_fail(bank: MemoryBank) -> None:
    nodes = retrieved(bank, QUERY, 1)
    with ScriptedServer(["<notes>She found another teacher in Ghent.</notes>", Fault(status=503)]) as server:
        postprocessor = TimelinePostprocessor(bank, ANN, llm=HttpLLM(base_url=server.base_url))
        [node] = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
        assert node.node.get_content() == "She found another teacher in Ghent."
        assert QUERY in server.requests[0].text
        assert postprocessor.postprocess_nodes(nodes)[0].metadata["refined"] is False, "there is no question"
        with pytest.warns(DegradedWarning, match="did not rewrite"):
            [node] = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
    assert node.node.get_content().count("→ (SameTopic)") == 2


@pytest.mark.slow
def test_drawn_timelines_are_those_of_the_bank(bank: MemoryBank) -> None:
    """The graph that the postprocessor draws from is the bank's own."""
    for number in range(12):
        text = f"The violin teacher in Ghent gave violin lesson number {number}."
        bank.remember(ANN, [{"role": "user", "content": text}], session=f"l{number}", close=True)
    for seed in range(5):
        [node] = TimelineRetriever(bank, ANN, k=1, seed=seed).retrieve(QUERY)
        timeline = timeline_of(node)
        assert timeline is not None
        [hit] = [each for each in timeline.events if each.id == bank.timelines.find(ANN, QUERY, k=1)[0].hits[0]]
        given = NodeWithScore(node=TextNode(metadata={"turn_ids": json.dumps(hit.turn_ids)}))
        [again] = TimelinePostprocessor(bank, ANN, seed=seed).postprocess_nodes([given])
        assert timeline_of(again) == timeline


class Seen(BaseEventHandler):
    events: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Seen"

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)


def test_callbacks_and_events(bank: MemoryBank) -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    seen, dispatcher = Seen(), get_dispatcher()
    dispatcher.add_event_handler(seen)
    try:
        postprocessor = TimelinePostprocessor(bank, ANN, callback_manager=CallbackManager([debug]))
        done = postprocessor.postprocess_nodes(retrieved(bank, QUERY, 2), query_str=QUERY)
    finally:
        dispatcher.event_handlers.remove(seen)
    [(start, end)] = debug.get_event_pairs(CBEventType.RERANKING)
    assert start.payload is not None
    assert start.payload["query_str"] == QUERY
    assert end.payload == {"nodes": done}
    ranked = [event for event in seen.events if isinstance(event, (ReRankStartEvent, ReRankEndEvent))]
    assert [len(event.nodes) for event in ranked] == [2, 1]


@pytest.mark.slow
def test_it_is_a_postprocessor_that_survives_json(bank: MemoryBank) -> None:
    postprocessor = TimelinePostprocessor(bank, ANN, n=2, seed=7, keep_nodes=True)
    assert isinstance(postprocessor, BaseNodePostprocessor)
    assert postprocessor.class_name() == "TimelinePostprocessor"
    data = json.loads(postprocessor.to_json())
    again = TimelinePostprocessor.from_dict(data, bank=bank)
    assert again.to_dict() == postprocessor.to_dict()
    nodes = retrieved(bank, QUERY)
    assert again.postprocess_nodes(nodes) == postprocessor.postprocess_nodes(nodes)
    with pytest.raises(InvalidInput, match="needs a bank, which JSON cannot hold"):
        TimelinePostprocessor.from_dict(data)
    with ScriptedServer("x") as server:
        refining = TimelinePostprocessor(bank, ANN, llm=HttpLLM(base_url=server.base_url)).to_dict()
    with pytest.raises(InvalidInput, match="pass llm= again"):
        TimelinePostprocessor.from_dict(refining, bank=bank)
    with pytest.raises(InvalidScope):
        TimelinePostprocessor(bank)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        TimelinePostprocessor(bank, ANN, n=0)


# -- the property graph -----------------------------------------------------------------------------------------------


def test_the_graph_is_the_banks_with_its_turns(bank: MemoryBank) -> None:
    store = to_property_graph(bank, ANN)
    assert isinstance(store, SimplePropertyGraphStore)
    events = {event.id: event for event in bank.timelines.events(ANN)}
    nodes = [node for node in store.get(properties={SCOPE_KEY: json.dumps(list(ANN))}) if isinstance(node, EntityNode)]
    assert {node.properties["event_id"] for node in nodes} == set(events)
    for node in nodes:
        event = events[node.properties["event_id"]]
        assert node.label == "EVENT"
        assert node.properties["text"] == event.text
        assert node.properties["at"] == event.at.isoformat()
        assert node.properties["session"] == event.session
        assert tuple(json.loads(node.properties["turn_ids"])) == event.turn_ids
        [chunk] = store.get_llama_nodes([node.properties["triplet_source_id"]])
        assert chunk.get_content() == "\n".join(turn.text for turn in bank.turns(ANN, event.session))
    ids = {(link.earlier, link.later, link.relation.value) for link in bank.timelines.links(ANN)}
    triplets = store.get_triplets(relation_names=["SameTopic"])
    assert {(a.properties["event_id"], b.properties["event_id"], r.label) for a, r, b in triplets} == ids
    [first] = [node for node in nodes if node.properties["session"] == "s1"]
    led_to = store.get_rel_map([first], depth=3)
    assert {b.properties["session"] for _, _, b in led_to} == {"s2", "s3"}


@pytest.mark.slow
def test_another_copy_takes_the_place_of_the_first_and_forgets(bank: MemoryBank, tmp_path: Path) -> None:
    store = to_property_graph(bank, ANN)
    to_property_graph(bank, BOB, store)
    assert isinstance(store, SimplePropertyGraphStore)
    before = store.graph.model_dump_json()
    to_property_graph(bank, ANN, store)
    assert json.loads(store.graph.model_dump_json())["nodes"] == json.loads(before)["nodes"]
    bank.forget(ANN, turn_ids=["t2"])
    to_property_graph(bank, ANN, store)
    store.persist(str(tmp_path / "graph.json"))
    written = (tmp_path / "graph.json").read_text(encoding="utf-8")
    assert "moved away" not in written
    assert "tomatoes" in written
    assert "bees" in written, "another scope's copy is left alone"
    again = SimplePropertyGraphStore.from_persist_path(str(tmp_path / "graph.json"))
    assert {node.id for node in again.graph.get_all_nodes()} == {node.id for node in store.graph.get_all_nodes()}
    bank.forget(ANN)
    to_property_graph(bank, ANN, store)
    assert {node.properties[SCOPE_KEY] for node in store.graph.get_all_nodes()} == {json.dumps(list(BOB))}


@pytest.mark.slow
def test_events_with_the_same_words_stay_apart_and_scopes_too(bank: MemoryBank) -> None:
    both = to_property_graph(bank, ANN)
    fill(bank, BOB_TOO)
    to_property_graph(bank, BOB_TOO, both)
    entities = [node for node in both.get() if isinstance(node, EntityNode)]
    assert len(entities) == 2 * len(MESSAGES)
    for first, relation, second in both.get_triplets(relation_names=["SameTopic"]):
        assert first.properties[SCOPE_KEY] == relation.properties[SCOPE_KEY] == second.properties[SCOPE_KEY]


BOB_TOO = ("acme", "bob", "too")


def test_quotation_marks_do_not_part_a_link_from_its_events() -> None:
    with MemoryBank.open(timelines=True) as bank:
        for number, text in enumerate(('I read "Ulysses" in Ghent.', 'I read "Ulysses" in Ghent again.')):
            bank.remember(ANN, [{"role": "user", "content": text}], session=str(number), close=True)
        assert len(bank.timelines.links(ANN)) == 1
        store = to_property_graph(bank, ANN)
        assert len(store.get_triplets(relation_names=["SameTopic"])) == 1
        assert len([node for node in store.get() if isinstance(node, EntityNode)]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("use_async", [False, True])
def test_a_property_graph_index_over_it_over_http(bank: MemoryBank, use_async: bool) -> None:
    with ScriptedServer("A new one.") as server:
        llm, embedding = HttpLLM(base_url=server.base_url), HttpEmbedding(base_url=server.base_url)
        vectors = SimpleVectorStore()
        for _ in range(2):  # the second copy takes the place of the first
            store = to_property_graph(bank, ANN, embed_model=embedding, vector_store=vectors)
        assert len(vectors.data.embedding_dict) == len(MESSAGES)
        index = PropertyGraphIndex.from_existing(
            store, vector_store=vectors, llm=llm, embed_model=embedding, use_async=use_async
        )
        by_vector = VectorContextRetriever(store, embed_model=embedding, vector_store=vectors, similarity_top_k=1)
        engine = RetrieverQueryEngine.from_args(index.as_retriever(sub_retrievers=[by_vector]), llm=llm)
        response = engine.query("the violin lessons stopped, the teacher moved away")
        assert str(response) == "A new one."
        prompt = server.requests[-1].text
    assert "-> SameTopic ->" in prompt
    assert "user: My violin teacher in Ghent moved away" in prompt, "the turns come with the relation"


def test_a_vector_goes_with_its_event(bank: MemoryBank) -> None:
    vectors, embedding = SimpleVectorStore(), MockEmbedding(embed_dim=4)
    store = to_property_graph(bank, ANN, embed_model=embedding, vector_store=vectors)
    bank.forget(ANN, turn_ids=["t2"])
    to_property_graph(bank, ANN, store, embed_model=embedding, vector_store=vectors)
    assert not [name for name in vectors.data.embedding_dict if "moved away" in name]
    assert set(vectors.data.embedding_dict) == {node.id for node in store.get() if isinstance(node, EntityNode)}


def test_a_vector_store_needs_vectors(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="needs an embed_model"):
        to_property_graph(bank, ANN, vector_store=SimpleVectorStore())


def test_every_relation_goes_there_and_back() -> None:
    events = tuple(Event(n, f"event {n}", DAY + timedelta(days=n), "s", (f"t{n}",)) for n in range(len(Relation) + 1))
    timeline = Timeline(events, tuple(Relation), text="All of it.")
    assert timeline_of(timeline_node(timeline, ANN)) == timeline
    assert timeline_of(TextNode(text="none")) is None
