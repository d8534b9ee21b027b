"""Which rows of a table are a scope's, or a session's: found by its foreign keys, up to the tables of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from ..errors import InvalidInput
from .schema import scopes, sessions


def of_scope(table: Table, scope_id: int) -> ColumnElement[bool]:
    """The condition that a row of the table belongs to the scope.

    Raises:
        InvalidInput: no foreign key leads from the table to a scope.
    """
    if table is scopes:
        return scopes.c.id == scope_id
    to_scope = _column_to(table, scopes)
    if to_scope is not None:
        return to_scope == scope_id
    for column, owner in _owners(table):
        return column.in_(select(owner.c.id).where(of_scope(owner, scope_id)))
    raise InvalidInput(f"no foreign key leads from the table {table.name!r} to a scope or a session")


def is_of_sessions(table: Table) -> bool:
    """Whether each row of the table belongs to a session, and not to a scope as a whole."""
    return _column_to(table, sessions) is not None or any(is_of_sessions(owner) for _, owner in _owners(table)[:1])


def of_session(table: Table, session_id: int) -> ColumnElement[bool]:
    """The condition that a row of the table belongs to the session; see `is_of_sessions`."""
    to_session = _column_to(table, sessions)
    if to_session is not None:
        return to_session == session_id
    [(column, owner), *_] = _owners(table)
    return column.in_(select(owner.c.id).where(of_session(owner, session_id)))


def delete_of_scope(connection: Connection, tables: Sequence[Table], scope_id: int) -> None:
    """Delete the scope's rows of the tables, the last table first."""
    for table in reversed(tables):
        connection.execute(delete(table).where(of_scope(table, scope_id)))


def delete_of_session(connection: Connection, tables: Sequence[Table], session_id: int) -> None:
    """Delete the session's rows of the tables, the last table first."""
    for table in reversed(tables):
        connection.execute(delete(table).where(of_session(table, session_id)))


def _column_to(table: Table, owner: Table) -> ColumnElement[Any] | None:
    return next((key.parent for key in table.foreign_keys if key.column.table is owner), None)


def _owners(table: Table) -> list[tuple[ColumnElement[Any], Table]]:
    """The columns that name a row of another table than itself, in the order of the columns."""
    keys = [key for column in table.columns for key in column.foreign_keys]
    return [(key.parent, key.column.table) for key in keys if key.column.table not in (table, scopes)]
