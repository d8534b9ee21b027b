"""Learning from citations: what an answer says that it used tells what should have been recalled (RMM, section 6)."""

from ..memory import Decision
from .citations import Citations, CitationStream, read_citations
from .policy import Explanation, FusionPolicy, Lesson, PolicySettings
from .reranker import Draw, Reranker

__all__ = [
    "CitationStream",
    "Citations",
    "Decision",
    "Draw",
    "Explanation",
    "FusionPolicy",
    "Lesson",
    "PolicySettings",
    "Reranker",
    "read_citations",
]
