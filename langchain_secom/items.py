"""Items of a LangGraph store in a bank: each a session of one turn, in a scope of its namespace.

The value lies in the turn's metadata; the turn's words are what is searched of it. An item that is put anew gets its
new turn first and loses its old one after, so that a process that is killed in between leaves the new one. What reading
an item adds to its time is kept beside its turn, and goes with it: a read never writes again what others put anew or
deleted meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import groupby, islice
from typing import Any, Final, Literal, NamedTuple

from langgraph.store.base import get_text_at_path

from secom_core import MemoryBank
from secom_core.chats import ChatRecord
from secom_core.chats.heads import Head
from secom_core.conversation import ITEMS, Message, Scope, Turn
from secom_core.memory import Hit

Namespace = tuple[str, ...]
Index = Literal[False] | Sequence[str] | None
"""What of a value is searched: some of its fields, nothing, or as the store has it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIELD: Final = "item"
_EXPIRES: Final = "expires"
_PREFIX: Final = "item "
"""What the name of an item's session begins with: it is not empty, as a key may be."""

_AT_ONCE: Final = 1000
"""How many items are read together at most."""

_ALL_OF_IT: Final = 10**9
"""A token budget that no namespace fills."""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as the bank has it.

    Args:
        namespace: where it is.
        key: its name there.
        value: what was put.
        created: when it was put first.
        updated: when it was put last.
        text: what is searched of it.
        minutes: how long it lives after it was put, or read; for ever where there is nothing.
        expires: when it ends, unless it was read since.
        turn_id: the turn that it is, once it is written.
    """

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created: datetime
    updated: datetime
    text: str
    minutes: float | None = None
    expires: datetime | None = None
    turn_id: str = ""

    @property
    def message(self) -> Message:
        """The message that is written for it. Times are numbers: what redacts texts leaves them alone."""
        about = {
            "value": self.value,
            "created": _microseconds(self.created),
            "minutes": self.minutes,
            "expires": _microseconds(self.expires) if self.expires is not None else None,
        }
        return Message(self.text, role="", at=self.updated, metadata={_FIELD: about})

    @classmethod
    def of(cls, namespace: Namespace, turn: Turn) -> StoredItem:
        """The item that a turn holds."""
        message = turn.messages[0]
        about = message.metadata[_FIELD]
        return cls(
            namespace,
            turn.session.removeprefix(_PREFIX),
            about["value"],
            _moment(about["created"]),
            message.at or _EPOCH,
            message.text,
            about["minutes"],
            _moment(about["expires"]) if about["expires"] is not None else None,
            turn.id,
        )


class Listed(NamedTuple):
    """An item without its value.

    Args:
        namespace: where it is.
        key: its name there.
        turn_id: the turn that it is.
        expires: when it ends, unless it was read since it was listed.
        session_id: the number of its session.
    """

    namespace: Namespace
    key: str
    turn_id: str
    expires: datetime | None
    session_id: int

    @classmethod
    def of(cls, namespace: Namespace, head: Head) -> Listed:
        """The item that is a session's last turn."""
        expires = _moment(head.number) if head.number is not None else None
        expires = _later(expires, head.beside) if head.beside is not None else expires
        return cls(namespace, head.session.removeprefix(_PREFIX), head.turn_id, expires, head.session_id)


@dataclass(frozen=True)
class Items:
    """The items of one bank.

    Args:
        bank: where they are.
    """

    bank: MemoryBank

    def namespaces(self, prefix: Namespace = ()) -> list[Namespace]:
        """The namespaces that hold anything and begin so, in the order in which they came."""
        return [scope[1:] for scope in self.bank.scopes(within=_scope(prefix))]

    def get(self, namespace: Namespace, key: str) -> StoredItem | None:
        """The item of this key, whether its time has come or not."""
        turns = self.bank.turns(_scope(namespace), _session(key), last=1)
        return next((item for turn in turns for item in _items_of(namespace, turn)), None)

    def listed(
        self, prefix: Namespace = (), *, skip: int = 0, keeps: Callable[[Listed], object] = bool
    ) -> Iterator[Listed]:
        """The items of the namespaces that begin so, in the order in which these, and in them the keys, came.

        Args:
            prefix: how they begin.
            skip: how many of those that are kept are passed over.
            keeps: whether an item is kept; one that never ends, and is passed over, always is.
        """
        for scope, row in self.bank.items.scopes(_scope(prefix)):
            skipped, heads = self.bank.items.heads(scope, row, (_FIELD, _EXPIRES), skip)
            skip -= skipped
            for each in filter(keeps, (Listed.of(scope[1:], head) for head in heads)):
                if skip > 0:
                    skip -= 1
                else:
                    yield each

    def read(self, listed: Iterable[Listed], size: int = _AT_ONCE) -> Iterator[StoredItem]:
        """Items that were listed, as they are now, without those that were deleted since; read so many at once."""
        left = iter(listed)
        while part := list(islice(left, max(1, min(size, _AT_ONCE)))):
            found = self.bank.items.last_turns([each.session_id for each in part])
            for each in part:
                if each.session_id in found:
                    yield from _items_of(each.namespace, *found[each.session_id])

    def put(self, item: StoredItem) -> None:
        """Write an item in the place of what has its key; `derive` makes what is searched of it."""
        scope, session = _scope(item.namespace), _session(item.key)
        self.bank.remember(scope, [item.message], session=session, close=True, later=True)
        if old := self.bank.turns(scope, session)[:-1]:
            self.bank.forget(scope, turn_ids=[turn.id for turn in old])

    def derive(self, items: Iterable[tuple[Namespace, str]]) -> None:
        """Make what is searched of items that were put, by their namespaces and keys; of each namespace together."""
        sessions: dict[Namespace, list[str]] = {}
        for namespace, key in items:
            sessions.setdefault(namespace, []).append(_session(key))
        for namespace, names in sessions.items():
            self.bank.derive(_scope(namespace), names)

    def lives(self, item: StoredItem | Listed, now: datetime) -> bool:
        """Whether an item's time has not come."""
        return item.expires is None or now < item.expires or now < self._renewed(item)

    def renew(self, item: StoredItem, expires: datetime) -> None:
        """Let an item that was read end later; what was put anew or deleted since is left as it is."""
        record = ChatRecord(item.turn_id, None, {_EXPIRES: _microseconds(expires)})
        self.bank.chats.write(_scope(item.namespace), _session(item.key), [record], anew=True)

    def _renewed(self, item: StoredItem | Listed) -> datetime:
        """When an item ends by the last read of it; long ago where nobody read it."""
        records = self.bank.chats.read(_scope(item.namespace), _session(item.key))
        mine = [each.body for each in records if each.turn_id == item.turn_id and each.body is not None]
        return max((_moment(body[_EXPIRES]) for body in mine), default=_EPOCH)

    def end(self, namespace: Namespace, items: Iterable[StoredItem | Listed]) -> None:
        """Delete items of a namespace whose time has come, and what was put before them, but nothing put anew since."""
        scope, doomed = _scope(namespace), list[str]()
        for item in items:
            turns = [turn.id for turn in self.bank.turns(scope, _session(item.key))]
            if item.turn_id in turns:
                doomed += turns[: turns.index(item.turn_id) + 1]
        if doomed:
            self.bank.forget(scope, turn_ids=doomed)

    def delete(self, namespace: Namespace, key: str) -> None:
        """Delete the item of this key, with all that was made of it; what is not there is passed over."""
        self.bank.forget(_scope(namespace), session=_session(key))

    def together(
        self, prefix: Namespace, query: str, without: Collection[str] = ()
    ) -> tuple[list[tuple[Listed, float]], list[Namespace]]:
        """What a query finds in the many small ones of the namespaces that begin so, the most relevant first.

        Args:
            prefix: how they begin.
            query: a question, or a few words.
            without: the turns of items that are not looked for.

        Returns:
            Items without their keys and ends, each with its relevance from 0 to 1; and the namespaces that are to be
            searched one by one.
        """
        found, others = self.bank.items.search(_scope(prefix), query, without)
        listed = [(Listed(each.scope[1:], "", each.turn_id, None, each.session_id), each.relevance) for each in found]
        return listed, [scope[1:] for scope in others]

    def best(self, namespace: Namespace, query: str, k: int) -> list[tuple[StoredItem, float]]:
        """The ``k`` items of a namespace that a query finds first, and how relevant each is, from 0 to 1.

        What ranks alike comes in the order of the keys, whichever was written last.
        """
        found: list[tuple[StoredItem, float]] = []
        for _, group in groupby(self._hits(namespace, query, k), key=lambda hit: hit.score):
            alike = list(group)
            items = self._current(namespace, (turn for hit in alike for turn in hit.turns))
            items.sort(key=lambda item: (item.created, item.key))
            found += zip(items, (hit.relevance for hit in alike), strict=False)
        # What is not to be searched has no words, and an embedder gives a vector to none too.
        return [each for each in found if each[0].text][:k]

    def _hits(self, namespace: Namespace, query: str, k: int) -> list[Hit]:
        """What a query finds, best first: ``k`` hits, and those that rank as the last of them does."""
        count = k + 1
        while True:
            recall = self.bank.recall(_scope(namespace), query, token_budget=_ALL_OF_IT, k=count, only_relevant=True)
            hits = sorted(recall.hits, key=lambda hit: -hit.relevance)
            if len(hits) < count or hits[-1].score != hits[k - 1].score:
                return hits
            count *= 2

    def _current(self, namespace: Namespace, turns: Iterable[Turn]) -> list[StoredItem]:
        """The items that these turns are, without those that were put anew since."""
        found = {turn.id: turn.session for turn in turns}
        latest = self.bank.items.latest(_scope(namespace), list(found.values()))
        return [item for turn in latest if turn.id in found for item in _items_of(namespace, turn)]

    def relevance(
        self, prefix: Namespace, query: str, items: Iterable[StoredItem], others: Iterable[StoredItem]
    ) -> dict[str, float]:
        """How relevant items are to a query, from 0 to 1, by the ids of their turns.

        Args:
            prefix: how their namespaces begin.
            query: a question, or a few words.
            items: those that are looked for.
            others: all others of these namespaces.

        Returns:
            Nothing of items that nothing speaks for.
        """
        out, wanted = [item.turn_id for item in others], {item.namespace for item in items}
        together, namespaces = self.together(prefix, query, out)
        found = {each.turn_id: relevance for each, relevance in together}
        for namespace in namespaces:
            if namespace in wanted:
                recall = self.bank.recall(
                    _scope(namespace), query, token_budget=_ALL_OF_IT, only_relevant=True, exclude=out
                )
                by_relevance = sorted(recall.ranked, key=lambda hit: -hit.relevance)
                found |= {turn_id: hit.relevance for hit in by_relevance for turn_id in hit.turn_ids}
        return found


def _items_of(namespace: Namespace, turn: Turn, beside: Mapping[str, Any] | None = None) -> Iterator[StoredItem]:
    """The item that a turn holds, where it holds one; it ends as late as what lies beside the turn says."""
    if _FIELD in turn.messages[0].metadata:
        item = StoredItem.of(namespace, turn)
        yield item if beside is None else replace(item, expires=_later(item.expires, beside))


def _later(expires: datetime | None, beside: Mapping[str, Any]) -> datetime | None:
    return max(expires, _moment(beside[_EXPIRES])) if expires is not None else None


def searched_text(value: Mapping[str, Any], index: Index) -> str:
    """What is searched of a value: the texts and numbers at these paths, or all of them, a line each."""
    if index is False:
        return ""
    found = (_leaves(value) if path == "$" else get_text_at_path(value, path) for path in index or ("$",))
    return "\n".join(text for texts in found for text in texts)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield str(value)
    inner: Iterable[Any] = value.values() if isinstance(value, Mapping) else ()
    for each in inner or (value if isinstance(value, (list, tuple)) else ()):
        yield from _leaves(each)


def _scope(namespace: Namespace) -> Scope:
    return (ITEMS, *namespace)


def _session(key: str) -> str:
    return _PREFIX + key


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
