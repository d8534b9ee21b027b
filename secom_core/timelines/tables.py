"""The tables of events and links."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from ..stores.schema import Id, Verbatim, metadata

events = Table(
    "events",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", Verbatim, nullable=False),
    Column("at", Text, nullable=False),
    UniqueConstraint("session_id", "position"),
    Index("events_of_scope", "scope_id"),
    sqlite_autoincrement=True,
)

event_turns = Table(
    "event_turns",
    metadata,
    Column("event_id", ForeignKey("events.id", ondelete="CASCADE"), primary_key=True),
    Column("turn", BigInteger, primary_key=True),
)
"""The turns of its session that an event rests on."""

links = Table(
    "links",
    metadata,
    Column("earlier", ForeignKey("events.id", ondelete="CASCADE"), primary_key=True),
    Column("later", ForeignKey("events.id", ondelete="CASCADE"), primary_key=True),
    Column("relation", Text, nullable=False),
    Index("links_by_later", "later"),
)
