"""What a bank says of its work."""

from __future__ import annotations

from dataclasses import dataclass

from ..conversation import Scope


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `MemoryBank.remember` took in.

    Args:
        turn_ids: the turns that hold the messages given, new or known, in order.
        new: how many messages were new.
    """

    turn_ids: tuple[str, ...]
    new: int


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a scope holds."""

    sessions: int
    turns: int
    messages: int
    memories: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What `MemoryBank.check` found amiss.

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
