"""Impressions of retrieved nodes, kept until the answer to their query comes."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from secom_core.bank import MemoryBank
from secom_core.citations import Impression
from secom_core.conversation import Scope
from secom_core.memory import Hit
from secom_core.processes import ForkLock

from .node_origins import LocatedNode

_Value = TypeVar("_Value")

_MOST: Final = 1024
"""So many queries wait for their answers in a process; beyond that, the oldest is dropped."""


def impressions_of(
    bank: MemoryBank, query: str, numbered: Iterable[tuple[int, LocatedNode]]
) -> dict[Scope, Impression]:
    """Note what is shown of each scope, and under which numbers; nodes of one memory share a number.

    Args:
        bank: a bank that was opened with ``citations``.
        query: what the nodes were retrieved for.
        numbered: each number with its node, in the order of the prompt.

    Raises:
        StoreError: the store failed.
    """
    hits: dict[Scope, dict[int, Hit]] = {}
    for number, node in numbered:
        if node.scope is not None and node.hit is not None:
            of_scope = hits.setdefault(node.scope, {})
            of_scope[number] = _merged(of_scope.get(number), replace(node.hit, number=number))
    return {scope: bank.citations.impression(scope, query, list(of_scope.values())) for scope, of_scope in hits.items()}


def _merged(earlier: Hit | None, hit: Hit) -> Hit:
    turn_ids = {*hit.turn_ids, *(earlier.turn_ids if earlier is not None else ())}
    return replace(hit, turns=tuple(turn for turn in hit.memory.turns if turn.id in turn_ids))


def restricted(impression: Impression, numbers: Iterable[int]) -> Impression:
    """The impression of those memories alone that were shown in the end, in the order in which they were shown."""
    kept = tuple(number for number in dict.fromkeys(numbers) if number in impression.numbers)
    if kept == impression.numbers:
        return impression
    places = [impression.numbers.index(number) for number in kept]
    return replace(
        impression,
        numbers=kept,
        memory_ids=_at(places, impression.memory_ids),
        turn_ids=_at(places, impression.turn_ids),
        scores=_at(places, impression.scores),
        # The paper's reranker drew other memories, or in another order.
        draw=None,
    )


def _at(places: Sequence[int], values: Sequence[_Value]) -> tuple[_Value, ...]:
    return tuple(values[place] for place in places)


@dataclass(frozen=True, slots=True)
class PendingQuery:
    """A query whose answer has not come yet.

    Args:
        id: the id by which the metadata of the nodes names it.
        query: the query that the nodes were retrieved for.
        impressions: the impression of each scope.
    """

    id: str
    query: str
    impressions: Mapping[Scope, Impression]


_lock = ForkLock()
_pending: OrderedDict[str, tuple[weakref.ref[MemoryBank], PendingQuery]] = OrderedDict()


def keep_pending(bank: MemoryBank, pending: PendingQuery) -> None:
    """Keep a query and its impressions until the answer comes."""
    with _lock:
        _pending[pending.id] = weakref.ref(bank), pending
        while len(_pending) > _MOST:
            _pending.popitem(last=False)


def take_pending(bank: MemoryBank, id_: str) -> PendingQuery | None:
    """Take the pending query with this id: the first answer gets it. Nothing where it belongs to another bank."""
    with _lock:
        entry = _pending.get(id_)
        if entry is None or not _same_bank(entry[0](), bank):
            return None
        del _pending[id_]
        return entry[1]


def _same_bank(one: MemoryBank | None, other: MemoryBank) -> bool:
    if one is None or one is other:
        return one is other
    return one.storage.path is not None and one.storage.path == other.storage.path
