"""Banks that earlier schemas wrote, on either database, and what a database holds: its tables and all of their rows."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy import BigInteger, MetaData, insert, inspect

from secom_core.stores import migrations
from secom_core.stores.migrations import STEPS, VERSION, Step
from secom_core.stores.opening import open_store
from secom_core.stores.places import is_postgres
from secom_core.stores.sql import SqlStore

FIXTURES = Path(__file__).parents[1] / "fixtures"
_spec = importlib.util.spec_from_file_location("make_schema_dump", FIXTURES / "make_schema_dump.py")
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)

# What reflection does not tell: that ids are given once, and constraints in the server's own words.
_BESIDES = {
    "sqlite": "SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE type = 'table' ORDER BY name",
    "postgresql": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = current_schema()::regnamespace AND contype <> 'n' ORDER BY 1, 2",
}


@contextmanager
def opened(where: Path | str, steps: Sequence[Step] = STEPS) -> Iterator[SqlStore]:
    """The store, opened by code that knows these steps."""
    with patch.object(migrations, "STEPS", tuple(steps)):
        store = open_store(where)
    try:
        yield store
    finally:
        store.close()


def write_old(where: Path | str, version: int) -> Path | str:
    """Make the bank that the code of a version wrote; of version 0 there is none."""
    if is_postgres(where):
        with opened(where, STEPS[:version]) as store:
            if version:
                _copy_rows(version, store)
    elif version:
        with closing(sqlite3.connect(where)) as connection:
            connection.executescript(_dump(version))
    return where


def _dump(version: int) -> str:
    return (FIXTURES / f"schema_{version}.sql").read_text(encoding="utf-8")


def _copy_rows(version: int, store: SqlStore) -> None:
    tables = MetaData()
    with closing(sqlite3.connect(":memory:")) as old, store.transaction() as connection:
        old.executescript(_dump(version))
        old.row_factory = sqlite3.Row
        tables.reflect(connection)
        tables.remove(tables.tables["schema_versions"])
        for table in tables.sorted_tables:
            rows = [dict(row) for row in old.execute(f'SELECT * FROM "{table.name}" ORDER BY 1')]
            if rows:
                connection.execute(insert(table), rows)
            if "id" in table.c and isinstance(table.c.id.type, BigInteger):
                connection.exec_driver_sql(f"SELECT setval('{table.name}_id_seq', 1000)")


def tables_of(store: SqlStore) -> dict[str, Any]:
    """Every table with its columns, keys, constraints and indexes, as the database tells them."""
    with store.transaction(write=False) as connection:
        found = inspect(connection)
        told: dict[str, Any] = {
            name: (
                [(each["name"], str(each["type"]), each["nullable"], each["default"]) for each in columns],
                found.get_pk_constraint(name),
                *(
                    sorted(map(_as_text, each(name)), key=str)
                    for each in (found.get_foreign_keys, found.get_unique_constraints, found.get_indexes)
                ),
            )
            for name in found.get_table_names()
            for columns in [found.get_columns(name)]
        }
        told[""] = [tuple(row) for row in connection.exec_driver_sql(_BESIDES[store.engine.dialect.name])]
    return told


def _as_text(constraint: Any) -> dict[str, Any]:
    """A constraint or an index, the condition of a partial one in words."""
    options = {name: str(value) for name, value in constraint.get("dialect_options", {}).items()}
    return {**constraint, "dialect_options": options}


def rows_of(store: SqlStore) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that has any."""
    tables = MetaData()
    with store.transaction(write=False) as connection:
        tables.reflect(connection)
        rows = {
            name: [dict(row) for row in connection.execute(table.select()).mappings()]
            for name, table in tables.tables.items()
        }
    return {name: sorted(found, key=str) for name, found in rows.items() if found}


def versions(upto: int = VERSION) -> list[dict[str, int]]:
    """The rows of the table that says which steps were walked."""
    return sorted(({"version": number} for number in range(1, upto + 1)), key=str)
