"""The tables of the citation log."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, Text, UniqueConstraint

from ..stores.schema import Id, Verbatim, metadata

citations = Table(
    "citations",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("decision", Verbatim, nullable=False),
    Column("query", Verbatim),
    Column("shown", Text, nullable=False),
    Column("cited", Text, nullable=False),
    Column("at", Text, nullable=False),
    UniqueConstraint("scope_id", "decision"),
    sqlite_autoincrement=True,
)
"""What answers cited of what they were shown, as ids and numbers; and the question, until something is forgotten."""

citation_turns = Table(
    "citation_turns",
    metadata,
    Column("citation_id", ForeignKey("citations.id", ondelete="CASCADE"), primary_key=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("turn", BigInteger, primary_key=True),
    Index("citations_of_turn", "session_id", "turn"),
)
"""The turns that were shown; the entry goes with any of them."""
