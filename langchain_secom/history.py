"""Chat history for `RunnableWithMessageHistory`, kept in the bank, and recalls from other conversations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Any, Final

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, run_in_executor
from langchain_core.runnables.utils import ConfigurableFieldSpec

from secom_core.bank import BackgroundWriter, MemoryBank, check_bank, check_writer, remember_soon
from secom_core.bank.answers import turns_of_session
from secom_core.bank.checks import check_count
from secom_core.conversation import Message, Turn
from secom_core.errors import InvalidInput
from secom_core.memory import Recall, RecallOptions

from .dialogue import Dialogue, QueryHook, check_hook, latest_said, said_in_session, turns_within
from .identity import Identity, check_key
from .known_messages import ids_shown
from .scopes import ScopeField, ScopePart, scope_of, session_of
from .stored_messages import restored, stored_form
from .tracing import RecallRun

_BUDGET: Final = 1000


class SecomChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, word for word, in a bank.

    `messages` does not depend on the question, so that no message is stored twice. Use `recalled_memories` to put
    memories of other conversations into the prompt.

    Messages come back as they were added, with ids, names, tool calls and results, and the time in
    ``additional_kwargs["timestamp"]``. System messages, messages that a framework wrote, empty messages, reasoning and
    inline data are left out.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        history = SecomChatMessageHistory(MemoryBank.open("memory.db"), scope=("acme", "alice"), session="monday")

    Usage::

        histories = SessionHistories(bank, scope_keys=("user_id",))
        chat = RunnableWithMessageHistory(chain, histories, history_factory_config=histories.specs, ...)
        chat.invoke({"question": "Hi."}, {"configurable": {"user_id": "alice", "session_id": "monday"}})

    Args:
        bank: where the messages are.
        scope: whose messages they are.
        session: the name of the conversation; a whole number or a UUID counts as it is written.
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
        scope: Sequence[ScopePart],
        session: ScopePart,
        window: int | None = None,
        writer: BackgroundWriter | None = None,
    ) -> None:
        if window is not None:
            check_count("window", window)
        self.scope, self.session = scope_of(scope), session_of(session)
        name = type(self).__name__
        self._bank, self._window = check_bank(bank, name), window
        self._writer = check_writer(writer, bank, name)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The session's messages, in order."""
        return [restored(message) for message in self._stored()]

    async def aget_messages(self) -> list[BaseMessage]:
        """As `messages`, without blocking the event loop."""
        return await run_in_executor(None, lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages. One that is there already, under the same id with the same words, is not added again.

        While another program holds the store's lock, or the disk is full, they wait in memory (`remember_soon`).
        `messages` has them, and they are written as soon as they can be.

        Raises:
            InvalidInput: a message's timestamp is no time.
            StoreError: the store failed in another way; nothing is added.
        """
        added = [each for message in messages for each in stored_form(message, self.session)]
        if added:
            remember_soon(self._bank, self._writer, self.scope, added, session=self.session)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """As `add_messages`, without blocking the event loop."""
        await run_in_executor(None, self.add_messages, messages)

    def clear(self) -> None:
        """Forget the session, for good. Other sessions of the scope stay."""
        self._bank.forget(self.scope, session=self.session)

    async def aclear(self) -> None:
        """As `clear`, without blocking the event loop."""
        await run_in_executor(None, self.clear)

    def recall(
        self,
        query: str,
        *,
        token_budget: int | None = _BUDGET,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
        context: Sequence[BaseMessage] | None = None,
        shown: Sequence[BaseMessage] | None = None,
        config: RunnableConfig | None = None,
        trace_contents: bool = True,
    ) -> str:
        """Recall memories of the scope for a query, as one block of quoted data, without the turns in `messages`.

        Args:
            query: a question, or the user's message.
            token_budget: the largest length of the block, in the bank's token counter.
            k: the largest number of memories.
            layers: layers of the bank that take part, such as ``"summaries"``; as for `MemoryBank.recall`.
            only_relevant: recall only memories that answer the query, and leave the rest of the budget empty.
            where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
            also: other scopes that are searched too, such as a team's; the block says whose each memory is.
            history: also show statements that no longer hold, marked as such, after the ones that replaced them.
            context: what was said before the query, oldest first; the session's latest messages unless given.
            shown: the messages that the prompt shows, such as a trimmed history: turns that are not among them are
                recalled too; all of `messages` unless given.
            config: the run that it is part of; the current one unless given.
            trace_contents: whether traces of it hold the query and what was found.

        Raises:
            InvalidInput: the bank cannot recall so.
        """
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        return self._run(query, options, context, shown, trace_contents).recall(config).text if query.strip() else ""

    async def arecall(
        self,
        query: str,
        *,
        token_budget: int | None = _BUDGET,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
        context: Sequence[BaseMessage] | None = None,
        shown: Sequence[BaseMessage] | None = None,
        config: RunnableConfig | None = None,
        trace_contents: bool = True,
    ) -> str:
        """As `recall`, without blocking the event loop."""
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        run = self._run(query, options, context, shown, trace_contents)
        return (await run.arecall(config)).text if query.strip() else ""

    def _run(
        self,
        query: str,
        options: RecallOptions,
        context: Sequence[BaseMessage] | None,
        shown: Sequence[BaseMessage] | None,
        contents: bool,
    ) -> RecallRun:
        def search() -> Recall:
            before = latest_said(self.said_last if context is None else context)
            return self._bank.recall(
                self.scope, query, exclude=self.ids_shown(shown), context=before, **options.arguments
            )

        return RecallRun(search=search, query=query, scope=self.scope, contents=contents)

    @property
    def said_last(self) -> Sequence[BaseMessage]:
        """The latest messages of the session, for what follows up on them; without tools' results."""
        return said_in_session(self._bank, self.scope, self.session, self._writer)

    def ids_shown(self, shown: Sequence[BaseMessage] | None) -> list[str]:
        """The ids of the turns that a prompt with these messages shows; of all turns where nobody knows them."""
        turns = self._turns()
        return [turn.id for turn in turns] if shown is None else ids_shown(turns, shown)

    def _turns(self) -> list[Turn]:
        turns = turns_of_session(self._bank, self.scope, self.session, last=self._window, writer=self._writer)
        return turns if self._window is None else turns_within(turns, self._window)

    def _stored(self) -> list[Message]:
        return [message for turn in self._turns() for message in turn.messages]


class SessionHistories:
    """Returns the history of each call: the ``get_session_history`` of `RunnableWithMessageHistory`.

    As the runnable requires, its parameters are the names that each call must have in ``config["configurable"]``. Pass
    ``specs``, which lists them, as ``history_factory_config``.

    Args:
        bank: where the messages are.
        scope: whose messages they are; from the configuration unless given.
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
        scope: Sequence[ScopePart] | None = None,
        scope_keys: Sequence[str] = ("user_id",),
        session_key: str = "session_id",
        window: int | None = None,
        writer: BackgroundWriter | None = None,
    ) -> None:
        identity = Identity.of(type(self).__name__, scope, scope_keys)
        name = type(self).__name__
        if window is not None:
            check_count("window", window)
        self._bank, self._window = check_bank(bank, name), window
        self._writer = check_writer(writer, bank, name)
        self._scope, self._session_key = identity.bound, check_key("session_key", session_key)
        self._keys = identity.keys if identity.bound is None else ()
        named = [Parameter(key, Parameter.POSITIONAL_OR_KEYWORD, annotation=str) for key in self._names]
        self.__signature__ = Signature(named)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self._keys, self._session_key)

    @property
    def specs(self) -> list[ConfigurableFieldSpec]:
        """The names that a call needs in ``config["configurable"]``."""
        return ScopeField.of(self._names)

    def __call__(self, *args: ScopePart, **kwargs: ScopePart) -> SecomChatMessageHistory:
        """The history of one conversation.

        Raises:
            InvalidScope: a part of the scope is empty.
            InvalidInput: the session has no name.
        """
        values = self.__signature__.bind(*args, **kwargs).arguments
        scope = self._scope or tuple(values[key] for key in self._keys)
        session = values[self._session_key]
        return SecomChatMessageHistory(
            self._bank, scope=scope, session=session, window=self._window, writer=self._writer
        )


def recalled_memories(
    input_key: str | None = None,
    *,
    token_budget: int | None = _BUDGET,
    k: int | None = None,
    layers: Sequence[str] = (),
    only_relevant: bool = False,
    where: Mapping[str, Any] | None = None,
    also: Sequence[Sequence[str]] = (),
    history: bool = True,
    query: QueryHook | None = None,
    trace_contents: bool = True,
) -> Runnable[Any, str]:
    """A step that recalls memories for the question, inside a `RunnableWithMessageHistory`.

    The messages before the question count too: those in the input, if it has any, or else the latest messages of the
    history. What the history in the input shows is not recalled. Where it is trimmed, trim it before this step, so that
    what was trimmed away is.

    Usage::

        RunnablePassthrough.assign(memories=recalled_memories("question")) | prompt | model

    Args:
        input_key: where the question is in the step's input: text, a message, or messages, of which the last human one
            counts. The input itself unless given.
        token_budget: the largest length of the block, in the bank's token counter.
        k: the largest number of memories.
        layers: layers of the bank that take part, such as ``"summaries"``; as for `MemoryBank.recall`.
        only_relevant: recall only memories that answer the question, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        query: makes what is searched for out of the messages before the question and the question, such as
            `langchain_secom.rewritten_query`; the question's words unless given.
        trace_contents: whether traces of the recall hold the query and what was found; those of the steps around it
            are the chain's.

    Raises:
        InvalidInput: an option is none; when invoked, if the bank lacks a layer.
    """
    check_hook(query)
    return _RecalledMemories(
        input_key, RecallOptions(token_budget, k, layers, only_relevant, where, also, history), query, trace_contents
    )


class _RecalledMemories(Runnable[Any, str]):
    """Not a `RunnableLambda`, whose own run would show what the recall's does not."""

    def __init__(self, input_key: str | None, options: RecallOptions, query: QueryHook | None, contents: bool) -> None:
        self.name, self._key, self._query = "recalled_memories", input_key, query
        self._arguments = {**options.arguments, "trace_contents": contents}

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        config = ensure_config(config)
        dialogue = self._dialogue(input, _history(config))
        query = dialogue.query(self._query)
        shown = messages_shown(input, self._key)
        return _history(config).recall(query, context=dialogue.before, shown=shown, config=config, **self._arguments)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        config = ensure_config(config)
        dialogue = await run_in_executor(None, self._dialogue, input, _history(config))
        query = await dialogue.aquery(self._query)
        arguments = {**self._arguments, "shown": messages_shown(input, self._key), "config": config}
        return await _history(config).arecall(query, context=dialogue.before, **arguments)

    def _dialogue(self, input: Any, history: SecomChatMessageHistory) -> Dialogue:
        value = input[self._key] if self._key is not None and isinstance(input, Mapping) else input
        dialogue = Dialogue.asked(value)
        return dialogue if dialogue.before else replace(dialogue, before=tuple(history.said_last))


def messages_shown(input: Any, question_key: str | None) -> Sequence[BaseMessage] | None:
    """The history in a step's input, as it is there; nothing where none is, so that nobody knows."""
    given = input.items() if isinstance(input, Mapping) else ()
    lists = [value for key, value in given if key != question_key and _are_messages(value)]
    return [message for each in lists for message in each] if lists else None


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, BaseMessage) for each in value)


def history_around(config: RunnableConfig) -> SecomChatMessageHistory | None:
    """The history of the `RunnableWithMessageHistory` that a run is in; nothing where it is in none of ours."""
    history = config.get("configurable", {}).get("message_history")
    return history if isinstance(history, SecomChatMessageHistory) else None


def _history(config: RunnableConfig) -> SecomChatMessageHistory:
    if (history := history_around(config)) is None:
        raise InvalidInput(
            "recalled_memories works inside a RunnableWithMessageHistory over a SecomChatMessageHistory; the "
            f"configuration has {config.get('configurable', {}).get('message_history')!r}"
        )
    return history
