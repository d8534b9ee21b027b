"""Chat models and embedders. The packages that they need are imported when a model is first made or asked."""

from __future__ import annotations

from .cached import CachedEmbedder
from .openai import OpenAIEmbedder, OpenAIModel
from .sentence_transformers import SentenceTransformerEmbedder
from .static import StaticEmbedder

__all__ = ["CachedEmbedder", "OpenAIEmbedder", "OpenAIModel", "SentenceTransformerEmbedder", "StaticEmbedder"]
