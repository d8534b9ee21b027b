"""JSON lines out and in: the one format in which a scope leaves a bank and enters another."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from ..conversation import Message, Scope, Turn, check_scope, json_flaw
from ..errors import InvalidInput, shorten
from ..layers import registered
from ..readers.fields import LONGEST_LINE, count_field, flag_field, list_field, moment_field, text_field
from ..readers.fields import field as value_of
from ..stores.rows import MemoryRow, SessionRow
from ..stores.sql import SqlStore
from ..times import iso_text

_FORMAT: Final = "secom-memory"
_VERSION: Final = 2
_NO_EXPORT: Final = (
    "; the first line should be the header that `secom export` writes, and `secom remember` reads other chats"
)
_SHOWN: Final = 200


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
        edges = {0, self.memories[-1].stop, *(memory.start for memory in self.memories)}
        return apart and self.settled in edges and all(map(self._is_covered, self.places))

    def _is_covered(self, place: int) -> bool:
        """Whether a turn is in one of the memories, which stand in order."""
        following = bisect_right(self.memories, place, key=lambda memory: memory.stop)
        return following < len(self.memories) and self.memories[following].start <= place

    def end_at_last_turn(self) -> None:
        """Let memories end where the turns do: those after it were forgotten, and the next one gets its number."""
        end = self.places[-1] + 1 if self.places else 0
        self.memories = [replace(each, stop=min(each.stop, end)) for each in self.memories if each.start < end]
        self.settled = min(self.settled, end)


@dataclass
class Imported:
    """An export as read: whose it was, its sessions, and what layers wrote, by their names."""

    scope: Scope
    sessions: list[ImportedSession] = field(default_factory=list)
    layers: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    known: dict[str, Message] = field(default_factory=dict)


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
    return {**asdict(message), "at": iso_text(message.at), "metadata": dict(message.metadata)}


def read(lines: Iterable[str]) -> Imported:
    """Read an export whole before anything of it is used.

    What it costs is bounded by the length of the lines: no number in them says how much is read or kept
    (`secom_core.readers.fields` has the limits).

    Raises:
        InvalidInput: with the number of the first line that is not as `session_lines` or `layer_lines` writes it.
    """
    if isinstance(lines, (str, bytes)):
        raise InvalidInput("an import needs lines, such as an open file, and got one text; pass text.splitlines()")
    found: Imported | None = None
    for number, line in enumerate(lines, start=1):
        try:
            _check_line(line)
            if not line.strip():
                continue
            record = json.loads(line)
            if found is None:
                found = Imported(_read_header(record))
            else:
                _read_record(record, found)
        # A layer that somebody else wrote raises what it likes at a record that is none of its own.
        except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else repr(error)
            raise InvalidInput(
                f"line {number} of the import cannot be used: {reason}; it reads {_beginning(line)}"
                f"{_NO_EXPORT if found is None else ''}"
            ) from error
    if found is None:
        raise InvalidInput("the import is empty: its first line should be the header that export writes")
    for session in found.sessions:
        session.end_at_last_turn()
    return found


def _check_line(line: Any) -> None:
    if not isinstance(line, (str, bytes)):
        raise TypeError(f"a line is text, not a {type(line).__name__}")
    if len(line) > LONGEST_LINE:
        raise ValueError(f"a line has at most {LONGEST_LINE:,} characters, this one {len(line):,}")


def _beginning(line: Any) -> str:
    return shorten(line[:_SHOWN] if isinstance(line, (str, bytes)) else line)


def _read_layer(record: Mapping[str, Any], layers: dict[str, list[Mapping[str, Any]]]) -> None:
    known = {layer.name: layer for layer in registered()}
    # What this process has no layer for can be made again from the turns.
    if (layer := known.get(text_field(record, "layer"))) is not None:
        layer.check_record(record)
        layers.setdefault(layer.name, []).append(record)


def _read_header(record: Mapping[str, Any]) -> Scope:
    if not isinstance(record, Mapping) or record.get("kind") != "header" or record.get("format") != _FORMAT:
        raise ValueError("the first line is not the header of a secom-memory export")
    if (version := value_of(record, "version")) != _VERSION:
        raise ValueError(f"this package reads version {_VERSION} of the format, not {shorten(version)}")
    return check_scope(value_of(record, "scope"))


def _read_record(record: Any, found: Imported) -> None:
    if isinstance(record, Mapping) and "layer" in record:
        _read_layer(record, found.layers)
        return
    kind = value_of(record, "kind")
    if kind == "session":
        found.sessions.append(_session_in(record))
        return
    if kind not in ("turn", "memory"):
        raise ValueError(f"'kind': expected session, turn or memory, got {shorten(kind)}")
    if not found.sessions:
        raise ValueError(
            f"a {kind} comes before the first session; the line of a session precedes its turns and memories"
        )
    if kind == "turn":
        _read_turn(record, found.sessions[-1], found.known)
    else:
        found.sessions[-1].memories.append(_memory_in(record))


def _session_in(record: Mapping[str, Any]) -> ImportedSession:
    if not (name := text_field(record, "name")):
        raise ValueError("'name': a session has a name, got an empty one")
    return ImportedSession(name, flag_field(record, "closed"), count_field(record, "settled"))


def _read_turn(record: Mapping[str, Any], session: ImportedSession, known: dict[str, Message]) -> None:
    messages = [_message_in(message) for message in list_field(record, "messages")]
    if not messages:
        raise ValueError("'messages': a turn has one message or more, got none")
    index = count_field(record, "index")
    if session.places and index <= session.places[-1]:
        raise ValueError(f"'index': turn {index} comes after turn {session.places[-1]}")
    for message in messages:
        if message.id is not None and known.setdefault(message.id, message) != message:
            raise ValueError(f"'id': {shorten(message.id)} belongs to another message before it")
    session.messages += messages
    session.places += [index] * len(messages)


def _memory_in(record: Mapping[str, Any]) -> MemoryRow:
    start, stop = count_field(record, "start"), count_field(record, "stop")
    if start >= stop:
        raise ValueError(f"'stop': expected a number above the start, {start}, got {stop}")
    # Where nothing makes keys, a key is all that was said.
    key = text_field(record, "key", most=LONGEST_LINE)
    return MemoryRow(start, stop, key, text_field(record, "digest"))


def _message_in(record: Any) -> Message:
    return Message(
        text_field(record, "text"),
        text_field(record, "role"),
        None if value_of(record, "speaker") is None else text_field(record, "speaker"),
        text_field(record, "id"),
        moment_field(record, "at"),
        _metadata(value_of(record, "metadata")),
    )


def _metadata(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object for metadata, got {shorten(value)}")
    if flaw := json_flaw(value):
        raise ValueError(f"metadata {shorten(value)} cannot be kept: {flaw}")
    return value
