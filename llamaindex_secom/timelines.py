"""Retrieval of timelines for LlamaIndex: how what a query asks about came about (Theanine, section 2.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms.llm import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import Self, Unpack

from secom_core.bank import MemoryBank, check_bank
from secom_core.bank.checks import check_count
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput, shorten
from secom_core.llm.flow import ChatModel, run
from secom_core.timelines import Event, Timeline
from secom_core.timelines.graph import MemoryGraph
from secom_core.timelines.layer import TimelineLayer
from secom_core.timelines.refinement import refine
from secom_core.timelines.retrieval import timelines

from .arguments import PostprocessorFields, RetrieverFields, refuse_unknown
from .models import as_chat_model
from .node_origins import string_list
from .pickling import by_saved_form
from .retriever import SecomRetriever
from .timeline_nodes import timeline_node, timeline_of

_dispatcher = get_dispatcher(__name__)


class TimelineRetriever(SecomRetriever):
    """Retrieves timelines, each as a node: events of closed sessions, each linked to the next.

    A node holds the timeline rewritten for the query if the bank has a language model, else its events, a line
    each; its metadata lists the events, relations and turns that it rests on
    (`llamaindex_secom.timeline_nodes.timeline_node`).

    Args:
        bank: where the events are, opened with ``timelines``.
        scope: whose events; always given, and nothing outside it is found.
        k: how many events the query finds; as the bank's `TimelineOptions` say unless given.
        n: how many timelines are drawn for each event, at most; as the bank's `TimelineOptions` say unless given.
        seed: the seed of the draw; the same seed gives the same timelines.
        refined: have the bank's language model, if there is one, rewrite them for the query (Theanine eq. 11).
        token_budget: the length of the timelines together, in the bank's token counter; one that is too long is cut
            around the event that was found. All are returned whole unless it is given.
        order: ``"score"`` returns those of the best event first, ``"time"`` those that begin earliest.
        empty: the text of the single node that comes back if nothing is found; no node unless given.
        visible_metadata: the metadata keys that the language model and the embedder see, such as ``["sessions"]``.
        **options: ``callback_manager``, ``objects``, ``object_map`` and ``verbose`` of ``BaseRetriever``.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: the bank was opened without ``timelines``, or a number is below 1.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Sequence[str],
        *,
        k: int | None = None,
        n: int | None = None,
        seed: int = 0,
        refined: bool = True,
        token_budget: int | None = None,
        order: Literal["score", "time"] = "score",
        empty: str | None = None,
        visible_metadata: Collection[str] = (),
        **options: Unpack[RetrieverFields],
    ) -> None:
        layer = check_bank(bank, "TimelineRetriever").timelines
        if n is not None:
            check_count("n", n)
        if isinstance(visible_metadata, str) or not isinstance(visible_metadata, Collection):
            got = shorten(visible_metadata)
            raise InvalidInput(f"visible_metadata are keys of the metadata, such as ['sessions'], got {got}")
        self._draw: dict[str, Any] = {"n": n, "seed": seed, "refined": refined}
        self._visible_metadata = frozenset(visible_metadata)
        super().__init__(bank, scope, token_budget=token_budget, k=k, layers=(), order=order, empty=empty, **options)
        self._timelines = layer

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._recall_options
        found = self._timelines.find(
            self._scope, query_bundle.query_str, k=options.k, token_budget=options.token_budget, **self._draw
        )
        ranked = list(enumerate(found, start=1))
        if self._order == "time":
            ranked.sort(key=lambda each: each[1].events[0].order)
        return [
            timeline_node(each, self._scope, rank=rank, visible_metadata=self._visible_metadata)
            for rank, each in ranked
        ] or self._neutral()


class TimelinePostprocessor(BaseNodePostprocessor):
    """Replaces the nodes that any retriever over a bank found by timelines of their events (Theanine, section 2.2).

    A node that names its turns in its metadata (``turn_ids``, as the nodes of `SecomRetriever` and `SegmentNodeParser`
    do) is replaced by the timelines of the events that rest on them. A timeline of several nodes takes the place of the
    first and has the best of their scores. Nodes that no event rests on stay, and so do nodes of another scope and
    those that are timelines already. The nodes given are not changed.

    Args:
        bank: where the events are, opened with ``timelines``.
        scope: whose events.
        llm: a language model of LlamaIndex or of the core that rewrites the timelines for the query; none unless given.
        n: how many timelines are drawn for an event, at most.
        seed: the seed of the draw.
        keep_nodes: keep the nodes too, each before its timelines.
        refined: whether it was made with an ``llm``; a saved form says so.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: no bank is given, or it was opened without ``timelines``.
    """

    model_config = ConfigDict(extra="forbid")

    scope: tuple[str, ...]
    n: int = Field(default=1, ge=1, description="How many timelines are drawn for an event, at most.")
    seed: int = Field(default=0, description="The seed of the draw.")
    keep_nodes: bool = Field(default=False, description="Keep the nodes too, each before its timelines.")
    refined: bool = Field(default=False, description="Whether a language model rewrites the timelines.")
    _timelines: TimelineLayer = PrivateAttr()
    _model: ChatModel | None = PrivateAttr()

    def __init__(
        self,
        bank: MemoryBank | None = None,
        scope: Sequence[str] | None = None,
        *,
        llm: LLM | ChatModel | None = None,
        n: int = 1,
        seed: int = 0,
        keep_nodes: bool = False,
        refined: bool = False,
        **fields: Unpack[PostprocessorFields],
    ) -> None:
        checked = check_scope(scope if scope is not None else ())
        if bank is None:
            raise InvalidInput("TimelinePostprocessor needs a bank, which JSON cannot hold: pass bank= again")
        layer = check_bank(bank, "TimelinePostprocessor").timelines
        takes = TimelinePostprocessor.__init__
        refuse_unknown("TimelinePostprocessor", takes, fields.keys(), besides=type(self).model_fields)
        fields.pop("class_name", None)  # dumps have it
        if refined and llm is None:
            raise InvalidInput("this was made with a language model, which JSON cannot hold: pass llm= again")
        values: dict[str, Any] = {"n": n, "seed": seed, "keep_nodes": keep_nodes, "refined": llm is not None}
        super().__init__(**{"scope": checked, **values, **fields})
        # Private attributes that are set before super().__init__() are lost.
        self._timelines, self._model = layer, as_chat_model(llm) if llm is not None else None

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "TimelinePostprocessor"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Make it again from `to_dict`; the bank has to be passed again, and so has the language model.

        Raises:
            InvalidInput: ``bank`` is not given, or ``llm`` is not where there was one.
        """
        return cls(**{**data, **kwargs})

    def __reduce__(self) -> tuple[Any, ...]:
        return by_saved_form(self)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = query_bundle.query_str if query_bundle is not None else ""
        model = getattr(self._model, "name", type(self._model).__name__) if self._model is not None else ""
        _dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=len(nodes), model_name=model))
        payload: dict[str, Any] = {
            EventPayload.NODES: nodes,
            EventPayload.QUERY_STR: query,
            EventPayload.MODEL_NAME: model,
        }
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            replaced = self._replaced(nodes, query)
            event.on_end(payload={EventPayload.NODES: replaced})
        _dispatcher.event(ReRankEndEvent(nodes=replaced))
        return replaced

    def _replaced(self, nodes: Sequence[NodeWithScore], query: str) -> list[NodeWithScore]:
        turn_ids = [_turn_ids(each, self.scope) for each in nodes]
        if not any(turn_ids):
            return list(nodes)
        events = self._timelines.events(self.scope)
        of_turn = _event_ids_by_turn(events)
        event_ids = [{each: None for turn_id in ids for each in of_turn.get(turn_id, ())} for ids in turn_ids]
        drawn = self._drawn(events, [event_id for ids in event_ids for event_id in ids], query)
        of_place: dict[int, list[NodeWithScore]] = {}
        for rank, timeline in enumerate(drawn, start=1):
            places = [place for place, ids in enumerate(event_ids) if not ids.keys().isdisjoint(timeline.hits)]
            of_place.setdefault(places[0], []).append(self._node(timeline, [nodes[place] for place in places], rank))
        replaced: list[NodeWithScore] = []
        for place, node in enumerate(nodes):
            replaced += [node] if self.keep_nodes or not event_ids[place] else []
            replaced += of_place.get(place, [])
        return replaced

    def _drawn(self, events: Sequence[Event], hits: Sequence[int], query: str) -> list[Timeline]:
        if not hits:
            return []
        graph = MemoryGraph()
        # Links are read after the events, and may lead from one that came in between.
        graph.extend(events, self._timelines.links(self.scope))
        drawn = timelines(graph, hits, n=self.n, seed=self.seed)
        return run(refine(drawn, query), self._model) if self._model is not None and query.strip() else drawn

    def _node(self, timeline: Timeline, sources: Sequence[NodeWithScore], rank: int) -> NodeWithScore:
        score = max((each.score for each in sources if each.score is not None), default=None)
        node = timeline_node(timeline, self.scope, rank=rank, node_ids=[each.node.node_id for each in sources])
        node.score = score
        return node


def _turn_ids(node: NodeWithScore, scope: Scope) -> tuple[str, ...]:
    """The turns of the scope that a node names; turn ids are unique within a scope only."""
    metadata = node.metadata
    if timeline_of(node) is not None or string_list(metadata.get("scope", list(scope))) != scope:
        return ()
    return string_list(metadata.get("turn_ids"))


def _event_ids_by_turn(events: Iterable[Event]) -> dict[str, list[int]]:
    event_ids: dict[str, list[int]] = {}
    for event in events:
        for turn_id in event.turn_ids:
            event_ids.setdefault(turn_id, []).append(event.id)
    return event_ids
