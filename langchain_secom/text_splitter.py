"""Text and transcripts split into segments: topic segmentation as a LangChain text splitter."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from secom_core.bank.checks import check_count
from secom_core.errors import InvalidInput, MissingExtra, shorten
from secom_core.llm.flow import ChatModel
from secom_core.protocols import Embedder, Segmenter
from secom_core.segmenters.passages import segment_spans

from .models import as_segmenter

try:
    from langchain_text_splitters import TextSplitter
except ImportError as error:
    raise MissingExtra("SegmentTextSplitter", "langchain") from error


class SegmentTextSplitter(TextSplitter):
    """Splits text where the subject changes (topic segmentation).

    A transcript (``Name: words`` lines) is cut between turns, a piece a segment. Segments of any other document, such
    as Markdown, are put together up to ``chunk_size``: it is cut before headings, where the subject changes and between
    paragraphs, and code between fences stays whole where it fits. With
    ``strip_whitespace=False`` the pieces put together are the text, character by character; else only white space
    between them is missing.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Usage::

        documents = SegmentTextSplitter(chunk_size=2000, add_start_index=True).create_documents([transcript])

    Args:
        segmenter: finds the segments; `LexicalSegmenter`, which needs no model, unless given.
        model: ask a language model of LangChain or of the core for the cuts instead.
        embeddings: cut where the meaning changes instead, by embeddings of LangChain or of the core.
        chunk_size: the longest piece, as ``length_function`` counts; a longer segment is cut again. ``None`` gives
            each segment as it is, of any document.
        chunk_overlap: 0; segments do not overlap.
        length_function: counts the length of a text; in characters unless given.
        add_start_index: put each piece's exact place in its text into the metadata as ``start_index``.
        strip_whitespace: strip white space around each piece.

    Raises:
        InvalidInput: for an overlap, a size that is no whole number from 1 on, or more than one of ``segmenter``,
            ``model`` and ``embeddings``.
    """

    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        model: BaseChatModel | ChatModel | None = None,
        embeddings: Embeddings | Embedder | None = None,
        chunk_size: int | None = 4000,
        chunk_overlap: int = 0,
        length_function: Callable[[str], int] = len,
        add_start_index: bool = False,
        strip_whitespace: bool = True,
    ) -> None:
        if chunk_overlap != 0:
            raise InvalidInput(f"segments do not overlap: chunk_overlap is 0, not {chunk_overlap!r}")
        if chunk_size is not None:
            check_count("chunk_size", chunk_size)
        if not callable(length_function):
            raise InvalidInput(f"length_function counts a text, such as len, got {shorten(length_function)}")
        super().__init__(
            chunk_size=sys.maxsize if chunk_size is None else chunk_size,
            chunk_overlap=0,
            length_function=length_function,
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
        )
        self._limit = chunk_size
        self.segmenter = as_segmenter(segmenter, model=model, embeddings=embeddings)

    def split_text(self, text: str) -> list[str]:
        """Split a text into its segments, in order; a blank one has none."""
        return [piece for _, piece in self._pieces(text)]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Split texts, and make a document of each segment.

        Args:
            texts: the texts.
            metadatas: one mapping a text; each piece gets a copy.

        Raises:
            InvalidInput: there are more mappings than texts, or fewer.
        """
        given = metadatas or [{} for _ in texts]
        if len(given) != len(texts):
            raise InvalidInput(f"metadatas has a mapping a text, got {len(given)} of them for {len(texts)} texts")
        sources = (Document(text, metadata=each) for text, each in zip(texts, given, strict=True))
        return self.split_documents(sources)

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents, and make a document of each segment.

        Each piece of a document that has an id gets a UUID made of that id and its place, the same in every run; a
        document in one piece keeps an id that is a UUID. Some vector stores take no other ids.
        """
        return [piece for document in documents for piece in self._split(document)]

    def _split(self, document: Document) -> Iterator[Document]:
        pieces = list(self._pieces(document.page_content))
        for start, piece in pieces:
            metadata = deepcopy(document.metadata)
            if self._add_start_index:
                metadata["start_index"] = start
            id_ = document.id and _piece_id(document.id, f"{start}-{start + len(piece)}", alone=len(pieces) == 1)
            yield Document(piece, metadata=metadata, id=id_)

    def _pieces(self, text: str) -> Iterator[tuple[int, str]]:
        """Each piece with its place in the text."""

        # Called by position, as any function of a string may be.
        def length(text: str) -> int:
            return self._length_function(text)

        for start, stop in segment_spans(text, self.segmenter, limit=self._limit, counter=length):
            piece = text[start:stop]
            if not self._strip_whitespace:
                yield start, piece
            elif words := piece.strip():
                yield start + len(piece) - len(piece.lstrip()), words


def _piece_id(document_id: str, place: str, *, alone: bool) -> str:
    try:
        own = uuid.UUID(document_id)
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document_id}#{place}"))
    return document_id if alone else str(uuid.uuid5(own, place))
