"""Deleting versions of summaries, the last ones first: SQLite lets cascades go no deeper than 1,000 rows."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, delete, func, select

from .schema import summaries

__all__ = ["drop_summaries"]

_BATCH: Final = 500


def drop_summaries(connection: Connection, scope_id: int, *since: Any) -> None:
    """Delete the scope's versions from the first that meets the conditions on; all of them where there is none.

    Args:
        connection: a transaction that writes.
        scope_id: whose.
        since: conditions on a version.
    """
    first = connection.scalar(select(func.min(summaries.c.id)).where(summaries.c.scope_id == scope_id, *since))
    if first is None:
        return
    doomed = connection.scalars(
        select(summaries.c.id)
        .where(summaries.c.scope_id == scope_id, summaries.c.id >= first)
        .order_by(summaries.c.id.desc())
    ).all()
    for start in range(0, len(doomed), _BATCH):
        connection.execute(delete(summaries).where(summaries.c.id.in_(doomed[start : start + _BATCH])))
