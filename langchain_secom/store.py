"""A memory bank as the store of LangGraph: documents with keys, in namespaces, found by words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

from langchain_core.runnables import run_in_executor

from secom_core import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.conversation import json_flaw
from secom_core.errors import InvalidInput, MissingExtra, StoreUnwritable, shorten, warn_degraded
from secom_core.stores.database import waiting_at_most

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        validate_op_namespace,
    )
except ImportError as error:
    raise MissingExtra("SecomStore", "langchain") from error

from .item_filters import check_filter, is_in, matches
from .items import Items, Listed, StoredItem, searched_text

_Found: TypeAlias = tuple[StoredItem, float | None]
_Item = TypeVar("_Item", StoredItem, Listed)
_TTL: Final = frozenset({"default_ttl", "omit_expired", "refresh_on_read"})


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(frozen=True)
class _Besides:
    """What is to be written after a read.

    Args:
        ended: items whose time has come, by namespaces and by the ids of their turns.
        renewed: what gives items their time anew, by the ids of their turns.
    """

    ended: dict[tuple[str, ...], dict[str, StoredItem | Listed]] = field(default_factory=dict)
    renewed: dict[str, Callable[[], None]] = field(default_factory=dict)

    def writes(self, items: Items) -> Iterator[Callable[[], None]]:
        """What writes it, each in turn."""
        yield from (partial(items.end, namespace, each.values()) for namespace, each in self.ended.items())
        yield from self.renewed.values()


class SecomStore(BaseStore):
    """A LangGraph store over a `MemoryBank`. Items are stored, encrypted, moved and searched like conversations.

    It replaces ``InMemoryStore`` in ``create_agent(store=…)``, in ``runtime.store``, and in tools and back ends that
    keep documents in a store. A search with a query uses the bank's ranking, by words, and by vectors if the bank has
    an embedder. The score of a result is its relevance, from 0 to 1. Items without any match follow without a score, in
    the order in which their keys were added. Without a query, all items have this order.

    A namespace is the scope ``("secom:items", *namespace)`` of the bank, and an item is a session in it, which layers
    ignore. So `MemoryBank.forget` deletes a namespace, and redaction, encryption and moves apply to items too. A value
    that is deleted or replaced is removed from the file, with its vectors. Each put is a separate write: if a batch
    fails, the puts before the failure stay written.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Usage::

        store = SecomStore(MemoryBank.open("memory.db"))
        agent = create_agent(model, tools=[…], store=store)

    Args:
        bank: where items are kept; it may hold conversations too.
        fields: the paths that are searched of each value, such as ``["title", "pages[*].text"]``; all texts and
            numbers unless given. ``index`` of a put goes before it.
        ttl: when items expire: ``default_ttl`` in minutes, never unless given, and ``refresh_on_read``, whether reading
            an item restarts its time, with one more write; true unless given. Expired items are never shown. They are
            deleted when a call comes across them, and all at once by `sweep_ttl`.

    Raises:
        InvalidInput: ``bank`` is not a bank, ``fields`` are not paths, or ``ttl`` has an unknown option.
    """

    supports_ttl = True

    def __init__(self, bank: MemoryBank, *, fields: Sequence[str] | None = None, ttl: TTLConfig | None = None) -> None:
        if not isinstance(bank, MemoryBank):
            raise InvalidInput(f"SecomStore needs a MemoryBank, such as MemoryBank.open('memory.db'), got {bank!r}")
        self.bank = bank
        self.fields = _checked_paths("fields", fields)
        self.ttl_config = _checked_ttl(ttl)
        self._items = Items(bank)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do several operations: first whatever reads, then the puts, of which the last of each key counts.

        Raises:
            InvalidNamespaceError: a label is empty, no string, or holds a period.
            InvalidInput: a value that JSON cannot hold, a filter that cannot be used, or an unknown operation;
                nothing is written.
            StoreError: the bank failed.
        """
        given = list(ops)
        for op in given:
            _check(op)
        besides = _Besides()
        results = [self._read(op, besides) for op in given]
        _try(besides.writes(self._items))
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        written: list[tuple[tuple[str, ...], str]] = []
        try:
            for op in puts.values():
                self._put(op)
                if op.value is not None:
                    written.append((op.namespace, op.key))
        finally:
            self._items.derive(written)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `batch` does, in a worker thread."""
        return await run_in_executor(None, self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete every item whose time has come; how many there were. For a scheduler."""
        besides = _Besides()
        self._living(self._items.listed(), besides)
        for write in besides.writes(self._items):
            write()
        return sum(map(len, besides.ended.values()))

    # -- reading --------------------------------------------------------------------------------------------------

    def _read(self, op: Op, besides: _Besides) -> Result:
        """The result of an operation; what its items' times want written is added to ``besides``."""
        if isinstance(op, GetOp):
            return self._get(op, besides)
        if isinstance(op, SearchOp):
            return self._search(op, besides)
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _get(self, op: GetOp, besides: _Besides) -> Item | None:
        found = self._items.get(op.namespace, op.key)
        living = self._living([found] if found is not None else [], besides)
        if op.refresh_ttl:
            self._refresh(living, besides)
        return Item(**_fields_of(living[0])) if living else None

    def _search(self, op: SearchOp, besides: _Besides) -> list[SearchItem]:
        first, last = op.offset, op.offset + op.limit
        if op.filter:
            page = list(islice(self._matching(op, besides), first, last))
        else:
            found = self._best(op.namespace_prefix, op.query, last, besides) if op.query else []
            page = found[first:last]
            others = self._others(op.namespace_prefix, found, besides, skip=max(0, first - len(found)))
            read = self._items.read(others, op.limit)
            page += [(item, None) for item in islice(read, max(0, op.limit - len(page)))]
        if op.refresh_ttl:
            self._refresh((item for item, _ in page), besides)
        return [SearchItem(**_fields_of(item), score=score) for item, score in page]

    def _best(self, prefix: tuple[str, ...], query: str, k: int, besides: _Besides) -> list[_Found]:
        """The items that a query finds in the namespaces that begin so, the most relevant first; at least the ``k``
        first ones.
        """
        together, namespaces = self._items.together(prefix, query)
        relevance = {each.turn_id: score for each, score in together}
        read = self._items.read((each for each, _ in together), k)
        current = (item for item in read if item.turn_id in relevance and self._living([item], besides))
        found: list[_Found] = [(item, relevance[item.turn_id]) for item in islice(current, k)]
        found += (each for namespace in namespaces for each in self._best_living(namespace, query, k, besides))
        return sorted(found, key=_by_relevance)

    def _best_living(
        self, namespace: tuple[str, ...], query: str, k: int, besides: _Besides
    ) -> list[tuple[StoredItem, float]]:
        """What a query finds in a namespace; where something expired takes a place, more is looked for."""
        count = k
        while True:
            scored = self._items.best(namespace, query, count)
            living = {item.turn_id for item in self._living([item for item, _ in scored], besides)}
            found = [each for each in scored if each[0].turn_id in living][:k]
            if len(found) == k or len(scored) < count:
                return found
            count *= 2

    def _others(
        self, prefix: tuple[str, ...], found: Sequence[_Found], besides: _Besides, *, skip: int = 0
    ) -> Iterator[Listed]:
        """The items beside those that were found, in the order in which their keys came, without the first ones."""

        def living(item: Listed) -> list[Listed]:
            return self._living([item], besides)

        if not found:
            return self._items.listed(prefix, skip=skip, keeps=living)
        known = {(item.namespace, item.key) for item, _ in found}
        new = (each for each in self._items.listed(prefix) if (each.namespace, each.key) not in known)
        return islice(filter(living, new), skip, None)

    def _matching(self, op: SearchOp, besides: _Besides) -> Iterable[_Found]:
        """The items that match a filter, in the order of their keys, or each with its relevance, the best first."""
        every = self._items.read(self._others(op.namespace_prefix, (), besides))
        if not op.query:
            return ((item, None) for item in every if matches(item.value, op.filter))
        items: list[StoredItem] = []
        others: list[StoredItem] = []
        for each in every:
            (items if matches(each.value, op.filter) else others).append(each)
        scores = self._items.relevance(op.namespace_prefix, op.query, items, others) if items else {}
        found = [(item, scores.get(item.turn_id) if item.text else None) for item in items]
        return sorted(found, key=_by_relevance)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found = [each for each in self._items.namespaces() if all(is_in(each, condition) for condition in conditions)]
        return sorted({each[: op.max_depth] for each in found})[op.offset : op.offset + op.limit]

    def _living(self, items: Iterable[_Item], besides: _Besides) -> list[_Item]:
        """Those whose time has not come; that the others are deleted is added to ``besides``."""
        now = _now()
        living: list[_Item] = []
        for item in items:
            if self._items.lives(item, now):
                living.append(item)
            else:
                besides.ended.setdefault(item.namespace, {})[item.turn_id] = item
        return living

    def _refresh(self, items: Iterable[StoredItem], besides: _Besides) -> None:
        """Have items that were read begin their time anew."""
        for item in items:
            if item.minutes is not None:
                besides.renewed[item.turn_id] = partial(self._items.renew, item, _after(item.minutes, _now()))

    # -- writing --------------------------------------------------------------------------------------------------

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._items.delete(op.namespace, op.key)
            return
        now, before = _now(), self._items.get(op.namespace, op.key)
        created = before.created if before is not None and self._items.lives(before, now) else now
        text = searched_text(op.value, op.index if op.index is not None else self.fields)
        expires = _after(op.ttl, now) if op.ttl is not None else None
        self._items.put(StoredItem(op.namespace, op.key, dict(op.value), created, now, text, op.ttl, expires))


def _try(writes: Iterable[Callable[[], None]]) -> None:
    """Write what comes with a read. Where nothing can be written for now, what was read is given all the same."""
    try:
        for write in writes:
            with waiting_at_most(ANSWER_WAITS_S):
                write()
    except StoreUnwritable as error:
        warn_degraded("items were read, but their time (ttl) was not begun again, and none that expired deleted", error)


def _by_relevance(found: _Found) -> float:
    return 1.0 if found[1] is None else -found[1]


def _after(minutes: float, now: datetime) -> datetime:
    return now + timedelta(minutes=minutes)


def _fields_of(item: StoredItem) -> dict[str, Any]:
    return {
        "namespace": item.namespace,
        "key": item.key,
        "value": item.value,
        "created_at": item.created,
        "updated_at": item.updated,
    }


def _check(op: Op) -> None:
    """Refuse what cannot be done before anything is."""
    checks: dict[type, Callable[[Any], None]] = {
        PutOp: _check_put,
        SearchOp: _check_search,
        GetOp: lambda _: None,
        ListNamespacesOp: lambda _: None,
    }
    if type(op) not in checks:
        raise InvalidInput(f"a store does GetOp, SearchOp, PutOp and ListNamespacesOp, got {shorten(op)}")
    validate_op_namespace(op)
    checks[type(op)](op)


def _check_search(op: SearchOp) -> None:
    if op.filter is not None and not isinstance(op.filter, Mapping):
        raise InvalidInput(f"a filter is a dictionary such as {{'kind': 'fact'}}, got {shorten(op.filter)}")
    check_filter(op.filter)


def _check_put(op: PutOp) -> None:
    if op.value is None:
        return
    if not isinstance(op.value, Mapping):
        raise InvalidInput(f"the value of {op.key!r} must be a dictionary, got {shorten(op.value)}")
    if flaw := json_flaw(dict(op.value)):
        raise InvalidInput(f"the value of {op.key!r} must be what JSON can hold, got {shorten(op.value)}: {flaw}")
    if op.index is not False:
        _checked_paths("index", op.index)
    _check_minutes("ttl", op.ttl)


def _checked_paths(name: str, paths: Sequence[str] | None) -> list[str] | None:
    if paths is not None and (not _is_sequence(paths) or not all(isinstance(path, str) for path in paths)):
        raise InvalidInput(f"{name} is a sequence of paths such as ['title', 'pages[*].text'], got {paths!r}")
    return list(paths) if paths is not None else None


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _checked_ttl(ttl: TTLConfig | None) -> TTLConfig | None:
    if ttl is None:
        return None
    if not isinstance(ttl, Mapping):
        raise InvalidInput(f"ttl is a mapping such as {{'default_ttl': 60}}, in minutes, got {shorten(ttl)}")
    others = sorted(set(ttl) - _TTL)
    if others or not ttl.get("omit_expired", True):
        raise InvalidInput(
            f"ttl takes default_ttl and refresh_on_read, got {ttl!r}: what has expired is never shown, and a scheduler "
            "of yours calls sweep_ttl"
        )
    _check_minutes("default_ttl", ttl.get("default_ttl"))
    return ttl


def _check_minutes(name: str, minutes: object) -> None:
    is_number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
    if minutes is not None and not (is_number and 0 < minutes < float("inf")):  # type: ignore[operator]
        raise InvalidInput(f"{name} is a number of minutes above 0, or None, got {minutes!r}")
