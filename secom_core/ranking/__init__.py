"""Which turns of one scope answer a query: named signals at several granularities, standardised and weighted."""

from .scope_index import Candidate, ScopeIndex
from .weights import DENSE, LEXICAL, SIGNALS

__all__ = ["DENSE", "LEXICAL", "SIGNALS", "Candidate", "ScopeIndex"]
