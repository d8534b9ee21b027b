"""Marks by hand as a layer: every bank has it. They are truth: no `rebuild` makes them again, and none loses them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from sqlalchemy import Connection

from ..conversation import Replacement
from ..layers import Layer, register
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from . import store as rows
from .records import Mark
from .tables import turn_marks


@register
class CorrectionLayer(Layer):
    """What was corrected, taken back and pinned by hand, and moves, leaves and is forgotten with its turns."""

    name: ClassVar[str] = "corrections"
    tables: ClassVar = (turn_marks,)
    tables_of_truth: ClassVar = (turn_marks,)
    listings: ClassVar[Mapping[str, str]] = {"corrections": "what was corrected, taken back and pinned by hand"}
    takes_in_sessions: ClassVar[bool] = False

    @classmethod
    def replacements(cls, connection: Connection, scope_id: int, turn_ids: Collection[str]) -> Iterable[Replacement]:
        """What was corrected and taken back; of all turns of the scope, as few ever are."""
        return [made for each in rows.marks(connection, scope_id) if (made := each.replacement) is not None]

    @classmethod
    def pinned(cls, connection: Connection, scope_id: int) -> Iterable[str]:
        """What was pinned, the last pinned first."""
        return [each.turn_id for each in reversed(rows.marks(connection, scope_id)) if each.kind == "pinned"]

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete the marks of the turns, and their names from the marks of others."""
        rows.forget_turns(connection, session, turns)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete what cannot be read."""
        rows.drop_unsound(connection, scope_id)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a mark."""
        with store.transaction(write=False) as connection:
            found = rows.marks(connection, scope_id)
        return (each.as_json for each in found)

    @classmethod
    def salvaged(
        cls, row: Mapping[str, Any], sessions: Mapping[int, str], turns: Mapping[tuple[int, int], str]
    ) -> Mapping[str, Any] | None:
        """The mark of a turn that was found."""
        try:
            turn_id, span = turns[row["session_id"], row["turn"]], rows.span_in(row["place"], row["start"], row["stop"])
            return Mark.from_json({**row, "turn_id": turn_id, "span": span}).as_json
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise what cannot be used of a line of an export."""
        Mark.from_json(record)

    @classmethod
    def restore(cls, store: SqlStore, scope_id: int, records: Sequence[Mapping[str, Any]]) -> None:
        """Take marks in; a turn that has one keeps it."""
        with store.transaction(scope=scope_id) as connection:
            rows.restore(connection, scope_id, [Mark.from_json(each) for each in records])
