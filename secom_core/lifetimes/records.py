"""Lifetimes and caps, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..errors import InvalidInput
from ..readers.fields import LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When something ends.

    Args:
        expires: from when on it is gone.
        session: the session that ends; the whole scope unless given.
        turn_id: the turn of it that ends; the whole session unless given.
    """

    expires: datetime
    session: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Cap:
    """How much a scope may hold. What is too much goes, the oldest turn first, those that are pinned last.

    Args:
        turns: how many turns.
        bytes: how many bytes the words of its messages may have in UTF-8.
        age: how long ago a turn may have begun; it spares no pinned turn.

    Raises:
        InvalidInput: for a number or a time that is not above 0.
    """

    turns: int | None = None
    bytes: int | None = None
    age: timedelta | None = None

    def __post_init__(self) -> None:
        for name, value in (("turns", self.turns), ("bytes", self.bytes)):
            is_count = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_COUNT
            if value is not None and not is_count:
                raise InvalidInput(f"a cap of {name} is a whole number from 1 on, got {value!r}")
        if self.age is not None and not (isinstance(self.age, timedelta) and self.age > timedelta()):
            raise InvalidInput(f"a cap of age is a timedelta above 0, got {self.age!r}")


def lifetime_json(lifetime: Lifetime) -> dict[str, Any]:
    """A lifetime as JSON holds it."""
    return {"expires": lifetime.expires.isoformat(), "session": lifetime.session, "turn_id": lifetime.turn_id}


def cap_json(cap: Cap) -> dict[str, Any]:
    """A cap as JSON holds it, its age in seconds."""
    return {"cap": {"turns": cap.turns, "bytes": cap.bytes, "age": cap.age.total_seconds() if cap.age else None}}


def from_json(record: Mapping[str, Any]) -> Lifetime | Cap:
    """What `lifetime_json` or `cap_json` gave.

    Raises:
        KeyError, TypeError, ValueError: it is neither.
    """
    if "cap" in record:
        limits = record["cap"]
        age = None if limits["age"] is None else timedelta(seconds=limits["age"])
        return Cap(limits["turns"], limits["bytes"], age)
    expires, session, turn_id = datetime.fromisoformat(record["expires"]), record["session"], record["turn_id"]
    if expires.tzinfo is None:
        raise ValueError(f"an end has a zone, got {record['expires']!r}")
    if not isinstance(session, (str, type(None))) or not isinstance(turn_id, (str, type(None))):
        raise TypeError("sessions and turns are named by strings")
    return Lifetime(expires, session, turn_id)
