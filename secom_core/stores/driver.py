"""Statements straight through the driver, for what every recall and every new turn run.

To run a statement through SQLAlchemy takes five times as long as SQLite takes for it, and as long as the way to a
server nearby and back.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Dialect, Insert, PoolProxiedConnection, Select, Update
from sqlalchemy.sql.dml import Delete

from .glances import as_given
from .transactions import leave_if_lost, left_until, lock_timeout, wait_at_most

_STATEMENTS: Final = 256
"""How many compiled statements are kept; the project has a few dozen."""

_WAIT: Final = "SET LOCAL lock_timeout TO {}"

# A name after a colon, and no cast.
_NAMED: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")

_Process = Callable[[Any], Any]
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A statement of SQLAlchemy's as the driver's SQL.

    Args:
        sql: the SQL.
        order: the names of the parameters in their order; nothing where the driver takes them by name.
        own: the values of those that the statement brings itself.
        given: what makes of a parameter what the database takes, by name, where something has to.
        found: the same for the columns of a row, by their places.
        row: makes a row of its values; they are its attributes by the names of the columns.
    """

    sql: str
    order: Sequence[str] | None
    own: Mapping[str, Any]
    given: Mapping[str, _Process]
    found: Mapping[int, _Process]
    row: Callable[[Iterable[Any]], Any]

    def rows(self, found: Iterable[Sequence[Any]]) -> list[Any]:
        """Rows as the driver gives them, with names and as they went in."""
        if not self.found:
            return [self.row(each) for each in found]
        return [self.row(self._read(each)) for each in found]

    def parameters(self, values: Mapping[str, Any]) -> Parameters:
        """The parameters as the database takes them."""
        values = {**self.own, **values}
        taken = {name: self.given[name](value) if name in self.given else value for name, value in values.items()}
        return taken if self.order is None else [taken[name] for name in self.order]

    def _read(self, row: Sequence[Any]) -> list[Any]:
        return [self.found[place](value) if place in self.found else value for place, value in enumerate(row)]


def found_at_once(
    pooled: PoolProxiedConnection, dialect: Dialect, statement: str, values: Parameters, until: float
) -> Any:
    """The rows of a statement in SQL outside of any transaction, as the driver gives them.

    Args:
        pooled: a connection of the pool's; the pool leaves it where it turns out to be lost.
        dialect: what it speaks.
        statement: see `glance_in`.
        values: of its parameters.
        until: when, of the monotonic clock, it waits for others no longer; infinite leaves it to the database.
    """
    driver: Any = pooled.driver_connection
    wait = left_until(until)
    try:
        if dialect.name == "sqlite":
            wait_at_most(driver, pooled.info, wait or 0.0)
            return driver.execute(statement, values)
        if wait is None:
            return driver.execute(_by_name(statement), values)
        # Both are one message, and so one transaction: no setting is left to whoever has the connection next. In the
        # driver's pipelines there is one message more at the end, for which a pooler keeps its connection.
        found = dialect.loaded_dbapi.ClientCursor(driver)
        found.execute(f"{_WAIT.format(lock_timeout(wait))}; {_by_name(statement)}", values)
        found.nextset()
        return found
    finally:
        if getattr(driver, "closed", False):
            pooled.invalidate()


def found_in(connection: Connection, statement: str, values: Parameters) -> Any:
    """The rows of a statement in SQL in a transaction, as the driver gives them; see `glance_in`."""
    return _execute(connection, statement if connection.dialect.name == "sqlite" else _by_name(statement), values)


def glance_in(connection: Connection, statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement in SQL: for what a first recall reads too, which is to compile nothing.

    Args:
        connection: in a transaction; `secom_core.stores.database.Database.glance` needs none.
        statement: of this project, such as those in `secom_core.stores.glances`; never what a user gives.
        **values: what its names after colons stand for.
    """
    return as_given(found_in(connection, statement, values))


@lru_cache(maxsize=_STATEMENTS)
def _by_name(statement: str) -> str:
    """A statement with names after colons as psycopg takes them."""
    return _NAMED.sub(r"%(\1)s", statement.replace("%", "%%"))


def _execute(connection: Connection, statement: str, *given: Parameters) -> Any:
    """Run a statement of the driver's, once for each of its parameters; the rows of the only time."""
    driver: Any = connection.connection.driver_connection
    try:
        if len(given) == 1:
            return driver.execute(statement, given[0])
        return driver.cursor().executemany(statement, given)
    except BaseException:
        leave_if_lost(connection)
        raise


def rows_of(connection: Connection, statement: Select[Any], values: Mapping[str, Any]) -> list[Any]:
    """The rows of a statement of SQLAlchemy's, compiled once: for what only calls that write read.

    Args:
        connection: in a transaction.
        statement: one that is made once, and not for each call; its columns have names of their own.
        values: of its parameters, none of which stands for several.
    """
    kind: Callable[[], Dialect] = type(connection.dialect)
    compiled = _compiled(statement, kind)
    return compiled.rows(_execute(connection, compiled.sql, compiled.parameters(values)))


def run(connection: Connection, statement: Insert | Update | Delete, *rows: Mapping[str, Any]) -> None:
    """Run a statement of SQLAlchemy's that writes, compiled once: for every write that each turn needs.

    Args:
        connection: in a transaction.
        statement: one that is made once, and not for each call.
        *rows: the parameters of each time that it is run, all with the same names; of an insert, the columns' names.
    """
    columns = tuple(rows[0]) if isinstance(statement, Insert) else ()
    kind: Callable[[], Dialect] = type(connection.dialect)
    compiled = _compiled(statement, kind, columns)
    _execute(connection, compiled.sql, *map(compiled.parameters, rows))


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
    order = tuple(compiled.positiontup) if compiled.positional else None
    given = {name: compiled.binds[name].type.bind_processor(dialect) for name in compiled.params}
    selected = list(statement.selected_columns) if isinstance(statement, Select) else []
    read = {place: column.type.result_processor(dialect, None) for place, column in enumerate(selected)}
    row: Any = namedtuple("Row", [column.key for column in selected])  # type: ignore[misc]
    return _Compiled(
        compiled.string,
        order,
        compiled.params,
        {name: process for name, process in given.items() if process is not None},
        {place: process for place, process in read.items() if process is not None},
        row._make,
    )
