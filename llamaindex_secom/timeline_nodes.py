"""Timelines as nodes, and back (Theanine, section 2)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Final

from llama_index.core.schema import BaseNode, NodeWithScore, TextNode

from secom_core.conversation import Scope, check_scope
from secom_core.timelines import Event, Relation, Timeline
from secom_core.timelines.refinement import timeline_lines

from .convert import flat

_NAMESPACE: Final = uuid.UUID("7d0f6a52-3c58-5b0e-9d5c-74696d656c6e")


def timeline_node(
    timeline: Timeline,
    scope: Sequence[str],
    *,
    rank: int = 1,
    score: float | None = None,
    visible_metadata: Collection[str] = (),
    node_ids: Sequence[str] = (),
) -> NodeWithScore:
    """A timeline as a node: its text, and in flat metadata the events, relations and turns that it rests on.

    ``events`` lists the events, oldest first, each with its ``id``, ``text``, ``at``, ``session`` and ``turn_ids``;
    ``relations`` the name of each relation between one event and the next; ``turn_ids`` and ``sessions`` those of all
    events; ``scope`` whose they are; lists are JSON. ``refined`` says whether a language model wrote the text;
    ``begin`` and ``end`` come with them. The id of the node depends on the events, not on who wrote the text.

    Args:
        timeline: events and relations.
        scope: whose they are.
        rank: its place among those found, from 1.
        score: the higher, the better; 1 divided by ``rank`` unless given.
        visible_metadata: the metadata keys that the language model and the embedder see; none unless given.
        node_ids: the ids of the nodes that it replaces, kept under ``node_ids``.
    """
    scope = check_scope(scope)
    # Nothing that depends on the query: fusion adds up what several queries found by text and metadata.
    metadata = {**_metadata(timeline, scope), **({"node_ids": flat(node_ids)} if node_ids else {})}
    hidden = [key for key in metadata if key not in visible_metadata]
    node = TextNode(
        id_=stable_id([*scope, "timeline", *(str(event.id) for event in timeline.events)]),
        text=timeline.text if timeline.text is not None else "\n".join(timeline_lines(timeline)),
        metadata=metadata,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=list(hidden),
    )
    return NodeWithScore(node=node, score=1 / rank if score is None else score)


def timeline_of(node: NodeWithScore | BaseNode) -> Timeline | None:
    """The timeline that a node was made from, without its hits; nothing for a node of another origin."""
    metadata = node.metadata
    if not {"events", "relations", "refined"} <= metadata.keys():
        return None
    inner = node.node if isinstance(node, NodeWithScore) else node
    return Timeline(
        tuple(_event(each) for each in json.loads(metadata["events"])),
        tuple(map(Relation, json.loads(metadata["relations"]))),
        text=inner.get_content() if metadata["refined"] else None,
    )


def _metadata(timeline: Timeline, scope: Scope) -> dict[str, Any]:
    events = timeline.events
    return {
        "events": json.dumps([event_fields(each) for each in events], ensure_ascii=False),
        "relations": flat([relation.value for relation in timeline.relations]),
        "refined": timeline.text is not None,
        "turn_ids": flat(timeline.turn_ids),
        "sessions": flat(list(dict.fromkeys(event.session for event in events))),
        "scope": flat(scope),
        "begin": events[0].at.isoformat(),
        "end": events[-1].at.isoformat(),
    }


def event_fields(event: Event) -> dict[str, Any]:
    """An event as JSON can hold it."""
    return {
        "id": event.id,
        "text": event.text,
        "at": event.at.isoformat(),
        "session": event.session,
        "turn_ids": list(event.turn_ids),
    }


def _event(values: dict[str, Any]) -> Event:
    at = datetime.fromisoformat(values["at"])
    return Event(values["id"], values["text"], at, values["session"], tuple(values["turn_ids"]))


def stable_id(parts: Sequence[str]) -> str:
    """A UUID that is the same for the same parts."""
    return str(uuid.uuid5(_NAMESPACE, flat(parts)))
