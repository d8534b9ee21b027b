"""The tables, once for every database that SQLAlchemy Core speaks, and the numbered migrations that made them.

Raw turns live in ``messages`` and are never rewritten. All other tables but ``scopes`` and ``sessions`` are derived
from them and can be made again. A scope's ``revision`` counts every change; its ``epoch`` counts the changes after
which a reader has to load the scope afresh (a deletion, a rebuild).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import (
    DDL,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    event,
    func,
    insert,
    inspect,
    literal_column,
    select,
)
from sqlalchemy.types import TypeDecorator

from ..conversation import joined
from ..errors import SchemaTooNew

__all__ = [
    "VERSION",
    "Verbatim",
    "citation_turns",
    "citations",
    "dense_documents",
    "dense_sessions",
    "event_turns",
    "events",
    "is_one_of",
    "learned",
    "links",
    "memories",
    "messages",
    "metadata",
    "migrate",
    "reflections",
    "scopes",
    "sessions",
    "summaries",
    "topic_note_turns",
    "topic_notes",
    "topic_versions",
    "vectors",
]

_BY_KEY: Final = "ALTER TABLE scopes ADD CONSTRAINT scopes_by_key EXCLUDE USING hash (key WITH =)"
_ESCAPE: Final = "\ue000json:"


class Verbatim(TypeDecorator[str]):
    """Text that comes back as it went in, also where the database cannot hold it: NUL and lone surrogates.

    Such text is kept as JSON behind a private-use mark; all other text is kept as it is.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Escape what UTF-8 text columns refuse."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        value = joined(value)
        if "\0" in value or value.startswith(_ESCAPE) or any("\ud800" <= c <= "\udfff" for c in value):
            return _ESCAPE + json.dumps(value)
        return value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """Undo the escape."""
        if isinstance(value, str) and value.startswith(_ESCAPE):
            text: str = json.loads(value[len(_ESCAPE) :])
            return text
        return value


def _hashes(name: Column[str]) -> list[Any]:
    return [func.hashtextextended(name, literal_column(seed)) for seed in ("0", "1")]


def is_one_of(connection: Connection, name: Column[str], wanted: Sequence[str]) -> ColumnElement[bool]:
    """Whether the name of a session or message is one of ``wanted``, as the database's index finds it.

    A name may be of any length, and PostgreSQL indexes texts of up to 2,700 bytes: there the index is over hashes.
    """
    if connection.dialect.name != "postgresql":
        return name.in_(wanted)
    zero: ColumnElement[int] = literal_column("0")
    hashed = [func.hashtextextended(bindparam(None, each, type_=Verbatim), zero) for each in wanted]
    return and_(func.hashtextextended(name, zero).in_(hashed), name.in_(wanted))


metadata = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")

schema_versions = Table("schema_versions", metadata, Column("version", Integer, primary_key=True))

scopes = Table(
    "scopes",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("key", Text, nullable=False),
    Column("revision", BigInteger, nullable=False, default=0),
    Column("epoch", BigInteger, nullable=False, default=0),
    UniqueConstraint("key").ddl_if("sqlite"),
    sqlite_autoincrement=True,
)

# A key may be of any length, as a name may; here the index itself compares what has the same hash.
event.listen(
    scopes,
    "after_create",
    DDL(_BY_KEY).execute_if(dialect="postgresql"),  # type: ignore[no-untyped-call, unused-ignore]
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("name", Verbatim, nullable=False),
    Column("turns", BigInteger, nullable=False, default=0),
    Column("messages", BigInteger, nullable=False, default=0),
    Column("derived", BigInteger, nullable=False, default=0),
    Column("settled", BigInteger, nullable=False, default=0),
    Column("closed", Integer, nullable=False, default=0),
    Column("version", BigInteger, nullable=False, default=0),
    Column("revision", BigInteger, nullable=False, default=0),
    UniqueConstraint("scope_id", "name").ddl_if("sqlite"),
    Index("sessions_by_revision", "scope_id", "revision"),
    sqlite_autoincrement=True,
)
Index("sessions_by_name", sessions.c.scope_id, *_hashes(sessions.c.name), unique=True).ddl_if("postgresql")

messages = Table(
    "messages",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Verbatim, nullable=False),
    Column("role", Verbatim, nullable=False),
    Column("speaker", Verbatim),
    Column("text", Verbatim, nullable=False),
    Column("at", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("metadata", Text, nullable=False),
    UniqueConstraint("scope_id", "name").ddl_if("sqlite"),
    UniqueConstraint("session_id", "turn", "position"),
    sqlite_autoincrement=True,
)
Index("messages_by_name", messages.c.scope_id, *_hashes(messages.c.name), unique=True).ddl_if("postgresql")

memories = Table(
    "memories",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("stop", BigInteger, nullable=False),
    Column("key", Verbatim, nullable=False),
    Column("digest", Verbatim, nullable=False),
)

vectors = Table(
    "vectors",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("model", Verbatim, primary_key=True),
    Column("digest", Verbatim, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

learned = Table(
    "learned",
    metadata,
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), primary_key=True),
    Column("part", Text, primary_key=True),
    Column("turns", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
)
"""What a part has learned from a scope: numbers as JSON, never words."""

reflections = Table(
    "reflections",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("layer", Text, primary_key=True),
    Column("messages", BigInteger, nullable=False),
)
"""Up to how many messages of a session a layer (``"events"``, ``"summary"``) has taken in."""

events = Table(
    "events",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
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

summaries = Table(
    "summaries",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
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

citations = Table(
    "citations",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("decision", Verbatim, nullable=False),
    Column("query", Verbatim),
    Column("shown", Text, nullable=False),
    Column("cited", Text, nullable=False),
    Column("lesson", Verbatim, nullable=False),
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
    Column("cited", Integer, nullable=False),
    Index("citations_of_turn", "session_id", "turn"),
)
"""The turns that were shown; the entry goes with any of them."""

topic_notes = Table(
    "topic_notes",
    metadata,
    Column("id", _Id, primary_key=True, autoincrement=True),
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
    Column("id", _Id, primary_key=True, autoincrement=True),
    Column("scope_id", ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    Column("topic", BigInteger, nullable=False),
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


dense_documents = Table(
    "dense_documents",
    metadata,
    Column("store", Verbatim, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("session_id", _Id, nullable=False),
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
    Column("session_id", _Id, primary_key=True, autoincrement=False),
    Column("scope", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("settled", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Index("dense_sessions_of_scope", "store", "scope"),
)
"""How far a vector store has followed a session: the version that it holds."""


def _missing_tables(connection: Connection) -> None:
    metadata.create_all(connection)


_MIGRATIONS: Final[tuple[Callable[[Connection], None], ...]] = (_missing_tables,) * 4
VERSION: Final = len(_MIGRATIONS)
"""The schema's version; append a migration to raise it, never edit one."""


def migrate(connection: Connection) -> None:
    """Bring the database to `VERSION`, inside the caller's transaction.

    Raises:
        SchemaTooNew: when a later version of the package wrote it.
    """
    current = 0
    if inspect(connection).has_table("schema_versions"):
        current = connection.scalar(select(func.max(schema_versions.c.version))) or 0
    if current > VERSION:
        raise SchemaTooNew(f"the store has schema {current}, this package knows {VERSION}; upgrade secom-memory")
    for version, migration in enumerate(_MIGRATIONS[current:], start=current + 1):
        migration(connection)
        connection.execute(insert(schema_versions).values(version=version))
