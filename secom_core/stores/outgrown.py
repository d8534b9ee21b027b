"""A database that a later version of the package upgraded while this process has it open."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ..errors import SchemaTooNew

_SAID: Final = ("no such column", "no such table", "has no column named", "ON CONFLICT clause does not match")
"""What SQLite says of a statement that was made for other tables."""
_STATE: Final = "42"
"""How the codes of PostgreSQL's errors begin that say so."""


def outgrown(engine: Engine, known: int | None, error: Exception, place: str) -> SchemaTooNew | None:
    """What to raise where the database has a later schema than the one known, and an error may come from that.

    Args:
        engine: speaks to the database.
        known: the schema that it had when it was opened; nothing while it is being opened.
        error: of the driver, or SQLAlchemy's around it; after others the database is not asked.
        place: the database as errors name it.
    """
    original = getattr(error, "orig", None) or error
    is_of_tables = str(getattr(original, "sqlstate", None)).startswith(_STATE) or any(
        said in str(original) for said in _SAID
    )
    if known is None or not is_of_tables:
        return None
    try:
        with engine.connect() as connection:
            found = connection.exec_driver_sql("SELECT max(version) FROM schema_versions").scalar()
    except SQLAlchemyError:
        # The error itself says more.
        return None
    if found is None or found <= known:
        return None
    return SchemaTooNew(
        f"the store at {place} was upgraded to schema {found} while this process, which knows {known}, had it open; "
        "this call wrote nothing; end this process, and start it with the secom-memory that upgraded the store"
    )
