"""A conversation's messages for `RunnableWithMessageHistory`, kept in the bank, and what the past has on a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    ToolMessage,
    message_chunk_to_message,
)
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, run_in_executor
from langchain_core.runnables.utils import ConfigurableFieldSpec

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, check_scope
from secom_core.errors import InvalidInput
from secom_core.memory import Recall
from secom_core.writer import BackgroundWriter

from .convert import from_message, text_of, to_messages
from .identity import Identity
from .said import query_of, stable_id
from .tracing import RecallRun

__all__ = ["SecomChatMessageHistory", "SessionHistories", "recalled_memories"]

_AS_IT_WAS: Final = "secom_message"
"""Where a stored message keeps what its words alone do not tell."""


class SecomChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, word for word, in a bank.

    What it gives never depends on what is asked, so that nothing is stored twice. What the scope's past has on a
    question comes into a prompt by `recalled_memories`.

    Messages come back as they were added, with ids, names, tool calls and results, and the time in
    ``additional_kwargs["timestamp"]``. Left out are system messages, what a
    framework made up, reasoning, inline data, and messages that say nothing.

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        history = SecomChatMessageHistory(MemoryBank.open("memory.db"), scope=("acme", "alice"), session="monday")

    Usage::

        histories = SessionHistories(bank, scope_keys=("user_id",))
        chat = RunnableWithMessageHistory(chain, histories, history_factory_config=histories.specs, ...)
        chat.invoke({"question": "Hi."}, {"configurable": {"user_id": "alice", "session_id": "monday"}})

    Args:
        bank: where the messages are.
        scope: whose they are.
        session: the name of the conversation.
        window: how many of the latest messages are given, whole turns; all unless given.
        writer: does what follows remembering in the background; done at once unless given.

    Raises:
        InvalidScope: for a bad scope.
        InvalidInput: for a session without a name, or a window below 1.
    """

    def __init__(
        self,
        bank: MemoryBank,
        *,
        scope: Sequence[str],
        session: str,
        window: int | None = None,
        writer: BackgroundWriter | None = None,
    ) -> None:
        if not isinstance(session, str) or not session:
            raise InvalidInput(f"a session has a name, got {session!r}")
        if window is not None and window < 1:
            raise InvalidInput(f"window is a number of messages from 1 on, got {window}")
        self.scope, self.session = check_scope(scope), session
        self._bank, self._writer, self._window = bank, writer, window

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The session's messages, in order."""
        return [_restored(message) for message in self._stored()]

    async def aget_messages(self) -> list[BaseMessage]:
        """As `messages`, off the event loop."""
        return await run_in_executor(None, lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages. One that is there already, under the same id with the same words, is not added again.

        Raises:
            InvalidInput: a message's timestamp is no time.
            StoreError: the store failed; nothing is added.
        """
        added = [each for message in messages for each in _kept(message, self.session)]
        if added:
            (self._writer or self._bank).remember(self.scope, added, session=self.session)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As `add_messages`, off the event loop."""
        await run_in_executor(None, self.add_messages, messages)

    def clear(self) -> None:
        """Forget the session, for good. Other sessions of the scope stay."""
        self._bank.forget(self.scope, session=self.session)

    async def aclear(self) -> None:
        """As `clear`, off the event loop."""
        await run_in_executor(None, self.clear)

    def recall(
        self, query: str, *, token_budget: int | None = 1000, config: RunnableConfig | None = None, **options: Any
    ) -> str:
        """What the scope's past has on a query, as one block of quoted data; what `messages` shows is left out.

        Args:
            query: a question, or what was just said.
            token_budget: how long the block may be.
            config: the run that it is part of; the current one unless given.
            **options: for `MemoryBank.recall`: ``k``, ``summary``, ``timelines``, ``topics``; and ``trace_contents``,
                whether traces of it hold the query and what was found.
        """
        run = self._run(query, token_budget=token_budget, **options)
        return run.recall(config).text if query.strip() else ""

    async def arecall(
        self, query: str, *, token_budget: int | None = 1000, config: RunnableConfig | None = None, **options: Any
    ) -> str:
        """As `recall`, off the event loop."""
        run = self._run(query, token_budget=token_budget, **options)
        return (await run.arecall(config)).text if query.strip() else ""

    def _run(self, query: str, *, trace_contents: bool = True, **options: Any) -> RecallRun:
        def search() -> Recall:
            shown = [turn.id for turn in self._turns()]
            return self._bank.recall(self.scope, query, exclude=shown, **options)

        return RecallRun(search=search, query=query, scope=self.scope, contents=trace_contents)

    def _turns(self) -> list[Any]:
        turns = self._bank.turns(self.scope, self.session, last=self._window)
        if self._window is None:
            return turns
        kept: list[Any] = []
        for turn in reversed(turns):
            if kept and sum(len(each.messages) for each in (*kept, turn)) > self._window:
                break
            kept.append(turn)
        return kept[::-1]

    def _stored(self) -> list[Message]:
        return [message for turn in self._turns() for message in turn.messages]


class SessionHistories:
    """Gives `RunnableWithMessageHistory` the history of each call: its ``get_session_history``.

    Its parameters are the names that it wants in ``config["configurable"]``, as the runnable demands; ``specs`` lists
    them for its ``history_factory_config``.

    Args:
        bank: where the messages are.
        scope: whose they are; from the configuration unless given.
        scope_keys: the parts of the scope by their names in ``config["configurable"]``.
        session_key: what names the conversation there.
        window: as for `SecomChatMessageHistory`.
        writer: the same.

    Raises:
        InvalidInput: there is neither a scope nor a key.
        InvalidScope: for a bad scope.
    """

    def __init__(
        self,
        bank: MemoryBank,
        *,
        scope: Sequence[str] | None = None,
        scope_keys: Sequence[str] = ("user_id",),
        session_key: str = "session_id",
        window: int | None = None,
        writer: BackgroundWriter | None = None,
    ) -> None:
        identity = Identity.of(type(self).__name__, scope, scope_keys)
        self._bank, self._window, self._writer = bank, window, writer
        self._scope, self._session_key = identity.bound, session_key
        self._keys = identity.keys if identity.bound is None else ()
        named = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for key in self._names]
        self.__signature__ = Signature(named)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self._keys, self._session_key)

    @property
    def specs(self) -> list[ConfigurableFieldSpec]:
        """The names that a call needs in ``config["configurable"]``."""
        return [ConfigurableFieldSpec(id=key, annotation=str, is_shared=True) for key in self._names]

    def __call__(self, *args: str, **kwargs: str) -> SecomChatMessageHistory:
        """The history of one conversation.

        Raises:
            InvalidScope: a part of the scope is empty.
        """
        given = self.__signature__.bind(*args, **kwargs).arguments
        scope = self._scope or tuple(given[key] for key in self._keys)
        session = given[self._session_key]
        return SecomChatMessageHistory(
            self._bank, scope=scope, session=session, window=self._window, writer=self._writer
        )


def recalled_memories(input_key: str | None = None, **options: Any) -> Runnable[Any, str]:
    """A step that gives what the past has on the question, inside a `RunnableWithMessageHistory`.

    Usage::

        RunnablePassthrough.assign(memories=recalled_memories("question")) | prompt | model

    Args:
        input_key: where the question is in the step's input: text, a message, or messages, of which the last human one
            counts. The input itself unless given.
        **options: for `SecomChatMessageHistory.recall`. With ``trace_contents=False``, traces of the recall hold no
            words; those of the steps around it are the chain's.
    """
    return _RecalledMemories(input_key, options)


class _RecalledMemories(Runnable[Any, str]):
    """Not a `RunnableLambda`, whose own run would show what the recall's does not."""

    def __init__(self, input_key: str | None, options: Mapping[str, Any]) -> None:
        self.name, self._key, self._options = "recalled_memories", input_key, options

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        config = ensure_config(config)
        history, query = _asked(input, config, self._key)
        return history.recall(query, config=config, **self._options)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        config = ensure_config(config)
        history, query = _asked(input, config, self._key)
        return await history.arecall(query, config=config, **self._options)


def _asked(given: Any, config: RunnableConfig, key: str | None) -> tuple[SecomChatMessageHistory, str]:
    history = config.get("configurable", {}).get("message_history")
    if not isinstance(history, SecomChatMessageHistory):
        raise InvalidInput(
            "recalled_memories works inside a RunnableWithMessageHistory over a SecomChatMessageHistory; the "
            f"configuration has {history!r}"
        )
    asked = given[key] if key is not None and isinstance(given, Mapping) else given
    said = asked if isinstance(asked, list) else [asked]
    humans = [each for each in said if isinstance(each, (str, HumanMessage))]
    if not humans:
        raise InvalidInput(f"a question is text, a message, or messages with a human one among them; got {asked!r}")
    return history, humans[-1] if isinstance(humans[-1], str) else query_of(humans[-1])


def _kept(message: BaseMessage, session: str) -> list[Message]:
    """The message as it is stored; nothing where it says nothing."""
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    own = {_AS_IT_WAS: _as_it_was(message)}
    return [
        replace(
            each,
            # An id of a framework may come back in another session, with other words.
            id=stable_id(session, each) if each.id else None,
            metadata={**each.metadata, **own},
        )
        for each in to_messages([message])
    ]


def _as_it_was(message: BaseMessage) -> dict[str, Any]:
    about: dict[str, Any] = {"id": message.id} if message.id else {}
    if isinstance(message, ToolMessage):
        about |= {"content": text_of(message), "tool_call_id": message.tool_call_id, "status": message.status}
    elif isinstance(message, AIMessage) and message.tool_calls:
        calls = [{"name": call["name"], "args": call["args"], "id": call["id"]} for call in message.tool_calls]
        about |= {"content": text_of(message), "tool_calls": calls}
    return about


def _restored(message: Message) -> BaseMessage:
    """The message as it was added. Nothing of it is loaded by a name that it gives itself."""
    metadata = dict(message.metadata)
    was = metadata.pop(_AS_IT_WAS, None)
    if not isinstance(was, Mapping):
        return from_message(message)
    metadata.pop("tool_call_id", None)
    plain = from_message(replace(message, id=was.get("id"), metadata=metadata))
    about: dict[str, Any] = {"id": plain.id, "name": plain.name, "additional_kwargs": plain.additional_kwargs}
    if "tool_call_id" in was:
        return ToolMessage(was["content"], tool_call_id=was["tool_call_id"], status=was["status"], **about)
    if "tool_calls" in was:
        return AIMessage(was["content"], tool_calls=was["tool_calls"], **about)
    return plain
