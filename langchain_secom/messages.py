"""The user's messages: which one asks, what to search for, how a message and a conversation are recognised again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, TypeGuard

from langchain_core.messages import BaseMessage, HumanMessage

from secom_core.conversation import Message
from secom_core.text.kept import KEPT, Kept

from .attachments import own_words
from .convert import text_of, without_recalled
from .notices import is_notice

CONVERSATION: Final = "chat-[0-9a-f]{32}"
"""How the names look that `conversation_name` gives, as a regular expression."""


def stable_id(session: str, message: Message) -> str:
    """An id that stays the same whenever the message comes back under its own id, word for word.

    Ids of frameworks and callers may be used again in another thread of the same scope, where the bank wants one of
    its own; and a message may come back under its id with other words, such as after a redaction: `place_of` is then
    the same.
    """
    return _stable((session, message.id or "", message.role, message.text))


_stable: Final[Kept[tuple[str, ...], str]] = Kept(
    lambda said: _digest(*said[:3], size=8) + _digest(said[3], size=8),
    characters=KEPT,
    length=lambda said: len(said[3]),
)


def place_of(stable: str) -> str:
    """What a message's stable id says of where it stands, whatever its words: its session, its own id, its role."""
    return stable[:16]


def conversation_name(messages: Iterable[BaseMessage]) -> str:
    """A name for a conversation that has none, from the text of its first message by the user."""
    first = next((text_of(message) for message in messages if is_users(message)), "")
    return f"chat-{_digest(first)}"


def _digest(*parts: str, size: int = 16) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=size).hexdigest()


def latest_question(messages: Iterable[BaseMessage]) -> HumanMessage | None:
    """The user's latest message; those that a framework made up do not count."""
    return next(filter(is_users, reversed(list(messages))), None)


def query_of(message: BaseMessage | None) -> str:
    """The text to search for, without blocks of recalled memories; empty where there is no message.

    What is attached to the message, with its words and its name, is searched for where it says nothing else.
    """
    own = own_words(message) if message is not None and not isinstance(message.content, str) else ""
    return without_recalled(own).strip() or words_of(message)


def words_of(message: BaseMessage | None) -> str:
    """All words of a message, without blocks of recalled memories; empty where there is no message."""
    return without_recalled(text_of(message)).strip() if message is not None else ""


def is_summary(message: BaseMessage) -> bool:
    """Whether a framework put it in the place of earlier messages."""
    return isinstance(message, HumanMessage) and bool(message.additional_kwargs.get("lc_source"))


def is_users(message: BaseMessage) -> TypeGuard[HumanMessage]:
    """Whether the user wrote it; messages that a framework made up do not count."""
    return isinstance(message, HumanMessage) and not is_summary(message) and not is_notice(message)


def earlier_turns(thread: Iterable[BaseMessage]) -> list[list[BaseMessage]]:
    """The messages of a thread, turn by turn, without its last turn; a turn begins with what its user says."""
    turns: list[list[BaseMessage]] = [[]]
    for message in thread:
        if is_users(message) and not all(map(is_users, turns[-1])):
            turns.append([])
        turns[-1].append(message)
    return turns[:-1]
