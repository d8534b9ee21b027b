"""The files of SQLite that this process has open, which only SQLite may read.

Where a process closes a file, the system drops all locks that the process has on it, even if it has opened the file
once more, and only to look at its first bytes. SQLite does not notice: another process that closes the bank then takes
itself for the last one, and deletes the log that this process goes on writing to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from weakref import WeakSet

from ..errors import StoreError
from ..processes import ForkLock

_guard: Final = ForkLock()


class OpenFile:
    """Which file was opened under a path. SQLite would go on writing to one that is no longer there.

    Args:
        path: the file, resolved.
        is_encrypted: whether it is opened with a key.
    """

    def __init__(self, path: Path, *, is_encrypted: bool) -> None:
        self.path, self.is_encrypted = path, is_encrypted
        self.is_open = False
        self._opened: tuple[int, int] | None = None

    def connecting(self, *_: object) -> None:
        """A connection is about to be made: from now on, only SQLite reads the file.

        Raises:
            StoreError: it is no longer the file under its path.
        """
        self.check()
        with nothing_opens():
            self.is_open = True
            _files.add(self)

    def connected(self, *_: object) -> None:
        """The file that is there is the one."""
        self._opened = self._opened or _identity(self.path)

    def closed(self, *_: object) -> None:
        """All connections to it are closed."""
        self.is_open = False

    def check(self) -> None:
        """Raise `StoreError` where it is no longer the file under its path."""
        if self._opened is not None and _identity(self.path) != self._opened:
            raise StoreError(
                f"the bank's file {str(self.path)!r} was removed or replaced while it was open, and nothing more "
                f"is written; close the bank, put the file back, or, once {self.path.name}-wal and "
                f"{self.path.name}-shm are removed too, a backup of it, and open the bank again"
            )

    def is_at(self, file: Path) -> bool:
        """Whether a path leads to it, by whatever name."""
        return self.path == file.resolve() or (self._opened is not None and self._opened == _identity(file))


_files: Final[WeakSet[OpenFile]] = WeakSet()


@contextmanager
def nothing_opens() -> Iterator[None]:
    """In this block, no other thread opens a bank's file."""
    with _guard:
        yield


def is_open_encrypted(file: Path) -> bool | None:
    """Whether a bank's file that this process has open is encrypted; nothing where it has not opened the file."""
    return next((each.is_encrypted for each in _files if each.is_open and each.is_at(file)), None)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
