"""What answers cited, in the store: written once an answer, with what it taught, and deleted with what it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from ..errors import StoreError
from .schema import citation_turns, citations, is_one_of, learned, messages, scopes
from .sql import SqlStore, again_if_contended

__all__ = [
    "RANKING",
    "CitationRow",
    "clear",
    "latest",
    "learned_version",
    "restore",
    "rows",
    "states",
    "take_in",
    "usefulness",
]

RANKING: Final = "ranking:"
"""How the names of the parts begin that learn weights of signals."""

L = TypeVar("L", bound=str)

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class CitationRow:
    """An answer as stored.

    Args:
        id: grows with every answer.
        decision: the id of what was shown.
        query: the question; nothing where something of the scope was forgotten since.
        shown: what was shown, as `secom_core.reflection.policy.Decision.as_json` gives it.
        cited: the numbers that the answer cited.
        lesson: what came of it.
        at: when it was taken in.
    """

    id: int
    decision: str
    query: str | None
    shown: Mapping[str, Any]
    cited: tuple[int, ...]
    lesson: str
    at: datetime


@again_if_contended
def take_in(
    store: SqlStore,
    scope_id: int,
    part: str,
    row: CitationRow,
    teach: Callable[[str | None], tuple[L, str | None]],
) -> L | None:
    """Write an answer, and what it teaches, in one transaction that no other writer is in.

    Args:
        store: the store.
        scope_id: whose.
        part: what learns.
        row: the answer; its ``id`` and ``lesson`` are passed over.
        teach: given the state of what the part has learned, says what came of the answer, with the new state; without
            one the state stays as it is.

    Returns:
        What came of it; nothing where the same answer was taken in before, or a turn that was shown is gone. The
        version of what was learned is then the answer's id.
    """
    with store.transaction(scope=scope_id) as connection:
        places = _places(connection, scope_id, [turn for turns in row.shown["turn_ids"] for turn in turns])
        if places is None or _is_known(connection, scope_id, row.decision):
            return None
        mark = and_(learned.c.scope_id == scope_id, learned.c.part == part)
        held: str | None = connection.scalar(select(learned.c.state).where(mark))
        if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != row.shown["epoch"]:
            # What was forgotten in the meantime may stand in the question.
            row = replace(row, query=None)
        lesson, state = teach(held)
        number = _insert(connection, scope_id, row, lesson, places)
        if state is not None:
            connection.execute(delete(learned).where(mark))
            connection.execute(insert(learned).values(scope_id=scope_id, part=part, turns=number, state=state))
    return lesson


@again_if_contended
def restore(store: SqlStore, scope_id: int, answers: Sequence[CitationRow]) -> None:
    """Write answers as they were; what the scope has learned is learned again from all that are there then.

    One that is there already is passed over, and so is one that was shown a turn which is not.
    """
    with store.transaction(scope=scope_id) as connection:
        for row in answers:
            places = _places(connection, scope_id, [turn for turns in row.shown["turn_ids"] for turn in turns])
            if places is not None and not _is_known(connection, scope_id, row.decision):
                _insert(connection, scope_id, row, row.lesson, places)
        mark = and_(learned.c.scope_id == scope_id, learned.c.part.startswith(RANKING))
        connection.execute(delete(learned).where(mark))


def _is_known(connection: Connection, scope_id: int, decision: str) -> bool:
    statement = select(citations.c.id).where(citations.c.scope_id == scope_id, citations.c.decision == decision)
    return connection.scalar(statement) is not None


def _places(connection: Connection, scope_id: int, turn_ids: Sequence[str]) -> dict[str, tuple[int, int]] | None:
    """Session and index of each turn; nothing where one is gone."""
    wanted = list(dict.fromkeys(turn_ids))
    found: dict[str, tuple[int, int]] = {}
    for start in range(0, len(wanted), _BATCH):
        statement = select(messages.c.name, messages.c.session_id, messages.c.turn).where(
            messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, wanted[start : start + _BATCH])
        )
        found.update({name: (session_id, turn) for name, session_id, turn in connection.execute(statement)})
    return found if len(found) == len(wanted) else None


def _insert(
    connection: Connection, scope_id: int, row: CitationRow, lesson: str, places: Mapping[str, tuple[int, int]]
) -> int:
    made = connection.execute(
        insert(citations).values(
            scope_id=scope_id,
            decision=row.decision,
            query=row.query,
            shown=json.dumps(row.shown),
            cited=json.dumps(list(row.cited)),
            lesson=lesson,
            at=row.at.isoformat(),
        )
    )
    number = int(made.inserted_primary_key[0])  # type: ignore[index]
    was_cited: dict[tuple[int, int], bool] = {}
    for shown_as, turns in zip(row.shown["numbers"], row.shown["turn_ids"], strict=True):
        for turn in turns:
            was_cited[places[turn]] = was_cited.get(places[turn], False) or shown_as in row.cited
    values = [
        {"citation_id": number, "session_id": session_id, "turn": turn, "cited": int(cited)}
        for (session_id, turn), cited in was_cited.items()
    ]
    if values:
        connection.execute(insert(citation_turns), values)
    return number


def latest(store: SqlStore, scope_id: int) -> int:
    """The id of the scope's latest answer; 0 where there is none."""
    with store.transaction(write=False) as connection:
        statement = select(func.max(citations.c.id)).where(citations.c.scope_id == scope_id)
        return connection.scalar(statement) or 0


def learned_version(store: SqlStore, scope_id: int, part: str) -> int | None:
    """The version of what the part has learned; nothing where it has not."""
    with store.transaction(write=False) as connection:
        found: int | None = connection.scalar(
            select(learned.c.turns).where(learned.c.scope_id == scope_id, learned.c.part == part)
        )
        return found


def states(store: SqlStore, scope_id: int) -> list[str]:
    """What rankings have learned, as JSON: one a set of signals."""
    mine = (learned.c.scope_id == scope_id, learned.c.part.startswith(RANKING))
    with store.transaction(write=False) as connection:
        return list(connection.scalars(select(learned.c.state).where(*mine)))


def rows(store: SqlStore, scope_id: int, *, turn: str | None = None, last: int | None = None) -> list[CitationRow]:
    """The scope's answers, the oldest first.

    Args:
        store: the store.
        scope_id: whose.
        turn: only those that were shown this turn, by its id.
        last: only the latest so many.
    """
    statement = select(citations).where(citations.c.scope_id == scope_id)
    held = and_(messages.c.session_id == citation_turns.c.session_id, messages.c.turn == citation_turns.c.turn)
    of_turn = select(citation_turns.c.citation_id).join(messages, held).where(messages.c.scope_id == scope_id)
    with store.transaction(write=False) as connection:
        if turn is not None:
            statement = statement.where(
                citations.c.id.in_(of_turn.where(is_one_of(connection, messages.c.name, [turn])))
            )
        found = connection.execute(statement.order_by(citations.c.id.desc()).limit(last)).all()
    return [_read(row) for row in reversed(found)]


def _read(row: Row[Any]) -> CitationRow:
    try:
        shown, cited, at = json.loads(row.shown), tuple(json.loads(row.cited)), datetime.fromisoformat(row.at)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"answer {row.id} of the citation log is damaged: {error}") from error
    return CitationRow(row.id, row.decision, row.query, shown, cited, row.lesson, at)


def usefulness(store: SqlStore, scope_id: int, since: int, until: int) -> list[tuple[str, int, int]]:
    """By turn id: in how many answers with ids in ``(since, until]`` it was shown, and in how many of these cited."""
    first = and_(
        messages.c.session_id == citation_turns.c.session_id,
        messages.c.turn == citation_turns.c.turn,
        messages.c.position == 0,
    )
    statement = (
        select(messages.c.name, func.count(), func.sum(citation_turns.c.cited))
        .select_from(
            citation_turns.join(citations, citations.c.id == citation_turns.c.citation_id).join(messages, first)
        )
        .where(citations.c.scope_id == scope_id, citations.c.id > since, citations.c.id <= until)
        .group_by(messages.c.name)
    )
    with store.transaction(write=False) as connection:
        return [(name, shown, int(cited)) for name, shown, cited in connection.execute(statement)]


@again_if_contended
def clear(store: SqlStore, scope_id: int, parts: Sequence[str]) -> None:
    """Delete the scope's answers and what the parts have learned from them."""
    with store.transaction(scope=scope_id) as connection:
        connection.execute(delete(citations).where(citations.c.scope_id == scope_id))
        connection.execute(delete(learned).where(learned.c.scope_id == scope_id, learned.c.part.in_(parts)))
