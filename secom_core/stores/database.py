"""A database and its transactions: waiting for other writers, errors in our own terms, SQLite's files."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, Engine, Table, inspect
from sqlalchemy.exc import SQLAlchemyError

from ..conversation import Scope
from ..errors import InvalidInput, SecomError, StoreError, StoreLocked, StoreUnwritable, warn_degraded
from ..processes import FairLock, FewAtOnce, ForkGate, ForkLock, in_child
from .cipher import Cipher
from .driver import found_at_once, found_in
from .glances import as_given
from .log_syncing import sync_log
from .outgrown import outgrown
from .places import has_room, shown_url
from .reasons import LOCK_TIMEOUT, Contended, kind_of
from .rows import scope_key
from .transactions import BUSY_MS, Asked, Begin, begun, connected, left_until

_TRIES: Final = 8
_EMPTY_LOG: Final = "PRAGMA wal_checkpoint(TRUNCATE)"

# Connections of parents. What nobody refers to is closed, and that is not for a child to do.
_LEFT: Final[list[Any]] = []

P = ParamSpec("P")
T = TypeVar("T")


def leave_connections(engine: Engine) -> None:
    """Have an engine make connections of its own in a child, and leave the parent's as they are."""
    _LEFT.append(engine.pool)
    engine.dispose(close=False)


_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """In this block, calls wait for others so many seconds at most, together; then they raise `StoreLocked`."""
    token = _until.set(min(_until.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def seconds_to_wait() -> float | None:
    """How many seconds are left of `waiting_at_most`; nothing outside of such a block."""
    return left_until(_until.get())


def retry_if_contended(transaction: Callable[P, T]) -> Callable[P, T]:
    """Make a function that is one transaction begin again where another writer or a lost connection ended it."""

    @wraps(transaction)
    def retried(*args: P.args, **kwargs: P.kwargs) -> T:
        for attempt in range(1, _TRIES):
            try:
                return transaction(*args, **kwargs)
            except Contended:  # noqa: PERF203 - it is what the loop is for
                time.sleep(random.uniform(0, 0.01 * 2**attempt))
        return transaction(*args, **kwargs)

    return retried


class Database:
    """One database, in a file, in memory, or on a server.

    Args:
        engine: what connects to it.
        begin: begins each transaction (see `secom_core.stores.sqlite`, `secom_core.stores.postgres`). Not an event of
            the engine: with a single one that is listened to, every connection takes twice as long.
        cipher: the key of SQLite's file; none unless given.
        busy_timeout: how many seconds a transaction waits for others at most; as long as the server says unless given.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
    """

    def __init__(
        self, engine: Engine, begin: Begin, cipher: Cipher | None = None, busy_timeout: float | None = None
    ) -> None:
        self._engine, self._begin, self.cipher, self.busy_timeout = engine, begin, cipher or Cipher(), busy_timeout
        self.is_closed = self._torn = False
        """Whether it was closed for good."""
        self.schema: int | None = None
        """The schema that its tables had when it was opened."""
        self.forgotten_in_log = False
        """Whether the write-ahead log still holds what was forgotten, because somebody reads it."""
        # A database in memory lives in a single connection.
        self._lock: Any = ForkLock() if self.path is None else nullcontext()
        # Writers who wait for SQLite try again and again: they would overtake each other, and some wait long.
        self._writers = FairLock() if self.is_sqlite else None
        self._has_begun = False  # Whoever has their turn may still wait for another program.
        # To a server many can write, but all connections would be taken, and those that recall wait for each of theirs.
        self._some = FewAtOnce(max(1, getattr(engine.pool, "size", int)() // 3))
        self._calls = ForkGate(self.at_rest)
        in_child(self)

    @property
    def path(self) -> str | None:
        """The database's file, or its URL without the password; nothing where it lives in memory."""
        url = self._engine.url
        return url.database if url.get_backend_name() == "sqlite" else shown_url(url)

    @property
    def secret(self) -> str | None:
        """What it was opened with beside its path: a ``key`` or a ``password``; nothing where it took neither."""
        return "key" if self.cipher.is_on else "password" if self._engine.url.password else None

    @property
    def _place(self) -> str:
        """The database as errors name it. Misspelt parameters of a URL may hold a password too."""
        url = self._engine.url
        return str((url.database or ":memory:") if url.get_backend_name() == "sqlite" else url.set(query={}))

    @property
    def engine(self) -> Engine:
        """The engine that speaks to the database."""
        return self._engine

    @property
    def _driver_error(self) -> type[Exception]:
        """What the driver raises, where a statement goes straight through it (`secom_core.stores.driver`)."""
        error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        return error

    @property
    def dialect(self) -> str:
        """The name of its kind of SQL: ``"sqlite"`` or ``"postgresql"``."""
        return self._engine.dialect.name

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite, and no server."""
        return self.dialect == "sqlite"

    def close(self) -> None:
        """Close every connection, those at work when their call returns. Any later call raises `StoreError`."""
        if self.forgotten_in_log and not self.is_closed:
            self.empty_log(wait=0)
        # Another thread may be using the single connection of a database in memory.
        with self._lock:
            self.is_closed = True
            self._engine.dispose()

    # -- forks ----------------------------------------------------------------------------------------------------

    def at_rest(self) -> None:
        """Hold no file of SQLite open while the process forks: no connection to one may reach a child."""
        if self.is_sqlite and self.path is not None:
            self._engine.dispose()

    def renew(self) -> None:
        """Leave the parent's connections to it, in a child; a database in memory was copied."""
        self._torn |= self._calls.renew() and self.is_sqlite
        if self.path is not None:
            leave_connections(self._engine)

    @property
    def _usable(self) -> Any:
        """The lock that a call needs, if the database can be used."""
        if self.is_closed:
            raise StoreError(f"the bank at {self._place} is closed; open it again with MemoryBank.open")
        if self._torn:
            raise StoreError(
                f"the store at {self._place} cannot be used in this process, which was forked while a call to it was "
                "under way; fork when none is, or open the bank in a process that is not forked"
            )
        return self._lock

    # -- transactions ---------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(
        self,
        *,
        write: bool = True,
        durable: bool = True,
        scope: Scope | int | None = None,
        migrating: bool = False,
    ) -> Iterator[Connection]:
        """One transaction, in which what is read is as of one moment.

        Args:
            write: whether it may write; only one writer at a time is in a scope.
            durable: what can be made again need not be on disk before the next turn is.
            scope: what is written to, by name or by id; everything unless given.
            migrating: tables are made anew.

        Raises:
            StoreLocked: others wrote for longer than was to be waited (`waiting_at_most`); nothing was written.
            StoreError: the database failed, or the connection to it was lost; nothing was written, unless the answer
                to the commit itself was lost.
        """
        key = scope_key(scope) if isinstance(scope, tuple) else scope
        until, is_sure = self._until(), False
        try:
            asked = Asked(write, durable, key, until, migrating)
            turn = self._turn(write, until, durable)
            with self._calls, self._usable, turn, begun(self._engine, self._begin, asked) as connection:
                is_sure, self._has_begun = True, self._has_begun or write
                yield connection
                is_sure = not write
        except (SQLAlchemyError, self._driver_error) as error:
            raise self._translated(error, until, is_sure, write) from error
        except (ValueError, TypeError) as error:
            # While a transaction only reads, nothing but what it reads can be wrong.
            # sqlite3 raises the last where a broken file makes a broken message.
            if isinstance(error, SecomError) or (write and not isinstance(error, UnicodeDecodeError)):
                raise
            what = self.cipher.damaged(error) if self.is_sqlite else f"is damaged: {error}"
            raise StoreError(f"the store at {self._place} {what}") from error
        if write and self.forgotten_in_log:
            self.empty_log(wait=0)

    def glance(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement in SQL, as of now, such as `transaction` would give them.

        Args:
            statement: of this project, such as those in `secom_core.stores.glances`; never what a user gives.
            **values: what its names after colons stand for.

        Raises:
            StoreError: as `transaction` says.
        """
        return self.glanced(statement, as_given, **values)

    def glanced(self, statement: str, read: Callable[[Iterable[Sequence[Any]]], T], **values: Any) -> T:
        """What ``read`` makes of the rows of one statement, as the driver gives them; see `glance`."""
        try:
            with self._calls, self._usable, closing(connected(self._engine.raw_connection)) as pooled:
                return read(found_at_once(pooled, self._engine.dialect, statement, values, self._until()))
        except (SQLAlchemyError, self._driver_error, ValueError, TypeError):
            # The transaction below waits, has a connection that was not lost, or says what is wrong.
            pass
        with self.transaction(write=False) as connection:
            return read(found_in(connection, statement, values))

    def _until(self) -> float:
        """Until when, of the monotonic clock, a call that begins now waits for others."""
        return min(_until.get(), time.monotonic() + (math.inf if self.busy_timeout is None else self.busy_timeout))

    def check_writable(self) -> None:
        """Write nothing; raises `StoreUnwritable` where nothing could be written."""
        with self.transaction(durable=False) as connection:
            # It changes nothing, and where the store can only be read it is refused.
            connection.exec_driver_sql("DELETE FROM schema_versions WHERE version < 0")
        if self.is_sqlite and self.path is not None and not has_room(self.path):
            raise StoreUnwritable(
                f"the store at {self._place} has less than 1 MiB of room on its disk or in your quota; make room there"
            )

    @contextmanager
    def _turn(self, write: bool, until: float, durable: bool = False) -> Iterator[None]:
        """A writer's turn among the threads of this process; what it has written is on disk after it."""
        if not write:
            yield
            return
        if self._writers is None:
            with self._some.held(until):
                yield
            return
        if not self._writers.acquire(timeout=min(max(0.0, until - time.monotonic()), TIMEOUT_MAX)):
            raise self._locked(until, "written", here=self._has_begun)
        try:
            yield
        finally:
            self._has_begun = False
            self._writers.release()
        # Whoever writes next does not wait for the disk.
        if durable and self.path is not None:
            sync_log(self.path)

    def _translated(self, error: Exception, until: float, is_sure: bool, is_write: bool) -> StoreError:
        """The error in our terms; ``is_sure``: nothing was written, also where the connection was lost meanwhile."""
        original = getattr(error, "orig", error)
        # Of SQLite's errors, the driver for encrypted files gives no code.
        locked = self.is_sqlite and isinstance(original, self._driver_error) and "locked" in str(original)
        state = getattr(original, "sqlstate", None)
        if locked or (state == LOCK_TIMEOUT and time.monotonic() >= until):
            return self._locked(until, "written" if is_write else "read")
        newer = outgrown(self._engine, self.schema, error, self._place)
        operational = None if self.is_sqlite else self._engine.dialect.loaded_dbapi.OperationalError
        kind = kind_of(original, operational, is_sure, is_write, self.path)
        return newer or kind(f"the store at {self._place} {self.cipher.reason(error, self.path)}")

    def _locked(self, until: float, done: str, *, here: bool = False) -> StoreLocked:
        """Why nothing was ``done`` until then, and what helps; ``here``: a thread of this process holds the lock."""
        writer = "thread of this process" if here else "writer"
        what = f"the store at {self._place} is locked by another {writer}, and nothing was {done}"
        if _until.get() <= until < math.inf:
            return StoreLocked(f"{what}; this call waits no longer for it, try again when that one has written")
        end = "let it end" if here else "end what holds it, such as a transaction that another program left open"
        longer = f"wait longer than now: MemoryBank.open(…, busy_timeout={self.busy_timeout})"
        return StoreLocked(f"{what}; {end}, or {longer}")

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

    # -- SQLite's files -------------------------------------------------------------------------------------------

    def empty_log(self, *, wait: float = 1.0) -> bool:
        """Empty SQLite's write-ahead log, which holds pages as they were before.

        Args:
            wait: how many seconds to wait for who reads.

        Returns:
            Whether it is empty; else it is tried again after every write, and when the bank is closed.
        """
        try:
            self.forgotten_in_log = self._outside_transactions(_EMPTY_LOG, wait=wait)
        except StoreError:
            # In a file that may only be read, there may be none.
            log = Path(f"{self.path}-wal")
            self.forgotten_in_log = log.exists() and log.stat().st_size > 0
        return not self.forgotten_in_log

    def integrity(self) -> list[str]:
        """What SQLite finds wrong in its file, and in the codes of encrypted pages; nothing on a server."""
        if not self.is_sqlite:
            return []
        with self.transaction(write=False) as connection:
            return self.cipher.damages(connection.connection.driver_connection)

    def compact(self) -> None:
        """Write SQLite's file anew, without a trace of what was deleted.

        Raises:
            StoreError: another connection is at work for longer than the time-out, or the disk is full.
        """
        if self._outside_transactions(_EMPTY_LOG, "VACUUM", _EMPTY_LOG, wait=self.busy_timeout or 0):
            raise StoreError(f"the store at {self._place} is in use; what was deleted is still in its log")
        self.forgotten_in_log = False

    def rekey(self, key: str) -> None:
        """Encrypt SQLite's file with another key; see `Cipher.rekey`.

        Raises:
            InvalidInput: no passphrase can look like this, or the database is not encrypted by one.
            StoreLocked: others write for longer than was to be waited; the file has the old key.
            StoreError: the file could not be written; it has the old key.

        Warns:
            DegradedWarning: others were reading, and pages of before, under the old key, are still in the file.
        """
        if not self.cipher.is_on or self.path is None:
            raise InvalidInput(
                f"the store at {self._place} is not encrypted, so it has no key to change; move it into a file that is "
                "opened with a key (bank.storage.move_to, `secom move`)"
            )
        wait = self.busy_timeout or 0
        with self._calls, self._usable, self._turn(True, time.monotonic() + wait):
            self.cipher.rekey(self._engine, key, wait=wait)
        if self._outside_transactions(_EMPTY_LOG, wait=1.0):
            warn_degraded(
                f"the store at {self._place} has its new key, and while others read it, its file holds pages under the "
                "old one; compact it when they are done"
            )

    def _outside_transactions(self, *statements: str, wait: float) -> bool:
        """Run statements that SQLite takes in no transaction; whether the last one found the log in use."""
        if not self.is_sqlite:
            return False
        try:
            # Two threads that empty the log at once would be in each other's way, however short.
            turn = self._turn(True, time.monotonic() + wait)
            with self._calls, self._usable, turn, closing(self._engine.raw_connection()) as pooled:
                connection: Any = pooled.driver_connection
                pooled.info.pop(BUSY_MS, None)
                connection.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
                rows = [connection.execute(statement).fetchone() for statement in statements]
        except self._engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"the store at {self._place} {self.cipher.reason(error, self.path)}") from error
        return bool(rows[-1] and rows[-1][0])
