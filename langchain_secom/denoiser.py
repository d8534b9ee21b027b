"""Documents without the words that carry little."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from pydantic import ConfigDict, SkipValidation

from secom_core.bank.checks import check_text
from secom_core.context.denoising import denoised
from secom_core.errors import InvalidInput
from secom_core.protocols import Denoiser

ORIGINAL_TEXT: Final = "secom_original_text"
"""The metadata key under which a denoised document keeps its words, unless another is asked for."""


class LLMLinguaDenoiser(BaseDocumentTransformer, BaseDocumentCompressor):
    """Denoises documents, before they go into a vector store or after they were retrieved (SeCom, section 2.3).

    It is a transformer, and the compressor of a `ContextualCompressionRetriever`. One document in, one new document
    out, with id, metadata and order kept. A document that was denoised before is denoised from its first words. Of
    documents of a memory, the lines that say what holds no more stay as they are.

    Setup: ``pip install ".[langchain,llmlingua]"`` in a clone; the latter only for the default denoiser.

    Usage::

        keys = LLMLinguaDenoiser(Informativeness()).transform_documents(documents)
        ContextualCompressionRetriever(base_compressor=LLMLinguaDenoiser(Informativeness()), base_retriever=retriever)

    Args:
        denoiser: any denoiser of the core; `LLMLingua2` unless given.
        original_key: where in the metadata the words before denoising are kept; ``None`` drops them.

    Raises:
        MissingExtra: the default denoiser is wanted and llmlingua is not installed.
        InvalidInput: the denoiser has no ``denoise``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    denoiser: SkipValidation[Denoiser]
    original_key: str | None

    def __init__(self, denoiser: Denoiser | None = None, *, original_key: str | None = ORIGINAL_TEXT) -> None:
        if denoiser is None:
            from secom_core.denoisers.llmlingua import LLMLingua2

            denoiser = LLMLingua2()
        if not isinstance(denoiser, Denoiser):
            raise InvalidInput(f"a denoiser has a denoise method (secom_core.protocols.Denoiser), got {denoiser!r}")
        if original_key is not None:
            check_text("original_key", original_key, such_as=ORIGINAL_TEXT)
        fields: dict[str, Any] = {"denoiser": denoiser, "original_key": original_key}
        super().__init__(**fields)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Denoise the documents, all together.

        Args:
            documents: any documents; they are not changed.
            **kwargs: passed over, as other transformers do.
        """
        originals = [self._original(document) for document in documents]
        keys = denoised(self.denoiser, originals, ["replaced" in document.metadata for document in documents])
        return [self._denoised(*each) for each in zip(documents, originals, keys, strict=True)]

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """As `transform_documents`: what stays does not depend on the query."""
        return self.transform_documents(documents)

    def _original(self, document: Document) -> str:
        kept = document.metadata.get(self.original_key) if self.original_key else None
        return kept if isinstance(kept, str) else document.page_content

    def _denoised(self, document: Document, original: str, key: str) -> Document:
        kept = {self.original_key: original} if self.original_key else {}
        return document.model_copy(update={"page_content": key, "metadata": {**deepcopy(document.metadata), **kept}})
