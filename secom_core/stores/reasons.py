"""Why a database failed, in its own words, without what people said."""

from __future__ import annotations

from typing import Any, Final

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
    return f"{reason}{_FEWER}" if is_crowded(original) else reason
