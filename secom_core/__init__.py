"""Long-term memory of conversations.

A conversation goes in; topical segments with denoised keys go into a bank; the right turns come back, verbatim, in
time order, numbered, inside a token budget::

    with MemoryBank.open("memory.db") as bank:
        bank.remember(("acme", "alice"), [{"role": "user", "content": "I moved to Ghent."}], session="monday")
        print(bank.recall(("acme", "alice"), "Where did I move?", token_budget=500).text)

``remember``: messages become turns, committed as they are (`secom_core.conversation`, `secom_core.stores`); the open
session's turns are cut into segments (`secom_core.segmenters`); each segment's words become a key
(`secom_core.denoisers`), which is indexed (`secom_core.indexes`). ``recall``: the query scores turns and segments, by
words and by vectors (`secom_core.ranking`); the best are packed into the budget (`secom_core.context`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .bank import MemoryBank, Remembered, Stats
    from .companion import Companion
    from .conversation import Message, Scope, Session, Turn
    from .errors import (
        BadReply,
        DegradedWarning,
        DuplicateId,
        InvalidInput,
        InvalidScope,
        MissingExtra,
        ModelError,
        ModelUnavailable,
        SecomError,
        StoreError,
    )
    from .memory import Hit, Memory, Recall, Segment

__version__ = "0.1.0"

_HOMES = {
    "bank": ("MemoryBank", "Remembered", "Stats"),
    "companion": ("Companion",),
    "conversation": ("Message", "Scope", "Session", "Turn"),
    "errors": (
        "BadReply",
        "DegradedWarning",
        "DuplicateId",
        "InvalidInput",
        "InvalidScope",
        "MissingExtra",
        "ModelError",
        "ModelUnavailable",
        "SecomError",
        "StoreError",
    ),
    "memory": ("Hit", "Memory", "Recall", "Segment"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BadReply",
    "Companion",
    "DegradedWarning",
    "DuplicateId",
    "Hit",
    "InvalidInput",
    "InvalidScope",
    "Memory",
    "MemoryBank",
    "Message",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "Recall",
    "Remembered",
    "Scope",
    "SecomError",
    "Segment",
    "Session",
    "Stats",
    "StoreError",
    "Turn",
]


def __getattr__(name: str) -> object:
    # Loaded on first use: the import stays quick where only a part is needed.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value
