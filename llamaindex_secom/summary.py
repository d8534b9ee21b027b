"""A running summary (RSum) as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any, Final

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemoryBlock, Memory
from typing_extensions import Unpack

from secom_core.bank import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S, keeper_of, waiting_for_a_lock
from secom_core.bank.unwritten import with_id_and_time
from secom_core.context.block import counter_with, shown_with
from secom_core.conversation import Message, check_scope
from secom_core.errors import InvalidInput, StoreError, StoreLocked, warn_degraded
from secom_core.llm.flow import ChatModel
from secom_core.memory import RecallOptions
from secom_core.processes import ForkLock, ForkWorker
from secom_core.stores.database import waiting_at_most
from secom_core.summaries import Summary
from secom_core.summaries.extraction import labelled
from secom_core.summaries.section import summary_block

from .agent_steps import UserHook, as_steps, check_user_hook, said_by_user
from .arguments import NoOthers, refuse_unknown
from .convert import escape_braces, without_recalled
from .handed_over import hand_over, messages_by_session, new_of
from .models import as_chat_model
from .unstored import WAIT_FOR, Unstored, keep_meanwhile, still_waiting, store_all, warn_store_failed

_TOKEN_BUDGET: Final = 1500
_PART: Final = re.compile(r"/part-(\d+)\Z")
_SETTLED_WITHIN_S: Final = 60.0
_SLACK: Final = 1.25
"""``Memory`` counts in its own tokens when it asks for a shorter block, and drops the block if it is too long."""


class RecursiveSummaryMemoryBlock(BaseMemoryBlock[str]):
    """Keeps a running summary of what no longer fits in the window of a ``Memory`` (RSum, equation 2).

    ``Memory`` hands over its oldest messages when its window overflows. They are remembered verbatim, as a closed
    session of their own (``"<session id>/part-1"`` and so on), and the bank's summary takes them in: in the background,
    so that no answer waits for a language model. Until then, the block shows their sentences beside the summary. If
    the model fails, the bank extracts sentences, with a `DegradedWarning`; if the store fails, messages are kept and
    stored with the next ones.

    The block shows the summary alone and recalls nothing for a query: ``SecomMemoryBlock(layers=["summaries"])`` shows
    both in one budget. A session that ends within its window overflows nothing: `aend_session` hands over what is left.

    Args:
        scope: whose memory it is; always given. A block may serve many sessions of one scope.
        bank: where everything is remembered, opened with ``summaries``.
        store_path: the bank's file, opened if no bank is given.
        key: the passphrase of that file, if it is encrypted; it is not stored in any field.
        busy_timeout: how many seconds a bank that is opened so waits for others who write, as for `MemoryBank.open`.
        llm: the language model of the bank that is opened; without one, sentences are extracted.
        token_budget: the length of the block, in the bank's token counter; 1500 unless given.
        by_user: says which messages with the role of the user are the user's own words, as for `SecomMemory`.
        remember_tools: remember tool calls and results too.
        name, description, accept_short_term_memory: as for every block of ``Memory``.
        priority: with 1 or more, ``Memory`` may have the block shortened.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, the bank was opened without ``summaries``, or
            ``token_budget`` is below 1.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(default="RecursiveSummary", description="The name of the memory block.")
    scope: tuple[str, ...]
    store_path: str | None = None
    token_budget: int = Field(default=_TOKEN_BUDGET, description="The length of the block, in tokens.")
    remember_tools: bool = Field(default=False, description="Whether tool calls and results are remembered too.")
    _bank: MemoryBank = PrivateAttr()
    _by_user: UserHook = PrivateAttr()
    _lock: Any = PrivateAttr()
    _unread: list[tuple[Unstored, list[Message]]] = PrivateAttr(default_factory=list)
    _queue: list[Unstored] = PrivateAttr(default_factory=list)
    _worker: ForkWorker = PrivateAttr()
    _closing: Future[None] | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        key: str | None = None,
        busy_timeout: float | None = None,
        llm: LLM | ChatModel | None = None,
        token_budget: int | None = None,
        by_user: UserHook = said_by_user,
        remember_tools: bool = False,
        name: str = "RecursiveSummary",
        description: str | None = None,
        priority: int = 0,
        accept_short_term_memory: bool = True,
        **others: Unpack[NoOthers],
    ) -> None:
        refuse_unknown(
            "RecursiveSummaryMemoryBlock",
            RecursiveSummaryMemoryBlock.__init__,
            others.keys(),
            besides=type(self).model_fields,
        )
        checked = check_scope(scope if scope is not None else ())
        hook = check_user_hook(by_user)
        budget = RecallOptions(_TOKEN_BUDGET if token_budget is None else token_budget).token_budget
        if bank is not None and llm is not None:
            raise InvalidInput("a bank that is open already takes no llm; open it with model=LlamaIndexChatModel(llm)")
        if bank is not None and key is not None:
            raise InvalidInput("a bank that is open already takes no key; give it with store_path")
        if bank is None:
            bank = _opened(store_path, llm, key=key, busy_timeout=busy_timeout)
        bank.layers.check(["summaries"])
        own = {"scope": checked, "store_path": bank.storage.path, "token_budget": budget, **others}
        super().__init__(
            name=name,
            description=description,
            priority=priority,
            accept_short_term_memory=accept_short_term_memory,
            **{**own, "remember_tools": remember_tools},
        )
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._by_user, self._lock = bank, hook, ForkLock()
        self._worker = ForkWorker("secom-summary")

    @classmethod
    def class_name(cls) -> str:
        """The name of the block's kind."""
        return "RecursiveSummaryMemoryBlock"

    @property
    def bank(self) -> MemoryBank:
        """The bank in which everything is stored."""
        return self._bank

    # -- reading --------------------------------------------------------------------------------------------------

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await asyncio.to_thread(self._block)

    def _block(self) -> str:
        try:
            with waiting_at_most(ANSWER_WAITS_S):
                # What waits is read first: if it is summarised meanwhile, it is shown twice rather than not at all.
                waiting = [sentence for message in self._unsummarised() for sentence in labelled(message)]
                latest = self._bank.summaries.latest(self.scope)
                return self._fitted([*(latest.sentences if latest else ()), *waiting], self.token_budget)
        except StoreError as error:
            warn_store_failed("the summary is not shown", error)
        return ""

    def _fitted(self, texts: Sequence[str], token_budget: int) -> str:
        """As many sentences as fit, as a quoted block; names in braces are broken, which chat engines would fill in."""
        layers = self._bank.layers
        counter = counter_with(layers, self._bank.token_counter)
        return shown_with(layers, summary_block([escape_braces(each) for each in texts], token_budget, counter))

    def _unsummarised(self) -> list[Message]:
        """The messages that were handed over and are not in the summary yet."""
        with self._lock:
            queued = [message for each in self._waiting() for message in each.messages]
        turns = (turn for name in self._pending_sessions() for turn in self._bank.turns(self.scope, name))
        stored = {message.id: message for turn in turns for message in turn.messages}
        return [*stored.values(), *(message for message in queued if message.id not in stored)]

    def _pending_sessions(self) -> list[str]:
        # From the store: another process may have been interrupted after it stored messages and before it summarised.
        names = [name for name in self._bank.sessions(self.scope) if _PART.search(name)]
        summarised = {version.session for version in self._bank.summaries.versions(self.scope)} if names else set()
        return [name for name in names if name not in summarised and self._bank.turns(self.scope, name, last=1)]

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block with fewer sentences, those that cover most; nothing if none fits.

        Args:
            content: what the block gave; ``Memory`` may also pass an empty list.
            tokens_to_truncate: how many tokens it should lose.
        """
        if not isinstance(content, str) or not content:
            return None
        texts = [line.removeprefix("- ") for line in content.splitlines() if line.startswith("- ")]
        room = self._bank.token_counter(content) - int(_SLACK * tokens_to_truncate) - 1
        return self._fitted(texts, room) or None

    # -- writing --------------------------------------------------------------------------------------------------

    async def _aput(self, messages: list[ChatMessage]) -> None:
        # The messages are shared with the other blocks, and were marked with the session id for the block alone.
        copies = [without_recalled(message) for message in messages]
        await asyncio.to_thread(self._take_in, copies)

    def _take_in(self, chats: Sequence[ChatMessage], within: float = ANSWER_WAITS_S) -> None:
        by_session = messages_by_session(as_steps(chats, self._by_user), tools=self.remember_tools)
        with self._lock:
            for session, said in by_session.items():
                named = [with_id_and_time(self._bank, message) for message in said]
                self._unread.append((Unstored(session=session, messages=named), said))
            self._remember(within)
            self._closing = self._worker.submit(copy_context().run, self._close)

    def _remember(self, within: float) -> None:
        """Store what waits, in order; a locked store is waited for so many seconds, and what it refuses waits on."""
        self._queue = still_waiting(self._bank, self.scope, self._queue)
        try:
            with waiting_at_most(within):
                while self._unread:
                    self._queue += self._parts_of(*self._unread[0])
                    del self._unread[0]
            try:
                with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope, within):
                    store_all(self._bank, self.scope, self._queue)
            except WAIT_FOR:
                keep_meanwhile(self._bank, self.scope, self._queue)
                raise
        except StoreError as error:
            if self._unread or not isinstance(error, StoreLocked):
                count = sum(len(each.messages) for each in self._waiting())
                warn_degraded(
                    f"the store failed; {count} messages that left the window are kept in memory and stored with the "
                    f"next ones: {error}"
                )

    def _waiting(self) -> list[Unstored]:
        queued = still_waiting(self._bank, self.scope, self._queue)
        return [*queued, *(given for given, _ in self._unread)]

    def _parts_of(self, given: Unstored, said: Sequence[Message]) -> list[Unstored]:
        """The messages without those of a history that is handed over again, as a session of their own."""
        names = [*self._bank.sessions(self.scope), *(each.session for each in self._queue)]
        parts = [name for name in dict.fromkeys(names) if _PART.sub("", name) == given.session]
        held = [message for name in parts for turn in self._bank.turns(self.scope, name) for message in turn.messages]
        held += [message for each in self._queue if each.session in parts for message in each.messages]
        as_kept = self._bank.storage.as_kept
        # By their own ids alone, and not by those that they were given.
        new = [given.messages[place] for place in new_of(as_kept(said), as_kept(held))]
        return [Unstored(session=_next_part(given.session, names), messages=new)] if new else []

    def _close(self) -> None:
        try:
            for name in self._pending_sessions():
                self._bank.close_session(self.scope, name)
        except StoreError as error:
            warn_degraded("the store failed; the summary is brought up to date later", error)
            raise

    # -- the end of a session -------------------------------------------------------------------------------------

    async def asettle(self) -> None:
        """Wait until the summary holds everything that was handed over.

        Raises:
            StoreError: the store failed; what it refused is still queued.
        """
        await asyncio.to_thread(self._settle)

    def _settle(self) -> None:
        writer = keeper_of(self._bank, self.scope)
        if writer.keeps(self.scope):
            writer.flush(_SETTLED_WITHIN_S)
        with self._lock:
            self._take_in([], math.inf)
            closing, queued = self._closing, len(self._waiting())
        if closing is not None:
            closing.result()
        if queued:
            raise StoreError(f"the messages of {queued} sessions could not be stored and are kept in memory")

    async def aend_session(self, memory: Memory) -> Summary | None:
        """End a session: all blocks of ``memory`` get what its window still holds, and the summary takes it in.

        The messages are archived in the chat store, as on overflow: ``Memory`` no longer shows them.

        Args:
            memory: whose session ends.

        Returns:
            The latest summary; nothing if there is none yet.

        Raises:
            StoreError: the store failed; what it refused is still queued.
        """
        await hand_over(memory)
        await self.asettle()
        return await asyncio.to_thread(self._bank.summaries.latest, self.scope)

    def end_session(self, memory: Memory) -> Summary | None:
        """As `aend_session`, for callers without an event loop."""
        ended: Summary | None = asyncio_run(self.aend_session(memory))
        return ended

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> RecursiveSummaryMemoryBlock:
        """A block of the same settings on the same bank."""
        data = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(bank=self._bank, by_user=self._by_user, **data)


def _opened(
    store_path: str | None, llm: LLM | ChatModel | None, *, key: str | None, busy_timeout: float | None
) -> MemoryBank:
    if store_path is None:
        raise InvalidInput("RecursiveSummaryMemoryBlock needs a bank, or a store_path to open one")
    model = as_chat_model(llm) if llm is not None else None
    return MemoryBank.open(store_path, key=key, summaries=True, model=model, busy_timeout=busy_timeout)


def _next_part(session: str, names: Sequence[str]) -> str:
    parts = [_PART.search(name) for name in names if _PART.sub("", name) == session]
    return f"{session}/part-{max((int(part[1]) for part in parts if part), default=0) + 1}"
