"""A LlamaIndex LLM and an embedding model that speak to an OpenAI-compatible server, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from openai import AsyncOpenAI, OpenAI


def as_openai(message: ChatMessage) -> dict[str, Any]:
    calls = [block for block in message.blocks if isinstance(block, ToolCallBlock)]
    body: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if calls:
        body["tool_calls"] = [
            {
                "id": call.tool_call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": json.dumps(call.tool_kwargs)},
            }
            for call in calls
        ]
    if "tool_call_id" in message.additional_kwargs:
        body["tool_call_id"] = message.additional_kwargs["tool_call_id"]
    return body


def response(text: str, calls: Sequence[tuple[str, str, str]] = (), delta: str | None = None) -> ChatResponse:
    blocks: list[Any] = [TextBlock(text=text)] if text or not calls else []
    blocks += [ToolCallBlock(tool_call_id=i, tool_name=n, tool_kwargs=json.loads(a or "{}")) for i, n, a in calls]
    return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), delta=delta)


class Streamed:
    """Puts the pieces of a stream together."""

    def __init__(self) -> None:
        self.text = ""
        self.calls: dict[int, list[str]] = {}

    def add(self, chunk: Any) -> ChatResponse:
        delta = chunk.choices[0].delta
        self.text += delta.content or ""
        for call in delta.tool_calls or ():
            entry = self.calls.setdefault(call.index, ["", "", ""])
            entry[0] += call.id or ""
            entry[1] += call.function.name or ""
            entry[2] += call.function.arguments or ""
        whole = [(i, n, a) for i, n, a in self.calls.values() if _is_json(a)]
        return response(self.text, whole, delta.content or "")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class HttpLLM(FunctionCallingLLM):
    base_url: str
    context_window: int = 8000

    @classmethod
    def class_name(cls) -> str:
        return "HttpLLM"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            is_chat_model=True,
            is_function_calling_model=True,
            model_name="scripted",
            context_window=self.context_window,
        )

    def _client(self) -> OpenAI:
        return OpenAI(base_url=self.base_url, api_key="none", max_retries=0)

    def _aclient(self) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0)

    def _body(self, messages: Sequence[ChatMessage], **kwargs: Any) -> dict[str, Any]:
        return {"model": "scripted", "messages": [as_openai(message) for message in messages], **kwargs}

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        with self._client() as client:
            return _whole(client.chat.completions.create(**self._body(messages, **kwargs)))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        async with self._aclient() as client:
            return _whole(await client.chat.completions.create(**self._body(messages, **kwargs)))

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        def chunks() -> ChatResponseGen:
            streamed = Streamed()
            with self._client() as client:
                for chunk in client.chat.completions.create(**self._body(messages, stream=True, **kwargs)):
                    yield streamed.add(chunk)

        return chunks()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        async def chunks() -> ChatResponseAsyncGen:
            streamed = Streamed()
            async with self._aclient() as client:
                async for chunk in await client.chat.completions.create(**self._body(messages, stream=True, **kwargs)):
                    yield streamed.add(chunk)

        return chunks()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.chat([ChatMessage(content=prompt)], **kwargs).message.content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        answer = await self.achat([ChatMessage(content=prompt)], **kwargs)
        return CompletionResponse(text=answer.message.content or "")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        for part in self.stream_chat([ChatMessage(content=prompt)], **kwargs):
            yield CompletionResponse(text=part.message.content or "", delta=part.delta)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        async def parts() -> CompletionResponseAsyncGen:
            async for part in await self.astream_chat([ChatMessage(content=prompt)], **kwargs):
                yield CompletionResponse(text=part.message.content or "", delta=part.delta)

        return parts()

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[Any],
        user_msg: Any = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        question = ChatMessage(content=user_msg) if isinstance(user_msg, str) else user_msg
        messages = [*(chat_history or []), *([question] if question is not None else [])]
        return {"messages": messages, "tools": [tool.metadata.to_openai_tool() for tool in tools] or None, **kwargs}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def _whole(completion: Any) -> ChatResponse:
    message = completion.choices[0].message
    calls = [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    whole = response(message.content or "", calls)
    whole.raw = completion
    return whole


class HttpEmbedding(BaseEmbedding):
    base_url: str

    @classmethod
    def class_name(cls) -> str:
        return "HttpEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        with OpenAI(base_url=self.base_url, api_key="none", max_retries=0) as client:
            found = client.embeddings.create(model=self.model_name, input=texts, encoding_format="float")
        return [[2.0 * value for value in each.embedding] for each in found.data]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
