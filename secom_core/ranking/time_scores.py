"""How well each passage fits the time that a question tells: days, or an event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from ..indexes.bm25 import BM25
from ..text.dates import Span
from ..text.periods import days_named
from .event_days import event_scores
from .last_times import last_times
from .passage_table import PassageTable
from .signals import LATER, Column, Mask, dated


def time_scores(query: str, now: datetime | None, table: PassageTable, words: BM25, silent: Mask) -> Column | None:
    """For each passage, 1 where it was said in the time that a question tells, or speaks of it, less where near it.

    Args:
        query: the question.
        now: when it is asked, where known.
        table: what was said.
        words: the index of its passages.
        silent: the passages that count for nothing.

    Returns:
        ``None`` where the question tells no time.
    """
    days: Sequence[Span] = days_named(query, None, table.years) if now is None else ()
    earlier: Sequence[Span] = ()
    if now is not None:
        days, earlier = last_times(days_named, query, now.date(), table)
    if not days:
        return event_scores(query, table, words, silent)
    on_days = dated(days, table)
    return np.maximum(on_days, LATER * dated(earlier, table)) if earlier else on_days
