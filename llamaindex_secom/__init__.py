"""LlamaIndex drop-ins: memory, splitter, parser, denoiser, retrievers and summaries over `secom_core`."""

from __future__ import annotations

from secom_core.errors import MissingExtra

try:
    import llama_index.core  # noqa: F401
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("llama_index"):
        raise  # it is there and lacks something of its own
    raise MissingExtra("llamaindex_secom", "llamaindex") from error

from .denoiser import LLMLinguaDenoiser
from .memory import SecomMemory
from .models import LlamaIndexChatModel, LlamaIndexEmbedder
from .retriever import SecomRetriever
from .summary import RecursiveSummaryMemoryBlock
from .text_splitter import TopicNodeParser, TopicTextSplitter
from .timelines import TimelinePostprocessor, TimelineRetriever, to_property_graph

__all__ = [
    "LLMLinguaDenoiser",
    "LlamaIndexChatModel",
    "LlamaIndexEmbedder",
    "RecursiveSummaryMemoryBlock",
    "SecomMemory",
    "SecomRetriever",
    "TimelinePostprocessor",
    "TimelineRetriever",
    "TopicNodeParser",
    "TopicTextSplitter",
    "to_property_graph",
]
