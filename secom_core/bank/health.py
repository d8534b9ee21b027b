"""How a bank is: asked by who watches over a process, at little cost and without an error."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ..errors import StoreError
from ..stores.database import waiting_at_most
from ..stores.migrations import version_of
from ..stores.sql import SqlStore
from .components import Components
from .records import Health, WriterHealth

_WAIT_S: Final = 0.2


def health_of(store: SqlStore, inside: Components, writers: Collection[WriterHealth]) -> Health:
    """How a bank is, with what its background writers say of themselves, and what its operations took."""
    schema, underived, unreadable = _read(store)
    unwritable = unreadable or _write_error(store)
    errors = [error for error in (unwritable, *(writer.last_error for writer in writers)) if error]
    return Health(
        reachable=unreadable is None,
        writable=unwritable is None,
        schema=schema,
        writer_alive=all(writer.is_alive for writer in writers),
        queued=sum(map(len, writers)),
        unwritten=sum(writer.unwritten for writer in writers),
        last_error=errors[0] if errors else None,
        underived=underived,
        scopes_loaded=len(inside.scopes),
        bytes_loaded=inside.scopes.nbytes,
        forgotten_in_log=store.forgotten_in_log,
        turns=inside.spending.turns,
        cost=inside.spending.cost,
        work=inside.operations.sums,
    )


def _read(store: SqlStore) -> tuple[int | None, int | None, str | None]:
    """The schema's version, how many sessions are not derived, and what was wrong."""
    try:
        with waiting_at_most(_WAIT_S):
            with store.transaction(write=False) as connection:
                schema = version_of(connection)
            return schema, store.count_underived(), None
    except StoreError as error:
        return None, None, str(error)


def _write_error(store: SqlStore) -> str | None:
    """Why nothing can be written; nothing where it can."""
    try:
        with waiting_at_most(_WAIT_S):
            store.check_writable()
    except StoreError as error:
        return str(error)
    return None
