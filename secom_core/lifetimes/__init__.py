"""When turns, sessions and scopes expire, and how much a scope may hold."""

from __future__ import annotations

from .records import Cap, Lifetime

__all__ = ["Cap", "Lifetime"]
