"""The JSON of OpenAI's chat and embeddings endpoints, as a server sends it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from ..text.terms import count_tokens
from .models import ScriptedEmbedder
from .scripts import Answer, ScriptedRequest


def completion(request: ScriptedRequest, answer: Answer) -> dict[str, Any]:
    """The body of a whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message |= {"content": answer.text or None, "tool_calls": _tool_calls(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
    return _envelope(request, "chat.completion") | {"choices": [choice], "usage": _usage(request, answer)}


def chunks(request: ScriptedRequest, answer: Answer) -> Iterator[dict[str, Any]]:
    """The pieces of a streamed answer: a word each, calls to tools in two halves."""
    envelope = _envelope(request, "chat.completion.chunk")
    for delta in _deltas(answer):
        yield envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield envelope | {"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield envelope | {"choices": [], "usage": _usage(request, answer)}


def embeddings(request: ScriptedRequest, dimensions: int) -> dict[str, Any]:
    """The body of an answer with embeddings (`ScriptedEmbedder`), as lists of numbers."""
    texts = [each if isinstance(each, str) else " ".join(map("token{}".format, each)) for each in request.inputs]
    rows = ScriptedEmbedder(request.body.get("dimensions") or dimensions).embed(texts).tolist()
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    tokens = sum(map(count_tokens, texts))
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": request.body.get("model", ""), "usage": usage}


def _envelope(request: ScriptedRequest, kind: str) -> dict[str, Any]:
    id_ = f"chatcmpl-{_digest(request.prompt)}"
    return {"id": id_, "object": kind, "created": int(time.time()), "model": request.body.get("model", "")}


def _usage(request: ScriptedRequest, answer: Answer) -> dict[str, int]:
    tokens_in = sum(count_tokens(text) for _, text in request.messages)
    tokens_out = sum(map(count_tokens, [answer.text or "", *(call.arguments_text for call in answer.tool_calls)]))
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _tool_calls(answer: Answer) -> list[dict[str, Any]]:
    calls = []
    for place, call in enumerate(answer.tool_calls):
        id_ = call.id or f"call_{place}_{_digest(call.arguments_text)}"
        function = {"name": call.name, "arguments": call.arguments_text}
        calls.append({"id": id_, "type": "function", "function": function})
    return calls


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if answer.text is not None else None}
    for piece in re.findall(r"\S+\s*|\s+", answer.text or ""):
        yield {"content": piece}
    for place, call in enumerate(_tool_calls(answer)):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        opening = call["function"] | {"arguments": arguments[:half]}
        yield {"tool_calls": [call | {"index": place, "function": opening}]}
        yield {"tool_calls": [{"index": place, "function": {"arguments": arguments[half:]}}]}
