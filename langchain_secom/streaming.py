"""Streams of an agent's answers without the citations that the model writes into them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import ensure_config
from langchain_core.runnables.config import var_child_runnable_config

from secom_core.citations import CitationStream, read_citations
from secom_core.errors import MissingExtra

try:
    from langgraph.stream import StreamTransformer
except ImportError as error:
    raise MissingExtra("streams without markers", "langchain") from error


SHOWN: Final = "secom_shown"
"""The key of metadata under which the numbers in a prompt are: of a run's, and of a message whose markers are kept."""


@contextmanager
def noting_shown(numbers: Collection[int]) -> Iterator[None]:
    """Have the model's run say in its metadata which numbers its prompt holds, for who reads its tokens."""
    config = ensure_config()
    metadata = {**config.get("metadata", {}), SHOWN: list(numbers)}
    token = var_child_runnable_config.set({**config, "metadata": metadata})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def without_markers(stream: Iterable[Any]) -> Iterator[Any]:
    """Take the citations out of a stream of tokens; text that may be part of one waits until that is known.

    Which numbers cite, tokens of an agent with `langchain_secom.SecomMiddleware` say in their metadata; others pass as
    they came.

    Usage::

        for token, metadata in without_markers(agent.stream(given, config, stream_mode="messages")):
            print(token.text, end="")

    Args:
        stream: of ``agent.stream(..., stream_mode="messages")``, or of several modes with this one among them; with
            ``subgraphs=True`` and ``version="v2"``, too. Items that are no tokens of an answer pass as they came.
    """
    answers = _Answers()
    for item in stream:
        yield from answers.read(item)
    yield from answers.finish()


async def awithout_markers(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """As `without_markers`, for ``agent.astream``."""
    answers = _Answers()
    async for item in stream:
        for each in answers.read(item):
            yield each
    for each in answers.finish():
        yield each


class _Answers:
    """The answers of one stream, each read for itself, as those of several agents may come at once."""

    def __init__(self) -> None:
        self._open: dict[str | None, _Answer] = {}

    def read(self, item: Any) -> Iterator[Any]:
        token, shown, again = _token_of(item)
        if token is None or not shown:
            yield item
        elif not isinstance(token, AIMessageChunk):
            yield again(bare(token, shown))
        else:
            answer = self._open.setdefault(token.id, _Answer(again, token, CitationStream(shown, markers="strip")))
            if token.chunk_position == "last":
                token = _changed(token, answer.stream.feed)
                yield from self._open.pop(token.id).rest()
                yield again(token)
            else:
                answer.again, answer.latest = again, token
                yield again(_changed(token, answer.stream.feed))

    def finish(self) -> Iterator[Any]:
        for answer in self._open.values():
            yield from answer.rest()


@dataclass
class _Answer:
    again: Callable[[AIMessage], Any]
    latest: AIMessageChunk
    stream: CitationStream

    def rest(self) -> Iterator[Any]:
        """The text that waited and turned out to be no citation."""
        text = self.stream.finish().text
        if text:
            block: dict[Any, Any] = {"type": "text", "text": text, "index": 0}
            content: str | list[str | dict[Any, Any]] = text if isinstance(self.latest.content, str) else [block]
            yield self.again(AIMessageChunk(content=content, id=self.latest.id))


def _token_of(item: Any) -> tuple[AIMessage | None, list[int], Callable[[BaseMessage], Any]]:
    """The token in an item of a stream, if there is one; the numbers in its prompt; the item with another token."""
    if _is_token(item):
        return item[0], _shown(item[1]), lambda token: (token, item[1])
    if isinstance(item, tuple) and item and _is_token(item[-1]):
        token, metadata = item[-1]
        return token, _shown(metadata), lambda token: (*item[:-1], (token, metadata))
    if isinstance(item, dict) and _is_token(item.get("data")):
        token, metadata = item["data"]
        return token, _shown(metadata), lambda token: {**item, "data": (token, metadata)}
    return None, [], lambda token: item


def _is_token(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], AIMessage)


def _shown(metadata: Any) -> list[int]:
    return list(metadata.get(SHOWN, ())) if isinstance(metadata, Mapping) else []


def bare(message: AIMessage, shown: Collection[int]) -> AIMessage:
    """A whole answer without the markers that cite the numbers in its prompt."""
    return _changed(message, partial(_bare, shown))


def _bare(shown: Collection[int], text: str) -> str:
    return read_citations(text, shown, markers="strip").text


def _changed(message: AIMessage, change: Callable[[str], str]) -> AIMessage:
    content = message.content
    if isinstance(content, str):
        changed = change(content)
        return message.model_copy(update={"content": changed}) if changed != content else message
    blocks = [_with_text(block, change) for block in content]
    return message.model_copy(update={"content": blocks})


def _with_text(block: Any, change: Callable[[str], str]) -> Any:
    """The block with its text changed; what is no text stays as it is."""
    if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
        return block
    return {**block, "text": change(block["text"])}


class MarkerTransformer(StreamTransformer):
    """Takes the citations out of event streams, ``agent.stream_events(..., version="v3")``; the middleware brings it.

    Args:
        scope: the namespace whose events it changes.
    """

    before_builtins: ClassVar[bool] = True
    required_stream_modes: ClassVar[tuple[str, ...]] = ("messages",)

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        super().__init__(scope)
        self._own = list(scope)
        self._open: dict[tuple[Any, Any], CitationStream] = {}

    def init(self) -> dict[str, Any]:
        """Adds nothing to the stream."""
        return {}

    def process(self, event: Any) -> bool:
        """Strip an event's text; no event is dropped."""
        if event["method"] == "messages" and event["params"]["namespace"] == self._own:
            payload, metadata = event["params"]["data"]
            shown = _shown(metadata)
            if shown and isinstance(payload, AIMessage):
                event["params"]["data"] = (bare(payload, shown), metadata)
            elif shown and isinstance(payload, dict):
                self._strip(payload, shown, metadata.get("langgraph_checkpoint_ns"))
        return True

    def _strip(self, payload: dict[str, Any], shown: Collection[int], step: Any) -> None:
        key = (step, payload.get("index"))
        delta, content = payload.get("delta"), payload.get("content")
        if isinstance(delta, dict) and isinstance(delta.get("text"), str):
            stream = self._open.setdefault(key, CitationStream(shown, markers="strip"))
            payload["delta"] = {**delta, "text": stream.feed(delta["text"])}
        elif payload.get("event") == "content-block-finish":
            self._open.pop(key, None)
            payload["content"] = _with_text(content, partial(_bare, shown))
