"""Events and links in the store: written with the session that they are from, read a session at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select

from ..derived.progress import changed_since, claim, drop_progress, note, show_changed
from ..drafts.extraction import Identity
from ..drafts.resting import RestingTurn, insert_resting, resting_turns
from ..stores.database import retry_if_contended
from ..stores.ownership import delete_of_scope
from ..stores.rows import SessionRow, session_row
from ..stores.schema import sessions
from ..stores.sound import sound_records, sound_rows
from ..stores.sql import SqlStore
from ..stores.statements import delete_among
from ..text.batches import batches
from .records import Event, Link, Relation
from .tables import event_turns, events, links

LAYER: Final = "timelines"
EVENTS: Final = "timeline-events"
"""The name under which it is noted how many messages of a session its events were made of."""
_LAST: Final = 2**31 - 2
"""The highest place of an event in its session that has one after it."""

NewEvent: TypeAlias = tuple[Event, Sequence[int]]
"""An event with an id that holds for one call only, and the indices of its turns."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as stored: with its session's id and the indices of its turns."""

    event: Event
    session_id: int
    turns: tuple[int, ...]

    @property
    def identity(self) -> Identity:
        """What makes it equal to a draft."""
        return "", self.event.text, self.turns


@dataclass(frozen=True, slots=True)
class Changes:
    """The sessions of a scope that changed, all their events, by id, and all links with one of these at an end."""

    sessions: tuple[SessionRow, ...]
    events: tuple[EventRow, ...]
    links: tuple[Link, ...]


class TimelineStore:
    """The scope's events and links, in the bank's own database.

    Events go with any turn of their session, a link with either of its events; see `drop_events`.

    Args:
        store: the bank's store.

    Raises:
        StoreError: from every method, when the database fails.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    @retry_if_contended
    def save(
        self,
        session: SessionRow,
        taken: int,
        new: Sequence[NewEvent],
        new_links: Sequence[Link],
        stale: Sequence[int],
        *,
        relinked: Sequence[int] = (),
        guesses: int = 0,
        guessed: int | None = None,
    ) -> bool:
        """Write the events of a session with their links, and mark it as taken in; all or nothing.

        Args:
            session: its row as read before they were made.
            taken: how many of its messages the layer had taken in then.
            new: events that are not stored yet.
            new_links: links with a new event at one end; left out where the other end is gone by now.
            stale: the ids of events of the session that no longer hold.
            relinked: the ids of its stored events whose links from earlier ones are among ``new_links`` or hold no
                longer.
            guesses: as `secom_core.derived.progress.claim` takes it.
            guessed: likewise.

        Returns:
            Whether it was done: not if the session changed or was forgotten in the meantime, or another writer was
            quicker.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not claim(connection, session, LAYER, taken, guesses=guesses, guessed=guessed):
                return False
            note(connection, session.id, EVENTS, session.messages)
            drop_events(connection, session, only=stale)
            delete_among(connection, links.c.later, relinked)
            ids = _insert_events(connection, session, new)
            _insert_links(connection, session.scope_id, new_links, ids)
        return True

    @retry_if_contended
    def drop(self, scope_id: int) -> None:
        """Delete every event of the scope, and their links."""
        with self._store.transaction(scope=scope_id) as connection:
            of_scope = connection.scalars(select(sessions.c.id).where(sessions.c.scope_id == scope_id)).all()
            delete_of_scope(connection, (events, event_turns, links), scope_id)
            show_changed(connection, scope_id, of_scope)

    def changes(self, scope_id: int, since: int = -1) -> Changes:
        """What has changed after revision ``since``, as of one moment."""
        changed = changed_since(scope_id, since)
        ends = select(events.c.id).join(sessions).where(changed)
        of_scope = select(events.c.id).join(sessions).where(sessions.c.scope_id == scope_id)
        of_ends = select(links).where(
            or_(links.c.earlier.in_(ends), links.c.later.in_(ends)),
            links.c.earlier.in_(of_scope),
            links.c.later.in_(of_scope),
        )
        with self._store.transaction(write=False) as connection:
            found = sound_rows(connection, of_ends, links, scope_id)
            return Changes(
                tuple(
                    map(session_row, connection.execute(select(sessions).where(changed).order_by(sessions.c.id)).all())
                ),
                tuple(_event_rows(connection, changed, scope_id)),
                tuple(sound_records(connection, found, _link, links, scope_id)),
            )


def drop_events(connection: Connection, session: SessionRow, *, only: Sequence[int] | None = None) -> None:
    """Delete events of a session with their links, and let the sessions that they led to be linked again.

    Args:
        connection: a transaction that writes.
        session: the session.
        only: the ids of the events that go; all of the session's unless given.
    """
    own = select(events.c.id).where(events.c.session_id == session.id)
    for batch in batches(only) if only is not None else [None]:
        going = own if batch is None else own.where(events.c.id.in_(batch))
        led_to = select(links.c.later).where(links.c.earlier.in_(going))
        others = select(events.c.session_id).where(events.c.id.in_(led_to), events.c.session_id != session.id)
        again = connection.scalars(others.distinct()).all()
        connection.execute(delete(events).where(events.c.id.in_(going)))
        drop_progress(connection, session.scope_id, [LAYER], session_ids=again)


def _event_rows(connection: Connection, changed: ColumnElement[bool], scope_id: int) -> list[EventRow]:
    turns = resting_turns(connection, events, event_turns, changed, scope_id)
    columns = (events.c.id, events.c.session_id, events.c.text, events.c.at, events.c.scope_id, sessions.c.name)
    statement = select(*columns).join(sessions).where(changed).order_by(events.c.id)
    rows = sound_rows(connection, statement, events, scope_id)
    return sound_records(connection, rows, partial(_event_row, turns, scope_id), events, scope_id)


def _event_row(turns: Mapping[int, tuple[RestingTurn, ...]], scope_id: int, row: Row[Any]) -> EventRow:
    resting, at = turns[row.id], datetime.fromisoformat(row.at)
    if at.tzinfo is None or row.scope_id != scope_id:
        raise ValueError(f"event {row.id} is at {row.at!r}, of scope {row.scope_id}")
    event = Event(row.id, row.text, at, row.name, tuple(turn.id for turn in resting))
    return EventRow(event, row.session_id, tuple(turn.index for turn in resting))


def _link(row: Row[Any]) -> Link:
    if row.earlier == row.later:
        raise ValueError(f"event {row.earlier} leads to itself")
    return Link(row.earlier, row.later, Relation(row.relation))


def _insert_events(connection: Connection, session: SessionRow, new: Sequence[NewEvent]) -> dict[int, int]:
    """The stored id of each event by the id that it came with."""
    known = (events.c.session_id == session.id, events.c.position.between(0, _LAST))
    last = connection.scalar(select(func.max(events.c.position)).where(*known))
    ids: dict[int, int] = {}
    for position, (event, turns) in enumerate(new, start=0 if last is None else last + 1):
        owner = {"scope_id": session.scope_id, "session_id": session.id, "position": position}
        values = {**owner, "text": event.text, "at": event.at.isoformat()}
        ids[event.id] = insert_resting(connection, events, event_turns, turns, **values)
    return ids


def _insert_links(connection: Connection, scope_id: int, new: Sequence[Link], ids: dict[int, int]) -> None:
    others = {end for link in new for end in (link.earlier, link.later)} - set(ids)
    known = dict(ids)
    for batch in batches(sorted(others)):
        statement = select(events.c.id).where(events.c.scope_id == scope_id, events.c.id.in_(batch))
        known |= {found: found for found in connection.scalars(statement)}
    rows = [
        {"earlier": known[link.earlier], "later": known[link.later], "relation": link.relation.value}
        for link in new
        if link.earlier in known and link.later in known
    ]
    if rows:
        connection.execute(insert(links), rows)
