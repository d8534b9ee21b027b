"""The messages of a session: a window of them in memory, and all of them in the bank."""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr, field_validator

from secom_core.bank import MemoryBank
from secom_core.bank.answers import (
    ANSWER_WAITS_S,
    epoch_soon,
    keeper_of,
    shared_writer,
    wait_until_written,
    waiting_for_a_lock,
)
from secom_core.bank.unwritten import with_id_and_time
from secom_core.chats import ChatRecord
from secom_core.conversation import Message, Scope, Turn, check_scope
from secom_core.errors import StoreError, StoreLocked
from secom_core.processes import ForkLock
from secom_core.stores.database import waiting_at_most

from .agent_steps import UserHook, said_by_user
from .chat_log import last_turn, next_name
from .convert import copied, text_of, to_messages
from .edits import (
    check_ids,
    edited_away,
    in_their_places,
    turns_from,
    with_kept_attachments,
    with_their_steps,
    without_beside,
)
from .kept_chat import KeptChat
from .known_messages import Held, held_of, match_messages, memorable_by_place, words_of
from .saved import know
from .unstored import (
    FAILURES,
    WAIT_FOR,
    Unstored,
    ids_that_wait,
    keep_meanwhile,
    remember_with_chat,
    turn_of,
    warn_store_failed,
)
from .window import (
    SYSTEM,
    TOOL,
    WindowEntry,
    answers_to_forgotten,
    entries_of,
    forgotten_turns,
    said_anew,
    without_forgotten,
)


class SessionMessages(KeptChat):
    """Stores each message of a session in the bank when it is put, and keeps its window; `SecomMemory` adds recalls.

    Args:
        bank: where the messages are remembered.
        by_user: says which messages with the role of the user are the user's own words.
        **data: the fields, as `SecomMemory` explains them.
    """

    model_config = ConfigDict(extra="forbid")

    store_path: str | None = None
    remember_tools: bool = False
    _by_user: UserHook = PrivateAttr()

    def __init__(self, bank: MemoryBank, by_user: UserHook = said_by_user, **data: Any) -> None:
        data.pop("class_name", None)  # dumps have it
        if not bank.storage.is_open:
            raise StoreError("a memory needs an open bank, and this one is closed; open it again with MemoryBank.open")
        super().__init__(**{**data, "store_path": bank.storage.path})
        self._bank, self._lock, self._by_user = bank, ForkLock(), by_user  # before super().__init__(), they'd be lost
        self._writer = shared_writer(bank) if self.write == "background" else None
        know(self)

    @field_validator("scope")
    @classmethod
    def _check_scope(cls, value: Sequence[str]) -> Scope:
        return check_scope(value)

    # -- reading --------------------------------------------------------------------------------------------------

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session as it was put, without the exchanges that were forgotten since."""
        with self._lock:
            if (error := self._read()) is not None:
                self._failed("the chat before it is not shown", error)
            else:
                self._drop_forgotten()
            return [copied(entry.message) for entry in self._chat()]

    def _drop_forgotten(self, given: Sequence[Message] = ()) -> tuple[int, int] | None:
        """Drop from the window what was forgotten since and is not given again; returns the scope's epoch, if known."""
        try:
            epoch = epoch_soon(self._bank, self.scope)
            if epoch != self._epoch and any(entry.turn for entry in self.window):
                self._take_off_written()
                waiting = {message.id for batch in self.unstored for message in batch.messages}
                waiting |= ids_that_wait(self._bank, self.scope)
                gone = forgotten_turns(self._bank, self.scope, self.window, session=self.session, waiting=waiting)
                said = {words_of(each) for each in given}
                held = {self.window[place].turn for place, each in self._words(self.window) if words_of(each) in said}
                self.window = without_forgotten(self.window, gone - held)
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

    # -- writing --------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message to the session and remember it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the session and remember them, all together."""
        with self._lock, waiting_at_most(ANSWER_WAITS_S):
            self._read()  # if the store does not tell it, it fails below as well
            at = self._bank, self.scope, self.session, self.window
            entries = said_anew(*at, [self._received(entry) for entry in entries_of(messages, self._by_user)])
            gone = {} if self.unstored else answers_to_forgotten(*at, entries, self._epoch)
            entries, is_kept = self._remembered(entries, gone)
            if self._late is not None:
                self._late = self._late[0], [*self._late[1], *entries]
            self._show([*self.window, *entries], whole=self._is_whole)
            self._keep([] if is_kept else [entry for place, entry in enumerate(entries) if place not in gone])

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the chat; messages that the session does not hold yet are remembered.

        What was edited away, regenerated or taken back leaves the memory too (`edits.edited_away`); what is left out
        at the beginning, to make the history shorter, stays remembered. Where it raises, everything is as it was.
        While the store does not tell what the chat was, nothing is compared: that is done with the next call.
        """
        entries = entries_of(messages, self._by_user)
        with self._lock:
            if self._is_known():
                self._take_in(entries)
            else:
                self.window, self._late = entries, (entries, [])
                self._is_read = self._is_whole = False
                self._stay_in_turn()

    def _take_in(self, entries: list[WindowEntry]) -> None:
        # Whatever cannot be remembered is refused here, before anything is forgotten.
        self._drop_forgotten([message for _, message in self._words(entries)])
        old, window = self._without_late(self._chat()), self.window
        entries = self._given_again(with_kept_attachments(entries, old), old)
        given = [message for _, message in self._words(entries)]
        gone, said = self._edited_away(old, entries)
        names = {old[place].name or "" for place in gone} - {""}
        later = self._to_forget(names | self._overtaking(entries, old), given)
        names = with_their_steps(names, later, {old[place].name for place in said})
        kept = [entry for place, entry in enumerate(old) if place not in gone and entry.name not in names]
        try:
            self._replace(kept, entries, self._forgotten(later, names))
        except BaseException:
            self.window = window
            self._put_back(later, old)
            raise

    def _replace(self, kept: Sequence[WindowEntry], entries: list[WindowEntry], again: Mapping[str, Message]) -> None:
        """Show and keep other entries in the place of the chat.

        Args:
            kept: the chat without what was edited away.
            entries: all of the new chat.
            again: by id, what was forgotten with the edit and is to be remembered anew.
        """
        held = self._held(entries, kept, again)
        names = {place: each.name for place, each in held.items()}
        known = {place: each.turn for place, each in held.items() if each.turn is not None}
        told = {place: again[name] for place, name in names.items() if name in again}
        before = in_their_places(again, names, [entry.seen for entry in entries], last=self._late_names())
        entries, _ = self._remembered(entries, known, names, told, before, anew=True)
        self._show(entries)
        self._keep(entries, anew=True)

    def reset(self) -> None:
        """Begin a new session. What was remembered stays; `MemoryBank.forget` deletes it."""
        with self._lock:
            try:
                wait_until_written(keeper_of(self._bank, self.scope), self.scope)
                self._settle()
                names = self._bank.sessions(self.scope)
                if self.session in names:
                    self._target.close_session(self.scope, self.session)
                    self.session = next_name(self.session, names)
            except FAILURES as error:
                lost = ", and the history that was handed over meanwhile is not stored" if self._late else ""
                self._failed(f"the session is left open{lost}", error)
                self.session = uuid.uuid4().hex
            self.window, self._unkept, self._unlisted, self._kept_turn, self._is_whole = [], [], [], None, True
            self._is_read, self._late = True, None
            self._stay_in_turn()

    def flush(self, timeout: float | None = None) -> bool:
        """Store what the store had refused, and wait until the background writer has made everything of it.

        Args:
            timeout: how many seconds to wait at most; as long as it takes unless given.

        Returns:
            Whether everything is stored and made. What is not is made by the next recall.
        """
        if (keeper := keeper_of(self._bank, self.scope)).keeps(self.scope):
            keeper.flush(timeout)  # what is kept beside the turns waits behind what was said before
        with self._lock:
            try:
                self._settle(math.inf if timeout is None else timeout)
            except FAILURES as error:
                self._failed("messages are kept and stored with the next ones", error)
                return False
        return self._writer is None or self._writer.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def _received(self, entry: WindowEntry) -> WindowEntry:
        """The entry as it is kept."""
        return entry

    def _remembered(
        self,
        entries: Sequence[WindowEntry],
        known: Mapping[int, str] = MappingProxyType({}),
        names: Mapping[int, str] = MappingProxyType({}),
        told: Mapping[int, Message] = MappingProxyType({}),
        before: Mapping[int, Sequence[Message]] = MappingProxyType({}),
        *,
        anew: bool = False,
    ) -> tuple[list[WindowEntry], bool]:
        """The entries with their turns, and whether the chat has them too, with all that waited for it.

        Those that have no turn yet, and are worth it, go into the bank.

        Args:
            entries: in order.
            known: by place, the turns of those that the bank holds.
            names: by place, the ids that messages have in the bank.
            told: by place, how messages were remembered before.
            before: by place, messages of no entry, which are stored before the one there.
            anew: the chat is to be kept anew, which `_keep` does.
        """
        new = {
            place: told.get(place) or with_id_and_time(self._bank, message)
            for place, entry in enumerate(entries)
            if place not in known
            for message in to_messages([entry.seen], tools=self.remember_tools)
        }
        made = {place: str(message.id) for place, message in new.items()}
        turns, ids = {**known, **made}, {**names, **made}  # the ids stand for the turns until these are known
        told_of = [
            entry.model_copy(update={"turn": turns.get(place), "name": ids.get(place)})
            for place, entry in enumerate(entries)
        ]
        unshown = [(place, each) for place, messages in before.items() for each in messages]
        rows = sorted([*unshown, *new.items()], key=lambda row: row[0])
        if not rows:
            return told_of, False
        chat = [] if anew or self._is_anew else [*self._unkept, *told_of]
        stored, is_kept = self._stored([message for _, message in rows], self._records(chat) if chat else [])
        for (place, message), turn in zip(rows, stored, strict=True):
            if message is new.get(place):
                told_of[place].turn = turn
        if is_kept:
            self._unkept, self._unlisted, self._kept_turn = [], [], stored[-1]
        return told_of, is_kept

    def _stored(self, new: list[Message], chat: Sequence[ChatRecord]) -> tuple[list[str], bool]:
        """The turns of the messages, or the ids that stand for them where the store fails; whether the chat is kept.

        So it is also where the background writer has it.
        """
        answers = turn_of(last_turn(self.window), self.unstored)
        waiting = Unstored(session=self.session, messages=new, answers=answers)
        try:
            with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope):
                self._store_unstored()
                return remember_with_chat(self._target, self.scope, self.session, new, chat, answers)
        except FAILURES as error:
            if not isinstance(error, StoreLocked):
                self._failed("messages are kept and stored with the next ones", error)
            self.unstored = [*self.unstored, waiting]
            if isinstance(error, WAIT_FOR):
                waiting.chat = [*chat] if self._is_read else []
                keep_meanwhile(self._bank, self.scope, self.unstored)
        return [str(message.id) for message in new], bool(waiting.chat)

    # -- what is edited away ----------------------------------------------------------------------------------------

    def _to_forget(self, names: Collection[str], given: Sequence[Message]) -> list[Turn]:
        """The turns of the session from the first one of these messages on, once all that is given can be stored."""
        try:
            if names:
                check_ids(self._bank, self.scope, given, gone=names)
                return turns_from(self._bank, self.scope, self.session, names)
        except FAILURES as error:
            self._failed("what was edited away is still remembered", error)
        return []

    def _forgotten(self, turns: Sequence[Turn], names: Collection[str]) -> dict[str, Message]:
        """Forget the turns; what is to be remembered anew of them, by its id: all but the messages of these names."""
        try:
            if turns:
                self._bank.forget(self.scope, turn_ids=[turn.id for turn in turns])
        except FAILURES as error:
            # The turns may be gone all the same; those that are there are known when they are stored again.
            self._failed("what was edited away is still remembered", error)
        return {str(each.id): each for turn in turns for each in turn.messages if each.id not in names}

    def _put_back(self, turns: Sequence[Turn], chat: Sequence[WindowEntry]) -> None:
        """Remember turns again that were forgotten for a chat that was refused then, and keep the chat before it."""
        if not turns:
            return
        messages = [each for turn in turns for each in turn.messages]
        self.unstored = [*self.unstored, Unstored(session=self.session, messages=messages)]
        try:
            self._store_unstored()
        except FAILURES as error:
            warn_store_failed("what was said before is stored with the next messages", error)
        self._keep(chat, anew=True)

    def _overtaking(self, entries: Sequence[WindowEntry], old: Sequence[WindowEntry]) -> frozenset[str]:
        """The ids of what was put after a history that is taken in late, and is stored before what is new of that."""
        put = self._late_names()
        return put if put and len(self._held(entries, old, {})) < len(self._words(entries)) else frozenset()

    # -- what the session holds already ---------------------------------------------------------------------------

    def _words(self, entries: Sequence[WindowEntry], *, tools: bool = True) -> list[tuple[int, Message]]:
        """What is remembered of the entries, by place, as the bank keeps it; without tools where they are not asked."""
        said = memorable_by_place([entry.seen for entry in entries], tools=tools and self.remember_tools)
        kept = self._bank.storage.as_kept([message for _, message in said])
        return [(place, message) for (place, _), message in zip(said, kept, strict=True)]

    def _edited_away(
        self, old: Sequence[WindowEntry], new: Sequence[WindowEntry]
    ) -> tuple[Collection[int], Collection[int]]:
        """The places in the chat of what was edited away, and of all that was compared."""
        # Users' front ends hand over what was said, without any tools.
        tools = any(entry.seen.role in TOOL for entry in new)
        system = [[text_of(each.message) for each in entries if each.message.role in SYSTEM] for entries in (old, new)]
        same_system = system[0][: len(system[1])] == system[1]
        said, now = self._words(old, tools=tools), self._words(new, tools=tools)
        said = said if tools else without_beside(said, now, [entry.seen for entry in old])
        return edited_away(said, now, same_system=same_system), [place for place, _ in said]

    def _given_again(self, entries: list[WindowEntry], old: Sequence[WindowEntry]) -> list[WindowEntry]:
        """The entries of a history that is handed over, as the chat has them."""
        return entries

    def _held(
        self, entries: Sequence[WindowEntry], kept: Sequence[WindowEntry], again: Mapping[str, Message]
    ) -> dict[int, Held]:
        """What the session holds of these entries, by place: ``kept`` is left of the chat, ``again`` is told anew."""
        # Messages of the window are known, also where they were forgotten since: they are not remembered again.
        said = [(message, kept[place]) for place, message in self._words(kept)]
        window = [Held(told, each.name, None if each.name in again else each.turn) for told, each in said if each.name]
        return match_messages(self._words(entries), window, lambda: self._without_late(held_of(self._turns(), again)))
