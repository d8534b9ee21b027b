"""The export of DeepSeek: ``conversations.json``, alone or in its zip.

Its conversations are trees, as those of ChatGPT. The export does not say which branch stands in the app, so the branch
of the latest message is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ..branches import standing
from ..fields import field
from ..files import Export, File
from ..reading import Reading, grouped, iso, titled

_ROLES: Final = {"REQUEST": "user", "RESPONSE": "assistant"}


def looks_like(file: File) -> bool:
    """A JSON file with nodes whose messages consist of fragments."""
    return any(path.startswith(("[].mapping.", "mapping.")) and ".message.fragments" in path for path in file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a conversation, called by its title and the beginning of its id."""
    yield from reading.each_kept(_session, files)


def _session(conversation: Any, reading: Reading) -> Session:
    nodes = {name: node for name, node in (field(conversation, "mapping") or {}).items() if node.get("message")}
    key = str(conversation.get("id") or "")
    name = titled(conversation.get("title"), key)
    if not nodes:
        reading.left_out["empty conversations"] += 1
        return grouped(name, ())
    way = standing({each: node.get("parent") for each, node in nodes.items()}, _latest(nodes))
    reading.left_out["messages on other branches"] += len(nodes) - len(way)
    return grouped(name, [said for each in way for said in _messages(nodes[each]["message"], key, each, reading)])


def _latest(nodes: Mapping[str, Any]) -> str:
    return max(nodes, key=lambda name: str(nodes[name]["message"].get("inserted_at") or ""))


def _messages(message: Mapping[str, Any], key: str, node: str, reading: Reading) -> Iterator[Message]:
    """What was asked or answered; what the model thought and searched for on the way is counted."""
    at, kept = iso(message.get("inserted_at")), {"source": "deepseek", "conversation": key, "message": node}
    for part in message.get("fragments") or ():
        role, text = _ROLES.get(str(part.get("type"))), str(part.get("content") or "").strip()
        if role is None:
            reading.left_out["reasoning"] += 1
        elif text:
            words = "\n".join([text, *_files(message)]) if role == "user" else text
            yield Message(words, role, None, reading.stable(key, node, role, words), at, kept)


def _files(message: Mapping[str, Any]) -> Iterator[str]:
    names = (each.get("file_name") for each in message.get("files") or () if isinstance(each, Mapping))
    yield from (f"[file: {name}]" for name in names if name)
