"""Documents in the order in which their bank ranks them, as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, field_validator

from secom_core.bank import MemoryBank
from secom_core.ranking.relevance import chance

from .convert import to_document
from .hits import is_of_bank, numbered, to_hits
from .impressions import citing_bank
from .scopes import common_scope


class CitationReranker(BaseDocumentCompressor):
    """Puts documents into the order in which their bank ranks them now: by the paper's reranker, if it has one.

    The paper's reranker learns from citations (RMM, section 6). A bank that only records citations ranks by its own
    scores. Documents of `SecomRetriever` are scored again, so they may have been stored, fused or reordered in between.
    The result has copies, in whose metadata the numbers begin at 1 and ``score`` is the new score, which the logistic
    function maps to values between 0 and 1. It only orders documents; it is not a probability.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        bank = MemoryBank.open("memory.db", embedder=embedder, citations=RerankerOptions())
        reranker = CitationReranker(bank=bank, top_n=4)

    Usage::

        retriever = ContextualCompressionRetriever(
            base_retriever=SecomRetriever(bank=bank, scope=("acme", "alice"), k=20), base_compressor=reranker
        )

    The scope is read from the documents. Documents of several scopes are refused with `InvalidScope`, so that the text
    of one person is not mixed with that of another. Documents of another origin follow in their own order; only a
    number is added to them. Turns that were forgotten after the retrieval are left out. If a memory comes twice, its
    parts become one document.

    Args:
        bank: where the documents come from, opened with ``citations``.
        top_n: how many documents it gives at most, of whatever origin; all of them unless given.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bank: MemoryBank = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1)

    @field_validator("bank")
    @classmethod
    def _takes_citations(cls, bank: MemoryBank) -> MemoryBank:
        return citing_bank(bank, cls.__name__)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Order the documents, the best first.

        Args:
            documents: the retrieved documents.
            query: the query that found them.
            callbacks: not used; nothing is run.

        Raises:
            InvalidScope: for documents of several scopes.
        """
        ours = [document for document in documents if is_of_bank(document)]
        others = [document for document in documents if not is_of_bank(document)]
        best = [*self._ranked(ours, query), *others][: self.top_n]
        return [_with_metadata(document, number=number) for number, document in enumerate(best, start=1)]

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """As `compress_documents`, without blocking the event loop."""
        return list(await super().acompress_documents(documents, query, callbacks))

    def _ranked(self, documents: Sequence[Document], query: str) -> list[Document]:
        scope = common_scope(documents)
        hits = numbered(to_hits(documents, self.bank))
        if scope is None or not hits:
            return []
        impression = self.bank.citations.impression(scope, query, hits)
        scores = dict(zip(impression.numbers, impression.scores, strict=True))
        parts: dict[str, list[Document]] = {}
        for document in documents:
            parts.setdefault(document.metadata["secom_memory_id"], []).append(document)
        best = sorted(hits, key=lambda hit: -scores[hit.number])
        shown = chance(np.array([scores[hit.number] for hit in best])).tolist()
        return [
            _updated(parts[hit.memory.id], to_document(hit, scope), score)
            for hit, score in zip(best, shown, strict=True)
        ]


def _updated(parts: Sequence[Document], current: Document, score: float) -> Document:
    """The parts as one document with its current metadata and score.

    The texts stay, such as the pieces of a splitter, where each part is of the same turns and excerpts as the memory
    now; else the text is the current one.
    """
    about = [(part.metadata["turn_ids"], part.metadata.get("excerpts", [])) for part in parts]
    same = all(each == (current.metadata["turn_ids"], current.metadata["excerpts"]) for each in about)
    texts = dict.fromkeys(part.page_content for part in parts)
    text = "\n".join(texts) if same else current.page_content
    return _with_metadata(parts[0].model_copy(update={"page_content": text}), **{**current.metadata, "score": score})


def _with_metadata(document: Document, **metadata: Any) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **metadata}})
