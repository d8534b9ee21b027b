"""Long-term memory of a scope as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from secom_core.bank import MemoryBank, Remembered
from secom_core.conversation import Message, Scope, check_scope
from secom_core.errors import InvalidInput
from secom_core.memory import Recall
from secom_core.writer import BackgroundWriter

from .convert import escape_braces, text_of, to_messages, without_recalled
from .memory import _banks
from .tracing import trace_recall
from .unstored import FAILURES, Unstored, degraded, is_forgotten, marked, store_all, writer_of

__all__ = ["SecomMemoryBlock"]

_SESSION: Final = "session_id"
_UNNAMED: Final = "chat"
_MOST: Final = 1024
"""So many sessions' recalls are held; of the session that was quiet longest, none is any more."""
_SLACK: Final = 1.25
"""``Memory`` counts in its own tokens when it asks for a shorter block, and drops the block where it is too long."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked in a session, and where: the same question may come again, and is another one then."""

    question: str
    place: int
    epoch: tuple[int, int] | None


class _Block(str):
    """What is shown, and what it answers, so that it can be made shorter."""

    session: str
    asked: _Asked

    @classmethod
    def of(cls, recall: Recall, session: str, asked: _Asked) -> _Block:
        block = cls(escape_braces(recall.text))
        block.session, block.asked = session, asked
        return block


class SecomMemoryBlock(BaseMemoryBlock[str]):
    """Remembers what no longer fits in the window of a ``Memory``, and recalls what the scope's past has on a question.

    ``Memory`` hands over its oldest messages when its window overflows: they are remembered word for word, under the
    session id that comes with them, so that one block serves any number of sessions. Where the store fails they are
    kept and stored with the next ones, with a `DegradedWarning`. A session that ends within its window overflows
    nothing: `aend_session` hands over what is left. `SecomMemory` in place of ``Memory`` sees every message at once.

    Args:
        scope: whose memory it is; always given.
        bank: where everything is remembered.
        store_path: the bank's file, opened where no bank is given.
        memory_token_limit: how long the block may be, in the bank's token counter.
        remember_tools: remember tool calls and results too.
        write: ``"inline"`` makes topics, keys and vectors at once, ``"background"`` in a thread; ``"off"`` remembers
            nothing, such as beside a `RecursiveSummaryMemoryBlock` on the same bank, which remembers the same words.
        trace_contents: whether the `tracing.SecomRecallEvent` of a recall holds question and text.
        **data: ``name``, ``description``, ``priority`` and ``accept_short_term_memory`` of ``BaseMemoryBlock``. With a
            ``priority`` of 1 or more, ``Memory`` may have the block shortened.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(default="SecomMemory", description="The name of the memory block.")
    scope: tuple[str, ...]
    store_path: str | None = None
    memory_token_limit: int = Field(default=1500, ge=1, description="How long the block may be, in tokens.")
    remember_tools: bool = Field(default=False, description="Whether tool calls and results are remembered too.")
    write: Literal["inline", "background", "off"] = Field(
        default="inline", description="When topics and keys are made; or nothing is remembered."
    )
    trace_contents: bool = Field(default=True, description="Whether traces of recalls hold words.")
    unstored: list[Unstored] = Field(default_factory=list, description="What the store has refused.")
    _bank: MemoryBank = PrivateAttr()
    _writer: BackgroundWriter | None = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recalls: OrderedDict[str, tuple[_Asked, Recall]] = PrivateAttr()
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        **data: Any,
    ) -> None:
        checked = check_scope(scope if scope is not None else ())
        bank = bank or _opened(store_path)
        super().__init__(**{**data, "scope": checked, "store_path": bank.path})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._lock, self._recalls = bank, threading.RLock(), OrderedDict()
        self._writer = writer_of(bank) if self.write == "background" else None

    @classmethod
    def class_name(cls) -> str:
        """The name of the block's kind."""
        return "SecomMemoryBlock"

    @property
    def bank(self) -> MemoryBank:
        """Where everything is remembered."""
        return self._bank

    def recall_of(self, session: str) -> Recall | None:
        """What was recalled last in a session: its hits, numbers and tokens; nothing where nothing was asked yet."""
        with self._lock:
            held = self._recalls.get(session)
        return held[1] if held is not None else None

    # -- reading --------------------------------------------------------------------------------------------------

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._shown, list(messages or ()), str(block_kwargs.get(_SESSION) or _UNNAMED))

    def _shown(self, messages: Sequence[ChatMessage], session: str) -> str:
        question, place = _question(messages)
        if not question.strip():
            return ""
        try:
            asked = _Asked(question, place, self._bank.epoch(self.scope))
            return _Block.of(self._known(session, asked) or self._recall(session, asked), session, asked)
        except FAILURES as error:
            degraded("nothing is recalled", error)
        return ""

    def _known(self, session: str, asked: _Asked) -> Recall | None:
        # Agents read several times a turn; memory and its numbers stay the same until the next question.
        with self._lock:
            held = self._recalls.get(session)
        return held[1] if held is not None and held[0] == asked else None

    def _recall(self, session: str, asked: _Asked, token_budget: int | None = None) -> Recall:
        budget = token_budget or self.memory_token_limit
        recall = self._bank.recall(self.scope, asked.question, token_budget=budget)
        with self._lock:
            self._epoch = asked.epoch
            self._recalls.pop(session, None)
            self._recalls[session] = asked, recall
            while len(self._recalls) > _MOST:
                self._recalls.popitem(last=False)
        trace_recall(recall, session, contents=self.trace_contents)
        return recall

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block with less of the past, the best of it; nothing where none of it fits.

        Args:
            content: what the block gave; ``Memory`` may also pass an empty list.
            tokens_to_truncate: how many tokens it should lose.
        """
        if not isinstance(content, _Block):
            return None
        room = self._bank.token_counter(content) - int(_SLACK * tokens_to_truncate) - 1
        return await asyncio.to_thread(self._shortened, content, room) if room > 0 else None

    def _shortened(self, content: _Block, room: int) -> str | None:
        try:
            # Recalled anew, so that what an answer may cite is what it was shown.
            return _Block.of(self._recall(content.session, content.asked, room), content.session, content.asked) or None
        except FAILURES as error:
            degraded("nothing is recalled", error)
        return None

    # -- writing --------------------------------------------------------------------------------------------------

    async def _aput(self, messages: list[ChatMessage]) -> None:
        # The messages are shared with the other blocks, and were marked with the session id for the block alone.
        await asyncio.to_thread(self._take_in, [without_recalled(message) for message in messages])

    def _take_in(self, chats: Sequence[ChatMessage]) -> None:
        new = _batches(chats, tools=self.remember_tools)
        with self._lock:
            for batch in new:
                # What was recalled before did not have these words, which the window shows no more.
                self._recalls.pop(batch.session, None)
            if self.write == "off":
                return
            waiting, self.unstored = len(self.unstored), [*self.unstored, *new]
            try:
                self._store(waiting)
            except FAILURES as error:
                degraded("what left the window is kept and stored with what leaves it next", error)

    def _store(self, waiting: int) -> None:
        if waiting and is_forgotten(self._epoch, self._bank.epoch(self.scope)):
            del self.unstored[:waiting]
        store_all(self._written, self.scope, self.unstored)
        self._epoch = self._bank.epoch(self.scope)

    def _written(self, scope: Scope, messages: Sequence[Message], session: str) -> Remembered:
        if self._writer is not None:
            return self._writer.remember(scope, messages, session=session)
        return self._bank.remember(scope, messages, session=session)

    def flush(self, timeout: float | None = None) -> bool:
        """Store what the store had refused, and wait for the background writer.

        Args:
            timeout: how many seconds to wait at most; as long as it takes unless given.

        Returns:
            Whether all is stored and made.
        """
        self._take_in([])
        return not self.unstored and (self._writer is None or self._writer.flush(timeout))

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, off the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    # -- the end of a session -------------------------------------------------------------------------------------

    async def aend_session(self, memory: Memory) -> None:
        """End a session: all blocks of ``memory`` get what its window still holds, and the session is closed.

        The messages are archived in the chat store, as on overflow: ``Memory`` shows them no more.

        Args:
            memory: whose session ends.
        """
        left = await memory.aget_all(status=MessageStatus.ACTIVE)
        if left:
            blocks = memory.memory_blocks
            putting = (block.aput(left, from_short_term_memory=True, session_id=memory.session_id) for block in blocks)
            await asyncio.gather(*putting)
            await memory.sql_store.archive_oldest_messages(memory.session_id, n=len(left))
        await asyncio.to_thread(self._close, memory.session_id)

    def end_session(self, memory: Memory) -> None:
        """As `aend_session`, for callers without an event loop."""
        asyncio_run(self.aend_session(memory))

    def _close(self, session: str) -> None:
        try:
            if self._writer is not None and session in self._bank.sessions(self.scope):
                self._writer.close_session(self.scope, session)
            else:
                self._bank.close_session(self.scope, session)
        except FAILURES as error:
            degraded("the session is left open", error)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SecomMemoryBlock:
        """A block of the same settings on the same bank."""
        data = {name: getattr(self, name) for name in type(self).model_fields if name != "unstored"}
        return type(self)(bank=self._bank, **data)


def _opened(store_path: str | None) -> MemoryBank:
    if store_path is None:
        raise InvalidInput("SecomMemoryBlock needs a bank, or a store_path to open one")
    bank = _banks.get(str(Path(store_path).expanduser().resolve())) or MemoryBank.open(store_path)
    if bank.path is not None:
        _banks[bank.path] = bank
    return bank


def _question(messages: Sequence[ChatMessage]) -> tuple[str, int]:
    """The user's last words, and how much had been answered before them."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role == MessageRole.USER:
            answered = sum(message.role != MessageRole.USER for message in messages[:place])
            return text_of(without_recalled(messages[place])), answered
    return "", 0


def _batches(chats: Sequence[ChatMessage], *, tools: bool) -> list[Unstored]:
    """The messages worth remembering, by the session that ``Memory`` marked them with."""
    of_session: dict[str, list[Message]] = {}
    for chat in chats:
        session = str(chat.additional_kwargs.pop(_SESSION, None) or _UNNAMED)
        of_session.setdefault(session, []).extend(map(marked, _said(chat, tools=tools)))
    return [Unstored(session=name, messages=said) for name, said in of_session.items() if said]


def _said(chat: ChatMessage, *, tools: bool) -> list[Message]:
    try:
        return to_messages([chat], tools=tools)
    except InvalidInput:
        # A time that is none: what was said counts for more.
        return to_messages([chat.model_copy(update={"additional_kwargs": {}})], tools=tools)
