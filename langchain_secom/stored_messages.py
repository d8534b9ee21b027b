"""Messages of a chat history as they are stored, and as they come back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    FunctionMessage,
    ToolMessage,
    message_chunk_to_message,
)

from secom_core.conversation import Message, json_flaw

from .convert import from_message, text_of, to_messages
from .messages import stable_id

_ORIGINAL: Final = "secom_message"
"""The key of a stored message's metadata for the fields of the original that its text does not hold."""


def stored_form(message: BaseMessage, session: str) -> list[Message]:
    """The message as it is stored; none where it says nothing."""
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    original = {_ORIGINAL: _original_fields(message)}
    return [
        replace(
            each,
            # An id of a framework may come back in another session, with other words.
            id=stable_id(session, each) if each.id else None,
            metadata={**each.metadata, **original},
        )
        for each in to_messages([message])
    ]


def _original_fields(message: BaseMessage) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": message.id} if message.id else {}
    if isinstance(message, ToolMessage):
        fields |= {"content": text_of(message), "tool_call_id": message.tool_call_id, "status": message.status}
    elif isinstance(message, ChatMessage):
        fields |= {"role": message.role}
    elif isinstance(message, FunctionMessage):
        fields |= {"content": text_of(message), "function": message.name}
    elif isinstance(message, AIMessage) and message.tool_calls:
        calls = [
            {"name": call["name"], "args": _as_json(call["args"]), "id": call["id"]} for call in message.tool_calls
        ]
        fields |= {"content": text_of(message), "tool_calls": calls}
    return fields


def _as_json(args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call; what JSON cannot hold, such as a date or no number, is the text that stands for it."""
    if not json_flaw(args):
        return args
    held: dict[str, Any] = json.loads(json.dumps(args, default=str), parse_constant=str)
    return held


def restored(message: Message) -> BaseMessage:
    """The message as it was added. Its metadata never names a class to load."""
    metadata = dict(message.metadata)
    original = metadata.pop(_ORIGINAL, None)
    if not isinstance(original, Mapping):
        return from_message(message)
    metadata.pop("tool_call_id", None)
    plain = from_message(replace(message, id=original.get("id"), metadata=metadata))
    fields: dict[str, Any] = {"id": plain.id, "name": plain.name, "additional_kwargs": plain.additional_kwargs}
    if "tool_call_id" in original:
        call_id, status = original["tool_call_id"], original["status"]
        return ToolMessage(original["content"], tool_call_id=call_id, status=status, **fields)
    if "tool_calls" in original:
        return AIMessage(original["content"], tool_calls=original["tool_calls"], **fields)
    if "function" in original:
        return FunctionMessage(content=original["content"], **{**fields, "name": original["function"]})
    if "role" in original:
        return ChatMessage(content=plain.content, role=original["role"], **fields)
    return plain
