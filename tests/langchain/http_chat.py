"""A LangChain chat model and embeddings that speak to an OpenAI-compatible server, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from openai import AsyncOpenAI, OpenAI


class HttpChatModel(BaseChatModel):
    base_url: str

    @property
    def _llm_type(self) -> str:
        return "http-chat-model"

    def _body(self, messages: list[BaseMessage], stop: list[str] | None, **kwargs: Any) -> dict[str, Any]:
        converted = convert_to_openai_messages(messages)
        return {"model": "scripted", "messages": converted, **({"stop": stop} if stop else {}), **kwargs}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            return _whole(client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        async with AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            return _whole(await client.chat.completions.create(**self._body(messages, stop, **kwargs)))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            for piece in client.chat.completions.create(**self._body(messages, stop, stream=True, **kwargs)):
                chunk = _piece(piece)
                if run_manager:
                    run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
                yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async with AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            async for piece in await client.chat.completions.create(
                **self._body(messages, stop, stream=True, **kwargs)
            ):
                chunk = _piece(piece)
                if run_manager:
                    await run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
                yield chunk


class HttpEmbeddings(Embeddings):
    model = "scripted"

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            found = client.embeddings.create(model="scripted", input=texts, encoding_format="float")
        # Not of length 1, as some models' vectors are not.
        return [[3 * value for value in each.embedding] for each in found.data]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _whole(completion: Any) -> ChatResult:
    choice = completion.choices[0]
    calls = [
        {"name": call.function.name, "args": json.loads(call.function.arguments), "id": call.id}
        for call in choice.message.tool_calls or ()
    ]
    about = {"finish_reason": choice.finish_reason, "model_provider": "openai"}
    message = AIMessage(choice.message.content or "", tool_calls=calls, response_metadata=about)
    return ChatResult(generations=[ChatGeneration(message=message)])


def _piece(chunk: Any) -> ChatGenerationChunk:
    choice = chunk.choices[0]
    calls = [
        {"name": call.function.name, "args": call.function.arguments, "id": call.id, "index": call.index}
        for call in choice.delta.tool_calls or ()
    ]
    about = {"finish_reason": choice.finish_reason} if choice.finish_reason else {}
    content = choice.delta.content or ""
    return ChatGenerationChunk(message=AIMessageChunk(content=content, tool_call_chunks=calls, response_metadata=about))
