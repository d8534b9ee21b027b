"""Lifetimes and caps in the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Dialect, Row, Table, and_, delete, insert, or_, select

from ..conversation import Scope
from ..errors import InvalidInput
from ..stores.database import retry_if_contended
from ..stores.driver import glance_in
from ..stores.glances import IS_NAMED, SESSION_COLUMNS
from ..stores.messages import microseconds
from ..stores.rows import MOST, ScopeRow, SessionRow, is_count, scope_key, session_row
from ..stores.schema import escaped, is_one_of, messages, scopes, sessions
from ..stores.sound import collected, sound_records, sound_rows
from ..stores.sql import SqlStore, scope_id_of
from ..stores.statements import begins_turn, delete_among, insert_row
from ..text.batches import batches
from ..times import EPOCH, MICROSECOND
from .records import Cap, Lifetime
from .tables import lifetimes, scope_caps

_COLUMNS: Final = (
    "scopes.id, scopes.revision, scopes.epoch, scope_caps.checked, scope_caps.next_us, "
    "(SELECT min(lifetimes.at_us) FROM lifetimes WHERE lifetimes.scope_id = scopes.id), "
    "scope_caps.turns, scope_caps.bytes, scope_caps.age_us"
)
_FROM: Final = "FROM scopes LEFT JOIN scope_caps ON scope_caps.scope_id = scopes.id"
_STATE: Final = f"SELECT {_COLUMNS} {_FROM} WHERE scopes.key = :key"


class State(NamedTuple):
    """The columns above: a scope's counts, its cap and what was noted of it, and its first end."""

    id: int
    revision: int
    epoch: int
    checked: int | None
    next_us: int | None
    first_end: int | None
    turns: int | None
    bytes: int | None
    age_us: int | None


_WIDTH: Final = len(State._fields)


@dataclass(frozen=True, slots=True)
class Ending:
    """What of a scope is to go at a moment.

    Args:
        scope_id: the scope.
        turn_ids: the turns.
        rows: the numbers of the ends that have come.
        is_whole: whether the whole scope has ended.
    """

    scope_id: int
    turn_ids: Sequence[str]
    rows: Sequence[int]
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """What a scope's lifetimes ask for at a moment, and what else was asked of the scope in the same look.

    Args:
        now: whether anything of it is to go.
        is_capped: whether a write may make anything of it too much.
        row: the scope; nothing where nothing is remembered.
        session: the session that was named; nothing where there is none.
        holding: those of the tables that have rows of the scope.
    """

    now: bool = False
    is_capped: bool = False
    row: ScopeRow | None = None
    session: SessionRow | None = None
    holding: Collection[Table] = ()


def state_of(connection: Connection, scope: Scope) -> State | None:
    """What the scope may hold, and what was noted of it; nothing where nothing is remembered."""
    return next(map(State._make, glance_in(connection, _STATE, key=scope_key(scope))), None)


def due(
    store: SqlStore, scope: Scope, now: datetime, *, session: str | None = None, tables: Sequence[Table] = ()
) -> Due:
    """What is to be done of the scope at a moment; reads a row, however much the scope and the bank hold.

    Args:
        store: where the scope is.
        scope: whose.
        now: the moment.
        session: the name of a session that is looked for too.
        tables: tables with a column ``scope_id`` that are looked into too.
    """
    name = {} if session is None else {"name": escaped(session)}
    kind: Callable[[], Dialect] = type(store.engine.dialect)
    statement = _looking(kind, tuple(tables), has_session=session is not None)
    for row in store.glance(statement, key=scope_key(scope), **name):
        state, moment = State._make(row[:_WIDTH]), microseconds(now)
        is_capped = state.checked is not None
        is_over = is_capped and (
            state.checked != state.revision or (state.next_us is not None and state.next_us <= moment)
        )
        has_ended = isinstance(state.first_end, int) and state.first_end <= moment
        found = row[_WIDTH + len(tables) :]
        return Due(
            is_over or has_ended,
            is_capped,
            ScopeRow(state.id, state.revision, state.epoch),
            session_row(found) if found and found[0] is not None else None,
            [table for table, holds in zip(tables, row[_WIDTH:], strict=False) if holds],
        )
    return Due()


@lru_cache(maxsize=64)
def _looking(kind: Callable[[], Dialect], tables: tuple[Table, ...], *, has_session: bool) -> str:
    """The statement that reads a scope's state, for each of the tables whether it has a row, and then the session."""
    dialect = kind()
    names = map(dialect.identifier_preparer.format_table, tables)
    holds = [f"EXISTS (SELECT 1 FROM {name} WHERE scope_id = scopes.id)" for name in names]  # noqa: S608
    columns = ", ".join([_COLUMNS, *holds, *([SESSION_COLUMNS] if has_session else ())])
    named = f"LEFT JOIN sessions ON sessions.scope_id = scopes.id AND {IS_NAMED[dialect.name]}" if has_session else ""
    return f"SELECT {columns} {_FROM} {named} WHERE scopes.key = :key"


def due_scopes(connection: Connection, now: datetime) -> list[str]:
    """The keys of the scopes of which anything is to go at a moment."""
    moment = microseconds(now)
    ended = select(lifetimes.c.scope_id).where(lifetimes.c.at_us <= moment)
    changed = select(scope_caps.c.scope_id).join(scopes, scopes.c.id == scope_caps.c.scope_id)
    over = changed.where(or_(scope_caps.c.next_us <= moment, scope_caps.c.checked != scopes.c.revision))
    found = select(scopes.c.key).where(or_(scopes.c.id.in_(ended), scopes.c.id.in_(over))).order_by(scopes.c.id)
    return list(connection.scalars(found))


def ending(connection: Connection, scope: Scope, now: datetime) -> Ending | None:
    """What of the scope is to go at a moment because its end has come; nothing where none has."""
    scope_id = scope_id_of(connection, scope)
    if scope_id is None:
        return None
    come = lifetimes.c.scope_id == scope_id, lifetimes.c.at_us <= microseconds(now)
    rows = sound_rows(connection, select(lifetimes).where(*come), lifetimes, scope_id)
    if not rows:
        return None
    mine = messages.c.scope_id == scope_id, messages.c.position == 0
    whole = any(row.session_id is None for row in rows)
    numbers = [row.id for row in rows]
    if whole:
        return Ending(scope_id, list(connection.scalars(select(messages.c.name).where(*mine))), numbers, True)
    of_turn = begins_turn(lifetimes.c.session_id, lifetimes.c.turn)
    of_session = and_(messages.c.session_id == lifetimes.c.session_id, lifetimes.c.turn.is_(None))
    names = [
        name
        for owner in (of_turn, and_(of_session, messages.c.position == 0))
        for name in connection.scalars(select(messages.c.name).join_from(lifetimes, messages, owner).where(*come))
    ]
    return Ending(scope_id, names, numbers)


@retry_if_contended
def settled(store: SqlStore, scope_id: int, numbers: Sequence[int]) -> None:
    """Delete ends that have come, and of which nothing is left."""
    with store.transaction(scope=scope_id) as connection:
        for batch in batches(numbers):
            connection.execute(delete(lifetimes).where(lifetimes.c.id.in_(batch)))


def put_turns(connection: Connection, scope_id: int, turn_ids: Sequence[str], expires: datetime | None) -> None:
    """Set when turns end, or with nothing that they do not; `InvalidInput` where one is not there."""
    places: dict[str, tuple[int, int]] = {}
    for batch in batches(list(turn_ids)):
        named = messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, batch)
        found = connection.execute(select(messages.c.name, messages.c.session_id, messages.c.turn).where(*named))
        places.update({row.name: (row.session_id, row.turn) for row in found})
    if unknown := [each for each in turn_ids if each not in places]:
        raise InvalidInput(f"no turn of this scope has the id {unknown[0]!r}")
    by_session: dict[int, set[int]] = {}
    for session_id, turn in places.values():
        by_session.setdefault(session_id, set()).add(turn)
    for session_id, turns in by_session.items():
        delete_among(connection, lifetimes.c.turn, turns, lifetimes.c.session_id == session_id)
        if expires is not None:
            row = {"scope_id": scope_id, "session_id": session_id, "at_us": _stored(expires)}
            connection.execute(insert(lifetimes), [{**row, "turn": turn} for turn in sorted(turns)])


def _stored(expires: datetime) -> int:
    """An end as it is kept: one that is farther than a count reaches is that far."""
    return min(max(0, microseconds(expires)), MOST - 1)


def moment_of(end: int) -> datetime:
    """The end that is kept so."""
    return EPOCH + timedelta(microseconds=end)


def put_session(connection: Connection, scope_id: int, session: str, expires: datetime | None) -> None:
    """Set when a session ends, or with nothing that it does not; `InvalidInput` where it is not there."""
    named = sessions.c.scope_id == scope_id, is_one_of(connection, sessions.c.name, [session])
    session_id = connection.scalar(select(sessions.c.id).where(*named))
    if session_id is None:
        raise InvalidInput(f"this scope has no session {session!r}")
    _put(connection, scope_id, session_id, expires)


def put_scope(connection: Connection, scope_id: int, expires: datetime | None) -> None:
    """Set when the scope ends, or with nothing that it does not."""
    _put(connection, scope_id, None, expires)


def _put(connection: Connection, scope_id: int, session_id: int | None, expires: datetime | None) -> None:
    whole = lifetimes.c.session_id.is_(None) if session_id is None else lifetimes.c.session_id == session_id
    connection.execute(delete(lifetimes).where(lifetimes.c.scope_id == scope_id, whole, lifetimes.c.turn.is_(None)))
    if expires is not None:
        row = {"scope_id": scope_id, "session_id": session_id, "at_us": _stored(expires)}
        connection.execute(insert(lifetimes).values(**row))


def put_cap(connection: Connection, scope_id: int, cap: Cap | None) -> None:
    """Set how much the scope may hold; nothing takes its cap away."""
    connection.execute(delete(scope_caps).where(scope_caps.c.scope_id == scope_id))
    if cap is not None:
        age = cap.age // MICROSECOND if cap.age is not None else None
        row = {"scope_id": scope_id, "turns": cap.turns, "bytes": cap.bytes, "age_us": age, "checked": -1}
        connection.execute(insert(scope_caps).values(**row))


@retry_if_contended
def write(store: SqlStore, scope: Scope, change: Callable[[Connection, int], None]) -> None:
    """Change the lifetimes of a scope in one transaction, given its id; where nothing is remembered yet, it is made."""
    with store.transaction(scope=scope) as connection:
        change(connection, scope_id_of(connection, scope) or insert_row(connection, scopes, key=scope_key(scope)))


def ends(connection: Connection, scope_id: int) -> Iterator[Lifetime]:
    """When what of the scope ends, in the order in which it does."""
    every = (
        select(lifetimes.c.at_us, lifetimes.c.turn, sessions.c.name, messages.c.name.label("turn_id"))
        .outerjoin(sessions, sessions.c.id == lifetimes.c.session_id)
        .outerjoin(messages, begins_turn(lifetimes.c.session_id, lifetimes.c.turn))
        .where(lifetimes.c.scope_id == scope_id)
        .order_by(lifetimes.c.at_us, lifetimes.c.id)
    )
    for row in connection.execute(every).all():
        # What ends at no time is set aside where it would end.
        if is_count(row.at_us):
            yield Lifetime(moment_of(row.at_us), row.name, row.turn_id)


def cap_of(connection: Connection, scope_id: int) -> Cap | None:
    """How much the scope may hold; nothing where it may hold whatever comes."""
    row = connection.execute(select(scope_caps).where(scope_caps.c.scope_id == scope_id)).one_or_none()
    return cap_in(row) if row is not None else None


def cap_in(row: Row[Any] | State) -> Cap:
    """How much the scope may hold."""
    return Cap(row.turns, row.bytes, timedelta(microseconds=row.age_us) if row.age_us is not None else None)


def restore(connection: Connection, scope_id: int, kept: Sequence[Lifetime | Cap]) -> None:
    """Take in what an export has; what is set already stays, and what ends something that is not there is left out."""
    known = {(each.session, each.turn_id) for each in ends(connection, scope_id)}
    for each in kept:
        if isinstance(each, Cap):
            if cap_of(connection, scope_id) is None:
                put_cap(connection, scope_id, each)
        elif (each.session, each.turn_id) not in known:
            _restore(connection, scope_id, each)


def _restore(connection: Connection, scope_id: int, lifetime: Lifetime) -> None:
    try:
        if lifetime.turn_id is not None:
            put_turns(connection, scope_id, [lifetime.turn_id], lifetime.expires)
        elif lifetime.session is not None:
            put_session(connection, scope_id, lifetime.session, lifetime.expires)
        else:
            put_scope(connection, scope_id, lifetime.expires)
    except InvalidInput:
        # It was forgotten, or never came.
        return


def drop_unsound(connection: Connection, scope_id: int) -> None:
    """Delete the ends and the cap of a scope that cannot be read."""
    mine = lifetimes.c.scope_id == scope_id
    with collected():
        kept = {row.id for row in sound_rows(connection, select(lifetimes).where(mine), lifetimes, scope_id)}
        capped = select(scope_caps).where(scope_caps.c.scope_id == scope_id)
        caps = sound_records(connection, connection.execute(capped).all(), cap_in, scope_caps, scope_id)
    held = connection.scalars(select(lifetimes.c.id).where(mine)).all()
    delete_among(connection, lifetimes.c.id, set(held) - kept)
    if not caps:
        connection.execute(delete(scope_caps).where(scope_caps.c.scope_id == scope_id))
