"""What a user tells, before all else, where a question is answered by many turns of it."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..text.totals import tells_of_nobody
from .passage_table import PassageTable, Rows
from .signals import Column
from .speaking import SAID_BY_USER

_TELLS: Final = 2.0
"""How much more it is worth: what is told in passing shares few words with such a question, or none, and what was
asked about the same things, and the replies to that, share most."""


def own_words_first(scores: Column, table: PassageTable, pool: Rows) -> Column:
    """The scores, with more for what a user tells to an assistant than for questions and replies.

    Args:
        scores: of the pool.
        table: the passages.
        pool: rows.
    """
    tells = table.kind[pool] == SAID_BY_USER
    asking = np.flatnonzero(tells & (table.asks[pool] > 0))
    table.read(pool[asking].tolist())
    tells[asking] = [not tells_of_nobody(table.passage(row).text) for row in pool[asking].tolist()]
    return np.asarray(scores + _TELLS * tells)
