"""How a database came by its tables: numbered steps, each as frozen SQL for either database.

``0001.sqlite.sql`` is step 1 on SQLite. No step looks at the tables as they are today, so a new column changes no step:
it takes a step of its own, which new files walk like old ones. A step that SQLite's ``ALTER TABLE`` cannot take makes
the table anew under another name, copies the rows and its row of ``sqlite_sequence``, drops the old one and renames
the new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from sqlite3 import complete_statement
from typing import Final, TypeAlias

from sqlalchemy import Connection, Integer, column, func, insert, inspect, select, table

from ...errors import SchemaTooNew, StoreError
from ..database import Database, retry_if_contended

__all__ = ["STEPS", "VERSION", "Step", "migrate", "version_of"]

Step: TypeAlias = Callable[[Connection], None]
"""What brings the tables from one version to the next, inside a transaction that is not its own."""

_VERSIONS: Final = table("schema_versions", column("version", Integer))


def _run_text(number: int, connection: Connection) -> None:
    text = files(__name__).joinpath(f"{number:04}.{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in _statements(text):
        # Without parameters a percent sign is one.
        connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


@cache
def _statements(text: str) -> Sequence[str]:
    statements = [""]
    for line in text.splitlines(keepends=True):
        statements[-1] += line
        if complete_statement(statements[-1]):
            statements.append("")
    return tuple(filter(str.strip, statements))


STEPS: Final[tuple[Step, ...]] = tuple(partial(_run_text, number) for number in range(1, 15))
"""From nothing to today's tables. Append one to change them; never edit one, as databases have walked it."""

VERSION: Final = len(STEPS)
"""The version of today's tables."""


@retry_if_contended
def migrate(database: Database, steps: Sequence[Step] | None = None) -> None:
    """Bring the database to the last step, all in one transaction; an up-to-date one is only read.

    Args:
        database: the database; where there is nothing in it, it walks every step.
        steps: every step from nothing on; `STEPS` unless given.

    Raises:
        SchemaTooNew: a later version of the package wrote it.
        StoreError: a step failed, or left a row that names one which is not there; the database is as it was.
    """
    steps = STEPS if steps is None else steps
    with database.transaction(write=False) as connection:
        missing = _missing(connection, steps)
    if not missing:
        database.schema = len(steps)
        return
    with database.transaction(migrating=True) as connection:
        # Another process may have walked them while this one waited.
        for number in _missing(connection, steps):
            steps[number - 1](connection)
            connection.execute(insert(_VERSIONS).values(version=number))
        _check_references(connection)
    database.schema = len(steps)


def version_of(connection: Connection) -> int:
    """The version of the tables that are there; 0 where there are none."""
    exists = inspect(connection).has_table(_VERSIONS.name)
    return (connection.scalar(select(func.max(_VERSIONS.c.version))) or 0) if exists else 0


def _missing(connection: Connection, steps: Sequence[Step]) -> range:
    version = version_of(connection)
    if version > len(steps):
        raise SchemaTooNew(f"the store has schema {version}, this package knows {len(steps)}; upgrade secom-memory")
    return range(version + 1, len(steps) + 1)


def _check_references(connection: Connection) -> None:
    """SQLite does not enforce foreign keys while it migrates; PostgreSQL always does."""
    if connection.dialect.name != "sqlite":
        return
    dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if dangling is not None:
        table, parent = dangling.table, dangling.parent
        raise StoreError(f"the store cannot be migrated: a row of {table} names one of {parent} that is not there")
