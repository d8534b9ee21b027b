"""What the bank has put into a vector store outside: noted before it goes there, and until it is known to be gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, delete, insert, select, true, update

from ..memory import DenseDocument, DocumentPlace
from .schema import dense_documents, dense_sessions, scopes, sessions
from .sql import SessionRow, SqlStore, again_if_contended

__all__ = ["Behind", "DenseLedger", "stores_holding"]

_CHUNK: Final = 500
_INTENDED, _HELD, _DOOMED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Behind:
    """A session that the vector store has not followed yet: documents from turn ``since`` on may differ."""

    session: SessionRow
    epoch: int
    since: int


class DenseLedger:
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
        same = found is not None and found.epoch == epoch
        return Behind(session, epoch, min(found.settled, session.settled) if found is not None and same else 0)

    def documents(self, session_id: int, since: int = 0) -> dict[str, bool]:
        """The ids of what may be there of the session from turn ``since`` on, and whether it is known to be there."""
        statement = select(dense_documents.c.id, dense_documents.c.held).where(
            self._ours, dense_documents.c.session_id == session_id, dense_documents.c.start >= since
        )
        with self._store.transaction(write=False) as connection:
            return {row.id: row.held == _HELD for row in connection.execute(statement)}

    def forgotten(self, scope: str | None = None) -> list[int]:
        """The sessions that are no more and of which something may be there; only those of a scope where given."""
        of_scope = dense_sessions.c.scope == scope if scope is not None else true()
        statement = select(dense_sessions.c.session_id).where(
            dense_sessions.c.store == self._name,
            of_scope,
            dense_sessions.c.session_id.not_in(select(sessions.c.id)),
        )
        with self._store.transaction(write=False) as connection:
            return list(connection.scalars(statement))

    def places(self, ids: Sequence[str]) -> dict[str, tuple[str, DocumentPlace]]:
        """The scope's label and the place of each document that is known, and whose session is there."""
        columns = (dense_documents.c.id, dense_documents.c.scope, dense_documents.c.kind, dense_documents.c.start)
        joined = dense_documents.join(sessions, sessions.c.id == dense_documents.c.session_id)
        statement = select(*columns, sessions.c.name).select_from(joined).where(self._ours)
        found: dict[str, tuple[str, DocumentPlace]] = {}
        with self._store.transaction(write=False) as connection:
            for batch in _batches(ids):
                for row in connection.execute(statement.where(dense_documents.c.id.in_(batch))):
                    found[row.id] = row.scope, DocumentPlace(row.kind, row.name, row.start)
        return found

    @again_if_contended
    def intend(self, session: SessionRow, scope: str, documents: Sequence[DenseDocument]) -> None:
        """Note what is about to go to the vector store; on disk when this returns."""
        rows = {each.id: self._row(session, each) for each in documents}
        with self._store.transaction(scope=session.scope_id) as connection:
            for batch in _batches(list(rows)):
                for known in connection.scalars(select(dense_documents.c.id).where(self._among(batch))).all():
                    del rows[known]
            if connection.scalar(select(dense_sessions.c.version).where(self._of(session.id))) is None:
                begun = {"store": self._name, "session_id": session.id, "scope": scope}
                connection.execute(insert(dense_sessions).values(**begun, version=-1, settled=0, epoch=-1))
            if rows:
                connection.execute(insert(dense_documents), list(rows.values()))

    def _row(self, session: SessionRow, document: DenseDocument) -> dict[str, Any]:
        place = {"kind": document.place.kind, "start": document.place.index}
        return {
            "store": self._name,
            "id": document.id,
            "scope": document.scope,
            "session_id": session.id,
            **place,
            "held": _INTENDED,
        }

    @again_if_contended
    def arrived(self, session: SessionRow, ids: Iterable[str]) -> None:
        """Note that documents are in the vector store."""
        self._mark(session, ids, _HELD)

    @again_if_contended
    def lost(self, session: SessionRow, ids: Iterable[str]) -> None:
        """Note that documents are not in the vector store, so that they go there again."""
        self._mark(session, ids, _INTENDED)

    def _mark(self, session: SessionRow, ids: Iterable[str], held: int) -> None:
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            for batch in _batches(list(ids)):
                connection.execute(update(dense_documents).where(self._among(batch)).values(held=held))
            if held == _INTENDED:
                connection.execute(update(dense_sessions).where(self._of(session.id)).values(version=-1, epoch=-1))

    @again_if_contended
    def removed(self, ids: Sequence[str]) -> None:
        """Note that documents were deleted from the vector store.

        One that was only about to go there may still arrive, from a process that is no more: it is deleted once more.
        """
        with self._store.transaction(durable=False) as connection:
            for batch in _batches(ids):
                known = and_(self._among(batch), dense_documents.c.held != _INTENDED)
                connection.execute(delete(dense_documents).where(known))
                connection.execute(update(dense_documents).where(self._among(batch)).values(held=_DOOMED))

    @again_if_contended
    def followed(self, behind: Behind) -> bool:
        """Note that the vector store holds the session as it was read.

        Returns:
            Whether the session is still the same.
        """
        session = behind.session
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            now = connection.scalar(select(sessions.c.version).where(sessions.c.id == session.id))
            if now != session.version:
                return False
            values = {"version": session.version, "settled": session.settled, "epoch": behind.epoch}
            connection.execute(update(dense_sessions).where(self._of(session.id)).values(**values))
        return True

    @again_if_contended
    def close(self, session_id: int) -> None:
        """Note that nothing is left of a forgotten session, where that is so."""
        left = select(dense_documents.c.session_id).where(self._ours)
        with self._store.transaction(durable=False) as connection:
            connection.execute(
                delete(dense_sessions).where(
                    self._of(session_id),
                    dense_sessions.c.session_id.not_in(left.where(dense_documents.c.session_id == session_id)),
                )
            )

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


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
