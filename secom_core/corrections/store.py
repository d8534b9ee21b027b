"""Marks by hand in the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, bindparam, delete, insert, or_, select, update

from ..errors import InvalidInput
from ..stores.database import retry_if_contended
from ..stores.derived import count_revision
from ..stores.messages import turns_of
from ..stores.rows import SessionRow
from ..stores.schema import is_one_of, messages
from ..stores.sound import collected, sound_records, sound_rows
from ..stores.sql import SqlStore
from ..stores.statements import begins_turn, delete_among
from ..text.batches import batches
from .records import Mark, MarkedSpan, MarkKind
from .tables import turn_marks

_MOST: Final = 1000
"""How many corrections of corrections are followed."""

_MARKS: Final = (
    select(messages.c.name, *(turn_marks.c[each] for each in ("kind", "at", "newer", "place", "start", "stop")))
    .join(messages, begins_turn(turn_marks.c.session_id, turn_marks.c.turn))
    .where(turn_marks.c.scope_id == bindparam("scope"))
    .order_by(turn_marks.c.id)
)


def marks(connection: Connection, scope_id: int) -> list[Mark]:
    """The marks of a scope's turns, in the order in which they were made."""
    rows = sound_rows(connection, _MARKS, turn_marks, scope_id, {"scope": scope_id})
    return sound_records(connection, rows, _mark, turn_marks, scope_id)


def _mark(row: Row[Any]) -> Mark:
    return _read(row.name, row)


def _read(turn_id: str, row: Row[Any]) -> Mark:
    told = {"kind": row.kind, "at": row.at, "newer": row.newer, "span": span_in(row.place, row.start, row.stop)}
    return Mark.from_json({"turn_id": turn_id, **told})


def span_in(*columns: int | None) -> tuple[int | None, ...] | None:
    """What a row's ``place``, ``start`` and ``stop`` say of the part that is meant; nothing where it is all of it."""
    return None if columns == (None, None, None) else columns


@retry_if_contended
def write(store: SqlStore, scope_id: int, change: Callable[[Connection], None]) -> None:
    """Change the marks of a scope in one transaction."""
    with store.transaction(scope=scope_id) as connection:
        change(connection)


def put(connection: Connection, scope_id: int, mark: Mark) -> None:
    """Write a mark in the place of those of its sort on the same words: they are pinned, or hold no more.

    Raises:
        InvalidInput: there is no such turn.
    """
    session_id, turn = place_of(connection, scope_id, mark.turn_id)
    same: tuple[MarkKind, ...] = ("pinned",) if mark.kind == "pinned" else ("corrected", "retracted")
    _remove(connection, session_id, turn, same, mark.span)
    place, start, stop = mark.span or (None, None, None)
    about = {"scope_id": scope_id, "session_id": session_id, "turn": turn, "place": place, "start": start, "stop": stop}
    row = {"newer": mark.newer, "kind": mark.kind, "at": mark.at.isoformat()}
    connection.execute(insert(turn_marks).values(**about, **row))
    count_revision(connection, scope_id)


def remove(connection: Connection, scope_id: int, turn_id: str, kinds: Collection[MarkKind]) -> None:
    """Delete the turn's marks of these kinds, where it has one."""
    _remove(connection, *place_of(connection, scope_id, turn_id), kinds)
    count_revision(connection, scope_id)


def _remove(
    connection: Connection, session_id: int, turn: int, kinds: Collection[MarkKind], span: MarkedSpan | None = None
) -> None:
    """Delete the marks of these kinds that a turn has, or a part of it."""
    mine = [turn_marks.c.session_id == session_id, turn_marks.c.turn == turn, turn_marks.c.kind.in_(kinds)]
    if span is not None:
        place, start, stop = span
        meets = and_(turn_marks.c.place == place, turn_marks.c.start < stop, turn_marks.c.stop > start)
        mine.append(or_(turn_marks.c.place.is_(None), meets))
    connection.execute(delete(turn_marks).where(*mine))


def place_of(connection: Connection, scope_id: int, turn_id: str) -> tuple[int, int]:
    """The id of a turn's session, and its place there; `InvalidInput` where there is no such turn."""
    named = is_one_of(connection, messages.c.name, [turn_id])
    found = connection.execute(
        select(messages.c.session_id, messages.c.turn).where(messages.c.scope_id == scope_id, named)
    ).first()
    if found is None:
        raise InvalidInput(f"no turn of this scope has the id {turn_id!r}")
    return found.session_id, found.turn


def last_of(known: Collection[Mark], turn_id: str) -> str:
    """The turn that was put in the place of all of this one in the end, or itself."""
    newer = {mark.turn_id: mark.newer for mark in known if mark.newer is not None and mark.span is None}
    for _ in range(_MOST):
        if turn_id not in newer:
            break
        turn_id = newer[turn_id]
    return turn_id


def corrected_around(known: Collection[Mark], turn_id: str, span: MarkedSpan | None) -> str | None:
    """The turn that was put in the place of more of this one than a part of it, in the end; nothing where none was."""
    for mark in known:
        if mark.turn_id == turn_id and mark.newer is not None and span is not None and mark.holds_more_than(span):
            return last_of(known, mark.newer)
    return None


def said_since(connection: Connection, scope_id: int, older: Mapping[str, str]) -> dict[str, datetime]:
    """When what corrections say should have been said: when that was said which they correct in the end.

    Args:
        connection: a transaction.
        scope_id: whose turns.
        older: the ids of corrections, each with that of the turn that it corrects.
    """
    first = dict(older)
    for _ in range(_MOST):
        further = {newer: older[corrected] for newer, corrected in first.items() if corrected in older}
        if not further:
            break
        first |= further
    told: dict[str, datetime | None] = {}
    for batch in batches(sorted(set(first.values()))):
        mine = messages.c.scope_id == scope_id, messages.c.position == 0, is_one_of(connection, messages.c.name, batch)
        found = connection.execute(select(messages).where(*mine).order_by(messages.c.session_id, messages.c.turn))
        told |= {
            turn.id: turn.at for _, rows in groupby(found, lambda row: row.session_id) for turn in turns_of([*rows], "")
        }
    return {newer: at for newer, corrected in first.items() if (at := told.get(corrected)) is not None}


def corrections_of(known: Collection[Mark], turn_ids: Collection[str]) -> set[str]:
    """The turns that were put in the place of these, and of one another."""
    found: set[str] = set()
    named = set(turn_ids)
    while named := {mark.newer for mark in known if mark.newer is not None and mark.turn_id in named} - found:
        found |= named
    return found


def standing_at(
    known: Collection[Mark], turn_id: str, spans: Collection[MarkedSpan | None]
) -> Iterator[tuple[str, MarkedSpan | None]]:
    """Where parts of a turn stand today: in it, or where they were corrected, in what was put in their place.

    Args:
        known: the marks of the scope.
        turn_id: a turn in the place of which no other was put as a whole.
        spans: the parts; nothing for all of it, which stands in the turn and in whatever corrects parts of it.
    """
    found: dict[tuple[str, MarkedSpan | None], None] = {}
    for span in spans:
        mine = [mark for mark in known if mark.turn_id == turn_id and mark.newer is not None and mark.meets(span)]
        if span is None or not mine:
            found[turn_id, span] = None
        found.update({(last_of(known, mark.newer), None): None for mark in mine if mark.newer is not None})
    yield from found


def forget_turns(connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
    """Delete the marks of these turns; what one of them had corrected stays taken back, without its name."""
    for batch in batches(sorted(turns)):
        doomed = messages.c.session_id == session.id, messages.c.turn.in_(batch), messages.c.position == 0
        names = list(connection.scalars(select(messages.c.name).where(*doomed)))
        mine = turn_marks.c.scope_id == session.scope_id, turn_marks.c.newer.in_(names)
        connection.execute(update(turn_marks).where(*mine).values(newer=None, kind="retracted"))
    delete_among(connection, turn_marks.c.turn, turns, turn_marks.c.session_id == session.id)


def restore(connection: Connection, scope_id: int, kept: Collection[Mark]) -> None:
    """Take in marks of turns that are there and have none of their sort."""
    have = {(mark.turn_id, mark.kind == "pinned") for mark in marks(connection, scope_id)}
    names = {mark.turn_id for mark in kept} | {mark.newer for mark in kept if mark.newer}
    there: set[str] = set()
    for batch in batches(sorted(names)):
        mine = messages.c.scope_id == scope_id, is_one_of(connection, messages.c.name, batch)
        there.update(connection.scalars(select(messages.c.name).where(*mine, messages.c.position == 0)))
    for mark in kept:
        if mark.turn_id in there and (mark.turn_id, mark.kind == "pinned") not in have:
            lost = mark.newer is not None and mark.newer not in there
            put(connection, scope_id, replace(mark, kind="retracted", newer=None) if lost else mark)


def drop_unsound(connection: Connection, scope_id: int) -> None:
    """Delete the marks that cannot be read, and those of turns that are not there; nobody can make them again."""
    mine = turn_marks.c.scope_id == scope_id
    there = select(messages.c.id).where(begins_turn(turn_marks.c.session_id, turn_marks.c.turn)).exists()
    every = select(turn_marks).where(mine, there)

    def read(row: Row[Any]) -> int:
        _read("", row)
        return int(row.id)

    with collected():
        rows = sound_rows(connection, every, turn_marks, scope_id)
        kept = set(sound_records(connection, rows, read, turn_marks, scope_id))
    held = connection.scalars(select(turn_marks.c.id).where(mine)).all()
    delete_among(connection, turn_marks.c.id, set(held) - kept)
