"""A copy of a bank's SQLite file while it is in use."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, StoreError
from ..stores.cipher import is_plain, is_text
from ..stores.places import resolved
from ..stores.sql import SqlStore
from ..stores.sqlite import holds_bank
from .replacing import replacing


def back_up(store: SqlStore, path: str | Path) -> Path:
    """Copy a bank in SQLite to a file as it is at one moment, while others go on writing.

    Args:
        store: the bank's store.
        path: the file; one that is there is replaced, once the copy is whole.

    Returns:
        The file, absolute.

    Raises:
        InvalidInput: the bank is not in SQLite, or ``path`` is its own file, or a URL, or a file that is no backup.
        StoreError: the copy could not be made, or is damaged, as the bank is then too; or a log lies beside ``path``,
            or the file there cannot be read.
    """
    target = resolved(path)
    if store.engine.dialect.name != "sqlite":
        raise InvalidInput(f"the bank at {store.path} is a database of PostgreSQL; back it up with pg_dump")
    if store.path is not None and target == Path(store.path):
        raise InvalidInput(f"a backup cannot replace the bank itself: {str(target)!r}")
    try:
        _check_is_file(target)
        _check_is_earlier(store, target)
        _check_is_closed(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as copy:
            _copy_file(store, copy, target)
    except store.cipher.driver.Error as error:
        raise _not_copied(store, target, error) from error
    except OSError as error:
        raise _not_copied(store, target, error.strerror) from error
    return target


def _check_is_file(target: Path) -> None:
    if target.is_dir():
        raise InvalidInput(f"a backup is one file, and {str(target)!r} is a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise InvalidInput(f"a backup is one file, and {str(target)!r} is a device or a pipe; name another file")


def _check_is_earlier(store: SqlStore, target: Path) -> None:
    """Refuse to replace what cannot be an earlier copy: no bank, or an encrypted one where this one never was.

    The key of an encrypted copy may be an older one, so any encrypted file may be one where the bank is encrypted.
    """
    plain = is_plain(target)
    if plain is None or (holds_bank(target) if plain else store.cipher.is_on and not is_text(target)):
        return
    raise InvalidInput(
        f"{str(target)!r} is no earlier backup of this bank, and would be lost: it is no bank, or is encrypted where "
        "this one is not; name another file, or remove it"
    )


def _not_copied(store: SqlStore, target: Path, error: object) -> StoreError:
    if "malformed" in str(error):
        return StoreError(f"the store at {store.path} {store.cipher.damaged(error)}")
    return StoreError(
        f"the store at {store.path} cannot be copied to {str(target)!r}: {error}; see that there is room in that "
        "folder, and that you can write to it"
    )


def _check_is_closed(target: Path) -> None:
    """Refuse a file with a log beside it, which SQLite would write over the copy when that is opened."""
    for suffix in ("-wal", "-journal"):
        log = target.with_name(target.name + suffix)
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{str(target)!r} is a database that is in use, or that a program left when it was killed, as "
                f"{log.name!r} beside it shows; name another file, or remove both"
            )


def _copy_file(store: SqlStore, path: Path, target: Path) -> None:
    # A copy of an encrypted file has its key.
    with closing(store.cipher.connect(path)) as copy:
        with store.transaction(write=False) as connection:
            source: Any = connection.connection.driver_connection
            # In one step: a copy in several begins again whenever another process writes.
            try:
                source.backup(copy, pages=-1)
            except store.cipher.driver.Error as error:
                # The transaction would say that the bank failed.
                raise _not_copied(store, target, error) from error
        found = [row[0] for row in copy.execute("PRAGMA quick_check")]
        # The copy stands alone, without a log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
    if found != ["ok"]:
        # Of the first part of the file the name stands before what is wrong in it.
        reason = found[0].removeprefix("*** in database main ***\n").partition("\n")[0]
        raise StoreError(f"the store at {store.path} {store.cipher.damaged(reason)}")
    # To be written to: Windows syncs no other.
    with path.open("r+b") as file:
        os.fsync(file.fileno())
