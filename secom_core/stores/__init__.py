"""Where turns live. `open_sqlite` is the default."""

from __future__ import annotations

from .sql import SqlStore
from .sqlite import open_sqlite

__all__ = ["SqlStore", "open_sqlite"]
