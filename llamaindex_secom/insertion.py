"""The query of a prompt, and where among its messages the recalled memory goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from .convert import text_of
from .window import SYSTEM, WindowEntry


def query_of(input: str | ChatMessage | None, entries: Sequence[WindowEntry]) -> str:
    """The query that memory is recalled for: the input, or else the last message of the user in the window."""
    if isinstance(input, ChatMessage):
        return text_of(input)
    users = (entry.message for entry in reversed(entries) if entry.message.role == MessageRole.USER)
    return input if input is not None else next((text_of(message) for message in users), "")


def is_query_put(entries: Sequence[WindowEntry], query: str) -> bool:
    """Whether the query is the last message of the user in the window; some chat engines put it after the answer."""
    users = [entry.message for entry in entries if entry.message.role == MessageRole.USER]
    return bool(users) and query in wordings(users[-1])


def wordings(message: ChatMessage) -> set[str]:
    """The forms in which a framework may hand over the text of a message as a query."""
    return {message.content or "", text_of(message)}


def insert_recalled(
    messages: list[ChatMessage], text: str, *, method: Literal["user", "system"], put: bool
) -> list[ChatMessage]:
    """The messages with the recalled block.

    Args:
        messages: the messages of the prompt; those that take the block are changed in place.
        text: the block.
        method: ``"user"`` puts it before the user's last message, ``"system"`` after the system message.
        put: whether the user's last message is the query.
    """
    block = TextBlock(text=text)
    if method == "system":
        if not messages or messages[0].role not in SYSTEM:
            return [ChatMessage(role=MessageRole.SYSTEM, blocks=[block]), *messages]
        messages[0].blocks = [*messages[0].blocks, block]
        return messages
    last = next((each for each in reversed(messages) if each.role == MessageRole.USER), None)
    if last is None or not put:
        # A context chat engine puts the query after the answer: it is not in the window yet.
        return [*messages, ChatMessage(role=MessageRole.USER, blocks=[block])]
    last.blocks = [block, *last.blocks]
    return messages
