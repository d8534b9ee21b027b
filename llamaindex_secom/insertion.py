"""The query of a prompt, and where among its messages the recalled memory goes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import NoneType
from typing import Literal, NamedTuple

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from secom_core.errors import InvalidInput, shorten

from .convert import asked_in, said_at, text_of
from .dialogue import asked_at, last_user
from .window import SYSTEM, WindowEntry


class Asked(NamedTuple):
    """What memory is recalled for: the words, and when they were said, where the message says so."""

    words: str
    at: datetime | None


def asked_of(input: str | ChatMessage | None, entries: Sequence[WindowEntry]) -> Asked:
    """The query that memory is recalled for: the input, or else the last message of the user in the window.

    Raises:
        InvalidInput: the input is neither a text nor a message.
    """
    if isinstance(input, ChatMessage):
        return Asked(asked_in(input), said_at(input))
    if not isinstance(input, (str, NoneType)):
        raise InvalidInput(f"input is what the user says, a text or a ChatMessage, got {shorten(input)}")
    said = _last_of_user(entries)
    # Agents hand over the text blocks alone of the message that they have put; of a document, that is nothing.
    words = asked_in(said) if said is not None and (input is None or input in wordings(said)) else input or ""
    return Asked(words, asked_at([entry.seen for entry in entries], words))


def is_query_put(entries: Sequence[WindowEntry], query: str) -> bool:
    """Whether the query is the last message of the user in the window; some chat engines put it after the answer."""
    said = _last_of_user(entries)
    return said is not None and query in wordings(said)


def _last_of_user(entries: Sequence[WindowEntry]) -> ChatMessage | None:
    place = last_user([entry.seen for entry in entries])
    return entries[place].message if place is not None else None


def wordings(message: ChatMessage) -> set[str]:
    """The forms in which a framework may hand over the text of a message as a query."""
    return {message.content or "", text_of(message), asked_in(message)}


def insert_recalled(
    messages: list[ChatMessage], text: str, *, method: Literal["user", "system"], query: int | None
) -> list[ChatMessage]:
    """The messages with the recalled block.

    Args:
        messages: the messages of the prompt; those that take the block are changed in place.
        text: the block.
        method: ``"user"`` puts it before the user's last message, ``"system"`` after the system message.
        query: the place of the query among the messages; nothing where it is not put yet.
    """
    # Blocks of one message are joined without a break by some models' interfaces.
    if method == "system":
        if not messages or messages[0].role not in SYSTEM:
            return [ChatMessage(role=MessageRole.SYSTEM, content=text), *messages]
        messages[0].blocks = [*messages[0].blocks, TextBlock(text=f"\n{text}")]
        return messages
    if query is None:
        # A context chat engine puts the query after the answer: it is not in the window yet.
        return [*messages, ChatMessage(role=MessageRole.USER, content=text)]
    messages[query].blocks = [TextBlock(text=f"{text}\n"), *messages[query].blocks]
    return messages
