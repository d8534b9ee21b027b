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

from .memory import _banks

__all__ = ["Asked", "Origin", "as_shown", "awaited", "hits_of", "learning_bank", "origin_of", "wait_for"]

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


def hits_of(bank: MemoryBank, origins: Iterable[tuple[int, Origin]]) -> dict[Scope, list[Hit]]:
    """The hits that nodes were made of, by scope; what was forgotten since is left out.

    Args:
        bank: where the memories are.
        origins: in the order in which they are shown, each with its number; a memory's nodes share one.
    """
    numbered: dict[tuple[Scope, int], Origin] = {}
    for number, origin in origins:
        held = numbered.get((origin.scope, number), origin)
        numbered[origin.scope, number] = replace(held, turn_ids=tuple(dict.fromkeys(held.turn_ids + origin.turn_ids)))
    places = dict.fromkeys((origin.scope, origin.session) for origin in numbered.values())
    sessions = {place: bank.memories(*place) for place in places}
    found: dict[Scope, list[Hit]] = {}
    for (scope, number), origin in numbered.items():
        hit = _hit(sessions[scope, origin.session], origin, number)
        if hit is not None:
            found.setdefault(scope, []).append(hit)
    return found


def _hit(memories: Sequence[Memory], origin: Origin, number: int) -> Hit | None:
    # The end of an open session is cut again with every turn: then the turns tell which memory it is now.
    for memory in sorted(memories, key=lambda each: each.id != origin.memory_id):
        turns = tuple(turn for turn in memory.turns if turn.id in origin.turn_ids)
        if turns:
            return Hit(memory, turns, 0.0, number)
    return None


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
