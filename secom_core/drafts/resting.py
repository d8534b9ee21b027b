"""The turns that a row of a layer rests on: the row's table has a ``session_id``, a second table names the turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, insert, select

from ..stores.schema import messages, sessions
from ..stores.sound import sound_rows
from ..stores.statements import begins_turn, insert_row


@dataclass(frozen=True, slots=True, order=True)
class RestingTurn:
    """A turn that something rests on; they sort by time, then in the order in which they were taken in."""

    at_us: int
    message: int
    session_id: int
    index: int
    id: str


def insert_resting(connection: Connection, rows: Table, turns: Table, indices: Iterable[int], **values: Any) -> int:
    """Insert a row with the turns of its session that it rests on; its id.

    Args:
        connection: a transaction that writes.
        rows: the table of the row.
        turns: the table of its turns, with the row's id first.
        indices: the indices of the turns; never none.
        values: the row's columns.
    """
    made = insert_row(connection, rows, **values)
    owner = turns.columns[0].name
    connection.execute(insert(turns), [{owner: made, "turn": index} for index in indices])
    return made


def resting_turns(
    connection: Connection, rows: Table, turns: Table, condition: ColumnElement[bool], scope_id: int
) -> dict[int, tuple[RestingTurn, ...]]:
    """The turns that rows rest on, by the rows' ids, each row's in the order of the session.

    Args:
        connection: a transaction.
        rows: the table of the rows.
        turns: the table of their turns, with the row's id first.
        condition: on the rows and their sessions.
        scope_id: whose they are.
    """
    owner = turns.columns[0]
    first = begins_turn(rows.c.session_id, turns.c.turn)
    statement = (
        select(owner, messages.c.at_us, messages.c.id, rows.c.session_id, messages.c.turn, messages.c.name)
        .select_from(turns.join(rows).join(sessions).join(messages, first))
        .where(condition)
        .order_by(owner, messages.c.turn)
    )
    found: dict[int, tuple[RestingTurn, ...]] = {}
    for row_id, *turn in sound_rows(connection, statement, turns, scope_id):
        found[row_id] = (*found.get(row_id, ()), RestingTurn(*turn))
    return found
