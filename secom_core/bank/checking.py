"""What is amiss in a bank beside the words themselves, and mending it: a list of checks, one function each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, tuple_, update
from sqlalchemy.sql.expression import literal_column

from ..changes.store import NAME as CHANGES
from ..conversation import Scope
from ..derived.progress import drop_progress, is_guess
from ..derived.space import has_direction
from ..derived.whole import agree
from ..errors import StoreError
from ..layers import Layer, registered
from ..stores.derived import STORED, grown, vector_of
from ..stores.last_ids import free_last_ids
from ..stores.ownership import is_foreign, is_orphan, of_scope, rests_on_scope
from ..stores.rows import ScopeRow, SessionRow, is_count, session_row
from ..stores.schema import (
    SCOPE_TABLES,
    dimensions_of,
    index_blocks,
    layer_progress,
    memories,
    messages,
    scopes,
    sessions,
    vectors,
)
from ..stores.sound import collected, is_sound
from ..stores.sql import SqlStore
from ..text.batches import batches
from .deriving import Deriving
from .index_checking import flaw
from .records import Finding

_WORDS: Final = (scopes, sessions, messages)
"""Tables of which no check deletes a row."""
_AGAIN: Final = "deleted, and made again from the turns"
_SAVED: Final = (
    "restore the last backup, or save what can be read, and take it into a new file: secom export for each scope, with "
    "--damaged where that fails, and secom import"
)


@dataclass(frozen=True)
class Checkup:
    """A bank that is looked through.

    Args:
        deriving: the bank's, which makes again what is deleted.
        scopes: the scopes that are looked through, with their rows.
        whole: whether they are all that there are.
        repair: mend what is found.
        unsound: the layers of which something was found, by scope, to be made again at the end.
    """

    deriving: Deriving
    scopes: Sequence[tuple[Scope, ScopeRow]]
    whole: bool
    repair: bool
    unsound: set[tuple[type[Layer], Scope, int]] = field(default_factory=set)

    @property
    def store(self) -> SqlStore:
        """The bank's store."""
        return self.deriving.store

    @cached_property
    def owners(self) -> dict[str, type[Layer]]:
        """The layer that each table belongs to, by the table's name."""
        return {table.name: layer for layer in registered() for table in layer.tables}

    @property
    def tables(self) -> list[Table]:
        """The tables whose rows are a scope's and can be made again, and those of every known layer."""
        own = [table for table in SCOPE_TABLES if table not in _WORDS]
        return [*own, *(table for layer in registered() for table in layer.tables)]

    def delete(self, table: Table, rows: Sequence[Any]) -> None:
        """Delete rows by their addresses, without a look at what rests on them: that is found after them."""
        with self.store.transaction(migrating=True) as connection:
            for batch in batches(rows):
                connection.execute(delete(table).where(tuple_(*address(connection, table)).in_(batch)))

    def amiss(self, table: Table, scope: Scope, row: ScopeRow, rows: Sequence[Any]) -> None:
        """Mend rows of a scope: those of a layer that is made of sessions are made again, others deleted."""
        layer = self.owners.get(table.name)
        if layer is not None:
            self.unsound.add((layer, scope, row.id))
        if self.repair and (layer is None or not layer.takes_in_sessions):
            self.delete(table, rows)


def check(checkup: Checkup) -> tuple[Finding, ...]:
    """Whatever the checks find, mended where that is wanted."""
    damage = list(file_is_whole(checkup))
    if damage:
        # What is written to such a file may take more of it along.
        checkup = replace(checkup, repair=False)
    if checkup.repair:
        free_last_ids(checkup.store, checkup.tables)
    found = damage.copy()
    for look in checkup.deriving.bar(CHECKS, "checking", unit="check"):
        # Of a damaged file, it is reported already that not all of it can be read.
        with suppress(*([StoreError] if damage else [])):
            found += look(checkup)
    if checkup.repair:
        for layer, _, scope_id in checkup.unsound:
            _begin_again(checkup, layer, scope_id)
        # What rested on rows that are gone now.
        found += [each for each in rows_have_owners(checkup) if each.table in checkup.owners]
        for scope in dict.fromkeys(scope for _, scope, _ in checkup.unsound):
            checkup.deriving.missing(scope)
    return tuple(replace(each, mended=checkup.repair and each.can_be_mended) for each in found)


def _begin_again(checkup: Checkup, layer: type[Layer], scope_id: int) -> None:
    with checkup.store.transaction(scope=scope_id, migrating=True) as connection:
        layer.mend(connection, scope_id)
        if layer.takes_in_sessions:
            drop_progress(connection, scope_id, layer.progress_names or (layer.name,))


def address(connection: Connection, table: Table) -> list[Any]:
    """What names a row whatever stands in it: SQLite's own number, or else the primary key, which is sound there."""
    return [literal_column("rowid")] if connection.dialect.name == "sqlite" else list(table.primary_key)


def _addresses(checkup: Checkup, table: Table, *conditions: ColumnElement[bool]) -> list[Any]:
    with checkup.store.transaction(write=False) as connection:
        statement = select(*address(connection, table)).where(*conditions)
        return [tuple(row) for row in connection.execute(statement)]


# -- the file ---------------------------------------------------------------------------------------------------------


def file_is_whole(checkup: Checkup) -> Iterator[Finding]:
    """SQLite's pages and indexes are whole."""
    wrong = checkup.store.integrity()
    if wrong:
        yield Finding(f"the file is damaged: {wrong[0]}", _SAVED, count=len(wrong), can_be_mended=False)


def log_is_empty(checkup: Checkup) -> Iterator[Finding]:
    """Nothing is left in SQLite's write-ahead log, where pages stand as they were before something was forgotten."""
    if checkup.whole and not checkup.store.empty_log():
        yield Finding(
            "the write-ahead log cannot be emptied, as another connection reads or the disk is full: forgotten words "
            "may be left in it",
            "make room where the disk is full, else end the other process, or its transaction, and check again",
            can_be_mended=False,
        )


# -- rows -------------------------------------------------------------------------------------------------------------


def rows_have_owners(checkup: Checkup) -> Iterator[Finding]:
    """Every row rests on rows that are there."""
    tables = [*reversed(checkup.tables), messages, sessions] if checkup.whole else []
    again = True
    while again:
        again = False
        for table in tables:
            rows = _addresses(checkup, table, is_orphan(table))
            if not rows:
                continue
            if table in _WORDS:
                remedy = "save them with: secom export --damaged"
                yield Finding(
                    "rows whose scope or session is gone", remedy, table.name, count=len(rows), can_be_mended=False
                )
                continue
            yield Finding("rows whose scope, session or row is gone", "deleted", table.name, count=len(rows))
            if checkup.repair:
                checkup.delete(table, rows)
                # What rested on them is an orphan now.
                again = True


def rows_are_of_one_scope(checkup: Checkup) -> Iterator[Finding]:
    """No row rests on rows of two scopes."""
    for scope, row in checkup.scopes:
        for table in checkup.tables:
            rows = _addresses(checkup, table, rests_on_scope(table, row.id), is_foreign(table))
            if rows:
                yield Finding("rows that belong to two scopes", _AGAIN, table.name, scope, count=len(rows))
                checkup.amiss(table, scope, row, rows)


def rows_are_records(checkup: Checkup) -> Iterator[Finding]:
    """Every value is of its column's kind."""
    for scope, row in checkup.scopes:
        for table in (each for each in checkup.tables if each is not vectors):
            with checkup.store.transaction(write=False) as connection:
                names = address(connection, table)
                statement = select(*names, *table.columns).where(of_scope(table, row.id))
                found = connection.execute(statement).all()
            unsound = [tuple(each[: len(names)]) for each in found if not is_sound(table, each[len(names) :])]
            if unsound:
                yield Finding("rows of values that are none", _AGAIN, table.name, scope, count=len(unsound))
                checkup.amiss(table, scope, row, unsound)


def layers_can_be_read(checkup: Checkup) -> Iterator[Finding]:
    """What layers keep is what they can read."""
    for scope, row in checkup.scopes:
        for layer in registered():
            with collected() as aside:
                for _ in layer.export(checkup.store, row.id):
                    pass
            for name, count in aside.items():
                yield Finding("rows that make no record", _AGAIN, name, scope, count=count)
            if aside:
                checkup.unsound.add((layer, scope, row.id))


# -- sessions ---------------------------------------------------------------------------------------------------------


def sessions_are_counted(checkup: Checkup) -> Iterator[Finding]:
    """Sessions have had as many turns and messages as they have, and layers have taken in no more of them."""
    for scope, row in checkup.scopes:
        counts = (func.count(), func.max(messages.c.turn) + 1)
        real = (
            select(messages.c.session_id, *counts).where(messages.c.scope_id == row.id).group_by(messages.c.session_id)
        )
        with checkup.store.transaction(write=False) as connection:
            held = {each[0]: tuple(each[1:]) for each in connection.execute(real)}
            noted = connection.execute(select(layer_progress).where(of_scope(layer_progress, row.id))).all()
            rows = connection.execute(
                select(sessions).where(sessions.c.scope_id == row.id).order_by(sessions.c.id)
            ).all()
            # Others may have written since the scope's row was read.
            revision = connection.scalar(select(scopes.c.revision).where(scopes.c.id == row.id))
        latest = revision if is_count(revision) else row.revision
        counts_of = {each.id: (each.messages, each.turns) for each in rows}
        ahead = {each.session_id for each in noted if _is_ahead(each, *counts_of.get(each.session_id, (None, None)))}
        for each in rows:
            count, turns = held.get(each.id, (0, 0))
            if not _is_counted(each, count, turns) or each.revision > latest or each.id in ahead:
                yield Finding("counts that cannot be those of its messages", "counted", "sessions", scope, each.name)
                if checkup.repair:
                    _count_again(checkup, scope, session_row(each), count, turns)


def _is_counted(row: Any, count: int, turns: int) -> bool:
    of_messages = (row.derived, row.ended, row.cut)
    counts = (row.turns, row.messages, row.settled, row.version, row.revision, *of_messages)
    sound = all(map(is_count, counts)) and row.messages >= count and row.turns >= turns
    return sound and max(of_messages) <= row.messages and row.settled <= row.turns


def _is_ahead(noted: Any, messages: Any, turns: Any) -> bool:
    """Whether a layer has taken in more of a session than there was; not where it counts how often it had to guess."""
    most = turns if noted.layer == CHANGES else messages
    return is_count(noted.messages) and is_count(most) and noted.messages > most and not is_guess(noted.layer)


def _count_again(checkup: Checkup, scope: Scope, row: SessionRow, count: int, turns: int) -> None:
    held = max(row.messages, count)
    values = {"messages": held, "turns": max(row.turns, turns), "derived": 0, "settled": 0, "cut": 0}
    values["ended"] = held if row.closed else row.ended
    with checkup.store.transaction(scope=scope) as connection:
        revision = select(scopes.c.revision).where(scopes.c.id == row.scope_id).scalar_subquery()
        mine = sessions.c.id == row.id
        connection.execute(
            update(sessions).where(mine).values(version=grown(sessions.c.version), revision=revision, **values)
        )
        mine = layer_progress.c.session_id == row.id
        for noted in connection.execute(select(layer_progress).where(mine)).all():
            if _is_ahead(noted, held, values["turns"]):
                connection.execute(delete(layer_progress).where(mine, layer_progress.c.layer == noted.layer))
    checkup.deriving.session(scope, row.id, afresh=True)


def memories_agree(checkup: Checkup) -> Iterator[Finding]:
    """Every turn of a session is in one memory, which was made of its words."""
    for scope, row in checkup.scopes:
        for each in checkup.store.sessions(row.id):
            try:
                agrees = _agrees(checkup.store, each)
            except StoreError as error:
                yield Finding(str(error), _SAVED, "messages", scope, each.name, can_be_mended=False)
                continue
            if not agrees:
                what = "memories with holes, overlaps, or of other words than its turns"
                yield Finding(what, _AGAIN, memories.name, scope, each.name)
                if checkup.repair:
                    checkup.deriving.session(scope, each.id, afresh=True)


def _agrees(store: SqlStore, session: SessionRow) -> bool:
    """Whether the memories of a session are those of its turns, looked at once more where others write meanwhile."""
    while True:
        turns = store.turns(session)
        with collected():
            rows = store.memories(session.id)
        if not session.is_derived or agree(rows, turns):
            return True
        now = store.session(session.id)
        if now is None or now.version == session.version:
            return now is None
        session = now


def vectors_fit(checkup: Checkup) -> Iterator[Finding]:
    """Vectors have as many numbers as their space has dimensions, all finite, and length 1."""
    for scope, row in checkup.scopes:
        for each in checkup.store.sessions(row.id):
            with checkup.store.transaction(write=False) as connection:
                names = address(connection, vectors)
                statement = select(*names, vectors.c.space, STORED, vectors.c.digest)
                found = connection.execute(statement.where(vectors.c.session_id == each.id)).all()
            unfit = [tuple(one[: len(names)]) for one in found if not _fits(one[len(names) :])]
            if unfit:
                what = "vectors of another width, of no finite numbers, or not of length 1"
                yield Finding(what, _AGAIN, vectors.name, scope, each.name, len(unfit))
                if checkup.repair:
                    checkup.delete(vectors, unfit)


def _fits(stored: Sequence[object]) -> bool:
    space, data, digest = stored
    row = vector_of(data)
    return isinstance(digest, str) and len(row) == dimensions_of(space) and has_direction(row)


def index_agrees(checkup: Checkup) -> Iterator[Finding]:
    """The search index that is kept with the bank is whole, and that of the turns."""
    for scope, row in checkup.scopes:
        try:
            wrong = flaw(checkup.store, row)
        except StoreError:
            continue  # of turns that cannot be read, another check speaks
        if wrong is not None:
            yield Finding(wrong, "deleted, and made again by a recall", index_blocks.name, scope)
            if checkup.repair:
                checkup.store.drop_index(row.id)


CHECKS: Final[tuple[Callable[[Checkup], Iterator[Finding]], ...]] = (
    rows_have_owners,
    rows_are_of_one_scope,
    rows_are_records,
    layers_can_be_read,
    sessions_are_counted,
    memories_agree,
    vectors_fit,
    index_agrees,
    log_is_empty,
)
"""In this order: what one mends, those after it need not look at. What is kept with a bank has its check here."""
