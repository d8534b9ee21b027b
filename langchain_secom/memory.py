"""Memory for LangChain's classic chains: the session's latest messages, and memories of earlier ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, cast

from langchain_core.callbacks import Callbacks
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.content import KNOWN_BLOCK_TYPES
from langchain_core.runnables import RunnableConfig, run_in_executor
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, field_validator, model_validator
from pydantic_core import to_jsonable_python
from typing_extensions import Self

from secom_core.bank import MemoryBank, remember_soon
from secom_core.bank.answers import turns_of_session
from secom_core.conversation import Message, Scope, Turn
from secom_core.errors import InvalidInput, InvalidScope, MissingExtra, shorten
from secom_core.memory import Recall, RecallOptions

from .arguments import Hints, foreign
from .convert import from_message, to_message, to_messages
from .dialogue import Dialogue, QueryHook, coerced, said_in_session, turns_within
from .scopes import scope_of, session_of
from .tracing import RecallRun

try:
    from langchain_classic.base_memory import BaseMemory
except ImportError as error:
    raise MissingExtra("SecomMemory", "langchain") from error


_NO_INPUT: Final = frozenset({"stop"})
_NO_OUTPUT: Final = frozenset({"intermediate_steps", "source_documents"})
_BLOCKS: Final = KNOWN_BLOCK_TYPES | {
    *("input_text", "output_text", "image_url", "input_image", "input_audio", "input_file", "document", "media"),
    *("thinking", "redacted_thinking", "executable_code", "code_execution_result"),
    *("tool_use", "server_tool_use", "function_call", "web_search_call"),
}
"""Types of content blocks: of LangChain's, and of what providers give beside them."""
_FOREIGN: Final[Hints] = {
    "max_token_limit": ("window", "window limits the latest messages by their number, token_budget the recalled text"),
    "llm": ("bank", "a model belongs to the bank: MemoryBank.open(model=LangChainChatModel(llm), summaries=True)"),
    "chat_memory": ("bank", "the bank keeps the messages; store old ones with bank.remember(scope, to_messages(…), …)"),
    "moving_summary_buffer": ("bank", "store an old summary with bank.remember, as a message of the speaker Summary"),
    "buffer": ("bank", "store an old summary with bank.remember, as a message of the speaker Summary"),
    "retriever": ("bank", "it searches the bank; MemoryBank.open(vector_store=LangChainVectorStore(…)) takes a store"),
    "return_docs": ("return_messages", "it gives text, or messages with return_messages=True, and no documents"),
    "exclude_input_keys": ("input_key", "input_key names the one input that is remembered"),
    "session_id": ("session", "session is its name"),
    "user_id": ("scope", 'scope says whose memory it is, such as ("acme", "alice")'),
}
"""For arguments of LangChain's memories."""


class SecomMemory(BaseMemory):
    """Long-term memory of a scope, and the latest messages of the current session.

    ``load_memory_variables`` returns the recalled memories as quoted data, followed by the session's latest messages.
    The recall searches for the input, read together with the messages before it. ``save_context`` remembers the input
    and the output, word for word; recalled text is never remembered again. ``clear`` deletes only the current session.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        memory = SecomMemory(store_path="memory.db", scope=("acme", "alice"))

    Usage::

        ConversationChain(llm=llm, memory=memory).invoke({"input": "Where do I live?"})

    ``SecomMemory(**memory.model_dump(mode="json"))`` makes the same memory again, if the bank is a file. If the bank
    was opened with models or layers, also pass it as ``bank``.

    Args:
        scope: whose memory it is; always given.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended. A whole
            number or a UUID counts as it is written.
        bank: where everything is remembered.
        store_path: the bank's file, opened if no bank is given.
        key: the passphrase of that file, if it is encrypted; a dump does not have it, so pass it again.
        busy_timeout: how many seconds a bank that is opened so waits for others who write, as for `MemoryBank.open`.
        memory_key: the name of the variable it fills. `ConversationChain` wants ``"history"``.
        input_key: which of a chain's inputs is the user's message, if there are several.
        output_key: which of a chain's outputs is the answer, if there are several.
        return_messages: fill the variable with messages instead of text.
        token_budget: the largest length of the recalled block, in the bank's token counter.
        k: the largest number of recalled memories.
        layers: layers of the bank that take part in recalls, such as ``"summaries"``; as for `MemoryBank.recall`.
        only_relevant: recall only memories that answer the input, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        query: makes what is searched for out of the session's latest messages and the input, such as
            `langchain_secom.rewritten_query`; the input's words unless given.
        window: how many of the session's latest messages are given; whole turns, the last one always.
        human_prefix: the user's name in text.
        ai_prefix: the model's name in text.
        trace_contents: whether traces of a recall hold the query and what was found.
        callbacks: handlers of recalls; classic chains do not hand theirs on.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    _foreign: ClassVar[Hints] = _FOREIGN

    scope: tuple[str, ...]
    session: str = Field(default_factory=lambda: uuid.uuid4().hex)
    bank: MemoryBank = Field(default=cast("MemoryBank", None), exclude=True)  # set below, from store_path if need be
    store_path: str | None = None
    busy_timeout: float | None = None
    memory_key: str = Field(default="history", min_length=1)
    input_key: str | None = Field(default=None, min_length=1)
    output_key: str | None = Field(default=None, min_length=1)
    return_messages: bool = False
    token_budget: StrictInt | None = 1000
    k: StrictInt | None = None
    layers: tuple[str, ...] = ()
    only_relevant: StrictBool = False
    where: dict[str, Any] | None = None
    also: tuple[tuple[str, ...], ...] = ()
    history: StrictBool = True
    query: QueryHook | None = Field(default=None, exclude=True)
    window: int = Field(default=6, ge=0)
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    trace_contents: bool = True
    callbacks: Callbacks = Field(default=None, exclude=True)

    def __init__(self, *, key: str | None = None, **data: Any) -> None:
        # What is validated is shown in errors, so the key is used before.
        if key is not None:
            data["bank"] = self._unlocked(key, data)
        super().__init__(**data)

    @classmethod
    def _unlocked(cls, key: str, data: Mapping[str, Any]) -> MemoryBank:
        path = data.get("store_path")
        if data.get("bank") is not None or path is None:
            raise InvalidInput(
                f"{cls.__name__} takes key= with store_path= only; give the key of a bank to MemoryBank.open"
            )
        return cls._opened(path, key=key, busy_timeout=data.get("busy_timeout"))

    @classmethod
    def _opened(cls, path: str, *, key: str | None = None, busy_timeout: float | None = None) -> MemoryBank:
        return MemoryBank.open(path, key=key, busy_timeout=busy_timeout)

    @model_validator(mode="before")
    @classmethod
    def _open_bank(cls, data: dict[str, Any]) -> dict[str, Any]:
        bank, path = data.get("bank"), data.get("store_path")
        if bank is None and path is not None:
            bank = cls._opened(path, busy_timeout=data.get("busy_timeout"))
        if not isinstance(bank, MemoryBank):
            raise InvalidInput(f"{cls.__name__} needs a bank or a store_path, got {bank!r}")
        return {**data, "bank": bank, "store_path": bank.storage.path}

    # Validators before the fields run from the last one to the first: nothing is opened for a wrong call.
    @model_validator(mode="before")
    @classmethod
    def _refuse_foreign(cls, data: dict[str, Any]) -> dict[str, Any]:
        if said := foreign(cls.__name__, data, cls.model_fields, cls._foreign):
            raise InvalidInput(said)
        if data.get("scope") is None:
            raise InvalidScope(f"whose memory? Give {cls.__name__} a scope, such as scope=('acme', 'alice')")
        return data

    @field_validator("scope", mode="before")
    @classmethod
    def _check_scope(cls, value: Any) -> Scope:
        return scope_of(value)

    @field_validator("session", mode="before")
    @classmethod
    def _check_session(cls, value: Any) -> str:
        return session_of(value)

    @model_validator(mode="after")
    def _check_recall(self) -> Self:
        self.bank.layers.check(self._recall_options.layers)
        return self

    @property
    def _recall_options(self) -> RecallOptions:
        return RecallOptions(
            self.token_budget, self.k, self.layers, self.only_relevant, self.where, self.also, self.history
        )

    @property
    def memory_variables(self) -> list[str]:
        """The name of the variable it fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The session's latest messages, preceded by the memories that the input finds.

        Args:
            inputs: the chain's inputs; without any, nothing is recalled.

        Raises:
            InvalidInput: there are several inputs and ``input_key`` does not say which is meant.
        """
        dialogue = self._dialogue(inputs)
        return self._loaded(dialogue, dialogue.query(self._hook))

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """As `load_memory_variables`, without blocking the event loop."""
        dialogue = await run_in_executor(None, self._dialogue, inputs)
        return await run_in_executor(None, self._loaded, dialogue, await dialogue.aquery(self._hook))

    def _loaded(self, dialogue: Dialogue, query: str) -> dict[str, Any]:
        turns = self._latest()
        recall = self._recall(query, dialogue, exclude=[turn.id for turn in turns])
        render = self._as_messages if self.return_messages else self._as_text
        return {self.memory_key: render(recall, [message for turn in turns for message in turn.messages])}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Remember the user's message and the chain's answer.

        Of a list of messages, the user's last one and what follows it are new; what stands before it was remembered
        when it was new.

        While another program holds the store's lock, or the disk is full, they wait in memory (`remember_soon`), and
        are written as soon as they can be.

        Args:
            inputs: the chain's inputs; the memory's own variable is passed over.
            outputs: the chain's outputs; an agent's intermediate steps are passed over. Of an answer that a parser has
                made into data, the JSON is remembered.

        Raises:
            InvalidInput: there are several inputs or outputs and the keys do not say which are meant, the input is
                neither text nor messages, or the output is neither these nor data.
        """
        asked = _messages(self._input(inputs), "user")
        messages = [*asked, *_messages(_as_said(self._output(outputs)), "assistant")]
        if messages:
            remember_soon(self.bank, None, self.scope, messages, session=self.session)

    def clear(self) -> None:
        """Forget the current session, for good. Other sessions of the scope stay; see `MemoryBank.forget`."""
        self.bank.forget(self.scope, session=self.session)

    def _latest(self) -> list[Turn]:
        """The last turns that have at most ``window`` messages together; the last one always."""
        if not self.window:
            return []
        return turns_within(turns_of_session(self.bank, self.scope, self.session, last=self.window), self.window)

    def _dialogue(self, inputs: Mapping[str, Any]) -> Dialogue:
        """The input, after the messages before it: of a list of messages these, else the session's."""
        # A chain may be looked at without inputs: `memory.load_memory_variables({})`.
        value = self._input(inputs) if self._inputs(inputs) else []
        thread = _thread(value, "user")
        dialogue = Dialogue.in_thread(thread)
        if dialogue.asking is None and thread and to_message(thread[-1]).role == "user":
            dialogue = Dialogue(tuple(thread[:-1]), thread[-1])
        if dialogue.asking is None or dialogue.before:
            return dialogue
        return replace(dialogue, before=said_in_session(self.bank, self.scope, self.session))

    @property
    def _hook(self) -> QueryHook | None:
        return self.query

    def _recall(self, query: str, dialogue: Dialogue, exclude: Collection[str]) -> Recall | None:
        if not query.strip():
            return None
        return self._search(query, dialogue, exclude, self._recall_options)

    def _search(self, query: str, dialogue: Dialogue, exclude: Collection[str], options: RecallOptions) -> Recall:
        def search() -> Recall:
            about = {**options.arguments, "context": dialogue.context, "now": dialogue.at}
            return self.bank.recall(self.scope, query, exclude=exclude, **about)

        handlers: RunnableConfig = {"callbacks": self.callbacks} if self.callbacks else {}
        return RecallRun(search=search, query=query, scope=self.scope, contents=self.trace_contents).recall(handlers)

    def _as_messages(self, recall: Recall | None, latest: Sequence[Message]) -> list[BaseMessage]:
        messages = [from_message(message) for message in latest]
        if recall is None or not recall.text:
            return messages
        # Not a system message: the words of users must not speak with the developer's authority.
        return [HumanMessage(recall.text, additional_kwargs={"lc_source": "secom"}), *messages]

    def _as_text(self, recall: Recall | None, latest: Sequence[Message]) -> str:
        recalled = recall.text if recall is not None else ""
        return "\n".join(filter(None, [recalled, *map(self._line, latest)]))

    def _line(self, message: Message) -> str:
        names = {"user": self.human_prefix, "assistant": self.ai_prefix}
        label = message.speaker or names.get(message.role, message.role)
        return f"{label}: {message.text}" if label else message.text

    def _inputs(self, inputs: Mapping[str, Any]) -> list[str]:
        return [key for key in inputs if key not in _NO_INPUT | {self.memory_key}]

    def _input(self, inputs: Mapping[str, Any]) -> Any:
        key = self.input_key or _only(self._inputs(inputs), "input")
        if key not in inputs:
            raise InvalidInput(f"there is no input {key!r} among {sorted(inputs)}")
        return inputs[key]

    def _output(self, outputs: Mapping[str, Any]) -> Any:
        names = [key for key in outputs if key not in _NO_OUTPUT]
        key = self.output_key or ("output" if "output" in names else _only(names, "output"))
        if key not in outputs:
            raise InvalidInput(f"there is no output {key!r} among {sorted(outputs)}")
        return outputs[key]


def _only(keys: Sequence[str], kind: str) -> str:
    if len(keys) != 1:
        raise InvalidInput(f"expected one {kind}, got {sorted(keys)}: say which with {kind}_key")
    return keys[0]


def _messages(value: Any, role: str) -> list[Message]:
    """The messages of an input or output: text, a message, content blocks, or the new part of a list of messages."""
    return to_messages(_since_last_human(_thread(value, role)))


def _as_said(answer: Any) -> Any:
    """Text, messages and content blocks as they are; the data that a parser has made of an answer as JSON.

    What JSON cannot hold, such as bytes that are no text and data that holds itself, is as Python writes it.
    """
    if isinstance(answer, BaseMessage) or not isinstance(answer, (Mapping, list, tuple, BaseModel)):
        return answer
    if isinstance(answer, list) and _is_content(answer):
        return answer
    try:
        return json.dumps(to_jsonable_python(answer, fallback=str), ensure_ascii=False)
    except (ValueError, RecursionError):
        return repr(answer)


def _is_content(answer: list[Any]) -> bool:
    """Whether a list is the content of a message, or of messages; not of data whose items have types of their own."""
    if len(answer) > 1 and all(isinstance(each, str) for each in answer):
        return False
    others = [each for each in answer if not isinstance(coerced(each), (str, BaseMessage))]
    types = [each["type"] for each in others if isinstance(each, dict) and isinstance(each.get("type"), str)]
    return len(types) == len(others) and (len(others) < len(answer) or not others or not _BLOCKS.isdisjoint(types))


def _thread(value: Any, role: str) -> list[BaseMessage]:
    """An input or output as messages."""
    items = list(map(coerced, value)) if isinstance(value, list) else [value]
    messages = [each for each in items if isinstance(each, BaseMessage)]
    if len(messages) == len(items):
        return messages
    if not isinstance(value, (str, list)):
        which = "output_key" if role == "assistant" else "input_key"
        raise InvalidInput(
            f"expected text or messages to remember, got {shorten(value)}; say with {which} which they are"
        )
    # Agents give the answer of some models as a list of content blocks.
    return [AIMessage(value) if role == "assistant" else HumanMessage(value)]


def _since_last_human(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return messages[places[-1] :] if places else messages
