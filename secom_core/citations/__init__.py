"""Learning from citations (RMM, retrospective reflection): what an answer cites tells what should have been found."""

from __future__ import annotations

from .markers import Citations, CitationStream, read_citations
from .options import CitationOptions, RerankerOptions
from .policy import FusionPolicy, PolicySettings
from .records import CitationEntry, CitationWeights, Explanation, Impression, Lesson
from .reranker import Draw, Reranker

__all__ = [
    "CitationEntry",
    "CitationOptions",
    "CitationStream",
    "CitationWeights",
    "Citations",
    "Draw",
    "Explanation",
    "FusionPolicy",
    "Impression",
    "Lesson",
    "PolicySettings",
    "Reranker",
    "RerankerOptions",
    "read_citations",
]
