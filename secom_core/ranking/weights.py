"""The signals by name, and the weights that ship."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["DENSE", "LEXICAL", "SIGNALS"]

SIGNALS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "turn_lexical": "BM25 of the turn",
        "turn_coverage": "the share of the query's words that the turn holds, by weight",
        "window_lexical": "BM25 of the turn with the two before and after it",
        "segment_lexical": "BM25 of its memory's key",
        "session_lexical": "BM25 of its session",
        "turn_dense": "cosine of the turn's vector",
        "window_dense": "mean cosine of the turn and the two before and after it",
        "segment_dense": "cosine of its memory's key's vector",
        "speaker": "whether the query names who speaks",
        "length": "the logarithm of its length in tokens",
        "asks": "whether it ends as a question",
        "answers": "whether the turn before it ends as a question",
    }
)
"""Every signal that `ScopeIndex.search` knows, by name."""

LEXICAL: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.61,
        "turn_coverage": 0.16,
        "segment_lexical": 0.11,
        "session_lexical": 0.38,
        "speaker": 0.5,
        "length": 0.2,
        "asks": -0.1,
        "answers": 0.1,
    }
)
"""Without vectors."""

DENSE: Final[Mapping[str, float]] = MappingProxyType(
    {
        "window_lexical": 0.45,
        "turn_coverage": 0.13,
        "segment_lexical": 0.05,
        "session_lexical": 0.35,
        "turn_dense": 0.47,
        "window_dense": 0.28,
        "segment_dense": 0.36,
        "speaker": 0.5,
        "length": 0.3,
        "asks": -0.1,
        "answers": 0.1,
    }
)
"""With vectors."""
