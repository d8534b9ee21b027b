"""Long-term memory of conversations.

A conversation goes in; topical segments with denoised keys go into a bank; the right turns come back, verbatim, in
time order, numbered, inside a token budget::

    with MemoryBank.open("memory.db") as bank:
        bank.remember(("acme", "alice"), [{"role": "user", "content": "I moved to Ghent."}], session="monday")
        print(bank.recall(("acme", "alice"), "Where did I move?", token_budget=500).text)

``remember``: messages become turns, committed as they are (`secom_core.conversation`, `secom_core.stores`); the open
session's turns are cut into segments (`secom_core.segmenters`); each segment's words become a key
(`secom_core.denoisers`), which is indexed (`secom_core.indexes`). ``recall``: the query scores turns and segments, by
words and by vectors (`secom_core.ranking`); the best are packed into the budget (`secom_core.context.block`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from .processes.on_demand import on_demand

if TYPE_CHECKING:
    from .bank import MemoryBank, Remembered, Stats
    from .companion import Companion
else:
    # With SQLAlchemy and numpy they take a third of a second.
    __getattr__, __dir__ = on_demand(__name__, {"bank": "MemoryBank Remembered Stats", "companion": "Companion"})

__version__ = "0.1.0"

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
