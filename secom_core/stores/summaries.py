"""The versions of a scope's summary: a chain, each on the one before it and on a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, delete, func, insert, literal, select

from .reflections import claim
from .schema import messages, reflections, sessions, summaries
from .sql import SessionRow, SqlStore, again_if_contended
from .summary_chains import drop_summaries

__all__ = ["LAYER", "VersionRow", "drop", "mark", "save", "state", "text_of", "versions", "with_turns"]

LAYER: Final = "summary"
_BATCH: Final = 500
_KNOWN: Final = (reflections.c.session_id == summaries.c.session_id) & (reflections.c.layer == LAYER)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as stored.

    Args:
        previous: the id of the version that it was made from.
        session: its session's name.
        taken: how many of its session's messages are in it; 0 where a language model is still to make it anew.
    """

    id: int
    session_id: int
    previous: int | None
    text: str
    session: str
    taken: int


def state(store: SqlStore, scope_id: int) -> tuple[int, ...]:
    """Numbers that change whenever `versions` does."""
    statement = (
        select(func.max(summaries.c.id), func.count(), func.sum(reflections.c.messages))
        .select_from(summaries.outerjoin(reflections, _KNOWN))
        .where(summaries.c.scope_id == scope_id)
    )
    with store.transaction(write=False) as connection:
        return tuple(int(number or 0) for number in connection.execute(statement).one())


def text_of(store: SqlStore, version: int) -> str | None:
    """The version's sentences; nothing where it is gone."""
    with store.transaction(write=False) as connection:
        return connection.scalar(select(summaries.c.text).where(summaries.c.id == version))


def versions(store: SqlStore, scope_id: int, *, texts: bool = True) -> list[VersionRow]:
    """The scope's versions, the oldest first; each is made from the one before it.

    Args:
        store: the store.
        scope_id: whose.
        texts: read the sentences too, else they are empty.
    """
    statement = (
        select(
            summaries.c.id,
            summaries.c.session_id,
            summaries.c.previous,
            summaries.c.text if texts else literal(""),
            sessions.c.name,
            reflections.c.messages,
        )
        .select_from(summaries.join(sessions, sessions.c.id == summaries.c.session_id).outerjoin(reflections, _KNOWN))
        .where(summaries.c.scope_id == scope_id)
        .order_by(summaries.c.id)
    )
    with store.transaction(write=False) as connection:
        return [VersionRow(*[*row[:5], row[5] or 0]) for row in connection.execute(statement)]


def with_turns(store: SqlStore, rows: Sequence[VersionRow]) -> list[tuple[VersionRow, tuple[str, ...]]]:
    """Each version with the ids of the turns of its session that are in it."""
    held: dict[int, list[tuple[str, int]]] = {row.session_id: [] for row in rows}
    counted = func.count().over(partition_by=messages.c.session_id, order_by=messages.c.id)
    wanted = list(held)
    with store.transaction(write=False) as connection:
        for start in range(0, len(wanted), _BATCH):
            numbered = (
                select(messages.c.session_id, messages.c.name, messages.c.position, counted.label("place"))
                .where(messages.c.session_id.in_(wanted[start : start + _BATCH]))
                .subquery()
            )
            firsts = select(numbered).where(numbered.c.position == 0).order_by(numbered.c.place)
            for row in connection.execute(firsts):
                held[row.session_id].append((row.name, row.place))
    # What was said after the version was made is in no version; a version whose session lost turns is gone.
    return [
        (row, tuple(name for name, place in held[row.session_id] if not row.taken or place <= row.taken))
        for row in rows
    ]


@again_if_contended
def save(
    store: SqlStore,
    session: SessionRow,
    taken: int,
    text: str,
    *,
    previous: int | None,
    replaces: Sequence[VersionRow] = (),
    final: bool = True,
) -> bool:
    """Append a version, in one transaction; all or nothing.

    Args:
        store: the store.
        session: the session as read before the version was made.
        taken: how many of its messages were in the summary then.
        text: the version; where it is empty the session is marked, and no version is written.
        previous: the id of the version that it was made from.
        replaces: the session's former version and all after it; they go, and their sessions are to be taken in again.
        final: mark the session as taken in; else it stays pending, and is made anew at the next occasion.

    Returns:
        Whether it was done: not if the session or the chain changed in the meantime, or the session was forgotten.
    """
    with store.transaction(scope=session.scope_id) as connection:
        if not _is_next(connection, session.scope_id, previous, [row.id for row in replaces]):
            return False
        if not (claim(connection, session, LAYER, taken) if final else _is_unchanged(connection, session)):
            return False
        _drop(connection, [row for row in replaces if row.session_id != session.id])
        own = [row.id for row in replaces if row.session_id == session.id]
        connection.execute(delete(summaries).where(summaries.c.id.in_(own)))
        if text:
            connection.execute(
                insert(summaries).values(scope_id=session.scope_id, session_id=session.id, previous=previous, text=text)
            )
    return True


@again_if_contended
def mark(store: SqlStore, session: SessionRow, taken: int) -> bool:
    """Let the session's version stand as it is; whether the session was unchanged, so that it was done."""
    with store.transaction(scope=session.scope_id) as connection:
        return claim(connection, session, LAYER, taken)


@again_if_contended
def drop(store: SqlStore, scope_id: int) -> None:
    """Delete every version of the scope."""
    with store.transaction(scope=scope_id) as connection:
        drop_summaries(connection, scope_id)


def _is_next(connection: Connection, scope_id: int, previous: int | None, replaces: Sequence[int]) -> bool:
    """Whether ``previous`` is there, and nothing but what is replaced has been made from it."""
    of_scope = summaries.c.scope_id == scope_id
    made = connection.scalars(
        select(summaries.c.id).where(of_scope, summaries.c.previous.is_not_distinct_from(previous))
    ).all()
    there = previous is None or connection.scalar(select(summaries.c.id).where(summaries.c.id == previous)) is not None
    return there and set(made) == set(replaces[:1])


def _is_unchanged(connection: Connection, session: SessionRow) -> bool:
    now = connection.scalar(select(sessions.c.version).where(sessions.c.id == session.id))
    return now == session.version


def _drop(connection: Connection, rows: Sequence[VersionRow]) -> None:
    last_first = sorted(rows, key=lambda row: -row.id)
    for start in range(0, len(rows), _BATCH):
        batch = last_first[start : start + _BATCH]
        connection.execute(
            delete(reflections).where(
                reflections.c.layer == LAYER, reflections.c.session_id.in_([row.session_id for row in batch])
            )
        )
        connection.execute(delete(summaries).where(summaries.c.id.in_([row.id for row in batch])))
