"""The table of the running summary's versions."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Table

from ..stores.schema import Id, Verbatim, metadata

summaries = Table(
    "summaries",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("previous", ForeignKey("summaries.id", ondelete="CASCADE")),
    Column("text", Verbatim, nullable=False),
    Index("summaries_of_scope", "scope_id"),
    Index("summaries_of_session", "session_id"),
    Index("summaries_by_previous", "previous"),
    sqlite_autoincrement=True,
)
"""Versions of a scope's summary: each rests on its session and on the previous version, and goes with either."""
