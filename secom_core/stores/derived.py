"""The rows that are derived from turns: memories, vectors, and the states of parts that learn."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Update,
    and_,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.types import NullType

from ..conversation import Message, Turn
from ..protocols import Vectors
from ..text.batches import batches
from .database import retry_if_contended
from .driver import glance_in, run
from .glances import ABOUT_AT, KEYS_AT, NAMES, SESSION, TURNS_AT, MessageRow
from .index_blocks import IndexBlocks, WithoutThem, delete_index
from .messages import turns_of, without_words
from .rows import MOST, MemoryRow, SessionRow, session_row
from .schema import dimensions_of, escaped, memories, part_states, scopes, sessions, space_of, vectors
from .sound import sound_rows
from .statements import delete_among, is_unchanged

STORED: Final = type_coerce(vectors.c.data, NullType())
"""The bytes of a vector, or whatever stands in their place."""


def grown(number: Column[int]) -> ColumnElement[int]:
    """One more than the number; 1 where it is none that can be counted up."""
    return case((number.between(0, MOST), cast(number, BigInteger) + 1), else_=1)


# Statements that every turn needs are made once: making one costs more than running it.
_MEMORIES: Final = (
    select(memories.c.start, memories.c.stop, memories.c.key, memories.c.digest)
    .where(memories.c.session_id == bindparam("session"))
    .order_by(memories.c.start)
)
_MEMORIES_FROM: Final = _MEMORIES.where(memories.c.start >= bindparam("since"))
_ALL_OF_SESSION: Final = delete(memories).where(memories.c.session_id == bindparam("session"))
_DROP_MEMORIES: Final = _ALL_OF_SESSION.where(memories.c.start >= bindparam("since"))
_ADD_MEMORIES: Final = insert(memories)
_COUNT_REVISION: Final = (
    update(scopes).where(scopes.c.id == bindparam("scope")).values(revision=grown(scopes.c.revision))
)

_NUMBER: Final = 4
"""How many bytes a number of a vector takes."""


class DerivedRows(IndexBlocks):
    """What is derived from turns, in one database; each write is thrown away where its session has changed meanwhile.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
    """

    def session(self, session_id: int) -> SessionRow | None:
        """The session as it is now, or nothing where it was forgotten."""
        return next((session_row(row) for row in self.glance(SESSION, id=session_id)), None)

    def memories(self, session_id: int, start: int = 0) -> list[MemoryRow]:
        """The session's memories that start at turn ``start`` or later, in order; those that are none are set aside."""
        with self.transaction(write=False) as connection:
            return memories_since(connection, session_id, start)

    def keys_at(self, known: SessionIds, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The keys of the scope's memories by the names of their sessions and the turns that they begin at."""
        names, rows = self._at(KEYS_AT, known, places)
        return {(names[session_id], start): key for session_id, start, key in rows if isinstance(key, str)}

    def turns_at(self, known: SessionIds, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], Turn]:
        """The scope's turns by the names of their sessions and their places there."""
        found: dict[tuple[str, int], Turn] = {}
        names, rows = self._at(TURNS_AT, known, places)
        for session_id, group in groupby(map(MessageRow._make, rows), key=attrgetter("session_id")):
            name = names[session_id]
            found.update(((name, turn.index), turn) for turn in turns_of(group, name))
        return found

    def messages_at(self, known: SessionIds, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], list[Message]]:
        """The messages of the scope's turns without their words, as `turns_at` finds turns."""
        found: defaultdict[tuple[str, int], list[Message]] = defaultdict(list)
        names, rows = self._at(ABOUT_AT, known, places)
        said = list(map(MessageRow._make, rows))
        for row, message in zip(said, without_words(said), strict=True):
            found[names[row.session_id], row.turn].append(message)
        return found

    def _at(
        self, statements: Mapping[str, str], known: SessionIds, places: Sequence[tuple[str, int]]
    ) -> tuple[dict[int, str], list[tuple[Any, ...]]]:
        """The names of sessions by their ids, and what a statement finds at places in them."""
        new = sorted({name for name, _ in places} - known.ids.keys())
        if new:
            names = json.dumps([escaped(name) for name in new])
            found = self.glance(NAMES[self.dialect], scope=known.scope_id, names=names)
            known.ids.update((name, number) for number, name in found)
        ids = [(known.ids[name], place) for name, place in places if name in known.ids]
        names_of = {known.ids[name]: name for name, _ in places if name in known.ids}
        return names_of, self.glance(statements[self.dialect], pairs=json.dumps(ids))

    # -- segments, keys, vectors -------------------------------------------------------------------------------------

    @retry_if_contended
    def save_memories(
        self,
        session: SessionRow,
        rows: Sequence[MemoryRow],
        *,
        settled: int,
        since: int | None = None,
        cut: int = 0,
        cut_by: str | None = "",
    ) -> bool:
        """Replace the session's memories that start at ``since`` or later; all or nothing.

        Args:
            session: the row that the memories were made from.
            rows: the new memories.
            settled: the turn from which on they may still change.
            since: the first turn that the rows cover; where the session had settled unless given.
            cut: how many messages it had when it was last cut as a session that has ended.
            cut_by: the segmenter that the cuts are of, empty where nobody knows; nothing where some are provisional.

        Returns:
            Whether they were kept: not if the session changed or was forgotten in the meantime.
        """
        first = session.settled if since is None else since
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            if not is_unchanged(connection, session):
                return False
            if first:
                run(connection, _DROP_MEMORIES, {"session": session.id, "since": first})
            else:
                run(connection, _ALL_OF_SESSION, {"session": session.id})
            if rows:
                run(connection, _ADD_MEMORIES, *(memory_values(session, row) for row in rows))
            if first < session.settled:
                new_epoch(connection, session.scope_id)
            counts = {"turns": session.turns, "messages": session.messages, "derived": session.messages}
            touch(connection, session.id, session.scope_id, **counts, settled=settled, cut=cut, cut_by=cut_by)
        return True

    def vectors(self, session_id: int, space: str, digests: Sequence[str]) -> dict[str, Vectors]:
        """The session's stored vectors of ``space`` among ``digests``; an empty one where the bytes are no numbers."""
        found: dict[str, Vectors] = {}
        with self.transaction(write=False) as connection:
            for batch in batches(digests):
                statement = select(vectors.c.digest, STORED).where(
                    vectors.c.session_id == session_id, vectors.c.space == space, vectors.c.digest.in_(batch)
                )
                found.update((digest, vector_of(data)) for digest, data in connection.execute(statement).all())
        return found

    def has_vectors(self, space: str) -> bool:
        """Whether there is any vector of the space."""
        with self.transaction(write=False) as connection:
            return connection.scalar(select(vectors.c.space).where(vectors.c.space == space).limit(1)) is not None

    def any_space(self, model: str) -> str | None:
        """A space of the model's vectors, whichever comes first; nothing where there is none."""
        begin = f"{model} ["
        of_model = func.substr(vectors.c.space, 1, len(begin)) == begin
        with self.transaction(write=False) as connection:
            space = connection.scalar(select(vectors.c.space).where(of_model).limit(1))
        return space if dimensions_of(space) else None

    @retry_if_contended
    def save_vectors(
        self,
        session_id: int,
        model: str,
        new: Mapping[str, Vectors],
        *,
        only_these: bool = False,
        epoch: int | None = None,
    ) -> None:
        """Keep vectors by the digest of the text they stand for; nothing where the session was forgotten.

        Args:
            session_id: whose texts they are.
            model: what made them.
            new: the vectors, all of one length.
            only_these: remove all others that the session has in their space.
            epoch: the scope's as the texts were read: nothing is kept where it has another one since, as one of them
                may be forgotten.
        """
        session = self.session(session_id) if new else None
        if session is None:
            return
        space = space_of(model, len(next(iter(new.values()))))
        kept = {"session_id": session_id, "space": space}
        rows = [{**kept, "digest": digest, "data": vector.astype("<f4").tobytes()} for digest, vector in new.items()]
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            of_scope = select(scopes.c.epoch).where(scopes.c.id == session.scope_id)
            is_current = epoch is None or connection.scalar(of_scope) == epoch
            if is_current and session_of(connection, session_id) is not None:
                stale = (vectors.c.session_id == session_id, vectors.c.space == space)
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
    def save_part_state(self, scope_id: int, epoch: int, part: str, version: int, state: str) -> bool:
        """Keep what the part has learned in place of what it had.

        Args:
            scope_id: the scope.
            epoch: its epoch when this was learned.
            part: what has learned.
            version: a number that grows, such as how many turns it was learned from.
            state: what was learned, as text.

        Returns:
            Whether it was kept: not if something of the scope was forgotten since ``epoch``.
        """
        mark = _is_part(scope_id, part)
        with self.transaction(durable=False, scope=scope_id) as connection:
            if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != epoch:
                return False
            connection.execute(delete(part_states).where(mark))
            connection.execute(insert(part_states).values(scope_id=scope_id, part=part, version=version, state=state))
        return True


def vector_of(data: object) -> Vectors:
    """The stored bytes as a vector; an empty one where they are no numbers."""
    whole = data if isinstance(data, bytes) and len(data) % _NUMBER == 0 else b""
    return np.frombuffer(whole, dtype="<f4")


@dataclass(frozen=True)
class SessionIds:
    """The ids of a scope's sessions by their names, each asked for once.

    Args:
        scope_id: the scope.
        ids: those that are known.
    """

    scope_id: int
    ids: dict[str, int] = field(default_factory=dict)


def session_of(connection: Connection, session_id: int) -> SessionRow | None:
    """The session as it is in this transaction, or nothing where it was forgotten."""
    return next((session_row(row) for row in glance_in(connection, SESSION, id=session_id)), None)


def memories_since(connection: Connection, session_id: int, start: int) -> list[MemoryRow]:
    """The session's memories that start at turn ``start`` or later, in order; those that are none are set aside."""
    statement = _MEMORIES_FROM if start else _MEMORIES
    values = {"session": session_id, "since": start} if start else {"session": session_id}
    owner = partial(_owner, session_id)
    return [MemoryRow(*row) for row in sound_rows(connection, statement, memories, owner, values)]


def _owner(session_id: int) -> ColumnElement[int]:
    return select(sessions.c.scope_id).where(sessions.c.id == session_id).scalar_subquery()


def _is_part(scope_id: int, part: str) -> ColumnElement[bool]:
    return and_(part_states.c.scope_id == scope_id, part_states.c.part == part)


def count_revision(connection: Connection, scope_id: int) -> None:
    """Count a change in the scope."""
    run(connection, _COUNT_REVISION, {"scope": scope_id})


def touch(connection: Connection, session_id: int, scope_id: int, **values: int | str | None) -> None:
    """Count a change in the scope and the session, and set the session's ``values``."""
    count_revision(connection, scope_id)
    new = {f"new_{name}": value for name, value in values.items()}
    run(connection, _touching(tuple(values)), {"scope": scope_id, "session": session_id, **new})


@lru_cache(maxsize=16)
def _touching(names: tuple[str, ...]) -> Update:
    revision = select(scopes.c.revision).where(scopes.c.id == bindparam("scope")).scalar_subquery()
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    statement = update(sessions).where(sessions.c.id == bindparam("session"))
    return statement.values(revision=revision, version=grown(sessions.c.version), **values)


def new_epoch(connection: Connection, scope_id: int, index: WithoutThem | None = None) -> None:
    """Have readers load the scope afresh: something of it is gone, or was derived again.

    Args:
        connection: in a transaction.
        scope_id: the scope.
        index: what of its index may stay.
    """
    delete_index(connection, scope_id, index)
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(epoch=grown(scopes.c.epoch)))


def memory_values(session: SessionRow, row: MemoryRow) -> dict[str, Any]:
    """The memory as values to insert."""
    return {"session_id": session.id, "start": row.start, "stop": row.stop, "key": row.key, "digest": row.digest}
