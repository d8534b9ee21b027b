"""A bank into another database, a scope at a time, compared on both sides.

Everything of a scope goes, with every layer that was made from it. The numbers by which rows name each other are the
database's own, so they are given anew, and looked past where both sides are compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, Table, insert, select, update

from ..conversation import Scope
from ..errors import InvalidInput, StoreError
from ..layers import registered
from ..stores.digests import digest
from ..stores.ownership import of_scope
from ..stores.schema import NAMES_ROW, SCOPE_TABLES, layer_progress, messages, part_states, scopes
from ..stores.sql import SqlStore, scope_id_of
from ..stores.statements import insert_row

_BATCH: Final = 500
_THERE: Final = "is in the target already, with something else in it"
_MERGE: Final = (
    ". This adds what the target lacks: an export of the scope (bank.storage.export, `secom export`), imported "
    "there. Or forget the scope in the target, and move again while nobody writes"
)

_Row = dict[str, Any]


Fingerprint = Mapping[str, tuple[int, str]]
"""For each table, how many rows a scope has in it, and a checksum: equal where everything is equal."""


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


def move(source: SqlStore, target: SqlStore, *, bar: Callable[[Sequence[Scope]], Iterable[Scope]] = iter) -> Moved:
    """Copy every scope with all its layers, each in one transaction, and compare what arrived with what was sent.

    A move that was cut short is called again: what is there already is compared and passed over. The source stays as
    it is; delete it when nobody writes to it any more.

    Args:
        source: where the scopes are.
        target: where they go; what else it holds stays.
        bar: gives the scopes back, one after the other, and shows how far it is.

    Raises:
        StoreError: a scope is in the target with something else in it, or did not arrive whole; nothing of it was
            written then, and the scopes before it are there.
    """
    if source.path is not None and source.path == target.path:
        raise InvalidInput(
            f"a bank cannot move into itself: {source.path!r}; open another file or database as the target"
        )
    done = [_move_scope(source, target, scope) for scope in bar(source.scopes())]
    return Moved(
        sum(each.scopes for each in done), sum(each.known for each in done), sum(each.messages for each in done)
    )


def _move_scope(source: SqlStore, target: SqlStore, scope: Scope) -> Moved:
    with source.transaction(write=False) as reading:
        here = scope_id_of(reading, scope)
        if here is None:
            # Forgotten since the move began.
            return Moved(0, 0, 0)
        # All of it is read before the target is opened, whose errors name the target: a damaged source is named here.
        sent = _fingerprint(reading, here)
        with target.transaction(scope=scope) as writing:
            there = scope_id_of(writing, scope)
            if there is not None:
                _check(scope, sent, _fingerprint(writing, there), _THERE, _MERGE)
                return Moved(0, 1, 0)
            _check(scope, sent, _fingerprint(writing, _copy(reading, here, writing)), "did not arrive as it was sent")
    return Moved(1, 0, sent[messages.name][0])


def _check(scope: Scope, sent: Fingerprint, found: Fingerprint, what: str, remedy: str = "") -> None:
    if sent != found:
        counts = {name: (count, found[name][0]) for name, (count, _) in sent.items() if count != found[name][0]}
        why = f"rows in the source and in the target: {counts}" if counts else "as many rows, but not the same"
        raise StoreError(f"the scope {scope!r} {what} ({why}){remedy}")


def fingerprint(store: SqlStore, scope: Scope) -> Fingerprint | None:
    """What the scope holds; nothing where nothing is remembered in it."""
    with store.transaction(write=False) as connection:
        scope_id = scope_id_of(connection, scope)
        return _fingerprint(connection, scope_id) if scope_id is not None else None


# -- rows by what they name -----------------------------------------------------------------------------------------


class _Numbers:
    """What the numbers of the source's rows are on the other side, by table, for tables whose rows are named by number.

    Nothing names a message so, and messages go in batches.
    """

    def __init__(self) -> None:
        self._layers = registered()
        of_layers = (table for layer in self._layers for table in layer.tables)
        # All tables, each after those that its rows name.
        self.tables: tuple[Table, ...] = (*SCOPE_TABLES[:-1], *of_layers, part_states)
        named = (table for table in self.tables if "id" in table.c and table is not messages)
        self.known: dict[Table, dict[int, int]] = {table: {} for table in named}

    def rows(self, connection: Connection, scope_id: int, table: Table) -> Iterator[tuple[int, _Row]]:
        """The scope's rows, each with its number and, in the row, the numbers of the other side."""
        statement = select(table).where(of_scope(table, scope_id)).order_by(*table.primary_key.columns)
        if table is layer_progress:
            # What a layer made that nobody knows here stays behind; it is made again.
            names = [name for layer in self._layers for name in layer.progress_names or (layer.name,)]
            statement = statement.where(layer_progress.c.layer.in_(names))
        for row in connection.execute(statement.execution_options(yield_per=_BATCH)).mappings():
            values = dict(row)
            yield values.pop("id", 0), self._translated(table, values)

    def _translated(self, table: Table, row: _Row) -> _Row:
        """The row with the numbers of the other side; one that names itself names 0."""
        for column in table.c:
            for foreign in column.foreign_keys:
                if row[column.name] is not None:
                    row[column.name] = self.known[foreign.column.table][row[column.name]]
            if NAMES_ROW in column.info:
                row[column.name] = self.known[table].get(row[column.name], 0)
        for layer in self._layers:
            row = layer.moved(table, row, self.known)
        return row


def _fingerprint(connection: Connection, scope_id: int) -> Fingerprint:
    numbers, found = _Numbers(), {}
    for table in numbers.tables:
        digests: list[str] = []
        for place, (number, row) in enumerate(numbers.rows(connection, scope_id, table), start=1):
            digests.append(digest(json.dumps(row, sort_keys=True, default=lambda data: bytes(data).hex())))
            if table in numbers.known:
                numbers.known[table][number] = place
        # Texts sort differently in different databases; each row stands for itself.
        found[table.name] = (len(digests), digest("".join(sorted(digests))))
    return found


def _copy(reading: Connection, scope_id: int, writing: Connection) -> int:
    """Write the scope's rows; returns the number that it gets."""
    numbers = _Numbers()
    for table in numbers.tables:
        rows = numbers.rows(reading, scope_id, table)
        if table in numbers.known:
            for number, row in rows:
                numbers.known[table][number] = _put(writing, table, row)
        while batch := [row for _, row in islice(rows, _BATCH)]:
            writing.execute(insert(table), batch)
    return numbers.known[scopes][scope_id]


def _put(writing: Connection, table: Table, row: _Row) -> int:
    """Write a row that others name; returns its number. Where it names itself, it gets that number too."""
    number = insert_row(writing, table, **row)
    own = [column.name for column in table.c if NAMES_ROW in column.info and not row[column.name]]
    if own:
        writing.execute(update(table).where(table.c.id == number).values(dict.fromkeys(own, number)))
    return number
