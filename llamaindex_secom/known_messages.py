"""Matching of messages with those that a session holds already: agents hand over their whole history every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from llama_index.core.base.llms.types import ChatMessage

from secom_core.conversation import Message

from .convert import to_messages
from .window import WindowEntry


def memorable_by_place(chats: Iterable[ChatMessage], *, tools: bool) -> list[tuple[int, Message]]:
    """The messages worth remembering, each with its place among the chat messages."""
    return [(place, message) for place, chat in enumerate(chats) for message in to_messages([chat], tools=tools)]


def with_turns(entries: Iterable[WindowEntry], *, tools: bool) -> list[tuple[Message, str]]:
    """The remembered messages of a window, each with its turn."""
    return [
        (message, entry.turn) for entry in entries if entry.turn for message in to_messages([entry.seen], tools=tools)
    ]


def match_messages(given: Sequence[tuple[int, Message]], known: Sequence[tuple[Message, str]]) -> dict[int, str]:
    """For the place of each message that is known, its turn.

    Messages are matched by id, and otherwise by role and text in the order of the conversation.

    Args:
        given: messages with their places.
        known: messages of the session with their turns.
    """
    by_id = {message.id: turn for message, turn in known if message.id}
    found = {place: by_id[message.id] for place, message in given if message.id in by_id}
    old, new = [_key(message) for message, _ in known], [_key(message) for _, message in given]
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            found.setdefault(given[block.b + step][0], known[block.a + step][1])
    return found


def _key(message: Message) -> tuple[str, str]:
    return message.role, message.text
