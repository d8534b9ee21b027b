"""What a store of items reads: many sessions of one turn each, in many scopes that begin alike."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final

from ..chats.heads import Head, heads, last_turns
from ..conversation import Scope, Turn, check_scope
from ..processes import ForkLock, interpreter, ready_openmp
from ..stores.glances import NAMES
from ..stores.rows import ScopeRow
from ..stores.schema import escaped
from ..stores.sql import SqlStore
from ..telemetry import Operations
from .lifetimes import Lifetimes
from .together import Found, Together

_FIRST: Final = 100
"""Of how many sessions something is read at first."""
_GROWS: Final = 4
"""How many times as many as are known are read then."""
_MOST: Final = 10_000
"""Of how many sessions something is read at once."""
_KEPT: Final = 200_000
"""Of how many sessions it is kept what was read."""


@dataclass(eq=False)
class _Known:
    """The heads of the first sessions of a scope, or of all, as of one revision and one epoch of it.

    The first ``plain`` of them have no number.
    """

    scope: Scope
    row: ScopeRow
    heads: list[Head] = field(default_factory=list)
    plain: int = 0
    is_all: bool = False
    lock: ForkLock = field(default_factory=ForkLock)


class ItemReading:
    """Lists sessions by their last turns, in the order in which they came, and searches many small scopes together.

    Of what was listed, it keeps the order and the names, but no words.

    Args:
        store: where they are.
        lifetimes: forgets what has ended before anything is read.
        operations: measure a search.
        together: searches; not where only the search of each scope by itself has all parts of the bank.
    """

    def __init__(
        self, store: SqlStore, lifetimes: Lifetimes, operations: Operations, together: Together | None
    ) -> None:
        self._store, self._lifetimes, self._operations, self._together = store, lifetimes, operations, together
        self._known: OrderedDict[Scope, _Known] = OrderedDict()
        self._count, self._lock = 0, ForkLock()

    def scopes(self, within: Sequence[str]) -> list[tuple[Scope, ScopeRow]]:
        """The scopes whose first parts are these, in the order in which they came, each as it is now."""
        named = check_scope(within)
        self._lifetimes.current_within(named)
        return self._store.scopes_within(named)

    def heads(self, scope: Scope, row: ScopeRow, path: tuple[str, str], skip: int = 0) -> tuple[int, Iterator[Head]]:
        """The last turns of the sessions of a scope, without their words, read as they are asked for.

        Args:
            scope: whose.
            row: the scope as `scopes` gave it.
            path: under which names the metadata has a number; always the same ones.
            skip: how many are passed over, at most, as long as they have no number.

        Returns:
            How many were passed over, and those that follow.
        """
        known = self._as_of(scope, row)
        while known.plain < skip and known.plain == len(known.heads) and self._read_on(known, path, known.plain):
            pass
        start = min(skip, known.plain)
        return start, self._from(known, path, start)

    def _from(self, known: _Known, path: tuple[str, str], place: int) -> Iterator[Head]:
        while place < len(known.heads) or self._read_on(known, path, place):
            yield known.heads[place]
            place += 1

    def search(
        self, within: Sequence[str], query: str, exclude: Collection[str] = ()
    ) -> tuple[list[Found], list[Scope]]:
        """What a query finds in the scopes that begin so, the best first, and the scopes that are to be searched apart.

        Args:
            within: the first parts of the scopes.
            query: what is asked.
            exclude: ids of turns that are not looked for.
        """
        scopes = self.scopes(within)
        if self._together is None:
            return [], [scope for scope, _ in scopes]
        ready_openmp()
        baton = interpreter.held(soon=True) if self._store.is_sqlite else nullcontext()
        with self._operations.measured("recall"), baton:
            return self._together.search(check_scope(within), scopes, query, exclude)

    def forget(self, scope: Scope) -> None:
        """Hold no words of a scope: some of them were forgotten."""
        if self._together is not None:
            self._together.forget(scope)

    def latest(self, scope: Scope, sessions: Sequence[str]) -> list[Turn]:
        """The last turns of sessions of a scope, by their names."""
        row = self._store.scope(scope)
        names = json.dumps(list(map(escaped, sessions)))
        found = self._store.glance(NAMES[self._store.dialect], scope=row.id, names=names) if row is not None else []
        return [turn for turn, _ in self.last_turns([number for number, _ in found]).values()]

    def last_turns(self, session_ids: Sequence[int]) -> dict[int, tuple[Turn, Mapping[str, Any] | None]]:
        """The last turns of sessions by their numbers, each with what the chat holds that goes with it."""
        return last_turns(self._store, session_ids)

    def _as_of(self, scope: Scope, row: ScopeRow) -> _Known:
        with self._lock:
            known = self._known.pop(scope, None)
            if known is None or known.row != row:
                self._count += 1 - (1 + len(known.heads) if known is not None else 0)
                known = _Known(scope, row)
            self._known[scope] = known
            return known

    def _read_on(self, known: _Known, path: tuple[str, str], place: int) -> bool:
        """Read what comes next, unless somebody has; whether there is anything at a place then."""
        with known.lock:
            if place == len(known.heads) and not known.is_all:
                most = min(max(_FIRST, _GROWS * place), _MOST)
                after = known.heads[-1].session_id if known.heads else 0
                new = heads(self._store, known.row.id, path, after=after, most=most)
                known.is_all = len(new) < most
                self._keep(known, new)
            return place < len(known.heads)

    def _keep(self, known: _Known, new: Sequence[Head]) -> None:
        with self._lock:
            is_plain = known.plain == len(known.heads)
            known.heads += new
            known.plain += sum(1 for _ in takewhile(lambda each: each.number is None, new)) if is_plain else 0
            self._count += len(new) if self._known.get(known.scope) is known else 0
            while self._count > _KEPT and len(self._known) > 1:
                _, least = self._known.popitem(last=False)
                self._count -= 1 + len(least.heads)
