"""What was told last, or first, before what answers a question as well, where that is asked for."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..indexes.scoring import Words
from ..text.first_or_last import End
from ..text.speech import only_asks
from .passage_table import PassageTable, Rows
from .signals import Column
from .speaking import REPLY

_MOST: Final = 3.0
"""How much more the last is worth than the first of them."""

_AS_MUCH: Final = 0.5
"""Which share of the words that one holds, by weight, the others hold that answer as well."""

_LOOKED_AT: Final = 60
"""How many are looked at, the best."""


def in_time_order(scores: Column, table: PassageTable, pool: Rows, words: Words, end: End) -> Column:
    """The scores, with more for what was told later, or earlier, of what holds the same words of the query.

    Args:
        scores: of the pool.
        table: the passages.
        pool: rows.
        words: of the query.
        end: which of them is asked for.
    """
    if not len(words):
        return scores
    held = np.bincount(words.ids, weights=words.idf[words.numbers], minlength=len(table) + 1)[table.source][pool]
    tells = (table.kind[pool] != REPLY) & (table.day[pool] > 0) & (held > 0)
    if not tells.any():
        return scores
    alike = np.flatnonzero(tells & (held >= _AS_MUCH * held[tells].max()))
    alike = alike[np.argsort(-scores[alike], kind="stable")[:_LOOKED_AT]]
    table.read(pool[alike].tolist())
    alike = alike[[not only_asks(table.passage(row).text) for row in pool[alike].tolist()]]
    days, places = np.unique(table.day[pool[alike]], return_inverse=True)
    later = places / max(len(days) - 1, 1)
    raised: Column = scores.copy()
    raised[alike] += _MOST * (later if end == "last" else 1 - later)
    return raised
