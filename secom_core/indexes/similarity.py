"""How similar two texts are by the terms that they share."""

from __future__ import annotations

import math
from collections.abc import Set

from secom_core.protocols import Statistics

__all__ = ["term_similarity"]


def term_similarity(ours: Set[str], theirs: Set[str], statistics: Statistics) -> float:
    """The cosine of two sets of terms, each weighted by its rarity; from 0 to 1.

    Args:
        ours: the terms of one text.
        theirs: those of the other.
        statistics: how common terms are.
    """
    weight = {term: math.log1p(statistics.total / (1 + statistics.frequency(term))) ** 2 for term in ours | theirs}
    norms = sum(weight[term] for term in ours) * sum(weight[term] for term in theirs)
    return sum(weight[term] for term in ours & theirs) / math.sqrt(norms) if norms else 0.0
