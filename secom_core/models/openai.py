"""Models behind any OpenAI-compatible endpoint: OpenAI itself, vLLM, Ollama, llama.cpp, LM Studio and the like."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import BadReply, InvalidInput, MissingExtra, ModelUnavailable
from ..protocols import Prompt, Vectors
from .rows import sendable, unit_rows

if TYPE_CHECKING:
    from openai import AsyncOpenAI, BadRequestError, OpenAI

__all__ = ["OpenAIEmbedder", "OpenAIModel"]

_NO_KEY: Final = "none-needed"
_REQUEST_CHARACTERS: Final = 200_000  # OpenAI takes 300,000 tokens a request for embeddings.


class OpenAIModel:
    """A chat model for sync and async callers.

    Safe to share between threads and between event loops: async calls hold no connection from one call to the next.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint, such as ``"http://localhost:8000/v1"``; ``OPENAI_BASE_URL``, else OpenAI's, where
            ``None``.
        api_key: the key. ``OPENAI_API_KEY`` is read only where ``base_url`` is not given, so that it is never sent to
            another host; an endpoint without keys needs none.
        timeout: seconds for one attempt.
        max_retries: further attempts after a failed connection, a time-out, or status 408, 409, 429 or 5xx.
        options: further fields of each request, such as ``{"seed": 7}``; they win over the prompt's own.

    Raises:
        MissingExtra: without the openai package.
        InvalidInput: without a key where one is needed.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = model
        self._endpoint = _Endpoint("OpenAIModel", model, base_url, api_key, timeout, max_retries)
        self._options = dict(options or {})
        self._reasoning = False

    def __repr__(self) -> str:
        return f"OpenAIModel({self._endpoint.label!r})"

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt.

        Raises:
            ModelUnavailable: no answer after all attempts; the cause is chained.
            BadReply: an answer without text.
        """
        with self._endpoint.translated():
            ask = self._endpoint.client.chat.completions.create
            try:
                reply = ask(**self._request(prompt))
            except self._endpoint.bad_request as error:
                self._switch_dialect(error)
                reply = ask(**self._request(prompt))
        return _text(reply)

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt; raises like `complete`."""
        # Building a client reads the certificates, which would hold up the event loop.
        client = await asyncio.to_thread(self._endpoint.async_client)
        with self._endpoint.translated():
            async with client:
                ask = client.chat.completions.create
                try:
                    reply = await ask(**self._request(prompt))
                except self._endpoint.bad_request as error:
                    self._switch_dialect(error)
                    reply = await ask(**self._request(prompt))
        return _text(reply)

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer's pieces; raises like `complete`, also in the middle of an answer."""
        ask = self._endpoint.client.chat.completions.create
        with self._endpoint.translated():
            try:
                pieces = ask(**self._request(prompt), stream=True)
            except self._endpoint.bad_request as error:
                self._switch_dialect(error)
                pieces = ask(**self._request(prompt), stream=True)
        with pieces:
            end = _StreamEnd(self._endpoint.label)
            while (piece := self._next(pieces)) is not None:
                yield from end.text_of(piece)
            end.check()

    def _next(self, pieces: Iterator[Any]) -> Any:
        with self._endpoint.translated():
            return next(pieces, None)

    async def astream(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer's pieces; raises like `stream`."""
        client = await asyncio.to_thread(self._endpoint.async_client)
        async with client:
            ask = client.chat.completions.create
            with self._endpoint.translated():
                try:
                    pieces = await ask(**self._request(prompt), stream=True)
                except self._endpoint.bad_request as error:
                    self._switch_dialect(error)
                    pieces = await ask(**self._request(prompt), stream=True)
            async with pieces:
                end = _StreamEnd(self._endpoint.label)
                while (piece := await self._anext(pieces)) is not None:
                    for text in end.text_of(piece):
                        yield text
                end.check()

    async def _anext(self, pieces: AsyncIterator[Any]) -> Any:
        with self._endpoint.translated():
            return await anext(pieces, None)

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        messages = [{"role": "user", "content": sendable(prompt.text)}]
        if prompt.system is not None:
            messages.insert(0, {"role": "system", "content": sendable(prompt.system)})
        request: dict[str, Any] = {"model": self.name, "messages": messages}
        if not self._reasoning:
            request["temperature"] = prompt.temperature
        if prompt.max_tokens is not None:
            request["max_completion_tokens" if self._reasoning else "max_tokens"] = prompt.max_tokens
        return request | self._options

    def _switch_dialect(self, error: BadRequestError) -> None:
        # OpenAI's reasoning models refuse what most compatible servers know only by its old name.
        if self._reasoning or error.param not in ("temperature", "max_tokens"):
            raise error
        self._reasoning = True


class OpenAIEmbedder:
    """An embedder behind an OpenAI-compatible endpoint.

    Args:
        model: the model's name at the endpoint.
        dimensions: the length of a vector, for models that can shorten it.
        batch_size: the most texts in one request.
        max_characters: longer texts are cut there, as the endpoint refuses what is longer than the model's window.
        base_url: as for `OpenAIModel`.
        api_key: as for `OpenAIModel`.
        timeout: seconds for one attempt.
        max_retries: further attempts.

    Raises:
        MissingExtra: without the openai package.
        InvalidInput: without a key where one is needed, or for a size below 1.
    """

    def __init__(
        self,
        model: str,
        *,
        dimensions: int | None = None,
        batch_size: int = 128,
        max_characters: int = 8_000,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
    ) -> None:
        if batch_size < 1 or max_characters < 1:
            raise InvalidInput(f"batch_size and max_characters are at least 1, got {batch_size} and {max_characters}")
        self.name = model if dimensions is None else f"{model}/{dimensions}"
        self._model = model
        self._options: dict[str, Any] = {} if dimensions is None else {"dimensions": dimensions}
        self._batch_size = batch_size
        self._max_characters = max_characters
        self._endpoint = _Endpoint("OpenAIEmbedder", model, base_url, api_key, timeout, max_retries)

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._endpoint.label!r})"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: no answer after all attempts; the cause is chained.
            BadReply: another number of vectors than texts, or vectors without direction.
        """
        # The API refuses an empty text.
        shown = [sendable(text[: self._max_characters]) or " " for text in texts]
        rows = [self._embed_batch(batch) for batch in _batches(shown, self._batch_size)]
        if len({row.shape[1] for row in rows}) > 1:
            raise BadReply(f"{self._model} gave vectors of lengths {[row.shape[1] for row in rows]}", "")
        return np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)

    def _embed_batch(self, batch: list[str]) -> Vectors:
        with self._endpoint.translated():
            reply = self._endpoint.client.embeddings.create(model=self._model, input=batch, **self._options)
            rows = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
            return unit_rows(rows, len(batch), self._model)


class _Endpoint:
    """Where a model is reached: the one place that knows the openai package."""

    def __init__(
        self, who: str, model: str, base_url: str | None, api_key: str | None, timeout: float, max_retries: int
    ) -> None:
        try:
            import httpx
            import openai
        except ImportError as error:
            raise MissingExtra(who, "openai") from error
        if timeout <= 0 or max_retries < 0:
            raise InvalidInput(f"timeout is above 0 and max_retries not below, got {timeout} and {max_retries}")
        self._openai, self._broken = openai, httpx.HTTPError
        self._options: dict[str, Any] = {
            "base_url": base_url or os.environ.get("OPENAI_BASE_URL") or None,
            "api_key": _key(who, base_url, api_key),
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._client: OpenAI | None = None
        self._lock = threading.Lock()
        self.label = f"{model} at {self._options['base_url'] or 'OpenAI'}"
        self.bad_request = openai.BadRequestError

    @property
    def client(self) -> OpenAI:
        """The client of all threads; it keeps its connections."""
        with self._lock:
            if self._client is None:
                self._client = self._openai.OpenAI(**self._options)
            return self._client

    def async_client(self) -> AsyncOpenAI:
        """A new client, as connections belong to the event loop that opened them."""
        return self._openai.AsyncOpenAI(**self._options)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the package's errors into ours."""
        try:
            yield
        # What happens to a connection in the middle of a stream the package passes on as it came.
        except (self._openai.OpenAIError, self._broken) as error:
            raise ModelUnavailable(f"{self.label} gave no answer: {error}") from error
        # The package passes on what happens to a body that is no JSON, or JSON of another shape.
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ModelUnavailable(f"{self.label} sent what is not in the protocol: {error}") from error


def _key(who: str, base_url: str | None, api_key: str | None) -> str:
    if api_key or base_url:
        return api_key or _NO_KEY
    found = os.environ.get("OPENAI_API_KEY") or (_NO_KEY if os.environ.get("OPENAI_BASE_URL") else None)
    if found is None:
        raise InvalidInput(
            f"{who} needs api_key=, the variable OPENAI_API_KEY, or base_url= of an endpoint without keys"
        )
    return found


class _StreamEnd:
    """Notes whether a streamed answer came to its end: one that was cut off is an error, not an answer."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._reason: str | None = None
        self._said = False

    def text_of(self, piece: Any) -> Iterator[str]:
        for choice in (getattr(piece, "choices", None) or [])[:1]:
            self._reason = getattr(choice, "finish_reason", None) or self._reason
            text = getattr(getattr(choice, "delta", None), "content", None)
            if isinstance(text, str) and text:
                self._said = True
                yield sendable(text)

    def check(self) -> None:
        if self._reason is None:
            raise ModelUnavailable(f"{self._label} broke off in the middle of an answer")
        if not self._said:
            raise BadReply("the reply is empty", "")


def _text(reply: Any) -> str:
    choices = getattr(reply, "choices", None)
    message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
    content = getattr(message, "content", None)
    if isinstance(content, str) and content.strip():
        return sendable(content)
    refusal = getattr(message, "refusal", None)
    raise BadReply("the model refused" if refusal else "the reply is empty", str(refusal or content or ""))


def _batches(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    room = _REQUEST_CHARACTERS
    for text in texts:
        if batch and (len(batch) == size or len(text) > room):
            yield batch
            batch, room = [], _REQUEST_CHARACTERS
        batch.append(text)
        room -= len(text)
    if batch:
        yield batch
