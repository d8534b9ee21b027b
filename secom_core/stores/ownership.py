"""Which rows of a table are a scope's, or a session's: found by its foreign keys, up to the tables of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, false, or_, select, update

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


def is_orphan(table: Table) -> ColumnElement[bool]:
    """The condition that a row names a row of another table, or its own, that is not there."""
    ways = []
    for key in table.foreign_keys:
        there = key.column.table.alias()
        ways.append(and_(key.parent.is_not(None), ~exists().where(there.c[key.column.name] == key.parent)))
    return or_(*ways)


def is_foreign(table: Table) -> ColumnElement[bool]:
    """The condition that the foreign keys of a row lead to more than one scope."""
    first, *others = _ways_to_scope(table, table)
    return or_(false(), *(first != other for other in others))


def _ways_to_scope(table: Table, columns: Any) -> list[ColumnElement[Any]]:
    """The scope of a row by each of its foreign keys; ``columns`` is the table, or an alias of it."""
    ways = []
    for key in sorted(table.foreign_keys, key=lambda key: str(key.parent)):
        column, owner = columns.c[key.parent.name], key.column.table
        if owner is scopes:
            ways.append(column)
        elif owner is not table:
            there = owner.alias()
            ways.append(select(_ways_to_scope(owner, there)[0]).where(there.c.id == column).scalar_subquery())
    return ways


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
    """Delete the scope's rows of the tables, the last table first; also those that only rest on one of its rows."""
    for table in reversed(tables):
        going = rests_on_scope(table, scope_id)
        for column in (key.parent for key in table.foreign_keys if key.column.table is table and not key.ondelete):
            connection.execute(update(table).where(column.in_(select(table.c.id).where(going))).values({column: None}))
        connection.execute(delete(table).where(going))


def rests_on_scope(table: Table, scope_id: int) -> ColumnElement[bool]:
    """The condition that any of its foreign keys leads from a row to the scope."""
    if table is scopes:
        return scopes.c.id == scope_id
    direct = _column_to(table, scopes)
    ways = [column.in_(select(owner.c.id).where(of_scope(owner, scope_id))) for column, owner in _owners(table)]
    return or_(*ways, *([] if direct is None else [direct == scope_id]))


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
