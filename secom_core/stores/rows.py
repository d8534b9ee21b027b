"""Rows of the store, as values, and the names under which they are stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..conversation import Scope

MOST: Final = 2**53
"""What no count of a row reaches: one more can be counted in any database."""


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope as stored: a new ``epoch`` means load afresh, a new ``revision`` means catch up."""

    id: int
    revision: int
    epoch: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as stored.

    Args:
        turns: the index that the next turn gets.
        messages: how many messages it has taken in; ``derived`` of them are in its memories.
        settled: the turn from which on memories may still change.
        version: grows with every change; a derivation made from an older one is thrown away.
        ended: how many messages it had when it last ended; it may have gone on since.
        cut: how many it had when a segmenter last cut it as a session that has ended.
        cut_by: the name of the segmenter whose cuts it has; nothing while some of them are provisional.
    """

    id: int
    scope_id: int
    name: str
    turns: int
    messages: int
    derived: int
    settled: int
    closed: bool
    version: int
    ended: int = 0
    cut: int = 0
    cut_by: str | None = None

    @property
    def is_derived(self) -> bool:
        """Whether its memories hold all its messages."""
        return self.derived == self.messages and (not self.closed or self.settled == self.turns)

    @property
    def awaits_cut(self) -> bool:
        """Whether it has ended since it was last cut as a session that has."""
        return self.cut < self.ended

    @property
    def is_provisional(self) -> bool:
        """Whether it has all its memories, and a segmenter that waits for the end of sessions is still to cut it."""
        return self.derived == self.messages and self.awaits_cut and self.cut_by is None


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as stored: the turns ``[start, stop)``, its key, and a digest of the value it was made from."""

    start: int
    stop: int
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of `SqlStore.append`.

    Args:
        session_id: the session's id.
        turn_ids: the turns touched.
        new: how many messages were new.
        ended: the names of the sessions that ended because of it.
        turns: how many turns began.
    """

    session_id: int
    turn_ids: tuple[str, ...]
    new: int
    ended: tuple[str, ...] = ()
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Touched:
    """What `SqlStore.append` has written to, for what else writes in the transaction.

    Args:
        turn_ids: the ids of the turns.
        places: turns of the session by the ids of messages in them: of all new messages, and of some others.
    """

    turn_ids: Sequence[str]
    places: Mapping[str, int]


def scope_key(scope: Scope) -> str:
    """The text under which a scope is stored; no two scopes share it."""
    return json.dumps(list(scope))


def is_count(value: object) -> bool:
    """Whether it is a whole number from 0 on that can be counted up."""
    return type(value) is int and 0 <= value < MOST


def next_count(value: object) -> int:
    """What `secom_core.stores.derived.grown` makes of a count in the database."""
    return value + 1 if isinstance(value, int) and is_count(value) else 1


def sound_version(value: object) -> int:
    """The version of a session, however it was read; -1 for whatever cannot be one, so that it equals itself."""
    return value if isinstance(value, int) and is_count(value) else -1


def session_row(row: Sequence[Any]) -> SessionRow:
    """The value of a row that begins with the columns of the table of sessions, in their order.

    A session whose counts cannot be is to be derived from its first turn.
    """
    number, scope_id, name, *counts, closed, version, _, ended, cut, cut_by = row[:13]
    turns, messages, derived, settled = counts
    sound = all(map(is_count, counts)) and derived <= messages and settled <= turns
    turns, messages = (each if is_count(each) else 0 for each in (turns, messages))
    derived, settled = (derived, settled) if sound else (-1, 0)
    ended, cut = (each if is_count(each) and each <= messages else 0 for each in (ended, cut))
    cut_by = cut_by if isinstance(cut_by, str) else None
    head = (number, scope_id, name, turns, messages, derived, settled, bool(closed), sound_version(version))
    return SessionRow(*head, ended, cut, cut_by)
