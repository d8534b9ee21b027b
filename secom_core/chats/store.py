"""Chats in the store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select

from ..stores.database import retry_if_contended
from ..stores.driver import rows_of, run
from ..stores.messages import rows_among
from ..stores.rows import SessionRow
from ..stores.schema import messages, sessions
from ..stores.sound import collected, sound_records, sound_rows
from ..stores.sql import SqlStore
from ..stores.statements import delete_among
from ..text.batches import batches
from .records import ChatRecord, are_held, body_of
from .tables import chat_messages

# Statements that every message needs are made once.
_THERE: Final = select(sessions.c.id).where(sessions.c.id == bindparam("session"))
_PLACED: Final = chat_messages.alias()
_NEXT_PLACE: Final = (
    select(func.coalesce(func.max(_PLACED.c.place), -1) + 1)
    .where(_PLACED.c.session_id == bindparam("session"))
    .scalar_subquery()
)
_NOWHERE: Final[Mapping[str, int]] = MappingProxyType({})
_PLACES: Final = select(messages.c.name, messages.c.turn).where(messages.c.session_id == bindparam("session"))
# Each row finds its place when it is added, so that nobody has to ask for it first.
_ADD: Final = insert(chat_messages).values(place=_NEXT_PLACE)
_HELD: Final = (
    select(chat_messages.c.turn, chat_messages.c.name, chat_messages.c.body)
    .where(chat_messages.c.session_id == bindparam("session"))
    .order_by(chat_messages.c.place)
)


@retry_if_contended
def write(
    store: SqlStore, session: SessionRow, records: Sequence[ChatRecord], *, anew: bool, once: bool = False
) -> bool:
    """Add records to the chat of a session, in one transaction; those whose turn is forgotten by now are left out.

    Args:
        store: the store.
        session: the session's row.
        records: in order.
        anew: in the place of all that it holds.
        once: as for `add`.

    Returns:
        Whether the session was still there.
    """
    # What was said is on disk already; of tools' results a power failure may cost the latest.
    with store.transaction(durable=False, scope=session.scope_id) as connection:
        if not rows_of(connection, _THERE, {"session": session.id}):
            return False
        if anew:
            connection.execute(delete(chat_messages).where(chat_messages.c.session_id == session.id))
        add(connection, session, records, once=once)
    return True


def add(
    connection: Connection,
    session: SessionRow,
    records: Sequence[ChatRecord],
    known: Mapping[str, int] = _NOWHERE,
    *,
    once: bool = False,
) -> None:
    """Add records to the chat of a session that is there; the id of any message of a turn names the turn.

    Args:
        connection: a transaction.
        session: the session's row.
        records: in order; those whose turn is not there are left out.
        known: the turns that messages are in, by their ids, as far as they are known.
        once: add nothing where the chat has all of them: another writer, or a commit whose answer was lost, was first.
    """
    named = {each.turn_id for each in records if each.turn_id is not None}
    turns = {**known, **_turns(connection, session, named - known.keys())}
    rows = [
        {"session": session.id, "session_id": session.id, "turn": turns.get(each.turn_id or ""), **_values(each)}
        for each in records
        if each.turn_id is None or each.turn_id in turns
    ]
    if once and rows:
        held = [tuple(row) for row in rows_of(connection, _HELD, {"session": session.id})]
        rows = [] if are_held([(each["turn"], each["name"], each["body"]) for each in rows], held) else rows
    if rows:
        run(connection, _ADD, *rows)


def _values(record: ChatRecord) -> dict[str, Any]:
    return {"name": record.name, "body": json.dumps(record.body) if record.body is not None else None}


def _turns(connection: Connection, session: SessionRow, turn_ids: Collection[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for batch in batches(sorted(turn_ids)):
        found.update(rows_among(connection, _PLACES, messages.c.name, batch, session=session.id))
    return found


def records(store: SqlStore, session: SessionRow) -> list[ChatRecord]:
    """The chat of a session, in order."""
    with store.transaction(write=False) as connection:
        return _records(connection, session)


def _records(connection: Connection, session: SessionRow) -> list[ChatRecord]:
    firsts = select(messages.c.turn, messages.c.name).where(
        messages.c.session_id == session.id, messages.c.position == 0
    )
    names: dict[int, str] = {row.turn: row.name for row in connection.execute(firsts)}
    mine = select(chat_messages).where(chat_messages.c.session_id == session.id).order_by(chat_messages.c.place)

    def read(row: Row[Any]) -> ChatRecord:
        return ChatRecord(names[row.turn] if row.turn is not None else None, row.name, body_of(row.body))

    rows = sound_rows(connection, mine, chat_messages, session.scope_id)
    return sound_records(connection, rows, read, chat_messages, session.scope_id)


def exported(store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
    """A line a message, of all chats of a scope."""
    for session in store.sessions(scope_id):
        for each in records(store, session):
            yield {"session": session.name, "turn_id": each.turn_id, "name": each.name, "body": each.body}


def restore(store: SqlStore, scope_id: int, lines: Sequence[Mapping[str, Any]]) -> None:
    """Take in what `exported` gave; the chat of a session that has one is left as it is."""
    for session in store.sessions(scope_id):
        mine = [ChatRecord.from_json(each) for each in lines if each["session"] == session.name]
        if mine and not records(store, session):
            write(store, session, mine, anew=False)


def forget_turns(connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
    """Delete the messages that go with these turns."""
    delete_among(connection, chat_messages.c.turn, turns, chat_messages.c.session_id == session.id)


def drop_unsound(connection: Connection, scope_id: int) -> None:
    """Delete the messages of the scope's chats that cannot be read; nobody can make them again."""
    mine = chat_messages.c.session_id.in_(select(sessions.c.id).where(sessions.c.scope_id == scope_id))

    def read(row: Row[Any]) -> int:
        body_of(row.body)
        return int(row.id)

    with collected():
        rows = sound_rows(connection, select(chat_messages).where(mine), chat_messages, scope_id)
        kept = set(sound_records(connection, rows, read, chat_messages, scope_id))
    held = connection.scalars(select(chat_messages.c.id).where(mine)).all()
    delete_among(connection, chat_messages.c.id, set(held) - kept)
