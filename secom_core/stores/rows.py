"""Rows of the store, as values, and the names under which they are stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row

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

    @property
    def is_derived(self) -> bool:
        """Whether its memories hold all its messages."""
        return self.derived == self.messages and (not self.closed or self.settled == self.turns)


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory as stored: the turns ``[start, stop)``, its key, and a digest of the value it was made from."""

    start: int
    stop: int
    key: str
    digest: str


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of `SqlStore.append`: the session's id, the turns touched, how many messages were new."""

    session_id: int
    turn_ids: tuple[str, ...]
    new: int


def scope_key(scope: Scope) -> str:
    """The text under which a scope is stored; no two scopes share it."""
    return json.dumps(list(scope))


def is_count(value: object) -> bool:
    """Whether it is a whole number from 0 on that can be counted up."""
    return type(value) is int and 0 <= value < MOST


def next_count(value: object) -> int:
    """What `secom_core.stores.derived.grown` makes of a count in the database."""
    return value + 1 if isinstance(value, int) and is_count(value) else 1


def session_row(row: Row[Any]) -> SessionRow:
    """The value of a row of the table of sessions; one whose counts cannot be is to be derived from its first turn."""
    counts = row.turns, row.messages, row.derived, row.settled
    sound = all(map(is_count, counts)) and row.derived <= row.messages and row.settled <= row.turns
    turns, messages = (each if is_count(each) else 0 for each in counts[:2])
    derived, settled = counts[2:] if sound else (-1, 0)
    return SessionRow(row.id, row.scope_id, row.name, turns, messages, derived, settled, bool(row.closed), row.version)
