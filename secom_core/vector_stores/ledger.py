"""What the bank has put into a vector store outside: noted before it goes there, and until it is known to be gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, delete, exists, insert, select, true, update

from ..stores.database import retry_if_contended
from ..stores.rows import SessionRow, is_count
from ..stores.schema import scopes, sessions
from ..stores.sql import SqlStore
from ..stores.statements import is_unchanged
from ..text.batches import batches
from ..vectors import DocumentPlace, VectorDocument
from .tables import dense_documents, dense_sessions

_INTENDED, _ARRIVED, _DOOMED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Behind:
    """A session that the vector store has not followed yet: documents from turn ``since`` on may differ."""

    session: SessionRow
    epoch: int
    since: int


class VectorStoreLedger:
    """Keeps what may be in one vector store, by session.

    Args:
        store: the bank's store.
        name: the vector store's.
    """

    def __init__(self, store: SqlStore, name: str) -> None:
        self._store, self._name = store, name

    def behind(self, session_id: int) -> Behind | None:
        """How far the vector store is behind the session; nothing where it is not, or there is no such session."""
        session = self._store.session(session_id)
        if session is None:
            return None
        state = select(dense_sessions.c.version, dense_sessions.c.settled, dense_sessions.c.epoch)
        with self._store.transaction(write=False) as connection:
            epoch = connection.scalar(select(scopes.c.epoch).where(scopes.c.id == session.scope_id))
            found = connection.execute(state.where(self._of(session_id))).one_or_none()
        if epoch is None or (found is not None and (found.version, found.epoch) == (session.version, epoch)):
            return None
        # Another epoch: something was forgotten or cut anew, and not only at the end.
        same = found is not None and found.epoch == epoch and is_count(found.settled)
        return Behind(session, epoch, min(found.settled, session.settled) if found is not None and same else 0)

    def documents(self, session_id: int, since: int = 0) -> dict[str, bool]:
        """The ids of what may be there of the session from turn ``since`` on, and whether it is known to be there."""
        statement = select(dense_documents.c.id, dense_documents.c.held).where(
            self._ours, dense_documents.c.session_id == session_id, dense_documents.c.start >= since
        )
        with self._store.transaction(write=False) as connection:
            return {row.id: row.held == _ARRIVED for row in connection.execute(statement)}

    def forgotten(self, scope: str | None = None) -> list[int]:
        """The sessions that are no more and of which something may be there; only those of a scope where given."""
        of_scope = dense_sessions.c.scope == scope if scope is not None else true()
        gone = dense_sessions.c.session_id.not_in(select(sessions.c.id))
        statement = select(dense_sessions.c.session_id).where(dense_sessions.c.store == self._name, of_scope, gone)
        with self._store.transaction(write=False) as connection:
            return list(connection.scalars(statement))

    def places(self, ids: Sequence[str]) -> dict[str, tuple[str, DocumentPlace]]:
        """The scope's label and the place of each document that is known, and whose session is there."""
        columns = (dense_documents.c.id, dense_documents.c.scope, dense_documents.c.kind, dense_documents.c.start)
        joined = dense_documents.join(sessions, sessions.c.id == dense_documents.c.session_id)
        statement = select(*columns, sessions.c.name).select_from(joined).where(self._ours)
        found: dict[str, tuple[str, DocumentPlace]] = {}
        with self._store.transaction(write=False) as connection:
            for batch in batches(ids):
                for row in connection.execute(statement.where(dense_documents.c.id.in_(batch))):
                    found[row.id] = row.scope, DocumentPlace(row.kind, row.name, row.start)
        return found

    @retry_if_contended
    def intend(self, session: SessionRow, scope: str, documents: Sequence[VectorDocument]) -> None:
        """Note what is about to go to the vector store; on disk when this returns."""
        new = {each.id: each for each in documents}
        with self._store.transaction(scope=session.scope_id) as connection:
            for batch in batches(list(new)):
                for existing in connection.scalars(select(dense_documents.c.id).where(self._among(batch))).all():
                    del new[existing]
            if connection.scalar(select(dense_sessions.c.version).where(self._of(session.id))) is None:
                begun = {"store": self._name, "session_id": session.id, "scope": scope}
                connection.execute(insert(dense_sessions).values(**begun, version=-1, settled=0, epoch=-1))
            if new:
                of_session = {"store": self._name, "session_id": session.id, "held": _INTENDED}
                rows = [
                    {**of_session, "id": each.id, "scope": scope, "kind": each.place.kind, "start": each.place.index}
                    for each in new.values()
                ]
                connection.execute(insert(dense_documents), rows)

    @retry_if_contended
    def mark(self, session: SessionRow, ids: Sequence[str], *, arrived: bool) -> None:
        """Note that documents are in the vector store, or that they are not, so that they go there again."""
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            for batch in batches(ids):
                values = {"held": _ARRIVED if arrived else _INTENDED}
                connection.execute(update(dense_documents).where(self._among(batch)).values(**values))
            if not arrived:
                connection.execute(update(dense_sessions).where(self._of(session.id)).values(version=-1, epoch=-1))

    @retry_if_contended
    def removed(self, ids: Sequence[str]) -> None:
        """Note that documents were deleted from the vector store.

        One that was only about to go there may still arrive, from a process that is no more: it is deleted once more.
        """
        with self._store.transaction(durable=False) as connection:
            for batch in batches(ids):
                connection.execute(
                    delete(dense_documents).where(self._among(batch), dense_documents.c.held != _INTENDED)
                )
                connection.execute(update(dense_documents).where(self._among(batch)).values(held=_DOOMED))

    @retry_if_contended
    def followed(self, behind: Behind) -> bool:
        """Note that the vector store holds the session as it was read.

        Returns:
            Whether the session is still the same.
        """
        session = behind.session
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not is_unchanged(connection, session):
                return False
            values = {"version": session.version, "settled": session.settled, "epoch": behind.epoch}
            connection.execute(update(dense_sessions).where(self._of(session.id)).values(**values))
        return True

    @retry_if_contended
    def close(self, session_id: int) -> None:
        """Note that nothing is left of a forgotten session, where that is so."""
        left = exists().where(self._ours, dense_documents.c.session_id == session_id)
        with self._store.transaction(durable=False) as connection:
            connection.execute(delete(dense_sessions).where(self._of(session_id), ~left))

    @property
    def _ours(self) -> ColumnElement[bool]:
        return dense_documents.c.store == self._name

    def _among(self, ids: Sequence[str]) -> ColumnElement[bool]:
        return and_(self._ours, dense_documents.c.id.in_(ids))

    def _of(self, session_id: int) -> ColumnElement[bool]:
        return and_(dense_sessions.c.store == self._name, dense_sessions.c.session_id == session_id)


def stores_holding(store: SqlStore, scope: str) -> list[str]:
    """The names of the vector stores in which something of the scope with this label may be."""
    statement = select(dense_sessions.c.store).where(dense_sessions.c.scope == scope).distinct()
    with store.transaction(write=False) as connection:
        return sorted(connection.scalars(statement))
