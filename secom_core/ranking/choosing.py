"""How many of what was found is looked at, and each but once."""

from __future__ import annotations

import numpy as np

from ..indexes.top import begins
from .passage_table import PassageTable, Rows

_FEWEST, _ENOUGH = 100, 6
"""How many finds a budget is filled from: the fewest, and how much more than there is room for."""


def enough_for(table: PassageTable, budget: int, rows: Rows) -> int:
    """How many of the rows, best first, are worth a look where there is room for so many tokens."""
    tokens = np.where(table.short[rows] > 0, table.turn_tokens[rows], table.tokens[rows])
    return max(_FEWEST, int(np.searchsorted(np.cumsum(tokens), _ENOUGH * budget)) + 1)


def each_once(table: PassageTable, pool: Rows, order: Rows) -> Rows:
    """The places of the pool in this order, with the best passage only of a turn that is shown whole."""
    rows = pool[order]
    unit = np.where(table.short[rows] > 0, table.head[rows], rows)
    in_units = np.argsort(unit, kind="stable")
    first = in_units[begins(unit[in_units])]
    return order[np.sort(first)]
