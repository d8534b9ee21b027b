"""When the events were by which a question tells its time: "after the wedding" is after the day that tells of it."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..indexes.bm25 import BM25
from ..text.dates import Span
from ..text.event_times import EventTime, event_times
from ..text.life_events import life_event
from ..text.speech import only_asks
from ..text.totals import asks_in_all
from .passage_table import PassageTable, Rows
from .signals import Column, Days, Mask, passage_scores
from .speaking import REPLY

_KNOWN, _HELD = 0.4, 0.6
"""What share of the words for an event, by weight, has to be known: one of two. And of those, what tells of it has more
than one of two, as a course is mentioned long after it was begun."""

_READ: Final = 20
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

_NONE: Final[Rows] = np.zeros(0, dtype=np.int64)
_NO_SCORES: Final[Column] = np.zeros(0)

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
    tells = (table.kind != REPLY) & (table.memory >= 0) & (table.day > 0) & ~silent
    rows, scores = _of_kind(event, table, words, tells)
    if not len(rows):
        rows, scores = _by_words(event, table, words, tells)
    if not len(rows):
        return None
    at = table.at(rows)
    is_dated = (at.about_first > 0) & (at.about_last - at.about_first <= _SOME_DAYS)
    dated = rows[is_dated & (scores[rows] >= _AS_GOOD * scores[rows[0]])]
    row = int(dated[0] if len(dated) else rows[0])
    first, last = (table.about_first, table.about_last) if len(dated) else (table.day, table.day)
    return int(first[row]), int(last[row])


def _of_kind(event: str, table: PassageTable, words: BM25, tells: Mask) -> tuple[Rows, Column]:
    """The best rows that tell of an event of the kind that the words are for, and the scores of all rows."""
    kind = life_event(event)
    weighed = words.words(f"{event} {kind.words}") if kind else None
    if kind is None or not weighed:
        return _NONE, _NO_SCORES
    scores = passage_scores(weighed, table)
    rows = _telling(table, scores, tells & (scores > 0))
    return rows[[kind.told.search(table.passage(row).text) is not None for row in rows.tolist()]], scores


def _by_words(event: str, table: PassageTable, words: BM25, tells: Mask) -> tuple[Rows, Column]:
    """The best rows that hold the words themselves, where these are not too common, and the scores of all rows."""
    weighed = words.words(event)
    if not weighed or words.known(event) < _KNOWN:
        return _NONE, _NO_SCORES
    scores = passage_scores(weighed, table)
    held = np.bincount(weighed.ids, weights=weighed.idf[weighed.numbers], minlength=len(table) + 1)[table.source]
    holding = tells & (held >= _HELD * float(weighed.idf.sum()))
    if holding.sum() > max(_FEW, _COMMON * int((table.kind != REPLY).sum())):
        return _NONE, scores
    return _telling(table, scores, holding), scores


def _telling(table: PassageTable, scores: Column, among: Mask) -> Rows:
    """The best of the rows that do not only ask, best first."""
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(-scores[rows], kind="stable")[:_READ]]
    table.read(rows.tolist())
    return rows[[not only_asks(table.passage(row).text) for row in rows.tolist()]]
