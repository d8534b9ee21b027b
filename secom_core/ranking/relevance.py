"""How likely it is that what was found helps to answer, as a chance that means the same for every query.

Scores are standardised within one search, so they say nothing across searches. A logistic regression reads how far a
passage stands out among what was found, and how much of the query it holds. ``benchmarks/fit_relevance.py`` fits it on
the sets that the weights are fitted on; ``benchmarks/calibration.py`` shows how far it is to be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ..memory import Hit, Recall
from ..vectors import row_products
from .passage_table import Rows
from .signals import Column

CALIBRATED: Final = ("window_coverage", "passage_coverage")
"""The signals that are read raw. Cosines add nothing to what the score says of them, and each embedder's differ."""

_LEXICAL: Final = (0.91, 0.89, -0.19, -0.53, 0.53)
_DENSE: Final = (1.0, 0.9, -0.22, -0.39, 0.27)
"""The constant, and the weights of `features`; where scores are by words alone, and where vectors take part."""

_CONFIDENCE: Final = (-3.4, 0.2, 4.2, 4.0)
"""The constant, and the weights of `evidence_features`."""

_SURE: Final = 500.0
"""From which logit on a chance is 1 in any case; ``exp`` takes no more than 709."""


def likeliest_first(recall: Recall) -> list[Hit]:
    """The hits, the likeliest to help first; in a bank with the paper's reranker, what was found in its order."""
    if recall.impression is None:
        return sorted(recall.ranked, key=lambda hit: -hit.relevance)
    return sorted(recall.ranked, key=lambda hit: 0.0 if hit.kind == "relevant" else 1 - hit.relevance)


def relevances(columns: Mapping[str, Column], scores: Column, best: Rows, *, dense: bool) -> Column:
    """The chance of each passage that it helps to answer, from 0 to 1; shape ``(len(best),)``.

    Args:
        columns: the raw signals of the pool, with those of `CALIBRATED`.
        scores: of the pool.
        best: the places in the pool that are asked about, best first.
        dense: whether vectors took part in the scores.
    """
    constant, *weights = _DENSE if dense else _LEXICAL
    return chance(constant + row_products(features(columns, scores, best), np.array(weights)))


def features(columns: Mapping[str, Column], scores: Column, best: Rows) -> Column:
    """What the chance is read from: a row each of `best`.

    Its share of the softmax of the scores, which is what the weights were fitted to predict, as a logarithm; that of
    its rank; and the signals of `CALIBRATED`.
    """
    own = scores[best] - scores[best].max(initial=-np.inf)
    share = own - np.log(np.exp(own).sum())
    rank = np.log1p(np.arange(len(best)))
    return np.stack([share, rank, *(columns[name][best] for name in CALIBRATED)], axis=1)


def confidence(relevance: Sequence[float], known: float) -> float:
    """How sure it is that anything found answers the query, from 0 to 1.

    It tells what was never talked of from what was. Of a thing that was talked of, whether just what is asked was
    said, words cannot tell.

    Args:
        relevance: of what was found, best first.
        known: what share of the query's words was ever said (`secom_core.indexes.bm25.BM25.known`).
    """
    constant, *weights = _CONFIDENCE
    found = np.array(evidence_features(relevance, known))
    return float(chance(constant + found @ np.array(weights))) if relevance else 0.0


def evidence_features(relevance: Sequence[float], known: float) -> list[float]:
    """The best chance, the mean of the next four, and the share of the query's words that was ever said.

    Where fewer were found, the best stands for those that are missing: a small memory is not an unsure one.
    """
    best, *others = sorted(relevance, reverse=True)[:5] or [0.0]
    return [best, sum([*others, *[best] * (4 - len(others))]) / 4, known]


def chance(logit: Column) -> Column:
    """The logistic function."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logit, -_SURE, _SURE))))
