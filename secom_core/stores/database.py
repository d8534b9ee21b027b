"""A database and its transactions: waiting for other writers, errors in our own terms, SQLite's files."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Table, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from ..conversation import Scope
from ..errors import SecomError, StoreError
from .rows import scope_key

_TRIES: Final = 8
_EMPTY_LOG: Final = "PRAGMA wal_checkpoint(TRUNCATE)"
# PostgreSQL: a serialization failure, a deadlock, a lock that was not to be had in the time that the server gives.
_CONTENDED: Final = frozenset({"40001", "40P01", "55P03"})

P = ParamSpec("P")
T = TypeVar("T")


class _Contended(StoreError):
    """Another writer was in the way; nothing was written, and the same again may well succeed."""


def retry_if_contended(transaction: Callable[P, T]) -> Callable[P, T]:
    """Make a function that is one transaction begin again where another writer was in its way."""

    @wraps(transaction)
    def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(1, _TRIES):
            try:
                return transaction(*args, **kwargs)
            except _Contended:  # noqa: PERF203 - it is what the loop is for
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        return transaction(*args, **kwargs)

    return retried


class Database:
    """One database, in a file, in memory, or on a server.

    Args:
        engine: an engine whose connections begin transactions that may write, and where they do, wait for whoever
            writes to the same scope (see `secom_core.stores.sqlite`, `secom_core.stores.postgres`).

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # A database in memory lives in a single connection.
        self._lock: Any = threading.RLock() if self.path is None else nullcontext()
        # Writers who wait for SQLite try again and again: they would overtake each other, and some wait long.
        self._writers: Any = threading.RLock() if engine.dialect.name == "sqlite" else nullcontext()

    @property
    def path(self) -> str | None:
        """The database's file, or its URL without the password; nothing where it lives in memory."""
        url = self._engine.url
        return url.database if url.get_backend_name() == "sqlite" else str(url._replace(password=None))

    @property
    def _place(self) -> str:
        """The database as errors name it. Misspelt parameters of a URL may hold a password too."""
        url = self._engine.url
        return str(url if url.get_backend_name() == "sqlite" else url.set(query={}))

    @property
    def engine(self) -> Engine:
        """The engine that speaks to the database."""
        return self._engine

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def transaction(
        self, *, write: bool = True, durable: bool = True, scope: Scope | int | None = None, **options: bool
    ) -> Iterator[Connection]:
        """One transaction, in which what is read is as of one moment.

        Args:
            write: whether it may write; only one writer at a time is in a scope.
            durable: what can be made again need not be on disk before the next turn is.
            scope: what is written to, by name or by id; everything unless given.
            **options: further execution options of the connection, by their names without ``secom_``.

        Raises:
            StoreError: the database failed, or the connection to it was lost; nothing was written, unless the answer
                to the commit itself was lost.
        """
        key = scope_key(scope) if isinstance(scope, tuple) else scope
        named: dict[str, Any] = {f"secom_{name}": value for name, value in options.items()}
        try:
            with self._lock, self._writers if write else nullcontext(), self._engine.connect() as raw:
                connection = raw.execution_options(secom_write=write, secom_durable=durable, secom_scope=key, **named)
                with connection.begin():
                    yield connection
        except SQLAlchemyError as error:
            contended = isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _CONTENDED
            kind = _Contended if contended else StoreError
            raise kind(f"the store at {self._place} failed: {error}") from error
        except (ValueError, TypeError) as error:
            # While a transaction only reads, nothing but what it reads can be wrong.
            # sqlite3 raises the last where a broken file makes a broken message.
            if isinstance(error, SecomError) or (write and not isinstance(error, UnicodeDecodeError)):
                raise
            raise StoreError(f"the store at {self._place} is damaged: {error}") from error

    def make_missing(self, tables: Sequence[Table]) -> None:
        """Make those of the tables that the database has not; of its own tables, migrations take care."""
        if tables:
            with self.transaction() as connection:
                for table in tables:
                    table.create(connection, checkfirst=True)

    def tables(self) -> set[str]:
        """The names of all tables."""
        with self.transaction(write=False) as connection:
            return set(inspect(connection).get_table_names())

    def empty_log(self) -> bool:
        """Empty SQLite's write-ahead log, which holds pages as they were before; where readers leave it, for later.

        Returns:
            Whether it is empty now.
        """
        with suppress(StoreError):  # what was to be done is done
            return not self._outside_transactions("PRAGMA busy_timeout=1000", _EMPTY_LOG)
        return False

    def integrity(self) -> list[str]:
        """What SQLite finds wrong in its file; nothing on a server."""
        if self._engine.dialect.name != "sqlite":
            return []
        with self.transaction(write=False) as connection:
            lines = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [str(line) for line in lines if line != "ok"]

    def compact(self) -> None:
        """Write SQLite's file anew, without a trace of what was deleted.

        Raises:
            StoreError: another connection is at work for longer than the time-out, or the disk is full.
        """
        if self._outside_transactions(_EMPTY_LOG, "VACUUM", _EMPTY_LOG):
            raise StoreError(f"the store at {self._place} is in use; what was deleted is still in its log")

    def _outside_transactions(self, *statements: str) -> bool:
        """Run statements that SQLite takes in no transaction; whether the last one found the log in use."""
        if self._engine.dialect.name != "sqlite":
            return False
        try:
            with self._lock, closing(self._engine.raw_connection()) as pooled:
                connection: Any = pooled.driver_connection
                timeout = connection.execute("PRAGMA busy_timeout").fetchone()[0]
                try:
                    rows = [connection.execute(statement).fetchone() for statement in statements]
                finally:
                    connection.execute(f"PRAGMA busy_timeout={timeout}")
        except self._engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"the store at {self._place} failed: {error}") from error
        return bool(rows[-1] and rows[-1][0])
