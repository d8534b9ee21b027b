"""Indexes: units found by their words or vectors, and several rankings made one. A higher score is better in each."""

from __future__ import annotations

from .bm25 import BM25
from .fusion import rank_scores, standardise
from .vector import VectorIndex

__all__ = ["BM25", "VectorIndex", "rank_scores", "standardise"]
