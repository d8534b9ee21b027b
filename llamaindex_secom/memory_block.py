"""Long-term memory of a scope as a block of LlamaIndex's ``Memory``."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from typing import Any, Final, Literal

from llama_index.core.async_utils import asyncio_run
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.memory import BaseMemoryBlock, Memory
from typing_extensions import Unpack

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S, epoch_soon, keeper_of, shared_writer, waiting_for_a_lock
from secom_core.bank.unwritten import is_forgotten, with_id_and_time
from secom_core.conversation import Message, check_scope
from secom_core.errors import StoreLocked
from secom_core.memory import Recall, RecallOptions
from secom_core.processes import ForkLock
from secom_core.stores.database import waiting_at_most

from .agent_steps import UserHook, as_steps, check_user_hook, said_by_user
from .arguments import refuse_unknown
from .banks import bank_of
from .convert import asked_in, escape_braces, without_recalled
from .dialogue import QueryHook, asked_at, before, check_query_hook, last_user, said_before, searched_for
from .handed_over import SESSION_KEY, UNNAMED_SESSION, hand_over, messages_by_session, new_of
from .memory_options import BlockFields
from .tracing import traced_recall
from .unstored import FAILURES, WAIT_FOR, Unstored, keep_meanwhile, still_waiting, store_all, warn_store_failed

_TOKEN_BUDGET: Final = 1500
_MOST: Final = 1024
"""The recalls of so many sessions are cached; beyond that, that of the session that was inactive longest is dropped."""
_NOWHERE: Final = -1
"""The place of a query that is over."""
_SLACK: Final = 1.25
"""``Memory`` counts in its own tokens when it asks for a shorter block, and drops the block if it is too long."""


@dataclass(frozen=True, slots=True)
class _Query:
    """A query and its place in the session: the same words may come again, and are another query then.

    Args:
        asked: the user's last message.
        place: how many messages of others there are before it.
        epoch: the scope's epoch.
        text: what is searched for.
        context: what was said before it.
        at: when it was said, where it says so.
    """

    asked: str
    place: int
    epoch: tuple[int, int] | None
    text: str = field(default="", compare=False)
    context: tuple[Message, ...] = field(default=(), compare=False)
    at: datetime | None = field(default=None, compare=False)


class _Block(str):
    """A recalled block with its session and query, so that it can be recalled again within fewer tokens."""

    session: str
    query: _Query

    @classmethod
    def of(cls, recall: Recall, session: str, query: _Query) -> _Block:
        block = cls(escape_braces(recall.text))
        block.session, block.query = session, query
        return block


class SecomMemoryBlock(BaseMemoryBlock[str]):
    """Remembers what no longer fits in the window of a ``Memory``, and recalls what answers the user's last message.

    ``Memory`` hands over its oldest messages when its window overflows. They are remembered verbatim, under the session
    id that comes with them, so that one block serves any number of sessions. A history that is passed again, as by
    ``agent.run(chat_history=…)``, is remembered once. The same holds for a question and its answer that are repeated
    word for word and leave the window by themselves. If the store fails, messages are kept and stored with the next
    ones, with a `DegradedWarning`. If a session ends before its window overflows, `aend_session` passes on its
    messages. `SecomMemory`, used instead of ``Memory``, remembers every message at once.

    Args:
        scope: whose memory it is; always given.
        bank: where everything is remembered.
        store_path: the bank's file, opened with the ``layers`` if no bank is given.
        key: the passphrase of that file, if it is encrypted and not open in this process; it is not serialised.
        busy_timeout: how many seconds a bank that is opened so waits for others who write, as for `MemoryBank.open`.
        token_budget: the length of the block, in the bank's token counter; 1500 unless given.
        k: the largest number of recalled memories.
        layers: the names of layers that take part in recalls, such as ``["summaries"]``.
        only_relevant: recall only memories that answer the query, and leave the rest of the block empty.
        history: also show statements that no longer hold, marked as such.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        query: makes what is searched for out of the messages in the window, the user's last one at the end; that one as
            it is unless given. It is not serialised.
        by_user: says which messages with the role of the user are the user's own words, as for `SecomMemory`.
        remember_tools: remember tool calls and results too.
        write: ``"inline"`` makes segments, keys and vectors at once, ``"background"`` in a thread; ``"off"`` remembers
            nothing, such as beside a `RecursiveSummaryMemoryBlock` on the same bank, which remembers the same messages.
        trace_contents: whether the `tracing.SecomRecallEvent` of a recall holds the query and the recalled block.
        name, description, accept_short_term_memory: as for every block of ``Memory``.
        priority: with 1 or more, ``Memory`` may have the block shortened.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, ``token_budget`` or ``k`` is below 1, or the bank cannot
            recall with one of the layers.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = Field(default="SecomMemory", description="The name of the memory block.")
    scope: tuple[str, ...]
    store_path: str | None = None
    token_budget: int = Field(default=_TOKEN_BUDGET, description="The length of the block, in tokens.")
    k: int | None = Field(default=None, description="How many memories are recalled at most.")
    layers: tuple[str, ...] = Field(default=(), description="The layers that take part in recalls.")
    only_relevant: bool = Field(default=False, description="Whether only what answers the query is recalled.")
    history: bool = Field(default=True, description="Whether what holds no more is recalled too.")
    where: dict[str, Any] | None = Field(default=None, description="What messages pass that are recalled.")
    also: tuple[tuple[str, ...], ...] = Field(default=(), description="Other scopes that are searched too.")
    remember_tools: bool = Field(default=False, description="Whether tool calls and results are remembered too.")
    write: Literal["inline", "background", "off"] = Field(
        default="inline", description="When segments and keys are made; or nothing is remembered."
    )
    trace_contents: bool = Field(default=True, description="Whether traces of recalls hold query and text.")
    unstored: list[Unstored] = Field(default_factory=list, description="The messages that the store has refused.")
    _bank: MemoryBank = PrivateAttr()
    _hook: QueryHook | None = PrivateAttr()
    _by_user: UserHook = PrivateAttr()
    _writer: BackgroundWriter | None = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recalls: OrderedDict[str, tuple[_Query, Recall]] = PrivateAttr()
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)
    _unread: list[tuple[Unstored, list[Message]]] = PrivateAttr(default_factory=list)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        key: str | None = None,
        busy_timeout: float | None = None,
        token_budget: int | None = None,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        history: bool = True,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        query: QueryHook | None = None,
        by_user: UserHook = said_by_user,
        remember_tools: bool = False,
        write: Literal["inline", "background", "off"] = "inline",
        trace_contents: bool = True,
        name: str = "SecomMemory",
        description: str | None = None,
        priority: int = 0,
        accept_short_term_memory: bool = True,
        **saved: Unpack[BlockFields],
    ) -> None:
        refuse_unknown("SecomMemoryBlock", SecomMemoryBlock.__init__, saved.keys(), besides=type(self).model_fields)
        checked = check_scope(scope if scope is not None else ())
        options = RecallOptions(
            _TOKEN_BUDGET if token_budget is None else token_budget, k, layers, only_relevant, where, also, history
        )
        hook, user_hook = check_query_hook(query), check_user_hook(by_user)
        bank = bank_of(
            bank,
            store_path,
            needed_by="SecomMemoryBlock",
            layers=options.layers,
            key=key,
            busy_timeout=busy_timeout,
        )
        bank.layers.check(options.layers)
        own: dict[str, Any] = {"scope": checked, "store_path": bank.storage.path, **options.arguments, **saved}
        super().__init__(
            name=name,
            description=description,
            priority=priority,
            accept_short_term_memory=accept_short_term_memory,
            **{**own, "remember_tools": remember_tools, "write": write, "trace_contents": trace_contents},
        )
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._hook, self._by_user = bank, hook, user_hook
        self._lock, self._recalls = ForkLock(), OrderedDict()
        self._writer = shared_writer(bank) if self.write == "background" else None

    @classmethod
    def class_name(cls) -> str:
        """The name of the block's kind."""
        return "SecomMemoryBlock"

    @property
    def bank(self) -> MemoryBank:
        """The bank in which everything is stored."""
        return self._bank

    def recall_of(self, session: str) -> Recall | None:
        """The last recall of a session, with its hits, numbers and tokens; nothing where there was none yet."""
        with self._lock:
            entry = self._recalls.get(session)
        return entry[1] if entry is not None else None

    # -- reading --------------------------------------------------------------------------------------------------

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        session = str(block_kwargs.get(SESSION_KEY) or UNNAMED_SESSION)
        return await asyncio.to_thread(self._block, messages or (), session)

    def _block(self, messages: Sequence[ChatMessage], session: str) -> str:
        messages = as_steps([without_recalled(each) for each in messages], self._by_user)
        asked, place = _last_query(messages)
        if not asked.strip():
            return ""
        try:
            query = _Query(asked, place, epoch_soon(self._bank, self.scope))
            query, recall = self._cached(session, query) or self._asked(session, query, messages)
            return _Block.of(recall, session, query)
        except FAILURES as error:
            warn_store_failed("nothing is recalled", error)
        return ""

    def _cached(self, session: str, query: _Query) -> tuple[_Query, Recall] | None:
        # Agents read several times a turn; the recalled block and its numbers stay the same until the next query.
        with self._lock:
            entry = self._recalls.get(session)
        return entry if entry is not None and entry[0] == query else None

    def _asked(self, session: str, query: _Query, messages: Sequence[ChatMessage]) -> tuple[_Query, Recall]:
        earlier = before(messages, query.asked)
        text = searched_for(query.asked, earlier, self._hook, warns=True)
        query = replace(query, text=text, context=tuple(said_before(earlier)), at=asked_at(messages))
        return query, self._recall(session, query)

    def _recall(self, session: str, query: _Query, token_budget: int | None = None) -> Recall:
        options = RecallOptions(
            token_budget or self.token_budget,
            self.k,
            self.layers,
            self.only_relevant,
            self.where,
            self.also,
            self.history,
        )
        recall = Recall(query.asked, (), "", 0)
        if query.text:
            traced: dict[str, Any] = {"session": session, "contents": self.trace_contents}
            about = {**options.arguments, "context": query.context, "now": query.at}
            recall = traced_recall(self._bank, self.scope, query.text, **traced, **about)
        with self._lock:
            self._epoch = query.epoch
            self._recalls.pop(session, None)
            self._recalls[session] = query, recall
            while len(self._recalls) > _MOST:
                self._recalls.popitem(last=False)
        return recall

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The block with fewer memories, the best of them; nothing if none fits.

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
            # Recalled again, so that an answer may cite what it was shown and nothing else.
            return _Block.of(self._recall(content.session, content.query, room), content.session, content.query) or None
        except FAILURES as error:
            warn_store_failed("nothing is recalled", error)
        return None

    # -- writing --------------------------------------------------------------------------------------------------

    async def _aput(self, messages: list[ChatMessage]) -> None:
        # The messages are shared with the other blocks, and were marked with the session id for the block alone.
        await asyncio.to_thread(self._take_in, [without_recalled(message) for message in messages])

    def _take_in(self, chats: Sequence[ChatMessage]) -> None:
        by_session = messages_by_session(as_steps(chats, self._by_user), tools=self.remember_tools)
        with self._lock:
            new = [
                Unstored(session=session, messages=[with_id_and_time(self._bank, each) for each in messages])
                for session, messages in by_session.items()
            ]
            for session in by_session.keys() & self._recalls.keys():
                # These messages have left the window, and the last recall did not have them: it answers nothing more.
                query, recall = self._recalls[session]
                self._recalls[session] = replace(query, place=_NOWHERE), recall
            if self.write == "off":
                return
            waiting = still_waiting(self._bank, self.scope, self.unstored)
            self.unstored = [*waiting, *new]
            self._unread += [(each, by_session[each.session]) for each in new]
            try:
                with waiting_at_most(ANSWER_WAITS_S):
                    self._leave_out_known()
                with waiting_for_a_lock(keeper_of(self._bank, self.scope), self.scope):
                    self._store(waiting)
            except FAILURES as error:
                if self._unread or not isinstance(error, StoreLocked):
                    warn_store_failed("what left the window is kept and stored with what leaves it next", error)
                if not self._unread and isinstance(error, WAIT_FOR):
                    keep_meanwhile(self._bank, self.scope, self.unstored)

    def _leave_out_known(self) -> None:
        """Leave the messages of a history that is handed over again out of what came in."""
        as_kept = self._bank.storage.as_kept
        while self._unread:
            given, said = self._unread[0]
            held = [message for turn in self._bank.turns(self.scope, given.session) for message in turn.messages]
            earlier = takewhile(lambda each: each is not self._unread[0][0], self.unstored)
            held += [message for each in earlier if each.session == given.session for message in each.messages]
            # By their own ids alone, and not by those that they were given.
            given.messages = [given.messages[place] for place in new_of(as_kept(said), as_kept(held))]
            del self._unread[0]
        self.unstored = [each for each in self.unstored if each.messages]

    def _store(self, waiting: Sequence[Unstored]) -> None:
        if waiting and is_forgotten(self._epoch, self._bank.storage.epoch(self.scope)):
            gone = set(map(id, waiting))
            self.unstored = [each for each in self.unstored if id(each) not in gone]
        store_all(self._writer or self._bank, self.scope, self.unstored)
        self._epoch = self._bank.storage.epoch(self.scope)

    def flush(self, timeout: float | None = None) -> bool:
        """Store what the store had refused, and wait for the background writer.

        Args:
            timeout: how many seconds to wait at most; as long as it takes unless given.

        Returns:
            Whether everything is stored and made.
        """
        if (keeper := keeper_of(self._bank, self.scope)).keeps(self.scope) and not keeper.flush(timeout):
            return False
        self._take_in([])
        return not self.unstored and (self._writer is None or self._writer.flush(timeout))

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    # -- the end of a session -------------------------------------------------------------------------------------

    async def aend_session(self, memory: Memory) -> None:
        """End a session: all blocks of ``memory`` get what its window still holds, and the session is closed.

        The messages are archived in the chat store, as on overflow: ``Memory`` no longer shows them.

        Args:
            memory: whose session ends.
        """
        await hand_over(memory)
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
            warn_store_failed("the session is left open", error)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SecomMemoryBlock:
        """A block of the same settings on the same bank."""
        data = {name: getattr(self, name) for name in type(self).model_fields if name != "unstored"}
        return type(self)(bank=self._bank, query=self._hook, by_user=self._by_user, **data)


def _last_query(messages: Sequence[ChatMessage]) -> tuple[str, int]:
    """The user's last message, and how many messages of others there are before it."""
    place = last_user(messages)
    if place is None:
        return "", 0
    others = sum(message.role != MessageRole.USER for message in messages[:place])
    return asked_in(messages[place]), others
