"""Which passages of one scope answer a query: named signals at several granularities, standardised and weighted."""

from .candidate import Candidate
from .dialogue import LEANT_ON, weighted_context
from .relevance import confidence
from .scope_index import ScopeIndex
from .surroundings import standing_statements
from .weights import DENSE, LEXICAL, SIGNALS, STATIC

__all__ = [
    "DENSE",
    "LEANT_ON",
    "LEXICAL",
    "SIGNALS",
    "STATIC",
    "Candidate",
    "ScopeIndex",
    "confidence",
    "standing_statements",
    "weighted_context",
]
