"""Texts found by their vectors where all have one, else by their words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy.typing as npt

from ..protocols import Statistics
from ..text.terms import terms
from ..vectors import Vectors
from .bm25 import BM25
from .fusion import standardise
from .top import Ids, Scores
from .vector import VectorIndex


class TextIndex:
    """Texts with an id each. Calls must not overlap with a change."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self._words, self._vectors = BM25(), VectorIndex()

    def add(self, ids: Sequence[int], texts: Sequence[str], vectors: npt.ArrayLike | None = None) -> None:
        """Add texts, or replace those whose id is known.

        Args:
            ids: one integer a text.
            texts: the texts.
            vectors: theirs, shape ``(n, d)``, where there are any; others may come by `add_vectors`.
        """
        self.texts.update(zip(ids, texts, strict=True))
        self._words.add(ids, texts)
        self._vectors.remove(ids)
        if vectors is not None and ids:
            self._vectors.add(ids, vectors)

    def add_vectors(self, ids: Sequence[int], vectors: npt.ArrayLike) -> None:
        """Give texts that are there their vectors, shape ``(n, d)``."""
        self._vectors.add(ids, vectors)

    def remove(self, ids: Sequence[int]) -> None:
        """Remove texts; unknown ids are passed over."""
        for id_ in ids:
            self.texts.pop(id_, None)
        self._words.remove(ids)
        self._vectors.remove(ids)

    @property
    def has_vectors(self) -> bool:
        """Whether every text has a vector."""
        return len(self._vectors) == len(self.texts)

    def vectors_of(self, ids: Sequence[int]) -> Vectors | None:
        """The vectors of texts, shape ``(len(ids), d)``; nothing where one has none."""
        return self._vectors.vectors_of(ids)

    def search(self, text: str, vector: Vectors | None, k: int) -> list[tuple[int, float]]:
        """The ids of the ``k`` texts that answer a query best with their scores, best first, ties by id.

        Args:
            text: the query.
            vector: its vector, where there is one; then the score is the cosine, where all texts have vectors.
            k: how many.
        """
        if vector is not None and self.has_vectors:
            return self._vectors.search(vector, k)
        return self._words.search(text, k)

    def similar(
        self, text: str, vector: Vectors | None, k: int, statistics: Statistics | None = None, *, besides: str = ""
    ) -> list[tuple[int, float]]:
        """As `search`, with the similarity from 0 to 1 in place of the score: the cosine, or `similarity`."""
        found = self.search(text, vector, k)
        if vector is not None and self.has_vectors:
            return [(id_, max(0.0, cosine)) for id_, cosine in found]
        return [(id_, self.similarity(text, self.texts[id_], statistics, besides=besides)) for id_, _ in found]

    def similarity(self, text: str, other: str, statistics: Statistics | None = None, *, besides: str = "") -> float:
        """How similar two texts are by words: the cosine of their sets of terms, from 0 to 1.

        Each term is weighted by its rarity. Terms are as common as in ``statistics``, or as among these texts.

        Args:
            text: one of them.
            other: the other.
            statistics: how common terms are.
            besides: words that count for nothing, such as the speaker's name, which all have.
        """
        known, apart = statistics or self._words, frozenset(terms(besides))
        ours, theirs = frozenset(terms(text)) - apart, frozenset(terms(other)) - apart
        weight = {term: math.log1p(known.total / (1 + known.frequency(term))) ** 2 for term in ours | theirs}
        norms = sum(weight[term] for term in ours) * sum(weight[term] for term in theirs)
        return sum(weight[term] for term in ours & theirs) / math.sqrt(norms) if norms else 0.0

    def standardised(self, text: str, vector: Vectors) -> tuple[Ids, Scores, Scores]:
        """All ids with the scores by vector and by words, each with mean 0 and deviation 1; all have vectors."""
        ids, cosines = self._vectors.scores(vector)
        by_words = dict(zip(*(each.tolist() for each in self._words.scores(text)), strict=True))
        return ids, standardise(cosines), standardise([by_words.get(id_, 0.0) for id_ in ids.tolist()])
