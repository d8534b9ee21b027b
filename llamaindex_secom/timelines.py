"""How things came about, for LlamaIndex: timelines as nodes, and their events in a property graph (Theanine)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    VECTOR_SOURCE_KEY,
    EntityNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms.llm import LLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from typing_extensions import Self

from secom_core.bank import MemoryBank
from secom_core.context import fitted_timelines
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput
from secom_core.flow import ChatModel, run
from secom_core.memory import Event, Link, Timeline
from secom_core.memory import Relation as EventRelation
from secom_core.prompts.refinement import timeline_lines
from secom_core.timeline.graph import MemoryGraph
from secom_core.timeline.refinement import refine
from secom_core.timeline.retrieval import timelines

from .models import as_chat_model
from .retriever import SecomRetriever

__all__ = [
    "SCOPE_KEY",
    "TimelinePostprocessor",
    "TimelineRetriever",
    "timeline_node",
    "timeline_of",
    "to_property_graph",
]

SCOPE_KEY: Final = "secom_scope"
"""The property under which everything in a property graph names its scope, as a JSON list."""

_NAMESPACE: Final = uuid.UUID("7d0f6a52-3c58-5b0e-9d5c-74696d656c6e")
_LABEL: Final = "EVENT"

_dispatcher = get_dispatcher(__name__)


class TimelineRetriever(SecomRetriever):
    """Finds what led to what, a node a timeline: events of closed sessions, each linked to the next.

    A node holds the timeline rewritten for the query where the bank has a language model, else its events, a line
    each; its metadata says which events, relations and turns it rests on (`timeline_node`).

    Args:
        bank: where the events are; one that keeps timelines.
        scope: whose events; always given, and nothing outside it is found.
        k: how many events the query finds; as the bank's options say unless given.
        n: how many timelines are drawn for each, at most; the same.
        seed: what the draw depends on; the same seed gives the same timelines.
        refined: have the bank's language model, where there is one, rewrite them for the query (Theanine eq. 11).
        token_budget: how long they may be together, in the bank's token counter; one that is too long is cut around
            the event that was found. All are given whole unless it is given.
        order: ``"score"`` gives those of the best event first, ``"time"`` those that begin earliest.
        empty: the text of the one node that comes back where nothing is found; no node unless given.
        shown: the keys of the metadata that language model and embedder are shown too, such as ``["sessions"]``.
        **options: ``callback_manager``, ``objects``, ``object_map`` and ``verbose`` of ``BaseRetriever``.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: the bank keeps no timelines, or a number is below 1.
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
        shown: Collection[str] = (),
        **options: Any,
    ) -> None:
        bank.check_keeps(timelines=True)
        for name, value in (("k", k), ("n", n), ("token_budget", token_budget)):
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is a whole number from 1 on, got {value!r}")
        self._n = n
        self._seed = seed
        self._refined = refined
        self._shown = frozenset(shown)
        super().__init__(bank, scope, k=k, token_budget=token_budget, order=order, empty=empty, **options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._bank.timelines(
            self._scope, query_bundle.query_str, k=self._k, n=self._n, seed=self._seed, refined=self._refined
        )
        fitted, _ = fitted_timelines(found, self._token_budget, 1.0, self._bank.token_counter)
        ranked = list(enumerate(fitted, start=1))
        if self._order == "time":
            ranked.sort(key=lambda each: each[1].events[0].order)
        return [timeline_node(each, self._scope, rank=rank, shown=self._shown) for rank, each in ranked] or (
            self._neutral()
        )


def timeline_node(
    timeline: Timeline,
    scope: Sequence[str],
    *,
    rank: int = 1,
    score: float | None = None,
    shown: Collection[str] = (),
    node_ids: Sequence[str] = (),
) -> NodeWithScore:
    """A timeline as a node: its text, and in flat metadata what it rests on.

    ``events`` lists the events, oldest first, each with its ``id``, ``text``, ``at``, ``session`` and ``turn_ids``;
    ``relations`` the name of each relation between one event and the next; ``turn_ids`` and ``sessions`` those of all
    events; ``scope`` whose they are; lists are JSON. ``refined`` says whether a language model wrote the text;
    ``begin`` and ``end`` come with them. The node id is that of the events, whoever wrote the text.

    Args:
        timeline: events and relations.
        scope: whose they are.
        rank: its place among those found, from 1.
        score: the higher, the better; 1 divided by ``rank`` unless given.
        shown: the keys of the metadata that language model and embedder are shown too.
        node_ids: the nodes whose place it takes, kept under ``node_ids``.
    """
    scope = check_scope(scope)
    # Nothing that depends on the query: fusion adds up what several queries found by text and metadata.
    metadata = {**_about(timeline, scope), **({"node_ids": _flat(node_ids)} if node_ids else {})}
    hidden = [key for key in metadata if key not in shown]
    node = TextNode(
        id_=_id([*scope, "timeline", *(str(event.id) for event in timeline.events)]),
        text=timeline.text if timeline.text is not None else "\n".join(timeline_lines(timeline)),
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=list(hidden),
    )
    return NodeWithScore(node=node, score=1 / rank if score is None else score)


def timeline_of(node: NodeWithScore | BaseNode) -> Timeline | None:
    """The timeline that a node of ours holds, without its hits; nothing for a node of another origin."""
    about = node.metadata
    if not {"events", "relations", "refined"} <= about.keys():
        return None
    held = node.node if isinstance(node, NodeWithScore) else node
    return Timeline(
        tuple(_event(each) for each in json.loads(about["events"])),
        tuple(map(EventRelation, json.loads(about["relations"]))),
        text=held.get_content() if about["refined"] else None,
    )


def _about(timeline: Timeline, scope: Scope) -> dict[str, Any]:
    events = timeline.events
    return {
        "events": json.dumps([_told(each) for each in events], ensure_ascii=False),
        "relations": _flat([relation.value for relation in timeline.relations]),
        "refined": timeline.text is not None,
        "turn_ids": _flat(timeline.turn_ids),
        "sessions": _flat(list(dict.fromkeys(event.session for event in events))),
        "scope": _flat(scope),
        "begin": events[0].at.isoformat(),
        "end": events[-1].at.isoformat(),
    }


def _told(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "text": event.text,
        "at": event.at.isoformat(),
        "session": event.session,
        "turn_ids": list(event.turn_ids),
    }


def _event(told: dict[str, Any]) -> Event:
    at = datetime.fromisoformat(told["at"])
    return Event(told["id"], told["text"], at, told["session"], tuple(told["turn_ids"]))


class TimelinePostprocessor(BaseNodePostprocessor):
    """Turns what any retriever over a bank found into timelines (Theanine, section 2.2).

    A node that names its turns in its metadata (``turn_ids``, as the nodes of `SecomRetriever` and `TopicNodeParser`
    do) gives way to the timelines of the events that rest on them; one that several nodes share takes the place of the
    first and has the best of their scores. Nodes that no event rests on stay, and so do nodes of another scope and
    those that are timelines already. The nodes given are not changed.

    Args:
        bank: where the events are; one that keeps timelines.
        scope: whose events.
        llm: a language model of LlamaIndex or of the core that rewrites the timelines for the query; none unless given.
        n: how many timelines are drawn for an event, at most.
        seed: what the draw depends on.
        keep_nodes: keep the nodes too, each before its timelines.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: no bank is given, or it keeps no timelines.
    """

    model_config = ConfigDict(extra="forbid")

    scope: tuple[str, ...]
    n: int = Field(default=1, ge=1, description="How many timelines are drawn for an event, at most.")
    seed: int = Field(default=0, description="What the draw depends on.")
    keep_nodes: bool = Field(default=False, description="Keep the nodes too, each before its timelines.")
    refined: bool = Field(default=False, description="Whether a language model rewrites the timelines.")
    _bank: MemoryBank = PrivateAttr()
    _model: ChatModel | None = PrivateAttr()

    def __init__(
        self,
        bank: MemoryBank | None = None,
        scope: Sequence[str] | None = None,
        *,
        llm: LLM | ChatModel | None = None,
        **data: Any,
    ) -> None:
        checked = check_scope(scope if scope is not None else ())
        if not isinstance(bank, MemoryBank):
            raise InvalidInput(f"TimelinePostprocessor needs a bank, which JSON cannot hold; got {bank!r}")
        bank.check_keeps(timelines=True)
        data.pop("class_name", None)  # dumps have it
        if data.pop("refined", False) and llm is None:
            raise InvalidInput("this was made with a language model, which JSON cannot hold: pass llm= again")
        super().__init__(**{**data, "scope": checked, "refined": llm is not None})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._model = bank, as_chat_model(llm) if llm is not None else None

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
            done = self._replaced(nodes, query)
            event.on_end(payload={EventPayload.NODES: done})
        _dispatcher.event(ReRankEndEvent(nodes=done))
        return done

    def _replaced(self, nodes: Sequence[NodeWithScore], query: str) -> list[NodeWithScore]:
        named = [_turns_named(each, self.scope) for each in nodes]
        if not any(named):
            return list(nodes)
        events = self._bank.events(self.scope)
        of_turn = _events_of_turns(events)
        resting = [{each: None for turn_id in held for each in of_turn.get(turn_id, ())} for held in named]
        found = self._drawn(events, [event_id for held in resting for event_id in held], query)
        of_place: dict[int, list[NodeWithScore]] = {}
        for rank, timeline in enumerate(found, start=1):
            places = [place for place, held in enumerate(resting) if not held.keys().isdisjoint(timeline.hits)]
            of_place.setdefault(places[0], []).append(self._node(timeline, [nodes[place] for place in places], rank))
        done: list[NodeWithScore] = []
        for place, node in enumerate(nodes):
            done += [node] if self.keep_nodes or not resting[place] else []
            done += of_place.get(place, [])
        return done

    def _drawn(self, events: Sequence[Event], hits: Sequence[int], query: str) -> list[Timeline]:
        if not hits:
            return []
        found = timelines(_graph(events, self._bank.links(self.scope)), hits, n=self.n, seed=self.seed)
        return run(refine(found, query), self._model) if self._model is not None and query.strip() else found

    def _node(self, timeline: Timeline, sources: Sequence[NodeWithScore], rank: int) -> NodeWithScore:
        score = max((each.score for each in sources if each.score is not None), default=None)
        made = timeline_node(timeline, self.scope, rank=rank, node_ids=[each.node.node_id for each in sources])
        made.score = score
        return made


def _turns_named(node: NodeWithScore, scope: Scope) -> list[str]:
    """The turns of the scope that a node names; ids are unique within a scope only."""
    about = node.metadata
    if timeline_of(node) is not None or _listed(about.get("scope", list(scope))) != list(scope):
        return []
    return _listed(about.get("turn_ids", []))


def _listed(value: Any) -> list[str]:
    """A list, as such or as JSON; nothing where other software means something else by the key."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [each for each in value if isinstance(each, str)] if isinstance(value, (list, tuple)) else []


def _events_of_turns(events: Iterable[Event]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for event in events:
        for turn_id in event.turn_ids:
            found.setdefault(turn_id, []).append(event.id)
    return found


def _graph(events: Iterable[Event], links: Iterable[Link]) -> MemoryGraph:
    graph = MemoryGraph()
    arriving: dict[int, list[Link]] = {}
    for link in links:
        arriving.setdefault(link.later, []).append(link)
    for event in events:
        # Links are read after the events, and may lead from one that came in between.
        graph.add(event, [link for link in arriving.get(event.id, ()) if link.earlier in graph])
    return graph


# -- property graph -------------------------------------------------------------------------------------------------


def to_property_graph(
    bank: MemoryBank,
    scope: Sequence[str],
    store: PropertyGraphStore | None = None,
    *,
    embed_model: BaseEmbedding | None = None,
    vector_store: BasePydanticVectorStore | None = None,
) -> PropertyGraphStore:
    """Copy a scope's events and links into a property graph, in place of what an earlier copy of the scope put there.

    An event is an ``EntityNode`` labelled ``EVENT`` with the properties ``event_id``, ``text``, ``at``, ``session``,
    ``turn_ids`` (JSON) and ``secom_scope`` (JSON); a link is a ``Relation`` under its name, such as ``Cause``. The
    turns that events rest on come as text chunks, which the retrievers of ``PropertyGraphIndex`` show with a relation.
    It is a copy: what is forgotten in the bank is in there until the next one.

    Args:
        bank: where the events are; one that keeps timelines.
        scope: whose events. Several scopes may share a store; their nodes never meet.
        store: any property graph store; a new ``SimplePropertyGraphStore`` unless given.
        embed_model: makes the events' vectors, for retrievers by vector.
        vector_store: where vectors go that ``store`` itself cannot search.

    Returns:
        The store.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: the bank keeps no timelines, or a vector store comes without an embedding model.
    """
    scope = check_scope(scope)
    if vector_store is not None and embed_model is None:
        raise InvalidInput("a vector store needs an embed_model, got None")
    events, links = bank.events(scope), bank.links(scope)
    chunks = _chunks(bank, scope, events)
    nodes = {each.id: _entity(each, scope, chunks[each.turn_ids].node_id) for each in events if each.turn_ids in chunks}
    relations = [_relation(link, nodes, scope) for link in links if {link.earlier, link.later} <= nodes.keys()]
    target = SimplePropertyGraphStore() if store is None else store
    _empty(target, scope, vector_store)
    if embed_model is not None:
        _embed(list(nodes.values()), embed_model, vector_store)
    target.upsert_llama_nodes(list(chunks.values()))
    target.upsert_nodes(list(nodes.values()))
    target.upsert_relations(relations)
    return target


def _empty(store: PropertyGraphStore, scope: Scope, vector_store: BasePydanticVectorStore | None) -> None:
    # All of the scope goes: the simple store deletes the neighbours of a node with it, and keeps old properties.
    mark = {SCOPE_KEY: _flat(scope)}
    held = [node.id for node in store.get(properties=mark)]
    if held and vector_store is not None:
        vector_store.delete_nodes(held)
    if held:
        store.delete(properties=mark)


def _chunks(bank: MemoryBank, scope: Scope, events: Iterable[Event]) -> dict[tuple[str, ...], BaseNode]:
    """The turns that events rest on, as text chunks."""
    said = {
        session: {turn.id: turn for turn in bank.turns(scope, session)}
        for session in dict.fromkeys(each.session for each in events)
    }
    found: dict[tuple[str, ...], BaseNode] = {}
    for event in events:
        turns = [said[event.session][turn_id] for turn_id in event.turn_ids if turn_id in said[event.session]]
        if turns and event.turn_ids not in found:
            about = {SCOPE_KEY: _flat(scope), "session": event.session, "turn_ids": _flat(event.turn_ids)}
            found[event.turn_ids] = TextNode(
                id_=_id([*scope, "turns", *event.turn_ids]),
                text="\n".join(turn.text for turn in turns),
                metadata=about,
                excluded_embed_metadata_keys=list(about),
                excluded_llm_metadata_keys=list(about),
            )
    return found


def _entity(event: Event, scope: Scope, source: str) -> EntityNode:
    told = _told(event)
    about = {key: told[key] for key in ("text", "at", "session")}
    # A node goes by its name: one that people can read, and that no other event and no other scope has.
    tag = _id([*scope, "event", str(event.id)])[:8]
    return EntityNode(
        name=f"{event.at:%Y-%m-%d}: {event.text} [{tag}]",
        label=_LABEL,
        properties={
            **about,
            "event_id": event.id,
            "turn_ids": _flat(event.turn_ids),
            SCOPE_KEY: _flat(scope),
            TRIPLET_SOURCE_KEY: source,
        },
    )


def _relation(link: Link, nodes: dict[int, EntityNode], scope: Scope) -> Relation:
    return Relation(
        label=link.relation.value,
        source_id=nodes[link.earlier].id,
        target_id=nodes[link.later].id,
        properties={SCOPE_KEY: _flat(scope)},
    )


def _embed(nodes: Sequence[EntityNode], model: BaseEmbedding, vector_store: BasePydanticVectorStore | None) -> None:
    vectors = model.get_text_embedding_batch([str(node.properties["text"]) for node in nodes])
    if vector_store is None:
        for node, vector in zip(nodes, vectors, strict=True):
            node.embedding = vector
        return
    vector_store.add(
        [
            TextNode(
                id_=node.id,
                text=str(node.properties["text"]),
                metadata={VECTOR_SOURCE_KEY: node.id, SCOPE_KEY: node.properties[SCOPE_KEY]},
                embedding=vector,
            )
            for node, vector in zip(nodes, vectors, strict=True)
        ]
    )


def _flat(parts: Sequence[str]) -> str:
    return json.dumps(list(parts), ensure_ascii=False)


def _id(parts: Sequence[str]) -> str:
    return str(uuid.uuid5(_NAMESPACE, _flat(parts)))
