"""The rows that are derived from turns: memories, vectors, and the states of parts that learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, and_, case, delete, func, insert, select, type_coerce, update
from sqlalchemy.types import NullType

from ..protocols import Vectors
from ..text.batches import batches
from .database import Database, retry_if_contended
from .rows import MOST, MemoryRow, SessionRow, session_row
from .schema import memories, part_states, scopes, sessions, vectors
from .sound import fetched, sound_rows
from .statements import delete_among, is_unchanged

_ANY: Final = -1

STORED: Final = type_coerce(vectors.c.data, NullType())
"""The bytes of a vector, or whatever stands in their place."""

_NUMBER: Final = 4
"""How many bytes a number of a vector takes."""


class DerivedRows(Database):
    """What is derived from turns, in one database; each write is thrown away where its session has changed meanwhile.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
    """

    def session(self, session_id: int) -> SessionRow | None:
        """The session as it is now, or nothing where it was forgotten."""
        with self.transaction(write=False) as connection:
            return session_where(connection, sessions.c.id == session_id)

    def memories(self, session_id: int, start: int = 0) -> list[MemoryRow]:
        """The session's memories that start at turn ``start`` or later, in order; those that are none are set aside."""
        later = (memories.c.start >= start,) if start else ()
        statement = (
            select(memories.c.start, memories.c.stop, memories.c.key, memories.c.digest)
            .where(memories.c.session_id == session_id, *later)
            .order_by(memories.c.start)
        )
        owner = select(sessions.c.scope_id).where(sessions.c.id == session_id).scalar_subquery()
        with self.transaction(write=False) as connection:
            return [MemoryRow(*row) for row in sound_rows(connection, statement, memories, owner)]

    # -- segments, keys, vectors -------------------------------------------------------------------------------------

    @retry_if_contended
    def save_memories(
        self, session: SessionRow, rows: Sequence[MemoryRow], *, settled: int, since: int | None = None
    ) -> bool:
        """Replace the session's memories that start at ``since`` or later; all or nothing.

        Args:
            session: the row that the memories were made from.
            rows: the new memories.
            settled: the turn from which on they may still change.
            since: the first turn that the rows cover; where the session had settled unless given.

        Returns:
            Whether they were kept: not if the session changed or was forgotten in the meantime.
        """
        first = session.settled if since is None else since
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            if not is_unchanged(connection, session):
                return False
            later = (memories.c.start >= first,) if first else ()
            connection.execute(delete(memories).where(memories.c.session_id == session.id, *later))
            if rows:
                connection.execute(insert(memories), [memory_values(session, row) for row in rows])
            if first < session.settled:
                new_epoch(connection, session.scope_id)
            counts = {"turns": session.turns, "messages": session.messages, "derived": session.messages}
            touch(connection, session.id, session.scope_id, **counts, settled=settled)
        return True

    def vectors(self, session_id: int, model: str, digests: Sequence[str]) -> dict[str, Vectors]:
        """The session's stored vectors of ``model`` among ``digests``; an empty one where the bytes are no numbers."""
        found: dict[str, Vectors] = {}
        with self.transaction(write=False) as connection:
            for batch in batches(digests):
                statement = select(vectors.c.digest, STORED).where(
                    vectors.c.session_id == session_id, vectors.c.model == model, vectors.c.digest.in_(batch)
                )
                found.update((digest, vector_of(data)) for digest, data in fetched(connection, statement))
        return found

    def vector_bytes(self, model: str) -> int | None:
        """How many bytes a stored vector of ``model`` takes, any of them; nothing where there is none."""
        statement = select(func.length(vectors.c.data)).where(vectors.c.model == model).limit(1)
        with self.transaction(write=False) as connection:
            return connection.scalar(statement)

    @retry_if_contended
    def save_vectors(
        self, session_id: int, model: str, new: Mapping[str, Vectors], *, only_these: bool = False
    ) -> None:
        """Keep vectors by the digest of the text they stand for; nothing where the session was forgotten.

        Args:
            session_id: whose texts they are.
            model: what made them.
            new: the vectors.
            only_these: remove all others that the session has of the model.
        """
        session = self.session(session_id) if new else None
        if session is None:
            return
        kept = {"session_id": session_id, "model": model}
        rows = [{**kept, "digest": digest, "data": vector.astype("<f4").tobytes()} for digest, vector in new.items()]
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            if session_where(connection, sessions.c.id == session_id) is not None:
                stale = (vectors.c.session_id == session_id, vectors.c.model == model)
                if only_these:
                    connection.execute(delete(vectors).where(*stale))
                else:
                    delete_among(connection, vectors.c.digest, new, *stale)
                connection.execute(insert(vectors), rows)

    @retry_if_contended
    def drop_vectors(self, session_id: int, digests: Sequence[str]) -> None:
        """Remove the vectors of texts that the session does not hold any more."""
        session = self.session(session_id) if digests else None
        if session is None:
            return
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            delete_among(connection, vectors.c.digest, digests, vectors.c.session_id == session_id)

    # -- the states of parts -----------------------------------------------------------------------------------------

    def part_state(self, scope_id: int, part: str) -> tuple[int, str] | None:
        """The version of what the part has learned, and its state; nothing where it has learned nothing."""
        statement = select(part_states.c.version, part_states.c.state).where(_is_part(scope_id, part))
        with self.transaction(write=False) as connection:
            rows = sound_rows(connection, statement, part_states, scope_id)
        return (rows[0].version, rows[0].state) if rows else None

    @retry_if_contended
    def save_part_state(
        self, scope_id: int, epoch: int, part: str, version: int, state: str, *, replaces: int | None = _ANY
    ) -> bool:
        """Keep what the part has learned in place of what it had.

        Args:
            scope_id: the scope.
            epoch: its epoch when this was learned.
            part: what has learned.
            version: a number that grows, such as how many turns it was learned from.
            state: what was learned, as text.
            replaces: the version that this was made in place of, where there may be a newer one by now; ``None`` for
                none.

        Returns:
            Whether it was kept: not if something of the scope was forgotten since ``epoch``, nor in place of another
            version than ``replaces``.
        """
        mark = _is_part(scope_id, part)
        with self.transaction(durable=False, scope=scope_id) as connection:
            if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != epoch:
                return False
            if replaces != _ANY and connection.scalar(select(part_states.c.version).where(mark)) != replaces:
                return False
            connection.execute(delete(part_states).where(mark))
            connection.execute(insert(part_states).values(scope_id=scope_id, part=part, version=version, state=state))
        return True

    @retry_if_contended
    def drop_part_state(self, scope_id: int, part: str) -> None:
        """Forget what the part has learned."""
        with self.transaction(durable=False, scope=scope_id) as connection:
            connection.execute(delete(part_states).where(_is_part(scope_id, part)))


def vector_of(data: object) -> Vectors:
    """The stored bytes as a vector; an empty one where they are no numbers."""
    whole = data if isinstance(data, bytes) and len(data) % _NUMBER == 0 else b""
    return np.frombuffer(whole, dtype="<f4")


def session_where(connection: Connection, *conditions: ColumnElement[bool]) -> SessionRow | None:
    """The session that meets the conditions, or nothing where there is none."""
    rows = fetched(connection, select(sessions).where(*conditions))
    return session_row(rows[0]) if rows else None


def _is_part(scope_id: int, part: str) -> ColumnElement[bool]:
    return and_(part_states.c.scope_id == scope_id, part_states.c.part == part)


def touch(connection: Connection, session_id: int, scope_id: int, **values: int) -> None:
    """Count a change in the scope and the session, and set the session's ``values``."""
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(revision=grown(scopes.c.revision)))
    revision = select(scopes.c.revision).where(scopes.c.id == scope_id).scalar_subquery()
    connection.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(revision=revision, version=grown(sessions.c.version), **values)
    )


def new_epoch(connection: Connection, scope_id: int) -> None:
    """Have readers load the scope afresh: something of it is gone, or was derived again."""
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(epoch=grown(scopes.c.epoch)))


def grown(number: Column[int]) -> ColumnElement[int]:
    """One more than the number; 1 where it is none that can be counted up."""
    return case((number.between(0, MOST), number + 1), else_=1)


def memory_values(session: SessionRow, row: MemoryRow) -> dict[str, Any]:
    """The memory as values to insert."""
    return {"session_id": session.id, "start": row.start, "stop": row.stop, "key": row.key, "digest": row.digest}
