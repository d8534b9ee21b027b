"""The dialogue as the query: what is searched for, and what was said before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from inspect import iscoroutinefunction
from typing import Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.llm import LLM

from secom_core.conversation import Message
from secom_core.errors import InvalidInput, shorten, warn_degraded
from secom_core.llm.flow import ChatModel
from secom_core.llm.rewriting import QueryRewriter

from .answers import is_answer
from .convert import asked_in, said_at, text_of, to_messages, without_recalled
from .models import as_chat_model
from .unstored import FAILURES

QueryHook = Callable[[Sequence[ChatMessage]], str]
"""Makes what is searched for out of a dialogue, of which the user's message is the last. Nothing is recalled where it
gives no words. In asynchronous runs it is called without blocking the event loop."""

_LOOKED_AT: Final = 6
"""How many messages before the query weigh in."""


def check_query_hook(hook: QueryHook | None) -> QueryHook | None:
    """Refuse a hook that cannot be called, or has to be awaited.

    Raises:
        InvalidInput: with what was given.
    """
    if hook is None:
        return None
    if not callable(hook):
        raise InvalidInput(f"query is a function from chat messages to a text, got {shorten(hook)}")
    if iscoroutinefunction(hook) or iscoroutinefunction(type(hook).__call__):
        raise InvalidInput(
            f"query is a function from chat messages to a text, got {shorten(hook)}, which has to be awaited; give a "
            "plain function: asynchronous runs call it in a thread, where it may block"
        )
    return hook


def said_before(messages: Sequence[ChatMessage]) -> list[Message]:
    """The last messages of the user and the assistant, oldest first, as `MemoryBank.recall` takes them for ``context``.

    System messages, recalled memory, tool calls with their results, and an agent's thoughts are left out.

    Args:
        messages: what stands before the query.
    """
    said: list[Message] = []
    for chat in reversed(messages):
        said += to_messages([_bare(chat)])
        if len(said) == _LOOKED_AT:
            break
    return said[::-1]


def before(messages: Sequence[ChatMessage], words: str) -> list[ChatMessage]:
    """The messages before the query, whether it stands among them already or not.

    Args:
        messages: the dialogue.
        words: the query.
    """
    place = last_user(messages)
    earlier = list(messages)
    if place is not None and _says(messages[place], words):
        earlier = earlier[:place]
    # Some agents put the query and hand it over as well.
    while earlier and earlier[-1].role == MessageRole.USER and _says(earlier[-1], words):
        earlier.pop()
    return earlier


def last_user(messages: Sequence[ChatMessage]) -> int | None:
    """The place of the user's last message; nothing if there is none."""
    return next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == MessageRole.USER), None)


def _bare(chat: ChatMessage) -> ChatMessage:
    """The message without its id and time, which do not matter here and may be of any kind."""
    return chat.model_copy(update={"additional_kwargs": {}})


def _says(chat: ChatMessage, words: str) -> bool:
    plain = without_recalled(chat)
    return words.strip() in (text_of(plain).strip(), asked_in(plain).strip())


def asked_at(messages: Sequence[ChatMessage], words: str | None = None) -> datetime | None:
    """When the user's last message was said, where it says so, and nobody has answered it.

    Args:
        messages: the dialogue.
        words: what the message has to say; anything unless given.
    """
    place = last_user(messages)
    if place is None or any(map(is_answer, messages[place + 1 :])):
        return None
    return said_at(messages[place]) if words is None or _says(messages[place], words) else None


def searched_for(words: str, earlier: Sequence[ChatMessage], hook: QueryHook | None, *, warns: bool = False) -> str:
    """What is searched for: what the hook makes of the dialogue, or else the user's words.

    Args:
        words: the query as the user said it.
        earlier: the messages before it.
        hook: makes the query.
        warns: a hook that raises costs a `DegradedWarning`, and the user's words are searched for as they are.

    Raises:
        InvalidInput: the hook gave no string.
    """
    if hook is None:
        return words
    try:
        query = hook([*earlier, ChatMessage(role=MessageRole.USER, content=words)])
    except FAILURES:
        raise
    except Exception as error:
        if not warns:
            raise
        warn_degraded("the query hook failed; the user's words are searched for as they are", error)
        return words
    if not isinstance(query, str):
        raise InvalidInput(f"the query made of a dialogue is a string, got {shorten(query)}")
    return query.strip()


def rewritten_query(model: LLM | ChatModel, *, messages: int = 6) -> QueryHook:
    """A ``query`` that has a language model rewrite the user's message as a question that stands alone.

    It costs a call of the model for each message but the first of a conversation. If that fails, the message is
    searched for as it is, with a `DegradedWarning`.

    Usage::

        SecomMemory(scope=("acme", "alice"), bank=bank, query=rewritten_query(llm))

    Args:
        model: of LlamaIndex or of the core.
        messages: how many messages before the last one the model sees at most.

    Raises:
        InvalidInput: for what is no chat model, or a number of messages below 1.
    """
    rewriter = QueryRewriter(as_chat_model(model), messages=messages)
    return lambda dialogue: rewriter.rewrite(to_messages(map(_bare, dialogue)))
