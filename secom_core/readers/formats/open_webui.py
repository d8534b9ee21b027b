"""Chats exported from Open WebUI, all of them or one: a list of chats, each with its messages by their ids."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..branches import standing
from ..fields import field
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, seconds, titled

_REASONING: Final = regex(r'<details type="reasoning"[^>]{0,500}>.*?</details>\s*', re.S)
"""What a model thought, in the text of its answer; the app shows it folded."""

_CALL: Final = regex(r'<details type="(?:tool_calls|code_interpreter)"([^>]*)>(.*?)</details>\s*', re.S)
"""A call of a tool, with what it gave, or a piece of code that was run, in the text of an answer."""
_FIELD: Final = regex(r'\b(\w+)="([^"]*)"')
_SUMMARY: Final = regex(r"<summary>[^<]*</summary>")


def looks_like(file: File) -> bool:
    """A JSON file of chats with a ``history``."""
    return bool({"[].chat.history", "chat.history"} & file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a chat, called by its title and the beginning of its id."""
    yield from reading.each_kept(_session, files)


def _session(record: Any, reading: Reading) -> Session:
    chat = field(record, "chat")
    history = field(chat, "history")
    nodes = field(history, "messages") or {}
    key = str(record.get("id") or chat.get("id") or "")
    name = titled(record.get("title") or chat.get("title"), key)
    if not nodes:
        reading.left_out["empty conversations"] += 1
        return grouped(name, ())
    leaf = str(history.get("currentId"))
    parents = {each: node.get("parentId") for each, node in nodes.items()}
    way = standing(parents, leaf if leaf in nodes else [*nodes][-1])
    reading.left_out["messages on other branches"] += len(nodes) - len(way)
    said = [_message(nodes[each], key, each, reading) for each in way]
    return grouped(name, [each for each in said if each.text])


def _message(message: Mapping[str, Any], key: str, node: str, reading: Reading) -> Message:
    text, thoughts = _REASONING.subn("", str(message.get("content") or ""))
    reading.left_out["reasoning"] += thoughts
    content = [_CALL.sub(_called, text).strip(), *map(_file, message.get("files") or ())]
    at, kept = seconds(message.get("timestamp")), {"source": "open-webui", "conversation": key, "message": node}
    [read] = read_messages([{"role": field(message, "role"), "content": content, "metadata": kept, "at": at}])
    return Message(read.text, read.role, read.speaker, reading.stable(key, node, read.text), at, kept)


def _called(block: re.Match[str]) -> str:
    """The call as a line of text, or the code that was run, and under it what came of it."""
    fields = {name: _decoded(html.unescape(value)) for name, value in _FIELD.findall(block[1])}
    inner = _SUMMARY.sub("", block[2]).strip()
    if not fields.get("name"):
        return f"{inner}\n{fields.get('output', '')}".strip() + "\n"
    result = fields.get("result") or _decoded(html.unescape(inner))
    return f"[calls {fields['name']}({fields.get('arguments', '')})]\n{result}".strip() + "\n"


def _decoded(value: str) -> str:
    """The text that a value is the JSON of, or what code printed and gave; else the value itself."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(found, dict) and "stdout" in found:
        return "\n".join(str(found[key]) for key in ("stdout", "stderr", "result") if found.get(key))
    return found if isinstance(found, str) else value


def _file(file: Mapping[str, Any]) -> dict[str, Any]:
    """A picture, whose address may be the picture itself; or a file with its name."""
    if file.get("type") == "image":
        return {"type": "image"}
    return {"type": "file", "filename": str(file.get("name") or "file")}
