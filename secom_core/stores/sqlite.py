"""The default store: one SQLite file, WAL, every commit on disk before it is acknowledged.

With a key the file is encrypted by SQLCipher, as are its journal files. Without one, encrypt the disk.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.pool import StaticPool

from ..errors import InvalidInput, SecomError, StoreError, shorten
from .cipher import Cipher
from .log_syncing import CAN_SYNC
from .open_files import OpenFile
from .places import resolved
from .sql import SqlStore
from .transactions import Asked, wait_at_most

_CACHE_KIB: Final = 4000
BUSY_TIMEOUT_S: Final = 60.0
"""How many seconds a writer waits for another one."""
_SYNCED: Final = "secom_synced"
"""Where a connection notes how its commits are synced."""
_LOGGED: Final = "secom_logged"
"""Where a connection notes that what is committed is in a log, which can be put on disk afterwards."""
_UNENFORCED: Final = "secom_unenforced"
"""Where a connection notes that foreign keys are not enforced in it."""
_OWN_TABLES: Final = frozenset({"schema_versions", "scopes"})
"""Tables of every bank of every schema, which no other program is likely to have both of."""


def open_sqlite(
    path: str | Path = ":memory:", *, key: str | None = None, busy_timeout: float | None = None
) -> SqlStore:
    """Open or make the store in one file.

    Args:
        path: the file, made if it is not there, its folder too; ``":memory:"`` keeps nothing.
        key: the passphrase of an encrypted file; needs the extra ``encrypted``. It is not kept anywhere.
        busy_timeout: how many seconds a writer waits for another one; 60 unless given.

    Raises:
        InvalidInput: the path is that of a folder, or a URL, or the file is another program's database.
        StoreError: the file cannot be opened, or is no SQLite file, or has another key, or one where none was given, or
            none where one was.
        SchemaTooNew: a later version of this package wrote it.
        MissingExtra: a key was given, and SQLCipher is not installed.
    """
    cipher = Cipher(key)
    file = None if str(path) == ":memory:" else _place(path, cipher)
    wait = BUSY_TIMEOUT_S if busy_timeout is None else busy_timeout
    # A file: however many threads read at once, none waits for a connection.
    pool: dict[str, Any] = (
        {"poolclass": StaticPool}
        if file is None
        else {
            "pool_size": 16,
            "max_overflow": -1,
            # The connection that was used last has its pages and statements at hand.
            "pool_use_lifo": True,
        }
    )
    engine = create_engine(
        URL.create("sqlite", database=str(file) if file is not None else None),
        module=cipher.driver,
        connect_args={"timeout": wait, "check_same_thread": False, "isolation_level": None},
        # Errors name the statement; what somebody said in confidence is none of a log's business.
        hide_parameters=True,
        **pool,
    )
    event.listen(engine, "connect", partial(_configure, file=file, cipher=cipher, wait=wait))
    event.listen(engine, "checkin", _enforce_references)
    watched = _watched(engine, OpenFile(file, is_encrypted=cipher.is_on)) if file is not None else None
    try:
        return SqlStore(engine, partial(_begin, watched), cipher, wait)
    except SecomError:
        engine.dispose()
        raise


def _place(path: str | Path, cipher: Cipher) -> Path:
    """Where the file is, or is to be; its folder is made."""
    try:
        file = resolved(path)
        if file.is_dir():
            raise InvalidInput(f"a bank is one file, and {str(path)!r} is a folder; name a file in it")
        if file.exists() and not file.is_file():
            raise InvalidInput(f"a bank is one file, and {str(path)!r} is a device or a pipe; name another file")
        cipher.check(file)
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the bank at {shorten(str(path))} cannot be opened: {error.strerror}: {shorten(error.filename)}; name a "
            "file in a folder that you can write to"
        ) from error
    return file


def _watched(engine: Engine, file: OpenFile) -> OpenFile:
    """The file that is opened under a path; no other one is made there."""
    event.listen(engine, "do_connect", file.connecting)
    event.listen(engine, "connect", file.connected)
    event.listen(engine, "engine_disposed", file.closed)
    return file


def _configure(connection: Any, record: Any, *, file: Path | None, cipher: Cipher, wait: float) -> None:
    cipher.unlock(connection)
    # A word that is none makes its row unsound, and not its table.
    connection.text_factory = _text
    cursor = connection.cursor()
    # The log that is turned on below is written into the file.
    if _is_foreign(cursor):
        connection.close()
        raise InvalidInput(
            f"{str(file)!r} holds the tables of another program; name another file, which is created if it does not "
            "exist"
        )
    # secure_delete: forgotten words are overwritten in the file, not only unlinked.
    # cache_size: a search index of some megabytes is read from its pages three times as fast as under the usual 2 MB.
    for pragma in ("foreign_keys=ON", "secure_delete=ON", f"cache_size=-{_CACHE_KIB}"):
        cursor.execute(f"PRAGMA {pragma}")
    record.info[_LOGGED] = _keep_write_ahead_log(cursor, wait) and CAN_SYNC
    cursor.close()


def _text(raw: bytes) -> str | bytes:
    """Text of the file, or the bytes as they are where they are none."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _is_foreign(cursor: Any) -> bool:
    """Whether there is something in the database, and none of it a bank's; only read."""
    names = {row[0] for row in cursor.execute("SELECT name FROM sqlite_master")}
    return bool(names) and not names >= _OWN_TABLES


def holds_bank(file: Path, *, or_nothing: bool = False) -> bool:
    """Whether a plain file is a bank's, of any schema; it is only read.

    Args:
        file: the file.
        or_nothing: also where it has no tables yet, as where the disk was full when the bank was made.

    Raises:
        StoreError: it cannot be read; with what to do.
    """
    where = f"file:{quote(os.fsencode(file.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(where, uri=True, timeout=BUSY_TIMEOUT_S)) as connection:
            names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            return names >= _OWN_TABLES or (or_nothing and not names)
    except sqlite3.Error as error:
        raise StoreError(f"the store at {file} {Cipher().reason(error, str(file))}") from error


def _keep_write_ahead_log(cursor: Any, wait: float) -> bool:
    """Turn WAL on, for which the busy timeout does not count: of two that do so at once SQLite refuses one.

    Returns:
        Whether it is on, as it is not where the file is in memory or in a file system without shared memory.
    """
    until = time.monotonic() + wait
    while True:
        try:
            [mode] = cursor.execute("PRAGMA journal_mode=WAL").fetchone()
        except Exception as error:
            # SQLCipher's errors are of classes of its own.
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        else:
            return bool(mode == "wal")
        time.sleep(random.uniform(0, 0.02))


def _begin(file: OpenFile | None, connection: Connection, asked: Asked) -> None:
    driver: Any = connection.connection.driver_connection
    info = connection.info
    wait_at_most(driver, info, BUSY_TIMEOUT_S if asked.wait is None else asked.wait)
    if not asked.write:
        driver.execute("BEGIN")
        return
    if file is not None:
        # Nothing is written to a file that is not there.
        file.check()
    # A turn that was acknowledged survives a power cut: `Database.transaction` syncs the log once the next writer has
    # its turn, or SQLite does, at the commit. What is derived can be made again, and waits for the next turn's sync.
    synced = "FULL" if asked.durable and not info.get(_LOGGED) else "NORMAL"
    if info.get(_SYNCED) != synced:
        driver.execute(f"PRAGMA synchronous={synced}")
        info[_SYNCED] = synced
    if asked.migrating:
        # A table that is made anew is dropped, and the rows that name its rows would go with it. Inside a transaction
        # this has no effect.
        driver.execute("PRAGMA foreign_keys=OFF")
        info[_UNENFORCED] = True
    # A transaction that starts by reading and then writes can fail at once when another process writes; one that
    # takes the write lock at the start waits its turn.
    driver.execute("BEGIN IMMEDIATE")


def _enforce_references(connection: Any | None, record: Any) -> None:
    """Enforce foreign keys for whoever gets the connection next, however its last transaction ended."""
    if connection is not None and record.info.pop(_UNENFORCED, False):
        connection.execute("PRAGMA foreign_keys=ON")
