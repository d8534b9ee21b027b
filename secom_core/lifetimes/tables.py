"""The tables of lifetimes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table, UniqueConstraint

from ..stores.schema import Id, metadata

lifetimes = Table(
    "lifetimes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE")),
    Column("turn", BigInteger),
    Column("at_us", BigInteger, nullable=False),
    UniqueConstraint("session_id", "turn"),
    Index("lifetimes_of_scope", "scope_id", "at_us"),
    Index("lifetimes_by_end", "at_us"),
    sqlite_autoincrement=True,
)
"""When a turn ends, or without one a session, or without either a scope; microseconds since 1970, UTC."""

scope_caps = Table(
    "scope_caps",
    metadata,
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), primary_key=True),
    Column("turns", BigInteger),
    Column("bytes", BigInteger),
    Column("age_us", BigInteger),
    Column("checked", BigInteger, nullable=False),
    Column("next_us", BigInteger),
    Index("scope_caps_by_end", "next_us"),
)
"""How much a scope may hold; the revision at which it held no more, and when the oldest of it is too old."""
