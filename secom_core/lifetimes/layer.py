"""Lifetimes as a layer: every bank has it, and they move, leave and are forgotten with what they are of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from sqlalchemy import Connection

from ..layers import Layer, register
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from ..stores.statements import delete_among
from . import store as rows
from .records import Lifetime, cap_json, from_json, lifetime_json
from .tables import lifetimes, scope_caps

_EARLIEST: Final = 946_684_800_000_000
_LATEST: Final = 32_503_680_000_000_000
"""An end between the years 2000 and 3000, in microseconds since 1970."""


@register
class LifetimeLayer(Layer):
    """When turns, sessions and the scope end, and how much the scope may hold."""

    name: ClassVar[str] = "lifetimes"
    tables: ClassVar = (lifetimes, scope_caps)
    tables_of_truth: ClassVar = (lifetimes,)
    listings: ClassVar[Mapping[str, str]] = {"lifetimes": "when what ends, and how much the scope may hold"}
    takes_in_sessions: ClassVar[bool] = False

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete the ends of the turns; those of the session go with its last turn."""
        delete_among(connection, lifetimes.c.turn, turns, lifetimes.c.session_id == session.id)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete what cannot be read; nobody can make it again."""
        rows.drop_unsound(connection, scope_id)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line an end, and one for the cap."""
        with store.transaction(write=False) as connection:
            found = [lifetime_json(each) for each in rows.ends(connection, scope_id)]
            cap = rows.cap_of(connection, scope_id)
        yield from found
        if cap is not None:
            yield cap_json(cap)

    @classmethod
    def salvaged(
        cls, row: Mapping[str, Any], sessions: Mapping[int, str], turns: Mapping[tuple[int, int], str]
    ) -> Mapping[str, Any] | None:
        """The end of a turn or a session that was found, or of the scope. Numbers that may be anything's are none."""
        session_id, turn, at = row["session_id"], row["turn"], row["at_us"]
        of_scope = session_id is None and turn is None
        known = of_scope or (session_id in sessions and (turn is None or (session_id, turn) in turns))
        if not known or not _EARLIEST <= at < _LATEST:
            return None
        return lifetime_json(Lifetime(rows.moment_of(at), sessions.get(session_id), turns.get((session_id, turn))))

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise what cannot be used of a line of an export."""
        from_json(record)

    @classmethod
    def restore(cls, store: SqlStore, scope_id: int, records: Sequence[Mapping[str, Any]]) -> None:
        """Take ends in, and a cap where the scope has none."""
        with store.transaction(scope=scope_id) as connection:
            rows.restore(connection, scope_id, [from_json(each) for each in records])
