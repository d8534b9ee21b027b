"""When the events were by which a question tells its time: "after the wedding" is after the day that tells of it."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..indexes.bm25 import BM25
from ..text.dates import Span
from ..text.event_times import EventTime, event_times
from ..text.life_events import LifeEvent, life_event
from ..text.speech import only_asks
from ..text.totals import asks_in_all
from .passage_table import PassageTable, Rows
from .signals import Column, Days, Mask, passage_scores
from .speaking import REPLY

_KNOWN: Final = 0.5
"""What share of the words for an event, by weight, has to be known, and to stand in what tells of it."""

_READ: Final = 12
"""How many passages that may tell of the event are read, the best."""

_FEW, _COMMON = 8, 0.1
"""How many of what users say may hold the words for an event: so many, or such a share."""

_AS_GOOD: Final = 0.6
"""What share of the best score one has at least that tells a day."""

_SOME_DAYS: Final = 3
"""Over how many days it goes at most."""

_SURE: Final = 0.8
"""What such a time counts beside days that are named: what tells of the event is found by its words."""

_FAR: Final = 0.5
"""What it counts to be said before or after an event, but not near it."""

_NEAR: Final = {"before": 45, "after": 30, "during": 10}
"""How many days before and after an event are near, and how long one goes on that is not told."""


def event_scores(query: str, table: PassageTable, words: BM25, silent: Mask) -> Column | None:
    """Of each passage, whether it was said in the time that a question tells by an event; `None` where it tells none.

    Where nothing tells of the event, the question is as one without it.

    Args:
        query: the question.
        table: what was said.
        words: the index of its passages.
        silent: the passages that count for nothing.
    """
    far = 1.0 if asks_in_all(query) else _FAR
    scores = [found for each in event_times(query) if (found := _scores(each, far, table, words, silent)) is not None]
    return _SURE * np.maximum.reduce(scores) if scores else None


def _scores(asked: EventTime, far: float, table: PassageTable, words: BM25, silent: Mask) -> Column | None:
    days = _days_of(asked.event, table, words, silent)
    if days is None:
        return None
    first, last = days
    day, end = table.day, int(table.day.max(initial=0))
    if asked.relation == "between":
        until = _days_of(asked.other, table, words, silent)
        return None if until is None else _within(day, min(first, until[0]), max(last, until[1]))
    if asked.days is not None:
        # Nobody remembers to the day: half as long again.
        most = asked.days + asked.days // 2 + 1
        return _within(day, first - most, first - 1) if asked.relation == "before" else _within(day, last, last + most)
    if asked.relation == "since":
        return _within(day, first, end)
    near = _NEAR[asked.relation]
    if asked.relation == "before":
        return np.maximum(_within(day, first - near, first), far * _within(day, 1, first))
    if asked.relation == "after":
        return np.maximum(_within(day, first, last + near), far * _within(day, first, end))
    return np.maximum(_within(day, first - 1, last + near), far * _within(day, first - near, last + 3 * near))


def _within(day: Days, first: int, last: int) -> Column:
    return ((day >= first) & (day <= last)).astype(np.float64)


def _days_of(event: str, table: PassageTable, words: BM25, silent: Mask) -> Span | None:
    """The first and the last day of what the words are for; nothing where nobody tells of it.

    Of several that may tell of it, one that tells a day: "We got married today", "The exam is on 3 May". Nothing where
    the words are so common that they tell of nothing in particular.
    """
    kind = life_event(event)
    if kind is None and words.known(event) < _KNOWN:
        return None
    weighed = words.words(f"{event} {kind.words}" if kind else event)
    if not len(weighed):
        return None
    scores = passage_scores(weighed, table)
    tells = (table.kind != REPLY) & (table.memory >= 0) & (table.day > 0) & ~silent & (scores > 0)
    if kind is None:
        held = np.bincount(weighed.ids, weights=weighed.idf[weighed.numbers], minlength=len(table) + 1)[table.source]
        tells &= held >= _KNOWN * float(weighed.idf.sum())
    rows = np.flatnonzero(tells)
    if kind is None and len(rows) > max(_FEW, _COMMON * int((table.kind != REPLY).sum())):
        return None
    rows = _telling(table, rows[np.argsort(-scores[rows], kind="stable")[:_READ]], kind)
    if not len(rows):
        return None
    at = table.at(rows)
    is_dated = (at.about_first > 0) & (at.about_last - at.about_first <= _SOME_DAYS)
    dated = rows[is_dated & (scores[rows] >= _AS_GOOD * scores[rows[0]])]
    row = int(dated[0] if len(dated) else rows[0])
    first, last = (table.about_first, table.about_last) if len(dated) else (table.day, table.day)
    return int(first[row]), int(last[row])


def _telling(table: PassageTable, rows: Rows, kind: LifeEvent | None) -> Rows:
    """Those that do not only ask, and tell of an event of that kind."""
    table.read(rows.tolist())
    texts = (table.passage(row).text for row in rows.tolist())
    tells = [not only_asks(text) and (kind is None or kind.told.search(text) is not None) for text in texts]
    return rows[np.array(tells, dtype=np.bool_)]
