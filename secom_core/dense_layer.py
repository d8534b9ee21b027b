"""A vector store outside kept in step with the bank: what it lacks goes there, what was forgotten goes from there.

The bank's own store is the truth. It notes each document before it is sent and until it is known to be deleted, so
that what a killed process had begun is ended by the next `recall` or `forget`.
"""

from __future__ import annotations

import json
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from .conversation import Scope, Turn
from .derivation import memories_of
from .errors import DegradedWarning, ModelError, StoreError
from .memory import DenseDocument, DocumentPlace
from .protocols import DenseStore
from .recent_scopes import RecentScopes
from .stores.dense import Behind, DenseLedger, stores_holding
from .stores.digests import digest
from .stores.sql import ScopeRow, SqlStore

__all__ = ["DenseLayer", "forgotten_elsewhere", "scope_label"]

_NEAREST: Final = 200
"""How many documents a search brings: its cost does not grow with the scope."""

_AT_ONCE: Final = 256
_LOCKS: Final = 64
_UNSENDABLE: Final = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}
"""NUL and lone surrogates, which servers refuse."""

T = TypeVar("T")


class _Failed(Exception):
    """The vector store has failed; carries its error."""

    def __init__(self, cause: StoreError | ModelError) -> None:
        super().__init__(str(cause))
        self.cause = cause


@dataclass
class _Followed:
    """How far the vector store has followed a scope, as far as this process knows."""

    row: ScopeRow
    lacks_vectors: bool = False


class DenseLayer:
    """Keeps what a vector store holds of each scope, and finds it there.

    Args:
        store: the bank's store.
        dense: the vector store.
        size: of how many scopes it is remembered how far they were followed.
    """

    def __init__(self, store: SqlStore, dense: DenseStore, *, size: int) -> None:
        self._store, self._dense = store, dense
        self._ledger = DenseLedger(store, dense.name)
        self._followed: RecentScopes[_Followed] = RecentScopes(_Followed, size=size)
        self._checked: set[int] = set()
        self._locks = [threading.RLock() for _ in range(_LOCKS)]

    @property
    def name(self) -> str:
        """The vector store's."""
        return self._dense.name

    def nearest(self, scope: Scope, query: str) -> list[DocumentPlace] | None:
        """The turns and memories nearest to the query, best first; nothing, with a warning, where the store fails."""
        label = scope_label(scope)
        if not query.strip():
            return None
        try:
            with self._asked():
                ids = self._dense.search(label, query.translate(_UNSENDABLE), _NEAREST)
            known = self._ledger.places(ids)
            if any(owner != label for owner, _ in known.values()):
                raise _Failed(StoreError("it ignores the filter: it found documents of another scope"))
        except _Failed as failed:
            self._degraded("this search is by words only", failed)
            return None
        return [known[each][1] for each in ids if each in known]

    def follow_session(self, scope: Scope, session_id: int) -> None:
        """Send what is new of one session, with a warning where the vector store fails."""
        with self._lock(scope), self._lenient():
            self._bring(scope, session_id)

    def follow(self, scope: Scope) -> None:
        """Send and delete whatever any process has left to do, with a warning where the vector store fails."""
        with self._lock(scope), self._lenient():
            self._follow(scope)

    def forget(self, scope: Scope) -> None:
        """Delete what was forgotten.

        Raises:
            StoreError: the vector store has failed; what it still holds is deleted by the next attempt.
        """
        with self._lock(scope):
            try:
                self._follow(scope, sending=False)
            except _Failed as failed:
                raise StoreError(
                    f"what was forgotten is gone from the bank, but the vector store {self._dense.name!r} may still "
                    f"hold some of it, because it failed: {failed}; forget again to delete it there too"
                ) from failed.cause
            with self._lenient():
                self._follow(scope, clearing=False)

    def drain(self) -> None:
        """Delete what is left of sessions that are no more, with a warning where the vector store fails."""
        with self._lenient():
            self._clear()

    def _follow(self, scope: Scope, *, clearing: bool = True, sending: bool = True) -> None:
        row = self._store.scope(scope)
        followed = self._followed.of(scope, row) if row is not None else None
        if clearing and (followed is None or followed.row.revision < 0):
            self._clear(scope_label(scope))
        if row is None or followed is None or followed.row.revision >= row.revision:
            return
        for session in self._store.sessions(row.id, since=followed.row.revision):
            if sending and row.id not in self._checked:
                self._check(session.id)
            self._bring(scope, session.id, sending=sending)
        if sending:
            followed.row = row
            self._checked.add(row.id)

    def _check(self, session_id: int) -> None:
        """Find out what is not there any more, where a store lives in memory or was put back to an older state."""
        session = self._store.session(session_id)
        noted = [id_ for id_, held in self._ledger.documents(session_id).items() if held]
        lost: list[str] = []
        for batch in _batches(noted):
            with self._asked():
                held = self._dense.held(batch)
            lost += [each for each in batch if each not in held]
        if lost and session is not None:
            self._ledger.lost(session, lost)

    def _bring(self, scope: Scope, session_id: int, *, sending: bool = True) -> None:
        since: int | None = None
        while (behind := self._ledger.behind(session_id)) is not None:
            # Not less than was looked at before: another writer may have noted that it has followed that far.
            since = behind.since if since is None else min(since, behind.since)
            wanted = self._documents(scope, behind, since)
            noted = self._ledger.documents(session_id, since)
            self._delete([each for each in noted if each not in wanted])
            if not sending:
                return
            new = [document for id_, document in wanted.items() if not noted.get(id_)]
            self._send(scope_label(scope), behind, new)
            if self._ledger.followed(behind):
                return
        if self._store.session(session_id) is None:
            self._clear_session(session_id)

    def _documents(self, scope: Scope, behind: Behind, since: int) -> dict[str, DenseDocument]:
        session, label = behind.session, scope_label(scope)
        turns = self._store.turns(session, since)
        memories = memories_of(session.name, self._store.memories(session.id, since), turns)
        made = [
            *(_document(label, session.id, "turn", turn, turn.text) for turn in turns),
            *(_document(label, session.id, "key", memory.turns[0], memory.key) for memory in memories),
        ]
        return {each.id: each for each in made if each.text.strip()}

    def _send(self, label: str, behind: Behind, documents: Sequence[DenseDocument]) -> None:
        if documents or behind.since == 0:
            self._ledger.intend(behind.session, label, documents)
        for batch in _batches(documents):
            with self._asked():
                self._dense.upsert(batch)
            self._ledger.arrived(behind.session, [each.id for each in batch])

    def _delete(self, ids: Sequence[str]) -> None:
        for batch in _batches(ids):
            with self._asked():
                self._dense.delete(batch)
            self._ledger.removed(batch)

    def _clear(self, label: str | None = None) -> None:
        for session_id in self._ledger.forgotten(label):
            self._clear_session(session_id)

    def _clear_session(self, session_id: int) -> None:
        self._delete(list(self._ledger.documents(session_id)))
        self._ledger.close(session_id)

    def _lock(self, scope: Scope) -> threading.RLock:
        return self._locks[hash(scope) % _LOCKS]

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except (StoreError, ModelError) as error:
            raise _Failed(error) from error

    @contextmanager
    def _lenient(self) -> Iterator[None]:
        try:
            yield
        except _Failed as failed:
            self._degraded("what it lacks is found by words until it answers again", failed)

    def _degraded(self, what: str, failed: _Failed) -> None:
        warnings.warn(f"the vector store {self._dense.name!r} failed, {what}: {failed}", DegradedWarning, stacklevel=5)


def scope_label(scope: Scope) -> str:
    """What stands for the scope in a vector store: a hash, so that no name can be mistaken for a filter.

    It begins with a letter, because there are stores that compare what looks like a number as one.
    """
    return f"s{digest(json.dumps(list(scope)))}"


def forgotten_elsewhere(store: SqlStore, scope: Scope, *, here: str | None = None) -> None:
    """Warn where something of the scope may be in a vector store that the bank was opened without.

    Args:
        store: the bank's store.
        scope: the scope of which something was forgotten.
        here: the name of the vector store that the bank was opened with.
    """
    names = [name for name in stores_holding(store, scope_label(scope)) if name != here]
    if names:
        warnings.warn(
            f"what was forgotten may still be in the vector store {names[0]!r}, which this bank was opened without",
            DegradedWarning,
            stacklevel=3,
        )


def _document(label: str, session_id: int, kind: Literal["turn", "key"], turn: Turn, text: str) -> DenseDocument:
    sent = text.translate(_UNSENDABLE)
    where = json.dumps([label, session_id, kind, turn.index])
    place = DocumentPlace(kind, turn.session.translate(_UNSENDABLE), turn.index)
    return DenseDocument(
        str(uuid.UUID(hex=digest(f"{where}\n{sent}"))), sent, label, place, turn.id.translate(_UNSENDABLE)
    )


def _batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]
