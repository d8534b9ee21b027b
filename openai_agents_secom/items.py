"""Items of the OpenAI Agents SDK: what is remembered of them, and where memories stand among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agents import TResponseInputItem

from secom_core.agents import LogEntry
from secom_core.context import without_recalled
from secom_core.conversation import Message
from secom_core.errors import InvalidInput
from secom_core.readers import read_messages

_SPOKEN = ("user", "assistant")
_OF_SESSION = ("system", "developer")


def as_entry(item: TResponseInputItem) -> LogEntry:
    """An item as it is kept: the words of users and assistants are remembered, and every item is kept whole.

    Raises:
        InvalidInput: for an item that the SDK's ``EncryptedSession`` has made unreadable.
    """
    body = cast("Mapping[str, Any]", item)
    if "__enc__" in body:
        raise InvalidInput(
            "a SecomSession in an EncryptedSession gets no words to remember; give the runs the SecomSession itself, "
            "and encrypt the whole bank with MemoryBank.open(…, key=…)"
        )
    return LogEntry(body, _message(body), of_session=body.get("role") in _OF_SESSION)


def _message(item: Mapping[str, Any]) -> Message | None:
    """What is said in an item; nothing for calls of tools, their results, reasoning, and what says nothing."""
    if item.get("type", "message") != "message" or item.get("role") not in _SPOKEN:
        return None
    [read] = read_messages([{"role": item["role"], "content": item.get("content")}])
    text = without_recalled(read.text)
    return Message(text, role=read.role) if text.strip() else None


def as_item(message: Message) -> dict[str, Any]:
    """An item that says what is remembered; what the SDK keeps of an answer's message is not known."""
    return {"role": "assistant" if message.role == "assistant" else "user", "content": message.text}


def dialogue_of(items: Sequence[TResponseInputItem]) -> list[Message]:
    """What users and assistants say, in order, up to the user's last message."""
    place = last_user(items)
    said = [_message(cast("Mapping[str, Any]", item)) for item in items[: place + 1]] if place is not None else []
    return [message for message in said if message is not None]


def has_user(items: Sequence[TResponseInputItem]) -> bool:
    """Whether the user has a message among the items: not where a handoff tells them as the SDK's summary."""
    return any(cast("Mapping[str, Any]", item).get("role") == "user" for item in items)


def last_user(items: Sequence[TResponseInputItem]) -> int | None:
    """The place of the user's last message; nothing if there is none, or if it says nothing."""
    for place in range(len(items) - 1, -1, -1):
        item = cast("Mapping[str, Any]", items[place])
        if item.get("role") == "user":
            return place if _message(item) is not None else None
    return None


def with_block(items: Sequence[TResponseInputItem], block: str) -> list[TResponseInputItem]:
    """The items with the recalled memories before the user's last message; before all of them if there is none."""
    place = last_user(items) or 0
    recalled = cast("TResponseInputItem", {"role": "user", "content": block})
    return [*items[:place], recalled, *items[place:]]
