"""Models behind any OpenAI-compatible endpoint: OpenAI itself, vLLM, Ollama, llama.cpp, LM Studio and the like."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import BadReply, InvalidInput, MissingExtra, ModelUnavailable, shorten, without_keys
from ..llm.limits import failure
from ..llm.quoting import without_thoughts
from ..llm.reply import Reply, empty, ended_at_limit
from ..llm.schemas import SchemaTrial
from ..llm.windows import packed
from ..processes import in_child
from ..protocols import Prompt, Vectors
from ..text.batches import batches
from .rows import model_rows, sendable

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI, OpenAI


_NO_KEY: Final = "none-needed"

_REQUEST_CHARACTERS: Final = 200_000  # OpenAI takes 300,000 tokens a request for embeddings.
_THOUGHTS: Final = 4_000
"""How many tokens a model that thinks first gets on top of a prompt's limit, which is for the answer alone."""

_LIMITS: Final = frozenset({"max_tokens", "max_completion_tokens"})


class OpenAIModel:
    """A chat model for sync and async callers.

    Safe to share between threads and between event loops: async calls hold no connection from one call to the next.
    A model whose thoughts take up the limit of a prompt is asked once more with 4,000 tokens on top, and has them from
    then on.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint, such as ``"http://localhost:8000/v1"``; ``OPENAI_BASE_URL``, else OpenAI's, where
            ``None``.
        api_key: the key. ``OPENAI_API_KEY`` is read only where ``base_url`` is not given, so that it is never sent to
            another host; an endpoint without keys needs none.
        timeout: seconds for one attempt.
        max_retries: further attempts after a failed connection, a time-out, or status 408, 409, 429 or 5xx.
        options: further fields of each request, such as ``{"seed": 7}``; they win over the prompt's own.
        hold_to_schema: ask for replies in the JSON schema of a prompt that has one (``response_format``). Whether the
            endpoint can is found out by the first such prompt; where it cannot, the text alone says what is wanted.

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
        hold_to_schema: bool = True,
    ) -> None:
        self.name = model
        self._endpoint = _Endpoint("OpenAIModel", model, base_url, api_key, timeout, max_retries)
        self._options = dict(options or {})
        self._reasoning = self._thinks = False
        self._schemas = SchemaTrial(hold_to_schema)

    def __repr__(self) -> str:
        return f"OpenAIModel({self._endpoint.label!r})"

    def complete(self, prompt: Prompt) -> str:
        """Answer the prompt; a `Reply` that says whether it was cut off.

        Raises:
            ModelUnavailable: no answer after all attempts; the cause is chained.
            ContextTooLong: the prompt is longer than the model's context.
            BadReply: an answer without text.
        """
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, self._endpoint.translated():
                reply = _text(self._answer(prompt, attempt.options))
        return reply

    async def acomplete(self, prompt: Prompt) -> str:
        """Answer the prompt; raises like `complete`."""
        reply = Reply()
        for attempt in self._schemas.attempts(prompt):
            with attempt, self._endpoint.translated():
                async with await self._endpoint.async_client() as client:
                    reply = _text(await self._aanswer(client, prompt, attempt.options))
        return reply

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """The answer's pieces; raises like `complete`, also in the middle of an answer."""
        answer = _StreamedAnswer(self._endpoint.label)
        with self._endpoint.translated(), self._create(prompt, stream=True) as pieces:
            for piece in pieces:
                if text := answer.text_of(piece):
                    yield text
        answer.check()

    async def astream(self, prompt: Prompt) -> AsyncIterator[str]:
        """The answer's pieces; raises like `stream`."""
        answer = _StreamedAnswer(self._endpoint.label)
        with self._endpoint.translated():
            async with (
                await self._endpoint.async_client() as client,
                await self._acreate(client, prompt, stream=True) as pieces,
            ):
                async for piece in pieces:
                    if text := answer.text_of(piece):
                        yield text
        answer.check()

    def _answer(self, prompt: Prompt, options: Mapping[str, Any]) -> Any:
        has_room = self._has_room_for_thoughts(prompt)
        answer = self._create(prompt, **options)
        if has_room or not _is_only_thoughts(answer):
            return answer
        self._thinks = True
        return self._create(prompt, **options)

    async def _aanswer(self, client: AsyncOpenAI, prompt: Prompt, options: Mapping[str, Any]) -> Any:
        has_room = self._has_room_for_thoughts(prompt)
        answer = await self._acreate(client, prompt, **options)
        if has_room or not _is_only_thoughts(answer):
            return answer
        self._thinks = True
        return await self._acreate(client, prompt, **options)

    def _has_room_for_thoughts(self, prompt: Prompt) -> bool:
        """Whether there is no limit, or one that cannot be raised, or that has been."""
        return self._thinks or prompt.max_tokens is None or not _LIMITS.isdisjoint(self._options)

    def _create(self, prompt: Prompt, **options: Any) -> Any:
        create: Any = self._endpoint.client.chat.completions.create
        try:
            return create(**options | self._request(prompt))
        except self._endpoint.refused as error:
            if not self._is_reasoning(error):
                raise
            return create(**options | self._request(prompt))

    async def _acreate(self, client: AsyncOpenAI, prompt: Prompt, **options: Any) -> Any:
        create: Any = client.chat.completions.create
        try:
            return await create(**options | self._request(prompt))
        except self._endpoint.refused as error:
            if not self._is_reasoning(error):
                raise
            return await create(**options | self._request(prompt))

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        texts = (("system", prompt.system), ("user", prompt.text))
        messages = [{"role": role, "content": sendable(text)} for role, text in texts if text is not None]
        request: dict[str, Any] = {"model": self.name, "messages": messages}
        if not self._reasoning:
            request["temperature"] = prompt.temperature
        if prompt.max_tokens is not None:
            limit = prompt.max_tokens + (_THOUGHTS if self._thinks else 0)
            request["max_completion_tokens" if self._reasoning else "max_tokens"] = limit
        return request | self._options

    def _is_reasoning(self, error: APIStatusError) -> bool:
        """Whether a refusal tells for the first time that the model is one that reasons."""
        # OpenAI's reasoning models refuse temperature and max_tokens; most compatible servers know no newer names.
        told = not self._reasoning and getattr(error, "param", None) in ("temperature", "max_tokens")
        self._reasoning |= told
        return told


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
            BadReply: another number of vectors than texts, or vectors of different lengths.
        """
        # The API refuses an empty text.
        texts = [sendable(text[: self._max_characters]) or " " for text in texts]
        runs = batches(texts, self._batch_size)
        rows = [self._embed_batch(batch) for run in runs for batch in packed(run, len, _REQUEST_CHARACTERS)]
        if len({row.shape[1] for row in rows}) > 1:
            raise BadReply(f"{self._model} gave vectors of lengths {[row.shape[1] for row in rows]}", "")
        return np.concatenate(rows) if rows else np.zeros((0, 0), np.float32)

    def _embed_batch(self, batch: list[str]) -> Vectors:
        with self._endpoint.translated():
            reply = self._endpoint.client.embeddings.create(model=self._model, input=batch, **self._options)
            rows = [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
            return model_rows(rows, len(batch), self._model)


class _Endpoint:
    """Where a model is reached; nothing else here uses the openai package."""

    def __init__(
        self, who: str, model: str, base_url: str | None, api_key: str | None, timeout: float, max_retries: int
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtra(who, "openai") from error
        http = _http_libraries()
        if timeout <= 0 or max_retries < 0:
            raise InvalidInput(f"timeout is above 0 and max_retries not below, got {timeout} and {max_retries}")
        self._openai, self._http_errors = openai, tuple(each.HTTPError for each in http)
        self._late = (openai.APITimeoutError, *(each.TimeoutException for each in http))
        self._patience = f"({who}(timeout=…) sets how long an attempt may take, now {timeout:g} seconds)"
        url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        # The key in the environment is not for a host that the caller names.
        key = api_key or (None if base_url else os.environ.get("OPENAI_API_KEY"))
        if not (key or url):
            raise InvalidInput(
                f"{who} needs api_key= or the variable OPENAI_API_KEY; an endpoint without keys needs base_url= instead"
            )
        limits = {"timeout": timeout, "max_retries": max_retries}
        self._options: dict[str, Any] = {"base_url": url, "api_key": key or _NO_KEY, **limits}
        self._left: list[OpenAI] = []
        self.label = without_keys(f"{model} at {url or 'OpenAI'}")
        self.refused = (openai.BadRequestError, openai.UnprocessableEntityError, openai.InternalServerError)

    @cached_property
    def client(self) -> OpenAI:
        """The client of all threads; it keeps its connections, and a child that is forked has another one."""
        in_child(self)
        client: OpenAI = self._openai.OpenAI(**self._options)
        return client

    def renew(self) -> None:
        """Leave the parent's connections to it: what one of two children asks there, the other may be answered."""
        if (client := self.__dict__.pop("client", None)) is not None:
            # Kept, as to close it takes a lock that another thread of the parent's may have held.
            self._left.append(client)

    async def async_client(self) -> AsyncOpenAI:
        """A new client, as connections belong to the event loop that opened them."""
        # In a thread: building a client reads the certificates, which would hold up the event loop.
        return await asyncio.to_thread(self._openai.AsyncOpenAI, **self._options)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the package's errors into ours."""
        try:
            yield
        # A connection that breaks in the middle of a stream may raise an error of what is below the package.
        except (self._openai.OpenAIError, *self._http_errors) as error:
            late = f" {self._patience}" if isinstance(error, self._late) else ""
            raise failure(str(error))(f"{self.label} gave no answer: {error}{late}") from error
        # A body that is no JSON, or JSON of another shape, raises any of these.
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ModelUnavailable(f"{self.label} sent what is not in the protocol: {error}") from error


def _http_libraries() -> list[Any]:
    """What openai speaks HTTP with: httpx up to 2, httpx2 from 3 on."""
    return [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]


class _StreamedAnswer:
    """Reads the pieces of a streamed answer; one that was cut off is an error, not an answer."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._finished = self._has_text = False

    def text_of(self, piece: Any) -> str:
        choice = _first_choice(piece)
        self._finished |= bool(getattr(choice, "finish_reason", None))
        text = getattr(getattr(choice, "delta", None), "content", None)
        self._has_text |= bool(text) and isinstance(text, str)
        return sendable(text) if isinstance(text, str) else ""

    def check(self) -> None:
        if not self._finished:
            raise ModelUnavailable(f"{self._label} broke off in the middle of an answer")
        if not self._has_text:
            raise BadReply("the reply is empty", "")


def _first_choice(reply: Any) -> Any:
    choices = getattr(reply, "choices", None)
    return choices[0] if isinstance(choices, list) and choices else None


def _content(choice: Any) -> str:
    content = getattr(getattr(choice, "message", None), "content", None)
    return content if isinstance(content, str) else ""


def _is_only_thoughts(reply: Any) -> bool:
    """Whether an answer ended at its limit before it had a word but for thoughts, which may not be sent."""
    choice = _first_choice(reply)
    return ended_at_limit(choice) and not without_thoughts(_content(choice)).strip()


def _text(reply: Any) -> Reply:
    choice = _first_choice(reply)
    content = _content(choice)
    if content.strip():
        return Reply(sendable(content), cut_off=ended_at_limit(choice))
    # Some proxies send an error with status 200, in place of the answer or in it.
    if error := getattr(reply, "error", None) or getattr(choice, "error", None):
        raise failure(str(error))(f"the endpoint sent an error in place of an answer: {shorten(error)}")
    refusal = getattr(getattr(choice, "message", None), "refusal", None)
    raise BadReply("the model refused" if refusal else empty(ended_at_limit(choice)), str(refusal or content))
