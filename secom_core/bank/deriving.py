"""What is derived of sessions, brought up to their messages: segments, keys, vectors, a vector store, layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..conversation import Scope
from ..derived.segmenters import ScopeSegmenters
from ..derived.segments import Derivation
from ..errors import warn_degraded
from ..stores.sql import SqlStore
from ..vector_stores.sync import VectorStoreSync
from .layers import Layers

Bar = Callable[..., Iterable[Any]]
"""Items with a progress bar; takes them, what is done to them, and as ``unit`` what one is called."""


@dataclass(frozen=True)
class Deriving:
    """Derives after every write, and again from the raw turns.

    Args:
        store: where turns are.
        derivation: makes segments, keys and vectors.
        segmenters: cut sessions; some learn.
        vector_store: follows the sessions, where there is one.
        layers: take in closed sessions.
        bar: shows progress where the bank does.
    """

    store: SqlStore
    derivation: Derivation
    segmenters: ScopeSegmenters
    vector_store: VectorStoreSync | None
    layers: Layers
    bar: Bar

    def session(self, scope: Scope, session_id: int, *, afresh: bool = False) -> None:
        """Bring what is derived of one session up to its messages, layers apart."""
        self.derivation.derive(session_id, scope, afresh=afresh)
        if self.vector_store is not None:
            self.vector_store.follow_session(scope, session_id)

    def after_write(self, scope: Scope, session_id: int, *, turns: int, closed: bool) -> None:
        """Derive what a write has made necessary. What was said is stored, so nothing is raised.

        Warns:
            DegradedWarning: something failed; it is made at the next occasion.
        """
        try:
            self.session(scope, session_id)
            self.came(scope, turns)
            if closed:
                self.layers.catch_up(scope)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the caller's words are stored
            warn_degraded(
                "what was said is stored, and what is made of it could not be made; the next recall tries again: "
                f"{type(error).__name__}: {error}"
            )

    def came(self, scope: Scope, turns: int) -> None:
        """Let a segmenter that learns know that so many turns have come."""
        self.segmenters.came(scope, turns)

    def missing(self, scope: Scope) -> int:
        """Make whatever is not derived yet; how many times a layer took a session in."""
        for row in self.store.sessions_of(scope):
            self.session(scope, row.id)
        return self.layers.catch_up(scope)

    def rebuild(self, scope: Scope) -> None:
        """Make everything derived again from the raw turns."""
        self.segmenters.learn(scope)
        for row in self.bar(self.store.sessions_of(scope), "rebuilding", unit="session"):
            self.session(scope, row.id, afresh=True)
        self.layers.begin_again(scope)
