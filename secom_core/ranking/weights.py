"""The signals by name, and the weights that ship."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SIGNALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "turn_lexical": "BM25 of the turn",
        "turn_coverage": "the share of the query's words that the turn holds, by weight",
        "window_lexical": "BM25 of the turn with its neighbours, who count for less",
        "segment_lexical": "BM25 of its memory's key",
        "session_lexical": "BM25 of its session",
        "turn_dense": "cosine of the turn's vector",
        "window_dense": "mean cosine of the turn and the two before and after it",
        "segment_dense": "cosine of its memory's key's vector",
        "speaker": "whether the query names who speaks",
        "date": "whether it was said on, soon after, or about a day that the query names",
        "recency": "how lately it was said, before the query is asked or else before the scope's latest turn",
        "length": "the logarithm of the length of its first message, in characters",
        "asks": "whether it ends as a question",
        "answers": "whether the turn before it ends as a question",
    }
)
"""Every signal that `ScopeIndex.search` knows, by name; one that ships with no weight is computed where a weight is
given, be it 0."""

HINTS: Final = frozenset({"speaker", "date", "asks", "answers"})
"""Signals that hold for a turn or do not."""

LEXICAL: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.68,
        "segment_lexical": 0.25,
        "session_lexical": 0.25,
        "speaker": 1.2,
        "date": 2.5,
        "length": 0.35,
        "asks": -0.28,
        "answers": 0.28,
    }
)
"""Without vectors. Fitted by ``benchmarks/fit_weights.py`` on LoCoMo conversations 26, 30, 41, 42 and 43, then rounded,
with less on ``length``, which serves assistants' talk less well and costs nothing there, and on the hints."""

DENSE: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.5,
        "segment_lexical": 0.13,
        "session_lexical": 0.28,
        "turn_dense": 0.5,
        "window_dense": 0.3,
        "segment_dense": 0.3,
        "speaker": 1.0,
        "date": 2.5,
        "length": 0.45,
        "asks": -0.25,
        "answers": 0.22,
    }
)
"""With vectors. Fitted in the same way, with all-MiniLM-L6-v2."""

LEARNED: Final = ("recency",)
"""Signals that count for nothing until a scope has learned what they are worth."""
