"""Messages as rows: which are new, where each belongs, and rows back into turns."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, TypeAlias

from sqlalchemy import Column, Connection, Row, Select, bindparam, func, select

from ..conversation import Message, Turn, json_flaw, opens_turn
from ..errors import DuplicateId, InvalidInput, StoreError, shorten
from ..text.batches import batches
from ..text.inline_data import without_inline_data
from ..times import EPOCH
from .driver import rows_of
from .glances import MessageRow
from .rows import SessionRow
from .schema import is_one_of, messages

_Row: TypeAlias = Row[Any] | MessageRow

_NO_METADATA: Final = "{}"
_QUESTION: Final = Message("", role="user")
_DAMAGES: Final = (ValueError, TypeError, RecursionError)
_FEW: Final = 4
"""Of so many names, each stands in a statement that is made once."""
_BEGINNING: Final = messages.alias()
_LAST: Final = (
    select(
        messages.c.role,
        messages.c.turn,
        messages.c.position,
        select(_BEGINNING.c.name)
        .where(
            _BEGINNING.c.session_id == messages.c.session_id,
            _BEGINNING.c.turn == messages.c.turn,
            _BEGINNING.c.position == 0,
        )
        .scalar_subquery()
        .label("turn_id"),
    )
    .where(messages.c.session_id == bindparam("session"))
    .order_by(messages.c.turn.desc(), messages.c.position.desc())
    .limit(1)
)
_ANSWERED: Final = (
    select(messages.c.turn, func.max(messages.c.position).label("position"))
    .join(_BEGINNING, (_BEGINNING.c.session_id == messages.c.session_id) & (_BEGINNING.c.turn == messages.c.turn))
    .where(
        _BEGINNING.c.session_id == bindparam("session"),
        _BEGINNING.c.position == 0,
        _BEGINNING.c.name == bindparam("name"),
    )
    .group_by(messages.c.turn)
)
_OF_SCOPE: Final = messages.c.scope_id == bindparam("scope")
_WORDS: Final = select(messages.c.name, messages.c.role, messages.c.text).where(_OF_SCOPE)
_TURNS: Final = (
    select(_BEGINNING.c.name)
    .select_from(messages)
    .join(_BEGINNING, (_BEGINNING.c.session_id == messages.c.session_id) & (_BEGINNING.c.turn == messages.c.turn))
    .where(_OF_SCOPE, _BEGINNING.c.position == 0)
    .order_by(_BEGINNING.c.id)
)


def rows_among(
    connection: Connection, statement: Select[Any], name: Column[str], wanted: Sequence[str], **values: int
) -> list[Any]:
    """A statement's rows of which the name is one of ``wanted``, by the statement's values (`is_one_of`)."""
    if connection.dialect.name == "postgresql":
        return list(connection.execute(statement.where(is_one_of(connection, name, wanted)), values))
    if len(wanted) > _FEW:
        return list(connection.execute(_among(statement, name), {**values, "names": list(wanted)}))
    # One that is asked for twice is found once.
    names = {f"name_{place}": wanted[min(place, len(wanted) - 1)] for place in range(_FEW)}
    return rows_of(connection, _among_few(statement, name), {**values, **names})


@lru_cache(maxsize=32)
def _among(statement: Select[Any], name: Column[str]) -> Select[Any]:
    return statement.where(name.in_(bindparam("names", expanding=True)))


@lru_cache(maxsize=32)
def _among_few(statement: Select[Any], name: Column[str]) -> Select[Any]:
    return statement.where(name.in_([bindparam(f"name_{place}", type_=name.type) for place in range(_FEW)]))


def microseconds(at: datetime) -> int:
    """The time as whole microseconds since 1970, UTC."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
    elapsed = aware - EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def unknown_messages(connection: Connection, scope_id: int, new: Sequence[Message]) -> list[Message]:
    """The messages to write: those without an id, and those whose id is new, each once."""
    names = list({m.id for m in new if m.id})
    known: dict[str, tuple[str, str]] = {}
    for batch in batches(names):
        rows = rows_among(connection, _WORDS, messages.c.name, batch, scope=scope_id)
        known.update({name: (role, text) for name, role, text in rows})
    fresh: list[Message] = []
    for message in new:
        if message.id is None:
            fresh.append(message)
        elif message.id not in known:
            known[message.id] = (message.role, message.text)
            fresh.append(message)
        elif not _is_known(message, *known[message.id]):
            raise DuplicateId(
                f"id {message.id!r} already belongs to another message of this scope, which says "
                f"{known[message.id][1][:80]!r}; give the new one an id of its own, or none"
            )
    return fresh


def _is_known(message: Message, role: str, text: str) -> bool:
    # Earlier versions stored the data of pictures in texts.
    return message.role == role and message.text in (text, without_inline_data(text))


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows of new messages.

    Args:
        rows: in order.
        ids: by their indices, the ids of the turns that they open, and of the last turn before them.
    """

    rows: Sequence[Mapping[str, Any]]
    ids: Mapping[int, str]

    @property
    def turn_ids(self) -> tuple[str, ...] | None:
        """The ids of the turns that they are of, in order; nothing where one of them is not known."""
        turns = dict.fromkeys(row["turn"] for row in self.rows)
        return tuple(self.ids[turn] for turn in turns) if self.ids.keys() >= turns.keys() else None

    @property
    def places(self) -> dict[str, int]:
        """The turns of these messages, and of the first ones of their turns, by their ids."""
        return {name: turn for turn, name in self.ids.items()} | {row["name"]: row["turn"] for row in self.rows}


def new_rows(
    connection: Connection,
    session: SessionRow,
    fresh: Sequence[Message],
    places: Mapping[int, int] | None,
    answers: str | None = None,
) -> NewRows:
    """The rows of new messages: replies join the last turn, others open one, unless ``places`` gives the turns.

    Args:
        connection: a transaction.
        session: where they go.
        fresh: the messages, in order.
        places: the turn index of each message by its Python identity, where known.
        answers: the id of the turn that the replies before all other messages join, where the session has it.
    """
    if not fresh:
        return NewRows((), {})
    before, turn, position, turn_id = _last_message(connection, session)
    ids, rows = {turn: turn_id} if turn_id is not None else {}, list[dict[str, Any]]()
    replies = list(takewhile(lambda each: not opens_turn(each, _QUESTION), fresh)) if answers != turn_id else []
    earlier = _answered(connection, session, answers) if replies and answers is not None else None
    if answers is not None and earlier is not None:
        rows += [_message_row(session, each, earlier[0], earlier[1] + nth) for nth, each in enumerate(replies, 1)]
        ids, fresh = {**ids, earlier[0]: answers}, fresh[len(replies) :]
    for message in fresh:
        place = places[id(message)] if places is not None else None
        opens = opens_turn(message, before) if place is None else place != turn
        if opens:
            turn, position = (max(turn + 1, session.turns) if place is None else place), 0
        else:
            position += 1
        rows.append(_message_row(session, message, turn, position))
        if opens:
            ids[turn] = rows[-1]["name"]
        before = message
    return NewRows(rows, ids)


def _last_message(connection: Connection, session: SessionRow) -> tuple[Message | None, int, int, str | None]:
    """The session's last message, where it is, and the id of its turn."""
    for row in rows_of(connection, _LAST, {"session": session.id}):
        return Message("", role=row.role), row.turn, row.position, row.turn_id
    return None, session.turns - 1, 0, None


def _answered(connection: Connection, session: SessionRow, turn_id: str) -> tuple[int, int] | None:
    """Where the last message of an earlier turn of the session is; nothing if it has no such turn."""
    found = connection.execute(_ANSWERED, {"session": session.id, "name": turn_id}).first()
    return (found.turn, found.position) if found is not None else None


def _message_row(session: SessionRow, message: Message, turn: int, position: int) -> dict[str, Any]:
    if message.at is None:
        raise InvalidInput(f"a message needs a time before it is stored: {message.text[:80]!r}")
    return {
        "scope_id": session.scope_id,
        "session_id": session.id,
        "turn": turn,
        "position": position,
        "name": message.id or f"~{secrets.token_hex(8)}",
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "at": message.at.isoformat(),
        "at_us": microseconds(message.at),
        "metadata": _dump(message.metadata),
    }


def _dump(value: Mapping[str, Any]) -> str:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"metadata is a mapping from strings to what JSON can hold, got {shorten(value)}")
    if flaw := json_flaw(dict(value)):
        raise InvalidInput(f"metadata must be what JSON can hold, got {shorten(dict(value))}: {flaw}")
    return json.dumps(dict(value))


def turn_ids_of(connection: Connection, scope_id: int, names: Sequence[str]) -> tuple[str, ...]:
    """The ids of the turns that hold the messages with these ids, in order."""
    found = (
        row.name
        for batch in batches(names)
        for row in rows_among(connection, _TURNS, messages.c.name, batch, scope=scope_id)
    )
    return tuple(dict.fromkeys(found))


def turns_of(rows: Iterable[_Row], session: str) -> list[Turn]:
    """Rows of messages, in order, as the turns of a session."""
    grouped: dict[int, list[Message]] = {}
    for row in rows:
        grouped.setdefault(row.turn, []).append(_message(row))
    return [Turn(tuple(group), session, index) for index, group in grouped.items()]


def _message(row: _Row) -> Message:
    try:
        _check_text(row)
        return Message(row.text, row.role, row.speaker, row.name, datetime.fromisoformat(row.at), _loaded(row.metadata))
    except _DAMAGES as error:
        raise _damaged(row, error) from error


def without_words(rows: Iterable[MessageRow]) -> Iterator[Message]:
    """Rows as messages that have a role, a speaker and metadata alone; one message for all that have the same."""
    known: dict[tuple[Any, ...], Message] = {}
    for row in rows:
        said = (row.role, row.speaker, row.metadata)
        if said not in known:
            try:
                _check_text(row)
                known[said] = Message("", row.role, row.speaker, metadata=_loaded(row.metadata))
            except _DAMAGES as error:
                raise _damaged(row, error) from error
        yield known[said]


def _loaded(metadata: str) -> Mapping[str, Any]:
    return json.loads(metadata) if metadata != _NO_METADATA else {}


def _check_text(row: Iterable[Any]) -> None:
    if bytes in map(type, row):
        raise ValueError("it holds bytes that are no text")


def _damaged(row: _Row, error: Exception) -> StoreError:
    return StoreError(f"message {row.id} of the store is damaged: {error}")
