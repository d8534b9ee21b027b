"""Deleting notes and the versions of topics that rest on them, inside somebody else's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, func, select, update

from .digests import digest
from .schema import reflections, scopes, sessions, topic_notes, topic_versions, vectors

__all__ = ["LAYER", "NOTES", "batches", "drop_notes", "drop_topics", "touch"]

LAYER: Final = "topics"
NOTES: Final = "topic-notes"
"""The layer under which it is kept how many messages of a session the notes on it have taken in."""
_BATCH: Final = 500


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


def drop_topics(connection: Connection, scope_id: int) -> None:
    """Delete everything about the scope's topics but which sessions were taken in."""
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == scope_id)
    connection.execute(delete(topic_versions).where(topic_versions.c.scope_id == scope_id))
    connection.execute(delete(topic_notes).where(topic_notes.c.session_id.in_(of_scope)))
    connection.execute(delete(reflections).where(reflections.c.layer == NOTES, reflections.c.session_id.in_(of_scope)))


def touch(connection: Connection, scope_id: int, session_ids: Iterable[int]) -> None:
    """Let readers that follow the scope by revision see these sessions as changed."""
    connection.execute(update(scopes).where(scopes.c.id == scope_id).values(revision=scopes.c.revision + 1))
    revision = select(scopes.c.revision).where(scopes.c.id == scope_id).scalar_subquery()
    for batch in batches(sorted(set(session_ids))):
        connection.execute(update(sessions).where(sessions.c.id.in_(batch)).values(revision=revision))


def batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The values in runs that one statement can name."""
    for start in range(0, len(values), _BATCH):
        yield values[start : start + _BATCH]


def _drop_versions(connection: Connection, scope_id: int, notes: Any) -> None:
    """Delete the versions that rest on the notes and those after them in their topics, the last ones first."""
    first = (
        select(topic_versions.c.topic, func.min(topic_versions.c.id).label("id"))
        .where(topic_versions.c.note_id.in_(notes))
        .group_by(topic_versions.c.topic)
        .subquery()
    )
    doomed = connection.execute(
        select(topic_versions.c.id, topic_versions.c.text, topic_notes.c.session_id)
        .join(first, (first.c.topic == topic_versions.c.topic) & (first.c.id <= topic_versions.c.id))
        .join(topic_notes, topic_notes.c.id == topic_versions.c.note_id)
        .order_by(topic_versions.c.id.desc())
    ).all()
    for batch in batches([row.id for row in doomed]):
        connection.execute(delete(topic_versions).where(topic_versions.c.id.in_(batch)))
    by_session: dict[int, list[str]] = {}
    for row in doomed:
        by_session.setdefault(row.session_id, []).append(digest(row.text))
    for session_id, digests in by_session.items():
        for batch in batches(digests):
            connection.execute(delete(vectors).where(vectors.c.session_id == session_id, vectors.c.digest.in_(batch)))
        connection.execute(
            delete(reflections).where(reflections.c.session_id == session_id, reflections.c.layer == LAYER)
        )
    if by_session:
        touch(connection, scope_id, by_session)
