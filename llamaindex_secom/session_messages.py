"""The messages of a session: a window of them in memory, and all of them in the bank."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.memory.types import BaseMemory
from typing_extensions import Self

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import shared_writer, waiting_for_a_lock
from secom_core.bank.unwritten import is_forgotten, with_id_and_time
from secom_core.conversation import Message, Scope, check_scope
from secom_core.errors import StoreLocked
from secom_core.processes import ForkLock

from .convert import from_message, to_messages, without_recalled
from .known_messages import match_messages, memorable_by_place, with_turns
from .redacted import redacted
from .saved import SAVED, Saved, know
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
    _id: str = PrivateAttr(default_factory=lambda: uuid.uuid4().hex)
    _writer: BackgroundWriter | None = PrivateAttr(default=None)
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)

    def __init__(self, bank: MemoryBank, **data: Any) -> None:
        data.pop("class_name", None)  # dumps have it
        super().__init__(**{**data, "store_path": bank.storage.path})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._lock = bank, ForkLock()
        self._writer = shared_writer(bank) if self.write == "background" else None
        if "window" not in data:
            self.window = self._continued()
        know(self)

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

    # -- saving ---------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """Which memory of this process it is; in its saved form too."""
        return self._id

    @property
    def given(self) -> tuple[str, ...]:
        """The names of those arguments that cannot be saved and were given."""
        return ()

    @property
    def settings(self) -> dict[str, Any]:
        """The options, as they are saved."""
        return self.model_dump(mode="json", exclude={"window", "unstored", "store_path"})

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """A dict that JSON can hold, with no word that the bank's redaction takes out.

        Raises:
            StoreError: the bank was in memory and is closed.
        """
        saved = Saved.of(self).model_dump(mode="json")
        with self._lock:
            self._drop_forgotten()
        data = super().to_dict(**{"mode": "json", **kwargs})
        kept = {"window": redacted(data["window"], self._bank), "unstored": redacted(data["unstored"], self._bank)}
        return {**data, **kept, SAVED: saved}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The memory that was saved: itself or another one of its session where this process has it, else a new one.

        A new one is made on the bank that it was saved on: the one that is open in this process, or its file anew.

        Args:
            data: from `to_dict`.
            **kwargs: arguments that are given again, such as ``bank``, ``key`` and ``token_counter``; a new memory is
                made with them.

        Raises:
            InvalidInput: the bank is not open and its place alone does not give all that it was opened with, or an
                argument that cannot be saved is missing; the message says what to do.
            StoreError: the file cannot be opened.
        """
        settings = {name: value for name, value in data.items() if name not in (SAVED, "class_name")}
        if SAVED not in data:
            return cls(**{**settings, **kwargs})
        saved = Saved.model_validate(data[SAVED])
        live = saved.live(cls, settings) if not kwargs else None
        if isinstance(live, cls):
            return live
        saved.check_given(kwargs)
        if kwargs.get("bank") is None and kwargs.get("store_path") is None:
            opened = saved.reopened(key=kwargs.pop("key", None), busy_timeout=kwargs.pop("busy_timeout", None))
            kwargs["bank"] = opened
        return cls(**{**settings, "store_path": None, **kwargs})

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """As `to_dict` and `from_dict`."""
        return type(self).from_dict, (self.to_dict(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """The memory itself, as with a file: workflows copy their state wherever a step edits it."""
        return self

    # -- reading --------------------------------------------------------------------------------------------------

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session as it was put, without the exchanges that were forgotten since."""
        with self._lock:
            self._drop_forgotten()
            return [entry.message.model_copy(deep=True) for entry in self.window]

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
        cleaned = _cleaned(messages)
        with self._lock:
            entries = self._remembered([self._received(message) for message in cleaned])
            self.window = [*self.window, *entries]

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the window; messages that the session does not hold yet are remembered."""
        cleaned = _cleaned(messages)
        with self._lock:
            self.window = self._remembered(cleaned, known=self._known(cleaned))

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

    def _received(self, message: ChatMessage) -> ChatMessage:
        """The message as it is kept."""
        return message

    @property
    def _target(self) -> MemoryBank | BackgroundWriter:
        return self._writer or self._bank

    def _remembered(self, messages: Sequence[ChatMessage], known: dict[int, str] | None = None) -> list[WindowEntry]:
        """The messages with their turns; those that have none yet, and are worth it, go into the bank."""
        turns: dict[int, str] = dict(known or {})
        new = {
            place: with_id_and_time(message)
            for place, chat in enumerate(messages)
            if place not in turns
            for message in to_messages([chat], tools=self.remember_tools)
        }
        if new:
            turns |= zip(new, self._stored(list(new.values())), strict=True)
        return [WindowEntry(message=chat, turn=turns.get(place)) for place, chat in enumerate(messages)]

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
