"""Which sessions end by themselves: after a silence, or because another one begins (RMM section 3)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, or_, select

from ..conversation import Scope
from ..times import MICROSECOND
from .derived import touch
from .driver import rows_of
from .messages import microseconds
from .rows import SessionRow, is_count, session_row
from .schema import IS_OPEN, messages, scopes, sessions

_BACKWARDS: Final = (messages.c.turn.desc(), messages.c.position.desc())


def _last(column: Any) -> Any:
    """What a column says of the last message of each session."""
    of_session = select(column).where(messages.c.session_id == sessions.c.id)
    return of_session.order_by(*_BACKWARDS).limit(1).scalar_subquery()


_OPEN: Final[Select[Any]] = (
    select(sessions, _last(messages.c.at_us).label("said"), _last(messages.c.id).label("last"))
    .where(IS_OPEN, sessions.c.scope_id == bindparam("scope"))
    .order_by(sessions.c.id)
)


@dataclass(frozen=True, slots=True)
class OpenSession:
    """An open session with at least one message: when the last one was said, in microseconds, and its number."""

    row: SessionRow
    said: int
    last: int

    def rests(self, at: int, idle: timedelta) -> bool:
        """Whether nothing was said in it for longer than ``idle`` at a moment, in microseconds.

        What was said later than that and than tomorrow was dated by a clock that was wrong, and nobody can wait for it.
        """
        return at - self.said > idle // MICROSECOND or self.said > max(at, _tomorrow())


def _tomorrow() -> int:
    return microseconds(datetime.now(timezone.utc) + timedelta(days=1))


def open_sessions(connection: Connection, scope_id: int) -> list[OpenSession]:
    """The scope's open sessions, in the order in which they came."""
    rows = rows_of(connection, _OPEN, {"scope": scope_id})
    return [OpenSession(session_row(each), each.said, each.last) for each in rows if is_count(each.last)]


def ending(connection: Connection, session: SessionRow, at: int, idle: timedelta) -> list[SessionRow]:
    """The sessions that have ended when a message comes, this one where it goes on after a silence.

    Any session ends after a silence. Where the message is its session's first, others that were last spoken in before
    it end too, but for those that had gone on after another one began: they run side by side, and a user who goes to
    and fro between two of them ends neither.

    Args:
        connection: a transaction, in which the message is not written yet.
        session: where it goes.
        at: when it was said, in microseconds.
        idle: how long a silence ends a session.
    """
    begins = session.messages == 0
    return [
        each.row
        for each in open_sessions(connection, session.scope_id)
        if each.rests(at, idle) or (begins and each.said <= at and not _runs_beside(connection, each, session))
    ]


def _runs_beside(connection: Connection, one: OpenSession, session: SessionRow) -> bool:
    """Whether it went on after a session between it and ``session`` had begun."""
    between = select(func.min(sessions.c.id)).where(
        sessions.c.scope_id == session.scope_id, sessions.c.id > one.row.id, sessions.c.id < session.id
    )
    first = (
        select(messages.c.id)
        .where(messages.c.session_id == between.scalar_subquery())
        .order_by(messages.c.turn, messages.c.position)
        .limit(1)
    )
    began = connection.scalar(first)
    return began is not None and one.last > began


def end(connection: Connection, ended: Iterable[SessionRow]) -> None:
    """Mark sessions as ended."""
    for each in ended:
        touch(connection, each.id, each.scope_id, closed=1, ended=each.messages)


def resting_scopes(connection: Connection, at: int, idle: timedelta) -> Sequence[Scope]:
    """The scopes with an open session in which nothing was said for longer than ``idle``."""
    said = _last(messages.c.at_us)
    quiet = or_(said < at - idle // MICROSECOND, said > max(at, _tomorrow()))
    of_scopes = select(scopes.c.key).where(scopes.c.id.in_(select(sessions.c.scope_id).where(IS_OPEN, quiet)))
    return [tuple(json.loads(key)) for key in connection.scalars(of_scopes.order_by(scopes.c.id))]
