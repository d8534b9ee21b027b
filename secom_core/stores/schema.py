"""The tables of turns and of what every bank derives from them, once for every database that SQLAlchemy Core speaks.

Raw turns live in ``messages`` and are never rewritten. All other tables but ``scopes``, ``sessions`` and the chats of
frameworks are derived from them and can be made again; each layer brings its own (`secom_core.layers`). A scope's
``revision`` counts every change; its ``epoch`` counts the changes after which a reader has to load the scope afresh (a
deletion, a rebuild).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from ..conversation import joined

_BY_KEY: Final = "ALTER TABLE scopes ADD CONSTRAINT scopes_by_key EXCLUDE USING hash (key WITH =)"
ESCAPE: Final = "\ue000json:"
"""How text begins that is kept as JSON (`Verbatim`)."""


class Verbatim(sa.types.TypeDecorator[str]):
    """Text that comes back as it went in, also where the database cannot hold it: NUL and lone surrogates.

    Such text is kept as JSON behind a private-use mark; all other text is kept as it is.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Escape what UTF-8 text columns refuse."""
        return escaped(value) if value is not None else None

    @property
    def python_type(self) -> type[str]:
        """What its values are."""
        return str

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> str | None:
        """Undo the escape."""
        return unescaped(value) if isinstance(value, str) else value


def escaped(value: str) -> str:
    """Text as the database can hold it."""
    if value.isascii() and "\0" not in value:
        return value
    value = joined(value)
    if "\0" in value or value.startswith(ESCAPE) or any("\ud800" <= c <= "\udfff" for c in value):
        return ESCAPE + json.dumps(value)
    return value


def unescaped(value: str) -> str | None:
    """Text as it was before `escaped`; nothing where it is damaged."""
    if not value.startswith(ESCAPE):
        return value
    try:
        text = json.loads(value[len(ESCAPE) :])
    except (ValueError, RecursionError):
        return None
    return text if isinstance(text, str) else None


def _hashes(name: sa.Column[str]) -> list[Any]:
    return [sa.func.hashtextextended(name, sa.literal_column(seed)) for seed in ("0", "1")]


def is_one_of(connection: sa.Connection, name: sa.Column[str], wanted: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether the name of a session or message is one of ``wanted``, as the database's index finds it.

    A name may be of any length, and PostgreSQL indexes texts of up to 2,700 bytes: there the index is over hashes.
    """
    if connection.dialect.name != "postgresql":
        return name.in_(wanted)
    zero: sa.ColumnElement[int] = sa.literal_column("0")
    hashed = [sa.func.hashtextextended(sa.bindparam(None, each, type_=Verbatim), zero) for each in wanted]
    return sa.and_(sa.func.hashtextextended(name, zero).in_(hashed), name.in_(wanted))


ADDED: Final = "added"
"""Under which key a table's ``info`` says how many of its columns, the last, rows of earlier schemas lack."""
metadata = sa.MetaData()
Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")

schema_versions = sa.Table("schema_versions", metadata, sa.Column("version", sa.Integer, primary_key=True))

scopes = sa.Table(
    "scopes",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False, default=0),
    sa.Column("epoch", sa.BigInteger, nullable=False, default=0),
    sa.UniqueConstraint("key").ddl_if("sqlite"),
    sqlite_autoincrement=True,
)

# A key may be of any length, as a name may; here the index itself compares what has the same hash.
sa.event.listen(
    scopes,
    "after_create",
    sa.DDL(_BY_KEY).execute_if(dialect="postgresql"),  # type: ignore[no-untyped-call, unused-ignore]
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("scope_id", sa.ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    sa.Column("name", Verbatim, nullable=False),
    sa.Column("turns", sa.BigInteger, nullable=False, default=0),
    sa.Column("messages", sa.BigInteger, nullable=False, default=0),
    sa.Column("derived", sa.BigInteger, nullable=False, default=0),
    sa.Column("settled", sa.BigInteger, nullable=False, default=0),
    sa.Column("closed", sa.Integer, nullable=False, default=0),
    sa.Column("version", sa.BigInteger, nullable=False, default=0),
    sa.Column("revision", sa.BigInteger, nullable=False, default=0),
    sa.Column("ended", sa.BigInteger, nullable=False, default=0, server_default=sa.text("0")),
    sa.Column("cut", sa.BigInteger, nullable=False, default=0, server_default=sa.text("0")),
    sa.Column("cut_by", sa.Text),
    sa.UniqueConstraint("scope_id", "name").ddl_if("sqlite"),
    sa.Index("sessions_by_revision", "scope_id", "revision"),
    sqlite_autoincrement=True,
)
IS_OPEN: Final = sessions.c.closed == sa.literal_column("0")
"""The condition that a session is open, in the words that the index of open sessions is found by."""
# An index with a condition is an option of each dialect, and naming PostgreSQL's would load it everywhere.
sa.event.listen(
    sessions,
    "after_create",
    sa.DDL("CREATE INDEX sessions_open ON sessions (scope_id) WHERE closed = 0"),  # type: ignore[no-untyped-call, unused-ignore]
)
sa.Index("sessions_by_name", sessions.c.scope_id, *_hashes(sessions.c.name), unique=True).ddl_if("postgresql")

messages = sa.Table(
    "messages",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("scope_id", sa.ForeignKey("scopes.id", ondelete="CASCADE"), nullable=False),
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    sa.Column("turn", sa.BigInteger, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("name", Verbatim, nullable=False),
    sa.Column("role", Verbatim, nullable=False),
    sa.Column("speaker", Verbatim),
    sa.Column("text", Verbatim, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("at_us", sa.BigInteger, nullable=False),
    sa.Column("metadata", sa.Text, nullable=False),
    sa.UniqueConstraint("scope_id", "name").ddl_if("sqlite"),
    sa.UniqueConstraint("session_id", "turn", "position"),
    sqlite_autoincrement=True,
)
sa.Index("messages_by_name", messages.c.scope_id, *_hashes(messages.c.name), unique=True).ddl_if("postgresql")

memories = sa.Table(
    "memories",
    metadata,
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("start", sa.BigInteger, primary_key=True),
    sa.Column("stop", sa.BigInteger, nullable=False),
    sa.Column("key", Verbatim, nullable=False),
    sa.Column("digest", Verbatim, nullable=False),
)

vectors = sa.Table(
    "vectors",
    metadata,
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("space", Verbatim, primary_key=True),
    sa.Column("digest", Verbatim, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""Vectors by the space that they are compared in (`space_of`), and by the digest of the text that they stand for."""

_SPACE: Final = re.compile(r"(?P<model>.*) \[(?P<dimensions>[1-9][0-9]{0,8})\]", re.DOTALL)


def space_of(model: str, dimensions: int) -> str:
    """The name of the space of a model's vectors of so many numbers; others under its name are not compared to them."""
    return f"{model} [{dimensions}]"


def dimensions_of(space: object) -> int | None:
    """How many numbers the vectors of a space have; nothing where it is none."""
    read = _SPACE.fullmatch(space) if isinstance(space, str) else None
    return int(read["dimensions"]) if read else None


NAMES_ROW: Final = "names_row"
"""In the ``info`` of a column: it holds the number of a row of its own table, maybe of the same row, without a foreign
key."""

part_states = sa.Table(
    "part_states",
    metadata,
    sa.Column("scope_id", sa.ForeignKey("scopes.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("part", sa.Text, primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
)
"""What a part, such as a segmenter, has learned from a scope: numbers as JSON, never words."""

layer_progress = sa.Table(
    "layer_progress",
    metadata,
    sa.Column("session_id", sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("layer", sa.Text, primary_key=True),
    sa.Column("messages", sa.BigInteger, nullable=False),
)
"""Up to how many messages of a session a layer, by its name, has taken in; and how often it had to guess of them."""

index_blocks = sa.Table(
    "index_blocks",
    metadata,
    sa.Column("scope_id", sa.ForeignKey("scopes.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("space", Verbatim, primary_key=True),
    sa.Column("block", sa.BigInteger, primary_key=True),
    sa.Column("part", sa.Text, primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
"""The search index of a scope, as `secom_core.stores.index_blocks` writes it: numbers, never words. It stays behind
where a scope moves."""

SCOPE_TABLES: Final = (scopes, sessions, messages, memories, vectors, layer_progress, part_states)
"""The tables whose rows are a scope's, each after those that its rows name; layers bring more."""
