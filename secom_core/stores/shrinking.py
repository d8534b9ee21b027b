"""Sessions without some of their turns: what of a session goes with the turns that are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert

from .derived import memory_values, touch
from .ownership import delete_of_session
from .rows import MemoryRow, SessionRow
from .schema import layer_progress, memories, messages, sessions
from .statements import count_turns_where, delete_among, keep_vectors


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A session without turns that are about to be forgotten.

    Args:
        session: its row, as read before ``rows`` were made.
        turns: the indices of the turns that go.
        rows: its memories without them, in the place of all it had.
        digests: the digests of the texts that stay; the vectors of all others go.
    """

    session: SessionRow
    turns: set[int]
    rows: Sequence[MemoryRow]
    digests: set[str]


def shrink(connection: Connection, shrunk: Shrunk) -> None:
    """Delete the turns, and the session where it has no others, with the rows that were derived from them."""
    session = shrunk.session
    delete_among(connection, messages.c.turn, shrunk.turns, messages.c.session_id == session.id)
    delete_of_session(connection, (memories, layer_progress), session.id)
    keep_vectors(connection, session.id, shrunk.digests)
    if count_turns_where(connection, messages.c.session_id == session.id) == 0:
        connection.execute(delete(sessions).where(sessions.c.id == session.id))
    elif shrunk.rows:
        connection.execute(insert(memories), [memory_values(session, row) for row in shrunk.rows])
    touch(connection, session.id, session.scope_id)
