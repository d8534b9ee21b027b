"""The export of ChatGPT: ``conversations.json``, alone or in its zip; also one conversation of it.

A conversation is a tree. Only the way from its root to ``current_node`` is read: what stands in the app. The other
branches, hidden messages and the model's reasoning are counted and left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..branches import standing
from ..documents import laid_out
from ..fields import field
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, seconds, titled

_MARK: Final = regex("\ue200([^\ue201]{0,2000})\ue201")
"""Where a citation, a picture, a link or a name with an explanation stood, in characters for private use."""
_PICTURES: Final = regex(r"[\w·. -]{2,30} (?:returned|displayed) \d+ images?\.")
"""How a tool tells the model, which is not to repeat it, that it has shown pictures."""
_REASONING: Final = frozenset({"thoughts", "reasoning_recap"})
_HIDDEN: Final = frozenset({"user_editable_context", "model_editable_context", *_REASONING})
_OWN_FIELDS: Final = ("thoughts", "user_profile", "user_instructions", "model_set_context")
_MEDIA: Final = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
}


def looks_like(file: File) -> bool:
    """A JSON file whose first conversation is a mapping of nodes with parents or children."""
    ends = (".parent", ".children", ".message")
    return any(path.startswith(("[].mapping.", "mapping.")) and path.endswith(ends) for path in file.shape)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a conversation, called by its title and the beginning of its id."""
    yield from reading.each_kept(_session, files)


def _session(conversation: Any, reading: Reading) -> Session:
    nodes = field(conversation, "mapping") or {}
    key = str(conversation.get("conversation_id") or conversation.get("id") or "")
    name = titled(conversation.get("title"), key)
    if not any(node.get("message") for node in nodes.values()):
        reading.left_out["empty conversations"] += 1
        return grouped(name, ())
    return grouped(name, list(_messages(conversation, nodes, key, reading)))


def _messages(
    conversation: Mapping[str, Any], nodes: Mapping[str, Any], key: str, reading: Reading
) -> Iterator[Message]:
    parents = {name: node.get("parent") for name, node in nodes.items()}
    leaf = str(conversation.get("current_node"))
    way = standing(parents, leaf if leaf in nodes else _latest(nodes))
    reading.left_out["messages on other branches"] += _others(nodes, set(way))
    at = seconds(conversation.get("create_time"))
    for name in way:
        message = nodes[name].get("message")
        said = _said(message, reading) if message else None
        if said is None:
            continue
        at = seconds(message.get("create_time")) or at
        kept = {"source": "chatgpt", "conversation": key, "message": name}
        [read] = read_messages([{**said, "metadata": kept, "at": at}])
        yield Message(read.text, read.role, read.speaker, reading.stable(key, name, read.text), read.at, read.metadata)


def _latest(nodes: Mapping[str, Any]) -> str:
    """The newest message that nothing follows; an export without ``current_node`` does not say which branch stands."""
    leaves = [name for name, node in nodes.items() if not node.get("children") and node.get("message")]
    if not leaves:
        raise ValueError("no node of its 'mapping' is a last message")
    return max(leaves, key=lambda name: float(nodes[name]["message"].get("create_time") or 0))


def _others(nodes: Mapping[str, Any], way: set[str]) -> int:
    left = (node.get("message") for name, node in nodes.items() if name not in way)
    return sum(1 for message in left if message and not _is_hidden(message))


def _is_hidden(message: Mapping[str, Any]) -> bool:
    about, content = message.get("metadata") or {}, message.get("content") or {}
    is_system = (message.get("author") or {}).get("role") == "system"
    hidden = about.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
    return bool(hidden or content.get("content_type") in _HIDDEN or (is_system and not _text(content)))


def _said(message: Mapping[str, Any], reading: Reading) -> dict[str, Any] | None:
    """The message as role and content; nothing where it was not shown."""
    content, author = message.get("content") or {}, message.get("author") or {}
    if _is_hidden(message):
        what = "reasoning" if content.get("content_type") in _REASONING else "hidden messages"
        reading.left_out[what] += _says_something(content)
        return None
    role, recipient = str(author.get("role") or ""), message.get("recipient") or "all"
    parts = _parts(content)
    files = [each.get("name") for each in (message.get("metadata") or {}).get("attachments") or ()]
    parts += [{"type": "file", "filename": name} for name in files if isinstance(name, str)]
    if role == "assistant" and recipient != "all":
        return _call(role, recipient, _text(content))
    if role == "tool":
        parts = _without_notices(parts, reading)
    if not any(part.get("text") or part["type"] != "text" for part in parts):
        return None
    return {"role": role, "content": parts, "name": author.get("name") if role == "tool" else None}


def _call(role: str, name: str, arguments: str) -> dict[str, Any]:
    if parts := laid_out(name, arguments):
        return {"role": role, "content": parts}
    return {"role": role, "content": None, "function_call": {"name": name, "arguments": arguments}}


def _without_notices(parts: list[dict[str, Any]], reading: Reading) -> list[dict[str, Any]]:
    kept = [part for part in parts if not _PICTURES.match(part.get("text") or "")]
    reading.left_out["hidden messages"] += len(parts) - len(kept)
    return kept


def _says_something(content: Mapping[str, Any]) -> bool:
    """Whether a hidden message has words; reasoning and custom instructions have them in fields of their own."""
    return bool(_text(content) or any(content.get(key) for key in _OWN_FIELDS))


def _parts(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = content.get("parts")
    if not isinstance(parts, list):
        return [{"type": "text", "text": _text(content)}]
    return [_part(part) for part in parts if part]


def _part(part: Any) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": _MARK.sub(_shown, part)}
    kind = str(part.get("content_type", "file"))
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return {"type": _MEDIA.get(kind, "audio" if "audio" in kind else kind.removesuffix("_asset_pointer"))}


def _text(content: Mapping[str, Any]) -> str:
    """The text of a content of any type; of ``multimodal_text`` its texts."""
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n".join(part["text"] for part in map(_part, filter(None, parts)) if part.get("text"))
    found = next((content[key] for key in ("text", "result", "content") if isinstance(content.get(key), str)), "")
    return _MARK.sub(_shown, found)


def _shown(mark: re.Match[str]) -> str:
    """What the app shows of a mark in its line: the name of ``entity``, the words of a link, and else nothing."""
    kind, *fields = mark[1].split("\ue202")
    if kind == "entity" and fields:
        return _name(fields[0])
    return fields[0] if kind == "url" and len(fields) > 1 else ""


def _name(entity: str) -> str:
    """``Lisbon`` of ``["city", "Lisbon", "Portugal"]``."""
    try:
        found = json.loads(entity)
    except (ValueError, RecursionError):
        return ""
    return found[1] if isinstance(found, list) and len(found) > 1 and isinstance(found[1], str) else ""
