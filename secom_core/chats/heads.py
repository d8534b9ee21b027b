"""The last turn of each session, for what lists many sessions of one turn, such as the items of a LangGraph store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..conversation import Turn
from ..stores.database import Database
from ..stores.glances import MessageRow
from ..stores.messages import turns_of
from .records import body_of

_LAST: Final = (
    "FROM {} JOIN messages ON messages.session_id = sessions.id AND messages.turn = "
    "(SELECT max(latest.turn) FROM messages AS latest WHERE latest.session_id = sessions.id)"
)
_BESIDE: Final = (
    "(SELECT body FROM chat_messages WHERE chat_messages.session_id = sessions.id "
    "AND chat_messages.turn = messages.turn ORDER BY place DESC LIMIT 1)"
)
# With a sign before it, the id finds no rows: of many scopes, those of all others would be passed over one by one.
_NEXT: Final = "(SELECT id, name FROM sessions WHERE scope_id = :scope AND +id > :after ORDER BY id LIMIT :most)"
# PostgreSQL refuses a character that it cannot hold, also of another field: no escape of one is left to it.
_READABLE: Final = (
    r"CASE WHEN strpos(messages.metadata, '\u') > 0 "
    r"THEN regexp_replace(messages.metadata, '\\(\\|u[0-9a-fA-F]{4})', '', 'g') ELSE messages.metadata END"
)
_HEADS: Final = {
    dialect: (
        f"SELECT sessions.id, sessions.name, messages.name, {number}, {_BESIDE} "
        f"{_LAST.format(f'{_NEXT} AS sessions')} AND messages.position = 0 ORDER BY sessions.id"
    )
    for dialect, number in (
        # What is damaged has no number: it is told of where it is read.
        (
            "sqlite",
            "CASE WHEN json_valid(messages.metadata) "
            "THEN json_extract(messages.metadata, '$.' || :field || '.' || :number) END",
        ),
        ("postgresql", f"CAST(CAST({_READABLE} AS JSON) #>> ARRAY[:field, :number] AS BIGINT)"),
    )
}
_TURNS: Final = {
    dialect: (
        "SELECT messages.id, sessions.id, messages.turn, messages.name, role, speaker, text, at, metadata, "
        f"sessions.name, {_BESIDE} {_LAST.format('sessions')} WHERE sessions.id IN ({ids}) "
        "ORDER BY sessions.id, messages.position"
    )
    for dialect, ids in (
        ("sqlite", "SELECT value FROM json_each(:ids)"),
        ("postgresql", "SELECT CAST(json_array_elements_text(CAST(:ids AS JSON)) AS BIGINT)"),
    )
}
_WIDTH: Final = len(MessageRow._fields)


class Head(NamedTuple):
    """The last turn of a session, without its words.

    Args:
        session_id: the number of the session.
        session: its name.
        turn_id: the id of the turn.
        number: what the metadata of its first message has under the name that was asked for.
        beside: what the chat holds that goes with the turn.
    """

    session_id: int
    session: str
    turn_id: str
    number: int | None
    beside: Mapping[str, Any] | None


def heads(store: Database, scope_id: int, path: tuple[str, str], *, after: int, most: int) -> list[Head]:
    """The last turns of the sessions of a scope, in the order in which the sessions came.

    Args:
        store: where they are.
        scope_id: whose.
        path: under which names the number is: those of a field, and of a field in that one.
        after: the number of the last session that is known.
        most: of how many sessions.
    """
    field, number = path
    found = store.glance(_HEADS[store.dialect], scope=scope_id, after=after, most=most, field=field, number=number)
    return [Head(number, name, turn_id, value, body_of(beside)) for number, name, turn_id, value, beside in found]


def last_turns(store: Database, session_ids: Sequence[int]) -> dict[int, tuple[Turn, Mapping[str, Any] | None]]:
    """The last turns of sessions, by their numbers, each with what the chat holds that goes with it."""
    found: dict[int, tuple[Turn, Mapping[str, Any] | None]] = {}
    rows: dict[int, list[Sequence[Any]]] = {}
    for row in store.glance(_TURNS[store.dialect], ids=json.dumps(list(session_ids))):
        rows.setdefault(row[1], []).append(row)
    for session_id, mine in rows.items():
        name, beside = mine[0][_WIDTH:]
        [turn] = turns_of([MessageRow._make(row[:_WIDTH]) for row in mine], name)
        found[session_id] = turn, body_of(beside)
    return found
