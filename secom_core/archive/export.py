"""JSON lines out and in: the one format in which a scope leaves a bank and enters another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from ..conversation import Message, Scope, Turn, check_scope, json_flaw
from ..errors import InvalidInput, shorten
from ..layers import registered
from ..readers.fields import count_field, text_field
from ..stores.rows import MemoryRow, SessionRow
from ..stores.sql import SqlStore

_FORMAT: Final = "secom-memory"
_VERSION: Final = 2


@dataclass
class ImportedSession:
    """One session of an export: its messages with the turn each belongs to, and its memories."""

    name: str
    closed: bool
    settled: int
    messages: list[Message] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    memories: list[MemoryRow] = field(default_factory=list)

    @property
    def is_partitioned(self) -> bool:
        """Whether every turn is in exactly one memory, in order."""
        if not self.memories:
            return False
        apart = all(one.stop <= next_.start for one, next_ in pairwise(self.memories))
        covered = {place for memory in self.memories for place in range(memory.start, memory.stop)}
        edges = {0, self.memories[-1].stop, *(memory.start for memory in self.memories)}
        return apart and covered >= set(self.places) and self.settled in edges


@dataclass
class Imported:
    """An export as read: whose it was, its sessions, and what layers wrote, by their names."""

    scope: Scope
    sessions: list[ImportedSession] = field(default_factory=list)
    layers: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)


def header(scope: Scope) -> str:
    """The first line of an export."""
    return json.dumps({"kind": "header", "format": _FORMAT, "version": _VERSION, "scope": list(scope)})


def session_lines(row: SessionRow, turns: Sequence[Turn], memories: Sequence[MemoryRow]) -> Iterator[str]:
    """A session's lines: the session, its turns, its memories."""
    yield json.dumps({"kind": "session", "name": row.name, "closed": row.closed, "settled": row.settled})
    for turn in turns:
        messages = [message_record(message) for message in turn.messages]
        yield json.dumps({"kind": "turn", "index": turn.index, "messages": messages})
    yield from (json.dumps({"kind": "memory", **asdict(memory)}) for memory in memories)


def layer_lines(store: SqlStore, scope_id: int) -> Iterator[str]:
    """What layers made of the scope: for people to read, and for layers that take it in again."""
    for layer in registered():
        for record in layer.export(store, scope_id):
            yield json.dumps({"layer": layer.name, **record})


def message_record(message: Message) -> dict[str, Any]:
    """A message as JSON holds it, every character kept."""
    at = message.at.isoformat() if message.at is not None else None
    return {**asdict(message), "at": at, "metadata": dict(message.metadata)}


def read(lines: Iterable[str]) -> Imported:
    """Read an export whole before anything of it is used.

    Raises:
        InvalidInput: with the number of the first line that is not as `session_lines` or `layer_lines` writes it.
    """
    found: Imported | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if found is None:
                found = Imported(_read_header(record))
            elif "layer" in record:
                _read_layer(record, found.layers)
            else:
                _read_record(record, found.sessions)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            raise InvalidInput(
                f"line {number} of the import cannot be used: {error!r}; it reads {line!r:.120}"
            ) from error
    if found is None:
        raise InvalidInput("the import is empty: its first line should be the header that export writes")
    return found


def _read_layer(record: Mapping[str, Any], layers: dict[str, list[Mapping[str, Any]]]) -> None:
    known = {layer.name: layer for layer in registered()}
    # What this process has no layer for can be made again from the turns.
    if (layer := known.get(text_field(record["layer"]))) is not None:
        layer.check_record(record)
        layers.setdefault(layer.name, []).append(record)


def _read_header(record: Mapping[str, Any]) -> Scope:
    if not isinstance(record, Mapping) or record.get("kind") != "header" or record.get("format") != _FORMAT:
        raise ValueError("the first line is not the header of a secom-memory export")
    if record["version"] != _VERSION:
        raise ValueError(f"this package reads version {_VERSION} of the format, not {record['version']!r}")
    return check_scope(record["scope"])


def _read_record(record: Mapping[str, Any], history: list[ImportedSession]) -> None:
    if record["kind"] == "session":
        name, settled = text_field(record["name"]), count_field(record["settled"])
        history.append(ImportedSession(name, bool(record["closed"]), settled))
    elif record["kind"] == "turn":
        messages = [_message_in(message) for message in record["messages"]]
        index = count_field(record["index"])
        if history[-1].places and index <= history[-1].places[-1]:
            raise ValueError(f"turn {index} comes after turn {history[-1].places[-1]}")
        history[-1].messages += messages
        history[-1].places += [index] * len(messages)
    elif record["kind"] == "memory":
        start, stop = count_field(record["start"]), count_field(record["stop"])
        history[-1].memories.append(MemoryRow(start, stop, text_field(record["key"]), text_field(record["digest"])))
    else:
        raise ValueError(f"unknown kind {record['kind']!r}")


def _message_in(record: Mapping[str, Any]) -> Message:
    speaker = record["speaker"]
    return Message(
        text_field(record["text"]),
        text_field(record["role"]),
        None if speaker is None else text_field(speaker),
        text_field(record["id"]),
        datetime.fromisoformat(record["at"]),
        _metadata(record["metadata"]),
    )


def _metadata(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object for metadata, got {shorten(value)}")
    if flaw := json_flaw(value):
        raise ValueError(f"metadata {shorten(value)} cannot be kept: {flaw}")
    return value
