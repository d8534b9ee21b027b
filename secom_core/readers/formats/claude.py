"""The export of Claude: ``conversations.json``, alone or in its zip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ..branches import standing
from ..documents import laid_out
from ..fields import list_field, text_field
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, iso, titled

_KINDS: Final = frozenset({"text", "tool_use", "tool_result", "image", "document"})

_BESIDE: Final = ("projects.json", "memories.json")
"""The documents and instructions of projects, and what a model noted about the user."""


def looks_like(file: File) -> bool:
    """A JSON file whose conversations have ``chat_messages``."""
    return not {"[].chat_messages", "chat_messages"}.isdisjoint(file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a conversation, called by its name and the beginning of its id."""
    if beside := [name for name in _BESIDE if export.named(name) is not None]:
        reading.note(f"not read, as nobody said it in a chat: {', '.join(beside)}")
    yield from reading.each_kept(_session, files)


def _session(conversation: Any, reading: Reading) -> Session:
    messages = list_field(conversation, "chat_messages")
    key = str(conversation.get("uuid") or "")
    kept = _standing(conversation, messages, reading)
    said = [_message(each, key, reading) for each in kept]
    return grouped(titled(conversation.get("name"), key), [each for each in said if each.text])


def _standing(conversation: Mapping[str, Any], messages: Any, reading: Reading) -> list[Mapping[str, Any]]:
    """The messages of the branch that ends with the latest one, where the export says which follows which."""
    by_id = {str(each.get("uuid")): each for each in messages}
    if len(by_id) < len(messages) or not all(each.get("parent_message_uuid") for each in messages):
        return list(messages)
    leaf = str(conversation.get("current_leaf_message_uuid") or next(reversed(by_id), ""))
    parents = {key: str(each["parent_message_uuid"]) for key, each in by_id.items()}
    way = standing(parents, leaf)
    reading.left_out["messages on other branches"] += len(by_id) - len(way)
    return [by_id[key] for key in way]


def _message(message: Mapping[str, Any], conversation: str, reading: Reading) -> Message:
    own = str(message.get("uuid") or "")
    blocks: list[Any] = [
        each for each in message.get("content") or () if isinstance(each, Mapping) and each.get("type") in _KINDS
    ]
    reading.left_out["reasoning"] += sum(
        isinstance(each, Mapping) and each.get("type") == "thinking" for each in message.get("content") or ()
    )
    shown = [part for each in blocks for part in _shown(each)]
    content: list[Any] = [*(shown or [str(message.get("text") or "")]), *_files(message)]
    kept = {"source": "claude", "conversation": conversation, "message": own}
    at = iso(message.get("created_at"))
    sender = text_field(message, "sender")
    [read] = read_messages([{"role": sender, "content": content, "metadata": kept, "at": at}])
    text = read.text.strip()
    return Message(text, read.role, read.speaker, reading.stable(conversation, own, text), at, read.metadata)


def _shown(block: Mapping[str, Any]) -> list[Any]:
    call = laid_out(block.get("name"), block.get("input")) if block["type"] == "tool_use" else None
    return call or [block]


def _files(message: Mapping[str, Any]) -> Iterator[Any]:
    """What came with the message: a file by its name, with the text that was pasted or read from it."""
    for each in [*(message.get("attachments") or ()), *(message.get("files") or ())]:
        yield {"type": "file", "filename": str(each.get("file_name") or "file")}
        if isinstance(each.get("extracted_content"), str):
            yield each["extracted_content"]
