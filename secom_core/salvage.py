"""What can still be read of a damaged SQLite file, as exports: page by page, without the tree that leads to them.

SQLite refuses a file that is cut short or overwritten, or stops at the first broken page. Turns are all in the leaves
of one table, so they are looked for in every page of the file and of its write-ahead log (the file format is that of
https://sqlite.org/fileformat2.html). What is derived is not: `MemoryBank.import_` makes it again. Deleted rows are not
found, as the store overwrites them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Text

from . import transfer
from .conversation import Message, Scope, Turn
from .errors import StoreError
from .stores.schema import Verbatim, messages, scopes, sessions
from .stores.sql import SessionRow

__all__ = ["Salvaged", "salvage"]

_TEXT_DAMAGED: Final = "\ufffd"
_LEAF: Final = 0x0D
_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_USUAL: Final = 4096
_INTEGERS: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_VERBATIM: Final = Verbatim()
Record = list[Any]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was found.

    Args:
        exports: the lines of an export a scope; one whose name is lost is called ``("lost", its number)``.
        messages: how many messages are in them.
        damaged: how many of these have lost a part: some of their text (U+FFFD stands for it), time or metadata.
        broken_pages: how many pages cannot be read at all, or not to their end.
    """

    exports: dict[Scope, list[str]]
    messages: int
    damaged: int
    broken_pages: int


def salvage(path: str | Path) -> Salvaged:
    """Read all that is left of a store.

    Args:
        path: the damaged SQLite file; it is only read. An encrypted one cannot be read in this way.

    Raises:
        StoreError: the file cannot be opened.
    """
    file = Path(path).expanduser()
    try:
        whole = file.read_bytes()
        log = file.with_name(file.name + "-wal")
        pages = _Pages(whole, log.read_bytes() if log.exists() else b"")
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error}") from error
    found = _Found()
    for number in pages.numbers:
        for rowid, record in pages.rows(number):
            found.take(rowid, record)
    return Salvaged(found.exports(), len(found.messages), len(found.damaged), len(pages.broken))


class _Broken(Exception):
    """A page, or a row, that is not as the format has it."""


class _Pages:
    """The pages of a database, those in its log before those in the file."""

    def __init__(self, whole: bytes, log: bytes) -> None:
        written = int.from_bytes(whole[16:18], "big")
        size = 1 << 16 if written == 1 else written
        self._size = size if size in _SIZES else _USUAL
        self._whole = whole
        self._logged = dict(self._frames(log))
        self.broken: set[int] = set()
        in_file = (len(whole) + self._size - 1) // self._size
        self.numbers = range(1, max([in_file, *self._logged]) + 1)

    def _frames(self, log: bytes) -> Iterator[tuple[int, bytes]]:
        """The pages of the log up to its last commit."""
        waiting: list[tuple[int, bytes]] = []
        step = 24 + self._size
        for start in range(32, len(log) - step + 1, step):
            if log[start + 8 : start + 16] != log[16:24]:
                return
            waiting.append((int.from_bytes(log[start : start + 4], "big"), log[start + 24 : start + step]))
            if any(log[start + 4 : start + 8]):
                yield from waiting
                waiting = []

    def _page(self, number: int) -> bytes:
        return self._logged.get(number) or self._whole[(number - 1) * self._size : number * self._size]

    def rows(self, number: int) -> Iterator[tuple[int, Record]]:
        """The rows of a page, if it is a leaf of a table; those that can be read."""
        page, start = self._page(number), 100 if number == 1 else 0
        if len(page) < self._size:
            self.broken.add(number)
        if len(page) < start + 8 or page[start] != _LEAF:
            return
        for cell in range(int.from_bytes(page[start + 3 : start + 5], "big")):
            at = start + 8 + 2 * cell
            try:
                yield self._row(page, int.from_bytes(page[at : at + 2], "big"))
            except _Broken:
                self.broken.add(number)

    def _row(self, page: bytes, at: int) -> tuple[int, Record]:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        room, least = self._size - 35, (self._size - 12) * 32 // 255 - 23
        if length <= room:
            return rowid, _record(page[at : at + length])
        local = least + (length - least) % (self._size - 4)
        local = local if local <= room else least
        following = int.from_bytes(page[at + local : at + local + 4], "big")
        return rowid, _record(page[at : at + local] + self._overflow(following, length - local))

    def _overflow(self, number: int, length: int) -> bytes:
        """The rest of a long row: a chain of pages, as far as it goes."""
        parts: list[bytes] = []
        seen: set[int] = set()
        while number and length > 0 and number not in seen:
            seen.add(number)
            page = self._page(number)
            parts.append(page[4 : 4 + length])
            length -= len(page) - 4
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        if at + place >= len(page):
            raise _Broken
        byte = page[at + place]
        if place == 8:
            return (value << 8) | byte, at + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + place + 1
    raise _Broken


def _record(payload: bytes) -> Record:
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: Record = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    return values


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[kind and kind - 7], at
    if kind in _INTEGERS:
        end = at + _INTEGERS[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind < 12:
        raise _Broken
    end = at + (kind - 12) // 2
    part = payload[at:end]
    # What a cut file has lost of a long text.
    missing = _TEXT_DAMAGED if len(part) < end - at else ""
    return (part.decode("utf-8", "replace") + missing if kind % 2 else part), end


@dataclass
class _Found:
    """Rows by their ids; the first of each."""

    scopes: dict[int, Scope] = field(default_factory=dict)
    sessions: dict[int, dict[str, Any]] = field(default_factory=dict)
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)
    damaged: set[int] = field(default_factory=set)

    def take(self, rowid: int, record: Record) -> None:
        """Keep the row if it is a scope's, a session's or a message's, as its columns show."""
        row = dict(zip(_columns(record), record, strict=False))
        if "position" in row:
            self.messages.setdefault(rowid, row)
        elif "settled" in row:
            self.sessions.setdefault(rowid, row)
        elif "epoch" in row and (name := _scope(row["key"])) is not None:
            self.scopes.setdefault(rowid, name)

    def exports(self) -> dict[Scope, list[str]]:
        """The lines of each scope, sessions in the order in which they came."""
        turns: dict[tuple[int, int], dict[int, list[tuple[int, Message]]]] = {}
        for rowid, row in sorted(self.messages.items()):
            held = turns.setdefault((row["scope_id"], row["session_id"]), {}).setdefault(row["turn"], [])
            held.append((row["position"], self._message(rowid, row)))
        lines: dict[Scope, list[str]] = {}
        for (scope_id, session_id), places in sorted(turns.items()):
            scope = self.scopes.get(scope_id, ("lost", str(scope_id)))
            kept = lines.setdefault(scope, [transfer.header(scope)])
            name = str((self.sessions.get(session_id) or {}).get("name") or f"lost {session_id}")
            closed = bool((self.sessions.get(session_id) or {}).get("closed"))
            whole = [
                Turn(tuple(message for _, message in sorted(said, key=lambda each: each[0])), name, place)
                for place, said in sorted(places.items())
            ]
            size = sum(len(turn.messages) for turn in whole)
            session = SessionRow(session_id, scope_id, name, len(whole), size, 0, 0, closed, 0)
            kept += transfer.session_lines(session, whole, [])
        return lines

    def _message(self, rowid: int, row: dict[str, Any]) -> Message:
        texts = [row[name] for name in ("text", "name", "role", "speaker") if row[name] is not None]
        try:
            at, about = datetime.fromisoformat(row["at"]), dict(json.loads(row["metadata"]))
            if any(_TEXT_DAMAGED in text for text in texts):
                self.damaged.add(rowid)
        except (ValueError, TypeError, RecursionError):
            at, about = _moment(row["at_us"]), {}
            self.damaged.add(rowid)
        return Message(row["text"], row["role"], row["speaker"], row["name"] or f"lost-{rowid}", at, about)


def _columns(record: Record) -> tuple[str, ...]:
    """The names of the columns, for the rows that are looked for."""
    for table in (messages, sessions, scopes):
        names = tuple(table.columns.keys())
        if len(names) != len(record):
            continue
        for place, column in enumerate(table.columns):
            wanted = str if isinstance(column.type, (Text, Verbatim)) else int
            fits = isinstance(record[place], wanted) or (record[place] is None and (column.nullable or not place))
            if not fits:
                break
            if isinstance(column.type, Verbatim):
                record[place] = _verbatim(record[place])
        else:
            return names
    return ()


def _verbatim(stored: str | None) -> str | None:
    try:
        return _VERBATIM.process_result_value(stored, None)  # type: ignore[arg-type]
    except ValueError:
        return stored


def _scope(key: str) -> Scope | None:
    try:
        read = json.loads(key)
    except (ValueError, RecursionError):
        return None
    return tuple(map(str, read)) if isinstance(read, list) and all(map(str, read)) and read else None


def _moment(microseconds: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return _EPOCH
