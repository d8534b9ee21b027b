"""Sessions whose earlier turns grow, as answers come late: what was made of these turns is made again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select

from .derived import new_epoch
from .rows import SessionRow
from .schema import layer_progress, memories, messages

_UP_TO: Final = (
    select(func.count())
    .where(messages.c.session_id == bindparam("session"), messages.c.turn <= bindparam("turn"))
    .scalar_subquery()
)
_TAKEN_IN: Final = delete(layer_progress).where(
    layer_progress.c.session_id == bindparam("session"), layer_progress.c.messages > _UP_TO
)
_MEMORY_OF: Final = select(func.max(memories.c.start)).where(
    memories.c.session_id == bindparam("session"), memories.c.start <= bindparam("turn")
)


def grown(connection: Connection, session: SessionRow, turn: int) -> SessionRow:
    """The session, to which messages come from this turn on, with what is to be made again of it.

    Where the turn is not the last one, indexes read it again, and so do the layers that have taken it in. Where it has
    settled, its memory may change again, with those after it.

    Args:
        connection: a transaction that writes, in which the messages are not written yet.
        session: the session as it was.
        turn: the first turn that gets messages.
    """
    if turn < max(session.settled, session.turns - 1):
        new_epoch(connection, session.scope_id)
    if turn < session.turns - 1:
        connection.execute(_TAKEN_IN, {"session": session.id, "turn": turn})
    if turn >= session.settled:
        return session
    return replace(session, settled=connection.scalar(_MEMORY_OF, {"session": session.id, "turn": turn}) or 0)
