"""The store that a path or a URL names."""

from __future__ import annotations

from pathlib import Path

from .postgres import is_postgres, open_postgres
from .sql import SqlStore
from .sqlite import open_sqlite

__all__ = ["open_store"]


def open_store(where: str | Path = ":memory:") -> SqlStore:
    """Open or make a store.

    Args:
        where: a file for SQLite, ``":memory:"``, or a URL that begins with ``postgresql://``.

    Raises:
        StoreError: it cannot be opened, or is no store.
        SchemaTooNew: a later version of this package wrote it.
        MissingExtra: the URL's driver is not installed.
    """
    return open_postgres(str(where)) if is_postgres(where) else open_sqlite(where)
