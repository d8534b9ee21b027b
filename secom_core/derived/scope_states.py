"""What this process holds of scopes: made when first asked for, caught up with the store, the least recent dropped."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..conversation import Scope
from ..processes import in_child
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore


@dataclass
class ScopeState:
    """What is held of a scope.

    Args:
        row: the scope as of which it holds everything; a new state has the revision -1.
        lacks_vectors: whether an embedder failed when it was made.
        left: ids of sessions whose changes were left to whoever looks for them.
        lock: for whoever reads or changes it.
    """

    row: ScopeRow
    lacks_vectors: bool = False
    left: set[int] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def is_behind(self) -> bool:
        """Whether there is more to be followed, though nothing new has come."""
        return bool(self.left)


S = TypeVar("S", bound=ScopeState)


class ScopeStates(Generic[S]):
    """One state a scope, within limits, brought up to the store's revision whenever it is asked for.

    Args:
        store: what they follow.
        new: makes one that has followed nothing yet.
        size: how many are kept; the least recently used is dropped first.
        nbytes: how much memory they may take together, as `weighed` is told; the last one used is always kept.
        outdated: is called where something of a scope that is held was forgotten, or made anew, by somebody else.
    """

    def __init__(
        self,
        store: SqlStore,
        new: Callable[[ScopeRow], S],
        *,
        size: int | None = None,
        nbytes: int | None = None,
        outdated: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._new, self._size, self._nbytes = store, new, size, nbytes
        self._outdated = outdated
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Hold nothing, as at first: in a child, what threads of the parent had half followed."""
        self._states: OrderedDict[Scope, S] = OrderedDict()
        self._weights: dict[Scope, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many are held."""
        return len(self._states)

    def __bool__(self) -> bool:
        """Always: there may be none held yet."""
        return True

    @property
    def nbytes(self) -> int:
        """How much memory they take together, as far as `weighed` was told."""
        return self._total

    def get(self, scope: Scope) -> S | None:
        """The state that is held, as it is."""
        return self._states.get(scope)

    def drop(self, scope: Scope) -> None:
        """Hold it no more; it is made again when asked for."""
        with self._lock:
            self._release(scope)

    def caught_up(
        self,
        scope: Scope,
        follow: Callable[[S, ScopeRow], ScopeRow],
        row: ScopeRow | None = None,
        *,
        retry_vectors: bool = False,
    ) -> S | None:
        """The scope's state with everything that any process has written; nothing where nothing is remembered.

        Args:
            scope: whose.
            follow: brings a state up to a revision, with the state's lock held; returns the row that it has reached.
            row: the scope as it was just read; it is read unless given.
            retry_vectors: begin anew where vectors are missing because an embedder had failed.
        """
        row = row or self._store.scope(scope)
        if row is None:
            if self.get(scope) is not None:
                self.drop(scope)
                self._outdated()
            return None
        state = self.at(scope, row, retry_vectors=retry_vectors)
        with state.lock:
            if state.row.revision < row.revision or state.is_behind:
                reached = self._followed(scope, state, row, follow)
                # A new epoch is for the next call to see.
                state.row = ScopeRow(row.id, reached.revision, state.row.epoch)
        return state

    def _followed(self, scope: Scope, state: S, row: ScopeRow, follow: Callable[[S, ScopeRow], ScopeRow]) -> ScopeRow:
        with ExitStack() as half_followed:
            half_followed.callback(self.drop, scope)
            reached = follow(state, row)
            half_followed.pop_all()
        return reached

    def weighed(self, scope: Scope, state: S, nbytes: int) -> None:
        """Take note of how much memory one takes now, and drop others where it is too much for the limit."""
        with self._lock:
            if self._states.get(scope) is not state:
                # Dropped meanwhile, by a deletion or another thread's load.
                return
            self._total += nbytes - self._weights.get(scope, 0)
            self._weights[scope] = nbytes
            self._states.move_to_end(scope)
            self._shrink()

    def at(self, scope: Scope, row: ScopeRow, *, retry_vectors: bool = False) -> S:
        """The state held, as it is, or a new one after a deletion or a rebuild."""
        with self._lock:
            state = self._states.get(scope)
            outdated = state is not None and (state.row.id, state.row.epoch) != (row.id, row.epoch)
            if state is None or outdated or (state.lacks_vectors and retry_vectors):
                self._release(scope)
                state = self._states[scope] = self._new(ScopeRow(row.id, -1, row.epoch))
            self._states.move_to_end(scope)
            self._shrink()
        if outdated:
            self._outdated()
        return state

    def _shrink(self) -> None:
        while len(self._states) > 1 and (
            (self._size is not None and len(self._states) > self._size)
            or (self._nbytes is not None and self._total > self._nbytes)
        ):
            self._release(next(iter(self._states)))

    def _release(self, scope: Scope) -> S | None:
        self._total -= self._weights.pop(scope, 0)
        return self._states.pop(scope, None)
