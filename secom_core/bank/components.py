"""The components of a bank, made of its parts and joined."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final
from weakref import WeakSet

from sqlalchemy import Table
from tqdm import tqdm

from ..chats.layer import Chats
from ..conversation import Scope
from ..derived.cutting import TAIL
from ..derived.segmenters import ScopeSegmenters
from ..derived.segments import Derivation
from ..layers import LayerContext, registered
from ..memory import Memory
from ..protocols import Statistics
from ..ranking import ScopeIndex
from ..stores.sql import SqlStore
from ..vector_stores.sync import VectorStoreSync
from .checking import Checkup, check
from .corrections import Corrections
from .deriving import Deriving
from .forgetting import Forgetting
from .kept_index import IndexKeeper
from .layers import Layers
from .lifetimes import Lifetimes
from .parts import Parts
from .recalling import Recalling
from .records import Finding, WriterHealth
from .redaction import redacted_text
from .scope_cache import ScopeCache
from .spending import Spending
from .standing import Standing
from .storage import Storage

_CACHED: Final = 1000


class Components:
    """What a bank works with.

    Args:
        store: where turns live.
        parts: what the bank is made of.
    """

    def __init__(self, store: SqlStore, parts: Parts) -> None:
        self.spending = Spending()
        counted = self.spending.of_part
        parts = replace(parts, segmenter=counted(parts.segmenter), summaries=counted(parts.summaries))
        self._parts, self._store = parts, store
        self.writers: WeakSet[WriterHealth] = WeakSet()
        store.make_missing(_tables_of_others())
        size = parts.max_scopes or _CACHED
        inside = parts.vector_store is None
        self.vector_store = VectorStoreSync(store, parts.vector_store, size=size) if parts.vector_store else None
        segmenters = ScopeSegmenters(store, parts.segmenter_used, size=size)
        self.derivation = Derivation(
            store,
            segmenters,
            parts.denoiser,
            parts.embedder,
            tail=None if parts.granularity == "session" else TAIL,
            statistics=lambda scope: self.scopes.statistics(scope),
            vectors=inside,
        )
        self.scopes = ScopeCache(
            store,
            self.derivation,
            self._new_index,
            size=parts.max_scopes,
            nbytes=parts.max_memory,
            vectors=inside,
            keeper=IndexKeeper(store, parts.token_counter, self.derivation.space),
        )
        self.layers = Layers(parts.layer_factories, self._context(store, size))
        self.standing = Standing(store)
        self.recalling = Recalling(parts, self.derivation, self.scopes, self.vector_store, self.layers, self.standing)
        bar = partial(tqdm, disable=not parts.progress)
        self.deriving = Deriving(store, self.derivation, segmenters, self.vector_store, self.layers, bar)
        self.forgetting = Forgetting(store, self.derivation, self.vector_store, self.scopes)
        self.lifetimes = Lifetimes(
            store,
            self.standing,
            lambda scope, turn_ids: self.forget(scope, None, turn_ids, None),
            self.forgetting.forget_empty,
        )
        self.current = self.lifetimes.current
        self.chats = Chats(store, partial(redacted_text, redact=parts.redact), self.current)
        self.corrections = Corrections(self.deriving, parts.redact, self.current)
        self.storage = Storage(self.deriving, self._parts, self.current)
        if self.vector_store is not None:
            self.vector_store.drain()

    def forget(self, scope: Scope, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None) -> int:
        """Delete the turns that meet every condition given, and what is held of them; how many there were."""
        if session is None and turn_ids is None and before is None:
            self.scopes.drop(scope)
        self.layers.drop(scope)
        if turn_ids is None and before is None:
            for writer in list(self.writers):
                writer.forget(scope, session)
        return self.forgetting.forget(scope, session, turn_ids, before)

    def close(self) -> None:
        """Have the background writers write what is in memory, and close the store whatever becomes of it."""
        with ExitStack() as closing:
            closing.callback(self._store.close)
            for writer in list(self.writers):
                closing.callback(writer.end)

    def memories(self, scope: Scope, session: str) -> list[Memory]:
        """The session's memories, in order, after what is new of it is derived."""
        store, derivation = self.deriving.store, self.derivation
        row = store.session_named(scope, session)
        current = derivation.derive(row.id, scope) if row is not None else None
        return derivation.memories(scope, current, store.turns(current)) if current is not None else []

    def check(self, scope: Scope | None, *, repair: bool) -> tuple[Finding, ...]:
        """What `secom_core.bank.checking` finds in one scope, or in all of them."""
        store = self.deriving.store
        named = [(each, store.scope(each)) for each in ([scope] if scope is not None else store.scopes())]
        known = [(each, row) for each, row in named if row is not None]
        found = check(Checkup(self.deriving, known, scope is None, repair))
        for each, _ in known if repair else ():
            self.scopes.drop(each)
            self.layers.drop(each)
        return found

    def _context(self, store: SqlStore, size: int) -> LayerContext:
        model = self._parts.model
        return LayerContext(
            store,
            self.derivation,
            self.spending.metered(model) if model is not None else None,
            statistics=self._statistics,
            search=lambda scope, query, now: self.recalling.found(scope, query, now),
            redact=partial(redacted_text, redact=self._parts.redact),
            counter=self._parts.token_counter,
            max_scopes=size,
        )

    def _new_index(self) -> ScopeIndex:
        parts = self._parts
        return ScopeIndex(
            dense=parts.embedder is not None or parts.vector_store is not None,
            weights=parts.weights_used,
            counter=parts.token_counter,
        )

    def _statistics(self, scope: Scope) -> Statistics | None:
        loaded = self.scopes.caught_up(scope)
        return loaded.index.statistics if loaded is not None else None


def _tables_of_others() -> list[Table]:
    """The tables of layers that this package does not bring; its own are made by migrations."""
    others = (layer for layer in registered() if not layer.__module__.startswith("secom_core."))
    return [table for layer in others for table in layer.tables]
