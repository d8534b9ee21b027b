"""What can still be read of a damaged SQLite file, as exports: page by page, without the tree that leads to them.

SQLite refuses a file that is cut short or overwritten, or stops at the first broken page. Turns are all in the leaves
of one table, so they are looked for in every page of the file and of its write-ahead log, which `dissect.database`
reads. (SQLite's own recovery is in no usual package for Python, and loses a table whose definition is damaged.)
Beside them are looked for what layers hold that nothing can make again, such as marks by hand and ends
(`Layer.tables_of_truth`). What is derived is not looked for: ``bank.storage.import_`` makes it again. Deleted rows are
not found, as the store overwrites them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Column, Table, Text

from ..conversation import Message, Scope, Turn
from ..errors import MissingExtra, StoreError
from ..layers import Layer, registered
from ..readers.fields import LARGEST_COUNT
from ..stores.places import file_at
from ..stores.rows import SessionRow
from ..stores.schema import ADDED, Verbatim, messages, scopes, sessions
from ..times import EPOCH
from . import export as transfer

_TEXT_DAMAGED: Final = "\ufffd"
_NULS: Final = re.compile("\0+")
_SIZES: Final = frozenset(1 << power for power in range(9, 16))
_USUAL: Final = 4096
_VERBATIM: Final = Verbatim()
Record = list[Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was found.

    Args:
        exports: the lines of an export a scope; one whose name is lost is called ``("lost", its number)``.
        messages: how many messages are in them.
        damaged: how many of these have lost a part: some of their text (U+FFFD stands for it), time or metadata.
    """

    exports: dict[Scope, list[str]]
    messages: int
    damaged: int


def salvage(path: str | Path) -> Salvaged:
    """Read all that is left of a store.

    Args:
        path: the damaged SQLite file; it is only read. Of an encrypted one nothing is found, with or without its key:
            put its latest backup in its place, or open it with its key and export the scopes that can be read.

    Raises:
        StoreError: the file cannot be opened.
        InvalidInput: it is a URL.
        MissingExtra: the library that reads pages is not installed.
    """
    file = file_at(path)
    try:
        whole = file.read_bytes()
        log = file.with_name(file.name + "-wal")
        pages = _Pages(whole, log.read_bytes() if log.exists() else b"")
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error}") from error
    found = _Found()
    for rowid, record in pages.rows():
        found.take(rowid, record)
    return Salvaged(found.exports(), len(found.messages), len(found.damaged))


def _library() -> tuple[Any, tuple[type[Exception], ...]]:
    """What reads pages, and what it raises at those that are not as the format has them."""
    try:
        from dissect.database.exception import Error
        from dissect.database.sqlite3 import sqlite3
    except ImportError as missing:
        raise MissingExtra("reading a damaged file", "salvage") from missing
    return sqlite3, (Error, EOFError, TypeError, ValueError, ArithmeticError, LookupError)


class _Pages:
    """The pages of a database, those in its log before those in the file."""

    def __init__(self, whole: bytes, log: bytes) -> None:
        self._library, self._stumbles = _library()
        written = int.from_bytes(whole[16:18], "big")
        size = written if written in _SIZES else _USUAL
        # The header is made anew, and no page is past the end, as what the file says of itself may be wrong.
        header = self._library.c_sqlite3.header(magic=self._library.SQLITE3_HEADER_MAGIC, page_size=size)
        self._database = self._library.SQLite3(BytesIO(header.dumps() + whole[100:]), self._log(log))
        self._database.page_count = 0
        self._stored, self._database.raw_page = self._database.raw_page, self._page
        self._read: set[int] = set()
        self._numbers = range(1, (len(whole) + len(log)) // size + 2)

    def _log(self, log: bytes) -> Any:
        with suppress(*self._stumbles):
            return self._library.WAL(BytesIO(log))

    def _page(self, number: int) -> bytes:
        """A page, once a row: a chain of pages ends where it leaves the file or comes back to itself."""
        page: bytes = b"" if number in self._read else self._stored(number)
        self._read.add(number)
        return page.ljust(4, b"\0")

    def rows(self) -> Iterator[tuple[int, Record]]:
        """The rows of all leaves of tables; those that can be read."""
        for number in self._numbers:
            self._read.clear()
            with suppress(*self._stumbles):
                page = self._database.page(number)
                is_leaf = page.header.flags == self._library.c_sqlite3.PAGE_TYPE_LEAF_TABLE
                for place in range(page.header.cell_count if is_leaf else 0):
                    yield from self._row(page, place)

    def _row(self, page: Any, place: int) -> Iterator[tuple[int, Record]]:
        self._read.clear()
        with suppress(*self._stumbles):
            cell = page.cell(place)
            _, values = self._library.read_record(_Row(cell.data), "utf-8")
            yield cell.key, [_read_as_text(each) for each in values]


def _read_as_text(value: Any) -> Any:
    """Bytes as text; what is none in it stands as U+FFFD, as do NULs: they are of a lost block, as none is written."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return _NULS.sub(_TEXT_DAMAGED, value) if isinstance(value, str) else value


class _Row(BytesIO):
    """A row that may have lost its end: what is missing of a text is read as bytes that are no text."""

    def read(self, size: int | None = -1, /) -> bytes:
        """As many bytes as are wanted, or some more than there are."""
        part = super().read(size)
        return part if size is None or size < 2 else part + b"\xff" * min(size - len(part), 8)


@dataclass
class _Found:
    """Rows by their ids; the first of each."""

    scopes: dict[int, Scope] = field(default_factory=dict)
    sessions: dict[int, dict[str, Any]] = field(default_factory=dict)
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)
    damaged: set[int] = field(default_factory=set)
    truths: dict[tuple[type[Layer], int], dict[str, Any]] = field(default_factory=dict)

    def take(self, rowid: int, record: Record) -> None:
        """Keep the row if it is a scope's, a session's or a message's, or a layer's truth, as its columns show."""
        row = _named(record)
        for layer in registered() if not row else ():
            if truth := _named(record, layer.tables_of_truth):
                self.truths.setdefault((layer, rowid), truth)
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
            places = turns.setdefault((row["scope_id"], row["session_id"]), {})
            places.setdefault(row["turn"], []).append((row["position"], self._message(rowid, row)))
        lines: dict[Scope, list[str]] = {}
        for (scope_id, session_id), places in sorted(turns.items()):
            scope = self.scopes.get(scope_id, ("lost", str(scope_id)))
            kept = lines.setdefault(scope, [transfer.header(scope)])
            row = self.sessions.get(session_id, {})
            name, closed = str(row.get("name") or f"lost {session_id}"), bool(row.get("closed"))
            whole = [
                Turn(tuple(message for _, message in sorted(found, key=lambda each: each[0])), name, place)
                for place, found in _numbered(places)
            ]
            size = sum(len(turn.messages) for turn in whole)
            session = SessionRow(session_id, scope_id, name, len(whole), size, 0, 0, closed, 0)
            kept += transfer.session_lines(session, whole, [])
        for scope_id, scope in self.scopes.items():
            lines.get(scope, []).extend(self._truths_of(scope_id))
        return lines

    def _truths_of(self, scope_id: int) -> Iterator[str]:
        """The lines of what layers hold of a scope that nothing can make again."""
        mine = [row for row in self.messages.values() if row["scope_id"] == scope_id]
        turns = {(row["session_id"], row["turn"]): row["name"] for row in mine if row["position"] == 0}
        held = {row["session_id"] for row in mine}
        sessions = {rowid: row["name"] for rowid, row in self.sessions.items() if rowid in held}
        for (layer, _), row in sorted(self.truths.items(), key=lambda each: each[0][1]):
            found = layer.salvaged(row, sessions, turns) if row["scope_id"] == scope_id else None
            if found is not None:
                yield json.dumps({"layer": layer.name, **found})

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


def _numbered(places: Mapping[int, T]) -> list[tuple[int, T]]:
    """By their places, in order; counted anew where one of them was damaged, and is none that a turn can have."""
    held = sorted(places.items())
    if held[0][0] >= 0 and held[-1][0] <= LARGEST_COUNT:
        return held
    return list(enumerate(each for _, each in held))


def _named(record: Record, tables: Sequence[Table] = (messages, sessions, scopes)) -> dict[str, Any]:
    """The row by the names of its columns, where it fits one of the tables that are looked for, today or once."""
    for table in tables:
        missing = len(table.columns) - len(record)
        row = (*record, *[None] * missing)
        if missing in (0, table.info.get(ADDED)) and all(map(_fits, table.columns, row)):
            return {column.name: _restored(column, value) for column, value in zip(table.columns, row, strict=True)}
    return {}


def _fits(column: Column[Any], value: Any) -> bool:
    wanted = str if isinstance(column.type, (Text, Verbatim)) else int
    # The number of a row stands outside of it.
    return isinstance(value, wanted) or (value is None and bool(column.nullable or column.primary_key))


def _restored(column: Column[Any], value: Any) -> Any:
    if not isinstance(column.type, Verbatim):
        return value
    text = _VERBATIM.process_result_value(value, None)  # type: ignore[arg-type]
    return value if text is None else text


def _scope(key: str) -> Scope | None:
    try:
        read = json.loads(key)
    except (ValueError, RecursionError):
        return None
    return tuple(map(str, read)) if isinstance(read, list) and all(map(str, read)) and read else None


def _moment(microseconds: int) -> datetime:
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return EPOCH
