"""BM25's formula, over the units that hold a word of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from .top import Ids, Scores

_K1: Final = 1.5
_B: Final = 0.75


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a query, and where they occur: word after word, once in a unit.

    Args:
        terms: the words, as they are indexed.
        idf: the inverse document frequency of each, times what it weighs in the query; shape ``(words,)``.
        numbers: which of the words each occurrence is of; this and what follows of shape ``(occurrences,)``.
        ids: the unit of each.
        counts: how often it holds the word.
        lengths: how many terms it has.
    """

    terms: tuple[str, ...]
    idf: Scores
    numbers: Ids
    ids: Ids
    counts: Scores
    lengths: Scores

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.terms)

    def scores(self, mean: float) -> Scores:
        """What each occurrence adds to the score of its unit, where units have ``mean`` terms on average."""
        return np.asarray(self.idf[self.numbers] * saturated(self.counts, self.lengths, mean))


def saturated(counts: Scores, lengths: Scores, mean: float) -> Scores:
    """BM25's term frequency part (Robertson & Zaragoza 2009, eq. 3.15; k1 = 1.5, b = 0.75), without the idf.

    Args:
        counts: how often units hold a word.
        lengths: how many terms each of them has.
        mean: how many terms a unit has on average.
    """
    return np.asarray(counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * lengths / max(mean, 1e-9))))


def summed_scores(words: Words, mean: float, size: int) -> Scores:
    """The BM25 scores of all units by their ids, which are below ``size``; shape ``(size,)``."""
    return np.bincount(words.ids, weights=words.scores(mean), minlength=size).astype(np.float64)
