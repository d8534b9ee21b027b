"""What a bank asks its database, for tests that count work."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from secom_core.bank import MemoryBank


@contextmanager
def statements(bank: MemoryBank) -> Iterator[list[str]]:
    """The statements that the bank's SQLite file is asked meanwhile, in any thread."""
    asked: list[str] = []

    def traced(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(asked.append)

    def untraced(connection: sqlite3.Connection, *_: object) -> None:
        connection.set_trace_callback(None)

    listened: list[tuple[str, Any]] = [("checkout", traced), ("checkin", untraced)]
    for name, listen in listened:
        sa.event.listen(bank.storage._store.engine, name, listen)
    try:
        yield asked
    finally:
        for name, listen in listened:
            sa.event.remove(bank.storage._store.engine, name, listen)
