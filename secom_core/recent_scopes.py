"""What this process holds of scopes: made when first asked for, made anew where outdated, the least recent dropped."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from .conversation import Scope
from .stores.sql import ScopeRow

__all__ = ["RecentScopes"]


class _Followed(Protocol):
    """Something in memory that follows a scope in the store."""

    row: ScopeRow
    """How far it has followed; a new one has the revision -1."""
    lacks_vectors: bool
    """Whether an embedder failed when it was made."""


F = TypeVar("F", bound=_Followed)


class RecentScopes(Generic[F]):
    """Up to ``size`` scopes, each followed by one object; calls may overlap.

    Args:
        new: makes one that has followed nothing yet.
        size: how many are kept; the least recently used is dropped first.
    """

    def __init__(self, new: Callable[[ScopeRow], F], *, size: int) -> None:
        self._new, self._size = new, size
        self._held: OrderedDict[Scope, F] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, scope: Scope) -> F | None:
        """What is held, as it is."""
        return self._held.get(scope)

    def drop(self, scope: Scope) -> None:
        """Hold it no more; it is made again when asked for."""
        with self._lock:
            self._held.pop(scope, None)

    def of(self, scope: Scope, row: ScopeRow, *, retry_vectors: bool = False) -> F:
        """What follows the scope: the one held, or a new one after a deletion or a rebuild.

        Args:
            scope: whose.
            row: the scope as stored now.
            retry_vectors: begin anew where vectors are missing because an embedder had failed.
        """
        with self._lock:
            held = self._held.pop(scope, None)
            outdated = held is not None and (held.row.id, held.row.epoch) != (row.id, row.epoch)
            if held is None or outdated or (held.lacks_vectors and retry_vectors):
                held = self._new(ScopeRow(row.id, -1, row.epoch))
            self._held[scope] = held
            while len(self._held) > self._size:
                self._held.popitem(last=False)
        return held
