"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """An empty file beside the target that takes its place once it is whole; only its owner may read it.

    Where something is raised, it is removed, with what SQLite has left beside it.
    """
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as made:
        pass
    try:
        yield Path(made.name)
        os.replace(made.name, target)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(made.name + suffix).unlink(missing_ok=True)
