"""Forgetting: turns, and all that was made from them, in the bank's own store and outside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from ..conversation import ITEMS, Scope
from ..derived.progress import layers_in
from ..derived.segments import Derivation
from ..errors import StoreError, StoreLocked, warn_degraded
from ..layers import is_of_others, registered
from ..stores.index_blocks import WithoutThem
from ..stores.rows import SessionRow
from ..stores.schema import metadata
from ..stores.shrinking import Shrunk
from ..stores.sql import SqlStore
from ..stores.statements import holds_any
from ..vector_stores.sync import VectorStoreSync, forgotten_elsewhere
from .scope_cache import ScopeCache

_AT_ONCE: Final = 100
"""Of how many sessions turns are deleted in one transaction, which other writers wait for."""


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
        left, gone = iter(doomed.items()), list[int]()
        try:
            while part := dict(islice(left, _AT_ONCE)):
                gone.append(self._gone(scope, row.id, part, index))
        except StoreLocked as error:
            if not gone:
                raise
            told = f"{sum(gone)} turns were forgotten, and the same call again forgets the rest: {error}"
            raise StoreLocked(told) from error
        self._scopes.forgotten(scope, row, doomed, sum(map(bool, gone)))
        return sum(gone)

    def _gone(self, scope: Scope, scope_id: int, doomed: Mapping[int, set[int]], index: WithoutThem | None) -> int:
        """Delete turns of some sessions in one transaction, so that a lock leaves nothing half done; how many."""
        without, found, changed = dict[int, Shrunk | None](), list[Shrunk](), set(doomed)
        while changed:
            # Whoever goes on with a session meanwhile has that one looked at again, and not all.
            without |= {each: self._without(scope, each, doomed[each]) for each in sorted(changed)}
            found = [each for each in without.values() if each is not None]
            changed = self._store.forget_turns(scope_id, found, also=_concerned, index=index) if found else set()
        return sum(len(each.turns) for each in found)

    def _without(self, scope: Scope, session_id: int, doomed: set[int]) -> Shrunk | None:
        """A session without turns; nothing where it has none of them any more."""
        row = self._store.session(session_id)
        turns = self._store.turns(row) if row is not None else []
        kept = [turn for turn in turns if turn.index not in doomed]
        if row is None or len(kept) == len(turns):
            return None
        rows = self._derivation.shrunk(self._store.memories(row.id), kept, doomed, scope)
        gone = {turn.index for turn in turns} & doomed
        return Shrunk(row, gone, rows, self._derivation.digests(kept, rows))

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


def _concerned(connection: Connection) -> list[Callable[[Connection, SessionRow, Collection[int]], None]]:
    """What deletes of the layers that hold anything: most hold nothing of anybody, and each is asked for each session.

    A layer that this package does not bring may hold something elsewhere, whatever its tables hold.
    """
    return [
        layer.forget_turns
        for layer in registered()
        if is_of_others(layer) or any(holds_any(connection, table) for table in layer.tables)
    ]
