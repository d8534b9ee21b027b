"""The store on PostgreSQL: many processes on many machines, one writer at a time in a scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from ..errors import InvalidInput, MissingExtra, StoreError
from .places import is_postgres, shown_url
from .sql import SqlStore
from .transactions import Asked, lock_timeout

_FIRST: Final = "SELECT set_config('client_encoding', 'UTF8', false), pg_backend_pid()"
_FORM: Final = "postgresql://user:password@host:5432/database"
_PREPARING: Final = "prepare_threshold"
# What stands between here and the server may forget connections that say nothing for minutes, and tell neither.
_KEPT_ALIVE: Final = {"keepalives_idle": "60", "keepalives_interval": "10", "keepalives_count": "3"}
_POOL: Final = 10
_WAIT_S: Final = 300
# Advisory locks are the database's, and other programs may use them too: ours are hashes with seeds of our own.
_STORE_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('secom-memory', 1936024429))"
# The key in hexadecimal digits, which need no quoting.
_KEY_LOCK: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended(convert_from(decode('{}', 'hex'), 'UTF8'), 1936024429))"
)
_ID_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(key, 1936024429)) FROM scopes WHERE id = {}"
# A turn that was acknowledged survives a crash of the server, whatever its default; what is more than "on" stays.
_DURABLE: Final = (
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
)


def open_postgres(url: str, *, pool_size: int = _POOL, busy_timeout: float | None = None) -> SqlStore:
    """Open or make the store in one database, or in the schema that the URL's ``options`` name.

    Args:
        url: such as ``postgresql://user:password@host:5432/database``, with libpq's parameters after ``?``.
        pool_size: how many connections this process opens at most; calls beyond wait for one.
        busy_timeout: how many seconds a call waits for others; as long as the server's ``lock_timeout`` says unless
            given.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
        StoreError: the database cannot be reached, or does not keep its texts as UTF-8.
        SchemaTooNew: a later version of this package wrote it.
    """
    engine = postgres_engine(url, pool_size=pool_size, is_bare=True)
    try:
        return SqlStore(engine, _begin, busy_timeout=busy_timeout)
    except StoreError:
        engine.dispose()
        raise


def postgres_engine(url: str, *, pool_size: int = _POOL, is_bare: bool = False) -> Engine:
    """What speaks to a database, as `open_postgres` has it.

    Args:
        url: as `open_postgres` takes it.
        pool_size: how many connections it opens at most.
        is_bare: whoever uses it begins each transaction, and so notices connections that were lost.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
    """
    place, secrets = _without_secrets(_with_driver(url))
    place, preparing = _without_preparing(place)
    kept_alive = {name: value for name, value in _KEPT_ALIVE.items() if name not in place.query}
    try:
        engine = create_engine(
            place,
            connect_args={**kept_alive, **secrets, **preparing},
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=_WAIT_S,
            # The connection that was used last has statements at hand.
            pool_use_lifo=True,
            # A server that was started again is noticed before a transaction begins.
            pool_pre_ping=not is_bare,
            isolation_level="AUTOCOMMIT" if is_bare else None,
            # What people said has no place in an error message.
            hide_parameters=True,
        )
    except ModuleNotFoundError as missing:
        raise MissingExtra("A store on PostgreSQL", "postgres") from missing
    # First of all: what the driver asks next, it cannot read in every encoding.
    event.listen(engine, "connect", _configure, insert=True)
    return engine


def postgres_place(url: str) -> str:
    """The URL as errors and `Database.path` show it: without passwords.

    Raises:
        InvalidInput: the URL cannot be read.
    """
    return shown_url(_without_secrets(_with_driver(url))[0])


def has_password(url: str) -> bool:
    """Whether a URL holds a password, before the host or among its parameters; raises `InvalidInput` for no URL."""
    shown, secrets = _without_secrets(_with_driver(url))
    return shown.password is not None or bool(secrets)


def _with_driver(url: str) -> URL:
    _, _, rest = url.strip().partition("://")
    try:
        read = make_url(f"postgresql+psycopg://{rest}") if is_postgres(url) else None
    except (ArgumentError, ValueError):
        read = None
    if read is None:
        # The URL may hold a password, and so may the error that is the cause.
        raise InvalidInput(f"expected {_FORM}, got a URL that is not one")
    if "@" in f"{read.host}{read.database}":
        raise InvalidInput(f"expected {_FORM}; in a user's name or a password, write @ as %40, / as %2F and : as %3A")
    return read


def _without_secrets(url: URL) -> tuple[URL, dict[str, str]]:
    """The URL as it may be shown, a password before the host aside, and what libpq is given besides."""
    secret = [name for name in url.query if "pass" in name.lower() or "secret" in name.lower()]
    given = {name: url.query[name] for name in secret}
    last = {name: value if isinstance(value, str) else value[-1] for name, value in given.items()}
    return url.difference_update_query(secret), last


def _without_preparing(url: URL) -> tuple[URL, dict[str, int | None]]:
    """The URL without the one parameter that is psycopg's and no text, and the driver's argument."""
    given = str(url.query.get(_PREPARING, "5"))
    if not given.isdecimal() and given.lower() != "none":
        raise InvalidInput(f"{_PREPARING} in the URL is a number, or None for never, not {given!r}")
    number = int(given) if given.isdecimal() else None
    return url.difference_update_query([_PREPARING]), {_PREPARING: number} if _PREPARING in url.query else {}


def _configure(connection: Any, _record: Any) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        name = connection.info.dbname
        connection.close()
        raise StoreError(
            f"the database {name!r} keeps texts as {encoding}, which cannot hold all that people say; make one for the "
            "bank with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    # By itself, the driver begins a transaction first, and so asks a server far away three times.
    connection.autocommit = True
    _, process = connection.execute(_FIRST).fetchone()
    connection.autocommit = False
    if process != connection.info.backend_pid:
        # Something between here and there lends out connections by the transaction, as PgBouncer does. What was
        # prepared in one of them is not there in the next, or is another program's.
        connection.prepare_threshold = None


def _begin(connection: Connection, asked: Asked) -> None:
    # All at once: each statement of its own would be another way to the server and back. The same text does not come
    # twice, so it is not worth preparing.
    driver: Any = connection.connection.driver_connection
    driver.execute("; ".join(_beginning(asked)), prepare=False)


def _beginning(asked: Asked) -> Iterator[str]:
    # Whoever reads in order to write waits below for who is writing, and then reads what that one wrote.
    yield f"BEGIN ISOLATION LEVEL {'READ COMMITTED' if asked.write else 'REPEATABLE READ READ ONLY'}"
    wait = asked.wait
    if wait is not None:
        # Those that only read wait too: for who has a whole table to itself, as VACUUM FULL and ALTER TABLE do.
        yield f"SET LOCAL lock_timeout TO {lock_timeout(wait)}"
    if not asked.write:
        return
    yield _DURABLE if asked.durable else "SET LOCAL synchronous_commit TO off"
    if asked.scope is None:
        yield _STORE_LOCK
    elif isinstance(asked.scope, str):
        yield _KEY_LOCK.format(asked.scope.encode().hex())
    else:
        yield _ID_LOCK.format(int(asked.scope))
