"""Vector stores outside the bank, kept in step with it: what they lack is sent, what was forgotten is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .pgvector import PgVectorStore
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "pgvector": "PgVectorStore",
        },
    )

__all__ = ["PgVectorStore"]
