"""What a bank says of its work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakSet

from ..conversation import Message, Scope
from ..llm.flow import Cost
from ..memory import Passage
from ..telemetry import Work
from ..text.brief import brief
from ..text.speech import Standing


@brief("turn_ids", "new", "ended", "session")
@dataclass(frozen=True, slots=True)
class Remembered:
    """What `MemoryBank.remember` stored.

    Args:
        turn_ids: the turns that hold the messages given, new or known, in order.
        new: how many messages were new.
        ended: the names of the sessions that ended with it (``idle_after``); the session's own where it was closed, or
            goes on after a silence.
        session: the name of the session that they belong to.
        work: what it took.
    """

    turn_ids: tuple[str, ...]
    new: int
    ended: tuple[str, ...] = ()
    session: str = ""
    work: Work = field(default=Work(), compare=False)

    def turns_of(self, messages: Sequence[Message]) -> list[str]:
        """For each message that was given, the turn that it belongs to: a turn has the id of its first message.

        Args:
            messages: those that were remembered, with their ids.
        """
        current, names, turns = self.turn_ids[0] if self.turn_ids else "", set(self.turn_ids), []
        for message in messages:
            current = message.id if message.id in names else current
            turns.append(current)
        return turns


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a scope holds."""

    sessions: int
    turns: int
    messages: int
    memories: int
    vectors: int


@dataclass(frozen=True, slots=True)
class StandingStatement:
    """What a user has said that holds whatever is asked.

    Args:
        passage: the words, in their turn.
        kind: how to answer (``"instruction"``), what the user likes or must avoid (``"preference"``), or who the user
            is (``"fact"``).
    """

    passage: Passage
    kind: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a bank works in this process.

    Args:
        reachable: whether the store answers and can be read.
        writable: whether it can be written to now; not where another program holds its lock.
        schema: the version of its tables; nothing where it cannot be read.
        writer_alive: whether the background writers have threads, where anything waits for them.
        queued: how many sessions wait for background writers to derive them.
        unwritten: how many messages wait in memory for a lock to go; every other one is on disk.
        last_error: what is wrong with the store, or else what failed last in a background writer.
        underived: how many sessions of the store wait to be derived, by whoever; nothing where it cannot be read.
        scopes_loaded: of how many scopes this process holds the index.
        bytes_loaded: how much memory these take, about.
        forgotten_in_log: whether words that were forgotten are still in SQLite's log, because somebody reads it.
        turns: how many turns this process has taken in.
        cost: what it has asked of language models for them, and for recalls: the bank's own, and its parts'.
        work: what its operations took in this process, by their names: ``"remember"``, ``"recall"``, ``"derive"``.
    """

    reachable: bool
    writable: bool
    schema: int | None
    writer_alive: bool
    queued: int
    unwritten: int
    last_error: str | None
    underived: int | None
    scopes_loaded: int
    bytes_loaded: int
    forgotten_in_log: bool
    turns: int
    cost: Cost
    work: Mapping[str, Work]

    @property
    def ok(self) -> bool:
        """Whether the store can be written and all waiting work will be done."""
        return self.writable and self.writer_alive and not self.unwritten


class WriterHealth(Protocol):
    """What a background writer says of itself."""

    last_error: str | None

    @property
    def is_alive(self) -> bool:
        """Whether a thread does what waits; also where nothing does."""

    @property
    def unwritten(self) -> int:
        """How many messages wait in memory."""

    def __len__(self) -> int: ...

    def forget(self, scope: Scope, session: str | None = None) -> None:
        """Write nothing more of a scope, or of a session of it, that waits in memory."""

    def end(self, since: float) -> None:
        """Write what waits in memory, and stop; ``since``: when the end began, by the monotonic clock."""


class Writers(WeakSet[WriterHealth]):
    """The background writers of a bank: another thread may add one while somebody goes through them."""

    def __iter__(self) -> Iterator[WriterHealth]:
        """Those that there are now."""
        while True:
            with suppress(RuntimeError):
                return iter(list(super().__iter__()))


@dataclass(frozen=True, slots=True)
class Finding:
    """An error that `MemoryBank.check` found.

    Args:
        what: is wrong.
        remedy: how it is mended, or what to do where a repair cannot.
        table: where.
        scope: whose.
        session: which session.
        count: how many rows, or pages.
        mended: whether it was mended.
        can_be_mended: whether a repair mends it.
    """

    what: str
    remedy: str
    table: str = ""
    scope: Scope | None = None
    session: str | None = None
    count: int = 1
    mended: bool = False
    can_be_mended: bool = True

    def __str__(self) -> str:
        where = [self.table, *([] if self.scope is None else [f"scope {list(self.scope)}"])]
        where += [] if self.session is None else [f"session {self.session!r}"]
        place = ", ".join(each for each in where if each)
        done = "mended: " if self.mended else "a repair: " if self.can_be_mended else "what to do: "
        return f"{place + ': ' if place else ''}{self.count} × {self.what}; {done}{self.remedy}"
