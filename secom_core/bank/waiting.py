"""A session of which something is still to be made, and whether more of it is about to come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..conversation import Session
from ..readers import MessageLike, read_messages


@dataclass(frozen=True, slots=True)
class Waiting:
    """A session with something to be made.

    Args:
        due: until when more of it may come.
        since: since when it waits.
        turns: how many turns have come.
        ended: whether it has ended.
    """

    due: float
    since: float
    turns: int = 0
    ended: bool = False


def asks(messages: Session | Iterable[MessageLike]) -> bool:
    """Whether the user spoke last, so that an answer is still to come."""
    given = messages.messages if isinstance(messages, Session) else messages
    return any(each.role == "user" for each in read_messages(given[-1:] if isinstance(given, Sequence) else ()))
