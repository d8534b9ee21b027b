"""Statements and links in the store: each new turn is compared with the few earlier ones that share a head word."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, insert, or_, select, tuple_

from ..conversation import NO_PEOPLE, Message, Scope, Turn
from ..derived.progress import drop_progress, note
from ..stores.database import retry_if_contended
from ..stores.messages import turns_of
from ..stores.rows import SessionRow
from ..stores.schema import layer_progress, messages, sessions
from ..stores.sql import SqlStore
from ..stores.statements import is_unchanged
from ..text.batches import batches
from .linking import Link, links_of
from .records import Said
from .repairs import TURNS, refers_back, repair_of
from .slots import SLOT
from .statements import Statement, statements_of
from .tables import changes, statement_heads

NAME: Final = "changes"
_SEEN, _COMPARED = 24, 48
"""How many earlier turns that hold a head word are looked at, the newest; and with how many a turn is compared."""
_LATEST: Final = 8
"""How many sessions are looked at for one that was read too early: those that were written to last."""


@retry_if_contended
def follow(
    store: SqlStore, row: SessionRow, *, afresh: bool = False, stands_since: Mapping[str, datetime] | None = None
) -> bool:
    """Read what a session's new turns state, and link it to what was said before.

    Args:
        store: where turns are.
        row: the session.
        afresh: read all of it again.
        stands_since: for turns that say what an earlier one should have said, by their ids, when that was said: what
            was said after it changes them too.

    Returns:
        Whether it was written: not where the session has changed meanwhile, or has nothing new.
    """
    with store.transaction(write=False) as connection:
        taken = 0 if afresh else _taken(connection, row.id)
    if taken >= row.turns:
        return False
    turns = store.turns(row, taken)
    read = [(turn, list(said_in(row.id, turn))) for turn in turns]
    with store.transaction(durable=False, scope=row.scope_id) as connection:
        if not is_unchanged(connection, row) or (not afresh and _taken(connection, row.id) != taken):
            return False
        if not taken:
            _forget_session(connection, row.id)
        is_late = _later_ones_are_read(connection, row)
        for turn, said in read:
            since = (stands_since or {}).get(turn.id)
            _link(connection, row, turn, said, since)
            if is_late or since is not None:
                _link_later_ones(connection, row, turn, said, since)
            _keep(connection, row, turn, said)
        note(connection, row.id, NAME, row.turns)
    return True


@retry_if_contended
def begin_again(store: SqlStore, scope: Scope) -> None:
    """Delete what was read of a scope; it is read again session by session."""
    row = store.scope(scope)
    if row is not None:
        with store.transaction(durable=False, scope=row.id) as connection:
            drop_all(connection, row.id)


def _taken(connection: Connection, session_id: int) -> int:
    mine = and_(layer_progress.c.session_id == session_id, layer_progress.c.layer == NAME)
    found = connection.scalar(select(layer_progress.c.messages).where(mine))
    return found if isinstance(found, int) else 0


def _later_ones_are_read(connection: Connection, row: SessionRow) -> bool:
    """Whether a session that began after this one was read before it, as where several are derived at once."""
    of_scope = select(sessions.c.id).where(sessions.c.scope_id == row.scope_id)
    # Those that were written to last are found by an index, however many the scope has.
    latest = connection.scalars(of_scope.order_by(sessions.c.revision.desc()).limit(_LATEST)).all()
    began_later = layer_progress.c.session_id.in_([each for each in latest if each > row.id])
    later = select(layer_progress.c.session_id).where(began_later, layer_progress.c.layer == NAME).limit(1)
    return connection.execute(later).first() is not None


def said_in(session_id: int, turn: Turn) -> Iterator[Said]:
    """What the messages of a turn state that are no assistant's or tool's."""
    for place, message in enumerate(turn.messages):
        if message.role not in NO_PEOPLE:
            for each in statements_of(message.text):
                yield Said(session_id, turn.index, place, who_of(message), each)


def who_of(message: Message) -> str:
    """Who said a message; empty where nobody is named, as for the user of an assistant."""
    return message.speaker or ""


def _keep(connection: Connection, row: SessionRow, turn: Turn, said: Sequence[Said]) -> None:
    heads = sorted({_number(head) for each in said for head in found_by(each.statement)})
    values = {"scope_id": row.scope_id, "session_id": row.id, "turn": turn.index}
    if heads:
        connection.execute(insert(statement_heads), [{**values, "head": head} for head in heads])


def found_by(statement: Statement) -> Iterator[str]:
    """What a statement is found by: its head words, and what it says of what somebody has one of, or is."""
    yield from (head for head, weight in statement.heads.items() if weight == 1)
    yield from (value.sort for value in statement.values if value.sort.startswith(SLOT))
    yield from (f"state:{name}" for name, _ in statement.states)


def _tells_of_others(statement: Statement) -> bool:
    """Whether a statement may say what has become of an earlier one."""
    has_slot = any(value.sort.startswith(SLOT) for value in statement.values)
    return bool(statement.cues or statement.denied or statement.states or statement.is_resumed or has_slot)


def _number(head: str) -> int:
    """A number for a head word, of 52 bits."""
    return int.from_bytes(hashlib.blake2b(head.encode(), digest_size=8).digest(), "big") >> 12


def _link(
    connection: Connection, row: SessionRow, turn: Turn, said: Sequence[Said], since: datetime | None = None
) -> None:
    telling = [each for each in said if _tells_of_others(each.statement)]
    # What was said before it in its session is another correction.
    repairs = _repairs(connection, row, turn, said) if since is None else []
    for each, earlier, link in repairs:
        connection.execute(insert(changes).values(**_values(row.scope_id, earlier, each, link)))
    telling = [each for each in telling if not any(each is one for one, _, _ in repairs)]
    if not telling:
        return
    older, weights = _near(connection, row, telling, since or when_of(turn))
    # A message may take back what it said itself; whatever else it holds stands beside the other.
    for each in telling:
        near = [one for one in older if _may_speak_of(each, one)]
        found = links_of([each.statement], [one.statement for one in near], lambda head: weights.get(head, 1.0))
        for link in found:
            earlier = next(one for one in near if one.statement is link.older)
            connection.execute(insert(changes).values(**_values(row.scope_id, earlier, each, link)))


def _repairs(
    connection: Connection, row: SessionRow, turn: Turn, said: Sequence[Said]
) -> list[tuple[Said, Said, Link]]:
    """What of a turn takes back or changes what the same person said just before, with that."""
    repairing = [each for each in said if refers_back(each.statement)]
    if not repairing:
        return []
    places = [(row.id, each) for each in range(turn.index - 1, max(-1, turn.index - 1 - TURNS), -1)]
    before = sorted(turns_at(connection, row.scope_id, places), key=lambda pair: -pair[1].index)
    stated = [list(said_in(session, each)) for session, each in before]
    found: list[tuple[Said, Said, Link]] = []
    for each in repairing:
        near = [[one for one in of_turn if one.who == each.who] for of_turn in stated]
        link = repair_of(each.statement, [[one.statement for one in of_turn] for of_turn in near])
        if link is not None:
            found.append((each, next(one for of_turn in near for one in of_turn if one.statement is link.older), link))
    return found


def _link_later_ones(
    connection: Connection, row: SessionRow, turn: Turn, said: Sequence[Said], since: datetime | None
) -> None:
    """What was said after a turn and was read before it, of what the turn states."""
    later, weights = _near(connection, row, said, since or when_of(turn), after=True)
    for each in later:
        near = [one for one in said if _may_speak_of(each, one)]
        for link in links_of([each.statement], [one.statement for one in near], lambda head: weights.get(head, 1.0)):
            earlier = next(one for one in near if one.statement is link.older)
            values = _values(row.scope_id, earlier, each, link)
            known = [changes.c[name] == value for name, value in values.items() if name != "kind"]
            if connection.execute(select(changes.c.id).where(*known).limit(1)).first() is None:
                connection.execute(insert(changes).values(**values))


def _near(
    connection: Connection, row: SessionRow, said: Sequence[Said], now: datetime, *, after: bool = False
) -> tuple[list[Said], dict[str, float]]:
    """What shares most with statements of a turn and was said before it, or after it; and what head words weigh."""
    heads = sorted({head for each in said for head in (*each.statement.heads, *found_by(each.statement))})
    places_of = {head: seen(connection, row.scope_id, head) for head in heads}
    weights = {head: weight_of(len(places)) for head, places in places_of.items()}
    return _sharing(connection, row, places_of, now, after=after), weights


def seen(connection: Connection, scope_id: int, head: str) -> list[tuple[int, int]]:
    """The newest turns that hold a head word."""
    mine = and_(statement_heads.c.scope_id == scope_id, statement_heads.c.head == _number(head))
    found = select(statement_heads.c.session_id, statement_heads.c.turn).where(mine)
    newest = connection.execute(found.order_by(statement_heads.c.id.desc()).limit(_SEEN)).all()
    return [(each.session_id, each.turn) for each in newest]


def weight_of(times: int) -> float:
    """What a head word weighs that so many of the newest turns hold."""
    return 1.0 if times <= _SEEN // 3 else 0.5 if times < _SEEN else 0.25


def _sharing(
    connection: Connection, row: SessionRow, found: dict[str, list[tuple[int, int]]], now: datetime, *, after: bool
) -> list[Said]:
    """What was stated in the earlier, or the later, turns that share most, the newest first."""
    shared: dict[tuple[int, int], int] = {}
    for places in found.values():
        for place in places:
            shared[place] = shared.get(place, 0) + 1
    best = sorted(shared, key=lambda place: -shared[place])[:_COMPARED]
    there = [
        (session, each)
        for session, each in turns_at(connection, row.scope_id, best)
        if ((when_of(each), session) > (now, row.id) if after else when_of(each) <= now)
    ]
    there.sort(key=lambda pair: (when_of(pair[1]), pair[0], pair[1].index), reverse=True)
    return [said for session, each in there for said in said_in(session, each)]


def turns_at(connection: Connection, scope_id: int, places: Collection[tuple[int, int]]) -> list[tuple[int, Turn]]:
    """The turns at places: of each the id of its session and its index there."""
    # SQLite finds pairs in no index, and their parts in one; of few pairs, few others have these parts.
    rows = (
        row
        for batch in batches(sorted(places), _COMPARED)
        for row in connection.execute(
            select(messages)
            .where(
                messages.c.session_id.in_({session for session, _ in batch}),
                messages.c.turn.in_({turn for _, turn in batch}),
                tuple_(messages.c.session_id, messages.c.turn).in_(batch),
            )
            .order_by(messages.c.session_id, messages.c.turn, messages.c.position)
        )
        if row.scope_id == scope_id
    )
    by_session: dict[int, list[Row[Any]]] = {}
    for row in rows:
        by_session.setdefault(row.session_id, []).append(row)
    return [(session, each) for session, found in by_session.items() for each in turns_of(found, "")]


def when_of(turn: Turn) -> datetime:
    """When a turn was said; before all others where nobody knows."""
    return turn.at or datetime.min


def _may_speak_of(newer: Said, older: Said) -> bool:
    """Whether one may speak of what the other said: who speaks of oneself is followed by oneself."""
    return newer.who == older.who or not (newer.statement.is_mine or older.statement.is_mine)


def _values(scope_id: int, older: Said, newer: Said, link: Link) -> dict[str, Any]:
    return {
        "scope_id": scope_id,
        "session_id": newer.session_id,
        "turn": newer.turn,
        "place": newer.place,
        "start": newer.statement.start,
        "stop": newer.statement.stop,
        "older_session_id": older.session_id,
        "older_turn": older.turn,
        "older_place": older.place,
        "older_start": older.statement.start,
        "older_stop": older.statement.stop,
        "kind": link.kind,
    }


# -- forgetting --------------------------------------------------------------------------------------------------------


def _forget_session(connection: Connection, session_id: int) -> None:
    connection.execute(delete(statement_heads).where(statement_heads.c.session_id == session_id))
    connection.execute(delete(changes).where(changes.c.session_id == session_id))


def forget_turns(connection: Connection, session_id: int, turns: Collection[int]) -> None:
    """Delete what was read of turns, and the links from and to them.

    Sessions that told what became of one of them are read again when they are next derived, as by `MemoryBank.derive`:
    it may have become of what was said before it.
    """
    again = set[tuple[int, int]]()
    for batch in batches(sorted(turns)):
        mine = and_(statement_heads.c.session_id == session_id, statement_heads.c.turn.in_(batch))
        connection.execute(delete(statement_heads).where(mine))
        newer = and_(changes.c.session_id == session_id, changes.c.turn.in_(batch))
        older = and_(changes.c.older_session_id == session_id, changes.c.older_turn.in_(batch))
        between = select(changes.c.id).where(newer).limit(1)
        if connection.execute(between).first() is not None:
            told = select(changes.c.scope_id, changes.c.session_id).where(older)
            again.update((each.scope_id, each.session_id) for each in connection.execute(told))
        connection.execute(delete(changes).where(or_(newer, older)))
    for scope_id, session in sorted(again):
        drop_progress(connection, scope_id, [NAME], session_ids=[session])


def drop_all(connection: Connection, scope_id: int) -> None:
    """Delete everything of a scope: it is read again from the turns."""
    for table in (changes, statement_heads):
        connection.execute(delete(table).where(table.c.scope_id == scope_id))
    drop_progress(connection, scope_id, [NAME])
