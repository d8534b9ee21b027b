"""How many of what was found is looked at, each but once; and how often it was said."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ..indexes.top import begins
from .passage_table import PassageTable, Rows

_FEWEST, _ENOUGH = 150, 3
"""How many finds a budget is filled from: the fewest, and how much more than there is room for. Of six times as much,
LoCoMo and BEAM find the same to 0.001 (`benchmarks.retrieval`, `benchmarks.chats`)."""

Measures: TypeAlias = tuple[list[int], list[bool], list[int], list[int], list[bool]]
"""Of rows: themselves, whether the turn is shown whole, how many tokens are, its memory, whether it was said again."""


def measures(table: PassageTable, rows: Rows) -> Measures:
    """What finds are made of, for all rows at once: a recall looks at more than a hundred."""
    at = table.at(rows)
    is_whole = at.short > 0
    tokens = np.where(is_whole, at.turn_tokens, at.tokens)
    is_repeated = table.at(at.source).times > 1
    return rows.tolist(), is_whole.tolist(), tokens.tolist(), table.memory[rows].tolist(), is_repeated.tolist()


def enough_for(table: PassageTable, budget: int, rows: Rows) -> int:
    """How many of the rows, best first, are worth a look where there is room for so many tokens."""
    at = table.at(rows)
    tokens = np.where(at.short > 0, at.turn_tokens, at.tokens)
    return max(_FEWEST, int(np.searchsorted(np.cumsum(tokens), _ENOUGH * budget)) + 1)


def each_once(table: PassageTable, pool: Rows, order: Rows) -> Rows:
    """The places of the pool in this order, with the best passage only of a turn that is shown whole."""
    rows = pool[order]
    unit = np.where(table.at(rows).short > 0, table.head[rows], rows)
    in_units = np.argsort(unit, kind="stable")
    first = in_units[begins(unit[in_units])]
    return order[np.sort(first)]


class TimesSaid:
    """How often the whole turn of a row was said: a question that was answered otherwise is no repeat.

    Args:
        table: the passages.
    """

    def __init__(self, table: PassageTable) -> None:
        self._table = table
        self._known: dict[int, int] = {}

    def clear(self) -> None:
        """Count again: rows have come or gone."""
        self._known.clear()

    def __call__(self, row: int) -> int:
        """How often the turn of a row was said."""
        table = self._table
        head = table.head.item(row)
        if head not in self._known:
            self._known[head] = min(table.repeats.turns(each, table.head.item) for each in table.rows_from(head))
        return self._known[head]
