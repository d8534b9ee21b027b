"""What changed, as a layer: every bank has it; it follows each turn, and is made again by `rebuild`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from sqlalchemy import Connection

from ..conversation import Replacement, Turn
from ..layers import Layer, register
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from . import reading
from . import store as rows
from .asked import replaced_in
from .records import UNRELATED
from .tables import changes, statement_heads


@register
class ChangeLayer(Layer):
    """Which statement took the place of which; without a language model."""

    name: ClassVar[str] = rows.NAME
    tables: ClassVar = (statement_heads, changes)
    listings: ClassVar[Mapping[str, str]] = {"changes": "what was said to have changed, ended or been corrected"}
    takes_in_sessions: ClassVar[bool] = False

    @classmethod
    def replacements(cls, connection: Connection, scope_id: int, turn_ids: Collection[str]) -> Iterable[Replacement]:
        """What of these turns holds no more, with what holds now in its place; and what they took the place of."""
        before = {each.older for each in reading.taking_the_place(connection, scope_id, turn_ids)}
        return [each.replacement for each in reading.superseded(connection, scope_id, before.union(turn_ids))]

    @classmethod
    def replacements_found(
        cls, connection: Connection, scope_id: int, query: str, turns: Sequence[Turn]
    ) -> Iterable[Replacement]:
        """What of these turns tells a value that is asked for, where a later one tells another.

        Nothing of turns of which the language model has said that they are unrelated.
        """
        found = replaced_in(query, turns)
        told = reading.records(connection, scope_id, {each.older for each in found}) if found else ()
        apart = {(each.older, each.newer) for each in told if each.kind == UNRELATED}
        return [each for each in found if (each.older, each.newer) not in apart]

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete what was read of the turns, and the links from and to them."""
        rows.forget_turns(connection, session.id, turns)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete what is there, as it is read again from the turns."""
        rows.drop_all(connection, scope_id)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a link; an import makes them again."""
        with store.transaction(write=False) as connection:
            found = reading.links(connection, scope_id)
        return ({**asdict(each), "at": each.at.isoformat()} for each in found)
