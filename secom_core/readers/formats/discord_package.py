"""The data package that Discord sends on request: what the user wrote, and nobody else's words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ..files import Export, File
from ..reading import Reading, by_day, iso
from .table import csv_rows


def looks_like(file: File) -> bool:
    """``messages.json`` of ``ID``, ``Timestamp`` and ``Contents``, or the same as CSV."""
    return {"[].ID", "[].Contents"} <= file.shape or file.start.startswith("ID,Timestamp,Contents")


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session for each day of each channel; everything is said by the user."""
    reading.note("a data package of Discord holds what you wrote, and not what others answered")
    names = _names(export)
    for file in files:
        channel = PurePosixPath(file.name).parent.name.removeprefix("c")
        chat = names.get(channel) or f"Discord {channel}".strip()
        rows = list(_rows(file, reading))
        rows.sort(key=lambda row: str(row.get("Timestamp")))
        yield from by_day(reading.chat(chat, channel), _messages(rows, reading))


def _names(export: Export) -> dict[str, str]:
    index = export.named("index.json")
    if index is None:
        return {}
    try:
        with index.text() as text:
            found = json.load(text)
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(name) for key, name in found.items() if name} if isinstance(found, Mapping) else {}


def _rows(file: File, reading: Reading) -> Iterator[Mapping[str, Any]]:
    if file.shape:
        stream = reading.stream(file)
        for _ in stream.items():
            row = stream.value()
            if not isinstance(row, Mapping):
                raise InvalidTranscript(f"{file.shown}: line {stream.line}: a message is an object")
            yield row
    else:
        yield from csv_rows(file, reading)


def _messages(rows: list[Mapping[str, Any]], reading: Reading) -> Iterator[Message]:
    for row in rows:
        files = [
            f"[file: {url.rpartition('/')[2].partition('?')[0]}]" for url in str(row.get("Attachments") or "").split()
        ]
        text = "\n".join(filter(None, [str(row.get("Contents") or ""), *files]))
        if not text:
            reading.left_out["empty messages"] += 1
            continue
        own, at = str(row.get("ID", "")), iso(row.get("Timestamp"))
        kept = {"source": "discord", "message": own}
        moment = reading.local(at) if at is not None and at.tzinfo is not None else at
        yield Message(text, "user", None, reading.stable(own, text), moment, kept)
