"""What of a scope is more than it may hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, update

from ..conversation import Scope
from ..stores.database import retry_if_contended
from ..stores.messages import microseconds
from ..stores.rows import MOST
from ..stores.schema import messages, sessions
from ..stores.sql import SqlStore
from ..times import MICROSECOND
from .records import Cap
from .store import State, cap_in, moment_of, put_turns, state_of
from .tables import lifetimes, scope_caps

_FILLED: Final = 0.995
"""Which share of a cap is filled after something had to go, so that not each of the turns after it takes one away."""


_AHEAD: Final = timedelta(days=1) // MICROSECOND
"""How far ahead of the present a turn may be dated, as clocks and time zones differ."""


@retry_if_contended
def overflow(store: SqlStore, scope: Scope, now: datetime, pinned: Collection[str]) -> Sequence[str]:
    """The ids of the turns that go, because the scope has a cap, in one transaction; see `_overflow`."""
    # What is noted can be looked for again.
    with store.transaction(durable=False, scope=scope) as connection:
        return _overflow(connection, scope, now, pinned)


def _overflow(connection: Connection, scope: Scope, now: datetime, pinned: Collection[str]) -> Sequence[str]:
    """What of the scope is too much at a moment, the oldest first, what is pinned last; see `_doomed`.

    Where nothing is too much, that is noted with the scope's revision.
    """
    row = state_of(connection, scope)
    if row is None or row.checked is None:
        return ()
    cap, moment = cap_in(row), microseconds(now)
    first, last = _dates(connection, row, cap)
    if cap.age is not None and last is not None:
        _end_ahead(connection, row, cap.age // MICROSECOND, moment, last)
    fits, next_us = _fits(connection, row, cap, moment, first)
    doomed = set[str]()
    if not fits:
        turns = list(connection.execute(_turns(connection, row.id, cap)))
        doomed = _doomed(turns, cap, moment, pinned)
        next_us = turns[0].at_us + cap.age // MICROSECOND if turns and cap.age is not None else None
    if not doomed:
        mine = scope_caps.c.scope_id == row.id
        connection.execute(update(scope_caps).where(mine).values(checked=row.revision, next_us=next_us))
    return sorted(doomed)


def _began(row: State) -> tuple[ColumnElement[bool], ...]:
    """The conditions of the beginnings of turns in sessions that have changed since the last check."""
    changed = select(sessions.c.id).where(sessions.c.scope_id == row.id, sessions.c.revision > row.checked)
    return messages.c.session_id.in_(changed), messages.c.position == 0


def _dates(connection: Connection, row: State, cap: Cap) -> tuple[int | None, int | None]:
    """When the first and the last of these turns began, where the cap asks for it."""
    if cap.age is None:
        return None, None
    dates = select(func.min(messages.c.at_us), func.max(messages.c.at_us)).where(*_began(row))
    first, last = connection.execute(dates).one()
    return first, last


def _end_ahead(connection: Connection, row: State, age: int, moment: int, last: int) -> None:
    """Have turns end that are dated ahead of the present, such as by a wrong clock, as if they had begun now.

    Args:
        connection: to the store.
        row: the scope.
        age: how old they may become, in microseconds, as all times here.
        moment: the present.
        last: when the last of them began.
    """
    latest, end = moment + min(age, _AHEAD), moment + age
    if last <= latest or end >= MOST:
        return
    own = and_(lifetimes.c.session_id == messages.c.session_id, lifetimes.c.turn == messages.c.turn)
    goes_on = or_(lifetimes.c.at_us.is_(None), lifetimes.c.at_us > end)
    ahead = select(messages.c.name).outerjoin(lifetimes, own).where(*_began(row), messages.c.at_us > latest, goes_on)
    put_turns(connection, row.id, list(connection.scalars(ahead)), moment_of(end))


def _fits(connection: Connection, row: State, cap: Cap, moment: int, first: int | None) -> tuple[bool, int | None]:
    """Whether a scope is within its cap, and when its oldest turn will be too old; without a look at each turn.

    The age of what was there at the last check is noted, so only what has changed since is looked at, of which the
    ``first`` turn is given.
    """
    count, size, next_us = 0, 0, row.next_us
    if cap.turns is not None:
        # So many there are at most: a session still counts those of its turns that are forgotten.
        at_most = connection.scalar(select(func.sum(sessions.c.turns)).where(sessions.c.scope_id == row.id)) or 0
        begun = select(func.count()).where(messages.c.scope_id == row.id, messages.c.position == 0)
        count = at_most if at_most <= cap.turns else connection.scalar(begun) or 0
    if cap.bytes is not None:
        sizes = select(func.sum(_sized(connection))).where(messages.c.scope_id == row.id)
        size = connection.scalar(sizes) or 0
    if cap.age is not None:
        found = first + cap.age // MICROSECOND if first is not None else None
        next_us = min((each for each in (next_us, found) if each is not None), default=None)
    return _is_within(cap, count, size) and (next_us is None or next_us > moment), next_us


def _doomed(turns: Sequence[Row[Any]], cap: Cap, moment: int, pinned: Collection[str]) -> set[str]:
    """The ids of those of the turns, which come oldest first, that are too old, and of those that are too many.

    A few more than too many, as each time that something goes takes as long as for all of them.
    """
    oldest_allowed = moment - cap.age // MICROSECOND if cap.age is not None else None
    doomed = {turn.name for turn in turns if oldest_allowed is not None and turn.at_us <= oldest_allowed}
    left = [turn for turn in turns if turn.name not in doomed]
    count, size = len(left), sum(turn.size for turn in left)
    is_over = not _is_within(cap, count, size)
    for turn in sorted(left, key=lambda turn: turn.name in pinned) if is_over else ():
        if _is_within(cap, count, size, share=1.0 if turn.name in pinned else _FILLED):
            break
        doomed.add(turn.name)
        count, size = count - 1, size - turn.size
    return doomed


def _is_within(cap: Cap, count: int, size: int, share: float = 1.0) -> bool:
    limits = ((cap.turns, count), (cap.bytes, size))
    return all(limit is None or number <= math.ceil(limit * share) for limit, number in limits)


def _sized(connection: Connection) -> ColumnElement[int]:
    """How many bytes a message has."""
    if connection.dialect.name == "sqlite":
        return func.length(sa.cast(messages.c.text, sa.LargeBinary))
    return func.octet_length(messages.c.text)


def _turns(connection: Connection, scope_id: int, cap: Cap) -> Any:
    """Each turn's id, when it began and, where the cap asks for it, how many bytes it has, the oldest first."""
    first = messages.alias()
    of_turn = first.c.session_id == messages.c.session_id, first.c.turn == messages.c.turn
    size: Any = sa.literal(0)
    if cap.bytes is not None:
        size = select(func.sum(_sized(connection))).where(*of_turn).correlate(first).scalar_subquery()
    begun = select(first.c.name, first.c.at_us, size.label("size")).where(first.c.position == 0)
    return begun.where(first.c.scope_id == scope_id).order_by(first.c.at_us, first.c.id)
