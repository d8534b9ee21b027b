"""The store on PostgreSQL: many processes on many machines, one writer at a time in a scope."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from ..errors import InvalidInput, MissingExtra, StoreError
from .sql import SqlStore

_SCHEMES: Final = ("postgresql://", "postgres://", "postgresql+psycopg://")
_POOL: Final = 10
_WAIT_S: Final = 300
# Advisory locks are the database's, and other programs may use them too: ours are hashes with seeds of our own.
_STORE_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('secom-memory', 1936024429))"
_KEY_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 1936024429))"
_ID_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(key, 1936024429)) FROM scopes WHERE id = %s"


def is_postgres(where: object) -> bool:
    """Whether ``where`` is a URL that `open_postgres` takes, and not the path of a file."""
    return str(where).startswith(_SCHEMES)


def open_postgres(url: str, *, pool_size: int = _POOL) -> SqlStore:
    """Open or make the store in one database, or in the schema that the URL's ``options`` name.

    Args:
        url: such as ``postgresql://user:password@host:5432/database``, with libpq's parameters after ``?``.
        pool_size: how many connections this process opens at most; calls beyond wait for one.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
        StoreError: the database cannot be reached.
        SchemaTooNew: a later version of this package wrote it.
    """
    engine = postgres_engine(url, pool_size=pool_size)
    event.listen(engine, "begin", _begin)
    try:
        return SqlStore(engine)
    except StoreError:
        engine.dispose()
        raise


def postgres_engine(url: str, *, pool_size: int = _POOL) -> Engine:
    """What speaks to a database, as `open_postgres` has it.

    Raises:
        InvalidInput: the URL cannot be read.
        MissingExtra: psycopg is not installed.
    """
    try:
        engine = create_engine(
            _with_driver(url),
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
    event.listen(engine, "connect", _configure)
    return engine


def _with_driver(url: str) -> URL:
    _, _, rest = url.partition("://")
    try:
        return make_url(f"postgresql+psycopg://{rest}")
    except (ArgumentError, ValueError) as error:
        # The URL itself may hold a password.
        raise InvalidInput(
            "expected postgresql://user:password@host:5432/database, got a URL that is not one"
        ) from error


def _configure(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET client_encoding TO 'UTF8'")
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":
            # A turn that was acknowledged survives a crash of the server.
            cursor.execute("SET synchronous_commit TO on")
    connection.commit()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("secom_write", True):
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return
    if not options.get("secom_durable", True):
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
    # Whoever reads in order to write waits here for who is writing, and then reads what that one wrote.
    scope = options.get("secom_scope")
    if scope is None:
        connection.exec_driver_sql(_STORE_LOCK)
    else:
        connection.exec_driver_sql(_KEY_LOCK if isinstance(scope, str) else _ID_LOCK, (scope,))
