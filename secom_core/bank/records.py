"""What a bank says of its work."""

from __future__ import annotations

from dataclasses import dataclass


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
