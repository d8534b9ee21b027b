"""Citations in answers: in text and in messages, whole or in chunks, as markers or as a provider's citation blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, Final, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk

from secom_core.citations import Citations, CitationStream
from secom_core.errors import InvalidInput

Answer: TypeAlias = str | AIMessage

CITED: Final = "secom_citations"
"""The key of a message's ``response_metadata`` under which its citations are."""

# Anthropic counts the documents and the search results of a request from 0.
_PLACES: Final = ("document_index", "search_result_index")
_NAMES: Final = ("id", "url", "title", "source", "document_id", "document_title", "file_id", "filename")
_CUT_SHORT: Final = frozenset({"length", "max_tokens", "content_filter"})


class AnswerReader:
    """Reads an answer piece by piece, and gives back the pieces that go on to the user.

    Markers may be split over pieces. Where they are stripped, text waits while it may be part of one; whatever else a
    chunk carries passes as it came, and where markers are kept, so does the text. Providers' citation blocks count as
    markers do.

    A message that was cut short, or that calls tools instead of answering, says nothing.

    Args:
        numbers: the numbers of the memories in the prompt.
        documents: the memories, in order, with the number in each one's metadata.
        markers: whether the user sees them.
    """

    def __init__(
        self, numbers: Sequence[int], documents: Sequence[Document] = (), *, markers: Literal["keep", "strip"] = "keep"
    ) -> None:
        self._stream = CitationStream(numbers, markers=markers)
        self._strip = markers == "strip"
        self._documents = documents
        self._native: list[int] = []
        self._complete = True
        self._tail = ""
        self._latest: AIMessage | None = None
        self._last: AIMessage | None = None
        self._block: Any = ""

    def read(self, piece: Any) -> Iterator[Answer]:
        """Take the next piece, and give the pieces that may go on to the user by now.

        Raises:
            InvalidInput: it is neither text nor an AI message.
        """
        if isinstance(piece, str):
            return self._text(piece)
        if not isinstance(piece, AIMessage):
            raise InvalidInput(f"citations are read from text or an AIMessage; the chain gave {piece!r}")
        return self._message(piece)

    def finish(self) -> Citations:
        """End the answer, and give what it cited."""
        done = self._stream.finish() if self._complete else self._stream.abandon()
        self._tail = done.text if self._strip else ""
        if not done.finished:
            return done
        numbers = tuple(dict.fromkeys([*done.numbers, *self._native]))
        return replace(done, numbers=numbers, none_used=done.none_used and not self._native)

    def rest(self, cited: Sequence[Mapping[str, Any]]) -> Iterator[Answer]:
        """The pieces that waited, after `finish`; a message gets its citations in its metadata.

        Args:
            cited: the citations, as JSON can hold them.
        """
        tail, message = self._tail, self._last
        if self._latest is not None and message is None:
            message = AIMessageChunk(content=self._latest.content[:0], id=self._latest.id)
        if message is None:
            yield from [tail] if tail else []
            return
        if tail and not _has_text(message) and self._latest is not None:
            yield AIMessageChunk(content=_only(self._block, tail), id=self._latest.id)
            tail = ""
        metadata = {**message.response_metadata, CITED: [dict(each) for each in cited]}
        yield message.model_copy(update={"content": _appended(message.content, tail), "response_metadata": metadata})

    def _text(self, piece: str) -> Iterator[str]:
        text = self._stream.feed(piece)
        if not self._strip:
            yield piece
        elif text:
            yield text

    def _message(self, message: AIMessage) -> Iterator[Answer]:
        if self._last is not None:
            yield self._last
        self._last = None
        self._latest = message
        self._block = next((block for block in reversed(_blocks(message)) if _is_text(block)), self._block)
        self._complete = self._complete and not _is_partial(message)
        self._native += native_numbers(message, self._documents)
        content = _changed(message.content, self._stream.feed)
        if self._strip and content != message.content:
            message = message.model_copy(update={"content": content})
        # What ends the message has to come last.
        if not isinstance(message, AIMessageChunk) or message.chunk_position == "last":
            self._last = message
        else:
            yield message


def joined(pieces: Sequence[Answer]) -> Answer:
    """Join the pieces of one answer."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(map(str, pieces))
    whole: Answer = reduce(add, pieces)
    return whole


def native_numbers(message: AIMessage, documents: Sequence[Document]) -> list[int]:
    """The numbers of the documents that citation blocks of the message's provider refer to.

    A block refers to a document by an id, address or title that is the document's id or its memory's; else by the
    document's place in the request, if the words that the block quotes stand in that document.

    Args:
        message: the answer, or a chunk of it.
        documents: the memories in the prompt, in order, with the number in each one's metadata.
    """
    if not documents or isinstance(message.content, str):
        return []
    found = (_named(note, documents) or _placed(note, documents) for note in _annotations(message))
    return [int(document.metadata["number"]) for document in found if document is not None]


def _annotations(message: AIMessage) -> Iterator[dict[str, Any]]:
    """The annotations on its text as they came, in LangChain's form or the provider's own."""
    blocks = (block for block in _blocks(message) if isinstance(block, dict))
    notes = (note for block in blocks for key in ("annotations", "citations") for note in block.get(key) or ())
    return map(_flat, notes)


def _flat(note: Mapping[str, Any]) -> dict[str, Any]:
    """An annotation with the fields of its inner mappings: a provider's own, or Bedrock's ``location``."""
    flat = dict(note)
    for inner in note.values():
        flat |= _flat(inner) if isinstance(inner, Mapping) else {}
    return flat


def _named(note: Mapping[str, Any], documents: Sequence[Document]) -> Document | None:
    names = {note[key] for key in _NAMES if isinstance(note.get(key), str)}
    ids = ((document, {document.id, document.metadata.get("secom_memory_id")}) for document in documents)
    return next((document for document, own in ids if own & names), None)


def _placed(note: Mapping[str, Any], documents: Sequence[Document]) -> Document | None:
    place = next((note[key] for key in _PLACES if type(note.get(key)) is int), None)
    if place is None or not 0 <= place < len(documents):
        return None
    document = documents[place]
    # The request may hold documents before ours, so that places alone prove nothing.
    return document if _words(_quoted(note)) in _words(document.page_content) else None


def _quoted(note: Mapping[str, Any]) -> str:
    parts = note.get("source_content") or ()
    return note.get("cited_text") or "".join(part.get("text", "") for part in parts)


def _words(text: str) -> str:
    return " ".join(text.split())


def _is_partial(message: AIMessage) -> bool:
    metadata = message.response_metadata
    ends = {str(metadata.get(key)).casefold() for key in ("finish_reason", "stop_reason")}
    calls = message.tool_calls or message.invalid_tool_calls or getattr(message, "tool_call_chunks", None)
    return bool(calls) or bool(ends & _CUT_SHORT)


def _changed(content: str | list[Any], change: Callable[[str], str]) -> str | list[Any]:
    """The content with its texts changed, one after the other."""
    if isinstance(content, str):
        return change(content)
    return [_with_text(block, change(_text(block))) if _is_text(block) else block for block in content]


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or (block.get("type") == "text" and isinstance(block.get("text"), str))


def _text(block: Any) -> str:
    return str(block if isinstance(block, str) else block["text"])


def _with_text(block: Any, text: str) -> Any:
    return text if isinstance(block, str) else {**block, "text": text}


def _blocks(message: AIMessage) -> list[Any]:
    return [message.content] if isinstance(message.content, str) else list(message.content)


def _has_text(message: AIMessage) -> bool:
    return any(map(_is_text, _blocks(message)))


def _only(block: Any, text: str) -> str | list[Any]:
    """Content of text alone, as a chunk that goes on with an earlier block."""
    if isinstance(block, str):
        return text
    return [{"type": "text", "text": text, **({"index": block["index"]} if "index" in block else {})}]


def _appended(content: str | list[Any], tail: str) -> str | list[Any]:
    if isinstance(content, str):
        return content + tail
    place = max((place for place, block in enumerate(content) if _is_text(block)), default=None)
    if place is None or not tail:
        return content
    return [*content[:place], _with_text(content[place], _text(content[place]) + tail), *content[place + 1 :]]
