"""The chat of a session: read from the bank when it is first needed, and kept there beside the turns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, TypeVar

from llama_index.core.bridge.pydantic import PrivateAttr

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S, epoch_soon, keeper_of, waiting_for_a_lock
from secom_core.bank.unwritten import is_forgotten
from secom_core.chats import ChatRecord
from secom_core.conversation import Turn
from secom_core.errors import InvalidInput, StoreLocked
from secom_core.stores.database import waiting_at_most

from .chat_log import chat_of, found_records, last_turn, left_out, records, still_unlisted
from .known_messages import Held
from .saving import SavedMessages
from .unstored import FAILURES, WAIT_FOR, keep_meanwhile, store_all, warn_store_failed
from .window import WindowEntry

_Named = TypeVar("_Named", WindowEntry, Held)


class KeptChat(SavedMessages):
    """Reads and keeps the chat of a session; its fields are those of `SecomMemory`, which explains them."""

    write: Literal["inline", "background"] = "inline"
    on_error: Literal["warn", "raise"] = "warn"
    _writer: BackgroundWriter | None = PrivateAttr(default=None)
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)
    _kept_turn: str | None = PrivateAttr(default=None)
    _is_whole: bool = PrivateAttr(default=False)
    _is_anew: bool = PrivateAttr(default=False)
    _unlisted: list[WindowEntry] = PrivateAttr(default_factory=list)

    # -- reading --------------------------------------------------------------------------------------------------

    def entries(self) -> list[WindowEntry]:
        """The latest messages of the session."""
        with self._lock:
            self._read()
            return self.window

    def _read(self, within: float = ANSWER_WAITS_S) -> Exception | None:
        """Read the chat where that has not been done yet; returns why it is not known, if the store does not tell.

        Args:
            within: how many seconds to wait for a locked store.
        """
        if self._is_read:
            return None
        try:
            with waiting_at_most(within):
                if self._late is None:
                    self._store_restored()
                else:
                    with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope, within):
                        self._store_unstored()
                chat, self._unlisted = self._whole_chat()
        except FAILURES as error:
            return error
        self._is_read = True
        self._kept_turn = last_turn(chat[: len(chat) - len(self._unkept)])
        self._show(chat)
        self._take_in_late()
        return None

    def _store_restored(self) -> None:
        """Store what was refused before the memory was saved, or have the background writer do it."""
        try:
            if self.unstored:
                with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope):
                    self._store_unstored()
        except WAIT_FOR:
            keep_meanwhile(self._bank, self.scope, self.unstored)
        except FAILURES:
            pass  # what needs the store tells it

    def _take_in_late(self) -> None:
        """Take in a history that was handed over while the chat was not known, and what was put after it."""
        if self._late is None:
            return
        history, put = self._late
        try:
            self._take_in(history)
        except InvalidInput as error:
            self._failed("the history that was handed over meanwhile is not taken in", error)
            return
        finally:
            self._late = None
        turns = {message.id: turn.id for turn in self._turns() for message in turn.messages}
        put = [entry.model_copy(update={"turn": turns.get(entry.name, entry.turn)}) for entry in put]
        self._show([*self.window, *put], whole=self._is_whole)
        self._keep(put)

    def _take_in(self, entries: list[WindowEntry]) -> None:
        """Replace the chat by these entries."""

    def _without_late(self, entries: Iterable[_Named]) -> list[_Named]:
        """The entries without those that were put after a history which is still to be taken in."""
        names = self._late_names()
        return [each for each in entries if each.name not in names]

    def _late_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self._late[1] if each.name) if self._late is not None else frozenset()

    def _turns(self) -> Sequence[Turn]:
        try:
            with waiting_at_most(ANSWER_WAITS_S):
                return self._bank.turns(self.scope, self.session)
        except FAILURES as error:
            self._failed("the messages of the session are not known", error)
        return ()

    def _is_known(self) -> bool:
        """Whether the chat is known, and can be compared now; warns or raises if not."""
        error = self._read()
        try:
            if error is None and not self.unstored:
                with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope):
                    pass  # where the words of another object wait, they would be stored twice
            if error is None:
                epoch_soon(self._bank, self.scope)
        except StoreLocked as locked:
            error = locked
        except FAILURES:
            pass  # what needs the store tells it
        if error is not None:
            self._failed("the history is taken in with the next messages", error)
        return error is None

    def _failed(self, consequence: str, error: Exception) -> None:
        if self.on_error == "raise":
            raise error
        warn_store_failed(consequence, error)

    # -- writing --------------------------------------------------------------------------------------------------

    @property
    def _target(self) -> MemoryBank | BackgroundWriter:
        return self._writer or self._bank

    def _store_unstored(self) -> None:
        self._take_off_written()
        if not self.unstored:
            return
        if is_forgotten(self._epoch, self._bank.storage.epoch(self.scope)):
            self.unstored = []
        self._stand_in(store_all(self._target, self.scope, self.unstored))

    def _take_off_written(self) -> None:
        """Take off the list what the background writer was given and has no more: it is written, or was forgotten."""
        given = {each.session for each in self.unstored if each.is_kept}
        if not given or keeper_of(self._bank, self.scope).keeps(self.scope):
            return
        turns = [turn for name in given for turn in self._bank.turns(self.scope, name)]
        self.unstored = [each for each in self.unstored if not each.is_kept]
        self._stand_in({str(message.id): turn.id for turn in turns for message in turn.messages})

    def _stand_in(self, turns: Mapping[str, str]) -> None:
        """Have the entries stand in the turns of their messages; until these are known, the ids stand for them."""
        for entry in (*self.window, *self._unkept):
            entry.turn = turns.get(entry.turn or "", entry.turn)

    def _settle(self, within: float = math.inf) -> None:
        """Store and keep all that waits, also a history that was handed over while the chat was not known.

        Args:
            within: how many seconds to wait for the chat where the store is locked.

        Raises:
            StoreError: the store failed, or is locked for longer.
        """
        with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope, math.inf):
            self._store_unstored()
        if self._late is not None:
            with waiting_at_most(within):
                self._bank.turns(self.scope, self.session)
            keeper_of(self._bank, self.scope).flush(ANSWER_WAITS_S)  # the history waits behind what was said before
        if self.is_waiting and (error := self._read(within)) is not None:
            raise error
        self._store_unstored()
        self._keep([])

    # -- the chat beside the turns --------------------------------------------------------------------------------

    def _chat(self) -> list[WindowEntry]:
        """All of the chat; the window alone if the store fails."""
        if self._is_whole or not self._is_read:
            return self.window
        try:
            return self._whole_chat()[0]
        except FAILURES as error:
            self._failed("only the latest messages of the session are known", error)
        return self.window

    def _whole_chat(self) -> tuple[list[WindowEntry], list[WindowEntry]]:
        if self._is_anew:
            return self._unkept, []
        return chat_of(self._bank, self.scope, self.session, self._unkept)

    def _records(self, entries: Sequence[WindowEntry]) -> list[ChatRecord]:
        """The entries as they are kept, behind what others have remembered and not kept, which is lost else."""
        if self._unlisted:
            with suppress(*FAILURES):  # what needs the store tells it
                self._unlisted = still_unlisted(self._bank, self.scope, self.session, self._unlisted)
        return [*found_records(self._unlisted), *records(entries, self._kept_turn)]

    def _show(self, entries: list[WindowEntry], *, whole: bool = True) -> None:
        """Keep in the window what can be shown of these entries; ``whole`` where they are all of the chat."""
        self.window = self._latest(entries)
        self._is_whole = whole and len(self.window) == len(entries)

    def _latest(self, entries: list[WindowEntry]) -> list[WindowEntry]:
        """The entries that can be shown."""
        return entries

    def _keep(self, entries: Sequence[WindowEntry], *, anew: bool = False) -> None:
        """Keep the entries in the bank as they are; those that it does not take wait for the next ones."""
        self._kept_turn, self._unlisted = (None, []) if anew else (self._kept_turn, self._unlisted)
        self._unkept = [*([] if anew else self._unkept), *entries]
        self._is_anew = anew or self._is_anew
        if self._is_read and all(each.is_kept for each in self.unstored) and (self._unkept or self._is_anew):
            self._keep_unkept()
        self._stay_in_turn()

    def _keep_unkept(self) -> None:
        try:
            with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope):
                kept = self._records(self._unkept)
                if self._is_anew:
                    kept = [*left_out(self._bank, self.scope, self.session, kept), *kept]
                if self._bank.chats.write(self.scope, self.session, kept, anew=self._is_anew):
                    self._kept_turn = next((each.turn_id for each in reversed(kept) if each.turn_id), self._kept_turn)
                    self._unkept, self._unlisted, self._is_anew = [], [], False
        except FAILURES as error:
            is_left = isinstance(error, WAIT_FOR) and self._is_left_to_the_writer()
            if not (is_left and isinstance(error, StoreLocked)):
                # What is remembered of them is stored already: nothing is raised, or it would be put again.
                warn_store_failed("tool calls and system messages are kept with the next ones", error)

    def _is_left_to_the_writer(self) -> bool:
        """Give the background writer what is not kept yet; whether it could be given it, as the session is there."""
        kept = [*found_records(self._unlisted), *records(self._unkept, self._kept_turn)]
        turn = next((each.turn_id for each in reversed(kept) if each.turn_id), None)
        if turn is None or self._is_anew:
            return False
        keeper_of(self._bank, self.scope).keep(self.scope, (), session=self.session, chat=kept)
        self._unkept, self._unlisted, self._kept_turn = [], [], turn
        return True
