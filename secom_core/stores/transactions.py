"""How a transaction begins, in the words of every kind of database."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection

BUSY_MS: Final = "secom_busy_ms"
"""Where a connection to SQLite notes for how many milliseconds it waits for others."""


class Asked(NamedTuple):
    """What is asked of a transaction.

    Args:
        write: whether it may write.
        durable: whether what it writes is on disk before the next turn is.
        scope: what is written to, by its key or by its id; everything where it is nothing.
        wait: how many seconds it waits for others; as long as the database does where it is nothing.
        single: whether one statement reads, which is as of one moment anyway.
        migrating: whether tables are made anew.
    """

    write: bool
    durable: bool
    scope: str | int | None
    wait: float | None
    single: bool
    migrating: bool


Begin: TypeAlias = Callable[[Connection, Asked], None]
"""Begins a transaction that may write, or has it wait for whoever writes to the same scope."""


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
