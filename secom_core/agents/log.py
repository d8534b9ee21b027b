"""The conversation of an agent as its framework writes it, kept beside the turns that are remembered of it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ..bank import MemoryBank
from ..bank.answers import shared_writer, waiting_for_a_lock
from ..bank.unwritten import with_id_and_time
from ..chats import ChatRecord
from ..conversation import Message, Scope, Turn, opens_turn
from ..errors import InvalidInput, StoreError, StoreUnwritable, warn_degraded
from ..models.rows import sendable


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A message of a conversation.

    Args:
        body: all of it as the framework writes it, which JSON can hold.
        message: what is remembered of it; nothing of a system message, a tool's call or a tool's result.
        of_session: whether it goes with the session and not with a turn, as a system message does.
    """

    body: Mapping[str, Any]
    message: Message | None = None
    of_session: bool = False


class ConversationLog:
    """The messages of one session, whole: what is said is remembered, and all else is kept beside it.

    A message is on disk when `add` returns. Where the store fails, it waits in memory and is stored with the next
    one, with a `DegradedWarning`; so does what comes before anything is said in the session.

    Args:
        bank: where the conversation is kept.
        scope: whose it is.
        session: its name.
        framework: whose messages these are, such as ``"openai_agents"``; those of another framework are read by their
            words.
        plain: makes a message of the framework from what is remembered.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Scope,
        session: str,
        *,
        framework: str,
        plain: Callable[[Message], Mapping[str, Any]],
    ) -> None:
        self.scope, self.session = scope, session
        self._bank, self._writer, self._framework, self._made = bank, shared_writer(bank), framework, plain
        self._waiting: list[LogEntry] = []
        self._kept: set[str] = set()
        self._last: list[tuple[Mapping[str, Any], str]] = []
        self._lock = threading.Lock()

    def read(self) -> list[Mapping[str, Any]]:
        """The messages in order, also what others have remembered in the session.

        If the store fails, they are those of the last time, with a `DegradedWarning`.
        """
        return [body for body, _ in self.read_all()]

    def read_all(self) -> list[tuple[Mapping[str, Any], str]]:
        """The messages as `read` gives them, each with what is remembered of it; with nothing if it is only kept."""
        with self._lock:
            try:
                said = self._said()
                told = {name: message.text for name, (message, _) in said.items()}
                self._last = [(body, told.get(record.name or "", "")) for record, body in self._stored(said)]
            except StoreError as error:
                warn_degraded("the store failed; the conversation goes on with what is known of it", error)
            waiting = [(entry.body, entry.message.text if entry.message is not None else "") for entry in self._waiting]
            return [*self._last, *waiting]

    def words(self) -> list[Mapping[str, Any]]:
        """What users and assistants say in the conversation, in order, as messages of the framework.

        If the store fails, it is what waits in memory, with a `DegradedWarning`.
        """
        with self._lock:
            try:
                said = [message for turn in self._bank.turns(self.scope, self.session) for message in turn.messages]
            except StoreError as error:
                warn_degraded("the store failed; the conversation goes on without what was said before", error)
                said = []
            said += [entry.message for entry in self._waiting if entry.message is not None]
            return [self._plain(message) for message in said if message.role != "tool"]

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Add messages.

        Raises:
            InvalidInput: a message cannot be remembered; none of these is kept.
        """
        with self._lock:
            before = list(self._waiting)
            self._waiting += [self._identified(entry) for entry in entries]
            try:
                with waiting_for_a_lock(self._writer, self.scope):
                    self._store()
            except InvalidInput:
                self._waiting = before
                raise
            except StoreError as error:
                self._keep(error)

    def pop(self) -> Mapping[str, Any] | None:
        """Remove the latest message and give it back; what was remembered of it is forgotten.

        Raises:
            StoreError: the store failed.
        """
        with self._lock:
            if self._waiting:
                return self._unsaid().body
            pairs = self._stored(self._said())
            if not pairs:
                return None
            latest, body = pairs.pop()
            self._unsay(latest.name, [record for record, _ in pairs])
            return body

    def clear(self) -> None:
        """Forget the session: its messages and all that is remembered of it.

        Raises:
            StoreError: the store failed.
        """
        with self._lock:
            self._waiting, self._last = [], []
            self._bank.forget(self.scope, session=self.session)

    # -- into the store -----------------------------------------------------------------------------------------------

    def _store(self) -> None:
        if not self._waiting:
            return
        words = [entry.message for entry in self._waiting if entry.message is not None]
        last = self._bank.turns(self.scope, self.session, last=1) if self._waiting[0].message is None else []
        done = self._writer.remember(self.scope, words, session=self.session) if words else None
        turns = dict(zip([each.id for each in words], done.turns_of(words), strict=True)) if done else {}
        before = last[-1].id if last else next(iter(turns.values()), None)
        if self._bank.chats.write(self.scope, self.session, list(self._records(turns, before))):
            self._waiting, self._kept = [], set()

    def _records(self, turns: Mapping[str | None, str], before: str | None) -> Iterator[ChatRecord]:
        """The entries that wait, each with its turn: what a tool is asked and answers goes with the turn before it.

        Args:
            turns: the turn of each message that is remembered, by its id.
            before: the turn that the first entries go with; the first of all where they begin the session.
        """
        turn = before
        for entry in self._waiting:
            name = entry.message.id if entry.message is not None else None
            turn = turns.get(name, turn) if name is not None else turn
            yield ChatRecord(None if entry.of_session else turn, name, {self._framework: entry.body})

    def _keep(self, error: StoreError) -> None:
        words = [entry.message for entry in self._waiting if entry.message is not None]
        new = [message for message in words if message.id not in self._kept]
        if isinstance(error, StoreUnwritable) and new:
            self._writer.keep(self.scope, new, session=self.session)
            self._kept |= {str(message.id) for message in new}
        warn_degraded("the store failed; what was said waits in memory and is stored with what comes next", error)

    # -- out of the store ---------------------------------------------------------------------------------------------

    def _stored(self, said: Mapping[str, tuple[Message, Turn]]) -> list[tuple[ChatRecord, Mapping[str, Any]]]:
        """Each message with its place: those that were kept whole, and between them what others have remembered."""
        kept = self._bank.chats.read(self.scope, self.session)
        # A tool's result without the call that it answers is refused by models.
        names = {record.name for record in kept} | {name for name in said if said[name][0].role == "tool"}
        pairs, words = list[tuple[ChatRecord, Mapping[str, Any]]](), iter(said)
        for record in kept:
            if record.name in said:
                before = list(takewhile(record.name.__ne__, words))
                pairs += [self._worded(*said[name]) for name in before if name not in names]
            if (body := self._body(record, said)) is not None:
                pairs.append((record, body))
        return [*pairs, *(self._worded(*said[name]) for name in words if name not in names)]

    def _said(self) -> dict[str, tuple[Message, Turn]]:
        turns = self._bank.turns(self.scope, self.session)
        return {str(message.id): (message, turn) for turn in turns for message in turn.messages}

    def _body(self, record: ChatRecord, said: Mapping[str, tuple[Message, Turn]]) -> Mapping[str, Any] | None:
        body = (record.body or {}).get(self._framework)
        if isinstance(body, Mapping):
            return body
        spoken = said.get(record.name or "")
        return self._plain(spoken[0]) if spoken is not None else None

    def _worded(self, message: Message, turn: Turn) -> tuple[ChatRecord, Mapping[str, Any]]:
        body = self._plain(message)
        return ChatRecord(turn.id, message.id, {self._framework: body}), body

    def _plain(self, message: Message) -> Mapping[str, Any]:
        # No request of a model can hold half a character.
        return self._made(replace(message, text=sendable(message.text)))

    def _unsaid(self) -> LogEntry:
        """The latest entry that waits; nobody writes it any more, and those before it are stored with the next."""
        self._writer.forget(self.scope, self.session)
        self._kept = set()
        return self._waiting.pop()

    def _unsay(self, name: str | None, records: Sequence[ChatRecord]) -> None:
        """Forget a message; what was said before it in its turn is remembered as it was.

        What stays is stored before anything is deleted: a process that is killed in between loses nothing.

        Args:
            name: the id of what is remembered of the message; nothing where nothing is.
            records: the messages that stay.
        """
        for turn in self._bank.turns(self.scope, turn_ids=[name]) if name is not None else ():
            names = [message.id for message in turn.messages]
            before = turn.messages[: names.index(name)]
            # A reply at the beginning would join the very turn that goes.
            joins = bool(before) and not opens_turn(before[0], turn.messages[-1])
            if before and not joins:
                records = self._said_again(turn, before, records)
                self._rewrite(records)
            if not before:
                # What came before the turn and was kept with it stays, with the session.
                records = [replace(each, turn_id=None) if each.turn_id == turn.id else each for each in records]
            self._bank.forget(self.scope, turn_ids=[turn.id])
            if joins:
                self._bank.remember(self.scope, before, session=self.session)
        self._rewrite(records)

    def _said_again(self, turn: Turn, before: Sequence[Message], records: Sequence[ChatRecord]) -> list[ChatRecord]:
        """Remember the beginning of a turn in a turn of its own; the records, with the new turn in its place."""
        new = [replace(message, id=uuid.uuid4().hex) for message in before]
        done = self._bank.remember(self.scope, new, session=self.session)
        ids = {old.id: message.id for old, message in zip(before, new, strict=True)}
        now = {turn.id: done.turn_ids[0]}
        return [
            ChatRecord(now.get(each.turn_id or "", each.turn_id), ids.get(each.name, each.name), each.body)
            for each in records
        ]

    def _identified(self, entry: LogEntry) -> LogEntry:
        told = entry.message
        return replace(entry, message=with_id_and_time(self._bank, told)) if told is not None else entry

    def _rewrite(self, records: Sequence[ChatRecord]) -> None:
        if not self._bank.chats.write(self.scope, self.session, records, anew=True):
            bodies = [(record.body or {}).get(self._framework) for record in records]
            self._waiting = [LogEntry(body, of_session=True) for body in bodies if isinstance(body, Mapping)]
