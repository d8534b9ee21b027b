"""Where turns live. `open_store` takes a file's path or a database's URL."""

from __future__ import annotations

from .opening import open_store
from .postgres import open_postgres
from .sql import SqlStore
from .sqlite import open_sqlite

__all__ = ["SqlStore", "open_postgres", "open_sqlite", "open_store"]
