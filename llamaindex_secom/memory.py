"""Chat memory for LlamaIndex's chat engines and agents: the session's latest messages, and what the past says."""

from __future__ import annotations

import copy
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import BaseContentBlock, ChatMessage, MessageRole, TextBlock, ThinkingBlock
from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.types import BaseMemory

from secom_core.analysis import count_tokens
from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Scope, check_scope
from secom_core.errors import InvalidInput
from secom_core.memory import Recall
from secom_core.protocols import Denoiser, Embedder, Segmenter

from .convert import escape_braces, from_message, text_of, to_messages, without_recalled
from .models import as_embedder

__all__ = ["SecomMemory", "WindowEntry"]

_TOKEN_LIMIT: Final = 8000
_LLM_SHARE: Final = 0.75
_MEMORY_LIMIT: Final = 1500
_MEDIA_TOKENS: Final = {"image": 2125, "audio": 512, "video": 2048, "document": 512}
"""What other media cost, about; the framework's own estimate opens files and downloads links."""

_banks: WeakValueDictionary[str, MemoryBank] = WeakValueDictionary()
"""Banks in use by file, so that a memory restored in the same process shares its bank, models included."""


class WindowEntry(BaseModel):
    """A message of the session and the turn of the bank that holds it; no turn where it is not remembered."""

    message: ChatMessage
    turn: str | None = None


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What was recalled for the question at hand; ``put`` once that question is part of the session."""

    recall: Recall
    put: bool


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
        token_counter: counts tokens; an estimate unless given.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, or the limits do not go together.
    """

    model_config = ConfigDict(extra="forbid")

    scope: tuple[str, ...]
    session: str = Field(min_length=1)
    store_path: str | None = None
    token_limit: int = Field(default=_TOKEN_LIMIT, ge=1)
    memory_token_limit: int = Field(ge=0)
    insert_method: Literal["user", "system"] = "user"
    remember_tools: bool = False
    window: list[WindowEntry] = Field(default_factory=list)
    _bank: MemoryBank = PrivateAttr()
    _count: Callable[[str], int] = PrivateAttr()
    _lock: Any = PrivateAttr()
    _recalled: _Recalled | None = PrivateAttr(default=None)

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
            room = self.token_limit - initial_token_count - self.memory_token_limit
            shown = _fitting(self.window, room, self._tokens)
            question = _question(input, shown)
            recall = self._recall(question, shown)
            messages = [entry.message.model_copy(deep=True) for entry in shown]
        return self._inserted(messages, question, recall.text) if recall.text else messages

    def get_all(self) -> list[ChatMessage]:
        """Every message of the session, as it was put."""
        with self._lock:
            return [entry.message.model_copy(deep=True) for entry in self.window]

    def _recall(self, question: str, shown: Sequence[WindowEntry]) -> Recall:
        if not question.strip() or not self.memory_token_limit:
            return Recall(question, (), "", 0)
        # Agents read several times a turn; memory and its numbers stay the same until the next question.
        if self._recalled is None or self._recalled.recall.query != question:
            visible = {entry.turn for entry in shown if entry.turn}
            recall = self._bank.recall(self.scope, question, token_budget=self.memory_token_limit, exclude=visible)
            self._recalled = _Recalled(recall, put=_asks(shown, question))
        return self._recalled.recall

    def _inserted(self, messages: list[ChatMessage], question: str, text: str) -> list[ChatMessage]:
        block = TextBlock(text=escape_braces(text))
        if self.insert_method == "system":
            if not messages or messages[0].role not in _SYSTEM:
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
            for message in cleaned:
                self._forget_question(message)
            self.window = [*self.window, *self._remembered(cleaned)]

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the window; messages that the session does not hold yet are remembered."""
        cleaned = _cleaned(messages)
        with self._lock:
            self._recalled = None
            self.window = self._remembered(cleaned, known=self._known(cleaned))

    def reset(self) -> None:
        """Begin a new session. What was remembered stays; `MemoryBank.forget` deletes it."""
        with self._lock:
            names = self._bank.sessions(self.scope)
            if self.session in names:
                self._bank.close_session(self.scope, self.session)
                self.session = _next_name(self.session, names)
            self.window, self._recalled = [], None

    def _forget_question(self, message: ChatMessage) -> None:
        if message.role != MessageRole.USER or self._recalled is None:
            return
        same = not self._recalled.put and self._recalled.recall.query in _wordings(message)
        self._recalled = replace(self._recalled, put=True) if same else None

    def _remembered(self, messages: Sequence[ChatMessage], known: dict[int, str] | None = None) -> list[WindowEntry]:
        """The messages with their turns; those that have none yet, and are worth it, go into the bank."""
        turns: dict[int, str] = dict(known or {})
        new = {
            place: message if message.id else replace(message, id=uuid.uuid4().hex)
            for place, chat in enumerate(messages)
            if place not in turns
            for message in to_messages([chat], tools=self.remember_tools)
        }
        if new:
            done = self._bank.remember(self.scope, list(new.values()), session=self.session)
            turns |= _turns_of(new, done.turn_ids)
        return [WindowEntry(message=chat, turn=turns.get(place)) for place, chat in enumerate(messages)]

    def _known(self, chats: Sequence[ChatMessage]) -> dict[int, str]:
        """The turns of those messages that the session holds already, by place."""
        said = [(each, turn.id) for turn in self._bank.turns(self.scope, self.session) for each in turn.messages]
        asked = [
            (place, message)
            for place, chat in enumerate(chats)
            for message in to_messages([chat], tools=self.remember_tools)
        ]
        by_id = {each.id: turn for each, turn in said}
        found = {place: by_id[each.id] for place, each in asked if each.id in by_id}
        matcher = SequenceMatcher(None, [_key(m) for m, _ in said], [_key(m) for _, m in asked], autojunk=False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                found.setdefault(asked[block.b + step][0], said[block.a + step][1])
        return found

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
        return super().to_dict(**{"mode": "json", **kwargs})

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SecomMemory:
        """A memory with a window of its own on the same bank."""
        data = {name: copy.deepcopy(getattr(self, name), memo) for name in type(self).model_fields}
        return type(self)(bank=self._bank, token_counter=self._count, **data)


_SYSTEM: Final = frozenset({MessageRole.SYSTEM, MessageRole.DEVELOPER})
_TOOL: Final = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})
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


def _turns_of(messages: dict[int, Message], turn_ids: Sequence[str]) -> dict[int, str]:
    """Which of the turns holds each message: a turn goes by the id of its first."""
    current, names, found = turn_ids[0], set(turn_ids), {}
    for place, message in messages.items():
        current = message.id if message.id in names else current
        found[place] = current
    return found


def _next_name(session: str, taken: Sequence[str]) -> str:
    base, mark, number = session.rpartition("~")
    stem, count = (base, int(number)) if mark and number.isdecimal() else (session, 1)
    while (name := f"{stem}~{count + 1}") in taken:
        count += 1
    return name


def _fitting(entries: Sequence[WindowEntry], room: int, tokens: Callable[[WindowEntry], int]) -> list[WindowEntry]:
    """System messages, and the latest whole exchanges that fit beside them; of the last one, what fits."""
    pinned = [entry for entry in entries if entry.message.role in _SYSTEM]
    exchanges = list(_exchanges([entry for entry in entries if entry.message.role not in _SYSTEM]))
    room -= sum(map(tokens, pinned))
    kept: list[WindowEntry] = []
    for exchange in reversed(exchanges):
        size = sum(map(tokens, exchange))
        if size > room:
            break
        kept, room = [*exchange, *kept], room - size
    if not kept and exchanges:
        kept = _shortened(exchanges[-1], room, tokens)
    chosen = {id(entry) for entry in (*pinned, *kept)}
    return [entry for entry in entries if id(entry) in chosen]


def _exchanges(entries: Iterable[WindowEntry]) -> Iterator[list[WindowEntry]]:
    """Runs that begin with a user's message; the first may begin otherwise."""
    return _runs(entries, lambda entry: entry.message.role == MessageRole.USER)


def _shortened(exchange: list[WindowEntry], room: int, tokens: Callable[[WindowEntry], int]) -> list[WindowEntry]:
    """The user's message and the latest steps that fit, the last one always; a tool call goes with its results."""
    opening = exchange[:1] if exchange[0].message.role == MessageRole.USER else []
    steps = list(_runs(exchange[len(opening) :], lambda entry: entry.message.role not in _TOOL))
    kept: list[WindowEntry] = []
    room -= sum(map(tokens, opening))
    for step in reversed(steps):
        size = sum(map(tokens, step))
        if kept and size > room:
            break
        kept, room = [*step, *kept], room - size
    return [*opening, *kept]


def _runs(entries: Iterable[WindowEntry], begins: Callable[[WindowEntry], bool]) -> Iterator[list[WindowEntry]]:
    run: list[WindowEntry] = []
    for entry in entries:
        if run and begins(entry):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run
