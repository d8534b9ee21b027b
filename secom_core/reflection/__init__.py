"""Learning from citations: what an answer says that it used tells what should have been recalled (RMM, section 6)."""

from .citations import Citations, CitationStream, read_citations
from .policy import Decision, FusionPolicy, Lesson
from .reranker import Draw, Reranker

__all__ = ["CitationStream", "Citations", "Decision", "Draw", "FusionPolicy", "Lesson", "Reranker", "read_citations"]
