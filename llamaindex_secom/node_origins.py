"""The origin of a node: the memory that it was made from, and the part of it that is still in the bank."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from llama_index.core.schema import BaseNode, NodeWithScore

from secom_core.bank import MemoryBank
from secom_core.context.replacing import replacements_of_json, text_with_marks
from secom_core.conversation import Scope, Turn, check_scope
from secom_core.errors import InvalidScope
from secom_core.memory import Hit, Memory, Passage

from .convert import metadata_of

_OF_TURNS: Final = frozenset({"turn_ids", "speakers", "begin", "end"})


@dataclass(frozen=True, slots=True)
class Origin:
    """The memory that a node was made from.

    Args:
        scope: whose memory it is.
        memory_id: the id of the memory.
        session: the session of the memory.
        turn_ids: the turns of the memory that the node shows.
        excerpts: what it shows of those that it shows in part, as `convert.to_node` has it.
        replaced: what of them holds no more, in the same way.
    """

    scope: Scope
    memory_id: str
    session: str
    turn_ids: tuple[str, ...]
    excerpts: tuple[Mapping[str, Any], ...] = ()
    replaced: tuple[Mapping[str, Any], ...] = ()


def origin_of(node: NodeWithScore | BaseNode) -> Origin | None:
    """The memory that a node was made from, read from its metadata; nothing for a node of another origin."""
    metadata = node.metadata
    memory_id, session = metadata.get("secom_memory_id"), metadata.get("session")
    turn_ids = string_list(metadata.get("turn_ids"))
    try:
        scope = check_scope(string_list(metadata.get("scope")))
    except InvalidScope:
        return None
    if not (isinstance(memory_id, str) and isinstance(session, str) and turn_ids):
        return None
    excerpts, replaced = (_records(metadata.get(key)) for key in ("excerpts", "replaced"))
    return Origin(scope, memory_id, session, turn_ids, excerpts, replaced)


def _records(value: Any) -> tuple[Mapping[str, Any], ...]:
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return ()
    return tuple(each for each in value if isinstance(each, dict)) if isinstance(value, list) else ()


def string_list(value: Any) -> tuple[str, ...]:
    """The strings of a list in metadata, as such or as JSON; none where other software means something else by it."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return ()
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, (list, tuple)) else ()


@dataclass(frozen=True, slots=True)
class LocatedNode:
    """A node and the part of its memory that is still in the bank.

    Args:
        node: the node as given; a copy with the remaining words where some of its turns were forgotten.
        scope: whose memory it is; nothing for a node of another origin.
        hit: the memory, with the turns that the node shows; nothing for a node of another origin.
    """

    node: NodeWithScore
    scope: Scope | None = None
    hit: Hit | None = None


def locate(bank: MemoryBank, nodes: Iterable[NodeWithScore]) -> list[LocatedNode]:
    """Look up the memories of nodes. Nodes whose turns were forgotten since are left out.

    Args:
        bank: where the memories are.
        nodes: nodes of any origin.

    Raises:
        StoreError: the store failed.
    """
    memories: dict[tuple[Scope, str], Sequence[Memory]] = {}
    found: list[LocatedNode] = []
    for node in nodes:
        origin = origin_of(node)
        if origin is None:
            found.append(LocatedNode(node))
            continue
        session = origin.scope, origin.session
        if session not in memories:
            memories[session] = bank.memories(*session)
        hit = _hit(memories[session], origin)
        if hit is not None:
            found.append(LocatedNode(_remaining(node, origin, hit), origin.scope, hit))
    return found


def _hit(memories: Sequence[Memory], origin: Origin) -> Hit | None:
    # The end of an open session is segmented again with every turn, which changes the ids of its memories: then the
    # memory is found by its turns.
    for memory in sorted(memories, key=lambda each: each.id != origin.memory_id):
        turns = tuple(turn for turn in memory.turns if turn.id in origin.turn_ids)
        if turns:
            return Hit(memory, turns, 0.0, excerpts=tuple(_passages(turns, origin.excerpts)))
    return None


def _passages(turns: Sequence[Turn], excerpts: Iterable[Mapping[str, Any]]) -> Iterator[Passage]:
    """The excerpts of those turns that are still there."""
    for turn in turns:
        places = {message.id: place for place, message in enumerate(turn.messages)}
        for each in excerpts:
            place, start, stop = places.get(each.get("message_id")), each.get("start"), each.get("stop")
            if each.get("turn_id") != turn.id or place is None:
                continue
            if isinstance(start, int) and isinstance(stop, int) and 0 <= start < stop <= len(turn.messages[place].text):
                yield Passage(turn, place, start, stop)


def _remaining(node: NodeWithScore, origin: Origin, hit: Hit) -> NodeWithScore:
    if set(origin.turn_ids) <= {turn.id for turn in hit.memory.turns}:
        return node
    copy = node.node.model_copy(deep=True)
    marks = {turn.id: tuple(replacements_of_json(turn, origin.replaced)) for turn in hit.turns}
    copy.set_content(text_with_marks(replace(hit, replaced=marks)))
    kept = {key: value for key, value in copy.metadata.items() if key not in _OF_TURNS}
    copy.metadata = {**kept, **metadata_of(hit.turns)}
    for key, records in {"excerpts": origin.excerpts, "replaced": origin.replaced}.items():
        if records:
            left = [each for each in records if each.get("turn_id") in hit.turn_ids]
            copy.metadata[key] = json.dumps(left, ensure_ascii=False)
    return NodeWithScore(node=copy, score=node.score)
