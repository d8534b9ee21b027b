"""The door by which derived rows come in: what is no record of its table any more is set aside, with one warning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, select
from sqlalchemy.types import NullType

from ..errors import warn_degraded
from .driver import rows_of
from .rows import is_count
from .schema import messages, scopes, sessions

T = TypeVar("T")
_collecting: Final[ContextVar[dict[str, int] | None]] = ContextVar("_collecting", default=None)
Owner = int | Callable[[], ColumnElement[int]]
"""The id of a scope, or what makes the query that gives it."""


def sound_rows(
    connection: Connection, statement: Select[Any], table: Table, owner: Owner, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """The rows of a statement of which every value is of its column's kind.

    Args:
        connection: a transaction.
        statement: what is read; one that is made once, where it has parameters.
        table: what it is read from, for the warning.
        owner: whose rows they are, for the warning.
        values: of the statement's parameters.

    Warns:
        DegradedWarning: some are not, and are set aside.
    """
    checks = [_check_of(column) for column in statement.selected_columns]
    rows = connection.execute(statement).all() if values is None else rows_of(connection, statement, values)
    return sound_records(connection, rows, lambda row: _checked(row, checks), table, owner)


def sound_records(
    connection: Connection, rows: Iterable[Row[Any]], make: Callable[[Row[Any]], T], table: Table, owner: Owner
) -> list[T]:
    """What ``make`` makes of the rows; one at which it raises is set aside.

    Args:
        connection: a transaction.
        rows: as `sound_rows` gave them.
        make: raises `ValueError`, `TypeError`, `LookupError` or `RecursionError` for what is no record.
        table: what they were read from, for the warning.
        owner: whose they are, for the warning.

    Warns:
        DegradedWarning: some are set aside.
    """
    made: list[T] = []
    cause: Exception | None = None
    unsound = 0
    for row in rows:
        try:
            made.append(make(row))
        except (ValueError, TypeError, LookupError, RecursionError) as error:  # noqa: PERF203 - each row by itself
            cause, unsound = cause or error, unsound + 1
    if cause is not None:
        warn_set_aside(connection, table, owner, unsound, unsound + len(made), cause)
    return made


def warn_set_aside(
    connection: Connection, table: Table, owner: Owner, unsound: int, rows: int, cause: Exception | None = None
) -> None:
    """Warn that rows of a scope are set aside, and say who makes them again."""
    counting = _collecting.get()
    if counting is not None:
        counting[table.name] = counting.get(table.name, 0) + unsound
        return
    scope = connection.scalar(select(scopes.c.key).where(scopes.c.id == (owner() if callable(owner) else owner)))
    warn_degraded(
        f"{unsound} of {rows} rows of the table {table.name!r} of the scope {scope or '?'} cannot be used and are set "
        "aside; bank.check(scope, repair=True) makes them again",
        cause,
    )


@contextmanager
def collected() -> Iterator[dict[str, int]]:
    """How many rows are set aside in here, by table; without a warning."""
    counting: dict[str, int] = {}
    token = _collecting.set(counting)
    try:
        yield counting
    finally:
        _collecting.reset(token)


def is_sound(table: Table, values: Sequence[object]) -> bool:
    """Whether these are values of the table's columns, in their order."""
    return all(_check_of(column)(value) for column, value in zip(table.columns, values, strict=True))


@lru_cache(maxsize=256)
def _check_of(column: Any) -> Callable[[object], bool]:
    if isinstance(column.type, NullType) or getattr(column, "table", None) in (messages, sessions):
        return lambda value: True
    kind, may_lack = column.type.python_type, bool(getattr(column, "nullable", False))
    if kind is int:
        return lambda value: is_count(value) or (may_lack and value is None)
    return lambda value: type(value) is kind or (may_lack and value is None)


def _checked(row: Row[Any], checks: list[Callable[[object], bool]]) -> Row[Any]:
    for name, value, fits in zip(row._fields, row, checks, strict=True):
        if not fits(value):
            raise ValueError(f"{name} is {str(value)[:40]!r}")
    return row
