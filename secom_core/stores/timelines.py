"""Events and links in the store: written with the session that they are from, read a session at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select

from ..memory import Event, Link, Relation
from .reflections import claim
from .schema import event_turns, events, links, messages, sessions
from .sql import SessionRow, SqlStore, again_if_contended

__all__ = ["LAYER", "EventRow", "TimelineStore"]

LAYER: Final = "events"
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as stored: with its session's id and the indices of its turns."""

    event: Event
    session_id: int
    turns: tuple[int, ...]


class TimelineStore:
    """The scope's events and links, in the bank's own database.

    Deleting is the bank's business: events go with any turn of their session, a link with either of its events.

    Args:
        store: the bank's store.

    Raises:
        StoreError: from every method, when the database fails.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    @again_if_contended
    def save(
        self,
        session: SessionRow,
        taken: int,
        new: Sequence[tuple[Event, Sequence[int]]],
        new_links: Sequence[Link],
        *,
        replaced: Sequence[int] = (),
    ) -> list[int] | None:
        """Write the events of a session with their links, and mark it as taken in; all or nothing.

        Args:
            session: its row as read before they were made.
            taken: how many of its messages the layer had taken in then.
            new: events with ids that hold for this call only, and the indices of their turns.
            new_links: links with a new event at one end; left out where the other end is gone by now.
            replaced: events of the session that go.

        Returns:
            The ids that the events got; nothing where the session changed or was forgotten in the meantime, or
            another writer was quicker: then nothing is written.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not claim(connection, session, LAYER, taken):
                return None
            for batch in _batches(replaced):
                connection.execute(delete(events).where(events.c.session_id == session.id, events.c.id.in_(batch)))
            ids = _insert_events(connection, session, new)
            _insert_links(connection, session.scope_id, new_links, ids)
        return list(ids.values())

    def events(self, scope_id: int, *, changed: Sequence[int] | None = None) -> list[EventRow]:
        """The scope's events, those of the sessions ``changed`` where given, by id."""
        found: list[EventRow] = []
        with self._store.transaction(write=False) as connection:
            for condition in _conditions(scope_id, changed):
                found += _event_rows(connection, condition)
        return sorted(found, key=lambda row: row.event.id)

    def links(self, scope_id: int, *, changed: Sequence[int] | None = None) -> list[Link]:
        """The scope's links, those with an end in the sessions ``changed`` where given, each once."""
        found: dict[Link, None] = {}
        with self._store.transaction(write=False) as connection:
            for condition in _conditions(scope_id, changed):
                ends = select(events.c.id).where(condition)
                statement = select(links).where(or_(links.c.earlier.in_(ends), links.c.later.in_(ends)))
                for row in connection.execute(statement):
                    found[Link(row.earlier, row.later, Relation(row.relation))] = None
        return list(found)


def _conditions(scope_id: int, changed: Sequence[int] | None) -> Iterator[ColumnElement[bool]]:
    if changed is None:
        yield events.c.scope_id == scope_id
    else:
        for batch in _batches(changed):
            yield and_(events.c.scope_id == scope_id, events.c.session_id.in_(batch))


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _event_rows(connection: Connection, condition: ColumnElement[bool]) -> Iterator[EventRow]:
    first = and_(
        messages.c.session_id == events.c.session_id,
        messages.c.turn == event_turns.c.turn,
        messages.c.position == 0,
    )
    resting = (
        select(event_turns.c.event_id, event_turns.c.turn, messages.c.name)
        .join(events, events.c.id == event_turns.c.event_id)
        .join(messages, first)
        .where(condition)
        .order_by(event_turns.c.event_id, event_turns.c.turn)
    )
    turns: dict[int, list[tuple[int, str]]] = {}
    for event_id, turn, name in connection.execute(resting):
        turns.setdefault(event_id, []).append((turn, name))
    columns = (events.c.id, events.c.session_id, events.c.text, events.c.at, sessions.c.name)
    statement = select(*columns).join(sessions, sessions.c.id == events.c.session_id).where(condition)
    for row in connection.execute(statement):
        held = turns.get(row.id, [])
        names = tuple(name for _, name in held)
        event = Event(row.id, row.text, datetime.fromisoformat(row.at), row.name, names)
        yield EventRow(event, row.session_id, tuple(turn for turn, _ in held))


def _insert_events(
    connection: Connection, session: SessionRow, new: Sequence[tuple[Event, Sequence[int]]]
) -> dict[int, int]:
    """The stored id of each event by the id that it came with."""
    last = connection.scalar(select(func.max(events.c.position)).where(events.c.session_id == session.id))
    ids: dict[int, int] = {}
    for position, (event, turns) in enumerate(new, start=0 if last is None else last + 1):
        made = connection.execute(
            insert(events).values(
                scope_id=session.scope_id,
                session_id=session.id,
                position=position,
                text=event.text,
                at=event.at.isoformat(),
            )
        )
        ids[event.id] = int(made.inserted_primary_key[0])  # type: ignore[index]
        connection.execute(insert(event_turns), [{"event_id": ids[event.id], "turn": turn} for turn in turns])
    return ids


def _insert_links(connection: Connection, scope_id: int, new: Sequence[Link], ids: dict[int, int]) -> None:
    others = {end for link in new for end in (link.earlier, link.later)} - set(ids)
    known = dict(ids)
    for batch in _batches(sorted(others)):
        statement = select(events.c.id).where(events.c.scope_id == scope_id, events.c.id.in_(batch))
        known |= {found: found for found in connection.scalars(statement)}
    rows = [
        {"earlier": known[link.earlier], "later": known[link.later], "relation": link.relation.value}
        for link in new
        if link.earlier in known and link.later in known
    ]
    if rows:
        connection.execute(insert(links), rows)
