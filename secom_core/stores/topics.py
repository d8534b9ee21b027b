"""Topics in the store: the notes on a session, and the versions of topics, each on a note and the version before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, true, update

from .reflections import claim, pending
from .schema import messages, scopes, sessions, topic_note_turns, topic_notes, topic_versions
from .sql import ScopeRow, SessionRow, SqlStore, again_if_contended
from .topic_chains import LAYER, NOTES, batches, drop_notes, drop_topics, touch

__all__ = [
    "LAYER",
    "Changes",
    "NewVersion",
    "NoteRow",
    "NoteTurn",
    "Placed",
    "TopicStore",
    "VersionRow",
]


@dataclass(frozen=True, slots=True, order=True)
class NoteTurn:
    """A turn that a note rests on; they sort by time, then in the order in which they were taken in."""

    at_us: int
    message: int
    index: int
    id: str


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as stored."""

    id: int
    session_id: int
    session: str
    speaker: str
    text: str
    turns: tuple[NoteTurn, ...]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as stored; ``topic`` is the id of the first version of its chain."""

    id: int
    topic: int
    note_id: int
    previous: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What a reader of a scope has to replace: all notes and versions of the sessions that changed.

    Args:
        row: the scope's row as it was when they were read.
        sessions: the ids of the sessions that changed.
        notes: their notes.
        versions: the versions that rest on those.
        last: the id of the scope's latest version; 0 where there is none.
    """

    row: ScopeRow
    sessions: tuple[int, ...]
    notes: tuple[NoteRow, ...]
    versions: tuple[VersionRow, ...]
    last: int


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version to be written.

    Args:
        id: a number below 0 that holds for this call only.
        note_id: the note it rests on.
        previous: the version it continues, stored or new; nothing where it begins a topic.
        text: the topic's summary.
    """

    id: int
    note_id: int
    previous: int | None
    text: str


class Placed(Enum):
    """What became of `TopicStore.place`."""

    SAVED = "saved"
    OUTDATED = "outdated"
    """The topics have changed since they were read: read again and decide again."""
    REFUSED = "refused"
    """The session has changed or was taken in by another writer."""


class TopicStore:
    """A scope's topics, in the bank's own database.

    Args:
        store: the bank's store.

    Raises:
        StoreError: from every method, when the database fails.
    """

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    # -- read -----------------------------------------------------------------------------------------------------

    def changes(self, scope_id: int, since: int) -> Changes | None:
        """What has changed after revision ``since``, as of one moment; nothing where the scope is gone."""
        with self._store.transaction(write=False) as connection:
            row = connection.execute(
                select(scopes.c.id, scopes.c.revision, scopes.c.epoch).where(scopes.c.id == scope_id)
            ).one_or_none()
            if row is None:
                return None
            changed = connection.scalars(
                select(sessions.c.id).where(sessions.c.scope_id == scope_id, sessions.c.revision > since)
            ).all()
            notes: list[NoteRow] = []
            versions: list[VersionRow] = []
            for batch in [None] if since < 0 else batches(changed):
                where = sessions.c.id.in_(batch) if batch is not None else true()
                notes += _notes(connection, scope_id, where)
                versions += _versions(connection, scope_id, where)
            return Changes(ScopeRow(*row), tuple(changed), tuple(notes), tuple(versions), _last(connection, scope_id))

    def notes_pending(self, session: SessionRow) -> int | None:
        """How many of the session's messages its notes have taken in; nothing where they have taken in all."""
        behind = pending(self._store, session.scope_id, NOTES, session=session.id)
        return behind[0][1] if behind else None

    # -- write ----------------------------------------------------------------------------------------------------

    @again_if_contended
    def save_notes(
        self, session: SessionRow, taken: int, new: Sequence[tuple[str, str, Sequence[int]]], stale: Sequence[int]
    ) -> bool:
        """Write the notes on a session, which are in no topic yet, and delete those that are ``stale``; all or nothing.

        Args:
            session: its row as read before they were made.
            taken: how many of its messages the notes had taken in then.
            new: the speaker, the text and the indices of the turns of each.
            stale: the ids of notes that no longer hold.

        Returns:
            Whether it was done: not if the session changed or was forgotten in the meantime, or another writer was
            quicker.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not claim(connection, session, NOTES, taken):
                return False
            drop_notes(connection, session.scope_id, session.id, only=stale)
            for speaker, text, turns in new:
                note_id = _inserted(connection, topic_notes, session_id=session.id, speaker=speaker, text=text)
                connection.execute(insert(topic_note_turns), [{"note_id": note_id, "turn": turn} for turn in turns])
        return True

    @again_if_contended
    def place(self, session: SessionRow, taken: int, last: int, new: Sequence[NewVersion]) -> Placed:
        """Write versions that rest on notes of the session, and mark it as taken in; all or nothing.

        Args:
            session: its row as read before it was decided where they go.
            taken: how many of its messages the layer had taken in then.
            last: the scope's latest version then.
            new: the versions, each after the one that it continues.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not _hold(connection, topic_notes, {each.note_id for each in new}):
                return Placed.REFUSED
            previous = {each.previous for each in new if each.previous is not None and each.previous > 0}
            if _last(connection, session.scope_id) > last or not _hold(connection, topic_versions, previous):
                return Placed.OUTDATED
            if not claim(connection, session, LAYER, taken):
                return Placed.REFUSED
            ids: dict[int, int] = {}
            for each in new:
                before = ids.get(each.previous, each.previous) if each.previous is not None else None
                ids[each.id] = _add_version(connection, session.scope_id, each, before)
        return Placed.SAVED

    @again_if_contended
    def undo(self, scope_id: int, topic: int) -> tuple[int, str] | None:
        """Take the topic's latest version back; the note that it was merged with begins a topic of its own.

        Returns:
            The id of the session and the summary that is gone; nothing where the topic has no version to go back to.
        """
        with self._store.transaction(scope=scope_id) as connection:
            latest = connection.execute(
                select(topic_versions)
                .where(topic_versions.c.scope_id == scope_id, topic_versions.c.topic == topic)
                .order_by(topic_versions.c.id.desc())
                .limit(1)
            ).one_or_none()
            if latest is None or latest.previous is None:
                return None
            connection.execute(delete(topic_versions).where(topic_versions.c.id == latest.id))
            note = connection.execute(select(topic_notes).where(topic_notes.c.id == latest.note_id)).one()
            _add_version(connection, scope_id, NewVersion(-1, note.id, None, note.text), None)
            touch(connection, scope_id, [note.session_id])
        return note.session_id, latest.text

    @again_if_contended
    def drop(self, scope_id: int) -> None:
        """Delete every topic of the scope, and the notes that they rest on."""
        with self._store.transaction(scope=scope_id) as connection:
            touched = connection.scalars(
                select(topic_notes.c.session_id)
                .join(sessions, sessions.c.id == topic_notes.c.session_id)
                .where(sessions.c.scope_id == scope_id)
                .distinct()
            ).all()
            drop_topics(connection, scope_id)
            touch(connection, scope_id, touched)


def _last(connection: Connection, scope_id: int) -> int:
    return connection.scalar(select(func.max(topic_versions.c.id)).where(topic_versions.c.scope_id == scope_id)) or 0


def _hold(connection: Connection, table: Any, ids: set[int]) -> bool:
    return all(
        connection.scalar(select(func.count()).select_from(table).where(table.c.id.in_(batch))) == len(batch)
        for batch in batches(sorted(ids))
    )


def _inserted(connection: Connection, table: Any, **values: Any) -> int:
    made = connection.execute(insert(table).values(**values))
    return int(made.inserted_primary_key[0])  # type: ignore[index]


def _add_version(connection: Connection, scope_id: int, new: NewVersion, previous: int | None) -> int:
    topic = (
        connection.scalar(select(topic_versions.c.topic).where(topic_versions.c.id == previous)) if previous else None
    )
    made = _inserted(
        connection,
        topic_versions,
        scope_id=scope_id,
        topic=topic or 0,
        note_id=new.note_id,
        previous=previous,
        text=new.text,
    )
    if topic is None:
        connection.execute(update(topic_versions).where(topic_versions.c.id == made).values(topic=made))
    return made


def _notes(connection: Connection, scope_id: int, where: Any) -> list[NoteRow]:
    joined = topic_notes.join(sessions, sessions.c.id == topic_notes.c.session_id)
    conditions = (sessions.c.scope_id == scope_id, where)
    first = (
        (messages.c.session_id == topic_notes.c.session_id)
        & (messages.c.turn == topic_note_turns.c.turn)
        & (messages.c.position == 0)
    )
    resting = (
        select(topic_notes.c.id, messages.c.at_us, messages.c.id, messages.c.turn, messages.c.name)
        .select_from(joined.join(topic_note_turns, topic_note_turns.c.note_id == topic_notes.c.id))
        .join(messages, first)
        .where(*conditions)
    )
    turns: dict[int, list[NoteTurn]] = {}
    for note_id, *turn in connection.execute(resting):
        turns.setdefault(note_id, []).append(NoteTurn(*turn))
    columns = (topic_notes.c.id, topic_notes.c.session_id, sessions.c.name, topic_notes.c.speaker, topic_notes.c.text)
    rows = connection.execute(select(*columns).select_from(joined).where(*conditions).order_by(topic_notes.c.id))
    return [NoteRow(*[*row, tuple(sorted(turns.get(row.id, ()), key=lambda turn: turn.index))]) for row in rows]


def _versions(connection: Connection, scope_id: int, where: Any) -> list[VersionRow]:
    statement = (
        select(*(topic_versions.c[name] for name in ("id", "topic", "note_id", "previous", "text")))
        .select_from(
            topic_versions.join(topic_notes, topic_notes.c.id == topic_versions.c.note_id).join(
                sessions, sessions.c.id == topic_notes.c.session_id
            )
        )
        .where(topic_versions.c.scope_id == scope_id, where)
        .order_by(topic_versions.c.id)
    )
    return [VersionRow(*row) for row in connection.execute(statement)]
