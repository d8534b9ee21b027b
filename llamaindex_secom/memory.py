"""Chat memory for LlamaIndex's chat engines and agents: the session's latest messages, and what the past says."""

from __future__ import annotations

import asyncio
import copy
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import (
    BaseContentBlock,
    ChatMessage,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import BaseMemory

from secom_core.analysis import count_tokens
from secom_core.bank import MemoryBank, Remembered
from secom_core.conversation import Message, Scope, check_scope
from secom_core.errors import InvalidInput
from secom_core.memory import Recall
from secom_core.prompts.quoting import without_thoughts
from secom_core.protocols import Denoiser, Embedder, Segmenter
from secom_core.reflection.citations import Citations, read_citations
from secom_core.writer import BackgroundWriter

from .convert import answer_of, escape_braces, from_message, text_of, to_messages, without_recalled
from .models import as_embedder
from .tracing import trace_recall
from .unstored import FAILURES, Unstored, degraded, is_forgotten, marked, store_all, turns_of, writer_of
from .window import SYSTEM, WindowEntry, fitting, without_forgotten

__all__ = ["SecomMemory", "WindowEntry"]

_TOKEN_LIMIT: Final = 8000
_LLM_SHARE: Final = 0.75
_MEMORY_LIMIT: Final = 1500
_MEDIA_TOKENS: Final = {"image": 2125, "audio": 512, "video": 2048, "document": 512}
"""What other media cost, about; the framework's own estimate opens files and downloads links."""

_banks: WeakValueDictionary[str, MemoryBank] = WeakValueDictionary()
"""Banks in use by file, so that a memory restored in the same process shares its bank, models included."""


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What was recalled for the question at hand; ``put`` once that question is part of the session."""

    recall: Recall
    put: bool
    epoch: tuple[int, int] | None = None


class SecomMemory(BaseMemory):
    """Long-term memory of a scope, and the window of the session at hand.

    Every message that is put is remembered at once, word for word, except system messages and (unless asked for) tool
    calls, tool results and an agent's thoughts. `get` returns the latest whole exchanges that fit, with what the
    scope's past has on the question put before it, as quoted data. Recalled text is never remembered again.

    Args:
        scope: whose memory it is; always given.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended.
        bank: where everything is remembered.
        store_path: the bank's file, opened where no bank is given.
        token_limit: how long what `get` returns may be, in tokens.
        memory_token_limit: how long the recalled part of it may be; a quarter, 1500 at most, unless given.
        insert_method: ``"user"`` puts recalled memory before the user's last message, where it keeps the prefix of the
            prompt stable and no agent throws it away; ``"system"`` puts it after the system message.
        remember_tools: remember tool calls and results too.
        write: ``"inline"`` makes topics, keys and vectors of what is put before `put` returns, ``"background"`` in a
            thread that all memories of a bank share; on disk it is at once with both. `flush` waits for the thread.
        on_error: what a store that fails in the middle of a conversation comes to: ``"warn"`` goes on without recalled
            memory, keeps what was said and stores it with the next messages, with a `DegradedWarning`; ``"raise"``
            raises.
        learn: have the bank learn from what answers cite of what was recalled for them, and keep them without their
            markers (RMM section 6). The model is told to cite by `secom_core.prompts.citing.CITE_INSTRUCTION`, in the
            system prompt.
        trace_contents: whether the `tracing.SecomRecallEvent` of a recall holds question and text.
        token_counter: counts tokens; an estimate unless given.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, the limits do not go together, or it is to learn with a
            bank that does not.
    """

    model_config = ConfigDict(extra="forbid")

    scope: tuple[str, ...]
    session: str = Field(min_length=1)
    store_path: str | None = None
    token_limit: int = Field(default=_TOKEN_LIMIT, ge=1)
    memory_token_limit: int = Field(ge=0)
    insert_method: Literal["user", "system"] = "user"
    remember_tools: bool = False
    write: Literal["inline", "background"] = "inline"
    on_error: Literal["warn", "raise"] = "warn"
    learn: bool = False
    trace_contents: bool = True
    window: list[WindowEntry] = Field(default_factory=list)
    unstored: list[Unstored] = Field(default_factory=list)
    _bank: MemoryBank = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recalled: _Recalled | None = PrivateAttr(default=None)
    _citations: Citations | None = PrivateAttr(default=None)
    _injected: int = PrivateAttr(default=0)
    _writer: BackgroundWriter | None = PrivateAttr(default=None)
    _epoch: tuple[int, int] | None = PrivateAttr(default=None)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        session: str | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        token_counter: Callable[[str], int] = count_tokens,
        **data: Any,
    ) -> None:
        checked = check_scope(scope if scope is not None else ())
        bank = bank or _open(store_path)
        data.pop("class_name", None)  # dumps have it
        data.setdefault("memory_token_limit", min(_MEMORY_LIMIT, data.get("token_limit", _TOKEN_LIMIT) // 4))
        named = {"scope": checked, "session": session or uuid.uuid4().hex, "store_path": bank.path}
        super().__init__(**{**data, **named})
        # Private attributes that are set before super().__init__() are lost.
        self._bank, self._count, self._lock = bank, token_counter, threading.RLock()
        if self.memory_token_limit >= self.token_limit:
            raise InvalidInput(f"memory_token_limit {self.memory_token_limit} leaves no room in {self.token_limit}")
        if self.learn and not bank.learns:
            raise InvalidInput("this bank does not learn; open it with learning=True")
        self._writer = writer_of(bank) if self.write == "background" else None
        if bank.path is not None:
            _banks[bank.path] = bank
        if "window" not in data:
            self.window = self._taken_up()

    @field_validator("scope")
    @classmethod
    def _check_scope(cls, value: Sequence[str]) -> Scope:
        return check_scope(value)

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "SecomMemory"

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Whose and which, without the words: workflows make this of their memory at every event."""
        return [("scope", self.scope), ("session", self.session), ("messages", len(self.window))]

    @classmethod
    def from_defaults(
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        *,
        scope: Sequence[str] | None = None,
        embed_model: BaseEmbedding | Embedder | None = None,
        segmenter: Segmenter | None = None,
        denoiser: Denoiser | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        token_limit: int | None = None,
        **data: Any,
    ) -> SecomMemory:
        """Make a memory, and its bank where none is given.

        Args:
            chat_history: messages to begin with; those not yet remembered are.
            llm: sets ``token_limit`` to three quarters of its context window where no limit is given.
            scope: whose memory it is.
            embed_model: a LlamaIndex or core embedder for the bank that is opened.
            segmenter: cuts topics in the bank that is opened.
            denoiser: makes keys in the bank that is opened.
            bank: a bank that is open already; the three above belong to it then.
            store_path: the file of the bank to open.
            token_limit: how long what `get` returns may be.
            **data: as for the class.
        """
        parts: dict[str, Any] = {
            "embedder": embed_model and as_embedder(embed_model),
            "segmenter": segmenter,
            "denoiser": denoiser,
        }
        given = {name: part for name, part in parts.items() if part is not None}
        if bank is not None and given:
            raise InvalidInput(f"a bank that is open already takes no {' or '.join(given)}")
        if given and store_path is not None:
            bank = MemoryBank.open(store_path, **given)
        limit = token_limit or (int(llm.metadata.context_window * _LLM_SHARE) if llm is not None else _TOKEN_LIMIT)
        memory = cls(scope=scope, bank=bank, store_path=store_path, token_limit=limit, **data)
        if chat_history:
            memory.set(chat_history)
        return memory

    @property
    def bank(self) -> MemoryBank:
        """Where everything is remembered."""
        return self._bank

    @property
    def last_recall(self) -> Recall | None:
        """What was recalled for the question at hand, with the numbers it was shown under."""
        return self._recalled.recall if self._recalled else None

    @property
    def last_citations(self) -> Citations | None:
        """What the last answer cited, where the memory learns."""
        return self._citations

    @property
    def injected_tokens(self) -> int:
        """How many tokens of recalled memory the last `get` put into the messages."""
        return self._injected

    def tokenizer_fn(self, text: str) -> Sequence[int]:
        """As many items as ``text`` has tokens; chat engines measure their own prompt with it."""
        return range(self._count(text))

    # -- reading --------------------------------------------------------------------------------------------------

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """The latest messages that fit, with what the past has on the question.

        Args:
            input: the question; the user's last message unless given.
            initial_token_count: how many tokens of the limit are taken already.
            **kwargs: passed over, as other memories do.

        Raises:
            InvalidInput: the limit is taken already.
        """
        if initial_token_count > self.token_limit:
            raise InvalidInput(f"initial_token_count {initial_token_count} is over token_limit {self.token_limit}")
        with self._lock:
            epoch = self._caught_up()
            room = self.token_limit - initial_token_count - self.memory_token_limit
            shown = fitting(self.window, room, self._tokens)
            question = _question(input, shown)
            text = escape_braces(self._recall(question, shown, epoch).text)
            messages = [entry.message.model_copy(deep=True) for entry in shown]
            self._injected = self._count(text) if text else 0
        return self._inserted(messages, question, text) if text else messages

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session, as it was put; exchanges that were forgotten since are left out."""
        with self._lock:
            self._caught_up()
            return [entry.message.model_copy(deep=True) for entry in self.window]

    def _recall(self, question: str, shown: Sequence[WindowEntry], epoch: tuple[int, int] | None) -> Recall:
        if not question.strip() or not self.memory_token_limit:
            return Recall(question, (), "", 0)
        # Agents read several times a turn; memory and its numbers stay the same until the next question.
        if self._recalled is None or not _still_holds(self._recalled, question, epoch):
            visible = {entry.turn for entry in shown if entry.turn}
            self._recalled = _Recalled(self._searched(question, visible), _asks(shown, question), epoch)
            trace_recall(self._recalled.recall, self.session, contents=self.trace_contents)
        return self._recalled.recall

    def _searched(self, question: str, visible: set[str]) -> Recall:
        try:
            return self._bank.recall(self.scope, question, token_budget=self.memory_token_limit, exclude=visible)
        except FAILURES as error:
            self._failed("nothing is recalled", error)
        return Recall(question, (), "", 0)

    def _caught_up(self) -> tuple[int, int] | None:
        """Drop from the window what was forgotten since; returns the scope's epoch."""
        try:
            epoch = self._bank.epoch(self.scope)
            if epoch != self._epoch and any(entry.turn for entry in self.window):
                gone = self._gone()
                self.window = without_forgotten(self.window, gone)
                # What is still being answered goes with the next question.
                self._epoch = None if any(entry.turn in gone for entry in self.window) else epoch
        except FAILURES as error:
            self._failed("what was forgotten may still be shown", error)
            return self._recalled.epoch if self._recalled else None
        return epoch

    def _gone(self) -> set[str]:
        """The turns of the window that the bank holds no more."""
        waiting = {message.id for batch in self.unstored for message in batch.messages}
        gone = {entry.turn for entry in self.window if entry.turn and entry.turn not in waiting}
        # A message with an id of its own may have been known from another session.
        for name in (self.session, *self._bank.sessions(self.scope)):
            if not gone:
                break
            gone -= {turn.id for turn in self._bank.turns(self.scope, name)}
        return gone

    def _failed(self, what: str, error: Exception) -> None:
        if self.on_error == "raise":
            raise error
        degraded(what, error)

    def _inserted(self, messages: list[ChatMessage], question: str, text: str) -> list[ChatMessage]:
        block = TextBlock(text=text)
        if self.insert_method == "system":
            if not messages or messages[0].role not in SYSTEM:
                return [ChatMessage(role=MessageRole.SYSTEM, blocks=[block]), *messages]
            messages[0].blocks = [*messages[0].blocks, block]
            return messages
        last = next((each for each in reversed(messages) if each.role == MessageRole.USER), None)
        if last is None or question not in _wordings(last):
            # A context chat engine puts the question after the answer: it is not in the window yet.
            return [*messages, ChatMessage(role=MessageRole.USER, blocks=[block])]
        last.blocks = [block, *last.blocks]
        return messages

    # -- writing --------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message to the session and remember it."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the session and remember them, all together."""
        cleaned = _cleaned(messages)
        with self._lock:
            said = [self._noted(message) for message in cleaned]
            entries = self._remembered(said)
            self.window = [*self.window, *entries]

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the window; messages that the session does not hold yet are remembered."""
        cleaned = _cleaned(messages)
        with self._lock:
            self._recalled = None
            self.window = self._remembered(cleaned, known=self._known(cleaned))

    def reset(self) -> None:
        """Begin a new session. What was remembered stays; `MemoryBank.forget` deletes it."""
        with self._lock:
            try:
                self._store_unstored()
                names = self._bank.sessions(self.scope)
                if self.session in names:
                    self._close_session()
                    self.session = _next_name(self.session, names)
            except FAILURES as error:
                self._failed("the session is left open", error)
                self.session = uuid.uuid4().hex
            self.window, self._recalled, self._citations = [], None, None

    def _close_session(self) -> None:
        if self._writer is not None:
            self._writer.close_session(self.scope, self.session)
        else:
            self._bank.close_session(self.scope, self.session)

    def flush(self, timeout: float | None = None) -> bool:
        """Store what the store had refused, and wait until the background writer has made everything of it.

        Args:
            timeout: how many seconds to wait at most; as long as it takes unless given.

        Returns:
            Whether all is stored and made. What is not is made by the next recall.
        """
        with self._lock:
            try:
                self._store_unstored()
            except FAILURES as error:
                self._failed("what was said is kept and stored with the next messages", error)
                return False
        return self._writer is None or self._writer.flush(timeout)

    async def aflush(self, timeout: float | None = None) -> bool:
        """As `flush`, off the event loop."""
        return await asyncio.to_thread(self.flush, timeout)

    def _noted(self, message: ChatMessage) -> ChatMessage:
        """The message as it is kept: a question ends what was recalled before, an answer may teach."""
        if message.role == MessageRole.USER and self._recalled is not None:
            same = not self._recalled.put and self._recalled.recall.query in _wordings(message)
            self._recalled = replace(self._recalled, put=True) if same else None
        return self._taught_by(message) if self.learn and _is_answer(message) else message

    def _taught_by(self, answer: ChatMessage) -> ChatMessage:
        recall = self.last_recall
        if recall is None or recall.shown is None:
            return answer
        self._citations = read_citations(without_thoughts(answer_of(text_of(answer))), recall.numbers)
        try:
            self._bank.reward(self.scope, recall.query, recall.shown, self._citations)
        except FAILURES as error:
            self._failed("the answer teaches nothing", error)
        # Under these numbers, other memories are shown for the next question.
        return _without_markers(answer, recall.numbers)

    def _remembered(self, messages: Sequence[ChatMessage], known: dict[int, str] | None = None) -> list[WindowEntry]:
        """The messages with their turns; those that have none yet, and are worth it, go into the bank."""
        turns: dict[int, str] = dict(known or {})
        new = {
            place: marked(message)
            for place, chat in enumerate(messages)
            if place not in turns
            for message in to_messages([chat], tools=self.remember_tools)
        }
        if new:
            turns |= zip(new, self._stored(list(new.values())), strict=True)
        return [WindowEntry(message=chat, turn=turns.get(place)) for place, chat in enumerate(messages)]

    def _stored(self, messages: list[Message]) -> list[str]:
        """The turns that hold the messages; where the store fails, each goes by its own id until it is stored."""
        try:
            self._store_unstored()
            return turns_of(messages, self._write(self.scope, messages, self.session).turn_ids)
        except FAILURES as error:
            self._failed("what was said is kept and stored with the next messages", error)
        self.unstored = [*self.unstored, Unstored(session=self.session, messages=messages)]
        return [str(message.id) for message in messages]

    def _write(self, scope: Scope, messages: Sequence[Message], session: str) -> Remembered:
        if self._writer is not None:
            return self._writer.remember(scope, messages, session=session)
        return self._bank.remember(scope, messages, session=session)

    def _store_unstored(self) -> None:
        if not self.unstored:
            return
        if is_forgotten(self._epoch, self._bank.epoch(self.scope)):
            self.unstored = []
        turns = store_all(self._write, self.scope, self.unstored)
        for entry in self.window:
            entry.turn = turns.get(entry.turn or "", entry.turn)

    def _known(self, chats: Sequence[ChatMessage]) -> dict[int, str]:
        """The turns of those messages that the session holds already, by place."""
        asked = [
            (place, message)
            for place, chat in enumerate(chats)
            for message in to_messages([chat], tools=self.remember_tools)
        ]
        # What the window has was said, also where it was forgotten since: it is not to be remembered again.
        shown = [
            (message, entry.turn)
            for entry in self.window
            if entry.turn
            for message in to_messages([entry.message], tools=self.remember_tools)
        ]
        found = _matched(asked, shown)
        left = [(place, message) for place, message in asked if place not in found]
        return found | _matched(left, self._said(besides=set(found.values()))) if left else found

    def _said(self, besides: Collection[str]) -> list[tuple[Message, str]]:
        try:
            turns = self._bank.turns(self.scope, self.session)
        except FAILURES as error:
            self._failed("what the session holds cannot be told", error)
            return []
        return [(each, turn.id) for turn in turns if turn.id not in besides for each in turn.messages]

    def _taken_up(self) -> list[WindowEntry]:
        # A tool's result without the call it answers is refused by models, and calls come back as words only.
        return [
            WindowEntry(message=from_message(each), turn=turn.id)
            for turn in self._bank.turns(self.scope, self.session)
            for each in turn.messages
            if each.role != "tool"
        ]

    # -- tokens ---------------------------------------------------------------------------------------------------

    def _tokens(self, entry: WindowEntry) -> int:
        return sum(self._block_tokens(block) for block in entry.message.blocks) + sum(
            self._count(str(value)) for key, value in entry.message.additional_kwargs.items() if key in _CALLS
        )

    def _block_tokens(self, block: BaseContentBlock) -> int:
        kind = getattr(block, "block_type", "")
        if kind in _MEDIA_TOKENS:
            return _MEDIA_TOKENS[kind]
        if isinstance(block, ThinkingBlock):
            return block.num_tokens or self._count(block.content or "")
        text = block.text if isinstance(block, TextBlock) else block.model_dump_json(exclude={"block_type"})
        return self._count(text)

    # -- copies ---------------------------------------------------------------------------------------------------

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """A dict that JSON can hold: the file of the bank, scope, session, window and limits."""
        with self._lock:
            self._caught_up()
        return super().to_dict(**{"mode": "json", **kwargs})

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SecomMemory:
        """A memory with a window of its own on the same bank."""
        data = {name: copy.deepcopy(getattr(self, name), memo) for name in type(self).model_fields}
        return type(self)(bank=self._bank, token_counter=self._count, **data)


_ASSISTANTS: Final = frozenset({MessageRole.ASSISTANT, MessageRole.CHATBOT, MessageRole.MODEL})
_CALLS: Final = ("tool_calls", "function_call")


def _open(store_path: str | None) -> MemoryBank:
    if store_path is None:
        raise InvalidInput("SecomMemory needs a bank, or a store_path to open one; a bank in memory cannot be reopened")
    return _banks.get(str(Path(store_path).expanduser().resolve())) or MemoryBank.open(store_path)


def _cleaned(messages: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Copies without recalled memory; a message that was nothing else is left out."""
    pairs = ((message, without_recalled(message)) for message in messages)
    return [cleaned for message, cleaned in pairs if cleaned.blocks or not message.blocks]


def _wordings(message: ChatMessage) -> set[str]:
    return {message.content or "", text_of(message)}


def _asks(shown: Sequence[WindowEntry], question: str) -> bool:
    users = [entry.message for entry in shown if entry.message.role == MessageRole.USER]
    return bool(users) and question in _wordings(users[-1])


def _question(input: str | ChatMessage | None, shown: Sequence[WindowEntry]) -> str:
    if isinstance(input, ChatMessage):
        return text_of(input)
    users = (entry.message for entry in reversed(shown) if entry.message.role == MessageRole.USER)
    return input if input is not None else next((text_of(message) for message in users), "")


def _key(message: Message) -> tuple[str, str]:
    return message.role, message.text


def _matched(asked: Sequence[tuple[int, Message]], said: Sequence[tuple[Message, str]]) -> dict[int, str]:
    """By place, the turn that holds the message already: by its id, else in the order in which things were said."""
    by_id = {each.id: turn for each, turn in said if each.id}
    found = {place: by_id[each.id] for place, each in asked if each.id in by_id}
    matcher = SequenceMatcher(None, [_key(m) for m, _ in said], [_key(m) for _, m in asked], autojunk=False)
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            found.setdefault(asked[block.b + step][0], said[block.a + step][1])
    return found


def _still_holds(recalled: _Recalled, question: str, epoch: tuple[int, int] | None) -> bool:
    # Where nothing was remembered yet, nothing was shown that could have been forgotten.
    return recalled.recall.query == question and (recalled.epoch is None or recalled.epoch == epoch)


def _is_answer(message: ChatMessage) -> bool:
    calls = (
        any(isinstance(block, ToolCallBlock) for block in message.blocks) or "tool_calls" in message.additional_kwargs
    )
    return message.role in _ASSISTANTS and not calls


def _without_markers(answer: ChatMessage, shown: Sequence[int]) -> ChatMessage:
    blocks = [
        block.model_copy(update={"text": read_citations(block.text, shown, markers="strip").text})
        if isinstance(block, TextBlock)
        else block
        for block in answer.blocks
    ]
    return answer.model_copy(update={"blocks": blocks})


def _next_name(session: str, taken: Sequence[str]) -> str:
    base, mark, number = session.rpartition("~")
    stem, count = (base, int(number)) if mark and number.isdecimal() else (session, 1)
    while (name := f"{stem}~{count + 1}") in taken:
        count += 1
    return name
