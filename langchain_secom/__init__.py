"""LangChain drop-ins: memory, splitter, denoiser and retriever over `secom_core`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from secom_core.errors import MissingExtra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtra("langchain_secom", "langchain") from error

if TYPE_CHECKING:
    from .denoiser import LLMLinguaDenoiser
    from .memory import SecomMemory
    from .models import LangChainChatModel, LangChainEmbedder, open_bank
    from .retriever import SecomRetriever
    from .text_splitter import TopicTextSplitter

_HOME_OF = {
    "LLMLinguaDenoiser": "denoiser",
    "LangChainChatModel": "models",
    "LangChainEmbedder": "models",
    "SecomMemory": "memory",
    "SecomRetriever": "retriever",
    "TopicTextSplitter": "text_splitter",
    "open_bank": "models",
}

__all__ = [
    "LLMLinguaDenoiser",
    "LangChainChatModel",
    "LangChainEmbedder",
    "SecomMemory",
    "SecomRetriever",
    "TopicTextSplitter",
    "open_bank",
]


def __getattr__(name: str) -> object:
    # Loaded on first use: langchain_classic takes a while, and only SecomMemory needs it.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value
