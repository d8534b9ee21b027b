"""Which closed sessions a layer has taken in, and the one guard that keeps late writes out."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, and_, delete, func, insert, select, true, update

from .schema import reflections, scopes, sessions
from .sql import SessionRow, SqlStore, again_if_contended

__all__ = ["begin_again", "claim", "pending"]

_COLUMNS: Final = ("id", "scope_id", "name", "turns", "messages", "derived", "settled", "closed", "version")


def pending(store: SqlStore, scope_id: int, layer: str, *, session: int | None = None) -> list[tuple[SessionRow, int]]:
    """The scope's closed sessions that hold messages which ``layer`` has not taken in, in the order in which they came.

    Args:
        store: where they are.
        scope_id: whose they are.
        layer: the layer's name.
        session: only this session, by its id.

    Returns:
        Each session with how many of its messages the layer has taken in.
    """
    known = and_(reflections.c.session_id == sessions.c.id, reflections.c.layer == layer)
    taken = func.coalesce(reflections.c.messages, 0)
    only = sessions.c.id == session if session is not None else true()
    statement = (
        select(*(sessions.c[name] for name in _COLUMNS), taken.label("taken"))
        .select_from(sessions.outerjoin(reflections, known))
        .where(sessions.c.scope_id == scope_id, sessions.c.closed == 1, taken < sessions.c.messages, only)
        .order_by(sessions.c.id)
    )
    with store.transaction(write=False) as connection:
        rows = connection.execute(statement).all()
    return [(SessionRow(*[*row[:7], bool(row.closed), row.version]), row.taken) for row in rows]


def claim(connection: Connection, session: SessionRow, layer: str, taken: int) -> bool:
    """Mark the session as taken in, inside the transaction that writes what was made from it.

    Readers that follow the scope by revision will see the session as changed; its ``version`` stays.

    Args:
        connection: a transaction that writes; the caller's own rows go into it if this returns True.
        session: the row that the layer read before it began.
        layer: the layer's name.
        taken: how many messages it had taken in then.

    Returns:
        Whether the layer may write: not if the session changed or was forgotten in the meantime, nor if another
        writer has taken it in since.
    """
    now = connection.scalar(select(sessions.c.version).where(sessions.c.id == session.id))
    mark = and_(reflections.c.session_id == session.id, reflections.c.layer == layer)
    if now != session.version or (connection.scalar(select(reflections.c.messages).where(mark)) or 0) != taken:
        return False
    connection.execute(delete(reflections).where(mark))
    connection.execute(insert(reflections).values(session_id=session.id, layer=layer, messages=session.messages))
    connection.execute(update(scopes).where(scopes.c.id == session.scope_id).values(revision=scopes.c.revision + 1))
    revision = select(scopes.c.revision).where(scopes.c.id == session.scope_id).scalar_subquery()
    connection.execute(update(sessions).where(sessions.c.id == session.id).values(revision=revision))
    return True


@again_if_contended
def begin_again(store: SqlStore, scope_id: int, layer: str) -> None:
    """Let the layer take in all of the scope's closed sessions anew."""
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
    with store.transaction(durable=False, scope=scope_id) as connection:
        connection.execute(
            delete(reflections).where(reflections.c.layer == layer, reflections.c.session_id.in_(of_scope))
        )
