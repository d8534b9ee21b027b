"""Any reranker of LangChain, wherever the core takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables.config import set_config_context

from secom_core.errors import BadReply, InvalidInput, shorten
from secom_core.llm.limits import translated
from secom_core.ranking.returned import Returned, scores_of

from .models import quiet

_PLACE: Final = "secom_place"
_SCORES: Final = ("relevance_score", "score")
"""Under which names compressors put what they think of a document."""


class LangChainReranker:
    """A document compressor that reranks, or a cross-encoder, as the core's `Reranker`.

    A compressor gets one document for each text. Documents that it leaves out come last. Many compressors return only a
    few documents by default, so set ``top_n`` to the number that the bank judges
    (`secom_core.ranking.reranking.Reranking.first`). Its runs have the tag ``nostream``, so the tokens of a language
    model in it do not reach the user's stream.

    Usage::

        compressor = CrossEncoderReranker(model=HuggingFaceCrossEncoder(model_name="BAAI/bge-reranker-base"), top_n=30)
        bank = MemoryBank.open("memory.db", reranker=LangChainReranker(compressor))

    Args:
        compressor: any `BaseDocumentCompressor` that gives documents back whole, or `BaseCrossEncoder`.

    Raises:
        InvalidInput: it is neither.
    """

    def __init__(self, compressor: BaseDocumentCompressor | BaseCrossEncoder) -> None:
        if not isinstance(compressor, (BaseDocumentCompressor, BaseCrossEncoder)):
            raise InvalidInput(
                f"expected a LangChain document compressor or cross-encoder, got {shorten(compressor)}; the core takes "
                "a function of a query and texts as it is"
            )
        self.compressor = compressor

    def __repr__(self) -> str:
        return f"LangChainReranker({type(self.compressor).__name__})"

    def __call__(self, query: str, texts: Sequence[str], /) -> list[float]:
        """A score a text, the higher the better: those of the compressor, or where it gives none, by its order.

        Raises:
            ModelUnavailable: it raised; its error is chained.
            BadReply: it gave what it was not given.
        """
        if not texts:
            return []
        with translated(self.compressor):
            if isinstance(self.compressor, BaseCrossEncoder):
                return list(self.compressor.score([(query, text) for text in texts]))
            return _compressed(self.compressor, query, texts)


def _compressed(compressor: BaseDocumentCompressor, query: str, texts: Sequence[str]) -> list[float]:
    given = [Document(page_content=text, metadata={_PLACE: place}) for place, text in enumerate(texts)]
    config = quiet("rerank")
    with set_config_context(config) as context:
        # Listeners of the surrounding run hear of it as of any other part; those that feed a stream do not.
        found = context.run(compressor.compress_documents, given, query, callbacks=config.get("callbacks"))
    return scores_of([_returned(each, texts) for each in found], len(texts))


def _returned(document: Document, texts: Sequence[str]) -> Returned:
    place: Any = document.metadata.get(_PLACE)
    if place is None and document.page_content in texts:
        # Some make their documents anew.
        place = texts.index(document.page_content)
    if type(place) is not int or not 0 <= place < len(texts):
        raise BadReply("the compressor gave a document that it was not given", document.page_content)
    return Returned(place, next((document.metadata[name] for name in _SCORES if name in document.metadata), None))
