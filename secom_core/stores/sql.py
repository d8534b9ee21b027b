"""The store over SQLAlchemy Core: raw turns first, derived layers after, each step one transaction."""

from __future__ import annotations

import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np
from sqlalchemy import Connection, Engine, Row, and_, delete, func, insert, select, tuple_, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..conversation import Message, Scope, Turn, json_flaw, opens_turn
from ..errors import DuplicateId, InvalidInput, SecomError, StoreError, shorten
from ..protocols import Vectors
from .schema import (
    citation_turns,
    citations,
    events,
    is_one_of,
    learned,
    memories,
    messages,
    migrate,
    reflections,
    scopes,
    sessions,
    summaries,
    vectors,
)
from .summary_chains import drop_summaries
from .topic_chains import drop_notes, drop_topics

__all__ = ["FROZEN", "Appended", "MemoryRow", "ScopeRow", "SessionRow", "SqlStore", "again_if_contended"]

FROZEN: Final = "frozen"
"""The part under which a wish to learn nothing is kept: the user's own words, not something learned."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CHUNK: Final = 500
_ANY: Final = -1
_TRIES: Final = 8
# PostgreSQL: a serialization failure, a deadlock, a lock that was not to be had in the time that the server gives.
_CONTENDED: Final = frozenset({"40001", "40P01", "55P03"})

P = ParamSpec("P")
T = TypeVar("T")


class _Contended(StoreError):
    """Another writer was in the way; nothing was written, and the same again may well succeed."""


def again_if_contended(whole: Callable[P, T]) -> Callable[P, T]:
    """Make a function that is one transaction begin again where another writer was in its way."""

    @wraps(whole)
    def tried(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(1, _TRIES):
            try:
                return whole(*args, **kwargs)
            except _Contended:  # noqa: PERF203 - it is what the loop is for
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        return whole(*args, **kwargs)

    return tried


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope as stored: a new ``epoch`` means load afresh, a new ``revision`` means catch up."""

    id: int
    revision: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as stored.

    Args:
        turns: the index that the next turn gets.
        messages: how many messages it has taken in; ``derived`` of them are in its memories.
        settled: the turn from which on memories may still change.
        version: grows with every change; a derivation made from an older one is thrown away.
    """

    id: int
    scope_id: int
    name: str
    turns: int
    messages: int
    derived: int
    settled: int
    closed: bool
    version: int

    @property
    def is_derived(self) -> bool:
        """Whether its memories hold all its messages."""
        return self.derived == self.messages and (not self.closed or self.settled == self.turns)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as stored: the turns ``[start, stop)``, its key, and a digest of the value it was made from."""

    start: int
    stop: int
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Appended:
    """What `SqlStore.append` did: the session's id, the turns touched, how many messages were new."""

    session_id: int
    turn_ids: tuple[str, ...]
    new: int


class SqlStore:
    """Turns and what is derived from them, in one database.

    Args:
        engine: an engine whose connections begin transactions that may write, and where they do, wait for whoever
            writes to the same scope (see `secom_core.stores.sqlite`, `secom_core.stores.postgres`).
        exclusive: serialise all calls, for a database that lives in a single connection.
        one_writer: serialise this process's writers, for a database that has waiters try again and again: they would
            overtake each other, and some wait long.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
    """

    def __init__(self, engine: Engine, *, exclusive: bool = False, one_writer: bool = False) -> None:
        self._engine = engine
        self._lock: Any = threading.RLock() if exclusive else nullcontext()
        self._writers: Any = threading.RLock() if one_writer else nullcontext()
        with self.transaction() as connection:
            migrate(connection)

    @property
    def path(self) -> str | None:
        """The database's file, or its URL without the password; nothing where it lives in memory."""
        url = self._engine.url
        return url.database if url.get_backend_name() == "sqlite" else str(url._replace(password=None))

    @property
    def engine(self) -> Engine:
        """What speaks to the database."""
        return self._engine

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def transaction(
        self, *, write: bool = True, durable: bool = True, scope: Scope | int | None = None
    ) -> Iterator[Connection]:
        """One transaction, in which what is read is as of one moment.

        Args:
            write: whether it may write; only one writer at a time is in a scope.
            durable: what can be made again need not be on disk before the next turn is.
            scope: what is written to, by name or by id; everything unless given.

        Raises:
            StoreError: the database failed, or the connection to it was lost; nothing was written, unless the answer
                to the commit itself was lost.
        """
        held = _key(scope) if isinstance(scope, tuple) else scope
        try:
            with self._lock, self._writers if write else nullcontext(), self._engine.connect() as raw:
                connection = raw.execution_options(secom_write=write, secom_durable=durable, secom_scope=held)
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            contended = isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _CONTENDED
            kind = _Contended if contended else StoreError
            raise kind(f"the store at {self._engine.url} failed: {error}") from error
        except (ValueError, TypeError) as error:
            # While a transaction only reads, nothing but what it reads can be wrong.
            # sqlite3 raises the last where a broken file makes a broken message.
            if isinstance(error, SecomError) or (write and not isinstance(error, UnicodeDecodeError)):
                raise
            raise StoreError(f"the store at {self._engine.url} is damaged: {error}") from error

    def empty_log(self) -> None:
        """Empty SQLite's write-ahead log, which holds pages as they were before; where readers leave it, for later."""
        with suppress(StoreError):  # what was to be done is done
            self._outside_transactions("PRAGMA busy_timeout=1000", "PRAGMA wal_checkpoint(TRUNCATE)")

    def compact(self) -> None:
        """Write SQLite's file anew, without a trace of what was deleted.

        Raises:
            StoreError: another connection is at work for longer than the time-out, or the disk is full.
        """
        busy = self._outside_transactions(
            "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"
        )
        if busy:
            raise StoreError(f"the store at {self._engine.url} is in use; what was deleted is still in its log")

    def _outside_transactions(self, *statements: str) -> bool:
        """Run statements that SQLite takes in no transaction; whether the last one found the log in use."""
        if self._engine.dialect.name != "sqlite":
            return False
        try:
            with self._lock, closing(self._engine.raw_connection()) as pooled:
                connection: Any = pooled.driver_connection
                kept = connection.execute("PRAGMA busy_timeout").fetchone()[0]
                try:
                    rows = [connection.execute(statement).fetchone() for statement in statements]
                finally:
                    connection.execute(f"PRAGMA busy_timeout={kept}")
        except self._engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"the store at {self._engine.url} failed: {error}") from error
        return bool(rows[-1] and rows[-1][0])

    # -- raw turns ----------------------------------------------------------------------------------------------

    @again_if_contended
    def append(
        self, scope: Scope, session: str, new: Sequence[Message], *, turns: Sequence[int] | None = None
    ) -> Appended:
        """Commit messages, in order. Those whose id and words are known already are passed over.

        Args:
            scope: whose they are.
            session: the session's name; made if it is new, opened again if it was closed.
            new: messages with a time.
            turns: the turn index of each message, where it is known (an import); else replies join, others open.

        Raises:
            DuplicateId: an id belongs to another message of the scope; nothing is written.
        """
        with self.transaction(scope=scope) as connection:
            scope_id = _ensure_scope(connection, scope)
            row = _ensure_session(connection, scope_id, session)
            places = dict(zip(map(id, new), turns, strict=True)) if turns is not None else None
            fresh = _unknown(connection, scope_id, new)
            rows = list(_message_rows(connection, row, fresh, places))
            if rows:
                connection.execute(insert(messages), rows)
                if rows[0]["turn"] < row.settled:
                    row = _unsettle(connection, row, rows[0]["turn"])
                _touch(
                    connection,
                    row.id,
                    scope_id,
                    turns=max(row.turns, rows[-1]["turn"] + 1),
                    messages=row.messages + len(rows),
                    settled=row.settled,
                    closed=0,
                )
            names = [m.id for m in new if m.id] + [r["name"] for r in rows]
            touched = _turn_ids(connection, scope_id, names)
        return Appended(row.id, touched, len(rows))

    def turns(self, session: SessionRow, start: int = 0, *, last: int | None = None) -> list[Turn]:
        """The session's turns from index ``start`` on, or the ``last`` so many of them, in order."""
        here = messages.c.session_id == session.id
        statement = (
            select(messages).where(here, messages.c.turn >= start).order_by(messages.c.turn, messages.c.position)
        )
        if last is not None:
            firsts = select(messages.c.turn).where(here, messages.c.position == 0)
            statement = statement.where(messages.c.turn.in_(firsts.order_by(messages.c.turn.desc()).limit(last)))
        with self.transaction(write=False) as connection:
            return _turns(connection.execute(statement), session.name)

    @again_if_contended
    def close_session(self, scope: Scope, session: str) -> SessionRow | None:
        """Mark the session as closed; its last memories can settle."""
        with self.transaction(scope=scope) as connection:
            scope_id = _scope_id(connection, scope)
            row = _session(connection, scope_id, session) if scope_id is not None else None
            if row is not None and not row.closed:
                _touch(connection, row.id, row.scope_id, closed=1)
                row = _session(connection, row.scope_id, session)
            return row

    # -- reading --------------------------------------------------------------------------------------------------

    def scope(self, scope: Scope) -> ScopeRow | None:
        """The scope's row, or nothing where nothing is remembered."""
        statement = select(scopes.c.id, scopes.c.revision, scopes.c.epoch).where(scopes.c.key == _key(scope))
        with self.transaction(write=False) as connection:
            row = connection.execute(statement).one_or_none()
        return ScopeRow(*row) if row is not None else None

    def scopes(self) -> list[Scope]:
        """Every scope that has anything, in the order in which they came."""
        with self.transaction(write=False) as connection:
            keys = connection.scalars(select(scopes.c.key).order_by(scopes.c.id)).all()
        return [tuple(json.loads(key)) for key in keys]

    def sessions(self, scope_id: int, *, since: int = -1) -> list[SessionRow]:
        """The scope's sessions changed after revision ``since``, in the order in which they came."""
        statement = (
            select(sessions).where(sessions.c.scope_id == scope_id, sessions.c.revision > since).order_by(sessions.c.id)
        )
        with self.transaction(write=False) as connection:
            return [_session_row(row) for row in connection.execute(statement)]

    def session(self, session_id: int) -> SessionRow | None:
        """The session as it is now, or nothing where it was forgotten."""
        with self.transaction(write=False) as connection:
            row = connection.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
        return _session_row(row) if row is not None else None

    def session_named(self, scope: Scope, name: str) -> SessionRow | None:
        """The scope's session of that name, or nothing where there is none."""
        with self.transaction(write=False) as connection:
            scope_id = _scope_id(connection, scope)
            return _session(connection, scope_id, name) if scope_id is not None else None

    def memories(self, session_id: int, start: int = 0) -> list[MemoryRow]:
        """The session's memories that start at turn ``start`` or later, in order."""
        statement = (
            select(memories.c.start, memories.c.stop, memories.c.key, memories.c.digest)
            .where(memories.c.session_id == session_id, memories.c.start >= start)
            .order_by(memories.c.start)
        )
        with self.transaction(write=False) as connection:
            return [MemoryRow(*row) for row in connection.execute(statement)]

    def counts(self, scope_id: int) -> dict[str, int]:
        """How many sessions, turns, messages, memories and vectors the scope has."""
        of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
        in_scope = messages.c.scope_id == scope_id
        distinct_turns = select(messages.c.session_id, messages.c.turn).where(in_scope).distinct().subquery()
        questions = {
            "sessions": select(func.count()).select_from(of_scope.subquery()),
            "turns": select(func.count()).select_from(distinct_turns),
            "messages": select(func.count()).select_from(messages).where(in_scope),
            "memories": select(func.count()).select_from(memories).where(memories.c.session_id.in_(of_scope)),
            "vectors": select(func.count()).select_from(vectors).where(vectors.c.session_id.in_(of_scope)),
        }
        with self.transaction(write=False) as connection:
            return {name: connection.scalar(question) or 0 for name, question in questions.items()}

    # -- derived layers -------------------------------------------------------------------------------------------

    @again_if_contended
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
            now = connection.execute(select(sessions).where(sessions.c.id == session.id)).one_or_none()
            if now is None or now.version != session.version:
                return False
            stale = and_(memories.c.session_id == session.id, memories.c.start >= first)
            connection.execute(delete(memories).where(stale))
            if rows:
                connection.execute(
                    insert(memories),
                    [
                        {"session_id": session.id, "start": r.start, "stop": r.stop, "key": r.key, "digest": r.digest}
                        for r in rows
                    ],
                )
            if first < session.settled:
                _new_epoch(connection, session.scope_id)
            _touch(connection, session.id, session.scope_id, derived=session.messages, settled=settled)
        return True

    def vectors(self, session_id: int, model: str, digests: Sequence[str]) -> dict[str, Vectors]:
        """The session's stored vectors of ``model`` among ``digests``."""
        found: dict[str, Vectors] = {}
        with self.transaction(write=False) as connection:
            for batch in _batches(digests):
                statement = select(vectors.c.digest, vectors.c.data).where(
                    vectors.c.session_id == session_id, vectors.c.model == model, vectors.c.digest.in_(batch)
                )
                for digest, data in connection.execute(statement):
                    found[digest] = np.frombuffer(data, dtype="<f4")
        return found

    @again_if_contended
    def save_vectors(self, session_id: int, model: str, new: Mapping[str, Vectors]) -> None:
        """Keep vectors by the digest of the text they stand for; nothing where the session was forgotten."""
        rows = [
            {"session_id": session_id, "model": model, "digest": digest, "data": vector.astype("<f4").tobytes()}
            for digest, vector in new.items()
        ]
        session = self.session(session_id) if rows else None
        if session is None:
            return
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            if connection.scalar(select(sessions.c.id).where(sessions.c.id == session_id)) is not None:
                for batch in _batches(list(new)):
                    connection.execute(
                        delete(vectors).where(
                            vectors.c.session_id == session_id, vectors.c.model == model, vectors.c.digest.in_(batch)
                        )
                    )
                connection.execute(insert(vectors), rows)

    @again_if_contended
    def drop_vectors(self, session_id: int, digests: Sequence[str]) -> None:
        """Remove the vectors of texts that the session does not hold any more."""
        session = self.session(session_id) if digests else None
        if session is None:
            return
        with self.transaction(durable=False, scope=session.scope_id) as connection:
            for batch in _batches(digests):
                connection.execute(
                    delete(vectors).where(vectors.c.session_id == session_id, vectors.c.digest.in_(batch))
                )

    # -- what was learned -----------------------------------------------------------------------------------------

    def learned(self, scope_id: int, part: str) -> tuple[int, str] | None:
        """From how many turns the part has learned, and its state; nothing where it has not."""
        statement = select(learned.c.turns, learned.c.state).where(
            learned.c.scope_id == scope_id, learned.c.part == part
        )
        with self.transaction(write=False) as connection:
            row = connection.execute(statement).one_or_none()
        return (row.turns, row.state) if row is not None else None

    @again_if_contended
    def save_learned(
        self, scope_id: int, epoch: int, part: str, turns: int, state: str, *, seen: int | None = _ANY
    ) -> bool:
        """Keep what the part has learned in place of what it had.

        Args:
            scope_id: the scope.
            epoch: its epoch when this was learned.
            part: what has learned.
            turns: how far: the version.
            state: what was learned.
            seen: the version that this was made in place of, where there may be a newer one by now; nothing for none.

        Returns:
            Whether it was kept: not if something of the scope was forgotten since ``epoch``, nor in place of another
            version than ``seen``.
        """
        mark = and_(learned.c.scope_id == scope_id, learned.c.part == part)
        with self.transaction(durable=False, scope=scope_id) as connection:
            if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != epoch:
                return False
            if seen != _ANY and connection.scalar(select(learned.c.turns).where(mark)) != seen:
                return False
            connection.execute(delete(learned).where(mark))
            connection.execute(insert(learned).values(scope_id=scope_id, part=part, turns=turns, state=state))
        return True

    @again_if_contended
    def drop_learned(self, scope_id: int, part: str) -> None:
        """Forget what the part has learned."""
        with self.transaction(durable=False, scope=scope_id) as connection:
            connection.execute(delete(learned).where(learned.c.scope_id == scope_id, learned.c.part == part))

    def count_turns(self, scope_id: int) -> int:
        """How many turns the scope has had."""
        statement = select(func.coalesce(func.sum(sessions.c.turns), 0)).where(sessions.c.scope_id == scope_id)
        with self.transaction(write=False) as connection:
            return int(connection.scalar(statement) or 0)

    # -- forgetting -----------------------------------------------------------------------------------------------

    @again_if_contended
    def forget_scope(self, scope: Scope) -> int:
        """Delete everything of the scope; returns how many turns there were."""
        with self.transaction(scope=scope) as connection:
            scope_id = _scope_id(connection, scope)
            if scope_id is None:
                return 0
            turns = _count_turns(connection, messages.c.scope_id == scope_id)
            of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
            connection.execute(delete(citations).where(citations.c.scope_id == scope_id))
            drop_summaries(connection, scope_id)
            drop_topics(connection, scope_id)
            connection.execute(delete(events).where(events.c.scope_id == scope_id))
            for table in (memories, vectors, reflections):
                connection.execute(delete(table).where(table.c.session_id.in_(of_scope)))
            for table in (messages, sessions, learned):
                connection.execute(delete(table).where(table.c.scope_id == scope_id))
            connection.execute(delete(scopes).where(scopes.c.id == scope_id))
        return turns

    def matching_turns(
        self, scope_id: int, *, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None
    ) -> dict[int, set[int]]:
        """The turns that meet every condition given, as turn indices by session id."""
        conditions = [messages.c.scope_id == scope_id]
        if session is not None:
            conditions.append(sessions.c.name == session)
        if before is not None:
            conditions += [messages.c.at_us < _microseconds(before), messages.c.position == 0]
        statement = (
            select(messages.c.session_id, messages.c.turn)
            .join(sessions, sessions.c.id == messages.c.session_id)
            .where(*conditions)
        )
        found: dict[int, set[int]] = {}
        with self.transaction(write=False) as connection:
            for batch in [None] if turn_ids is None else _batches(turn_ids):
                named = () if batch is None else (is_one_of(connection, messages.c.name, batch),)
                for session_id, turn in connection.execute(statement.where(*named)):
                    found.setdefault(session_id, set()).add(turn)
        return found

    @again_if_contended
    def forget_turns(self, session: SessionRow, turns: set[int], rows: Sequence[MemoryRow], digests: set[str]) -> bool:
        """Delete turns together with all that was derived from them, in one transaction.

        Args:
            session: the session's row as read before ``rows`` were made.
            turns: the indices of the turns to delete.
            rows: the session's memories without them; replaces all it had.
            digests: the digests of the texts that stay; the vectors of all others go.

        Returns:
            Whether it was done: not if the session changed in the meantime.
        """
        with self.transaction(scope=session.scope_id) as connection:
            now = connection.execute(select(sessions).where(sessions.c.id == session.id)).one_or_none()
            if now is None or now.version != session.version:
                return False
            for batch in _batches(sorted(turns)):
                connection.execute(
                    delete(messages).where(messages.c.session_id == session.id, messages.c.turn.in_(batch))
                )
            connection.execute(delete(memories).where(memories.c.session_id == session.id))
            _forget_citations(connection, session, turns)
            _forget_reflections(connection, session)
            _keep_vectors(connection, session.id, digests)
            if _count_turns(connection, messages.c.session_id == session.id) == 0:
                connection.execute(delete(sessions).where(sessions.c.id == session.id))
            elif rows:
                values = [
                    {"session_id": session.id, "start": r.start, "stop": r.stop, "key": r.key, "digest": r.digest}
                    for r in rows
                ]
                connection.execute(insert(memories), values)
            _touch(connection, session.id, session.scope_id)
            _new_epoch(connection, session.scope_id)
        return True


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _key(scope: Scope) -> str:
    return json.dumps(list(scope))


def _scope_id(connection: Connection, scope: Scope) -> int | None:
    found: int | None = connection.scalar(select(scopes.c.id).where(scopes.c.key == _key(scope)))
    return found


def _ensure_scope(connection: Connection, scope: Scope) -> int:
    found = _scope_id(connection, scope)
    if found is not None:
        return found
    made = connection.execute(insert(scopes).values(key=_key(scope), revision=0, epoch=0))
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def _session(connection: Connection, scope_id: int, name: str) -> SessionRow | None:
    statement = select(sessions).where(sessions.c.scope_id == scope_id, is_one_of(connection, sessions.c.name, [name]))
    row = connection.execute(statement).one_or_none()
    return _session_row(row) if row is not None else None


def _ensure_session(connection: Connection, scope_id: int, name: str) -> SessionRow:
    found = _session(connection, scope_id, name)
    if found is not None:
        return found
    connection.execute(insert(sessions).values(scope_id=scope_id, name=name))
    made = _session(connection, scope_id, name)
    if made is None:
        raise StoreError(f"session {name!r} cannot be read back after it was written")
    return made


def _session_row(row: Row[Any]) -> SessionRow:
    return SessionRow(
        row.id,
        row.scope_id,
        row.name,
        row.turns,
        row.messages,
        row.derived,
        row.settled,
        bool(row.closed),
        row.version,
    )


def _unsettle(connection: Connection, session: SessionRow, turn: int) -> SessionRow:
    """Let the memory that holds ``turn`` change again: a reply has joined a turn that had settled."""
    start = connection.scalar(
        select(func.max(memories.c.start)).where(memories.c.session_id == session.id, memories.c.start <= turn)
    )
    _new_epoch(connection, session.scope_id)
    return replace(session, settled=start or 0)


def _touch(connection: Connection, session_id: int, scope_id: int, **values: int) -> None:
    """Count a change in the scope and the session, and set the session's ``values``."""
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(revision=scopes.c.revision + 1))
    revision = select(scopes.c.revision).where(scopes.c.id == scope_id).scalar_subquery()
    connection.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(revision=revision, version=sessions.c.version + 1, **values)
    )


def _new_epoch(connection: Connection, scope_id: int) -> None:
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(epoch=scopes.c.epoch + 1))


def _forget_reflections(connection: Connection, session: SessionRow) -> None:
    """Delete the session's events, the summaries and topics that rest on it; it is then reflected on again."""
    # All events: one that a model wrote may hold words of any turn that the model was shown.
    connection.execute(delete(events).where(events.c.session_id == session.id))
    drop_notes(connection, session.scope_id, session.id)
    # Later versions rest on this session's and go with it.
    drop_summaries(connection, session.scope_id, summaries.c.session_id == session.id)
    connection.execute(delete(reflections).where(reflections.c.session_id == session.id))
    summarised = select(summaries.c.session_id).where(summaries.c.scope_id == session.scope_id)
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == session.scope_id)
    connection.execute(
        delete(reflections).where(
            reflections.c.layer == "summary",
            reflections.c.session_id.in_(of_scope),
            reflections.c.session_id.not_in(summarised),
        )
    )
    connection.execute(delete(learned).where(learned.c.scope_id == session.scope_id, learned.c.part != FROZEN))


def _forget_citations(connection: Connection, session: SessionRow, turns: set[int]) -> None:
    """Delete every answer that was shown one of the turns, and the words of all other questions of the scope.

    A question may repeat what was said in a turn. What the answers that stay have taught is learned from them again.
    """
    for batch in _batches(sorted(turns)):
        named = select(citation_turns.c.citation_id).where(
            citation_turns.c.session_id == session.id, citation_turns.c.turn.in_(batch)
        )
        connection.execute(delete(citations).where(citations.c.id.in_(named)))
    connection.execute(update(citations).where(citations.c.scope_id == session.scope_id).values(query=None))


def _keep_vectors(connection: Connection, session_id: int, keep: set[str]) -> None:
    stored = connection.scalars(select(vectors.c.digest).where(vectors.c.session_id == session_id)).all()
    for batch in _batches(sorted(set(stored) - keep)):
        connection.execute(delete(vectors).where(vectors.c.session_id == session_id, vectors.c.digest.in_(batch)))


def _count_turns(connection: Connection, condition: Any) -> int:
    distinct = select(messages.c.session_id, messages.c.turn).where(condition).distinct().subquery()
    return connection.scalar(select(func.count()).select_from(distinct)) or 0


def _microseconds(at: datetime) -> int:
    aware = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
    elapsed = aware - _EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def _unknown(connection: Connection, scope_id: int, new: Sequence[Message]) -> list[Message]:
    """The messages to write: those without an id, and those whose id is new, each once."""
    names = list({m.id for m in new if m.id})
    known: dict[str, tuple[str, str]] = {}
    for batch in _batches(names):
        statement = select(messages.c.name, messages.c.role, messages.c.text).where(
            messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, batch)
        )
        known.update({name: (role, text) for name, role, text in connection.execute(statement)})
    fresh: list[Message] = []
    for message in new:
        if message.id is None:
            fresh.append(message)
        elif message.id not in known:
            known[message.id] = (message.role, message.text)
            fresh.append(message)
        elif known[message.id] != (message.role, message.text):
            raise DuplicateId(
                f"id {message.id!r} already belongs to another message of this scope, which says "
                f"{known[message.id][1][:80]!r}; give the new one an id of its own, or none"
            )
    return fresh


def _message_rows(
    connection: Connection, session: SessionRow, fresh: Sequence[Message], places: Mapping[int, int] | None
) -> Iterator[dict[str, Any]]:
    before, turn, position = _last_message(connection, session)
    for message in fresh:
        place = places[id(message)] if places is not None else None
        opens = opens_turn(message, before) if place is None else place != turn
        if opens:
            turn, position = (max(turn + 1, session.turns) if place is None else place), 0
        else:
            position += 1
        yield _message_row(session, message, turn, position)
        before = message


def _last_message(connection: Connection, session: SessionRow) -> tuple[Message | None, int, int]:
    statement = (
        select(messages.c.role, messages.c.turn, messages.c.position)
        .where(messages.c.session_id == session.id)
        .order_by(messages.c.turn.desc(), messages.c.position.desc())
        .limit(1)
    )
    row = connection.execute(statement).one_or_none()
    if row is None:
        return None, session.turns - 1, 0
    return Message("", role=row.role), row.turn, row.position


def _message_row(session: SessionRow, message: Message, turn: int, position: int) -> dict[str, Any]:
    if message.at is None:
        raise InvalidInput(f"a message needs a time before it is stored: {message.text[:80]!r}")
    return {
        "scope_id": session.scope_id,
        "session_id": session.id,
        "turn": turn,
        "position": position,
        "name": message.id or f"~{secrets.token_hex(8)}",
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "at": message.at.isoformat(),
        "at_us": _microseconds(message.at),
        "metadata": _dump(message.metadata),
    }


def _dump(value: Mapping[str, Any]) -> str:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata is a mapping from strings to what JSON can hold, got {shorten(value)}")
    if flaw := json_flaw(dict(value)):
        raise InvalidInput(f"metadata must be what JSON can hold, got {shorten(dict(value))}: {flaw}")
    return json.dumps(dict(value))


def _turn_ids(connection: Connection, scope_id: int, names: Sequence[str]) -> tuple[str, ...]:
    found: dict[tuple[int, int], None] = {}
    for batch in _batches(names):
        statement = (
            select(messages.c.session_id, messages.c.turn)
            .where(messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, batch))
            .order_by(messages.c.id)
        )
        found.update({(row[0], row[1]): None for row in connection.execute(statement)})
    ids: list[str] = []
    for batch in _batches(list(found)):
        first = select(messages.c.name).where(
            tuple_(messages.c.session_id, messages.c.turn).in_(batch), messages.c.position == 0
        )
        ids.extend(connection.scalars(first.order_by(messages.c.id)))
    return tuple(ids)


def _turns(rows: Iterable[Row[Any]], session: str) -> list[Turn]:
    grouped: dict[int, list[Message]] = {}
    for row in rows:
        grouped.setdefault(row.turn, []).append(_message(row))
    return [Turn(tuple(group), session, index) for index, group in grouped.items()]


def _message(row: Row[Any]) -> Message:
    try:
        at, about = datetime.fromisoformat(row.at), json.loads(row.metadata)
        return Message(row.text, row.role, row.speaker, row.name, at, about)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"message {row.id} of the store is damaged: {error}") from error
