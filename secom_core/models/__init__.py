"""Chat models, embedders and rerankers. What they need is imported when one is first made or asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..processes.on_demand import on_demand

if TYPE_CHECKING:
    from .cached import CachedEmbedder
    from .cross_encoder import SentenceTransformerReranker
    from .fastembed import FastEmbedEmbedder
    from .openai import OpenAIEmbedder, OpenAIModel
    from .sentence_transformers import SentenceTransformerEmbedder
    from .static import StaticEmbedder
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "cached": "CachedEmbedder",
            "cross_encoder": "SentenceTransformerReranker",
            "fastembed": "FastEmbedEmbedder",
            "openai": "OpenAIEmbedder OpenAIModel",
            "sentence_transformers": "SentenceTransformerEmbedder",
            "static": "StaticEmbedder",
        },
    )

__all__ = [
    "CachedEmbedder",
    "FastEmbedEmbedder",
    "OpenAIEmbedder",
    "OpenAIModel",
    "SentenceTransformerEmbedder",
    "SentenceTransformerReranker",
    "StaticEmbedder",
]
