"""Whole sessions taken in, each closed at its end."""

from __future__ import annotations

from collections.abc import Iterable

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope, Session


def remember_all(bank: MemoryBank, scope: Scope, history: Iterable[Session]) -> list[str]:
    """Take in the sessions; the ids of their turns."""
    return [id_ for session in history for id_ in bank.remember(scope, session, close=True).turn_ids]
