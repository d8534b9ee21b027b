"""BM25's formula, over the units that hold a word of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from .top import Ids, Scores

_K1: Final = 1.5
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query.

    Args:
        term: it, as it is indexed.
        idf: its inverse document frequency, times what it weighs in the query.
        ids: the units that hold it.
        counts: how often each of them does.
        lengths: how many terms each of them has.
    """

    term: str
    idf: float
    ids: Ids
    counts: Scores
    lengths: Scores

    def scores(self, mean: float) -> Scores:
        """What it adds to the score of each of them, where units have ``mean`` terms on average."""
        return self.idf * saturated(self.counts, self.lengths, mean)


def saturated(counts: Scores, lengths: Scores, mean: float) -> Scores:
    """BM25's term frequency part (Robertson & Zaragoza 2009, eq. 3.15; k1 = 1.5, b = 0.75), without the idf.

    Args:
        counts: how often units hold a word.
        lengths: how many terms each of them has.
        mean: how many terms a unit has on average.
    """
    return np.asarray(counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * lengths / max(mean, 1e-9))))


def summed_scores(words: Iterable[Word], mean: float, size: int) -> Scores:
    """The BM25 scores of all units by their ids, which are below ``size``; shape ``(size,)``."""
    scores = np.zeros(size)
    for word in words:
        scores[word.ids] += word.scores(mean)
    return scores
