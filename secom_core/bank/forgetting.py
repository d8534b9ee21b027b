"""Forgetting: turns, and all that was made from them, in the bank's own store and outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..conversation import ITEMS, Scope
from ..derived.progress import layers_in
from ..derived.segments import Derivation
from ..errors import StoreError, warn_degraded
from ..layers import registered
from ..stores.index_blocks import WithoutThem
from ..stores.schema import metadata
from ..stores.sql import SqlStore
from ..vector_stores.sync import VectorStoreSync, forgotten_elsewhere
from .scope_cache import ScopeCache


class Forgetting:
    """Deletes from the bank's store, with every layer that is known, whether the bank was opened with it or not.

    Args:
        store: where turns are.
        derivation: makes the keys of memories anew that lose a turn.
        vector_store: forgets too, where there is one.
        scopes: the indexes that are loaded.
    """

    def __init__(
        self, store: SqlStore, derivation: Derivation, vector_store: VectorStoreSync | None, scopes: ScopeCache
    ) -> None:
        self._store, self._derivation, self._vector_store, self._scopes = store, derivation, vector_store, scopes

    def forget(self, scope: Scope, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None) -> int:
        """Delete the turns that meet every condition given, everything of the scope where there is none.

        Returns:
            How many turns there were.

        Raises:
            StoreError: the store or the vector store failed, or holds what a layer made that this process does not
                know.
        """
        if session is None and turn_ids is None and before is None:
            gone = self._store.forget_scope(scope, also=[layer.forget_scope for layer in registered()])
        else:
            gone = self._turns(scope, session, turn_ids, before)
            if gone and scope[0] == ITEMS:
                self.forget_empty(scope)
        self._derivation.forget()
        emptied = self._store.empty_log()
        outside = self._vector_store
        if outside is not None:
            outside.forget(scope)
        if gone:
            forgotten_elsewhere(self._store, scope, here=outside.name if outside is not None else None)
        if gone and not emptied:
            warn_degraded(
                f"the forgotten words are gone from the store at {self._store.path}, but its log still holds them, as "
                "something reads the file, in this program or another, or its disk is full; a later write empties the "
                "log, and so does closing the bank"
            )
        return gone

    def forget_empty(self, scope: Scope) -> None:
        """Delete what is left of a scope that has no turn."""
        self._store.forget_scope(scope, also=[layer.forget_scope for layer in registered()], only_empty=True)

    def _turns(self, scope: Scope, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None) -> int:
        row = self._store.scope(scope)
        if row is None:
            return 0
        self._check_known(row.id)
        ids = list(turn_ids) if turn_ids is not None else None
        doomed = self._store.matching_turns(row.id, session=session, turn_ids=ids, before=before)
        index = self._scopes.take_out(scope, row, self._store.turns_of(doomed))
        done = [self._of_session(scope, session_id, turns, index) for session_id, turns in doomed.items()]
        self._scopes.forgotten(scope, row, doomed, sum(map(bool, done)))
        return sum(done)

    def _of_session(self, scope: Scope, session_id: int, doomed: set[int], index: WithoutThem | None) -> int:
        also = [layer.forget_turns for layer in registered()]
        while (row := self._store.session(session_id)) is not None:
            turns = self._store.turns(row)
            kept = [turn for turn in turns if turn.index not in doomed]
            rows = self._derivation.shrunk(self._store.memories(row.id), kept, doomed, scope)
            digests = self._derivation.digests(kept, rows)
            if self._store.forget_turns(row, doomed, rows, digests, also=also, index=index):
                return len(turns) - len(kept)
        return 0

    def _check_known(self, scope_id: int) -> None:
        """What a layer made of a turn is deleted by that layer: nothing is forgotten by halves.

        A name without a table that this process does not know either is a damaged row.
        """
        known = {name for layer in registered() for name in layer.progress_names or (layer.name,)}
        unknown = sorted(layers_in(self._store, scope_id) - known)
        ours = {*metadata.tables, *(table.name for layer in registered() for table in layer.tables)}
        if unknown and self._store.tables() - ours:
            raise StoreError(
                f"nothing was forgotten: the scope holds what the layer {unknown[0]!r} made, and this process does not "
                "know that layer; import the module that registers it and forget again, or forget the whole scope"
            )
