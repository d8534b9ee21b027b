"""A copy of a bank's SQLite file while it is in use."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, StoreError
from ..stores.places import file_at
from ..stores.sql import SqlStore
from .replacing import replacing


def back_up(store: SqlStore, path: str | Path) -> Path:
    """Copy a bank in SQLite to a file as it is at one moment, while others go on writing.

    Args:
        store: the bank's store.
        path: the file; one that is there is replaced, once the copy is whole.

    Returns:
        The file, absolute.

    Raises:
        InvalidInput: the bank is not in SQLite, or ``path`` is its own file, or a URL.
        StoreError: the copy could not be made, or is damaged, as the bank is then too; or a log lies beside ``path``.
    """
    target = file_at(path).resolve()
    if store.engine.dialect.name != "sqlite":
        raise InvalidInput(f"the bank at {store.path} is a database of PostgreSQL; back it up with pg_dump")
    if store.path is not None and target == Path(store.path):
        raise InvalidInput(f"a backup cannot replace the bank itself: {str(target)!r}")
    if target.is_dir():
        raise InvalidInput(f"a backup is one file, and {str(path)!r} is a folder; name a file in it")
    _check_is_closed(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with replacing(target) as copy:
            _copy_file(store, copy)
    except store.cipher.driver.Error as error:
        raise StoreError(f"the store at {store.path} cannot be copied to {str(target)!r}: {error}") from error
    return target


def _check_is_closed(target: Path) -> None:
    """Refuse a file with a log beside it, which SQLite would write over the copy when that is opened."""
    for suffix in ("-wal", "-journal"):
        log = target.with_name(target.name + suffix)
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{str(target)!r} is a database that is in use, or that a program left when it was killed, as "
                f"{log.name!r} beside it shows; name another file, or remove both"
            )


def _copy_file(store: SqlStore, path: Path) -> None:
    # A copy of an encrypted file has its key.
    with closing(store.cipher.connect(path)) as copy:
        with store.transaction(write=False) as connection:
            source: Any = connection.connection.driver_connection
            # In one step: a copy in several begins again whenever another process writes.
            source.backup(copy, pages=-1)
        found = [row[0] for row in copy.execute("PRAGMA quick_check")]
        # The copy stands alone, without a log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
    if found != ["ok"]:
        raise StoreError(f"the store at {store.path} is damaged, and so is a copy of it: {found[0]}")
    with path.open("rb") as file:
        os.fsync(file.fileno())
