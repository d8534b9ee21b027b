"""BM25 by somebody else's library, with an inverse document frequency that is never negative."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def oracle(corpus: Sequence[Sequence[str]]) -> Any:
    """``rank_bm25.BM25Okapi`` of the corpus, a unit a list of terms; its `get_scores` takes the query's terms."""
    rank_bm25 = pytest.importorskip("rank_bm25", reason="rank_bm25 is the oracle of BM25")

    class Smoothed(rank_bm25.BM25Okapi):  # type: ignore[misc, name-defined, unused-ignore]
        def _calc_idf(self, holders: Mapping[str, int]) -> None:
            self.idf = {each: math.log1p((self.corpus_size - n + 0.5) / (n + 0.5)) for each, n in holders.items()}

    return Smoothed(list(map(list, corpus)))
