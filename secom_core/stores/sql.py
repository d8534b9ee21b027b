"""The store over SQLAlchemy Core: raw turns first, what is derived after, each step one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from sqlalchemy import Connection, Engine, Float, Table, bindparam, cast, delete, func, insert, select

from ..conversation import Message, Scope, Turn
from ..telemetry import staged
from ..text.batches import batches
from .cipher import Cipher
from .database import retry_if_contended
from .derived import DerivedRows, memories_since, new_epoch, session_of, touch
from .driver import glance_in, run
from .endings import end, ending, open_sessions, resting_scopes
from .glances import CHANGED, LAST, LATEST_FIRST, SCOPE, SESSIONS, TURN_IDS, TURNS, TURNS_UNTIL
from .index_blocks import WithoutThem, delete_index
from .late_answers import grown
from .latest import named_at_once, session_named, turns_at_once, turns_from
from .messages import microseconds, new_rows, turn_ids_of, turns_of, unknown_messages
from .migrations import migrate
from .ownership import delete_of_scope, of_scope
from .rows import MOST, Appended, MemoryRow, ScopeRow, SessionRow, Touched, scope_key, session_row
from .schema import SCOPE_TABLES, is_one_of, memories, messages, part_states, scopes, sessions, vectors
from .shrinking import Shrunk, shrink
from .statements import count_turns_where, insert_row, is_unchanged, scopes_within
from .transactions import Begin
from .unsettled import RecentlyUnsettled, Unsettled

Also = Callable[[Connection, SessionRow, Touched], None]
_Forget = Callable[[Connection, int], None]
_Shrink = Callable[[Connection, SessionRow, set[int]], None]
_ADD_MESSAGES: Final = insert(messages)
_OF_SCOPE: Final = (
    select(sessions).join(scopes, scopes.c.id == sessions.c.scope_id).where(scopes.c.key == bindparam("key"))
)


class SqlStore(DerivedRows):
    """Turns and what is derived from them, in one database; see `Database` for its arguments.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
        SchemaTooNew: a later version of the package wrote it.
    """

    def __init__(
        self, engine: Engine, begin: Begin, cipher: Cipher | None = None, busy_timeout: float | None = None
    ) -> None:
        super().__init__(engine, begin, cipher, busy_timeout)
        self.recent = RecentlyUnsettled()
        """The ends of the sessions that this process derived last."""
        migrate(self)

    # -- raw turns ----------------------------------------------------------------------------------------------

    @staged("write")
    @retry_if_contended
    def append(
        self,
        scope: Scope,
        session: str,
        new: Sequence[Message],
        *,
        turns: Sequence[int] | None = None,
        close: bool = False,
        only_in: int | None = None,
        idle: timedelta | None = None,
        also: Sequence[Also] = (),
        answers: str | None = None,
        index: WithoutThem | None = None,
        ask: bool = False,
    ) -> Appended:
        """Commit messages, in order. Those whose id and words are known already are passed over.

        Args:
            scope: whose they are.
            session: the session's name; made if it is new, opened again if it was closed.
            new: messages with a time.
            turns: the turn index of each message, where it is known (an import); else replies join, others open.
            close: the session ends here.
            only_in: the scope's id as it was known; where the scope was forgotten since, nothing is written.
            idle: how long a silence ends a session; unless given, none ends by itself.
            also: what else writes in the transaction, given the connection, the session and what was touched.
            answers: the id of the turn that replies at the beginning join; the last one where the session lacks it.
            index: what of the scope's index may stay where messages join a turn that has settled; nothing of it does
                unless given.
            ask: raise where messages join a turn that has settled.

        Raises:
            DuplicateId: an id belongs to another message of the scope; nothing is written.
            JoinsSettled: ``ask`` is given, and a turn has settled; nothing is written.
        """
        ended: list[SessionRow] = []
        with self.transaction(scope=scope) as connection:
            known = _session(connection, scope, session)
            scope_id = known.scope_id if known is not None else scope_id_of(connection, scope)
            if only_in not in (None, scope_id):
                return Appended(0, (), 0)
            scope_id = scope_id or self.begin_scope(connection, scope_key(scope))
            row = known or _new_session(connection, scope_id, session)
            places = dict(zip(map(id, new), turns, strict=True)) if turns is not None else None
            fresh = unknown_messages(connection, scope_id, new)
            added = new_rows(connection, row, fresh, places, answers)
            rows = added.rows
            if rows:
                ended = ending(connection, row, rows[0]["at_us"], idle) if idle is not None else []
                end(connection, [each for each in ended if each.id != row.id])
                before = row.messages if row.id in {each.id for each in ended} else row.ended
                row = grown(connection, row, rows[0]["turn"], index, ask=ask)
                run(connection, _ADD_MESSAGES, *rows)
                touch(
                    connection,
                    row.id,
                    scope_id,
                    turns=max(row.turns, rows[-1]["turn"] + 1),
                    messages=row.messages + len(rows),
                    settled=row.settled,
                    closed=int(close),
                    ended=row.messages + len(rows) if close else before,
                )
            elif close and not row.closed:
                end(connection, [row])
            touched = added.turn_ids if len(rows) == len(new) else None
            if touched is None:
                touched = turn_ids_of(connection, scope_id, [m.id for m in new if m.id] + [r["name"] for r in rows])
            for write in also:
                write(connection, row, Touched(touched, added.places))
        if rows:
            self.recent.came(row.id, row.version)
        began = sum(each["position"] == 0 for each in rows)
        return Appended(row.id, touched, len(rows), tuple(each.name for each in ended), began)

    def turns(
        self, session: SessionRow, start: int = 0, *, last: int | None = None, end: int | None = None
    ) -> list[Turn]:
        """The session's turns from ``start`` on, to ``end`` at most, or else the ``last`` so many of them, in order."""
        statement, given = (TURNS, {}) if last is None else (LAST, {"last": last})
        if end is not None:
            statement, given = TURNS_UNTIL, {"end": end}
        return turns_at_once(self, session, start, statement, **given)

    def turn_ids(self, session: SessionRow, start: int = 0) -> list[str]:
        """The ids of the session's turns from ``start`` on, in any order."""
        return [name for (name,) in self.glance(TURN_IDS, session=session.id, start=start)]

    def unsettled(
        self, session_id: int, *, afresh: bool = False, ended: bool = False, known: Unsettled | None = None
    ) -> tuple[SessionRow, list[Turn], list[MemoryRow]] | None:
        """The session, its turns that are to be cut, and the memories that it has of them, as of one moment.

        Args:
            session_id: the session's id.
            afresh: all of its turns are, even where nothing is to be derived.
            ended: also where it lacks nothing but to be cut as a session that has ended.
            known: these as they were, so that only what has come since need be read.

        Returns:
            Nothing where it was forgotten; no turns and no memories where it is derived.
        """
        with self.transaction(write=False) as connection:
            row = session_of(connection, session_id)
            if row is None or (row.is_derived and not afresh and not (ended and row.awaits_cut)):
                return None if row is None else (row, [], [])
            if afresh or known is None or not known.was_before(row):
                since = 0 if afresh else row.settled
                return row, turns_from(connection, row, since), memories_since(connection, row.id, since)
            turns = known.grown(row, turns_from(connection, row, known.turns[-1].index))
            return row, turns or turns_from(connection, row, row.settled), list(known.rows)

    @retry_if_contended
    def close_session(self, scope: Scope, session: str) -> SessionRow | None:
        """Mark the session as closed; its last memories can settle."""
        with self.transaction(scope=scope) as connection:
            row = _session(connection, scope, session)
            if row is not None and not row.closed:
                end(connection, [row])
            return _session(connection, scope, session)

    def resting_scopes(self, at: datetime, idle: timedelta) -> Sequence[Scope]:
        """The scopes with open sessions in which nothing was said for longer than ``idle`` at a moment."""
        with self.transaction(write=False) as connection:
            return resting_scopes(connection, microseconds(at), idle)

    @retry_if_contended
    def end_resting(self, scope: Scope, at: datetime, idle: timedelta) -> tuple[str, ...]:
        """End the scope's sessions in which nothing was said for longer than ``idle`` at a moment; their names."""
        with self.transaction(scope=scope) as connection:
            scope_id = scope_id_of(connection, scope)
            found = open_sessions(connection, scope_id) if scope_id is not None else []
            resting = [each.row for each in found if each.rests(microseconds(at), idle)]
            end(connection, resting)
        return tuple(each.name for each in resting)

    def awaiting_cut(self, scope: Scope) -> list[SessionRow]:
        """The scope's sessions that have ended since they were last cut as such, in the order in which they came."""
        owed = _OF_SCOPE.where(sessions.c.cut < sessions.c.ended).order_by(sessions.c.id)
        with self.transaction(write=False) as connection:
            return [session_row(row) for row in connection.execute(owed, {"key": scope_key(scope)}).all()]

    # -- reading --------------------------------------------------------------------------------------------------

    def scope(self, scope: Scope) -> ScopeRow | None:
        """The scope's row, or nothing where nothing is remembered."""
        return next((ScopeRow(*row) for row in self.glance(SCOPE, key=scope_key(scope))), None)

    def scopes(self, within: Scope = (), *, most: int | None = None) -> list[Scope]:
        """The scopes that have anything, as `scopes_within` finds them."""
        return [scope for scope, _ in self.scopes_within(within, most)]

    def scopes_within(self, within: Scope, most: int | None = None) -> list[tuple[Scope, ScopeRow]]:
        """The scopes whose first parts are these, each as it is now, in the order in which they came.

        Args:
            within: the first parts.
            most: how many are read at most; all unless given.
        """
        with self.transaction(write=False) as connection:
            return scopes_within(connection, within, most)

    def sessions(self, scope_id: int, *, since: int = -1) -> list[SessionRow]:
        """The scope's sessions changed after revision ``since``, in the order in which they came."""
        statement, given = (CHANGED, {"since": since}) if since >= 0 else (SESSIONS, {})
        return [session_row(row) for row in self.glance(statement, scope=scope_id, **given)]

    def sessions_of(self, scope: Scope) -> list[SessionRow]:
        """The scope's sessions, in the order in which they came; none where nothing is remembered."""
        row = self.scope(scope)
        return self.sessions(row.id) if row is not None else []

    def latest_sessions(self, scope: Scope) -> list[SessionRow]:
        """The scope's sessions by the time of their last message, the latest first."""
        row = self.scope(scope)
        return [session_row(each) for each in self.glance(LATEST_FIRST, scope=row.id)] if row is not None else []

    def session_named(self, scope: Scope, name: str) -> SessionRow | None:
        """The scope's session of that name, or nothing where there is none."""
        found = named_at_once(self, scope, name)
        return found[0] if found is not None else None

    def counts(self, scope_id: int) -> dict[str, int]:
        """How many sessions, turns, messages, memories and vectors the scope has."""
        with self.transaction(write=False) as connection:
            rows = {
                table.name: connection.scalar(select(func.count()).where(of_scope(table, scope_id))) or 0
                for table in (sessions, messages, memories, vectors)
            }
            return {**rows, "turns": count_turns_where(connection, messages.c.scope_id == scope_id)}

    def has_rows(self, table: Table, scope_id: int) -> bool:
        """Whether a table, with a column of that name, has any row of the scope."""
        name = self._engine.dialect.identifier_preparer.format_table(table)
        return bool(self.glance(f"SELECT 1 FROM {name} WHERE scope_id = :scope LIMIT 1", scope=scope_id))  # noqa: S608

    def count_turns(self, scope_id: int) -> int:
        """How many turns the scope has had."""
        counted = func.sum(cast(sessions.c.turns, Float))
        statement = select(counted).where(sessions.c.scope_id == scope_id, sessions.c.turns.between(0, MOST))
        with self.transaction(write=False) as connection:
            return int(connection.scalar(statement) or 0)

    def count_underived(self) -> int:
        """How many sessions, of whatever scope, have messages that nothing is made of yet."""
        open_end = (sessions.c.closed == 1) & (sessions.c.settled != sessions.c.turns)
        waits = (sessions.c.derived != sessions.c.messages) | open_end
        with self.transaction(write=False) as connection:
            return connection.scalar(select(func.count()).select_from(sessions).where(waits)) or 0

    # -- forgetting -----------------------------------------------------------------------------------------------

    @retry_if_contended
    def forget_scope(self, scope: Scope, *, also: Sequence[_Forget] = (), only_empty: bool = False) -> int:
        """Delete everything of the scope, in one transaction.

        Args:
            scope: whose.
            also: what else deletes, first, given the connection and the scope's id.
            only_empty: only where it has no turn.

        Returns:
            How many turns there were.
        """
        with self.transaction(scope=scope) as connection:
            scope_id = scope_id_of(connection, scope)
            if scope_id is None:
                return 0
            turns = count_turns_where(connection, messages.c.scope_id == scope_id)
            if turns and only_empty:
                return 0
            for forget in also:
                forget(connection, scope_id)
            delete_index(connection, scope_id)
            delete_of_scope(connection, SCOPE_TABLES, scope_id)
        return turns

    def matching_turns(
        self, scope_id: int, *, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None
    ) -> dict[int, set[int]]:
        """The turns that meet every condition given, as turn indices by session id."""
        conditions = [messages.c.scope_id == scope_id]
        if session is not None:
            conditions.append(sessions.c.name == session)
        if before is not None:
            conditions += [messages.c.at_us < microseconds(before), messages.c.position == 0]
        statement = (
            select(messages.c.session_id, messages.c.turn)
            .join(sessions, sessions.c.id == messages.c.session_id)
            .where(*conditions)
        )
        found: dict[int, set[int]] = {}
        with self.transaction(write=False) as connection:
            for batch in [None] if turn_ids is None else batches(turn_ids):
                named = () if batch is None else (is_one_of(connection, messages.c.name, batch),)
                for session_id, turn in connection.execute(statement.where(*named)):
                    found.setdefault(session_id, set()).add(turn)
        return found

    def turns_named(self, scope: Scope, turn_ids: Sequence[str]) -> list[Turn]:
        """The turns with these ids, or with a message of these ids, in the order of their sessions."""
        row = self.scope(scope)
        places = self.matching_turns(row.id, session=None, turn_ids=turn_ids, before=None) if row is not None else {}
        found = self.turns_of(places)
        return [turn for session_id in sorted(found) for turn in found[session_id]]

    def all_turns(self, scope: Scope) -> list[Turn]:
        """Every turn of the scope, session after session in the order in which they came."""
        order = (messages.c.session_id, messages.c.turn, messages.c.position)
        with_names = select(messages, sessions.c.name.label("session")).join_from(messages, sessions).order_by(*order)
        with self.transaction(write=False) as connection:
            rows = connection.execute(with_names.where(messages.c.scope_id == scope_id_of(connection, scope))).all()
        return [turn for name, run in groupby(rows, key=lambda row: row.session) for turn in turns_of(run, name)]

    def turns_of(self, places: Mapping[int, Collection[int]]) -> dict[int, list[Turn]]:
        """The turns at these places, by the ids of their sessions."""
        found: dict[int, list[Turn]] = {}
        for session_id, indices in places.items():
            session = self.session(session_id)
            turns = self.turns(session, min(indices), end=max(indices)) if session is not None else []
            found[session_id] = [turn for turn in turns if turn.index in indices]
        return found

    @retry_if_contended
    def forget_turns(
        self,
        scope_id: int,
        without: Sequence[Shrunk],
        *,
        also: Callable[[Connection], Sequence[_Shrink]] = lambda _: (),
        index: WithoutThem | None = None,
    ) -> set[int]:
        """Delete turns of a scope together with all that was derived from them, in one transaction.

        Closed sessions are then to be taken in by every layer again, and every part learns its state anew.

        Args:
            scope_id: whose.
            without: the sessions that lose turns.
            also: gives what else deletes, given the connection, a session and the indices of its turns.
            index: what of the scope's index may stay; nothing of it does unless given.

        Returns:
            The ids of sessions that have changed meanwhile; where there are any, nothing was deleted.
        """
        with self.transaction(scope=scope_id) as connection:
            if changed := {each.session.id for each in without if not is_unchanged(connection, each.session)}:
                return changed
            layers = also(connection)
            for each in without:
                for forget in layers:
                    forget(connection, each.session, each.turns)
                shrink(connection, each)
            connection.execute(delete(part_states).where(part_states.c.scope_id == scope_id))
            new_epoch(connection, scope_id, index)
        return set()


def scope_id_of(connection: Connection, scope: Scope) -> int | None:
    """The id of the scope's row; nothing where nothing is remembered."""
    return next((row[0] for row in glance_in(connection, SCOPE, key=scope_key(scope))), None)


def _session(connection: Connection, scope: Scope, name: str) -> SessionRow | None:
    known = session_named(connection, scope, name)
    return known[0] if known is not None else None


def _new_session(connection: Connection, scope_id: int, name: str) -> SessionRow:
    made = insert_row(connection, sessions, scope_id=scope_id, name=name)
    return session_row(connection.execute(select(sessions).where(sessions.c.id == made)).one())
