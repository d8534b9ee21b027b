"""Statements that every turn needs, straight through the driver of SQLite, in a transaction or by themselves.

SQLAlchemy makes their words once. To run one through it costs five times as much as the statement itself, and a
transaction of one statement as much again. What a statement by itself gives is as of one moment, as it always is. On a
server, the way there and back is what costs, and SQLAlchemy runs them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Connection, Dialect, Insert, Select, Update
from sqlalchemy.sql.dml import Delete

_STATEMENTS: Final = 256
"""How many statements are kept in the words of a database; the project has a dozen."""

_Process = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Glance:
    """A statement in the words of a database.

    Args:
        words: the SQL.
        order: the names of the parameters, in their order.
        own: the values of those that the statement brings itself.
        given: what makes of a parameter what the database takes, by name, where something has to.
        found: the same for the columns of a row, by their places.
        row: makes a row of its values; they are its attributes by the names of the columns.
    """

    words: str
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
        found = connection.execute(self.words, self.parameters(values)).fetchall()
        if not self.found:
            return [self.row(each) for each in found]
        return [self.row(self._read(each)) for each in found]

    def parameters(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters in their order, as the database takes them."""
        values = {**self.own, **values}
        return [self.given[name](values[name]) if name in self.given else values[name] for name in self.order]

    def _read(self, row: Sequence[Any]) -> list[Any]:
        return [self.found[place](value) if place in self.found else value for place, value in enumerate(row)]


def rows_of(connection: Connection, statement: Select[Any], values: Mapping[str, Any]) -> list[Any]:
    """The rows that a statement finds in a transaction.

    Args:
        connection: in the transaction.
        statement: one that is made once, and not for each call; its columns have names of their own.
        values: of its parameters, none of which stands for several.
    """
    if connection.dialect.name != "sqlite":
        return list(connection.execute(statement, values))
    return glance_of(statement, connection.dialect).rows(connection.connection.driver_connection, values)


def run(connection: Connection, statement: Insert | Update | Delete, *rows: Mapping[str, Any]) -> None:
    """Run a statement that writes, in a transaction.

    Args:
        connection: in the transaction.
        statement: one that is made once, and not for each call.
        *rows: the parameters of each time that it is run, all with the same names; of an insert, the columns' names.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(statement, rows)
        return
    columns = tuple(rows[0]) if isinstance(statement, Insert) else ()
    glance = glance_of(statement, connection.dialect, columns)
    driver: Any = connection.connection.driver_connection
    driver.executemany(glance.words, [glance.parameters(each) for each in rows])


@lru_cache(maxsize=_STATEMENTS)
def glance_of(
    statement: Select[Any] | Insert | Update | Delete, dialect: Dialect, columns: tuple[str, ...] = ()
) -> Glance:
    """The statement in the words of a database whose parameters stand in an order.

    Args:
        statement: one that is made once, and not for each call.
        dialect: of the database.
        columns: which an insert has values for.
    """
    if isinstance(statement, Insert):
        # Without the number of a new row, which nobody asks for here.
        statement = statement.inline()
    compiled: Any = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    given = {name: compiled.binds[name].type.bind_processor(dialect) for name in compiled.positiontup}
    selected = list(statement.selected_columns) if isinstance(statement, Select) else []
    read = {place: column.type.result_processor(dialect, None) for place, column in enumerate(selected)}
    row: Any = namedtuple("Row", [column.key for column in selected])  # type: ignore[misc]
    return Glance(
        compiled.string,
        tuple(compiled.positiontup),
        compiled.params,
        {name: process for name, process in given.items() if process is not None},
        {place: process for place, process in read.items() if process is not None},
        row._make,
    )
