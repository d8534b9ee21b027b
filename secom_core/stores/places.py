"""What a bank's place may look like. What is neither a file nor PostgreSQL is refused before it makes a file.

Such a text is most often a URL with a password in it, so errors show its scheme at most.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from shutil import disk_usage
from typing import Final

from sqlalchemy import URL

from ..errors import InvalidInput, shorten
from ..text.patterns import regex

_LEAST_ROOM: Final = 2**20
_LONGEST_PATH: Final = 504  # bytes; SQLite opens no file of a longer one
# The disk is full; a quota is used up; a file may be no longer.
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_POSTGRES: Final = regex(r"\s*postgres(?:ql)?(?:\+\w+)?://", re.I)
_SCHEME: Final = regex(r"\s*(?P<name>[a-z][a-z0-9+.\-]+):", re.I)
_NO_FILE: Final = regex(
    # One slash is what a Path leaves of two. A drive is one letter.
    r"://|(?<![a-z0-9+.\-])[a-z][a-z0-9+.\-]+:[/\\]"
    # URLs without a slash, and what libpq and ODBC take in the place of one.
    r"|^\s*(?:file|sqlite|postgres(?:ql)?)(?:\+\w+)?:|(?:password|pwd)\s*=",
    re.I,
)


def is_postgres(where: object) -> bool:
    """Whether ``where`` is the URL of a PostgreSQL database, and not the path of a file.

    A scheme is in letters of either case. A driver in it (``postgresql+asyncpg://``) is passed over: a bank brings its
    own, which refuses parameters that it does not know.
    """
    return isinstance(where, str) and _POSTGRES.match(where) is not None


def file_at(where: str | Path) -> Path:
    """The file that is meant, ``~`` expanded.

    No URL is a file, ``sqlite:///x`` and ``file:x`` neither, nor a Path that was made of one; so no folder above the
    file may have a name that ends with a colon, but a drive.

    Raises:
        InvalidInput: it is a URL, or no file can have this name.
    """
    text = str(where)
    if (":" in text or "=" in text) and _NO_FILE.search(text):
        scheme = _SCHEME.match(text)
        what = f"a {scheme['name']}: URL" if scheme is not None else "a URL or a connection string"
        raise InvalidInput(
            f"{what} is not the name of a file; give a file such as 'memory.db', or for a bank on a server "
            "postgresql://user:password@host:5432/database, as text"
        )
    if "\0" in text:
        raise InvalidInput(f"the name of a file holds no NUL, got {shorten(text)}")
    try:
        return Path(where).expanduser()
    except RuntimeError as error:
        raise InvalidInput(
            f"{shorten(text)} begins with a user whom this machine does not know; give the full path"
        ) from error


def resolved(where: str | Path) -> Path:
    """The file that is meant, absolute, and links followed.

    Raises:
        InvalidInput: as `file_at`, and where links lead to each other.
    """
    file = file_at(where)
    says = f"{shorten(str(where))} is a link that leads back to itself; name another file"
    try:
        found = file.resolve()
    except RuntimeError as error:
        raise InvalidInput(says) from error
    # From Python 3.13 on, such a path is given back with the link in it.
    if any(map(os.path.islink, (found, *found.parents))):
        raise InvalidInput(says)
    return found


def has_room(file: str) -> bool:
    """Whether the disk of a file has a megabyte of room, also within the quota, as far as the system says so."""
    folder = Path(file).parent
    return disk_usage(folder).free >= _LEAST_ROOM and _may_take(folder, _LEAST_ROOM)


def is_out_of_files(file: str) -> bool:
    """Whether a file could not be opened as this process, or the system, has as many open as it may.

    Another thread may have closed some since. What may be read and written, and was not opened, lacked only that.
    """
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    folder_may, file_may = os.W_OK | os.X_OK, os.R_OK | os.W_OK
    is_short = len(os.fsencode(os.path.realpath(file))) <= _LONGEST_PATH
    is_file = os.name == "posix" and is_short and os.path.isfile(file) and os.access(Path(file).parent, folder_may)
    # SQLite opens the log and its index too; their names may be too long.
    return is_file and all(
        os.access(each, file_may) or _is_missing(each) for each in (file, f"{file}-wal", f"{file}-shm")
    )


def _is_missing(file: str) -> bool:
    try:
        os.stat(file)
    except OSError as error:
        return error.errno == errno.ENOENT
    return False


def _may_take(folder: Path, size: int) -> bool:
    """Whether a file in the folder could be so long: one without a name, which nobody sees, is made so for a moment.

    What a quota leaves is told by nothing else. Where there are no such files, or none may be made, it could.
    """
    if sys.platform != "linux":
        return True
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600)
    except OSError as error:
        return error.errno not in _NO_ROOM
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        return error.errno not in _NO_ROOM
    finally:
        os.close(file)
    return True


def shown_url(url: URL) -> str:
    """The URL of a database without the password."""
    return str(url._replace(password=None))
