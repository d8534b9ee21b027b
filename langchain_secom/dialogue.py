"""The dialogue as the query: what is searched for, and what was said before it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, convert_to_messages
from langchain_core.runnables import run_in_executor

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S, turns_of_session
from secom_core.conversation import Message, Scope, Turn
from secom_core.errors import InvalidInput
from secom_core.llm.flow import ChatModel
from secom_core.llm.rewriting import QueryRewriter
from secom_core.stores.database import waiting_at_most

from .convert import from_message, to_messages
from .messages import latest_question, query_of, words_of
from .models import as_chat_model
from .times import time_of

QueryHook = Callable[[Sequence[BaseMessage]], str | Awaitable[str]]
"""Makes what is searched for out of a dialogue, of which the user's message is the last. Nothing is recalled where it
gives no words. An awaitable is awaited in asynchronous calls."""

LOOKED_AT: Final = 6
"""How many messages before the query go into a recall."""


@dataclass(frozen=True)
class Dialogue:
    """A user's message, and what was said before it.

    Args:
        before: the messages before it, oldest first.
        asking: the user's message, if there is one.
    """

    before: tuple[BaseMessage, ...] = ()
    asking: BaseMessage | None = None

    @classmethod
    def in_thread(cls, thread: Sequence[BaseMessage]) -> Dialogue:
        """The user's latest message in a thread, and what stands before it."""
        asking = latest_question(thread)
        place = next((place for place, message in enumerate(thread) if message is asking), 0)
        return cls(tuple(thread[:place]), asking)

    @classmethod
    def asked(cls, value: object) -> Dialogue:
        """The question in a chain's input: text, a message, or messages, of which the last human one counts.

        Raises:
            InvalidInput: it is none of these.
        """
        items = list(map(coerced, value)) if isinstance(value, list) else [value]
        kinds = (str, HumanMessage) if isinstance(value, list) else (str, BaseMessage)
        place = next((place for place in reversed(range(len(items))) if isinstance(items[place], kinds)), None)
        if place is None:
            raise InvalidInput(f"a question is text, a message, or messages with a human one among them; got {value!r}")
        found: Any = items[place]
        before = tuple(each for each in items[:place] if isinstance(each, BaseMessage))
        return cls(before, HumanMessage(found) if isinstance(found, str) else found)

    @property
    def question(self) -> str:
        """What the user's message asks, without recalled text; what is attached is asked where it says nothing else."""
        return query_of(self.asking)

    @property
    def words(self) -> str:
        """All words of the user's message, without recalled text."""
        return words_of(self.asking)

    @property
    def context(self) -> tuple[Message, ...]:
        """The last few messages before the question, as `MemoryBank.recall` takes them."""
        return latest_said(self.before)

    @property
    def at(self) -> datetime | None:
        """When the user's message was said, where it says so: what "yesterday" is then."""
        return time_of(self.asking) if self.asking is not None else None

    def query(self, hook: QueryHook | None) -> str:
        """What is searched for.

        Raises:
            InvalidInput: the hook gave no string.
        """
        if hook is None or self.asking is None:
            return self.question
        query = hook([*self.before, self.asking])
        if inspect.iscoroutine(query):
            query.close()
        return _text(query)

    async def aquery(self, hook: QueryHook | None) -> str:
        """As `query`. The hook runs in a thread; if it returns an awaitable, this is awaited in the event loop."""
        if hook is None or self.asking is None:
            return self.question
        query = await run_in_executor(None, hook, [*self.before, self.asking])
        return _text(await query if inspect.isawaitable(query) else query)


def coerced(item: object) -> object:
    """A message in one of LangChain's short forms, such as ``("human", "Hello.")``, as a message."""
    if not isinstance(item, (tuple, dict)):
        return item
    try:
        return convert_to_messages([item])[0]
    except (NotImplementedError, TypeError, ValueError):
        return item


def latest_said(messages: Sequence[BaseMessage]) -> tuple[Message, ...]:
    """The last `LOOKED_AT` messages by people and the model, without recalled text, calls of tools and results."""
    said: list[Message] = []
    for message in reversed(messages):
        said = [*to_messages([message], tools="omit"), *said]
        if len(said) >= LOOKED_AT:
            break
    return tuple(said)


def said_before(messages: Iterable[Any]) -> tuple[Message, ...]:
    """As `latest_said`, of whatever LangChain takes for messages, or of messages of the core.

    Raises:
        InvalidInput: it is neither.
    """
    try:
        items = [messages] if isinstance(messages, str) else list(messages)
        ours = tuple(each for each in items if isinstance(each, Message))
        return ours[-LOOKED_AT:] if len(ours) == len(items) else latest_said(convert_to_messages(items))
    except (NotImplementedError, TypeError, ValueError) as error:
        raise InvalidInput(f"context is a list of messages, got {messages!r}") from error


def turns_within(turns: Sequence[Turn], window: int) -> list[Turn]:
    """The last turns that have at most so many messages together; the last one always."""
    kept: list[Turn] = []
    for turn in reversed(turns):
        if kept and sum(len(each.messages) for each in (*kept, turn)) > window:
            break
        kept.append(turn)
    return kept[::-1]


def said_in_session(
    bank: MemoryBank, scope: Scope, session: str, writer: BackgroundWriter | None = None
) -> tuple[BaseMessage, ...]:
    """The latest messages of a session, as the bank holds them; tools' results are left out."""
    # Somebody waits for the answer that this is for.
    with waiting_at_most(ANSWER_WAITS_S):
        turns = turns_of_session(bank, scope, session, last=LOOKED_AT, writer=writer)
    return tuple(from_message(each) for turn in turns for each in turn.messages if each.role != "tool")


def rewritten_query(model: BaseChatModel | ChatModel, *, messages: int = 6) -> QueryHook:
    """A ``query`` that has a language model rewrite the user's message as a question that stands alone.

    It costs a call of the model for each message but the first of a conversation. If that fails, the message is
    searched for as it is, with a `DegradedWarning`.

    Usage::

        SecomMiddleware(bank, query=rewritten_query(llm))

    Args:
        model: of LangChain or of the core. The call stays out of the user's stream.
        messages: how many messages before the last one the model sees at most.

    Raises:
        InvalidInput: for what is no chat model, or a number of messages below 1.
    """
    rewriter = QueryRewriter(as_chat_model(model), messages=messages)
    return lambda dialogue: rewriter.rewrite(to_messages(dialogue, tools="omit"))


def check_hook(query: object) -> None:
    """Refuse what is no hook.

    Raises:
        InvalidInput: with what was given.
    """
    if query is not None and not callable(query):
        raise InvalidInput(f"query takes the messages and gives the text to search for, got {query!r}")


def _text(query: object) -> str:
    if isinstance(query, str):
        return query.strip()
    raise InvalidInput(f"query returns a string, and an awaitable of one in asynchronous calls only, got {query!r}")
