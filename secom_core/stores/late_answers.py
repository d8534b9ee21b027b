"""Sessions whose earlier turns grow, as answers come late: what was made of these turns is made again."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, select

from .derived import new_epoch
from .index_blocks import WithoutThem
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


class JoinsSettled(Exception):
    """Nothing was written: a message joins a turn that has settled.

    Args:
        session: the session.
        start: the first turn of the memory that the turn is in; what is indexed from it on is made again.
    """

    def __init__(self, session: SessionRow, start: int) -> None:
        super().__init__(f"a message joins a turn of {session.name!r} that has settled")
        self.session, self.start = session, start


def grown(
    connection: Connection, session: SessionRow, turn: int, index: WithoutThem | None = None, *, ask: bool = False
) -> SessionRow:
    """The session, to which messages come from this turn on, with what is to be made again of it.

    Where the turn is not the last one, the layers that have taken it in do so again. Where it has settled, its memory
    may change again, with those after it, and indexes are read afresh; they look at each that has not.

    Args:
        connection: a transaction that writes, in which the messages are not written yet.
        session: the session as it was.
        turn: the first turn that gets messages.
        index: what of the scope's index may stay where the turn has settled; nothing of it does unless given.
        ask: raise where it has settled.

    Raises:
        JoinsSettled: the turn has settled.
    """
    if turn < session.turns - 1:
        connection.execute(_TAKEN_IN, {"session": session.id, "turn": turn})
    if turn >= session.settled:
        return session
    start = connection.scalar(_MEMORY_OF, {"session": session.id, "turn": turn}) or 0
    if ask:
        raise JoinsSettled(session, start)
    new_epoch(connection, session.scope_id, index)
    return replace(session, settled=start)
