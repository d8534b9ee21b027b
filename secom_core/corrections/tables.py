"""The table of marks by hand."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text

from ..stores.schema import ADDED, Id, Verbatim, metadata

turn_marks = Table(
    "turn_marks",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("newer", Verbatim),
    Column("at", Text, nullable=False),
    Column("place", Integer),
    Column("start", BigInteger),
    Column("stop", BigInteger),
    Index("turn_marks_of_scope", "scope_id"),
    Index("turn_marks_of_turn", "session_id", "turn"),
    sqlite_autoincrement=True,
    info={ADDED: 3},
)
"""What was said by hand of a turn, when, and the id of the turn that took its place. Nothing could make it again.

Where a part of the turn is meant, it is the characters ``[start, stop)`` of the message at a place."""
