"""Indexes: units found by their words or vectors, and several rankings made one. A higher score is better in each."""

from __future__ import annotations

from .bm25 import BM25
from .dense import FaissIndex, NumpyIndex
from .fusion import rank_scores, reciprocal_rank_fusion, standardise, standardised_fusion

__all__ = [
    "BM25",
    "FaissIndex",
    "NumpyIndex",
    "rank_scores",
    "reciprocal_rank_fusion",
    "standardise",
    "standardised_fusion",
]
