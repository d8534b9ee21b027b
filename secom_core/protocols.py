"""Every seam of the engine, on one screen. Pass an object that fits; nothing is looked up by name."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol, runtime_checkable

from .conversation import Turn
from .llm.flow import AsyncChatModel, ChatModel, Procedure, Prompt
from .memory import Segment
from .vectors import VectorDocument, Vectors

__all__ = [
    "AsyncChatModel",
    "ChatModel",
    "Denoiser",
    "Embedder",
    "EndSegmenter",
    "GrowingSegmenter",
    "LearningSegmenter",
    "Procedure",
    "Prompt",
    "QueryEmbedder",
    "Reranker",
    "Segmenter",
    "Statistics",
    "TokenCounter",
    "VectorStore",
    "Vectors",
]


@runtime_checkable
class Segmenter(Protocol):
    """Cuts a session into segments."""

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns`` in order, with no gap and no overlap; no turns give no segments."""


@runtime_checkable
class GrowingSegmenter(Segmenter, Protocol):
    """A segmenter that need not cut an open session anew with each of its turns."""

    @property
    def cut_every(self) -> int:
        """At which numbers of turns it does, such as each fourth; until then, new turns lengthen the last segment."""


@runtime_checkable
class EndSegmenter(Segmenter, Protocol):
    """A segmenter that cuts a session in one go once it has ended, such as a language model (SeCom section 2.2)."""

    @property
    def fallback(self) -> Segmenter:
        """What cuts it while it is open, at no cost, and where this one fails."""

    def segment_ended(self, turns: Sequence[Turn]) -> list[Segment]:
        """As `segment`; raises `ModelUnavailable` where no model answers, so that it is asked at a later occasion."""


@runtime_checkable
class LearningSegmenter(Segmenter, Protocol):
    """A segmenter that learns from unlabelled sessions: one object serves as the template of each scope's own."""

    def for_scope(self, state: str | None = None) -> LearningSegmenter:
        """A new one for a scope, going on from what `state` gave."""

    def learn(self, sessions: Sequence[Sequence[Turn]]) -> bool:
        """Learn from a scope's sessions, oldest first, and from these alone; whether anything was learned."""

    def state(self) -> str:
        """What was learned, for `for_scope`: weights, no words."""


@runtime_checkable
class Statistics(Protocol):
    """How common terms are in one scope; a lexical index gives it."""

    @property
    def total(self) -> int:
        """How many turns there are."""

    def frequency(self, term: str) -> int:
        """How many turns hold ``term``, a term as `secom_core.text.terms.terms` gives it."""


@runtime_checkable
class Denoiser(Protocol):
    """Makes keys from values: drops what would mislead the search."""

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        """One key a text, in order. Never empty where the text was not."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. ``name`` identifies the model: vectors of two names, or widths, are never compared."""

    @property
    def name(self) -> str:
        """What identifies the model."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1."""


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder whose model reads a query otherwise than what it is to find: by a prompt, or another tower."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1, to compare with those of `embed`."""


@runtime_checkable
class VectorStore(Protocol):
    """Finds texts by meaning in a vector store outside the bank; it embeds them itself.

    Only the order of what it finds counts, so it does not matter what its scores mean. Every method may raise
    `StoreError` or `ModelError`. Calls come from several threads.
    """

    @property
    def name(self) -> str:
        """What tells the collection from others; the bank keeps under it what it has put there."""

    def upsert(self, documents: Sequence[VectorDocument]) -> None:
        """Add documents. One whose id is there already is the same."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are passed over. When this returns, they are gone."""

    def existing(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are there; all of them where the store cannot tell."""

    def search(self, scope: str, query: str, k: int) -> list[str]:
        """The ids of the ``k`` documents nearest to the query among those with this label, best first."""


class Reranker(Protocol):
    """Judges how well texts answer a query: a cross-encoder, a hosted model, or any function.

    What it raises, and whatever else it does than it should, costs a recall a warning and nothing else. Calls come from
    several threads, and a coroutine function's are awaited in an event loop of the package's own.
    """

    def __call__(self, query: str, texts: list[str], /) -> Iterable[float] | Awaitable[Iterable[float]]:
        """One finite number a text, in order, the higher the better; only their differences count."""


class TokenCounter(Protocol):
    """Counts tokens the way the model that reads the context does."""

    def __call__(self, text: str) -> int:
        """How many tokens ``text`` has."""
