"""The messages of a session: a window of them in memory, and all of them in the bank."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.memory.types import BaseMemory

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import shared_writer, waiting_for_a_lock
from secom_core.bank.unwritten import is_forgotten, with_id_and_time
from secom_core.conversation import Message, Scope, check_scope
from secom_core.errors import StoreLocked
from secom_core.processes import ForkLock

from .agent_steps import UserHook, said_by_user, steps_of
from .convert import from_message, to_messages, without_recalled
from .known_messages import match_messages, memorable_by_place, with_turns
from .unstored import (
    FAILURES,
    Unstored,
    keep_meanwhile,
    store_all,
    turns_of,
    warn_store_failed,
)
from .window import WindowEntry, forgotten_turns, without_forgotten


class SessionMessages(BaseMemory):
    """Stores each message of a session in the bank when it is put, and keeps the window of the session.

    `SecomMemory` adds what is recalled for a query.

    Args:
        bank: where the messages are remembered.
        by_user: says which messages with the role of the user are the user's own words.
        **data: the fields, as `SecomMemory` explains them.
    """

    model_config = ConfigDict(extra="forbid")

    scope: tuple[str, ...]
    session: str = Field(min_length=1)
    store_path: str | None = None
    remember_tools: bool = False
    write: Literal["inline", "background"] = "inline"
    on_error: Literal["warn", "raise"] = "warn"
    window: list[WindowEntry] = Field(default_factory=list)
    unstored: list[Unstored] = Field(default_factory=list)
    _bank: MemoryBank = PrivateAttr()
    _lock: Any = PrivateAttr()
    _writer: BackgroundWriter | None = PrivateAttr(default=None)
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)
    _by_user: UserHook = PrivateAttr()

    def __init__(self, bank: MemoryBank, by_user: UserHook = said_by_user, **data: Any) -> None:
        data.pop("class_name", None)  # dumps have it
        super().__init__(**{**data, "store_path": bank.storage.path})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._lock, self._by_user = bank, ForkLock(), by_user
        self._writer = shared_writer(bank) if self.write == "background" else None
        if "window" not in data:
            self.window = self._continued()

    @field_validator("scope")
    @classmethod
    def _check_scope(cls, value: Sequence[str]) -> Scope:
        return check_scope(value)

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Scope and session, without any message: workflows log this at every event."""
        return [("scope", self.scope), ("session", self.session), ("messages", len(self.window))]

    @property
    def bank(self) -> MemoryBank:
        """Where everything is remembered."""
        return self._bank

    # -- reading --------------------------------------------------------------------------------------------------

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session as it was put, without the exchanges that were forgotten since."""
        with self._lock:
            self._drop_forgotten()
            return [entry.message.model_copy(deep=True) for entry in self.window]

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """A dict that JSON can hold: the file of the bank, scope, session, window and options."""
        with self._lock:
            self._drop_forgotten()
        return super().to_dict(**{"mode": "json", **kwargs})

    def _drop_forgotten(self) -> tuple[int, int] | None:
        """Drop from the window what was forgotten since; returns the scope's epoch, nothing where it is not known."""
        try:
            epoch = self._bank.storage.epoch(self.scope)
            if epoch != self._epoch and any(entry.turn for entry in self.window):
                waiting = {message.id for batch in self.unstored for message in batch.messages}
                gone = forgotten_turns(self._bank, self.scope, self.window, session=self.session, waiting=waiting)
                self.window = without_forgotten(self.window, gone)
                # The exchange that is still being answered goes with the next query.
                self._epoch = None if any(entry.turn in gone for entry in self.window) else epoch
        except FAILURES as error:
            self._failed("forgotten messages may still be shown", error)
            return self._last_epoch
        return epoch

    @property
    def _last_epoch(self) -> tuple[int, int] | None:
        """The epoch to go on with where the store does not tell it."""
        return None

    def _failed(self, consequence: str, error: Exception) -> None:
        if self.on_error == "raise":
            raise error
        warn_store_failed(consequence, error)

    # -- writing --------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message to the session and remember it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the session and remember them, all together."""
        entries = self._entries(messages)
        with self._lock:
            entries = self._remembered([self._received(entry) for entry in entries])
            self.window = [*self.window, *entries]

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the window; messages that the session does not hold yet are remembered."""
        entries = self._entries(messages)
        with self._lock:
            self.window = self._remembered(entries, known=self._known([entry.seen for entry in entries]))

    def reset(self) -> None:
        """Begin a new session. What was remembered stays; `MemoryBank.forget` deletes it."""
        with self._lock:
            try:
                self._store_unstored()
                names = self._bank.sessions(self.scope)
                if self.session in names:
                    self._target.close_session(self.scope, self.session)
                    self.session = _next_name(self.session, names)
            except FAILURES as error:
                self._failed("the session is left open", error)
                self.session = uuid.uuid4().hex
            self.window = []

    def flush(self, timeout: float | None = None) -> bool:
        """Store what the store had refused, and wait until the background writer has made everything of it.

        Args:
            timeout: how many seconds to wait at most; as long as it takes unless given.

        Returns:
            Whether everything is stored and made. What is not is made by the next recall.
        """
        with self._lock:
            try:
                self._store_unstored()
            except FAILURES as error:
                self._failed("messages are kept and stored with the next ones", error)
                return False
        return self._writer is None or self._writer.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, off the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def _entries(self, messages: Iterable[ChatMessage]) -> list[WindowEntry]:
        cleaned = _cleaned(messages)
        steps = steps_of(cleaned, self._by_user)
        return [WindowEntry(message=chat, step=step) for chat, step in zip(cleaned, steps, strict=True)]

    def _received(self, entry: WindowEntry) -> WindowEntry:
        """The entry as it is kept."""
        return entry

    @property
    def _target(self) -> MemoryBank | BackgroundWriter:
        return self._writer or self._bank

    def _remembered(self, entries: Sequence[WindowEntry], known: dict[int, str] | None = None) -> list[WindowEntry]:
        """The entries with their turns; those that have none yet, and are worth it, go into the bank."""
        turns: dict[int, str] = dict(known or {})
        new = {
            place: with_id_and_time(message)
            for place, entry in enumerate(entries)
            if place not in turns
            for message in to_messages([entry.seen], tools=self.remember_tools)
        }
        if new:
            turns |= zip(new, self._stored(list(new.values())), strict=True)
        return [entry.model_copy(update={"turn": turns.get(place)}) for place, entry in enumerate(entries)]

    def _stored(self, messages: list[Message]) -> list[str]:
        """The turns of the messages; where the store fails, the ids of the messages stand for them until it works."""
        waiting = Unstored(session=self.session, messages=messages)
        try:
            with waiting_for_a_lock(shared_writer(self._bank), self.scope):
                self._store_unstored()
                return turns_of(messages, self._target.remember(self.scope, messages, session=self.session).turn_ids)
        except StoreLocked:
            keep_meanwhile(self._bank, self.scope, [waiting])
        except FAILURES as error:
            self._failed("messages are kept and stored with the next ones", error)
        self.unstored = [*self.unstored, waiting]
        return [str(message.id) for message in messages]

    def _store_unstored(self) -> None:
        if not self.unstored:
            return
        if is_forgotten(self._epoch, self._bank.storage.epoch(self.scope)):
            self.unstored = []
        turns = store_all(self._target, self.scope, self.unstored)
        for entry in self.window:
            entry.turn = turns.get(entry.turn or "", entry.turn)

    # -- what the session holds already ---------------------------------------------------------------------------

    def _known(self, chats: Sequence[ChatMessage]) -> dict[int, str]:
        """The turns of those messages that the session holds already, by place."""
        given = memorable_by_place(chats, tools=self.remember_tools)
        # Messages of the window are known, also where they were forgotten since: they are not remembered again.
        found = match_messages(given, with_turns(self.window, tools=self.remember_tools))
        left = [(place, message) for place, message in given if place not in found]
        return found | match_messages(left, self._in_session(besides=set(found.values()))) if left else found

    def _in_session(self, besides: Collection[str]) -> list[tuple[Message, str]]:
        try:
            turns = self._bank.turns(self.scope, self.session)
        except FAILURES as error:
            self._failed("the messages of the session are not known", error)
            return []
        return [(message, turn.id) for turn in turns if turn.id not in besides for message in turn.messages]

    def _continued(self) -> list[WindowEntry]:
        # A tool's result without the call it answers is refused by models, and calls come back as text only.
        return [
            WindowEntry(message=from_message(message), turn=turn.id)
            for turn in self._bank.turns(self.scope, self.session)
            for message in turn.messages
            if message.role != "tool"
        ]


def _cleaned(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Copies without recalled memory; a message that held nothing else is left out."""
    pairs = ((message, without_recalled(message)) for message in messages)
    return [cleaned for message, cleaned in pairs if cleaned.blocks or not message.blocks]


def _next_name(session: str, names: Sequence[str]) -> str:
    base, mark, number = session.rpartition("~")
    stem, count = (base, int(number)) if mark and number.isdecimal() else (session, 1)
    while (name := f"{stem}~{count + 1}") in names:
        count += 1
    return name
