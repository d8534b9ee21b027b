"""Chats in a bank, whole: system messages, calls of tools and their results, media; turns hold what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from sqlalchemy import Connection

from ..conversation import Scope, check_scope
from ..layers import Layer, register
from ..stores.rows import SessionRow, Touched
from ..stores.sql import Also, SqlStore
from . import store as rows
from .records import ChatRecord, redacted
from .tables import chat_messages


class Chats:
    """The chats of a bank; ``bank.chats``.

    Args:
        store: where they are.
        redact: takes out of a text what must not be kept.
        current: gives the scope back, after what has ended of it is forgotten.
    """

    def __init__(self, store: SqlStore, redact: Callable[[str], str], current: Callable[[Scope], Scope]) -> None:
        self._store, self._redact, self._current = store, redact, current

    def read(self, scope: Sequence[str], session: str) -> list[ChatRecord]:
        """The chat of a session, in order; nothing where none is kept.

        Raises:
            StoreError: the store failed.
        """
        row = self._store.session_named(self._current(check_scope(scope)), session)
        return rows.records(self._store, row) if row is not None else []

    def write(
        self,
        scope: Sequence[str],
        session: str,
        records: Sequence[ChatRecord],
        *,
        anew: bool = False,
        once: bool = False,
    ) -> bool:
        """Add messages to the chat of a session, redacted.

        Args:
            scope: whose it is.
            session: its name.
            records: in order; those whose turn is not in the bank are left out.
            anew: in the place of all that the chat holds.
            once: add nothing where the chat has all of them.

        Returns:
            Whether it was done: not where nothing of the session is remembered yet.

        Raises:
            StoreError: the store failed; nothing was written.
        """
        row = self._store.session_named(check_scope(scope), session)
        return row is not None and rows.write(self._store, row, self.kept(records), anew=anew, once=once)

    def beside(self, records: Sequence[ChatRecord]) -> list[Also]:
        """What adds messages to the chat in the transaction that writes turns; nothing where there are none."""
        new = self.kept(records)

        def add(connection: Connection, session: SessionRow, touched: Touched) -> None:
            # Messages that are all known were written before, and these with them, or another memory has them.
            rows.add(connection, session, new, touched.places, once=not touched.places)

        return [add] if new else []

    def kept(self, records: Sequence[ChatRecord]) -> list[ChatRecord]:
        """Messages as they are kept: redacted."""
        return [replace(each, body=self.redacted(each.body)) for each in records]

    def redacted(self, value: Any) -> Any:
        """A value that JSON can hold, such as the body of a message, as it is kept."""
        return redacted(value, self._redact)


@register
class ChatLayer(Layer):
    """What moves, leaves and is forgotten with a scope: every bank has it, opened with it or not."""

    name: ClassVar[str] = "chats"
    tables: ClassVar = (chat_messages,)
    listings: ClassVar[Mapping[str, str]] = {"chats": "the messages of sessions as a framework holds them"}
    takes_in_sessions: ClassVar[bool] = False

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete what goes with the turns."""
        rows.forget_turns(connection, session, turns)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete what cannot be read."""
        rows.drop_unsound(connection, scope_id)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a message."""
        return rows.exported(store, scope_id)

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise what cannot be used of a line of an export."""
        if not isinstance(record["session"], str):
            raise TypeError("session is a name")
        ChatRecord.from_json(record)

    @classmethod
    def redacted(cls, records: Sequence[Mapping[str, Any]], redact: Callable[[str], str]) -> list[Mapping[str, Any]]:
        """The messages with their texts redacted."""
        return [{**each, "body": redacted(each["body"], redact)} for each in records]

    @classmethod
    def restore(cls, store: SqlStore, scope_id: int, records: Sequence[Mapping[str, Any]]) -> None:
        """Take chats in."""
        rows.restore(store, scope_id, records)
