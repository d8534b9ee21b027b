"""Documents of the bank in the order that citations have taught, as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field, field_validator

from secom_core.bank import MemoryBank

from .convert import is_of_bank, to_document, to_hits
from .scopes import common_scope
from .shown import learning, numbered

__all__ = ["CitationReranker"]


class CitationReranker(BaseDocumentCompressor):
    """Puts documents into the order that their scope has learned from what answers cite (RMM, section 6).

    What documents of `SecomRetriever` count for is asked of the bank anew, under the scope's present weights; so it
    works on documents that were kept, fused or reordered in between. Numbers in the metadata then go from 1 in the
    order of what it gives, ``score`` is the learned one, and the documents given stay as they are.

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        bank = MemoryBank.open("memory.db", learning=True)
        reranker = CitationReranker(bank=bank, top_n=4)

    Usage::

        retriever = ContextualCompressionRetriever(
            base_retriever=SecomRetriever(bank=bank, scope=("acme", "alice"), k=20), base_compressor=reranker
        )

    The scope is that of the documents. Documents of several scopes are refused with `InvalidScope`, because one
    person's words do not belong beside another's. Documents of another origin come after ours in their order, with a
    number and nothing else added. What was forgotten since it was retrieved is left out; of a memory that comes twice,
    both parts are one document.

    Args:
        bank: where the documents come from; one that learns.
        top_n: how many documents it gives at most, of whatever origin; all of them unless given.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bank: MemoryBank = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1)

    @field_validator("bank")
    @classmethod
    def _learns(cls, bank: MemoryBank) -> MemoryBank:
        return learning(bank, cls.__name__)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents, the best first.

        Args:
            documents: what was retrieved.
            query: what for.
            callbacks: not used; nothing is run.

        Raises:
            InvalidScope: for documents of several scopes.
        """
        ours = [document for document in documents if is_of_bank(document)]
        others = [document for document in documents if not is_of_bank(document)]
        shown = [*self._ranked(ours, query), *others][: self.top_n]
        return [_told(document, number=number) for number, document in enumerate(shown, start=1)]

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents, the best first, ranked off the event loop. As `compress_documents`."""
        return list(await super().acompress_documents(documents, query, callbacks))

    def _ranked(self, documents: Sequence[Document], query: str) -> list[Document]:
        scope = common_scope(documents)
        hits = numbered(to_hits(documents, self.bank))
        if scope is None or not hits:
            return []
        decision = self.bank.shown(scope, query, hits)
        scores = dict(zip(decision.numbers, decision.scores, strict=True))
        given = {document.metadata["secom_memory_id"]: document for document in reversed(documents)}
        best = sorted(hits, key=lambda hit: -scores[hit.number])
        return [_ours(given[hit.memory.id], to_document(hit, scope), scores[hit.number]) for hit in best]


def _ours(given: Document, made: Document, score: float) -> Document:
    """The given document with what is known of it by now; its text stays, unless turns of it came or went."""
    same = given.metadata["turn_ids"] == made.metadata["turn_ids"]
    text = given.page_content if same else made.page_content
    return _told(given.model_copy(update={"page_content": text}), **{**made.metadata, "score": score})


def _told(document: Document, **about: Any) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, **about}})
