"""The key of an encrypted file (SQLCipher): what opens with it, what an error means, and another key in its place.

No error, log or `repr` shows a key.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Engine

from ..errors import InvalidInput, MissingExtra, StoreError
from .open_files import is_open_encrypted, nothing_opens
from .places import is_out_of_files
from .reasons import CANNOT_OPEN, FULL, IO_ERROR, MALFORMED, READ_ONLY, reason_of

_PLAIN: Final = b"SQLite format 3\0"
_LOOKED_AT: Final = 200  # bytes
_HELP: Final = {
    FULL: "make room on its disk, and try again; what is stored is still there",
    READ_ONLY: (
        "give yourself the right to write to the file, to those beside it and to its folder, or copy it to a folder "
        "that you can write to"
    ),
    IO_ERROR: (
        "see that there is room on its disk, also within your quota, and look for errors of the disk; what is stored "
        "is still there"
    ),
}
"""What helps where SQLite says that it cannot write."""


class Cipher:
    """How connections to one SQLite file are opened: by SQLCipher with a key, or by SQLite without one.

    Args:
        key: the passphrase; nothing where the file is not encrypted.

    Raises:
        InvalidInput: no passphrase can look like this.
        MissingExtra: SQLCipher is not installed.
    """

    __slots__ = ("_key", "driver")

    def __init__(self, key: str | None = None) -> None:
        if key is not None:
            check_key(key)
        self._key, self.driver = key, _driver(key)

    @property
    def is_on(self) -> bool:
        """Whether there is a key."""
        return self._key is not None

    def check(self, file: Path) -> None:
        """Refuse a file that is plain where there is a key, or not plain where there is none; it is only read.

        Raises:
            StoreError: with what to do.
        """
        plain = is_plain(file)
        if plain is True and self.is_on:
            raise StoreError(
                f"the store at {file} is not encrypted, and a key was given; open it without one. To encrypt what is "
                "in it, move it into another file that is opened with a key (bank.storage.move_to, `secom move`)"
            )
        if plain is False and not self.is_on and is_text(file):
            raise StoreError(
                f"{file} holds text and is no bank; name another file, which is created if it does not exist. To "
                "remember the text of this one, run `secom remember`"
            )
        if plain is False and not self.is_on:
            raise StoreError(
                f"the store at {file} is encrypted, and no key was given, or it is no file of SQLite; open it with its "
                "key (MemoryBank.open(path, key=…)). If it never had one, it is damaged; run `secom export --damaged`"
            )

    def unlock(self, connection: Any) -> None:
        """Give a new connection the key, which is the first statement of it."""
        if self._key is not None:
            # SQLCipher writes to standard error, in terms of pages, what is raised in any case.
            connection.execute("PRAGMA cipher_log_level = NONE")
            connection.execute(f"PRAGMA key = {_quoted(self._key)}")

    def connect(self, file: Path) -> Any:
        """A connection by itself, unlocked; the file is made, and encrypted, where it is not there or empty."""
        connection = self.driver.connect(str(file), isolation_level=None)
        self.unlock(connection)
        return connection

    def reason(self, error: Exception, file: str | None = None) -> str:
        """What an error says of the store, after its name; ``file``: where it is."""
        reason = reason_of(error)
        if CANNOT_OPEN in reason and file is not None and is_out_of_files(file):
            return (
                "cannot be opened, as this process, or the system, has as many files and connections open as it may; "
                "close some, or allow more (ulimit -n)"
            )
        if CANNOT_OPEN in reason:
            return (
                "cannot be opened; give yourself the right to read and write it and its folder, or name a file in a "
                "folder that you can write to, by a shorter path if this one is long"
            )
        if MALFORMED in reason:
            return self.damaged(reason)
        if "file is not a database" not in reason:
            return "; ".join([f"failed: {reason}", *(help for said, help in _HELP.items() if said in reason)])
        if self.is_on:
            return (
                "does not open with this key: it has another one, was given a new one since (rekey), or its first page "
                "is damaged. Nothing was written; open the bank again with the right key"
            )
        return (
            "is no database, or its first page is damaged, and nothing was written; name another file, put a backup in "
            "its place, or save what it still holds with `secom export --damaged`"
        )

    def damaged(self, reason: object) -> str:
        """What is to be done where pages of the file are not as they were written, after its name."""
        # Pages are salvaged without a key only.
        saved = (
            "export each scope that still opens" if self.is_on else "save what it still holds (secom export --damaged)"
        )
        return (
            f"is damaged ({reason}); {saved}, or put its latest backup in its place, once the file's -wal and -shm, "
            "which do not suit a backup, are removed too"
        )

    def rekey(self, engine: Engine, key: str, *, wait: float) -> None:
        """Encrypt every page with another key, in one transaction: whoever is killed has the old or the new one.

        Args:
            engine: that of an encrypted file; its connections open with the new key from now on.
            key: the new passphrase.
            wait: how many seconds to wait for others who write or read.

        Raises:
            InvalidInput: no passphrase can look like this.
            StoreError: the file could not be written; it has the old key.
        """
        check_key(key)
        # A connection that failed at this would go on with half of a new key, so it serves nothing else.
        with closing(engine.raw_connection()) as pooled:
            connection: Any = pooled.driver_connection
            pooled.detach()
            try:
                connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
                connection.execute(f"PRAGMA rekey = {_quoted(key)}")
            except self.driver.Error as error:
                # What it says is of any failure, and a lock that others hold is the most likely.
                raise _not_changed(engine) from error
        # Where the disk is full, SQLCipher says that all is well.
        if not Cipher(key)._opens(Path(str(engine.url.database))):
            raise _not_changed(engine)
        self._key = key
        engine.dispose()

    def _opens(self, file: Path) -> bool:
        with closing(self.connect(file)) as connection, suppress(self.driver.Error):
            return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchall())
        return False

    def damages(self, connection: Any) -> list[str]:
        """What is wrong with the pages of the file; nothing where all are whole.

        Args:
            connection: the driver's own. Of an encrypted file, each page is also checked by its own code; what is in
                the write-ahead log only is not looked at by that.
        """
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        except self.driver.DatabaseError as error:
            # SQLite goes no further than the first page that is none, says neither where it is nor what is whole, and
            # lets nothing but an end follow in this transaction.
            connection.rollback()
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            found = [flaw for [name] in tables if (flaw := self._damage_of(connection, name))] or [str(error)]
        of_pages = [row[0] for row in connection.execute("PRAGMA cipher_integrity_check")] if self.is_on else []
        return [*of_pages, *(line for line in found if line != "ok")]

    def _damage_of(self, connection: Any, table: str) -> str:
        try:
            connection.execute("SELECT * FROM pragma_integrity_check(?)", (table,)).fetchall()
        except self.driver.DatabaseError as error:
            return f"the table {table}: {error}"
        return ""


def check_key(key: object) -> None:
    """Refuse what is no passphrase, without showing it.

    Raises:
        InvalidInput: it is empty, holds a NUL or half a character, or is no text.
    """
    if not isinstance(key, str) or not key or "\0" in key:
        raise InvalidInput("a key is a string that is not empty and holds no NUL")
    try:
        key.encode()
    except UnicodeEncodeError:
        # The cause would show the key.
        raise InvalidInput("a key is a string of whole characters, and this one holds half of a pair") from None


def is_plain(file: Path) -> bool | None:
    """Whether the file begins as SQLite's do that are not encrypted; nothing where there is none, or nothing in it."""
    with nothing_opens(), suppress(OSError):
        encrypted = is_open_encrypted(file)
        if encrypted is not None:
            return not encrypted
        begin = _begin_of(file, len(_PLAIN))
        return begin == _PLAIN if begin else None
    return None


def is_text(file: Path) -> bool:
    """Whether the file begins with words; an encrypted one begins with chance."""
    with nothing_opens():
        begin = b"\0" if is_open_encrypted(file) is not None else _begin_of(file, _LOOKED_AT)
    # The last character may be cut off.
    words = begin.decode(errors="ignore")
    return len(words.encode()) > len(begin) - 4 and all(each.isprintable() or each.isspace() for each in words)


def _begin_of(file: Path, length: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(length)


def _driver(key: str | None) -> ModuleType:
    if key is None:
        return sqlite3
    try:
        from sqlcipher3 import dbapi2
    except ImportError as error:
        raise MissingExtra("an encrypted store", "encrypted") from error
    driver: ModuleType = dbapi2
    return driver


def _quoted(key: str) -> str:
    """The key in a statement: these take no parameters."""
    return "'" + key.replace("'", "''") + "'"


def _not_changed(engine: Engine) -> StoreError:
    return StoreError(
        f"the key of the store at {engine.url} was not changed: somebody else was writing to it, or the disk is full; "
        "try again"
    )
