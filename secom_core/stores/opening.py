"""The store that a path or a URL names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..errors import InvalidInput
from .places import is_postgres, resolved
from .postgres import open_postgres, postgres_place
from .sql import SqlStore
from .sqlite import open_sqlite

_LONGEST_S: Final = 86_400


def open_store(
    where: str | Path = ":memory:", *, key: str | None = None, busy_timeout: float | None = None
) -> SqlStore:
    """Open or make a store.

    Args:
        where: a file for SQLite, ``":memory:"``, or a URL that begins with ``postgresql://``; what else looks like a
            URL is refused, and makes nothing (`secom_core.stores.places`).
        key: the passphrase of an encrypted SQLite file.
        busy_timeout: how many seconds a writer waits for another one; 60 for a file, and as long as the server says on
            PostgreSQL, unless given.

    Raises:
        StoreError: it cannot be opened, or is no store.
        SchemaTooNew: a later version of this package wrote it.
        MissingExtra: the URL's driver, or what a key needs, is not installed.
        InvalidInput: no place of a bank, somebody else's SQLite file, or a key for PostgreSQL, which encrypts its disk.
    """
    if not isinstance(where, (str, Path)) or not str(where):
        # Bytes and other objects may be a URL with a password in it.
        shown = (
            repr(where) if where is None or isinstance(where, (str, int)) else f"a value of type {type(where).__name__}"
        )
        raise InvalidInput(f"a bank is in a file, ':memory:' or postgresql://…, got {shown}")
    if busy_timeout is not None and not (isinstance(busy_timeout, (int, float)) and 0 <= busy_timeout <= _LONGEST_S):
        raise InvalidInput(f"busy_timeout is a number of seconds from 0 to {_LONGEST_S}, got {busy_timeout!r}")
    if not is_postgres(where):
        return open_sqlite(where, key=key, busy_timeout=busy_timeout)
    if key is not None:
        raise InvalidInput("a key encrypts a file, and this is a server; encrypt the disk that PostgreSQL writes to")
    return open_postgres(str(where), busy_timeout=busy_timeout)


def place_of(where: str | Path) -> str:
    """The `path` that the store of a file, or of a PostgreSQL database, has once it is open; nothing is opened.

    Raises:
        InvalidInput: no place of a bank.
    """
    return postgres_place(str(where)) if is_postgres(where) else str(resolved(where))
