"""Single statements that every turn reads by, straight through the driver: a transaction would cost five times as much.

What they give is as of one moment, as a statement by itself always is. They are for SQLite; on a server, the way there
and back is what costs.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Dialect, Select

_STATEMENTS: Final = 256
"""How many statements are kept in the words of a database; the project has a dozen."""

_Process = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Glance:
    """A statement in the words of a database.

    Args:
        words: the SQL.
        order: the names of the parameters, in their order.
        own: the values of those that the statement brings itself.
        given: what makes of a parameter what the database takes, by name, where something has to.
        found: the same for the columns of a row, by their places.
        row: makes a row of its values; they are its attributes by the names of the columns.
    """

    words: str
    order: Sequence[str]
    own: Mapping[str, Any]
    given: Mapping[str, _Process]
    found: Mapping[int, _Process]
    row: Callable[[Iterable[Any]], Any]

    def rows(self, connection: Any, values: Mapping[str, Any]) -> list[Any]:
        """What it finds.

        Args:
            connection: the driver's, in no transaction.
            values: the parameters.
        """
        values = {**self.own, **values}
        given = [self.given[name](values[name]) if name in self.given else values[name] for name in self.order]
        found = connection.execute(self.words, given).fetchall()
        if not self.found:
            return [self.row(each) for each in found]
        return [self.row(self._read(each)) for each in found]

    def _read(self, row: Sequence[Any]) -> list[Any]:
        return [self.found[place](value) if place in self.found else value for place, value in enumerate(row)]


@lru_cache(maxsize=_STATEMENTS)
def glance_of(statement: Select[Any], dialect: Dialect) -> Glance:
    """The statement in the words of a database whose parameters stand in an order.

    Args:
        statement: one that is made once, and not for each call.
        dialect: of the database.
    """
    compiled: Any = statement.compile(dialect=dialect)
    given = {name: compiled.binds[name].type.bind_processor(dialect) for name in compiled.positiontup}
    found = {place: column.type.result_processor(dialect, None) for place, column in enumerate(_columns(statement))}
    row: Any = namedtuple("Row", [column.key for column in _columns(statement)])  # type: ignore[misc]
    return Glance(
        compiled.string,
        tuple(compiled.positiontup),
        compiled.params,
        {name: process for name, process in given.items() if process is not None},
        {place: process for place, process in found.items() if process is not None},
        row._make,
    )


def _columns(statement: Select[Any]) -> list[Any]:
    return list(statement.selected_columns)
