"""The components of a bank, made of its parts and joined."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeVar

from ..conversation import Message, Scope, check_scope
from ..derived.cutting import TAIL
from ..derived.segmenters import ScopeSegmenters
from ..derived.segments import Derivation
from ..errors import InvalidInput, shorten
from ..layers import LayerContext, tables_of_others
from ..memory import Memory
from ..protocols import Statistics, VectorStore
from ..ranking import ScopeIndex
from ..stores.late_answers import JoinsSettled
from ..stores.latest import LatestTurns
from ..stores.rows import Appended
from ..stores.sql import Also, SqlStore
from ..telemetry import Operations
from .corrections import Corrections
from .deriving import Deriving
from .judging import Judge
from .kept_index import IndexKeeper
from .layers import Layers
from .lifetimes import Lifetimes
from .parts import Parts
from .portions import no_bar
from .recalling import Recalling
from .records import Finding, Writers
from .redaction import redacted_text
from .scope_cache import ScopeCache
from .spending import Spending
from .standing import Standing

if TYPE_CHECKING:
    from ..chats.layer import Chats
    from ..vector_stores.sync import VectorStoreSync
    from .forgetting import Forgetting
    from .items import ItemReading
    from .storage import Storage

T = TypeVar("T")

_CACHED: Final = 1000


class Components:
    """What a bank works with.

    Args:
        store: where turns live.
        parts: what the bank is made of.
    """

    def __init__(self, store: SqlStore, parts: Parts) -> None:
        if not isinstance(store, SqlStore):
            raise InvalidInput(f"open a bank with MemoryBank.open('memory.db'), not MemoryBank({shorten(store)})")
        self.spending, self.operations = Spending(), Operations()
        counted = self.spending.of_part
        parts = replace(parts, segmenter=counted(parts.segmenter), summaries=counted(parts.summaries))
        self._parts, self._store = parts, store
        self.is_local = store.is_sqlite
        """Whether the store is in this process, and no server."""
        self.writers = Writers()
        store.make_missing(tables_of_others())
        size = parts.max_scopes or _CACHED
        inside = parts.vector_store is None
        self.vector_store = _in_step(store, parts.vector_store, size=size) if parts.vector_store else None
        segmenters = ScopeSegmenters(store, lambda: parts.segmenter_used, size=size)
        self.derivation = Derivation(
            store,
            segmenters,
            parts.denoiser,
            parts.embedder,
            tail=None if parts.granularity == "session" else TAIL,
            statistics=lambda scope: self.scopes.statistics(scope),
            vectors=inside,
        )
        bar = _bar if parts.progress else no_bar
        self.scopes = ScopeCache(
            store,
            self.derivation,
            self._new_index,
            size=parts.max_scopes,
            nbytes=parts.max_memory,
            outdated=self._let_go,
            vectors=inside,
            keeper=IndexKeeper(store, parts.token_counter, self.derivation.space),
            derived=lambda scope, row: self.deriving.link(scope, row),
            bar=bar,
        )
        self.layers = Layers(parts.layer_factories, self._context(store, size))
        self.latest, self.standing = LatestTurns(store), Standing(store, changes=bool(parts.changes))
        self.lifetimes = Lifetimes(
            store,
            self.standing,
            lambda scope, turn_ids: self.forget(scope, None, turn_ids, None),
            lambda scope: self.forgetting.forget_empty(scope),
            parts.zone,
        )
        self.current = self.lifetimes.current
        judge = Judge(parts.reranking) if parts.reranking is not None else None
        self.recalling = Recalling(
            parts, self.derivation, self.scopes, self.vector_store, self.layers, self.standing, self.lifetimes, judge
        )
        self.deriving = Deriving(
            store, self.derivation, segmenters, self.vector_store, self.layers, bar, bool(parts.changes)
        )
        self.corrections = Corrections(self.deriving, parts.redact, self.current, parts.zone)
        if self.vector_store is not None:
            self.vector_store.drain()

    def redacted(self, text: str) -> str:
        """A text without what must not be kept."""
        return redacted_text(text, self._parts.redact)

    @cached_property
    def chats(self) -> Chats:
        """The messages of sessions as a framework holds them."""
        from ..chats.layer import Chats

        return Chats(self._store, self.redacted, self.current)

    @cached_property
    def items(self) -> ItemReading:
        """Reads many sessions of one turn each, in many scopes."""
        from .items import ItemReading
        from .together import Together

        parts = self._parts
        alone = (parts.vector_store, parts.reranking, parts.denoiser, self.layers.ranker)
        together = Together(self._store, self.derivation, self._new_index, self._let_go, parts.zone)
        return ItemReading(
            self._store, self.lifetimes, self.operations, together if alone == (None,) * len(alone) else None
        )

    @cached_property
    def storage(self) -> Storage:
        """Where the bank is, and how its scopes leave and enter."""
        from .storage import Storage

        return Storage(self.deriving, self._parts, self.lifetimes)

    @cached_property
    def forgetting(self) -> Forgetting:
        """Deletes turns, and all that was made of them."""
        from .forgetting import Forgetting

        return Forgetting(self._store, self.derivation, self.vector_store, self.scopes)

    def append(
        self,
        scope: Scope,
        session: str,
        new: Sequence[Message],
        *,
        close: bool,
        also: Sequence[Also],
        answers: str | None,
    ) -> Appended:
        """As `SqlStore.append`; where messages join a turn that has settled, the index stays without it meanwhile."""
        append = partial(self._store.append, scope, session, new, close=close, idle=self._parts.silence, also=also)
        try:
            return append(answers=answers, ask=True)
        except JoinsSettled as joins:
            row, grows = self._store.scope(scope), joins.session
            turns = {grows.id: self._store.turns(grows, joins.start)}
            index = self.scopes.take_out(scope, row, turns, staying=[session]) if row is not None else None
            done = append(answers=answers, index=index)
            if row is not None:
                self.scopes.forgotten(scope, row, turns, 1)
            return done

    def forget(self, scope: Scope, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None) -> int:
        """Delete the turns that meet every condition given, and what is held of them; how many there were."""
        if session is None and turn_ids is None and before is None:
            self.scopes.drop(scope)
        self.layers.drop(scope)
        if turn_ids is None and before is None:
            for writer in self.writers:
                writer.forget(scope, session)
        try:
            return self.forgetting.forget(scope, session, turn_ids, before)
        finally:
            self.latest.clear()
            if "items" in vars(self):
                self.items.forget(scope)

    def _let_go(self) -> None:
        """Hold no words that were read so far: another process has forgotten some of them."""
        self.derivation.forget()
        self.latest.clear()

    def close(self) -> None:
        """Have the background writers write what is in memory, and close the store whatever becomes of it."""
        self.deriving.closing.set()
        since = time.monotonic()
        with ExitStack() as closing:
            closing.callback(self._store.close)
            for writer in self.writers:
                closing.callback(writer.end, since)

    def memories(self, scope: Scope, session: str) -> list[Memory]:
        """The session's memories, in order, after what is new of it is derived."""
        store, derivation = self.deriving.store, self.derivation
        row = store.session_named(scope, session)
        current = derivation.derive(row.id, scope) if row is not None else None
        return derivation.memories(scope, current, store.turns(current)) if current is not None else []

    def check(self, scope: Scope | None, *, repair: bool) -> tuple[Finding, ...]:
        """What `secom_core.bank.checking` finds in one scope, or in all of them."""
        from .checking import Checkup, check

        store = self.deriving.store
        named = [(each, store.scope(each)) for each in ([scope] if scope is not None else store.scopes())]
        known = [(each, row) for each, row in named if row is not None]
        found = check(Checkup(self.deriving, known, scope is None, repair))
        for each, _ in known if repair else ():
            self.scopes.drop(each)
            self.layers.drop(each)
        return found

    @cached_property
    def weights(self) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """What each signal counts for: in a search with vectors, and in one by words alone."""
        return self._new_index().weights

    def _context(self, store: SqlStore, size: int) -> LayerContext:
        model = self._parts.model
        return LayerContext(
            store,
            self.derivation,
            self.spending.metered(model) if model is not None else None,
            statistics=self.statistics,
            search=lambda scope, query, now: self.recalling.found(scope, query, now),
            redact=self.redacted,
            counter=self._parts.token_counter,
            max_scopes=size,
            current=lambda scope: self.current(check_scope(scope)),
        )

    def _new_index(self) -> ScopeIndex:
        parts = self._parts
        return ScopeIndex(
            dense=parts.embedder is not None or parts.vector_store is not None,
            weights=parts.weights_used,
            rules=parts.rules,
            counter=parts.token_counter,
        )

    def statistics(self, scope: Scope) -> Statistics | None:
        """How common terms are in a scope; nothing where nothing is remembered."""
        return self.recalling.statistics(scope)


def _in_step(store: SqlStore, outside: VectorStore, *, size: int) -> VectorStoreSync:
    from ..vector_stores.sync import VectorStoreSync

    return VectorStoreSync(store, outside, size=size)


_NOTICED_S: Final = 0.5
"""A bar is shown of what takes longer."""


def _bar(items: Iterable[T], what: str, *, unit: str, total: int | None = None) -> Iterable[T]:
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, what, total, unit=unit, delay=_NOTICED_S)
    return bar
