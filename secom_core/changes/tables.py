"""The tables of what changed: which turns state something of what, and which statement took the place of which."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from ..stores.schema import Id, Verbatim, metadata

statement_heads = Table(
    "statement_heads",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("head", BigInteger, nullable=False),
    Index("statement_heads_by_head", "scope_id", "head", "id"),
    Index("statement_heads_of_session", "session_id", "turn"),
    sqlite_autoincrement=True,
)
"""The head words of what turns state, as numbers: never words."""


def _of_links(name: str, *more: str) -> Table:
    """A table of links; ``more`` are columns of words."""
    return Table(
        name,
        metadata,
        Column("id", Id, primary_key=True, autoincrement=True),
        Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
        Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        Column("turn", BigInteger, nullable=False),
        Column("place", Integer, nullable=False),
        Column("start", BigInteger, nullable=False),
        Column("stop", BigInteger, nullable=False),
        Column("older_session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        Column("older_turn", BigInteger, nullable=False),
        Column("older_place", Integer, nullable=False),
        Column("older_start", BigInteger, nullable=False),
        Column("older_stop", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        *(Column(each, Verbatim, nullable=False) for each in more),
        Index(f"{name}_of_session", "session_id", "turn"),
        Index(f"{name}_of_older", "older_session_id", "older_turn"),
        Index(f"{name}_of_scope", "scope_id"),
        sqlite_autoincrement=True,
    )


changes = _of_links("changes")
"""That a statement, the characters ``[start, stop)`` of a message, says what became of an older one."""

change_records = _of_links("change_records", "attribute", "old_value", "new_value", "valid_from", "valid_until")
"""The same as a language model says it, with words of the two messages; of a pair it counts before the rules."""
