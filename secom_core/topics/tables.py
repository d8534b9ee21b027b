"""The tables of topics: notes on a session, and the versions of topics made of them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from ..stores.schema import NAMES_ROW, Id, Verbatim, metadata

topic_notes = Table(
    "topic_notes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("speaker", Verbatim, nullable=False),
    Column("text", Verbatim, nullable=False),
    Index("topic_notes_of_session", "session_id"),
    sqlite_autoincrement=True,
)
"""What one session says about one speaker, before it is added to the topics or merged into one."""

topic_note_turns = Table(
    "topic_note_turns",
    metadata,
    Column("note_id", ForeignKey("topic_notes.id", ondelete="CASCADE"), primary_key=True),
    Column("turn", BigInteger, primary_key=True),
)
"""The turns of its session that a note rests on."""

topic_versions = Table(
    "topic_versions",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("topic", BigInteger, nullable=False, info={NAMES_ROW: True}),
    Column("note_id", ForeignKey("topic_notes.id"), nullable=False),
    Column("previous", ForeignKey("topic_versions.id"), unique=True),
    Column("text", Verbatim, nullable=False),
    Index("topic_versions_of_scope", "scope_id", "id"),
    Index("topic_versions_of_topic", "topic", "id"),
    Index("topic_versions_of_note", "note_id"),
    sqlite_autoincrement=True,
)
"""Versions of topics: each rests on a note and on the previous version, and ``topic`` is the id of the first.

Nothing cascades from a version to those made from it: chains grow longer than SQLite lets cascades go. They are
deleted from their ends, and a deletion that forgets one fails.
"""
