"""Why a database failed, in its own words, without what people said."""

from __future__ import annotations

from typing import Any, Final

_DATA_EXCEPTION: Final = "22"
"""How the codes of PostgreSQL's errors begin that quote the value that they are about, behind a colon."""


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
    return reason
