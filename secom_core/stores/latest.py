"""The turns of the sessions that are asked for again and again, so that only what has come since is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection

from ..conversation import Scope, Turn
from ..processes import ForkLock
from .database import Database
from .driver import glance_in
from .glances import LAST, NAMED, TURNS, MessageRow
from .messages import turns_of
from .rows import SessionRow, scope_key, session_row
from .schema import escaped

_CHARACTERS: Final = 4_000_000
"""How long the turns that are kept may be together."""


def session_named(connection: Connection, scope: Scope, name: str) -> tuple[SessionRow, int] | None:
    """The scope's session of that name and the scope's epoch, or nothing where there is none."""
    return _named(glance_in(connection, NAMED[connection.dialect.name], **_values(scope, name)))


def named_at_once(store: Database, scope: Scope, name: str) -> tuple[SessionRow, int] | None:
    """As `session_named`, in no transaction with anything else."""
    return _named(store.glance(NAMED[store.dialect], **_values(scope, name)))


def _values(scope: Scope, name: str) -> dict[str, str]:
    return {"key": scope_key(scope), "name": escaped(name)}


def _named(rows: Iterable[Sequence[Any]]) -> tuple[SessionRow, int] | None:
    return next(((session_row(row), row[-1]) for row in rows), None)


def turns_from(
    connection: Connection, session: SessionRow, start: int = 0, statement: str = TURNS, **given: int
) -> list[Turn]:
    """The session's turns from ``start`` on, in order."""
    rows = glance_in(connection, statement, session=session.id, start=start, **given)
    return turns_of(map(MessageRow._make, rows), session.name)


def turns_at_once(
    store: Database, session: SessionRow, start: int = 0, statement: str = TURNS, **given: int
) -> list[Turn]:
    """As `turns_from`, in no transaction with anything else."""
    rows = store.glance(statement, session=session.id, start=start, **given)
    return turns_of(map(MessageRow._make, rows), session.name)


@dataclass(frozen=True, slots=True)
class _Latest:
    """The last ``count`` turns of a session, as of so many messages of it and one epoch of its scope.

    Args:
        session: the session then.
        epoch: its scope's then.
        count: how many turns they are at most.
        turns: the turns.
        characters: how long they are together.
    """

    session: SessionRow
    epoch: int
    count: int
    turns: Sequence[Turn]
    characters: int

    def grown(
        self, session: SessionRow, epoch: int, count: int, read: Callable[[SessionRow, int], list[Turn]]
    ) -> _Latest | None:
        """As many with what has come since; nothing where something else may have changed.

        Args:
            session: the session now.
            epoch: its scope's now.
            count: how many are asked for.
            read: gives the session's turns from one on.
        """
        known = self.session
        if (known.id, self.epoch) != (session.id, epoch) or count > self.count:
            return None
        if known.messages == session.messages:
            # It was cut, at most, which leaves its words as they are.
            return self
        if not self.turns:
            return None
        *before, last = self.turns
        new = read(session, last.index)
        came = sum(len(turn.messages) for turn in new) - len(last.messages)
        if came != session.messages - known.messages:
            return None
        turns = [*before, *new]
        gone = [*turns[: -self.count], last]
        characters = self.characters + _characters(new) - _characters(gone)
        return _Latest(session, epoch, self.count, turns[-self.count :], characters)

    def last(self, count: int) -> list[Turn]:
        """So many of them."""
        return list(self.turns[-count:]) if count else []


class LatestTurns:
    """The latest turns, or all, of the sessions that this process was asked for last. Any thread may ask.

    Args:
        store: where they are read from, in one look at what has changed.
    """

    def __init__(self, store: Database) -> None:
        self._store, self._room = store, _CHARACTERS
        self._known: OrderedDict[tuple[Scope, str], _Latest] = OrderedDict()
        self._lock = ForkLock()

    def of(self, scope: Scope, session: SessionRow, epoch: int, count: int) -> list[Turn]:
        """The last ``count`` turns of a session, in order.

        Args:
            scope: whose session it is.
            session: the session as it was just read; if it is gone meanwhile, it has no turns.
            epoch: its scope's then.
            count: how many turns.
        """
        name = session.name
        known = self._known.get((scope, name))
        if known is not None:
            latest = known.grown(session, epoch, count, partial(turns_at_once, self._store))
            if latest is not None:
                return self._kept(scope, name, latest, known).last(count)
        with self._store.transaction(write=False) as connection:
            now = session_named(connection, scope, name)
            if now is None:
                return []
            latest = known.grown(*now, count, partial(turns_from, connection)) if known is not None else None
            if latest is None:
                turns = turns_from(connection, now[0], statement=LAST, last=count)
                latest = _Latest(*now, count, turns, _characters(turns))
        return self._kept(scope, name, latest, known).last(count)

    def _kept(self, scope: Scope, name: str, latest: _Latest, known: _Latest | None) -> _Latest:
        """Those that are kept from now on."""
        if latest is not known:
            self._keep(scope, name, latest)
        return latest

    def _keep(self, scope: Scope, name: str, latest: _Latest) -> None:
        with self._lock:
            self._let_go((scope, name))
            self._known[scope, name] = latest
            self._room -= latest.characters
            while self._room < 0:
                self._let_go(next(iter(self._known)))

    def _let_go(self, key: tuple[Scope, str]) -> None:
        if (gone := self._known.pop(key, None)) is not None:
            self._room += gone.characters

    def clear(self) -> None:
        """Keep none: something was forgotten, and its words are not to stay in memory."""
        with self._lock:
            self._known.clear()
            self._room = _CHARACTERS


def _characters(turns: Iterable[Turn]) -> int:
    return sum(len(message.text) for turn in turns for message in turn.messages)
