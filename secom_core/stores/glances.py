"""Statements in SQL as text, for what every recall and every new turn read.

SQLAlchemy takes longer to compile a statement of its own, once in each process, than SQLite takes to find the rows. A
name after a colon stands for a value.

`secom_core.stores.database.Database.glance` runs them by themselves, `secom_core.stores.driver.glance_in` in a
transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .schema import ESCAPE, sessions, unescaped

_MARK: Final = ESCAPE[0]


def _sql(*parts: str) -> str:
    return " ".join(parts)


SCOPE: Final = "SELECT id, revision, epoch FROM scopes WHERE key = :key"

SESSION_COLUMNS: Final = ", ".join(f"sessions.{column.name}" for column in sessions.columns)
_SESSION: Final = _sql("SELECT", SESSION_COLUMNS)
_OF_SCOPE: Final = _sql(_SESSION, "FROM sessions WHERE scope_id = :scope")
SESSION: Final = _sql(_SESSION, "FROM sessions WHERE id = :id")
SESSIONS: Final = _sql(_OF_SCOPE, "ORDER BY id")
CHANGED: Final = _sql(_OF_SCOPE, "AND revision > :since ORDER BY id")
LATEST_FIRST: Final = _sql(
    _OF_SCOPE,
    "ORDER BY (SELECT at_us FROM messages WHERE session_id = sessions.id",
    "ORDER BY turn DESC, position DESC LIMIT 1) DESC, sessions.id DESC",
)
"""The scope's sessions, that with the latest last message first; of two at the same moment, that which came later."""
IS_NAMED: Final = {
    "sqlite": "sessions.name = :name",
    "postgresql": _sql(
        "sessions.name = :name",
        "AND hashtextextended(sessions.name, 0) = hashtextextended(:name, 0)",
        "AND hashtextextended(sessions.name, 1) = hashtextextended(:name, 1)",
    ),
}
"""By dialect: whether a session has that name. On PostgreSQL, the index of names is over hashes of them."""
NAMED: Final = {
    dialect: _sql(
        _SESSION,
        ", scopes.epoch FROM sessions JOIN scopes ON scopes.id = sessions.scope_id",
        "WHERE scopes.key = :key AND",
        is_named,
    )
    for dialect, is_named in IS_NAMED.items()
}
"""By dialect: a session and its scope's epoch."""

NAMES: Final = {
    "sqlite": "SELECT id, name FROM sessions WHERE scope_id = :scope AND name IN (SELECT value FROM json_each(:names))",
    "postgresql": _sql(
        "SELECT id, name FROM sessions, json_array_elements_text(CAST(:names AS JSON)) AS wanted(value)",
        "WHERE scope_id = :scope AND hashtextextended(name, 0) = hashtextextended(wanted.value, 0)",
        "AND hashtextextended(name, 1) = hashtextextended(wanted.value, 1) AND name = wanted.value",
    ),
}
"""By dialect: the ids of sessions by their names, which come as JSON."""

_WANTED: Final = {
    "sqlite": ("json_each(:pairs) AS wanted", "json_extract(wanted.value, '$[{}]')"),
    "postgresql": (
        "json_array_elements(CAST(:pairs AS JSON)) AS wanted(value)",
        "CAST(wanted.value->>{} AS BIGINT)",
    ),
}


def _at(columns: str, table: str, place: str, order: str = "") -> Mapping[str, str]:
    """By dialect: rows by pairs of a session's id and a place in it, which come as JSON, however many they are."""
    found: dict[str, str] = {}
    for dialect, (pairs, part) in _WANTED.items():
        are_there = _sql("WHERE session_id =", part.format(0), "AND", place, "=", part.format(1))
        found[dialect] = _sql("SELECT", columns, "FROM", pairs, ",", table, are_there, order)
    return found


_IN_ORDER: Final = "ORDER BY session_id, turn, position"
_MESSAGE: Final = "messages.id, session_id, turn, name, role, speaker, text, at, metadata"
KEYS_AT: Final = _at("session_id, memories.start, memories.key", "memories", "memories.start")
TURNS_AT: Final = _at(_MESSAGE, "messages", "turn", _IN_ORDER)
"""By dialect: messages, each as a `MessageRow`."""
ABOUT_AT: Final = _at(
    "messages.id, session_id, turn, name, role, speaker, '', '', metadata", "messages", "turn", _IN_ORDER
)
"""The same without their words and times."""

_FROM: Final = _sql("SELECT", _MESSAGE, "FROM messages WHERE session_id = :session AND turn >= :start")
TURNS: Final = _sql(_FROM, _IN_ORDER)
"""A session's messages from a turn on, each as a `MessageRow`."""
TURNS_UNTIL: Final = _sql(_FROM, "AND turn <= :end", _IN_ORDER)
TURN_IDS: Final = "SELECT name FROM messages WHERE session_id = :session AND turn >= :start AND position = 0"
LAST: Final = _sql(
    _FROM,
    "AND turn IN (SELECT turn FROM messages WHERE session_id = :session AND position = 0",
    "ORDER BY turn DESC LIMIT :last)",
    _IN_ORDER,
)
"""The same of its last turns."""

_OF_INDEX: Final = "FROM index_blocks WHERE scope_id = :scope AND space = :space"
INDEX_SPACES: Final = "SELECT DISTINCT space FROM index_blocks WHERE scope_id = :scope"
BLOCKS: Final = _sql(
    "SELECT kept.block, index_blocks.piece, index_blocks.data FROM (SELECT DISTINCT block",
    _OF_INDEX,
    ") AS kept LEFT JOIN index_blocks ON scope_id = :scope AND space = :space AND index_blocks.block = kept.block",
    "AND part = :part",
)
"""The pieces of one part of all blocks, in any order; of a block that lacks it, a row without a piece."""
PIECES: Final = {
    dialect: _sql("SELECT piece, data", _OF_INDEX, "AND block = :block AND part = :part AND piece IN (", numbers, ")")
    for dialect, numbers in (
        ("sqlite", "SELECT value FROM json_each(:pieces)"),
        ("postgresql", "SELECT CAST(json_array_elements_text(CAST(:pieces AS JSON)) AS INTEGER)"),
    )
}
"""By dialect: pieces of a part of a block by their numbers, which come as JSON."""


class MessageRow(NamedTuple):
    """What of a row of the table of messages makes a `secom_core.conversation.Message` and says where it belongs."""

    id: int
    session_id: int
    turn: int
    name: str
    role: str
    speaker: str | None
    text: str
    at: str
    metadata: str


def as_given(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows as the driver gives them, with every text as it went in (`secom_core.stores.schema.Verbatim`)."""
    return [tuple([unescaped(v) if v.__class__ is str and v[:1] == _MARK else v for v in row]) for row in rows]
