"""The table of chats."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Table, Text, UniqueConstraint

from ..stores.schema import Id, Verbatim, metadata

chat_messages = Table(
    "chat_messages",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("turn", BigInteger),
    Column("name", Verbatim),
    Column("body", Text),
    UniqueConstraint("session_id", "place"),
    sqlite_autoincrement=True,
)
"""The messages of a session in order: the turn that each goes with, and is forgotten with; the name of the message that
is remembered of it; and what it is beside the words of that message, as JSON."""
