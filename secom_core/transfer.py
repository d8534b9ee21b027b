"""JSON lines out and in: the one format in which a scope leaves a bank and enters another."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, get_args

from .conversation import Message, Scope, Turn, check_scope, json_flaw
from .errors import InvalidInput, shorten
from .memory import Decision
from .reflection.policy import LessonKind
from .stores import summaries
from .stores.citations import CitationRow
from .stores.sql import MemoryRow, SessionRow, SqlStore
from .stores.timelines import TimelineStore
from .stores.topics import TopicStore

__all__ = ["Imported", "ImportedSession", "citation_line", "header", "layer_lines", "read", "session_lines"]

_FORMAT: Final = "secom-memory"
_VERSION: Final = 1
_MADE: Final = ("summary", "event", "link", "topic")
"""What a bank that keeps it makes again."""
_LESSONS: Final = frozenset(get_args(LessonKind)) - {"known"}


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
        held = {place for memory in self.memories for place in range(memory.start, memory.stop)}
        return apart and held >= set(self.places) and self.settled in {0, *self._edges}

    @property
    def _edges(self) -> set[int]:
        return {memory.start for memory in self.memories} | {self.memories[-1].stop}


@dataclass
class Imported:
    """An export as read: whose it was, its sessions, and what answers cited."""

    scope: Scope
    sessions: list[ImportedSession] = field(default_factory=list)
    citations: list[CitationRow] = field(default_factory=list)


def header(scope: Scope) -> str:
    """The first line of an export."""
    return json.dumps({"kind": "header", "format": _FORMAT, "version": _VERSION, "scope": list(scope)})


def session_lines(row: SessionRow, turns: Sequence[Turn], memories: Sequence[MemoryRow]) -> Iterator[str]:
    """A session's lines: the session, its turns, its memories."""
    yield json.dumps({"kind": "session", "name": row.name, "closed": row.closed, "settled": row.settled})
    for turn in turns:
        said = [_message_out(message) for message in turn.messages]
        yield json.dumps({"kind": "turn", "index": turn.index, "messages": said})
    for memory in memories:
        line = {"kind": "memory", "start": memory.start, "stop": memory.stop, "key": memory.key}
        yield json.dumps({**line, "digest": memory.digest})


def citation_line(row: CitationRow) -> str:
    """What an answer cited of what it was shown."""
    told = {"query": row.query, "shown": dict(row.shown), "cited": list(row.cited), "lesson": row.lesson}
    return json.dumps({"kind": "citation", **told, "at": row.at.isoformat()})


def layer_lines(store: SqlStore, scope_id: int) -> Iterator[str]:
    """What was made of the scope's sessions, for people to read: summaries, events and topics, with their turns."""
    for version, turn_ids in summaries.with_turns(store, summaries.versions(store, scope_id)):
        told = {"session": version.session, "text": version.text, "turn_ids": list(turn_ids)}
        yield json.dumps({"kind": "summary", **told})
    for row in TimelineStore(store).events(scope_id):
        event = row.event
        told = {"session": event.session, "text": event.text, "turn_ids": list(event.turn_ids)}
        yield json.dumps({"kind": "event", "id": event.id, "at": event.at.isoformat(), **told})
    for link in TimelineStore(store).links(scope_id):
        yield json.dumps({"kind": "link", "from": link.earlier, "to": link.later, "relation": link.relation.value})
    held = TopicStore(store).changes(scope_id, -1)
    notes = {note.id: note for note in held.notes} if held is not None else {}
    for each in held.versions if held is not None else ():
        note = notes[each.note_id]
        told = {"speaker": note.speaker, "session": note.session, "text": each.text, "note": note.text}
        yield json.dumps({"kind": "topic", "topic": each.topic, **told, "turn_ids": [turn.id for turn in note.turns]})


def _message_out(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "speaker": message.speaker,
        "text": message.text,
        "at": message.at.isoformat() if message.at else None,
        "metadata": dict(message.metadata),
    }


def read(lines: Iterable[str]) -> Imported:
    """Read an export whole before anything of it is used.

    Raises:
        InvalidInput: with the number of the first line that is not as `session_lines` writes it.
    """
    found: Imported | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if found is None:
                found = Imported(_read_header(record))
            elif record["kind"] in _MADE:
                continue
            elif record["kind"] == "citation":
                found.citations.append(_citation_in(record))
            else:
                _read_record(record, found.sessions)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            raise InvalidInput(
                f"line {number} of the import cannot be used: {error!r}; it reads {line!r:.120}"
            ) from error
    if found is None:
        raise InvalidInput("the import is empty: its first line should be the header that export writes")
    return found


def _read_header(record: Mapping[str, Any]) -> Scope:
    if not isinstance(record, Mapping) or record.get("kind") != "header" or record.get("format") != _FORMAT:
        raise ValueError("the first line is not the header of a secom-memory export")
    if record["version"] != _VERSION:
        raise ValueError(f"this package reads version {_VERSION} of the format, not {record['version']!r}")
    return check_scope(record["scope"])


def _read_record(record: Mapping[str, Any], history: list[ImportedSession]) -> None:
    if record["kind"] == "session":
        history.append(ImportedSession(_text(record["name"]), bool(record["closed"]), _count(record["settled"])))
    elif record["kind"] == "turn":
        said = [_message_in(message) for message in record["messages"]]
        index = _count(record["index"])
        if history[-1].places and index <= history[-1].places[-1]:
            raise ValueError(f"turn {index} comes after turn {history[-1].places[-1]}")
        history[-1].messages += said
        history[-1].places += [index] * len(said)
    elif record["kind"] == "memory":
        start, stop = _count(record["start"]), _count(record["stop"])
        history[-1].memories.append(MemoryRow(start, stop, _text(record["key"]), _text(record["digest"])))
    else:
        raise ValueError(f"unknown kind {record['kind']!r}")


def _citation_in(record: Mapping[str, Any]) -> CitationRow:
    shown, query = _decision_in(record["shown"]), record["query"]
    if record["lesson"] not in _LESSONS:
        raise ValueError(f"expected one of {sorted(_LESSONS)}, got {record['lesson']!r}")
    return CitationRow(
        0,
        shown.id,
        None if query is None else _text(query),
        shown.as_json(),
        tuple(_count(number) for number in record["cited"]),
        _text(record["lesson"]),
        datetime.fromisoformat(record["at"]),
    )


def _decision_in(record: Mapping[str, Any]) -> Decision:
    """What was shown; all of it is looked at, because it is learned from only later."""
    shown = Decision.from_json(record)
    each = (shown.numbers, shown.memory_ids, shown.turn_ids, shown.signals, shown.scores)
    if len({len(column) for column in each}) != 1:
        raise ValueError(f"expected as many of everything that was shown, got {[len(column) for column in each]}")
    for number in (*shown.numbers, shown.version, shown.epoch):
        _count(number)
    for text in (shown.id, *shown.memory_ids, *(turn for turns in shown.turn_ids for turn in turns)):
        _text(text)
    values = [value for memory in shown.signals for turn in memory for value in dict(turn).values()]
    if not all(isinstance(value, (int, float)) and math.isfinite(value) for value in (*values, *shown.scores)):
        raise ValueError("expected finite numbers for signals and scores")
    return shown


def _message_in(record: Mapping[str, Any]) -> Message:
    speaker = record["speaker"]
    return Message(
        _text(record["text"]),
        _text(record["role"], empty=True),
        None if speaker is None else _text(speaker, empty=True),
        _text(record["id"]),
        datetime.fromisoformat(record["at"]),
        _metadata(record["metadata"]),
    )


def _metadata(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object for metadata, got {shorten(value)}")
    if flaw := json_flaw(value):
        raise ValueError(f"metadata {shorten(value)} cannot be kept: {flaw}")
    return value


def _text(value: Any, *, empty: bool = True) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise ValueError(f"expected text, got {value!r}")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"expected a whole number from 0 on, got {value!r}")
    return value
