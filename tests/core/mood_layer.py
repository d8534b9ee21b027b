"""A layer of somebody's own, whole: the feelings that each closed session names, with the turns that name them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from sqlalchemy import Column, ForeignKey, Integer, MetaData, Table, Text, delete, insert, select

from secom_core.conversation import check_scope
from secom_core.derived.progress import claim
from secom_core.layers import ClosedSession, Layer, Request, register
from secom_core.memory import Section
from secom_core.stores.ownership import of_scope
from secom_core.stores.schema import sessions
from secom_core.stores.sql import SqlStore

FEELING = re.compile(r"\b(?:happy|sad|angry|afraid|proud|tired)\b", re.I)
moods = Table(
    "moods",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("session_id", ForeignKey(sessions.c.id, ondelete="CASCADE"), nullable=False),
    Column("word", Text, nullable=False),
    Column("turn_id", Text, nullable=False),
)


@register
class MoodLayer(Layer):
    """Which feelings were named, and in which turns."""

    name: ClassVar[str] = "moods"
    tables: ClassVar = (moods,)
    listings: ClassVar[Mapping[str, str]] = {"moods": "the feelings that each session names"}

    def make(self, session: ClosedSession) -> bool:
        found = [(word.lower(), turn.id) for turn in session.turns for word in FEELING.findall(turn.content)]
        with self.context.store.transaction(scope=session.row.scope_id) as connection:
            if not claim(connection, session.row, self.name, session.taken):
                return False
            connection.execute(delete(moods).where(moods.c.session_id == session.row.id))
            for word, turn_id in found:
                connection.execute(insert(moods).values(session_id=session.row.id, word=word, turn_id=turn_id))
        return True

    def find(self, scope: Sequence[str], query: str) -> list[tuple[str, str]]:
        """The feelings that the query names, each with a turn."""
        row = self.context.store.scope(check_scope(scope))
        wanted = {word.lower() for word in FEELING.findall(query)}
        rows = self.export(self.context.store, row.id) if row is not None else ()
        return [(each["word"], each["turn_id"]) for each in rows if each["word"] in wanted]

    def section(self, request: Request) -> Section | None:
        found = self.find(request.scope, request.query)
        entries = tuple(f"somebody was {word}\n" for word, _ in found)
        return Section(self.name, "Feelings:", entries, tuple(found), tuple((turn,) for _, turn in found))

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        with store.transaction(write=False) as connection:
            rows = connection.execute(select(moods).where(of_scope(moods, scope_id)).order_by(moods.c.id)).all()
        return iter([{"kind": "mood", "word": row.word, "turn_id": row.turn_id} for row in rows])
