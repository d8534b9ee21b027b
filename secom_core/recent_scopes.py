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
    """Scopes, each followed by one object, within limits; calls may overlap.

    Args:
        new: makes one that has followed nothing yet.
        size: how many are kept; the least recently used is dropped first.
        nbytes: how much memory they may take together, as `weighed` is told; the last one used is always kept.
    """

    def __init__(self, new: Callable[[ScopeRow], F], *, size: int | None = None, nbytes: int | None = None) -> None:
        self._new, self._size, self._nbytes = new, size, nbytes
        self._held: OrderedDict[Scope, F] = OrderedDict()
        self._weights: dict[Scope, int] = {}
        self._taken = 0
        self._lock = threading.Lock()

    def get(self, scope: Scope) -> F | None:
        """What is held, as it is."""
        return self._held.get(scope)

    def drop(self, scope: Scope) -> None:
        """Hold it no more; it is made again when asked for."""
        with self._lock:
            self._release(scope)

    @property
    def nbytes(self) -> int:
        """How much memory they take together, as far as it was told."""
        return self._taken

    def weighed(self, scope: Scope, held: F, nbytes: int) -> None:
        """Take note of how much memory one takes now, and drop others where it is too much for the limit."""
        with self._lock:
            if self._held.get(scope) is not held:
                # Dropped meanwhile, by a deletion or another thread's load.
                return
            self._taken += nbytes - self._weights.get(scope, 0)
            self._weights[scope] = nbytes
            self._held.move_to_end(scope)
            self._shrink()

    def _shrink(self) -> None:
        while len(self._held) > 1 and (
            (self._size is not None and len(self._held) > self._size)
            or (self._nbytes is not None and self._taken > self._nbytes)
        ):
            self._release(next(iter(self._held)))

    def _release(self, scope: Scope) -> F | None:
        self._taken -= self._weights.pop(scope, 0)
        return self._held.pop(scope, None)

    def of(self, scope: Scope, row: ScopeRow, *, retry_vectors: bool = False) -> F:
        """What follows the scope: the one held, or a new one after a deletion or a rebuild.

        Args:
            scope: whose.
            row: the scope as stored now.
            retry_vectors: begin anew where vectors are missing because an embedder had failed.
        """
        with self._lock:
            held = self._held.get(scope)
            outdated = held is not None and (held.row.id, held.row.epoch) != (row.id, row.epoch)
            if held is None or outdated or (held.lacks_vectors and retry_vectors):
                self._release(scope)
                held = self._held[scope] = self._new(ScopeRow(row.id, -1, row.epoch))
            self._held.move_to_end(scope)
            self._shrink()
        return held
