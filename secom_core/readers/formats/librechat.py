"""A conversation exported from LibreChat as JSON: its messages in a list, or each with those that follow it in it.

Where it was exported with its branches, the one that LibreChat opens with is read: the last answer to each message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ...text.patterns import regex
from ..documents import laid_out
from ..fields import field, flag_field, text_of
from ..files import Export, File
from ..json_stream import JsonStream
from ..messages import read_messages
from ..reading import Reading, grouped, iso, titled

_REASONING: Final = regex(r":::thinking\b.*?:::\s*", re.S)
"""What a model thought, in the text of an older answer; the app shows it folded."""
_SENT: Final = frozenset({"image_file", "image_url", "video_url", "input_audio"})


def looks_like(file: File) -> bool:
    """A JSON file that says of which conversation it is, and whether it was exported with its branches."""
    return {"conversationId", "exportAt", "branches"} <= file.shape


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a file, called by the conversation's title and the beginning of its id."""
    for file in files:
        about: dict[str, Any] = {}
        messages: list[dict[str, Any]] = []
        stream = reading.stream(file)
        try:
            for name in stream.members():
                if name in ("messages", "messagesTree"):
                    _take(stream, messages)
                else:
                    about[name] = stream.value()
        except InvalidTranscript as error:
            reading.bad(error)
            messages = [each for each in messages if {"messageId", "isCreatedByUser"} <= each.keys()]
        yield from reading.kept(_session, (about, messages), file.shown)


def _take(stream: JsonStream, messages: list[dict[str, Any]]) -> None:
    """Take the messages of a list with those that each holds, however deep they lie."""
    lists = [(stream.items(), "")]
    open_: list[tuple[Iterator[str], dict[str, Any]]] = []
    while lists:
        if len(open_) < len(lists):
            items, above = lists[-1]
            if next(items, items) is items:
                lists.pop()
            else:
                messages.append({"parentMessageId": above} if above else {})
                open_.append((stream.members(), messages[-1]))
            continue
        members, message = open_[-1]
        name = next(members, None)
        if name is None:
            open_.pop()
        elif name == "children" and stream.peek() == "[":
            lists.append((stream.items(), str(message.get("messageId"))))
        else:
            message.setdefault(name, stream.value())


def _session(record: tuple[Mapping[str, Any], list[dict[str, Any]]], reading: Reading) -> Session:
    about, messages = record
    key = str(about.get("conversationId") or "")
    way = _standing(messages)
    reading.left_out["messages on other branches"] += len(messages) - len(way)
    return grouped(titled(about.get("title"), key), list(_said(way, key, reading)))


def _standing(messages: list[dict[str, Any]]) -> list[Mapping[str, Any]]:
    """From the last first message on, each with the last that follows it."""
    ids = {str(field(each, "messageId")) for each in messages}
    last: dict[str, Mapping[str, Any]] = {}
    for each in messages:
        above = str(each.get("parentMessageId"))
        last[above if above in ids else ""] = each
    way, at = list[Mapping[str, Any]](), last.get("")
    while at is not None and len(way) < len(messages):
        way.append(at)
        at = last.get(str(at["messageId"]))
    return way


def _said(way: list[Mapping[str, Any]], key: str, reading: Reading) -> Iterator[Message]:
    at = None
    for message in way:
        own, at = str(message["messageId"]), iso(message.get("createdAt")) or at
        if message.get("error"):
            reading.left_out["errors"] += 1
            continue
        role = "user" if flag_field(message, "isCreatedByUser") else "assistant"
        kept = {"source": "librechat", "conversation": key, "message": own}
        content = [*_parts(message, reading), *_files(message)]
        [read] = read_messages([{"role": role, "content": content, "metadata": kept, "at": at}])
        if text := read.text.strip():
            yield Message(text, role, None, reading.stable(key, own, text), at, kept)


def _parts(message: Mapping[str, Any], reading: Reading) -> list[Any]:
    content = message.get("content")
    if not content:
        text, thoughts = _REASONING.subn("", text_of(message.get("text") or "", "text"))
        reading.left_out["reasoning"] += thoughts
        return [text]
    return [shown for part in content if isinstance(part, Mapping) for shown in _part(part, reading)]


def _part(part: Mapping[str, Any], reading: Reading) -> list[Any]:
    kind = part.get("type")
    if kind == "text":
        text = part.get("text") or ""
        return [text.get("value") or "" if isinstance(text, Mapping) else text]
    if kind == "tool_call":
        return _call(part.get("tool_call") or {})
    reading.left_out["reasoning"] += kind == "think"
    return [{"type": kind}] if kind in _SENT else []


def _call(call: Mapping[str, Any]) -> list[Any]:
    """The call as a line of text, and under it what came of it."""
    made = call.get("function") or call
    name, given = made.get("name"), made.get("args", made.get("arguments"))
    if not name:
        return []
    shown = laid_out(name, given) or [{"type": "tool_use", "name": name, "input": given or ""}]
    return [*shown, str(made.get("output") or "")]


def _files(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in message.get("files") or ():
        yield {"type": "file", "filename": str(each.get("filename") or "file")}
