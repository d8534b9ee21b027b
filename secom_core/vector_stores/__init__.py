"""Vector stores outside the bank, kept in step with it: what they lack is sent, what was forgotten is deleted."""

from __future__ import annotations

from .pgvector import PgVectorStore

__all__ = ["PgVectorStore"]
