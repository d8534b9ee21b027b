"""The store on PostgreSQL: many processes on many machines, one writer at a time in a scope."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from ..errors import InvalidInput, MissingExtra, StoreError
from .database import shown_url
from .places import is_postgres
from .sql import SqlStore
from .transactions import Asked

_FORM: Final = "postgresql://user:password@host:5432/database"
_POOL: Final = 10
_WAIT_S: Final = 300
# Advisory locks are the database's, and other programs may use them too: ours are hashes with seeds of our own.
_STORE_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('secom-memory', 1936024429))"
_KEY_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1936024429))"
_ID_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(key, 1936024429)) FROM scopes WHERE id = %s"
_WAIT: Final = "SELECT set_config('lock_timeout', %s, true)"


def open_postgres(url: str, *, pool_size: int = _POOL, busy_timeout: float | None = None) -> SqlStore:
    """Open or make the store in one database, or in the schema that the URL's ``options`` name.

    Args:
        url: such as ``postgresql://user:password@host:5432/database``, with libpq's parameters after ``?``.
        pool_size: how many connections this process opens at most; calls beyond wait for one.
        busy_timeout: how many seconds a writer waits for another one; as long as the server's ``lock_timeout`` says
            unless given.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
        StoreError: the database cannot be reached, or does not keep its texts as UTF-8.
        SchemaTooNew: a later version of this package wrote it.
    """
    engine = postgres_engine(url, pool_size=pool_size)
    try:
        return SqlStore(engine, _begin, busy_timeout=busy_timeout)
    except StoreError:
        engine.dispose()
        raise


def postgres_engine(url: str, *, pool_size: int = _POOL) -> Engine:
    """What speaks to a database, as `open_postgres` has it.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
    """
    place, secrets = _without_secrets(_with_driver(url))
    try:
        engine = create_engine(
            place,
            connect_args=secrets,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=_WAIT_S,
            # A server that was started again is noticed before a transaction begins.
            pool_pre_ping=True,
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


def _configure(connection: Any, _record: Any) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        name = connection.info.dbname
        connection.close()
        raise StoreError(
            f"the database {name!r} keeps texts as {encoding}, which cannot hold all that people say; make one for the "
            "bank with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )
    with connection.cursor() as cursor:
        cursor.execute("SET client_encoding TO 'UTF8'")
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":
            # A turn that was acknowledged survives a crash of the server.
            cursor.execute("SET synchronous_commit TO on")
    connection.commit()


def _begin(connection: Connection, asked: Asked) -> None:
    if asked.single:
        return
    if not asked.write:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return
    if not asked.durable:
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
    if asked.wait is not None:
        # 0 would be to wait for ever.
        connection.exec_driver_sql(_WAIT, (str(max(1, int(asked.wait * 1000))),))
    # Whoever reads in order to write waits here for who is writing, and then reads what that one wrote.
    if asked.scope is None:
        connection.exec_driver_sql(_STORE_LOCK)
    else:
        connection.exec_driver_sql(_KEY_LOCK if isinstance(asked.scope, str) else _ID_LOCK, (asked.scope,))
