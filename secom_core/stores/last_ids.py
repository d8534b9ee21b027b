"""Ids that are the last there can be, as only a damaged file has them: SQLite gives no new one after them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Table, func, select, update

from .database import Database

_LAST: Final = 2**63 - 1


def free_last_ids(store: Database, tables: Iterable[Table]) -> None:
    """Give the rows that have the last id another, so that their tables take new rows; what rests on one is an orphan.

    Args:
        store: PostgreSQL counts ids apart from the rows, so nothing is done there.
        tables: those whose key is an ``id`` that the database gives.
    """
    keyed = [table for table in tables if [column.name for column in table.primary_key.columns] == ["id"]]
    with store.transaction(write=False) as connection:
        if connection.dialect.name != "sqlite":
            return
        full = [table for table in keyed if connection.scalar(select(func.max(table.c.id))) == _LAST]
    if full:
        with store.transaction(migrating=True) as connection:
            for table in full:
                free = select(func.coalesce(func.max(table.c.id), 0) + 1).where(table.c.id < _LAST).scalar_subquery()
                connection.execute(update(table).where(table.c.id == _LAST).values(id=free))
