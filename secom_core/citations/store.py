"""What answers cited, in the store: written once an answer, and deleted with what it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, exists, insert, select, update

from ..stores.database import retry_if_contended
from ..stores.rows import SessionRow
from ..stores.schema import is_one_of, messages, part_states, scopes, sessions
from ..stores.sound import collected, sound_records, sound_rows
from ..stores.sql import SqlStore
from ..stores.statements import delete_among, insert_row
from ..text.batches import batches
from .records import CitationEntry, LessonKind
from .tables import citation_turns, citations

RERANKER: Final = "reranker"
"""The name of the paper's reranker among the parts whose state is kept with a scope."""


class KeptState(NamedTuple):
    """What the paper's reranker has learned.

    Args:
        version: of its state; nothing where there is none.
        read: gives the state, which may be long.
    """

    version: int | None
    read: Callable[[], str | None]


Teach = Callable[[int, KeptState], "str | None"]
"""Given an answer's number and what was learned before, gives the new state; nothing where it teaches nothing."""


@retry_if_contended
def take_in(store: SqlStore, scope_id: int, answer: CitationEntry, teach: Teach) -> LessonKind:
    """Write an answer, and what it teaches, in one transaction that no other writer is in.

    Args:
        store: the store.
        scope_id: the scope that was searched.
        answer: the answer; its ``number`` is passed over.
        teach: what the paper's reranker learns from it. The version of its state is then the answer's number.

    Returns:
        What came of it; ``"known"`` where the same answer was taken in before, or what was shown is of another scope or
        gone.
    """
    with store.transaction(scope=scope_id) as connection:
        places = _new_places(connection, scope_id, answer)
        if places is None:
            return "known"
        mine = _is_reranker_of(scope_id)
        version: int | None = connection.scalar(select(part_states.c.version).where(mine))
        before = KeptState(version, lambda: connection.scalar(select(part_states.c.state).where(mine)))
        if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != answer.impression.epoch:
            # What was forgotten in the meantime may stand in the question.
            answer = replace(answer, query=None)
        number = _insert(connection, scope_id, answer, places)
        state = teach(number, before)
        if state is None:
            return "recorded"
        connection.execute(delete(part_states).where(mine))
        values = {"scope_id": scope_id, "part": RERANKER, "version": number, "state": state}
        connection.execute(insert(part_states).values(values))
    return "taught"


@retry_if_contended
def restore(store: SqlStore, scope_id: int, answers: Sequence[CitationEntry]) -> None:
    """Write answers as they were.

    One that is there already is passed over, and so is one that was shown a turn which is not.
    """
    with store.transaction(scope=scope_id) as connection:
        for answer in answers:
            places = _new_places(connection, scope_id, answer)
            if places is not None:
                _insert(connection, scope_id, answer, places)


def _new_places(connection: Connection, scope_id: int, answer: CitationEntry) -> dict[str, tuple[int, int]] | None:
    """Session and index of each turn that was shown; nothing where one is gone, or the answer is there already.

    Nor where another scope was searched: its turns may have the same ids.
    """
    if answer.impression.scope_id not in (None, scope_id):
        return None
    same = select(citations.c.id).where(citations.c.scope_id == scope_id, citations.c.decision == answer.id)
    if connection.scalar(same) is not None:
        return None
    turn_ids = list(dict.fromkeys(chain.from_iterable(answer.impression.turn_ids)))
    found: dict[str, tuple[int, int]] = {}
    for batch in batches(turn_ids):
        statement = select(messages.c.name, messages.c.session_id, messages.c.turn).where(
            messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, batch)
        )
        found.update({name: (session_id, turn) for name, session_id, turn in connection.execute(statement)})
    return found if len(found) == len(turn_ids) else None


def _insert(connection: Connection, scope_id: int, answer: CitationEntry, places: Mapping[str, tuple[int, int]]) -> int:
    impression, numbers = json.dumps(answer.impression.as_json()), json.dumps(answer.cited)
    values = {"decision": answer.id, "query": answer.query, "at": answer.at.isoformat()}
    number = insert_row(connection, citations, scope_id=scope_id, shown=impression, cited=numbers, **values)
    turns = [{"citation_id": number, "session_id": session_id, "turn": turn} for session_id, turn in places.values()]
    if turns:
        connection.execute(insert(citation_turns), turns)
    return number


def state_version(store: SqlStore, scope_id: int) -> int | None:
    """The version of what the reranker has learned; nothing where it has not."""
    with store.transaction(write=False) as connection:
        statement = select(part_states.c.version).where(_is_reranker_of(scope_id))
        rows = sound_rows(connection, statement, part_states, scope_id)
    return int(rows[0].version) if rows else None


def _is_reranker_of(scope_id: int) -> ColumnElement[bool]:
    return and_(part_states.c.scope_id == scope_id, part_states.c.part == RERANKER)


def rows(store: SqlStore, scope_id: int, *, turn: str | None = None, last: int | None = None) -> list[CitationEntry]:
    """The scope's answers, the oldest first.

    Args:
        store: the store.
        scope_id: whose.
        turn: only those that were shown this turn, by its id.
        last: only the latest so many.
    """
    statement = select(citations).where(citations.c.scope_id == scope_id, ~_shown_elsewhere())
    same = and_(messages.c.session_id == citation_turns.c.session_id, messages.c.turn == citation_turns.c.turn)
    of_turn = select(citation_turns.c.citation_id).join(messages, same).where(messages.c.scope_id == scope_id)
    with store.transaction(write=False) as connection:
        if turn is not None:
            ids = of_turn.where(is_one_of(connection, messages.c.name, [turn]))
            statement = statement.where(citations.c.id.in_(ids))
        found = sound_rows(connection, statement.order_by(citations.c.id.desc()).limit(last), citations, scope_id)
        return sound_records(connection, found[::-1], _read, citations, scope_id)


def _shown_elsewhere() -> ColumnElement[bool]:
    """The condition that an answer was shown a turn of another scope than its own: it is damaged."""
    same = (citation_turns.c.citation_id == citations.c.id, sessions.c.id == citation_turns.c.session_id)
    return exists().where(*same, sessions.c.scope_id != citations.c.scope_id)


def _read(row: Row[Any]) -> CitationEntry:
    fields = {**row._mapping, "shown": json.loads(row.shown), "cited": json.loads(row.cited)}
    return replace(CitationEntry.from_json(fields), number=row.id)


@retry_if_contended
def clear(store: SqlStore, scope_id: int) -> None:
    """Delete the scope's answers, and what the reranker has learned from them."""
    with store.transaction(scope=scope_id) as connection:
        connection.execute(delete(citations).where(citations.c.scope_id == scope_id))
        connection.execute(delete(part_states).where(_is_reranker_of(scope_id)))


def drop_unsound(connection: Connection, scope_id: int) -> None:
    """Delete the scope's answers that cannot be read."""
    mine = (citations.c.scope_id == scope_id, ~_shown_elsewhere())
    with collected():
        rows = sound_rows(connection, select(citations).where(*mine), citations, scope_id)
        kept = {each.number for each in sound_records(connection, rows, _read, citations, scope_id)}
    held = connection.scalars(select(citations.c.id).where(citations.c.scope_id == scope_id)).all()
    for column in (citation_turns.c.citation_id, citations.c.id):
        delete_among(connection, column, set(held) - kept)


def forget_answers(connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
    """Delete every answer that was shown one of the turns, and the words of all other questions of the scope.

    A question may repeat what was said in a turn.
    """
    for batch in batches(sorted(turns)):
        of_turns = select(citation_turns.c.citation_id).where(
            citation_turns.c.session_id == session.id, citation_turns.c.turn.in_(batch)
        )
        connection.execute(delete(citations).where(citations.c.id.in_(of_turns)))
    connection.execute(update(citations).where(citations.c.scope_id == session.scope_id).values(query=None))
