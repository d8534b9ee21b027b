"""A bank into another database, a scope at a time; and a copy of a file while it is in use.

Everything of a scope goes, with every layer that was made from it. The numbers by which rows name each other are the
database's own, so they are given anew, and looked past where both sides are compared.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from sqlalchemy import Connection, Table, insert, select, update
from tqdm import tqdm

from .conversation import Scope
from .errors import InvalidInput, StoreError
from .stores.citations import RANKING
from .stores.schema import (
    citation_turns,
    citations,
    event_turns,
    events,
    learned,
    links,
    memories,
    messages,
    reflections,
    scopes,
    sessions,
    summaries,
    topic_note_turns,
    topic_notes,
    topic_versions,
    vectors,
)
from .stores.sql import SqlStore

__all__ = ["Fingerprint", "Moved", "back_up", "fingerprint", "move"]

_BATCH: Final = 500
# Each after those that its rows name.
_TABLES: Final[tuple[Table, ...]] = (
    scopes,
    sessions,
    messages,
    memories,
    vectors,
    reflections,
    events,
    event_turns,
    links,
    summaries,
    topic_notes,
    topic_note_turns,
    topic_versions,
    citations,
    citation_turns,
    learned,
)
_OWNERS: Final = {event_turns: events, links: events, topic_note_turns: topic_notes, citation_turns: citations}
# Nothing names a message by its number, so messages go in batches.
_NAMED: Final = frozenset(table for table in _TABLES if "id" in table.c) - {messages}
_LEARNERS: Final = (RANKING, "reranker")

_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a scope holds, told without its words.

    Args:
        counts: rows by table.
        checksum: of all of them, in order; equal in two databases where everything is equal.
    """

    counts: Mapping[str, int]
    checksum: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What `move` did.

    Args:
        scopes: how many went over now.
        known: how many were there already, the same.
        messages: how many messages went over now.
    """

    scopes: int
    known: int
    messages: int


def move(source: SqlStore, target: SqlStore, *, progress: bool = False) -> Moved:
    """Copy every scope with all its layers, each in one transaction, and compare what arrived with what was sent.

    A move that was cut short is called again: what is there already is compared and passed over. The source stays as
    it is; delete it when nobody writes to it any more.

    Args:
        source: where the scopes are.
        target: where they go; what else it holds stays.
        progress: show a bar.

    Raises:
        StoreError: a scope is in the target with something else in it, or did not arrive whole; nothing of it was
            written then, and the scopes before it are there.
    """
    if source.path is not None and source.path == target.path:
        raise InvalidInput(f"a bank cannot move into itself: {source.path!r}")
    done = [
        _move_scope(source, target, scope)
        for scope in tqdm(source.scopes(), desc="moving", unit="scope", disable=not progress)
    ]
    return Moved(
        sum(each.scopes for each in done), sum(each.known for each in done), sum(each.messages for each in done)
    )


def _move_scope(source: SqlStore, target: SqlStore, scope: Scope) -> Moved:
    with source.transaction(write=False) as reading, target.transaction(scope=scope) as writing:
        held, known = _scope_id(reading, scope), _scope_id(writing, scope)
        if held is None:
            # Forgotten since the move began.
            return Moved(0, 0, 0)
        sent = _fingerprint(reading, held)
        if known is not None:
            _check(scope, sent, _fingerprint(writing, known), "is in the target already, with something else in it")
            return Moved(0, 1, 0)
        _check(scope, sent, _fingerprint(writing, _copy(reading, held, writing)), "did not arrive as it was sent")
    return Moved(1, 0, sent.counts[messages.name])


def _check(scope: Scope, sent: Fingerprint, found: Fingerprint, what: str) -> None:
    if sent != found:
        differing = {
            name: (count, found.counts[name]) for name, count in sent.counts.items() if count != found.counts[name]
        }
        told = f"rows there and here: {differing}" if differing else "as many rows, but not the same"
        raise StoreError(f"the scope {scope!r} {what} ({told})")


def fingerprint(store: SqlStore, scope: Scope) -> Fingerprint | None:
    """What the scope holds; nothing where nothing is remembered in it."""
    with store.transaction(write=False) as connection:
        held = _scope_id(connection, scope)
        return _fingerprint(connection, held) if held is not None else None


def _scope_id(connection: Connection, scope: Scope) -> int | None:
    found: int | None = connection.scalar(select(scopes.c.id).where(scopes.c.key == json.dumps(list(scope))))
    return found


# -- rows by what they name -----------------------------------------------------------------------------------------


@dataclass
class _Numbers:
    """What the numbers of the source's rows are on the other side, by table."""

    known: dict[Table, dict[int, int]] = field(default_factory=lambda: {table: {} for table in _NAMED})

    def translated(self, table: Table, row: _Row) -> _Row:
        """The row with the numbers of the other side; one that names itself names 0."""
        for column in table.c:
            for foreign in column.foreign_keys:
                if row[column.name] is not None:
                    row[column.name] = self.known[foreign.column.table][row[column.name]]
        if table is topic_versions:
            row["topic"] = self.known[topic_versions].get(row["topic"], 0)
        if table is learned and row["part"].startswith(_LEARNERS):
            # What was learned is as old as an answer, which may have been forgotten since.
            row["turns"] = max((new for old, new in self.known[citations].items() if old <= row["turns"]), default=0)
        return row


def _rows(connection: Connection, scope_id: int, table: Table) -> Iterator[_Row]:
    condition = table.c.scope_id == scope_id if "scope_id" in table.c else None
    if table is scopes:
        condition = scopes.c.id == scope_id
    elif table in _OWNERS:
        owner = _OWNERS[table]
        of_scope = (
            owner.c.scope_id == scope_id if "scope_id" in owner.c else owner.c.session_id.in_(_sessions(scope_id))
        )
        first = next(iter(table.primary_key.columns))
        condition = first.in_(select(owner.c.id).where(of_scope))
    elif condition is None:
        condition = table.c.session_id.in_(_sessions(scope_id))
    statement = select(table).where(condition).order_by(*table.primary_key.columns)
    for row in connection.execute(statement.execution_options(yield_per=_BATCH)).mappings():
        yield dict(row)


def _sessions(scope_id: int) -> Any:
    return select(sessions.c.id).where(sessions.c.scope_id == scope_id)


def _fingerprint(connection: Connection, scope_id: int) -> Fingerprint:
    numbers, counts, sums = _Numbers(), {}, []
    for table in _TABLES:
        told: list[bytes] = []
        for place, row in enumerate(_rows(connection, scope_id, table), start=1):
            row = numbers.translated(table, row)
            number = row.pop("id", None)
            if table in _NAMED:
                numbers.known[table][number] = place
            told.append(_digest(row))
        counts[table.name] = len(told)
        # Texts sort differently in different databases; each row stands for itself.
        sums.append(hashlib.blake2b(b"".join(sorted(told)), digest_size=16).hexdigest())
    return Fingerprint(counts, hashlib.blake2b("".join(sums).encode(), digest_size=16).hexdigest())


def _digest(row: _Row) -> bytes:
    told = json.dumps({name: _plain(value) for name, value in row.items()}, sort_keys=True)
    return hashlib.blake2b(told.encode(), digest_size=16).digest()


def _plain(value: Any) -> Any:
    return hashlib.blake2b(value, digest_size=16).hexdigest() if isinstance(value, (bytes, memoryview)) else value


def _copy(reading: Connection, scope_id: int, writing: Connection) -> int:
    """Write the scope's rows; returns the number that it gets."""
    numbers = _Numbers()
    for table in _TABLES:
        put = _put_named if table in _NAMED else _put
        put(writing, table, _rows(reading, scope_id, table), numbers)
    return numbers.known[scopes][scope_id]


def _put_named(writing: Connection, table: Table, rows: Iterator[_Row], numbers: _Numbers) -> None:
    for row in rows:
        old = row.pop("id")
        made = writing.execute(insert(table).values(**numbers.translated(table, row)))
        new = numbers.known[table][old] = int(made.inserted_primary_key[0])  # type: ignore[index]
        if table is topic_versions and not row["topic"]:
            writing.execute(update(topic_versions).where(topic_versions.c.id == new).values(topic=new))


def _put(writing: Connection, table: Table, rows: Iterator[_Row], numbers: _Numbers) -> None:
    batch: list[_Row] = []
    for row in rows:
        row.pop("id", None)
        batch.append(numbers.translated(table, row))
        if len(batch) == _BATCH:
            writing.execute(insert(table), batch)
            batch = []
    if batch:
        writing.execute(insert(table), batch)


# -- a copy of the file ---------------------------------------------------------------------------------------------


def back_up(store: SqlStore, path: str | Path, *, told: Callable[[int, int], None] | None = None) -> Path:
    """Copy a bank in SQLite to a file as it is at one moment, while others go on writing.

    Args:
        store: the bank's store.
        path: the file; one that is there is replaced, once the copy is whole.
        told: called with the pages left and the pages in all.

    Returns:
        The file, absolute.

    Raises:
        InvalidInput: the bank is not in SQLite, or ``path`` is its own file.
        StoreError: the copy could not be made, or is damaged, as the bank is then too.
    """
    target = Path(path).expanduser().resolve()
    if store.engine.dialect.name != "sqlite":
        raise InvalidInput(f"the bank at {store.path} is a database of PostgreSQL; back it up with pg_dump")
    if store.path is not None and target == Path(store.path):
        raise InvalidInput(f"a backup cannot replace the bank itself: {str(target)!r}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as made:
        pass
    try:
        _copy_file(store, made.name, told)
        os.replace(made.name, target)
    except sqlite3.Error as error:
        raise StoreError(f"the store at {store.path} cannot be copied to {str(target)!r}: {error}") from error
    finally:
        for left in (made.name, f"{made.name}-wal", f"{made.name}-shm", f"{made.name}-journal"):
            Path(left).unlink(missing_ok=True)
    return target


def _copy_file(store: SqlStore, path: str, told: Callable[[int, int], None] | None) -> None:
    def progress(_status: int, left: int, pages: int) -> None:
        if told is not None:
            told(left, pages)

    with closing(sqlite3.connect(path)) as copy:
        with store.transaction(write=False) as connection:
            source: Any = connection.connection.driver_connection
            # In one step: a copy in several begins again whenever another process writes.
            source.backup(copy, pages=-1, progress=progress)
        found = [row[0] for row in copy.execute("PRAGMA quick_check")]
        # The copy stands alone, without a log beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
    if found != ["ok"]:
        raise StoreError(f"the store at {store.path} is damaged, and so is a copy of it: {found[0]}")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
