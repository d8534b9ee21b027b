"""LlamaIndex drop-ins over `secom_core`: memory, tools, splitter, denoiser, retrievers, summaries and citations."""

from __future__ import annotations

from secom_core.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("llama_index"):
        raise  # it is there and lacks something of its own
    raise MissingExtra("llamaindex_secom", "llamaindex") from error

from .agent_steps import said_by_user
from .citations import CitationReward
from .denoiser import LLMLinguaDenoiser
from .dialogue import rewritten_query
from .memory import SecomMemory
from .memory_block import SecomMemoryBlock
from .models import LlamaIndexChatModel, LlamaIndexEmbedder
from .numbered_nodes import CitationNumberer
from .property_graph import to_property_graph
from .reranker import CitationReranker
from .retriever import SecomRetriever
from .summary import RecursiveSummaryMemoryBlock
from .templates import (
    CITE_CONTEXT_REFINE_TEMPLATE,
    CITE_CONTEXT_TEMPLATE,
    CITE_QA_TEMPLATE,
    CITE_REFINE_TEMPLATE,
    CITE_SOURCES_REFINE_TEMPLATE,
    CITE_SOURCES_TEMPLATE,
)
from .text_reranker import LlamaIndexReranker
from .text_splitter import SegmentNodeParser, SegmentTextSplitter
from .timelines import TimelinePostprocessor, TimelineRetriever
from .tools import memory_tools
from .vector_store import LlamaIndexVectorStore

__all__ = [
    "CITE_CONTEXT_REFINE_TEMPLATE",
    "CITE_CONTEXT_TEMPLATE",
    "CITE_QA_TEMPLATE",
    "CITE_REFINE_TEMPLATE",
    "CITE_SOURCES_REFINE_TEMPLATE",
    "CITE_SOURCES_TEMPLATE",
    "CitationNumberer",
    "CitationReranker",
    "CitationReward",
    "LLMLinguaDenoiser",
    "LlamaIndexChatModel",
    "LlamaIndexEmbedder",
    "LlamaIndexReranker",
    "LlamaIndexVectorStore",
    "RecursiveSummaryMemoryBlock",
    "SecomMemory",
    "SecomMemoryBlock",
    "SecomRetriever",
    "SegmentNodeParser",
    "SegmentTextSplitter",
    "TimelinePostprocessor",
    "TimelineRetriever",
    "memory_tools",
    "rewritten_query",
    "said_by_user",
    "to_property_graph",
]
