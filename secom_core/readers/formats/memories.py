"""What other memories for agents keep: memories of mem0, facts and messages of Zep.

A memory of mem0 and a fact of Zep are sentences that a model wrote, and not what anybody said. They are taken in as
what they are: said by a speaker called ``mem0`` or ``zep`` who has no role, so that none passes for the user's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ..files import Export, File
from ..messages import read_messages
from ..reading import Reading, grouped, iso

_PLACES: Final = ("", "[].", "results[].", "memories[].")


def looks_like(file: File) -> bool:
    """Records with ``memory`` and an owner or a hash."""
    return any(
        f"{at}memory" in file.shape and {f"{at}hash", f"{at}user_id", f"{at}agent_id", f"{at}created_at"} & file.shape
        for at in _PLACES
    )


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for the memories of each user."""
    reading.note(
        "these are sentences that mem0 wrote of conversations, and not the conversations: they are remembered as said "
        "by 'mem0', and not by you"
    )
    for file in files:
        found: dict[str, list[Message]] = {}
        for row in records(file, reading, ("results", "memories")):
            if not isinstance(row.get("memory"), str):
                reading.left_out["records without a memory"] += 1
                continue
            owner = str(row.get("user_id") or row.get("agent_id") or "")
            found.setdefault(f"memories of mem0 {owner}".strip(), []).append(_memory(row, reading))
        yield from (grouped(name, messages) for name, messages in found.items())


def _memory(row: Mapping[str, Any], reading: Reading) -> Message:
    text, own = row["memory"], str(row.get("id", ""))
    at = iso(row.get("updated_at")) or iso(row.get("created_at"))
    kept = {"source": "mem0", "memory": own}
    moment = reading.local(at) if at is not None else None
    return Message(text, "", "mem0", reading.stable(own, text), moment, kept)


def records(file: File, reading: Reading, names: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """The records of a file: in a list, in the list under one of these names, or a line each."""
    stream = reading.stream(file)
    if stream.peek() == "[":
        yield from (row for _ in stream.items() if isinstance(row := stream.value(), Mapping))
    elif any(name in file.shape for name in names):
        for name in stream.members():
            if name in names and stream.peek() == "[":
                yield from (row for _ in stream.items() if isinstance(row := stream.value(), Mapping))
    else:
        yield from (row for row in stream.values() if isinstance(row, Mapping))


def said(row: Mapping[str, Any], reading: Reading) -> Message:
    """A message of Zep, with its role and the name of who speaks."""
    own = str(row.get("uuid") or row.get("uuid_") or "")
    role, name = row.get("role_type") or row.get("role"), row.get("name")
    if row.get("role_type") and row.get("role") and row["role"] != row["role_type"]:
        name = name or row["role"]
    at = iso(row.get("created_at"))
    given = {"role": "" if role == "norole" else role, "name": name, "content": row.get("content")}
    [read] = read_messages([{**given, "speaker": name or "somebody", "metadata": {"source": "zep", "message": own}}])
    made_id = reading.stable(own, read.text) if own else None
    speaker = read.speaker if name or not read.role else None
    return Message(read.text, read.role, speaker, made_id, at, read.metadata)
