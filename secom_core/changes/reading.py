"""Links as they are read: which statement took the place of which, by the rules and as a language model says."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Table, and_, bindparam, select

from ..conversation import Scope
from ..stores.schema import is_one_of, messages
from ..stores.sound import sound_records, sound_rows
from ..stores.sql import SqlStore
from ..text.batches import batches
from .grounding import said_by_both
from .records import KINDS, SUPERSEDES, TOLD, UNRELATED, Change
from .tables import change_records, changes

_FOLLOWED: Final = 16
"""How many changes of changes are followed."""

_NEWER = messages.alias()
_OLDER_TEXT, _NEWER_TEXT = messages.alias(), messages.alias()


def _at(alias: Any, session_id: Any, turn: Any, place: Any = 0) -> Any:
    return and_(alias.c.session_id == session_id, alias.c.turn == turn, alias.c.position == place)


def _links_of(table: Table) -> tuple[Table, Select[Any], Select[Any]]:
    """A table of links, whether a scope has any, and what reads them with the names of their turns."""
    any_of = select(table.c.id).where(table.c.scope_id == bindparam("scope")).limit(1)
    named = (
        select(table, messages.c.name.label("older_name"), _NEWER.c.name.label("newer_name"), _NEWER.c.at.label("said"))
        .join(messages, _at(messages, table.c.older_session_id, table.c.older_turn))
        .join(_NEWER, _at(_NEWER, table.c.session_id, table.c.turn))
        .order_by(table.c.id)
    )
    return table, any_of, named


def _with_words(table: Table, any_of: Select[Any], named: Select[Any]) -> tuple[Table, Select[Any], Select[Any]]:
    """The same with the words of the two messages."""
    own = table.c
    older = _at(_OLDER_TEXT, own.older_session_id, own.older_turn, own.older_place)
    newer = _at(_NEWER_TEXT, own.session_id, own.turn, own.place)
    texts = _OLDER_TEXT.c.text.label("older_text"), _NEWER_TEXT.c.text.label("newer_text")
    return table, any_of, named.add_columns(*texts).outerjoin(_OLDER_TEXT, older).outerjoin(_NEWER_TEXT, newer)


_RULES: Final = _links_of(changes)
_RECORDS: Final = _with_words(*_links_of(change_records))


def links(
    connection: Connection, scope_id: int, turn_ids: Collection[str] | None = None, *, of: Any = messages.c.name
) -> list[Change]:
    """The links between turns of a scope, in the order in which they were found.

    Where a language model has said something of two turns that the rules have linked, what it said counts.

    Args:
        connection: a transaction.
        scope_id: the scope.
        turn_ids: the ids of older turns; all of the scope unless given.
        of: the column that holds the ids: that of the older turn, unless given.
    """
    by_rules = _read(connection, scope_id, _RULES, turn_ids, of)
    by_model = records(connection, scope_id, turn_ids, of=of)
    if not by_model:
        return by_rules
    told = {(each.older, each.newer) for each in by_model}
    found = [each for each in by_rules if (each.older, each.newer) not in told]
    found += [each for each in by_model if each.kind != UNRELATED]
    return sorted(found, key=lambda each: each.at)


def records(
    connection: Connection, scope_id: int, turn_ids: Collection[str] | None = None, *, of: Any = messages.c.name
) -> list[Change]:
    """What a language model has said of turns of a scope, what it holds to be unrelated too; see `links`.

    Each is checked once more against the words of its two messages.
    """
    return _read(connection, scope_id, _RECORDS, turn_ids, of)


def _read(
    connection: Connection,
    scope_id: int,
    source: tuple[Table, Select[Any], Select[Any]],
    turn_ids: Collection[str] | None,
    of: Any,
) -> list[Change]:
    table, any_of, named = source
    if connection.execute(any_of, {"scope": scope_id}).first() is None:
        return []
    asked = [None] if turn_ids is None else list(batches(sorted(turn_ids)))
    found: list[Change] = []
    for batch in asked:
        statement = named.where(table.c.scope_id == scope_id)
        if batch is not None:
            statement = statement.where(of.table.c.scope_id == scope_id, is_one_of(connection, of, batch))
        rows = sound_rows(connection, statement, table, scope_id)
        found += sound_records(connection, rows, _change, table, scope_id)
    return found


def changes_of(store: SqlStore, scope: Scope) -> list[Change]:
    """Every link of a scope; see `links`."""
    row = store.scope(scope)
    if row is None:
        return []
    with store.transaction(write=False) as connection:
        return links(connection, row.id)


def _change(row: Row[Any]) -> Change:
    known = row._mapping
    if row.kind not in KINDS and not ("attribute" in known and row.kind == UNRELATED):
        raise ValueError(f"a link's kind is one of {', '.join(sorted(KINDS))}, got {row.kind!r}")
    older, newer = (row.older_place, row.older_start, row.older_stop), (row.place, row.start, row.stop)
    more = {name: known[name] for name in TOLD if name in known}
    if more and not said_by_both(more, known["older_text"] or "", known["newer_text"] or ""):
        raise ValueError("the two messages do not say what a language model has said of them")
    at, by = datetime.fromisoformat(row.said), "model" if more else "rules"
    return Change(row.older_name, row.newer_name, at, row.kind, older, newer, by, **more)


def superseded(connection: Connection, scope_id: int, turn_ids: Collection[str]) -> list[Change]:
    """What of these turns holds no more, and of what took their place, and so on to what holds now."""
    known: set[str] = set()
    new, every = set(turn_ids), list[Change]()
    for _ in range(_FOLLOWED):
        if not new:
            break
        known |= new
        found = _superseding(connection, scope_id, new)
        every += found
        new = {each.newer for each in found} - known
    return every


def _superseding(connection: Connection, scope_id: int, turn_ids: Collection[str]) -> list[Change]:
    return [each for each in links(connection, scope_id, turn_ids) if each.kind in SUPERSEDES]


def taking_the_place(connection: Connection, scope_id: int, turn_ids: Collection[str]) -> list[Change]:
    """What these turns took the place of."""
    found = links(connection, scope_id, turn_ids, of=_NEWER.c.name) if turn_ids else []
    return [each for each in found if each.kind in SUPERSEDES]
