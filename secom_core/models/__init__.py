"""Models: chat models and embedders. Every one loads when it is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .cached import CachedEmbedder as CachedEmbedder
    from .openai import OpenAIEmbedder as OpenAIEmbedder
    from .openai import OpenAIModel as OpenAIModel
    from .scripted import ScriptedEmbedder as ScriptedEmbedder
    from .scripted import ScriptedModel as ScriptedModel
    from .scripted import ScriptedServer as ScriptedServer
    from .sentence_transformers import SentenceTransformerEmbedder as SentenceTransformerEmbedder

_HOMES: Final = {
    "CachedEmbedder": "cached",
    "OpenAIEmbedder": "openai",
    "OpenAIModel": "openai",
    "ScriptedEmbedder": "scripted",
    "ScriptedModel": "scripted",
    "ScriptedServer": "scripted",
    "SentenceTransformerEmbedder": "sentence_transformers",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
