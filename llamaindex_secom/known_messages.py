"""Matching of messages with those that a session holds already: agents hand over their whole history every time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from llama_index.core.base.llms.types import ChatMessage

from secom_core.conversation import Message

from .convert import to_messages


def memorable_by_place(chats: Iterable[ChatMessage], *, tools: bool) -> list[tuple[int, Message]]:
    """The messages worth remembering, each with its place among the chat messages."""
    return [(place, message) for place, chat in enumerate(chats) for message in to_messages([chat], tools=tools)]


def match_messages(given: Sequence[tuple[int, Message]], known: Sequence[tuple[Message, str]]) -> dict[int, str]:
    """For the place of each message that is known, its turn.

    Messages are matched by id and words, and otherwise by words in the order of the conversation.

    Args:
        given: messages with their places, redacted as the bank does.
        known: messages of the session with their turns, redacted too.
    """
    by_id = {(message.id, *_key(message)): turn for message, turn in known if message.id}
    found = {place: turn for place, each in given if (turn := by_id.get((each.id or "", *_key(each)))) is not None}
    old, new = [_key(message) for message, _ in known], [_key(message) for _, message in given]
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            found.setdefault(given[block.b + step][0], known[block.a + step][1])
    return found


def given_again(given: Sequence[Message], held: Sequence[Message]) -> int:
    """How many of the messages, from the first on, are a part of the session that is given again.

    They are where the session holds all of them in a row, or a row of them with which it ends: what follows is new. One
    message alone may have been said twice. Messages are matched by id where they have one, and else by role and text.

    Args:
        given: messages in order, redacted as the bank does.
        held: those of the session, in order.
    """
    longest = 0
    for start in range(len(held)):
        size = _alike(given, held[start:])
        if size == len(given) or start + size == len(held):
            longest = max(longest, size)
    return longest if longest > 1 else 0


def _alike(given: Sequence[Message], held: Sequence[Message]) -> int:
    pairs = zip(given, held, strict=False)
    alike = (one.id == other.id if one.id else _key(one) == _key(other) for one, other in pairs)
    return sum(1 for _ in takewhile(bool, alike))


def _key(message: Message) -> tuple[str, str]:
    return message.role, message.text
