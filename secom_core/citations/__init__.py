"""Citations: what answers used of what they were shown, and the reranker that learns from it (RMM, section 6)."""

from __future__ import annotations

from .markers import Citations, CitationStream, read_citations
from .options import RerankerOptions
from .records import CitationEntry, Impression, Lesson
from .reranker import Draw, Reranker

__all__ = [
    "CitationEntry",
    "CitationStream",
    "Citations",
    "Draw",
    "Impression",
    "Lesson",
    "Reranker",
    "RerankerOptions",
    "read_citations",
]
