"""Statements that several tables need: a row and its new id, many rows deleted, scopes by their first parts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, bindparam, delete, func, insert, select

from ..conversation import Scope
from ..text.batches import batches
from .driver import glance_in, rows_of
from .rows import ScopeRow, SessionRow, sound_version
from .schema import messages, scopes, sessions, vectors

_VERSION: Final = select(sessions.c.version).where(sessions.c.id == bindparam("id"))


def insert_row(connection: Connection, table: Table, /, **values: Any) -> int:
    """Insert a row of a table that numbers its rows; its id."""
    made = connection.execute(insert(table).values(**values))
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def delete_among(
    connection: Connection, column: Column[Any], values: Iterable[Any], *conditions: ColumnElement[bool]
) -> None:
    """Delete the rows whose ``column`` has one of the values, however many those are; the highest first."""
    for batch in batches(sorted(values, reverse=True)):
        connection.execute(delete(column.table).where(column.in_(batch), *conditions))


def scopes_within(connection: Connection, within: Scope, most: int | None = None) -> list[tuple[Scope, ScopeRow]]:
    """The scopes whose first parts are these, in the order in which they came; at most so many of them."""
    begins = json.dumps(list(within))[:-1]
    alike = (
        select(scopes.c.key, scopes.c.id, scopes.c.revision, scopes.c.epoch)
        .where(func.substr(scopes.c.key, 1, len(begins)) == begins)
        .order_by(scopes.c.id)
        .limit(most)
    )
    found = ((tuple(json.loads(key)), ScopeRow(*row)) for key, *row in connection.execute(alike))
    return [each for each in found if each[0][: len(within)] == within]


def begins_turn(session_id: ColumnElement[int], turn: ColumnElement[int]) -> ColumnElement[bool]:
    """The condition that a message is the first one of a turn, whose name is the turn's id."""
    return and_(messages.c.session_id == session_id, messages.c.turn == turn, messages.c.position == 0)


def count_turns_where(connection: Connection, condition: ColumnElement[bool]) -> int:
    """How many turns have messages that meet a condition."""
    distinct = select(messages.c.session_id, messages.c.turn).where(condition).distinct().subquery()
    return connection.scalar(select(func.count()).select_from(distinct)) or 0


def is_unchanged(connection: Connection, session: SessionRow) -> bool:
    """Whether the session is as it was when its row was read: nobody has changed or forgotten it since."""
    return [sound_version(row.version) for row in rows_of(connection, _VERSION, {"id": session.id})] == [
        session.version
    ]


def holds_any(connection: Connection, table: Table) -> bool:
    """Whether a table has any row, of whatever scope."""
    name = connection.dialect.identifier_preparer.format_table(table)
    return bool(glance_in(connection, f"SELECT 1 FROM {name} LIMIT 1"))  # noqa: S608


def keep_vectors(connection: Connection, session_id: int, digests: set[str]) -> None:
    """Delete the session's vectors but those of texts with these digests; all of them where one has none."""
    mine = vectors.c.session_id == session_id
    stored = {row.digest for row in connection.execute(select(vectors.c.digest).where(mine)).all()}
    if all(isinstance(each, str) for each in stored):
        delete_among(connection, vectors.c.digest, stored - digests, mine)
    else:
        connection.execute(delete(vectors).where(mine))
