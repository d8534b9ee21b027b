"""The tables that say what a vector store outside may hold."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from ..stores.schema import Id, Verbatim, metadata

dense_documents = Table(
    "dense_documents",
    metadata,
    Column("store", Verbatim, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("session_id", Id, nullable=False),
    Column("kind", Text, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("held", Integer, nullable=False),
    Index("dense_documents_of_session", "store", "session_id", "start"),
)
"""What may be in a vector store outside, noted before it goes there and until it is known to be gone: it outlives its
session, so that a deletion which a killed process had begun is ended. Ids and labels are hashes; there are no words."""

dense_sessions = Table(
    "dense_sessions",
    metadata,
    Column("store", Verbatim, primary_key=True),
    Column("session_id", Id, primary_key=True, autoincrement=False),
    Column("scope", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("settled", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Index("dense_sessions_of_scope", "store", "scope"),
)
"""How far a vector store has followed a session: the version that it holds."""
