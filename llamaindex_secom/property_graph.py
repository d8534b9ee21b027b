"""A scope's events and links as a LlamaIndex property graph (Theanine, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    VECTOR_SOURCE_KEY,
    EntityNode,
    PropertyGraphStore,
    Relation,
)
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput
from secom_core.timelines import Event, Link

from .convert import flat
from .timeline_nodes import event_fields, stable_id

SCOPE_KEY: Final = "secom_scope"
"""The property under which everything in a property graph names its scope, as a JSON list."""

_LABEL: Final = "EVENT"


def to_property_graph(
    bank: MemoryBank,
    scope: Sequence[str],
    store: PropertyGraphStore | None = None,
    *,
    embed_model: BaseEmbedding | None = None,
    vector_store: BasePydanticVectorStore | None = None,
) -> PropertyGraphStore:
    """Copy a scope's events and links into a property graph; an earlier copy of the scope is replaced.

    An event is an ``EntityNode`` labelled ``EVENT`` with the properties ``event_id``, ``text``, ``at``, ``session``,
    ``turn_ids`` (JSON) and ``secom_scope`` (JSON); a link is a ``Relation`` under its name, such as ``Cause``. The
    turns that events rest on come as text chunks, which the retrievers of ``PropertyGraphIndex`` show with a relation.
    What is forgotten in the bank stays in the copy until the next one is made.

    Args:
        bank: where the events are, opened with ``timelines``.
        scope: whose events. Several scopes may share a store; their nodes are never linked.
        store: any property graph store; a new ``SimplePropertyGraphStore`` unless given.
        embed_model: makes the vectors of the events, for retrievers by vector.
        vector_store: where the vectors go if ``store`` itself cannot search them.

    Returns:
        The store.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: the bank was opened without ``timelines``, or a vector store comes without an embedding model.
    """
    scope = check_scope(scope)
    if vector_store is not None and embed_model is None:
        raise InvalidInput("a vector store needs an embed_model, got None")
    events, links = bank.timelines.events(scope), bank.timelines.links(scope)
    chunks = _chunks(bank, scope, events)
    nodes = {each.id: _entity(each, scope, chunks[each.turn_ids].node_id) for each in events if each.turn_ids in chunks}
    relations = [_relation(link, nodes, scope) for link in links if {link.earlier, link.later} <= nodes.keys()]
    target = SimplePropertyGraphStore() if store is None else store
    _delete_scope(target, scope, vector_store)
    if embed_model is not None:
        _embed(list(nodes.values()), embed_model, vector_store)
    target.upsert_llama_nodes(list(chunks.values()))
    target.upsert_nodes(list(nodes.values()))
    target.upsert_relations(relations)
    return target


def _delete_scope(store: PropertyGraphStore, scope: Scope, vector_store: BasePydanticVectorStore | None) -> None:
    # All of the scope goes: the simple store deletes the neighbours of a node with it, and keeps old properties.
    mark = {SCOPE_KEY: flat(scope)}
    ids = [node.id for node in store.get(properties=mark)]
    if ids and vector_store is not None:
        vector_store.delete_nodes(ids)
    if ids:
        store.delete(properties=mark)


def _chunks(bank: MemoryBank, scope: Scope, events: Iterable[Event]) -> dict[tuple[str, ...], BaseNode]:
    """The turns that events rest on, as text chunks."""
    turns_of = {
        session: {turn.id: turn for turn in bank.turns(scope, session)}
        for session in dict.fromkeys(each.session for each in events)
    }
    chunks: dict[tuple[str, ...], BaseNode] = {}
    for event in events:
        in_session = turns_of[event.session]
        turns = [in_session[turn_id] for turn_id in event.turn_ids if turn_id in in_session]
        if turns and event.turn_ids not in chunks:
            metadata = {SCOPE_KEY: flat(scope), "session": event.session, "turn_ids": flat(event.turn_ids)}
            chunks[event.turn_ids] = TextNode(
                id_=stable_id([*scope, "turns", *event.turn_ids]),
                text="\n".join(turn.text for turn in turns),
                metadata=metadata,
                excluded_embed_metadata_keys=list(metadata),
                excluded_llm_metadata_keys=list(metadata),
            )
    return chunks


def _entity(event: Event, scope: Scope, source: str) -> EntityNode:
    values = event_fields(event)
    # The name is the id of a node: people can read it, and no other event and no other scope has it.
    tag = stable_id([*scope, "event", str(event.id)])[:8]
    return EntityNode(
        name=f"{event.at:%Y-%m-%d}: {event.text} [{tag}]",
        label=_LABEL,
        properties={
            **{key: values[key] for key in ("text", "at", "session")},
            "event_id": event.id,
            "turn_ids": flat(event.turn_ids),
            SCOPE_KEY: flat(scope),
            TRIPLET_SOURCE_KEY: source,
        },
    )


def _relation(link: Link, nodes: dict[int, EntityNode], scope: Scope) -> Relation:
    return Relation(
        label=link.relation.value,
        source_id=nodes[link.earlier].id,
        target_id=nodes[link.later].id,
        properties={SCOPE_KEY: flat(scope)},
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
