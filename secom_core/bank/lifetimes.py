"""Lifetimes: what has ended, or is more than a scope may hold, is forgotten before anything of the scope is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final

from sqlalchemy import Connection, Table

from ..conversation import Scope, check_scope
from ..corrections.store import corrections_of, marks
from ..errors import InvalidInput, StoreError, shorten, warn_degraded
from ..lifetimes import store as rows
from ..lifetimes.overflow import overflow
from ..lifetimes.records import Cap, Lifetime
from ..stores.rows import ScopeRow
from ..stores.sql import Also, SqlStore
from .checks import check_moment
from .standing import Standing

_TRIED: Final = 8
"""How often what is too much is looked for again, as others go on writing."""

Forget = Callable[[Scope, Sequence[str]], int]
"""Forgets turns of a scope by their ids; how many there were."""


class Lifetimes:
    """``bank.lifetimes``: when turns, sessions and scopes expire, and how much a scope may hold.

    What has ended is gone as by `MemoryBank.forget`, with everything that was made of it, and with what corrects it by
    hand, unless that has an end of its own: by the next call that reads or writes the scope, before it does, or by
    `end_expired` for all scopes. Where nothing has ended, a call costs one look into an index for it.

    Args:
        store: where turns are.
        standing: knows what is pinned.
        forget: forgets turns.
        forget_empty: forgets a scope that has no turn left.
        zone: in which an end without an offset is read.
    """

    def __init__(
        self,
        store: SqlStore,
        standing: Standing,
        forget: Forget,
        forget_empty: Callable[[Scope], object],
        zone: tzinfo | None = None,
    ) -> None:
        self._store, self._standing, self._forget, self._forget_empty = store, standing, forget, forget_empty
        self._zone = zone

    # -- set --------------------------------------------------------------------------------------------------------

    def set(
        self,
        scope: Sequence[str],
        expires: datetime | None,
        *,
        session: str | None = None,
        turn_ids: Sequence[str] | None = None,
    ) -> None:
        """Set when turns, a session or a whole scope expire.

        Args:
            scope: whose memory it is; nothing needs to be remembered there yet.
            expires: from when on it is gone; without an offset it is of the bank's ``timezone``, or of UTC. With
                ``None`` it has no end.
            session: only this session, with all that is said in it until then.
            turn_ids: only these turns.

        Raises:
            InvalidInput: there is no such session or turn, or both are given.
        """
        named, moment = check_scope(scope), check_expires(expires, self._zone)
        if isinstance(turn_ids, str) or not (session is None or turn_ids is None):
            raise InvalidInput(f"give a session, or a sequence of turn_ids, or neither, got {session!r}, {turn_ids!r}")

        def put(connection: Connection, scope_id: int) -> None:
            if turn_ids is not None:
                rows.put_turns(connection, scope_id, turn_ids, moment)
            elif session is not None:
                rows.put_session(connection, scope_id, session, moment)
            else:
                rows.put_scope(connection, scope_id, moment)

        rows.write(self._store, named, put)

    def cap(
        self,
        scope: Sequence[str],
        *,
        turns: int | None = None,
        bytes: int | None = None,
        age: timedelta | None = None,
    ) -> None:
        """Limit how much a scope may hold; without a number, remove the limit.

        What is too much goes, the oldest turn first, pinned ones and what corrects them last; what is too old goes,
        pinned or not. A turn that is larger than the cap by itself goes as soon as it has come. Up to a two-hundredth
        of the cap goes besides, unless it is pinned, so that not each turn after it makes another go.

        Args:
            scope: whose memory it is; nothing needs to be remembered there yet.
            turns: how many turns.
            bytes: how many bytes of UTF-8 the words of its messages may have.
            age: how long ago a turn may have begun, by the time of its first message. One that is dated more than a
                day ahead, or than this, counts as begun when the cap finds it: at once, and it has an end from then on.

        Raises:
            InvalidInput: for a number or a time that is not above 0.
        """
        named, cap = check_scope(scope), Cap(turns, bytes, age)
        rows.write(
            self._store,
            named,
            lambda connection, scope_id: rows.put_cap(connection, scope_id, cap if cap != Cap() else None),
        )

    def ending(self, expires: datetime | None) -> list[Also]:
        """What notes in the transaction that writes turns when they end; nothing where they have no end."""
        moment = check_expires(expires, self._zone)
        if moment is None:
            return []
        return [lambda connection, session, at: rows.put_turns(connection, session.scope_id, at.turn_ids, moment)]

    # -- look ---------------------------------------------------------------------------------------------------------

    def of(self, scope: Sequence[str]) -> tuple[list[Lifetime], Cap | None]:
        """When parts of the scope expire, the earliest first, and how much the scope may hold."""
        row = self._store.scope(self.current(check_scope(scope)))
        if row is None:
            return [], None
        with self._store.transaction(write=False) as connection:
            return list(rows.ends(connection, row.id)), rows.cap_of(connection, row.id)

    # -- end ----------------------------------------------------------------------------------------------------------

    def end_expired(self, now: datetime | None = None) -> int:
        """Delete everything that has expired, in every scope; call it from a scheduler.

        Args:
            now: the moment; the present unless given.

        Returns:
            How many turns are gone.

        Raises:
            StoreError: as `MemoryBank.forget` says.
        """
        moment = check_moment("now", now, self._zone)
        with self._store.transaction(write=False) as connection:
            keys = rows.due_scopes(connection, moment)
        return sum(self._end(tuple(json.loads(key)), moment) for key in keys)

    def current(self, scope: Scope) -> Scope:
        """The scope, after whatever of it has ended is forgotten.

        Raises:
            StoreError: it could not be.

        Warns:
            DegradedWarning: a vector store outside did not forget it yet; nothing of it is shown.
        """
        self.before_write(scope)
        return scope

    def current_within(self, within: Scope) -> None:
        """As `current`, for all scopes whose first parts are these."""
        with self._store.transaction(write=False) as connection:
            keys = rows.due_scopes(connection, datetime.now(timezone.utc))
        for scope in [tuple(json.loads(key)) for key in keys]:
            if scope[: len(within)] == within:
                self.current(scope)

    def row(self, scope: Scope) -> ScopeRow | None:
        """As `current`; the scope as it is stored, or nothing where nothing is remembered."""
        return self.seen(scope).row

    def seen(self, scope: Scope, *, session: str | None = None, tables: Sequence[Table] = ()) -> rows.Due:
        """As `current`; what is stored of the scope then, in the same look where nothing has ended.

        Args:
            scope: whose.
            session: the name of a session that is looked for.
            tables: tables of which is to be known whether they have rows of the scope.
        """
        due = self._due(scope, session, tables)
        return due if not due.now else self._due(self.current(scope), session, tables)

    def before_write(self, scope: Scope) -> bool:
        """As `current`; whether a write may make anything of the scope too much."""
        due = self._due(scope)
        if not due.now:
            return due.is_capped
        try:
            self._end(scope, datetime.now(timezone.utc))
        except StoreError as error:
            if self._due(scope).now:
                raise
            warn_degraded(
                "what has expired is deleted from the bank, but the external vector store still holds it", error
            )
        return True

    def after_write(self, scope: Scope, *, may_end: bool) -> None:
        """Forget what is too much now. The words are stored, so nothing is raised.

        Args:
            scope: what was written to.
            may_end: whether there may be anything (`before_write`).

        Warns:
            DegradedWarning: it failed; the next call that reads the scope does it.
        """
        try:
            if may_end:
                self.current(scope)
        except StoreError as error:
            warn_degraded("what has expired could not be deleted; the next call tries again before it reads", error)

    def _due(self, scope: Scope, session: str | None = None, tables: Sequence[Table] = ()) -> rows.Due:
        return rows.due(self._store, scope, datetime.now(timezone.utc), session=session, tables=tables)

    def _pinned(self, scope: Scope) -> Collection[str]:
        """The turns that are pinned, and what was put in the place of one."""
        row = self._store.scope(scope)
        if row is None or not (pinned := self._standing.pinned(row.id)):
            return ()
        with self._store.transaction(write=False) as connection:
            return corrections_of(marks(connection, row.id), pinned).union(pinned)

    def _end(self, scope: Scope, now: datetime) -> int:
        gone = 0
        with self._store.transaction(write=False) as connection:
            ended = rows.ending(connection, scope, now)
            newer = _corrections(connection, ended) if ended is not None else []
        if ended is not None:
            # While what they correct is there, it is known that they are to go.
            gone += self._forget(scope, newer) if newer else 0
            gone += self._forget(scope, ended.turn_ids) if ended.turn_ids else 0
            rows.settled(self._store, ended.scope_id, ended.rows)
            if ended.is_whole:
                self._forget_empty(scope)
        for _ in range(_TRIED):
            over = overflow(self._store, scope, now, self._pinned(scope))
            if not over:
                break
            gone += self._forget(scope, over)
        return gone


def _corrections(connection: Connection, ended: rows.Ending) -> list[str]:
    """What was put in the place of turns that have ended, but for what has an end of its own."""
    found = corrections_of(marks(connection, ended.scope_id), ended.turn_ids)
    return sorted(found - {each.turn_id for each in rows.ends(connection, ended.scope_id)}) if found else []


def check_expires(expires: datetime | None, zone: tzinfo | None) -> datetime | None:
    """The moment with an offset: that of the zone, or of UTC, where it has none.

    Raises:
        InvalidInput: it is none.
    """
    if expires is not None and not isinstance(expires, datetime):
        raise InvalidInput(f"expires is a datetime, or None, not {shorten(expires)}")
    return check_moment("expires", expires, zone) if expires is not None else None
