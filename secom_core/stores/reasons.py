"""Why a database failed, in its own words, without what people said."""

from __future__ import annotations

from typing import Any, Final

from ..errors import StoreError, StoreUnwritable
from .places import is_out_of_files

_DATA_EXCEPTION: Final = "22"
"""How the codes of PostgreSQL's errors begin that quote the value that they are about, behind a colon."""
# There is no code for it where no connection is made. max_connections; those kept for the owner; limits of a role or a
# database; PgBouncer.
_CROWDED: Final = (
    "too many clients already",
    "remaining connection slots are reserved",
    "too many connections for",
    "no more connections allowed",
)
_FEWER: Final = (
    "; give each process fewer connections (MemoryBank(open_postgres(url, pool_size=2))), or the server more "
    "(max_connections)"
)


# PostgreSQL: a lock that was not to be had in the time that the server gives, a serialization failure, a deadlock.
LOCK_TIMEOUT: Final = "55P03"
_IN_THE_WAY: Final = frozenset({"40001", "40P01", LOCK_TIMEOUT})
# The server ends a connection because somebody wants it to, because it crashed or starts again, or because the client
# said nothing for longer than it allows.
_ENDS: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})
_CONNECTION: Final = "08"
"""How the codes begin by which a pooler, such as PgBouncer, says that its connection to the server is lost."""
_ENDED_TWICE: Final = "results from command"
"""What psycopg says instead where a pooler hands on the server's last words, and then says so itself."""


# PostgreSQL: the disk is full; a server, or a role, that only reads.
_NO_ROOM: Final = frozenset({"53100", "25006"})
# PostgreSQL: the role has no right to it; a statement, or a transaction, took longer than the server allows.
_FORBIDDEN: Final = "42501"
_TOO_LONG: Final = frozenset({"57014", "25P04"})
_SLOW: Final = (
    "; try again, end what holds it up, or have the server allow more time (statement_timeout, transaction_timeout)"
)
_HELP: Final = {
    _FORBIDDEN: (
        "; grant the role CREATE and USAGE on the schema, or, where another role has made the tables, USAGE on the "
        "schema and its sequences and SELECT, INSERT, UPDATE and DELETE on its tables"
    ),
    "3F000": "; name a schema that is there and that the role may use (ALTER ROLE … SET search_path)",
    **dict.fromkeys(_TOO_LONG, _SLOW),
}
"""What helps, by PostgreSQL's codes."""
# SQLite, of whose errors the driver for encrypted files gives no code. The last is also of a quota that is used up.
FULL: Final = "database or disk is full"
CANNOT_OPEN: Final = "unable to open database file"
READ_ONLY: Final = "readonly database"
IO_ERROR: Final = "disk I/O error"
_UNWRITABLE: Final = (FULL, READ_ONLY, IO_ERROR)
MALFORMED: Final = "disk image is malformed"


class ConnectionLost(StoreError):
    """The server cannot be reached; whether something was written is unknown where that was being confirmed."""


class Contended(StoreError):
    """Another writer was in the way; nothing was written, and the same again may well succeed."""


class Damaged(StoreError):
    """Pages of SQLite's file are not as they were written; what stands on others can be read."""


class _LostMeanwhile(ConnectionLost, Contended):
    """The connection was lost before anything was written."""


def kind_of(
    error: Exception, operational: type[Exception] | None, is_sure: bool, is_write: bool, file: str | None = None
) -> type[StoreError]:
    """What kind of an error of ours one of the driver's is.

    Args:
        error: the driver's.
        operational: the driver's class of what goes wrong with a server; nothing where there is none.
        is_sure: whether nothing was written, also if the connection was lost.
        is_write: whether anything was to be written.
        file: where it is; not looked at where there is a server, and nothing where it is in memory.
    """
    state = getattr(error, "sqlstate", None)
    if is_ended(error) or (operational is not None and isinstance(error, operational) and state is None):
        return _LostMeanwhile if is_sure else ConnectionLost
    if state in _IN_THE_WAY:
        return Contended
    if operational is None and MALFORMED in str(error):
        return Damaged
    is_unwritable = (
        state in _NO_ROOM
        or (is_write and state in (_FORBIDDEN, *_TOO_LONG))
        or (operational is None and any(said in str(error) for said in _UNWRITABLE))
        or (operational is None and file is not None and CANNOT_OPEN in str(error) and is_out_of_files(file))
    )
    return StoreUnwritable if is_unwritable else StoreError


def is_ended(error: BaseException) -> bool:
    """Whether the server, or a pooler, says that the connection ends, which the driver may not have noticed yet."""
    state = getattr(error, "sqlstate", None) or ""
    return state in _ENDS or state.startswith(_CONNECTION) or _ENDED_TWICE in str(error)


def took_too_long(error: BaseException) -> bool:
    """Whether the server gave up a statement or a transaction, which may have ended its connection too."""
    return getattr(error, "sqlstate", None) in _TOO_LONG


def is_crowded(error: Exception) -> bool:
    """Whether the server takes no more connections for now, as far as an error says so in English."""
    said = str(getattr(error, "orig", None) or error)
    return any(words in said for words in _CROWDED)


def reason_of(error: Exception) -> str:
    """What was wrong, in one line: neither the statement nor its parameters, nor the row that PostgreSQL adds.

    PostgreSQL's errors are reduced to it, as a traceback prints those that were the cause.

    Args:
        error: the driver's, or SQLAlchemy's around it.
    """
    original: Any = getattr(error, "orig", None) or error
    primary = getattr(getattr(original, "diag", None), "message_primary", None)
    # Of SQLAlchemy's own errors the first argument is the message; what they print has the statement too.
    said = str(primary or (original.args[0] if original.args else type(original).__name__))
    state = getattr(original, "sqlstate", None) or ""
    reason = " ".join((said.partition(': "')[0] if state.startswith(_DATA_EXCEPTION) else said).split())
    if primary is not None:
        error.args = original.args = (reason,)
    return f"{reason}{_FEWER if is_crowded(original) else _HELP.get(state, '')}"
