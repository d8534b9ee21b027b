"""The default store: one SQLite file, WAL, every commit on disk before it is acknowledged."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from .sql import SqlStore

__all__ = ["open_sqlite"]

_BUSY_MS: Final = 60_000


def open_sqlite(path: str | Path = ":memory:") -> SqlStore:
    """Open or make the store in one file.

    Args:
        path: the file, made if it is not there, its folder too; ``":memory:"`` keeps nothing.

    Raises:
        StoreError: the file cannot be opened, or is no SQLite file.
        SchemaTooNew: a later version of this package wrote it.
    """
    in_memory = str(path) == ":memory:"
    if in_memory:
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False, "isolation_level": None}
        )
    else:
        file = Path(path).expanduser().resolve()
        file.parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(
            URL.create("sqlite", database=str(file)),
            connect_args={"timeout": _BUSY_MS / 1000, "check_same_thread": False, "isolation_level": None},
        )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return SqlStore(engine, exclusive=in_memory)


def _configure(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    # secure_delete: forgotten words are overwritten in the file, not only unlinked.
    for pragma in (
        f"busy_timeout={_BUSY_MS}",
        "journal_mode=WAL",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("secom_write", True):
        connection.exec_driver_sql("BEGIN")
        return
    # FULL: a turn that was acknowledged survives a power cut. What is derived can be made again, and waits for the
    # next turn's sync.
    durable = options.get("secom_durable", True)
    connection.exec_driver_sql("PRAGMA synchronous=FULL" if durable else "PRAGMA synchronous=NORMAL")
    # A transaction that starts by reading and then writes can fail at once when another process writes; one that
    # takes the write lock at the start waits its turn.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
