"""The versions of a scope's summary: a chain, each on the one before it and on a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Float, cast, delete, func, insert, literal, or_, select, true

from ..derived.progress import claim, drop_progress
from ..stores.database import retry_if_contended
from ..stores.rows import SessionRow, is_count, session_row
from ..stores.schema import layer_progress, messages, sessions
from ..stores.sound import sound_rows, warn_set_aside
from ..stores.sql import SqlStore
from ..text.batches import batches
from .tables import summaries

LAYER: Final = "summaries"
REST: Final = "\n\n"
"""Stands between what a language model took in of a session, and sentences of the rest, which it is still to take in.
"""
_OF_SCOPE: Final = (sessions.c.id == summaries.c.session_id) & (sessions.c.scope_id == summaries.c.scope_id)
_KNOWN: Final = (layer_progress.c.session_id == summaries.c.session_id) & (layer_progress.c.layer == LAYER)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as stored.

    Args:
        session: its session's name.
        taken: how many of its session's messages are in it; 0 where a language model is still to make it anew.
        waits: whether a language model failed at it, or at the rest of its session.
    """

    id: int
    session_id: int
    text: str
    session: str
    taken: int
    waits: bool


def state(store: SqlStore, scope_id: int) -> tuple[int, ...]:
    """Numbers that change whenever `versions` does."""
    taken = func.sum(cast(layer_progress.c.messages, Float))
    statement = (
        select(func.max(summaries.c.id), func.count(), taken)
        .select_from(summaries.outerjoin(layer_progress, _KNOWN))
        .where(summaries.c.scope_id == scope_id)
    )
    with store.transaction(write=False) as connection:
        return tuple(int(number or 0) for number in connection.execute(statement).one())


def text_of(store: SqlStore, version: int | None) -> str:
    """The version's sentences; empty where there is none."""
    with store.transaction(write=False) as connection:
        return connection.scalar(select(summaries.c.text).where(summaries.c.id == version)) or ""


def versions(store: SqlStore, scope_id: int, *, texts: bool = True) -> list[VersionRow]:
    """The scope's versions, the oldest first; each is made from the one before it, and what breaks the chain is not.

    Args:
        store: the store.
        scope_id: whose.
        texts: read the sentences too, else they are empty.
    """
    text = summaries.c.text if texts else literal("")
    taken = func.coalesce(layer_progress.c.messages, 0)
    waits = or_(taken == 0, summaries.c.text.like(f"%{REST}%"))
    statement = (
        select(summaries.c.id, summaries.c.session_id, text, sessions.c.name, taken, waits, summaries.c.previous)
        .select_from(summaries.outerjoin(sessions, _OF_SCOPE).outerjoin(layer_progress, _KNOWN))
        .where(summaries.c.scope_id == scope_id)
        .order_by(summaries.c.id)
    )
    with store.transaction(write=False) as connection:
        rows = sound_rows(connection, statement, summaries, scope_id)
        chain: dict[int, VersionRow] = {}
        last = None
        for *fields, previous in rows:
            version = VersionRow(*fields)
            if version.session is not None and previous == last and version.session_id not in chain:
                chain[version.session_id], last = version, version.id
        if len(chain) < len(rows):
            warn_set_aside(connection, summaries, scope_id, len(rows) - len(chain), len(rows))
        return list(chain.values())


def with_turns(store: SqlStore, rows: Sequence[VersionRow]) -> list[tuple[VersionRow, tuple[str, ...]]]:
    """Each version with the ids of the turns of its session that are in it."""
    turns: dict[int, list[tuple[str, int]]] = {row.session_id: [] for row in rows}
    counted = func.count().over(partition_by=messages.c.session_id, order_by=messages.c.id)
    with store.transaction(write=False) as connection:
        for batch in batches(list(turns)):
            numbered = (
                select(messages.c.session_id, messages.c.name, messages.c.position, counted.label("place"))
                .where(messages.c.session_id.in_(batch))
                .subquery()
            )
            firsts = select(numbered).where(numbered.c.position == 0).order_by(numbered.c.place)
            for row in connection.execute(firsts):
                turns[row.session_id].append((row.name, row.place))
    # What was said after the version was made is in no version; a version whose session lost turns is gone.
    return [
        (row, tuple(name for name, place in turns[row.session_id] if not row.taken or place <= row.taken))
        for row in rows
    ]


@retry_if_contended
def save(
    store: SqlStore,
    session: SessionRow,
    taken: int,
    text: str,
    *,
    previous: int | None,
    replaces: Sequence[VersionRow] = (),
    count: int | None = None,
    last: str | None = None,
) -> bool:
    """Append a version, in one transaction; all or nothing.

    Args:
        store: the store.
        session: the session as read before the version was made.
        taken: how many of its messages were in the summary then.
        text: the version; where it is empty the session is marked, and no version is written.
        previous: the id of the version that it was made from.
        replaces: the session's former version and all after it; they go, and their sessions are to be taken in again.
        count: how many of the session's messages are in it; the others stay pending. All unless given.
        last: the id of the last message in it, of a session that may have gone on since.

    Returns:
        Whether it was done: not if the session or the chain changed in the meantime, or the session was forgotten.
    """
    with store.transaction(scope=session.scope_id) as connection:
        if not _is_next(connection, session.scope_id, previous, {row.id for row in replaces[:1]}):
            return False
        now = session if last is None else _gone_on(connection, session, last)
        if now is None:
            return False
        if not claim(connection, now, LAYER, taken, messages=session.messages if count is None else count):
            return False
        _delete(connection, session.scope_id, replaces, keep_progress_of=session.id)
        if text:
            connection.execute(
                insert(summaries).values(scope_id=session.scope_id, session_id=session.id, previous=previous, text=text)
            )
    return True


def _gone_on(connection: Connection, session: SessionRow, last: str) -> SessionRow | None:
    """The session as it is now; nothing where the messages that it had are not all there any more."""
    mine = messages.c.session_id == session.id
    end = select(messages.c.id).where(mine, messages.c.name == last).scalar_subquery()
    there = connection.scalar(select(func.count()).where(mine, messages.c.id <= end))
    row = connection.execute(select(sessions).where(sessions.c.id == session.id)).one_or_none()
    return session_row(row) if row is not None and there == session.messages else None


def taken_of(store: SqlStore, session_id: int) -> int:
    """How many of the session's messages are in the summary."""
    mark = (layer_progress.c.session_id == session_id) & (layer_progress.c.layer == LAYER)
    with store.transaction(write=False) as connection:
        return connection.scalar(select(layer_progress.c.messages).where(mark)) or 0


@retry_if_contended
def drop(store: SqlStore, scope_id: int) -> None:
    """Delete every version of the scope."""
    with store.transaction(scope=scope_id) as connection:
        drop_from(connection, scope_id)


def drop_from(connection: Connection, scope_id: int, *, session_id: int | None = None) -> None:
    """Delete a session's version and all after it, and let their sessions be taken in again; or all of the scope's.

    The last ones go first: SQLite lets cascades go no deeper than 1,000 rows.
    """
    own = summaries.c.scope_id == scope_id
    mine = summaries.c.session_id == session_id if session_id is not None else true()
    first = select(func.min(summaries.c.id)).where(own, mine).scalar_subquery()
    statement = select(summaries.c.id, summaries.c.session_id).where(own, summaries.c.id >= first)
    _delete(connection, scope_id, connection.execute(statement).all())


def _delete(connection: Connection, scope_id: int, rows: Sequence[Any], *, keep_progress_of: int | None = None) -> None:
    """Delete versions, the last ones first, and let their sessions but one be taken in again."""
    for batch in batches(sorted((row.id for row in rows), reverse=True)):
        connection.execute(delete(summaries).where(summaries.c.id.in_(batch)))
    again = [row.session_id for row in rows if is_count(row.session_id) and row.session_id != keep_progress_of]
    drop_progress(connection, scope_id, [LAYER], session_ids=again)


def _is_next(connection: Connection, scope_id: int, previous: int | None, replaced: set[int]) -> bool:
    """Whether ``previous`` is there, and nothing but what is replaced has been made from it."""
    ids = select(summaries.c.id)
    if previous is not None and connection.scalar(ids.where(summaries.c.id == previous)) is None:
        return False
    made_from = summaries.c.previous.is_not_distinct_from(previous)
    return set(connection.scalars(ids.where(summaries.c.scope_id == scope_id, made_from))) == replaced
