"""What a store refused, to be stored with what comes next."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Final
from weakref import WeakValueDictionary

from llama_index.core.bridge.pydantic import BaseModel, Field

from secom_core.bank import MemoryBank, Remembered
from secom_core.conversation import Message, Scope
from secom_core.errors import DegradedWarning, InvalidInput, ModelError, StoreError
from secom_core.writer import BackgroundWriter

__all__ = ["FAILURES", "Unstored", "Write", "degraded", "is_forgotten", "marked", "store_all", "turns_of", "writer_of"]

FAILURES: Final = (StoreError, ModelError)
"""What may pass by itself; anything else is the caller's to mend."""

Write = Callable[[Scope, Sequence[Message], str], Remembered]
"""Puts messages of a scope into a session."""


class Unstored(BaseModel):
    """Messages of one session that were said together, each with an id and its time."""

    session: str
    messages: list[Message] = Field(default_factory=list)


def marked(message: Message) -> Message:
    """The message with an id and a time, so that it is the same one when it is stored later."""
    return replace(message, id=message.id or uuid.uuid4().hex, at=message.at or datetime.now(timezone.utc))


def store_all(write: Write, scope: Scope, waiting: list[Unstored]) -> dict[str, str]:
    """Store what waits, in order, and take it off the list.

    Args:
        write: what stores.
        scope: whose memory it is.
        waiting: what waits; changed in place.

    Returns:
        By the id of each message, its turn.

    Raises:
        StoreError: the store failed again; what it refused still waits.
    """
    turns: dict[str, str] = {}
    while waiting:
        messages = waiting[0].messages
        try:
            done = write(scope, messages, waiting[0].session)
        except InvalidInput:
            # Ids that another message has by now: what was said counts for more.
            messages = [replace(message, id=uuid.uuid4().hex) for message in messages]
            done = write(scope, messages, waiting[0].session)
        placed = turns_of(messages, done.turn_ids)
        turns |= {str(old.id): turn for old, turn in zip(waiting[0].messages, placed, strict=True)}
        waiting.pop(0)
    return turns


def turns_of(messages: Sequence[Message], turn_ids: Sequence[str]) -> list[str]:
    """Which of the turns holds each message: a turn goes by the id of its first."""
    current, names, found = turn_ids[0] if turn_ids else "", set(turn_ids), []
    for message in messages:
        current = message.id if message.id in names else current
        found.append(current)
    return found


def is_forgotten(before: tuple[int, int] | None, now: tuple[int, int] | None) -> bool:
    """Whether a scope was forgotten as a whole between two of its epochs: then nothing said before comes back."""
    return before is not None and (now is None or now[0] != before[0])


def degraded(what: str, error: Exception) -> None:
    """Say that something failed and what became of it."""
    warnings.warn(f"the store failed; {what}: {error}", DegradedWarning, stacklevel=3)


_writers: WeakValueDictionary[int, BackgroundWriter] = WeakValueDictionary()
"""By bank: all that write to one in the background share a thread. A writer holds its bank, so no id comes back."""


def writer_of(bank: MemoryBank) -> BackgroundWriter:
    """The bank's writer, one for all."""
    return _writers.setdefault(id(bank), BackgroundWriter(bank))
