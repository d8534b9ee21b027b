"""How a transaction begins, in the words of every kind of database."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from .reasons import is_crowded, is_ended, took_too_long

BUSY_MS: Final = "secom_busy_ms"
"""Where a connection to SQLite notes for how many milliseconds it waits for others."""

CROWDED_S: Final = 10.0
"""For how many seconds a connection is asked for again where the server has as many as it takes."""
T = TypeVar("T")
_MOST_LOST: Final = 100
"""After so many connections that were lost when they were taken from the pool, something else is wrong."""


def left_until(until: float) -> float | None:
    """How many seconds are left until then, of the monotonic clock; nothing where there is no end."""
    return None if until == math.inf else max(0.0, until - time.monotonic())


def lock_timeout(seconds: float) -> int:
    """So many seconds as PostgreSQL's ``lock_timeout``, in milliseconds, of which 0 would be to wait for ever."""
    return max(1, math.ceil(seconds * 1000))


class Asked(NamedTuple):
    """What is asked of a transaction.

    Args:
        write: whether it may write.
        durable: whether what it writes is on disk before the next turn is.
        scope: what is written to, by its key or by its id; everything where it is nothing.
        until: when, of the monotonic clock, it waits for others no longer; infinite leaves it to the database.
        migrating: whether tables are made anew.
    """

    write: bool
    durable: bool
    scope: str | int | None
    until: float
    migrating: bool

    @property
    def wait(self) -> float | None:
        """How many seconds it waits for others from now on; as long as the database does where it is nothing."""
        return left_until(self.until)


Begin: TypeAlias = Callable[[Connection, Asked], None]
"""Begins a transaction that may write, or has it wait for whoever writes to the same scope."""


@contextmanager
def begun(engine: Engine, begin: Begin, asked: Asked) -> Iterator[Connection]:
    """A connection in a transaction, which is committed at the end, or taken back if anything is raised.

    Its first statement shows whether the connection was lost since it was last used; then another one is taken.
    """
    with _begun(engine, begin, asked) as connection, connection.get_transaction() or connection.begin():
        yield connection


def _begun(engine: Engine, begin: Begin, asked: Asked) -> Connection:
    spare = 0 if engine.dialect.name == "sqlite" else _MOST_LOST
    while True:
        connection = connected(engine.connect)
        try:
            connection.begin()
            begin(connection, asked)
        except BaseException as error:
            was_lost = leave_if_lost(connection, error)
            connection.close()
            spare -= 1
            if not was_lost or spare < 0 or took_too_long(error):
                raise
        else:
            return connection


def connected(connect: Callable[[], T]) -> T:
    """What a connection is got by, again and again for a while where the server has as many as it takes.

    A pooler that has not noticed that its server went away lends out each of the connections that it lost.
    """
    until, spare = time.monotonic() + CROWDED_S, _MOST_LOST
    while True:
        try:
            return connect()
        except DBAPIError as error:
            was_lost = error.orig is not None and is_ended(error.orig)
            spare -= was_lost
            if time.monotonic() >= until or spare < 0 or not (was_lost or is_crowded(error)):
                raise
        if not was_lost:
            time.sleep(random.uniform(0.02, 0.2))


def leave_if_lost(connection: Connection, error: BaseException | None = None) -> bool:
    """Whether the connection to a server was lost, also by what the server said; then it is not used again."""
    driver: Any = None if connection.closed or connection.invalidated else connection.connection.driver_connection
    is_lost = bool(getattr(driver, "closed", False)) or (driver is not None and error is not None and is_ended(error))
    if is_lost:
        connection.invalidate()
    return is_lost


def wait_at_most(connection: Any, noted: Any, seconds: float) -> None:
    """Set how long a connection to SQLite waits for others, in tenths of a second, where it waits otherwise by now.

    Args:
        connection: the driver's.
        noted: what the pool notes of it.
        seconds: how long.
    """
    milliseconds = math.ceil(seconds * 10) * 100
    if noted.get(BUSY_MS) != milliseconds:
        connection.execute(f"PRAGMA busy_timeout={milliseconds}")
        noted[BUSY_MS] = milliseconds
