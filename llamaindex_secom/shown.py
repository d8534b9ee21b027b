"""Nodes on their way through the framework: which memory one holds, and what an answer may cite."""

from __future__ import annotations

import json
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from llama_index.core.schema import BaseNode, NodeWithScore

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput, InvalidScope
from secom_core.memory import Decision, Hit, Memory
from secom_core.reflection.reranker import Draw

from .memory import _banks

__all__ = [
    "Asked",
    "Located",
    "Origin",
    "as_shown",
    "awaited",
    "decisions_of",
    "learning_bank",
    "located",
    "origin_of",
    "scores_of",
    "wait_for",
]

_Value = TypeVar("_Value")

_MOST: Final = 1024
"""So many answers are waited for in a process; of the oldest beyond that, none is expected any more."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a node of ours comes from.

    Args:
        scope: whose memory it is.
        memory_id: the memory that it holds.
        session: the session of that memory.
        turn_ids: the turns that the node shows.
    """

    scope: Scope
    memory_id: str
    session: str
    turn_ids: tuple[str, ...]


def origin_of(node: NodeWithScore | BaseNode) -> Origin | None:
    """What the metadata of a node of ours says; nothing for a node of another origin."""
    about = node.metadata
    memory_id, session = about.get("secom_memory_id"), about.get("session")
    turn_ids = _listed(about.get("turn_ids"))
    try:
        scope = check_scope(_listed(about.get("scope")))
    except InvalidScope:
        return None
    if not (isinstance(memory_id, str) and isinstance(session, str) and turn_ids):
        return None
    return Origin(scope, memory_id, session, turn_ids)


def _listed(value: Any) -> tuple[str, ...]:
    """A list in JSON; nothing where other software means something else by the key."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return ()
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, (list, tuple)) else ()


@dataclass(frozen=True, slots=True)
class Located:
    """A node and what it holds by now.

    Args:
        node: as it was given; a copy with what is left where part of it was forgotten.
        scope: whose memory it is; nothing for a node of another origin.
        hit: the memory and those of its turns that the node shows; nothing for the same.
    """

    node: NodeWithScore
    scope: Scope | None = None
    hit: Hit | None = None


def located(bank: MemoryBank, nodes: Iterable[NodeWithScore]) -> list[Located]:
    """The nodes with what they hold by now. What was forgotten since they were made is left out.

    Args:
        bank: where the memories are.
        nodes: of whatever origin.

    Raises:
        StoreError: the store failed.
    """
    memories: dict[tuple[Scope, str], Sequence[Memory]] = {}
    found: list[Located] = []
    for node in nodes:
        origin = origin_of(node)
        if origin is None:
            found.append(Located(node))
            continue
        place = origin.scope, origin.session
        if place not in memories:
            memories[place] = bank.memories(*place)
        hit = _hit(memories[place], origin)
        if hit is not None:
            found.append(Located(_left_of(node, origin, hit), origin.scope, hit))
    return found


def _hit(memories: Sequence[Memory], origin: Origin) -> Hit | None:
    # The end of an open session is cut again with every turn: then the turns tell which memory it is now.
    for memory in sorted(memories, key=lambda each: each.id != origin.memory_id):
        turns = tuple(turn for turn in memory.turns if turn.id in origin.turn_ids)
        if turns:
            return Hit(memory, turns, 0.0)
    return None


def _left_of(node: NodeWithScore, origin: Origin, hit: Hit) -> NodeWithScore:
    if set(origin.turn_ids) <= {turn.id for turn in hit.memory.turns}:
        return node
    left = node.node.model_copy(deep=True)
    left.set_content(hit.text)
    left.metadata["turn_ids"] = json.dumps(hit.turn_ids, ensure_ascii=False)
    return NodeWithScore(node=left, score=node.score)


def decisions_of(bank: MemoryBank, query: str, shown: Iterable[tuple[int, Located]]) -> dict[Scope, Decision]:
    """What is shown of each scope, under which numbers; nodes of one memory share theirs.

    Args:
        bank: one that learns.
        query: what the nodes were found for.
        shown: number and node, in the order of the prompt.

    Raises:
        StoreError: the store failed.
    """
    hits: dict[Scope, dict[int, Hit]] = {}
    for number, each in shown:
        if each.scope is not None and each.hit is not None:
            held = hits.setdefault(each.scope, {})
            held[number] = _together(held.get(number), replace(each.hit, number=number))
    return {scope: bank.shown(scope, query, list(held.values())) for scope, held in hits.items()}


def _together(one: Hit | None, other: Hit) -> Hit:
    named = {*other.turn_ids, *(one.turn_ids if one is not None else ())}
    return replace(other, turns=tuple(turn for turn in other.memory.turns if turn.id in named))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose answer may cite what was shown for it.

    Args:
        id: what the metadata of the nodes names it by.
        query: the question that the nodes were found with.
        decisions: what was shown of each scope.
    """

    id: str
    query: str
    decisions: Mapping[Scope, Decision]


def as_shown(decision: Decision, numbers: Iterable[int]) -> Decision:
    """The decision for what was left of it in the end, in the order in which it was shown."""
    left = tuple(number for number in dict.fromkeys(numbers) if number in decision.numbers)
    if left == decision.numbers:
        return decision
    places = [decision.numbers.index(number) for number in left]
    return replace(
        decision,
        numbers=left,
        memory_ids=_at(places, decision.memory_ids),
        turn_ids=_at(places, decision.turn_ids),
        signals=_at(places, decision.signals),
        scores=_at(places, decision.scores),
        # The draw was of other memories, or in another order.
        draw=None,
    )


def _at(places: Sequence[int], values: Sequence[_Value]) -> tuple[_Value, ...]:
    return tuple(values[place] for place in places)


def scores_of(decision: Decision) -> list[float]:
    """By memory, what ranks it: the paper's reranker where it chose, else the weights of the signals."""
    shown = len(decision.numbers)
    draw = decision.draw
    return draw.scores[:shown].tolist() if isinstance(draw, Draw) else list(decision.scores)


_lock = threading.Lock()
_waiting: OrderedDict[str, tuple[weakref.ref[MemoryBank], Asked]] = OrderedDict()


def wait_for(bank: MemoryBank, asked: Asked) -> None:
    """Keep what was shown until the answer comes."""
    with _lock:
        _waiting[asked.id] = weakref.ref(bank), asked
        while len(_waiting) > _MOST:
            _waiting.popitem(last=False)


def awaited(bank: MemoryBank, id_: str) -> Asked | None:
    """What was shown for the question, once: the first answer takes it. Nothing where it is another bank's."""
    with _lock:
        held = _waiting.get(id_)
        if held is None or not _same(held[0](), bank):
            return None
        del _waiting[id_]
        return held[1]


def _same(one: MemoryBank | None, other: MemoryBank) -> bool:
    return one is other or (one is not None and one.path is not None and one.path == other.path)


def learning_bank(what: str, bank: MemoryBank | None, store_path: str | None) -> MemoryBank:
    """The bank, or that of the file: the one that is in use already, else opened so that it learns.

    Args:
        what: who needs it, for the error.
        bank: a bank that is open already.
        store_path: the bank's file.

    Raises:
        InvalidInput: neither is given.
    """
    if bank is None and store_path is None:
        raise InvalidInput(f"{what} needs a bank, or a store_path to open one; a bank in memory cannot be reopened")
    found = bank or _banks.get(_resolved(store_path)) or MemoryBank.open(_resolved(store_path), learning=True)
    if found.path is not None:
        _banks[found.path] = found
    return found


def _resolved(path: str | None) -> str:
    return str(Path(path or "").expanduser().resolve())
