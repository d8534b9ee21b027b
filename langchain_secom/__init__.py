"""LangChain drop-ins: memory, running summary, splitter, denoiser, retrievers and citations over `secom_core`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from secom_core.errors import MissingExtra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtra("langchain_secom", "langchain") from error

if TYPE_CHECKING:
    from .citations import with_citation_feedback
    from .denoiser import LLMLinguaDenoiser
    from .dialogue import rewritten_query
    from .history import SecomChatMessageHistory, SessionHistories, recalled_memories
    from .langsmith_feedback import LangSmithFeedback
    from .memory import SecomMemory
    from .middleware import SecomMiddleware
    from .models import LangChainChatModel, LangChainEmbedder, open_bank
    from .reranker import CitationReranker
    from .retriever import SecomRetriever
    from .store import SecomStore
    from .summary import RecursiveSummaryMemory, SecomSummarizer
    from .text_reranker import LangChainReranker
    from .text_splitter import SegmentTextSplitter
    from .timelines import TimelineRetriever
    from .tools import (
        create_manage_memory_tool,
        create_mark_memory_tool,
        create_read_memory_tool,
        create_search_memory_tool,
    )
    from .vector_store import LangChainVectorStore

_HOME_OF = {
    "CitationReranker": "reranker",
    "LLMLinguaDenoiser": "denoiser",
    "LangChainChatModel": "models",
    "LangChainEmbedder": "models",
    "LangChainReranker": "text_reranker",
    "LangChainVectorStore": "vector_store",
    "LangSmithFeedback": "langsmith_feedback",
    "RecursiveSummaryMemory": "summary",
    "SecomChatMessageHistory": "history",
    "SecomMemory": "memory",
    "SecomMiddleware": "middleware",
    "SecomRetriever": "retriever",
    "SecomStore": "store",
    "SecomSummarizer": "summary",
    "SegmentTextSplitter": "text_splitter",
    "SessionHistories": "history",
    "TimelineRetriever": "timelines",
    "create_manage_memory_tool": "tools",
    "create_mark_memory_tool": "tools",
    "create_read_memory_tool": "tools",
    "create_search_memory_tool": "tools",
    "open_bank": "models",
    "recalled_memories": "history",
    "rewritten_query": "dialogue",
    "with_citation_feedback": "citations",
}

__all__ = [
    "CitationReranker",
    "LLMLinguaDenoiser",
    "LangChainChatModel",
    "LangChainEmbedder",
    "LangChainReranker",
    "LangChainVectorStore",
    "LangSmithFeedback",
    "RecursiveSummaryMemory",
    "SecomChatMessageHistory",
    "SecomMemory",
    "SecomMiddleware",
    "SecomRetriever",
    "SecomStore",
    "SecomSummarizer",
    "SegmentTextSplitter",
    "SessionHistories",
    "TimelineRetriever",
    "create_manage_memory_tool",
    "create_mark_memory_tool",
    "create_read_memory_tool",
    "create_search_memory_tool",
    "open_bank",
    "recalled_memories",
    "rewritten_query",
    "with_citation_feedback",
]


def __getattr__(name: str) -> object:
    # Loaded on first use: langchain_classic takes a while, and only SecomMemory needs it.
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # What completes names in a notebook asks for it.
    return list(__all__)
