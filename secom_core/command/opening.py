"""The store that a command is about, and the scope."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from ..bank import MemoryBank
from ..conversation import Scope, check_scope
from ..stores.citations import latest
from ..stores.opening import open_store
from ..stores.postgres import is_postgres
from ..stores.sql import ScopeRow, SqlStore
from .terminal import Refused

__all__ = ["LAYERS", "Opened", "as_options", "open_named", "opened", "scope_of", "store_path"]

LAYERS: Final = {"summary": "summary", "timelines": "events", "topics": "topics"}
"""What a bank can be opened with, and the name under which the store knows it."""

_DEFAULT: Final = "memory.db"


@dataclass(frozen=True)
class Opened:
    """A bank and the store it is over."""

    bank: MemoryBank
    store: SqlStore

    def row(self, scope: Scope) -> ScopeRow:
        """The scope as stored.

        Raises:
            Refused: nothing is remembered in it.
        """
        found = self.store.scope(scope)
        if found is None or not self.bank.stats(scope).turns:
            raise Refused(f"nothing is remembered for {as_options(scope)}; `secom scopes` lists what there is")
        return found


def store_path(asked: Namespace) -> Path:
    """Where the store is: ``--store``, else ``SECOM_STORE``, else ``memory.db`` here."""
    return Path(_named(asked)).expanduser()


def _named(asked: Namespace) -> str:
    named: str = asked.store or os.environ.get("SECOM_STORE") or _DEFAULT
    if named == ":memory:":
        raise Refused("a store in memory would be gone when the command ends; give --store a file")
    return named


def open_named(named: str, *, make: bool) -> SqlStore:
    """The store that a file's name or a URL means; ``make`` says whether it may be made where there is none."""
    if not is_postgres(named):
        _check(Path(named).expanduser(), make=make)
    return open_store(named)


def scope_of(asked: Namespace) -> Scope:
    """Whose memory it is; `secom_core.command.options` has seen to it that somebody is named."""
    return check_scope(json.loads(asked.scope_json) if asked.scope_json is not None else tuple(asked.scope))


def as_options(scope: Scope) -> str:
    """The scope as it is given to the command, ready for a shell."""
    if all(part.isprintable() for part in scope):
        return " ".join(f"--scope {shlex.quote(part)}" if part[0] != "-" else _glued(part) for part in scope)
    return f"--scope-json {shlex.quote(json.dumps(list(scope)))}"


def _glued(part: str) -> str:
    return shlex.quote(f"--scope={part}")


@contextmanager
def opened(asked: Namespace, *, make: bool = False, learns: bool = False, **parts: Any) -> Iterator[Opened]:
    """The bank in the store that is meant.

    Args:
        asked: the options.
        make: whether a store may be made where there is none.
        learns: rank as the scope has learned, where it has.
        **parts: for `MemoryBank`.

    Raises:
        Refused: there is no store, or the file is something else.
    """
    store = open_named(_named(asked), make=make)
    scope = scope_of(asked) if learns else ()
    row = store.scope(scope) if learns else None
    if row is not None and latest(store, row.id):
        parts["learning"] = True
    bank = MemoryBank(store, progress=sys.stderr.isatty(), **parts)
    try:
        yield Opened(bank, store)
    finally:
        bank.close()


def _check(path: Path, *, make: bool) -> None:
    """Opening a file makes a store of it, so this is looked at before."""
    if path.is_dir():
        raise Refused(f"{path} is a folder; --store wants a file")
    if not path.exists():
        if not make:
            raise Refused(
                f"there is no store at {path}; name yours with --store FILE or SECOM_STORE, "
                "or make one with `secom remember` or `secom import`"
            )
    elif not (make and path.stat().st_size == 0) and not _is_store(path):
        raise Refused(f"{path} is not a store of secom")


def _is_store(path: Path) -> bool:
    wanted = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('schema_versions', 'scopes')"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=60)) as connection:
            return bool(connection.execute(wanted).fetchone()[0] == 2)
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error):
            return False
        raise Refused(f"{path} cannot be read: {error}") from error
