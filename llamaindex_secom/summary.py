"""A running summary (RSum) as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Final

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from secom_core.analysis import sentences
from secom_core.bank import MemoryBank
from secom_core.context import render, summary_within
from secom_core.conversation import Message, check_scope
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.flow import ChatModel
from secom_core.memory import Summary
from secom_core.protocols import TokenCounter

from .convert import escape_braces, to_messages, without_recalled
from .models import as_chat_model

__all__ = ["RecursiveSummaryMemoryBlock"]

_PART: Final = re.compile(r"/part-(\d+)\Z")
_SLACK: Final = 1.25
"""``Memory`` counts in its own tokens when it asks for a shorter block, and drops the block where it is too long."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Messages that left a session's window together, and when."""

    session: str
    messages: tuple[Message, ...]
    at: datetime


class RecursiveSummaryMemoryBlock(BaseMemoryBlock[str]):
    """Keeps a running summary of what no longer fits in the window of a ``Memory`` (RSum, equation 2).

    ``Memory`` hands over its oldest messages when its window overflows. They are remembered word for word, as a closed
    session of their own (``"<session id>/part-1"`` and so on), and the bank's summary takes them in: in the background,
    so that nobody waits for a language model. Until it has, the block shows their sentences beside the summary. Where
    the model fails, the bank extracts sentences, with a `DegradedWarning`; where the store fails, messages are kept and
    stored with the next ones.

    A session that ends within its window overflows nothing: `aend_session` hands over what is left.

    Args:
        scope: whose memory it is; always given. A block may serve many sessions of one scope.
        bank: where everything is remembered; one that keeps a summary.
        store_path: the bank's file, opened where no bank is given.
        llm: the language model of the bank that is opened; sentences are extracted without.
        memory_token_limit: how long the block may be, in the bank's token counter.
        remember_tools: remember tool calls and results too.
        **data: ``name``, ``description``, ``priority`` and ``accept_short_term_memory`` of ``BaseMemoryBlock``.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, or the bank keeps no summary.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(default="RecursiveSummary", description="The name of the memory block.")
    scope: tuple[str, ...]
    store_path: str | None = None
    memory_token_limit: int = Field(default=1500, ge=1, description="How long the block may be, in tokens.")
    remember_tools: bool = Field(default=False, description="Whether tool calls and results are remembered too.")
    _bank: MemoryBank = PrivateAttr()
    _lock: Any = PrivateAttr()
    _queue: list[_Batch] = PrivateAttr()
    _worker: ThreadPoolExecutor = PrivateAttr()
    _closing: Future[None] | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        llm: LLM | ChatModel | None = None,
        **data: Any,
    ) -> None:
        checked = check_scope(scope if scope is not None else ())
        if bank is not None and llm is not None:
            raise InvalidInput("a bank that is open already takes no llm; open it with model=LlamaIndexChatModel(llm)")
        if bank is None:
            bank = _opened(store_path, llm)
        bank.check_keeps(summary=True)
        super().__init__(**{**data, "scope": checked, "store_path": bank.path})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._lock, self._queue = bank, threading.RLock(), []
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="secom-summary")

    @classmethod
    def class_name(cls) -> str:
        """The name of the block's kind."""
        return "RecursiveSummaryMemoryBlock"

    @property
    def bank(self) -> MemoryBank:
        """Where everything is remembered."""
        return self._bank

    # -- reading --------------------------------------------------------------------------------------------------

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._shown)

    def _shown(self) -> str:
        # What is still to be taken in is read first: taken in meanwhile, it is shown twice rather than not at all.
        waiting = [sentence for text in self._untold() for sentence in sentences(text)]
        latest = self._bank.summary(self.scope)
        told = [*(latest.sentences if latest else ()), *waiting]
        return _block(told, self.memory_token_limit, self._bank.token_counter)

    def _untold(self) -> list[str]:
        """What was handed over and is not in the summary yet, a line a message."""
        with self._lock:
            queued = [message.line for batch in self._queue for message in batch.messages]
        turns = (turn for name in self._not_taken_in() for turn in self._bank.turns(self.scope, name))
        return [*(message.line for turn in turns for message in turn.messages), *queued]

    def _not_taken_in(self) -> list[str]:
        # From the store: another process may have been interrupted between the words and the summary.
        names = [name for name in self._bank.sessions(self.scope) if _PART.search(name)]
        taken = {version.session for version in self._bank.summaries(self.scope)} if names else set()
        return [name for name in names if name not in taken and self._bank.turns(self.scope, name, last=1)]

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block with fewer sentences, those that cover most; nothing where not one is left.

        Args:
            content: what the block gave; ``Memory`` may also pass an empty list.
            tokens_to_truncate: how many tokens it should lose.
        """
        if not isinstance(content, str) or not content:
            return None
        held = [line.removeprefix("- ") for line in content.splitlines() if line.startswith("- ")]
        count = self._bank.token_counter
        return _block(held, count(content) - int(_SLACK * tokens_to_truncate) - 1, count) or None

    # -- writing --------------------------------------------------------------------------------------------------

    async def _aput(self, messages: list[ChatMessage]) -> None:
        # The messages are shared with the other blocks, and were marked with the session id for the block alone.
        copies = [without_recalled(message) for message in messages]
        await asyncio.to_thread(self._take_in, copies)

    def _take_in(self, chats: Sequence[ChatMessage]) -> None:
        with self._lock:
            self._queue += _batches(chats, tools=self.remember_tools)
            self._remember()
            self._closing = self._worker.submit(copy_context().run, self._close)

    def _remember(self) -> None:
        """Store what is queued, in order; what the store refuses stays for the next time."""
        while self._queue:
            batch = self._queue[0]
            try:
                self._stored(batch)
            except StoreError as error:
                held = sum(len(each.messages) for each in self._queue)
                warnings.warn(
                    f"the store failed; {held} messages that left the window are kept in memory and stored with the "
                    f"next ones: {error}",
                    DegradedWarning,
                    stacklevel=2,
                )
                return
            self._queue.pop(0)

    def _stored(self, batch: _Batch) -> None:
        name = _next_part(batch.session, self._bank.sessions(self.scope))
        try:
            self._bank.remember(self.scope, batch.messages, session=name, at=batch.at)
        except InvalidInput:
            # Ids that another message has already: what was said counts for more.
            bare = [replace(message, id=None) for message in batch.messages]
            self._bank.remember(self.scope, bare, session=name, at=batch.at)

    def _close(self) -> None:
        try:
            for name in self._not_taken_in():
                self._bank.close_session(self.scope, name)
        except StoreError as error:
            warnings.warn(f"the store failed; the summary is brought up to date later: {error}", DegradedWarning, 2)
            raise

    # -- the end of a session -------------------------------------------------------------------------------------

    async def asettle(self) -> None:
        """Wait until the summary holds everything that was handed over.

        Raises:
            StoreError: the store failed; what it refused is still queued.
        """
        await asyncio.to_thread(self._settle)

    def _settle(self) -> None:
        with self._lock:
            self._take_in([])
            closing, queued = self._closing, len(self._queue)
        if closing is not None:
            closing.result()
        if queued:
            raise StoreError(f"the messages of {queued} sessions could not be stored and are kept in memory")

    async def aend_session(self, memory: Memory) -> Summary | None:
        """End a session: all blocks of ``memory`` get what its window still holds, and the summary takes it in.

        The messages are archived in the chat store, as on overflow: `Memory.get` shows them no more.

        Args:
            memory: whose session ends.

        Returns:
            The latest summary; nothing where nothing was said yet.

        Raises:
            StoreError: the store failed; what it refused is still queued.
        """
        left = await memory.aget_all(status=MessageStatus.ACTIVE)
        if left:
            blocks = memory.memory_blocks
            putting = (block.aput(left, from_short_term_memory=True, session_id=memory.session_id) for block in blocks)
            await asyncio.gather(*putting)
            await memory.sql_store.archive_oldest_messages(memory.session_id, n=len(left))
        await self.asettle()
        return await asyncio.to_thread(self._bank.summary, self.scope)

    def end_session(self, memory: Memory) -> Summary | None:
        """As `aend_session`, for callers without an event loop."""
        ended: Summary | None = asyncio_run(self.aend_session(memory))
        return ended

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> RecursiveSummaryMemoryBlock:
        """A block of the same settings on the same bank."""
        data = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(bank=self._bank, **data)


def _opened(store_path: str | None, llm: LLM | ChatModel | None) -> MemoryBank:
    if store_path is None:
        raise InvalidInput("RecursiveSummaryMemoryBlock needs a bank, or a store_path to open one")
    return MemoryBank.open(store_path, summary=True, model=as_chat_model(llm) if llm is not None else None)


def _batches(chats: Sequence[ChatMessage], *, tools: bool) -> Iterator[_Batch]:
    """The messages worth remembering, by the session that ``Memory`` marked them with."""
    now = datetime.now(timezone.utc)
    of_session: dict[str, list[Message]] = {}
    for chat in chats:
        session = str(chat.additional_kwargs.pop("session_id", None) or "chat")
        of_session.setdefault(session, []).extend(_said(chat, tools))
    return (_Batch(session, tuple(held), now) for session, held in of_session.items() if held)


def _said(chat: ChatMessage, tools: bool) -> list[Message]:
    try:
        return to_messages([chat], tools=tools)
    except InvalidInput:
        # A time that is none: what was said counts for more.
        return to_messages([chat.model_copy(update={"additional_kwargs": {}})], tools=tools)


def _next_part(session: str, names: Sequence[str]) -> str:
    parts = [_PART.search(name) for name in names if _PART.sub("", name) == session]
    return f"{session}/part-{max((int(part[1]) for part in parts if part), default=0) + 1}"


def _block(told: Sequence[str], limit: int, count: TokenCounter) -> str:
    """As many sentences as fit, as quoted data; names in braces are broken, which chat engines would fill in."""
    room = limit - _quoting(count)
    if not told or room < 1:
        return ""
    # Half of what it is given goes to the summary, and here nothing wants the other half.
    shown, _ = summary_within([escape_braces(sentence) for sentence in told], 2 * room, count)
    return render((), summary=shown)


def _quoting(count: TokenCounter) -> int:
    """How many tokens of a block are quotation."""
    whole = count(render((), summary=["x"]))
    _, left = summary_within(["x"], 2 * whole, count)
    return left - whole
