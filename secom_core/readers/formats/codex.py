"""The log of a session of Codex, JSON lines, ``rollout-….jsonl``; also the folder with the logs of all its sessions.

What the user typed and the model said is read, and which tools were called. What the tools gave back is left out: it is
files and the output of commands, far longer than the talk. A log has each prompt twice: as it was typed (an event), and
as the model saw it, among texts of the program in the user's name. The first is read where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..documents import laid_out
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, iso, titled

_OWN: Final = regex(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|collaboration_mode|multi_agent_mode|"
    r"apps_instructions)>|# AGENTS\.md)"
)
"""How a text begins that the program wrote in the name of the user."""
_ASKED: Final = "## My request for Codex:"
"""What the editor writes between what is open in it and what was typed."""
_SHOWN: Final = frozenset({"text", "image", "local_image"})


@dataclass(frozen=True, slots=True)
class _Said:
    """A message, or, with ``undone``, how many prompts before it the user took back, with what followed them."""

    role: str = ""
    parts: tuple[Any, ...] = ()
    is_typed: bool = False
    at: datetime | None = None
    undone: int = 0


def looks_like(file: File) -> bool:
    """JSON lines that begin with a session's folder and the program's version; until September 2025, with its id."""
    head, old = {"timestamp", "type", "payload.cwd", "payload.cli_version"}, {"id", "timestamp", "instructions"}
    return head <= file.shape or old | {"record_type"} <= file.shape


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a log, called by the folder that was worked in and the end of its id."""
    for file in files:
        yield _session(file, reading)


def _session(file: File, reading: Reading) -> Session:
    about: Mapping[str, Any] = {}
    key, said = "", list[_Said]()
    for row in reading.rows(file):
        item = row.get("payload", row)
        if row.get("type") == "session_meta" or "instructions" in row:
            about = about or item
            # The log of a session that was forked begins with that of the first one, whose messages are known.
            key = key if said else str(item.get("id") or "")
        else:
            said += [each for found in reading.kept(_said, row, file.shown) for each in found]
    name = titled(_folder(about) or "Codex", str(about.get("id") or file.stem).rpartition("-")[2])
    messages = list(_messages(said, key or file.stem, iso(about.get("timestamp")), reading))
    if "subagent" in (about.get("source") or ()) or about.get("thread_source") == "subagent":
        reading.left_out["messages of subagents"] += len(messages)
        messages = []
    return grouped(name, messages)


def _folder(about: Mapping[str, Any]) -> str:
    return PurePosixPath(str(about.get("cwd") or "").replace("\\", "/")).name


def _said(row: Mapping[str, Any], reading: Reading) -> list[_Said]:
    item, at = row.get("payload", row), iso(row.get("timestamp"))
    if row.get("type") == "event_msg":
        return _event(item, at)
    kind, role = item.get("type"), item.get("role")
    if kind == "message":
        parts = tuple(item.get("content") or ())
        is_own = role not in ("user", "assistant") or (role == "user" and bool(parts) and _is_own(parts[0]))
        reading.left_out["hidden messages"] += is_own
        return [] if is_own else [_Said(role, parts, at=at)]
    if kind == "reasoning":
        reading.left_out["reasoning"] += 1
    elif kind in ("function_call_output", "custom_tool_call_output"):
        reading.left_out["results of tools"] += 1
    elif (call := _call(item)) is not None:
        return [
            _Said(
                "assistant", tuple(laid_out(*call) or [{"type": "tool_use", "name": call[0], "input": call[1]}]), at=at
            )
        ]
    return []


def _event(event: Mapping[str, Any], at: datetime | None) -> list[_Said]:
    item = event.get("item") or {}
    if event.get("type") == "thread_rolled_back":
        return [_Said(undone=int(event["num_turns"]))]
    if event.get("type") == "user_message":
        text = _typed(str(event["message"]))
        if _OWN.match(text):
            return []  # it is counted as the model saw it
        pictures = len(event.get("images") or ()) + len(event.get("local_images") or ())
        return [_Said("user", (text, *[{"type": "image"}] * pictures), True, at)]
    if event.get("type") == "item_completed" and item.get("type") == "UserMessage":
        parts = (each for each in item["content"] if each.get("type") in _SHOWN)
        shown = (_typed(str(each["text"])) if each["type"] == "text" else each for each in parts)
        return [_Said("user", tuple(shown), True, at)]
    return []


def _typed(text: str) -> str:
    return text.rpartition(_ASKED)[2].strip()


def _is_own(part: Mapping[str, Any]) -> bool:
    return _OWN.match(str(part.get("text") or "")) is not None


def _call(item: Mapping[str, Any]) -> tuple[str, Any] | None:
    """The name and the arguments of a call to a tool."""
    match item.get("type"):
        case "function_call":
            return str(item["name"]), item["arguments"]
        case "custom_tool_call":
            return str(item["name"]), {"input": item["input"]}
        case "local_shell_call":
            return "shell", item["action"]
        case "web_search_call" if item.get("action"):
            return "web_search", item["action"]
    return None


def _messages(said: list[_Said], key: str, began: datetime | None, reading: Reading) -> list[Message]:
    """The messages that stand. An id is made of the words, and of how often they were said before."""
    found, times = list[Message](), Counter[tuple[str, str]]()
    has_typed = any(each.is_typed for each in said)
    for each in said:
        undone, kept_until = each.undone, len(found)
        while undone > 0 and kept_until:
            kept_until -= 1
            undone -= found[kept_until].role == "user"
        reading.left_out["messages on other branches"] += len(found) - kept_until
        del found[kept_until:]
        if each.role == "user" and has_typed and not each.is_typed:
            continue
        at, kept = each.at or began, {"source": "codex", "conversation": key}
        [read] = read_messages([{"role": each.role or "user", "content": list(each.parts), "metadata": kept, "at": at}])
        text = read.text.strip()
        if text:
            times[read.role, text] += 1
            own = reading.stable(key, read.role, text, times[read.role, text])
            found.append(Message(text, read.role, read.speaker, own, at, kept))
    return found
