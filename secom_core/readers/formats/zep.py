"""Zep: the messages of a thread, and the facts of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...conversation import Message, Session
from ..files import Export, File
from ..reading import Reading, grouped, iso
from .memories import records, said


def looks_like(file: File) -> bool:
    """Messages with ``uuid`` and a role, or edges with a ``fact``."""
    messages = any(
        f"{at}content" in file.shape and ({f"{at}role_type"} <= file.shape or {f"{at}uuid", f"{at}role"} <= file.shape)
        for at in ("", "[].", "messages[].")
    )
    return messages or any({f"{at}fact", f"{at}uuid"} <= file.shape for at in ("", "[].", "facts[].", "edges[]."))


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a file of messages; facts are a session of their own."""
    for file in files:
        rows = records(file, reading, ("messages", "facts", "edges"))
        messages = [_fact(row, reading) if "fact" in row else said(row, reading) for row in rows]
        facts = [each for each in messages if each.speaker == "zep" and not each.role]
        if facts:
            reading.once("facts are sentences that Zep wrote, and are remembered as said by 'zep', not by you")
            yield grouped("facts of Zep", facts)
        yield grouped(reading.session or file.stem, [each for each in messages if each not in facts])


def _fact(row: Mapping[str, Any], reading: Reading) -> Message:
    own, text = str(row.get("uuid") or ""), str(row["fact"])
    at = iso(row.get("valid_at")) or iso(row.get("created_at"))
    kept = {"source": "zep", "fact": own, **({"invalid_at": row["invalid_at"]} if row.get("invalid_at") else {})}
    return Message(text, "", "zep", reading.stable(own, text), at, kept)
