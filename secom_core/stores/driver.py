"""Statements in a transaction, straight through the driver of SQLite.

To run a statement through SQLAlchemy takes five times as long as SQLite takes for it. On a server, the way there and
back takes longest, and SQLAlchemy runs the statements.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Dialect, Insert, Select, Update, text
from sqlalchemy.sql.dml import Delete

from .glances import as_given

_STATEMENTS: Final = 256
"""How many compiled statements are kept; the project has a few dozen."""

_Process = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement of SQLAlchemy's as SQL whose parameters have an order.

    Args:
        sql: the SQL.
        order: the names of the parameters, in their order.
        own: the values of those that the statement brings itself.
        given: what makes of a parameter what the database takes, by name, where something has to.
        found: the same for the columns of a row, by their places.
        row: makes a row of its values; they are its attributes by the names of the columns.
    """

    sql: str
    order: Sequence[str]
    own: Mapping[str, Any]
    given: Mapping[str, _Process]
    found: Mapping[int, _Process]
    row: Callable[[Iterable[Any]], Any]

    def rows(self, connection: Any, values: Mapping[str, Any]) -> list[Any]:
        """What it finds.

        Args:
            connection: the driver's.
            values: the parameters.
        """
        found = connection.execute(self.sql, self.parameters(values)).fetchall()
        if not self.found:
            return [self.row(each) for each in found]
        return [self.row(self._read(each)) for each in found]

    def parameters(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters in their order, as the database takes them."""
        values = {**self.own, **values}
        return [self.given[name](values[name]) if name in self.given else values[name] for name in self.order]

    def _read(self, row: Sequence[Any]) -> list[Any]:
        return [self.found[place](value) if place in self.found else value for place, value in enumerate(row)]


def glance_in(connection: Connection, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement in SQL: for what a first recall reads too, which is to compile nothing.

    Args:
        connection: in a transaction; `secom_core.stores.database.Database.glance` needs none.
        statement: of this project, such as those in `secom_core.stores.glances`; never what a user gives.
        **values: what its names after colons stand for.
    """
    if connection.dialect.name != "sqlite":
        return as_given(connection.execute(text(statement), values))
    driver: Any = connection.connection.driver_connection
    return as_given(driver.execute(statement, values))


def rows_of(connection: Connection, statement: Select[Any], values: Mapping[str, Any]) -> list[Any]:
    """The rows of a statement of SQLAlchemy's, compiled once: for what only calls that write read.

    Args:
        connection: in a transaction.
        statement: one that is made once, and not for each call; its columns have names of their own.
        values: of its parameters, none of which stands for several.
    """
    if connection.dialect.name != "sqlite":
        return list(connection.execute(statement, values))
    kind: Callable[[], Dialect] = type(connection.dialect)
    return _compiled(statement, kind).rows(connection.connection.driver_connection, values)


def run(connection: Connection, statement: Insert | Update | Delete, *rows: Mapping[str, Any]) -> None:
    """Run a statement of SQLAlchemy's that writes, compiled once: for every write that each turn needs.

    Args:
        connection: in a transaction.
        statement: one that is made once, and not for each call.
        *rows: the parameters of each time that it is run, all with the same names; of an insert, the columns' names.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(statement, rows)
        return
    columns = tuple(rows[0]) if isinstance(statement, Insert) else ()
    kind: Callable[[], Dialect] = type(connection.dialect)
    compiled = _compiled(statement, kind, columns)
    driver: Any = connection.connection.driver_connection
    driver.executemany(compiled.sql, [compiled.parameters(each) for each in rows])


@cache
def _dialect(kind: Callable[[], Dialect]) -> Dialect:
    return kind()


@lru_cache(maxsize=_STATEMENTS)
def _compiled(
    statement: Select[Any] | Insert | Update | Delete, kind: Callable[[], Dialect], columns: tuple[str, ...] = ()
) -> _Compiled:
    dialect = _dialect(kind)
    if isinstance(statement, Insert):
        # Without the number of a new row, which nobody asks for here.
        statement = statement.inline()
    # An insert has values for these columns.
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    given = {name: compiled.binds[name].type.bind_processor(dialect) for name in compiled.positiontup}
    selected = list(statement.selected_columns) if isinstance(statement, Select) else []
    read = {place: column.type.result_processor(dialect, None) for place, column in enumerate(selected)}
    row: Any = namedtuple("Row", [column.key for column in selected])  # type: ignore[misc]
    return _Compiled(
        compiled.string,
        tuple(compiled.positiontup),
        compiled.params,
        {name: process for name, process in given.items() if process is not None},
        {place: process for place, process in read.items() if process is not None},
        row._make,
    )
