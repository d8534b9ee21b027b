"""What tests of several folders share: the databases that a bank can live in."""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

import pytest
from postgres_server import PostgresServer, postgres_server
from sqlalchemy import Engine

from secom_core.stores import migrations
from secom_core.stores.opening import open_store
from secom_core.stores.sql import SqlStore

# Tests speak plain HTTP; all the world's certificates, read anew for each client, would take its first 20 ms.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("fixtures") / "certificate.pem")

# Processes that tests start would each compile the packages anew, for half a second.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if "PYTEST_XDIST_WORKER" in os.environ:
    # There is a worker for each processor: more threads would only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leaves two million objects, of libraries and tests, that never go out of each later search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what needs a PostgreSQL server, and leaves out the cases that are not worth their time."""
    products: dict[str, list[pytest.Item]] = {}
    spare: set[int] = set()
    for item in items:
        parameters = getattr(item, "callspec", None)
        if "postgres" in getattr(item, "fixturenames", ()) or (parameters and "postgres" in parameters.params.values()):
            item.add_marker(pytest.mark.postgres)
            if item.get_closest_marker("sqlite_only"):
                spare.add(id(item))
        if parameters and item.get_closest_marker("pairwise"):
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in products.values():
        spare |= set(map(id, cases)) - set(map(id, pairs(cases)))
    config.hook.pytest_deselected(items=[item for item in items if id(item) in spare])
    items[:] = [item for item in items if id(item) not in spare]
    if "PYTEST_XDIST_WORKER" in os.environ:
        # What takes long is begun first, so that no worker ends with it alone.
        items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pairs(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of a product of parameters so many cases that each two values meet in one, those with most new pairs first."""
    values = {case: sorted((name, repr(value)) for name, value in case.callspec.params.items()) for case in cases}  # type: ignore[attr-defined]
    left = {case: set(combinations(each, 2)) for case, each in values.items()}
    while left:
        best = max(left, key=lambda case: len(left[case]))
        yield best
        met = left.pop(best)
        left = {case: new for case, all_ in left.items() if (new := all_ - met)}


@pytest.fixture(scope="session", autouse=True)
def _stores_open_quickly() -> Iterator[None]:
    """Gives new files of SQLite their tables as a copy, and compiles each statement once for all stores of a kind.

    A store is so opened in a sixth of the time; of most tests that was the larger part. Other processes, encrypted
    files, and tests that ask for `every_step`, walk the steps; `tests/core/test_migrations.py` holds that the tables
    are the same.
    """
    walked, copying = open_store(), Lock()
    firsts: dict[Any, Engine] = {}

    def migrate(store: SqlStore) -> None:
        engine = store.engine
        first = firsts.setdefault(engine.dialect.loaded_dbapi, engine)
        engine.dialect, engine._compiled_cache = first.dialect, first._compiled_cache
        if engine.name == "sqlite" and not store.cipher.is_on:
            # What is no file of SQLite is left to the store to refuse.
            with copying, suppress(sqlite3.Error, UnicodeDecodeError):
                _copy_into_empty(engine, walked.engine)
        migrations.migrate(store)

    with patch("secom_core.stores.sql.migrate", migrate):
        yield
    walked.close()


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has new files walk every step, as they do outside of tests."""
    monkeypatch.setattr("secom_core.stores.sql.migrate", migrations.migrate)


def _copy_into_empty(engine: Engine, other: Engine) -> None:
    with closing(engine.raw_connection()) as to, closing(other.raw_connection()) as made:
        file: Any = to.driver_connection
        if not file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            made.driver_connection.backup(file)  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, started when the first test wants it."""
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a store with nothing in it."""
    with postgres.bank() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def each_store(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs a test on SQLite, and again on PostgreSQL: each file that it names is then a database of its own."""
    if request.param == "sqlite":
        yield
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with ExitStack() as lent:
        files: dict[str, str] = {}

        def opened(path: str | Path = ":memory:", **more: Any) -> SqlStore:
            if str(path) == ":memory:":
                own = lent.enter_context(ExitStack())
                store = open_store(own.enter_context(server.bank()), **more)
                own.callback(store.close)
                # Whoever closes it is done with it, and another example of the same test can have the database.
                monkeypatch.setattr(store, "close", own.close)
                return store
            if str(path) not in files:
                files[str(path)] = lent.enter_context(server.bank())
            return open_store(files[str(path)], **more)

        monkeypatch.setattr("secom_core.bank.bank.open_store", opened)
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: Any, tmp_path: Path) -> Path | str:
    """Where a bank is made, in this process and in others: a file, then a PostgreSQL database."""
    return tmp_path / "bank.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
