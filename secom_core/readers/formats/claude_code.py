"""The log of a session of Claude Code, JSON lines; also the folder of a project, with the logs of all its sessions.

What the user and the model said is read, and which tools were called. What the tools gave back is left out: it is
files and the output of commands, far longer than the talk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from ...conversation import Message, Session
from ...text.patterns import regex
from ..documents import laid_out
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, iso, titled

_OWN: Final = regex(
    r"\s*(?:<(?:command-|local-command-|bash-|system-reminder|task-notification|ide_opened_file|ide_selection)|"
    r"\[Request interrupted by user(?: for tool use)?\]\s*\Z)"
)
"""How a text begins that the program wrote in the name of the user, as of a command or of what the editor shows."""
_NO_MODEL: Final = "<synthetic>"
"""Named as the model of what the program says itself in its place, such as that the network failed."""
_SAID: Final = frozenset({"user", "assistant"})


def looks_like(file: File) -> bool:
    """JSON lines with a ``sessionId``, of messages that know the one before."""
    return {"sessionId", "uuid", "parentUuid"} <= file.shape


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a log, called by the folder that was worked in and the beginning of its id."""
    for file in files:
        said, folder = list[Message](), ""
        for row in reading.rows(file):
            folder = folder or PurePosixPath(str(row.get("cwd") or "").replace("\\", "/")).name
            if row.get("type") in _SAID:
                said += reading.kept(_message, row, file.shown)
        yield grouped(titled(folder or "Claude Code", file.stem), [each for each in said if each.text])


def _message(row: Mapping[str, Any], reading: Reading) -> Message:
    """The message of a row; without words where nothing of it is read. One that was taken over keeps its id."""
    own, message = str(row.get("uuid") or ""), row["message"]
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else list(content or ())
    is_user = row["type"] == "user"
    shown = [] if _is_hidden(row, reading) else [each for each in blocks if not (is_user and _is_own(each, reading))]
    parts = [part for each in shown for part in _shown(each, reading)]
    kept = {"source": "claude-code", "message": own}
    at = iso(row.get("timestamp"))
    [read] = read_messages([{"role": message.get("role") or row["type"], "content": parts, "metadata": kept, "at": at}])
    text = read.text.strip()
    return Message(text, read.role, read.speaker, reading.stable(own, row.get("timestamp"), text), at, kept)


def _is_hidden(row: Mapping[str, Any], reading: Reading) -> bool:
    if row.get("isSidechain"):
        reading.left_out["messages of subagents"] += 1
        return True
    is_own = bool(row.get("isMeta") or row.get("isCompactSummary") or row["message"].get("model") == _NO_MODEL)
    reading.left_out["hidden messages"] += is_own
    return is_own


def _is_own(block: Any, reading: Reading) -> bool:
    """Whether a part of what stands in the name of the user is the program's; what was typed may stand beside it."""
    text = block if isinstance(block, str) else str(block.get("text") or "")
    is_own = _OWN.match(text) is not None
    reading.left_out["hidden messages"] += is_own
    return is_own


def _shown(block: Any, reading: Reading) -> list[Any]:
    kind = block.get("type") if isinstance(block, Mapping) else "text"
    if kind in ("thinking", "redacted_thinking"):
        reading.left_out["reasoning"] += 1
        return []
    if kind == "tool_result":
        reading.left_out["results of tools"] += 1
        return []
    return (laid_out(block.get("name"), block.get("input")) if kind == "tool_use" else None) or [block]
