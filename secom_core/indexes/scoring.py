"""BM25's formula, over the units that hold a word of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from .growing_postings import apart, entries_in, together
from .postings import Ints
from .top import Ids, Scores

Entries: TypeAlias = bytearray | tuple[Ints, Ints]
"""The slots that hold a word, in rising order, and how often each does; as `GrowingPostings` has them, or apart."""

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


def words_of(weighed: Sequence[tuple[str, float]], entries: Sequence[Entries], ids: Ids, lengths: Ints) -> Words:
    """The words of a query, in one pass over their entries: an array for each would cost more than the search.

    Args:
        weighed: each word with what it weighs.
        entries: of each word.
        ids: of the units, by slot.
        lengths: how many terms each unit has, by slot.
    """
    parts = [each if isinstance(each, bytearray) else together(*each) for each in entries]
    rows, counts = apart(b"".join(parts))
    return Words(
        tuple(term for term, _ in weighed),
        np.array([weight for _, weight in weighed], dtype=np.float64),
        np.repeat(np.arange(len(weighed)), list(map(entries_in, parts))),
        ids[rows],
        counts.astype(np.float64),
        lengths[rows].astype(np.float64),
    )


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
    return np.asarray(np.bincount(words.ids, weights=words.scores(mean), minlength=size), dtype=np.float64)
