"""Topics in the store: the notes on a session, and the versions of topics, each on a note and the version before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, delete, exists, func, select, update

from ..derived.progress import changed_since, claim, drop_progress, show_changed
from ..drafts.extraction import Draft, Identity
from ..drafts.resting import RestingTurn, insert_resting, resting_turns
from ..stores.database import retry_if_contended
from ..stores.digests import digest
from ..stores.ownership import delete_of_scope
from ..stores.rows import SessionRow
from ..stores.schema import sessions, vectors
from ..stores.sound import sound_records, sound_rows
from ..stores.sql import SqlStore
from ..stores.statements import delete_among, insert_row
from ..text.batches import batches
from .tables import topic_note_turns, topic_notes, topic_versions

LAYER: Final = "topics"
TABLES: Final = (topic_notes, topic_note_turns, topic_versions)
NOTES: Final = "topic-notes"
"""The name under which it is noted how many messages of a session the notes on it have taken in."""


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as stored, with the turns that it rests on in the order of its session."""

    id: int
    session_id: int
    session: str
    speaker: str
    text: str
    turns: tuple[RestingTurn, ...]

    @property
    def identity(self) -> Identity:
        """What makes it equal to a draft."""
        return self.speaker, self.text, tuple(turn.index for turn in self.turns)


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as stored; ``topic`` is the id of the first version of its chain."""

    id: int
    topic: int
    text: str
    note: NoteRow


@dataclass(frozen=True, slots=True)
class Changes:
    """What a reader of a scope has to replace: all notes and versions of the sessions that changed.

    Args:
        sessions: the ids of the sessions that changed.
        notes: their notes, by id.
        versions: the versions that rest on those.
        last: the id of the scope's latest version; 0 where there is none.
    """

    sessions: Sequence[int]
    notes: Mapping[int, NoteRow]
    versions: Sequence[VersionRow]
    last: int


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version to be written.

    Args:
        note_id: the note it rests on.
        previous: the version it continues; of the new ones the first is -1, the second -2. Nothing where it begins a
            topic.
        text: the topic's summary.
    """

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

    def changes(self, scope_id: int, since: int) -> Changes:
        """What has changed after revision ``since``, as of one moment."""
        changed = changed_since(scope_id, since)
        with self._store.transaction(write=False) as connection:
            notes = _notes(connection, changed, scope_id)
            return Changes(
                connection.scalars(select(sessions.c.id).where(changed)).all(),
                notes,
                _versions(connection, changed, notes, scope_id),
                _last(connection, scope_id),
            )

    # -- write ----------------------------------------------------------------------------------------------------

    @retry_if_contended
    def save_notes(self, session: SessionRow, taken: int, new: Sequence[Draft], stale: Sequence[int]) -> bool:
        """Write the notes on a session, which are in no topic yet, and delete those that are ``stale``; all or nothing.

        Args:
            session: its row as read before they were made.
            taken: how many of its messages the notes had taken in then.
            new: what is to be noted.
            stale: the ids of notes that no longer hold.

        Returns:
            Whether it was done: not if the session changed or was forgotten in the meantime, or another writer was
            quicker.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not (_hold(connection, topic_notes, {*stale}) and claim(connection, session, NOTES, taken)):
                return False
            drop_notes(connection, session.scope_id, session.id, only=stale)
            for draft in new:
                values = {"session_id": session.id, "speaker": draft.speaker, "text": draft.text}
                insert_resting(connection, topic_notes, topic_note_turns, draft.indices, **values)
        return True

    @retry_if_contended
    def place(
        self, session: SessionRow, taken: int, last: int, new: Sequence[NewVersion], *, guesses: int = 0
    ) -> Placed:
        """Write versions that rest on notes of the session, and mark it as taken in; all or nothing.

        Args:
            session: its row as read before it was decided where they go.
            taken: how many of its messages the layer had taken in then.
            last: the scope's latest version then.
            new: the versions, each after the one that it continues.
            guesses: as `secom_core.derived.progress.claim` takes it.
        """
        with self._store.transaction(durable=False, scope=session.scope_id) as connection:
            if not _hold(connection, topic_notes, {each.note_id for each in new}):
                return Placed.REFUSED
            previous = {each.previous for each in new if each.previous is not None and each.previous > 0}
            if _last(connection, session.scope_id) > last or not _hold(connection, topic_versions, previous):
                return Placed.OUTDATED
            if not claim(connection, session, LAYER, taken, guesses=guesses):
                return Placed.REFUSED
            ids: dict[int, int] = {}
            for number, each in enumerate(new, start=1):
                before = ids.get(each.previous, each.previous) if each.previous is not None else None
                ids[-number] = _add_version(connection, session.scope_id, each, before)
        return Placed.SAVED

    @retry_if_contended
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
            _add_version(connection, scope_id, NewVersion(note.id, None, note.text), None)
            show_changed(connection, scope_id, [note.session_id])
        return note.session_id, latest.text

    @retry_if_contended
    def drop(self, scope_id: int) -> None:
        """Delete every topic of the scope, and the notes that they rest on."""
        with self._store.transaction(scope=scope_id) as connection:
            of_scope = connection.scalars(select(sessions.c.id).where(sessions.c.scope_id == scope_id)).all()
            delete_of_scope(connection, TABLES, scope_id)
            show_changed(connection, scope_id, of_scope)


def _last(connection: Connection, scope_id: int) -> int:
    return connection.scalar(select(func.max(topic_versions.c.id)).where(topic_versions.c.scope_id == scope_id)) or 0


def _hold(connection: Connection, table: Any, ids: set[int]) -> bool:
    return all(
        connection.scalar(select(func.count()).select_from(table).where(table.c.id.in_(batch))) == len(batch)
        for batch in batches(sorted(ids))
    )


def _add_version(connection: Connection, scope_id: int, new: NewVersion, previous: int | None) -> int:
    same = select(topic_versions.c.topic).where(topic_versions.c.id == previous)
    topic = connection.scalar(same) if previous is not None else None
    fields = {"note_id": new.note_id, "previous": previous, "text": new.text}
    made = insert_row(connection, topic_versions, scope_id=scope_id, topic=topic or 0, **fields)
    if topic is None:
        connection.execute(update(topic_versions).where(topic_versions.c.id == made).values(topic=made))
    return made


def _notes(connection: Connection, changed: ColumnElement[bool], scope_id: int) -> dict[int, NoteRow]:
    turns = resting_turns(connection, topic_notes, topic_note_turns, changed, scope_id)
    columns = (topic_notes.c.id, topic_notes.c.session_id, sessions.c.name, topic_notes.c.speaker, topic_notes.c.text)
    elsewhere = (topic_versions.c.note_id == topic_notes.c.id, topic_versions.c.scope_id != sessions.c.scope_id)
    statement = select(*columns, exists().where(*elsewhere)).join(sessions).where(changed).order_by(topic_notes.c.id)
    rows = sound_rows(connection, statement, topic_notes, scope_id)
    found = sound_records(connection, rows, partial(_note, turns), topic_notes, scope_id)
    return {note.id: note for note in found}


def _note(turns: Mapping[int, tuple[RestingTurn, ...]], row: Any) -> NoteRow:
    *fields, is_elsewhere = row
    if is_elsewhere:
        raise ValueError(f"note {row.id} is in a topic of another scope")
    return NoteRow(*[*fields, turns[row.id]])


def _versions(
    connection: Connection, changed: ColumnElement[bool], notes: Mapping[int, NoteRow], scope_id: int
) -> list[VersionRow]:
    columns = (topic_versions.c.id, topic_versions.c.topic, topic_versions.c.text, topic_versions.c.note_id)
    joined = topic_versions.join(topic_notes).join(sessions, sessions.c.id == topic_notes.c.session_id)
    statement = select(*columns).select_from(joined).where(changed).order_by(topic_versions.c.id)
    rows = sound_rows(connection, statement, topic_versions, scope_id)
    return sound_records(connection, rows, partial(_version, notes), topic_versions, scope_id)


def _version(notes: Mapping[int, NoteRow], row: Row[Any]) -> VersionRow:
    return VersionRow(row.id, row.topic, row.text, notes[row.note_id])


# -- deletion, inside somebody else's transaction -------------------------------------------------------------


def drop_notes(connection: Connection, scope_id: int, session_id: int, *, only: Sequence[int] | None = None) -> None:
    """Delete notes of a session, each version that rests on one, and all that was made from such a version.

    What other sessions had added to those topics is free again: its sessions are to be taken in anew. Nothing of the
    words that are gone stays, neither in versions nor in vectors.

    Args:
        connection: a transaction that writes.
        scope_id: the session's scope.
        session_id: the session.
        only: the ids of the notes that go; all of the session's unless given.
    """
    own = select(topic_notes.c.id).where(topic_notes.c.session_id == session_id)
    for batch in batches(only) if only is not None else [None]:
        going = own if batch is None else own.where(topic_notes.c.id.in_(batch))
        _drop_versions(connection, scope_id, going)
        connection.execute(delete(topic_notes).where(topic_notes.c.id.in_(going)))


def _drop_versions(connection: Connection, scope_id: int, notes: Any) -> None:
    """Delete the versions that rest on the notes and those after them in their topics, the last ones first."""
    first = (
        select(topic_versions.c.topic, func.min(topic_versions.c.id).label("id"))
        .where(topic_versions.c.note_id.in_(notes))
        .group_by(topic_versions.c.topic)
        .subquery()
    )
    of_topics = (
        select(topic_versions.c.id, topic_versions.c.text, topic_notes.c.session_id)
        .join(first, (first.c.topic == topic_versions.c.topic) & (first.c.id <= topic_versions.c.id))
        .outerjoin(topic_notes, topic_notes.c.id == topic_versions.c.note_id)
    )
    doomed = connection.execute(of_topics).all()
    ids = [row.id for row in doomed]
    for batch in batches(ids):
        # A damaged version may be made from one of another topic.
        from_these = update(topic_versions).where(
            topic_versions.c.previous.in_(batch), topic_versions.c.id.not_in(batch)
        )
        connection.execute(from_these.values(previous=None))
    delete_among(connection, topic_versions.c.id, ids)
    by_session: dict[int, list[str]] = {}
    for row in doomed:
        if row.session_id is not None and isinstance(row.text, str):
            by_session.setdefault(row.session_id, []).append(digest(row.text))
    for session_id, digests in by_session.items():
        delete_among(connection, vectors.c.digest, digests, vectors.c.session_id == session_id)
    if by_session:
        drop_progress(connection, scope_id, [LAYER], session_ids=list(by_session))
        show_changed(connection, scope_id, by_session)
