"""Language models that say what a test or a demo tells them to, in process and over real HTTP.

`ScriptedModel` is a chat model without a network. `ScriptedServer` speaks the OpenAI protocol on the loopback
interface, so that whatever talks to OpenAI (this package, LangChain, LlamaIndex, the openai client) can be run for
real, failures included::

    with ScriptedServer({"capital of France": "Paris", "": Fault(status=500)}) as server:
        OpenAIModel("any", base_url=server.base_url).complete(Prompt("The capital of France?"))

A *script* is one of

- one reply, given to every request;
- a list of replies, given in the order in which requests arrive;
- rules: a mapping from a substring or a compiled pattern to a script; the first that is found in the request's text
  answers, and the substring ``""`` is found in all;
- a callable that is given the `ScriptedRequest` and returns a reply.

A *reply* is a string, an `Answer` (text, calls to tools, a delay) or a `Fault` (an HTTP status, a dropped connection,
a body that is no JSON, a server that hangs).
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, Final, TypeAlias, cast

import numpy as np

from ..analysis import count_tokens
from ..errors import BadReply, InvalidInput, ModelUnavailable
from ..protocols import Prompt, Vectors

__all__ = [
    "Answer",
    "Fault",
    "Script",
    "ScriptedEmbedder",
    "ScriptedModel",
    "ScriptedRequest",
    "ScriptedServer",
    "ToolCall",
]

_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call to a tool in a reply; the arguments are a mapping, or text that need not be JSON."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=lambda: _EMPTY, hash=False)
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that arrives.

    Args:
        text: what the model says; ``None`` is sent as ``null``.
        tool_calls: the tools it calls.
        delay: seconds before the reply starts.
        finish_reason: ``"stop"``, or ``"tool_calls"`` where there are any, unless given.
    """

    text: str | None = ""
    tool_calls: tuple[ToolCall, ...] = ()
    delay: float = 0.0
    finish_reason: str = ""

    @property
    def finish(self) -> str:
        """Why the reply ends, as the protocol names it."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply that goes wrong. Without a status and a body, the connection is dropped.

    Args:
        status: an HTTP status to answer with, such as 429 or 500.
        retry_after: seconds, sent as the ``Retry-After`` header.
        body: sent as it is, with status 200 unless another is given.
        delay: seconds before anything happens; ``math.inf`` hangs until the client or the server gives up.
    """

    status: int | None = None
    retry_after: float | None = None
    body: str | None = None
    delay: float = 0.0

    def __str__(self) -> str:
        if self.status is not None:
            return f"scripted HTTP status {self.status}"
        return "scripted dropped connection" if self.body is None else f"scripted body {self.body[:80]!r}"


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """What was asked, as it arrived.

    Args:
        body: the JSON body, read-only all the way down (lists are tuples).
        path: the path of the endpoint; empty in process.
        headers: by lower-case name; empty in process.
        purpose: the prompt's purpose; known in process only.
    """

    body: Mapping[str, Any]
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: _EMPTY, hash=False)
    purpose: str = ""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every message, in order."""
        return tuple((str(m.get("role", "")), _text_of(m.get("content"))) for m in self.body.get("messages", ()))

    @property
    def text(self) -> str:
        """The last message's text; for embeddings, the texts, a line each."""
        if "messages" in self.body:
            return self.messages[-1][1] if self.messages else ""
        return "\n".join(map(str, _inputs(self.body.get("input", ()))))

    @property
    def prompt(self) -> str:
        """The text of all messages, a line each; what rules are matched against."""
        return "\n".join(text for _, text in self.messages) if "messages" in self.body else self.text

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that are offered."""
        return tuple(tool.get("function", {}).get("name", "") for tool in self.body.get("tools") or ())


AnyReply: TypeAlias = str | Answer | Fault
Script: TypeAlias = (
    AnyReply
    | Sequence[AnyReply]
    | Mapping[Any, Any]  # substring or compiled pattern -> script
    | Callable[[ScriptedRequest], AnyReply]
)
"""One reply, replies in order, rules, or a callable."""


class ScriptedModel:
    """A chat model, sync and async, that follows a script.

    A `Fault` is raised as `ModelUnavailable`, an empty answer as `BadReply`, like `OpenAIModel` does.

    Raises:
        InvalidInput: where the script has no reply, so that a test fails instead of degrading.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self._script = _Player(script)

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        """What it was asked so far, in order."""
        return self._script.requests

    def complete(self, prompt: Prompt) -> str:
        """The script's reply to ``prompt``."""
        reply = self._script.reply(_as_request(prompt, self.name))
        time.sleep(_pause(reply))
        return _spoken(reply)

    async def acomplete(self, prompt: Prompt) -> str:
        """The script's reply to ``prompt``."""
        reply = self._script.reply(_as_request(prompt, self.name))
        await asyncio.sleep(_pause(reply))
        return _spoken(reply)


class ScriptedEmbedder:
    """An embedder without a model: words hashed into a vector, so that texts that share words are near.

    Args:
        dimensions: the length of a vector.
        name: what identifies it.
    """

    def __init__(self, dimensions: int = 64, *, name: str = "scripted") -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), dimensions)``, each of length 1."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        return np.stack([_hashed(_WORD.findall(text.casefold()), self.dimensions) for text in texts])


class ScriptedServer:
    """An OpenAI-compatible server on the loopback interface, for tests and demos.

    It serves ``POST /v1/chat/completions`` (whole and streamed), ``POST /v1/embeddings`` (as `ScriptedEmbedder`) and
    ``GET /v1/models``. Use it as a context manager, or call `start` and `close`.

    Args:
        script: what the chat endpoint replies.
        dimensions: the length of an embedding, unless the request asks for another.
        embedding_faults: what goes wrong with the first requests for embeddings, in order.
        model: the name under which ``/v1/models`` lists it.
    """

    def __init__(
        self,
        script: Script = "ok",
        *,
        dimensions: int = 64,
        embedding_faults: Sequence[Fault] = (),
        model: str = "scripted",
    ) -> None:
        self.dimensions = dimensions
        self.model = model
        self._script = _Player(script)
        self._embedding_faults = _Player([*embedding_faults])
        self._http: _HTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        """The requests to the chat endpoint so far, in the order of their arrival."""
        return self._script.requests

    @property
    def embedding_requests(self) -> tuple[ScriptedRequest, ...]:
        """The requests to the embeddings endpoint so far."""
        return self._embedding_faults.requests

    @property
    def base_url(self) -> str:
        """The address to give to a client, ``http://127.0.0.1:<port>/v1``."""
        if self._http is None:
            raise InvalidInput("the scripted server has no address before start()")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> ScriptedServer:
        """Listen on a free port and serve in the background."""
        if self._http is None:
            self._http = _HTTPServer(self)
            self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving, and drop every connection that is open."""
        http, thread = self._http, self._thread
        self._http = self._thread = None
        if http is not None and thread is not None:
            http.hang_up()
            thread.join()

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _chat(self, request: ScriptedRequest) -> Answer | Fault:
        return self._script.reply(request)

    def _embed(self, request: ScriptedRequest) -> dict[str, Any] | Fault:
        fault = self._embedding_faults.next_fault(request)
        return fault or _embedding_body(request.body, self.dimensions)


class _Player:
    """Plays a script and keeps what was asked."""

    def __init__(self, script: Script) -> None:
        self._lock = threading.Lock()
        self._requests: list[ScriptedRequest] = []
        self._script = _prepared(script)

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        with self._lock:
            return tuple(self._requests)

    def reply(self, request: ScriptedRequest) -> Answer | Fault:
        with self._lock:
            self._requests.append(request)
            found = _find(self._script, request)
        # A callable runs outside the lock, so that slow ones answer side by side.
        reply = found(request) if callable(found) else found
        if not isinstance(reply, str | Answer | Fault):
            raise InvalidInput(f"a scripted reply is a str, an Answer or a Fault, not {reply!r}")
        return Answer(reply) if isinstance(reply, str) else reply

    def next_fault(self, request: ScriptedRequest) -> Fault | None:
        with self._lock:
            self._requests.append(request)
            return cast("Fault | None", next(self._script, None))


def _prepared(script: Any) -> Any:
    if isinstance(script, Mapping):
        return [(pattern, _prepared(inner)) for pattern, inner in script.items()]
    if isinstance(script, str | Answer | Fault) or callable(script):
        return script
    if isinstance(script, Sequence):
        return iter(tuple(script))
    raise InvalidInput(f"a script is a reply, a list of replies, rules or a callable, not {script!r}")


def _find(script: Any, request: ScriptedRequest) -> Any:
    if isinstance(script, list):
        return _find(_matching(script, request), request)
    if isinstance(script, Iterator):
        found = next(script, None)
        if found is None:
            raise InvalidInput(f"the script has no reply left for {request.text!r}")
        return found
    return script


def _matching(rules: list[tuple[str | re.Pattern[str], Any]], request: ScriptedRequest) -> Any:
    prompt = request.prompt
    for pattern, script in rules:
        if pattern in prompt if isinstance(pattern, str) else pattern.search(prompt):
            return script
    raise InvalidInput(f"the script has no rule for {request.text!r}")


def _as_request(prompt: Prompt, model: str) -> ScriptedRequest:
    messages = [{"role": "user", "content": prompt.text}]
    if prompt.system is not None:
        messages.insert(0, {"role": "system", "content": prompt.system})
    body = {"model": model, "messages": messages, "temperature": prompt.temperature, "max_tokens": prompt.max_tokens}
    return ScriptedRequest(_frozen(body), purpose=prompt.purpose)


def _pause(reply: Answer | Fault) -> float:
    return reply.delay if math.isfinite(reply.delay) else 0.0


def _spoken(reply: Answer | Fault) -> str:
    if isinstance(reply, Fault):
        raise ModelUnavailable(str(reply))
    if not reply.text or not reply.text.strip():
        raise BadReply("the reply is empty", reply.text or "")
    return reply.text


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(inner) for key, inner in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _text_of(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


# -- embeddings


def _hashed(words: Sequence[str], dimensions: int) -> Vectors:
    vector = np.zeros(dimensions, np.float32)
    for word in words or ["\0"]:
        number = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        vector[number % dimensions] += 1.0 if number >> 63 else -1.0
    if not vector.any():
        vector[0] = 1.0
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def _inputs(given: Any) -> tuple[Any, ...]:
    """The texts of an embeddings request; a list of token numbers is one text."""
    if isinstance(given, str) or (given and isinstance(given[0], int)):
        return (given,)
    return tuple(given)


def _embedding_body(body: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    texts = [
        text if isinstance(text, str) else " ".join(f"token{number}" for number in text)
        for text in _inputs(body.get("input", ()))
    ]
    rows = ScriptedEmbedder(body.get("dimensions") or dimensions).embed(texts)
    coded = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": place,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode() if coded else row.tolist(),
        }
        for place, row in enumerate(rows)
    ]
    used = sum(map(count_tokens, texts))
    usage = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage}


# -- the chat protocol


def _usage(request: ScriptedRequest, answer: Answer) -> dict[str, int]:
    asked = sum(count_tokens(text) for _, text in request.messages)
    said = count_tokens(answer.text or "") + sum(count_tokens(call.arguments_text) for call in answer.tool_calls)
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def _tool_calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id or f"call_{place}_{blake2b(call.arguments_text.encode(), digest_size=6).hexdigest()}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text},
        }
        for place, call in enumerate(answer.tool_calls)
    ]


def _envelope(request: ScriptedRequest, kind: str) -> dict[str, Any]:
    identity = blake2b(request.prompt.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    name = request.body.get("model", "")
    return {"id": f"chatcmpl-{identity}", "object": kind, "created": int(time.time()), "model": name}


def _completion(request: ScriptedRequest, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.tool_calls:
        message |= {"content": answer.text or None, "tool_calls": _tool_calls(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish}
    return _envelope(request, "chat.completion") | {"choices": [choice], "usage": _usage(request, answer)}


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


def _chunks(request: ScriptedRequest, answer: Answer) -> Iterator[dict[str, Any]]:
    envelope = _envelope(request, "chat.completion.chunk")
    for delta in _deltas(answer):
        yield envelope | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield envelope | {"choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]}
    if (request.body.get("stream_options") or {}).get("include_usage"):
        yield envelope | {"choices": [], "usage": _usage(request, answer)}


# -- HTTP


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # With the default of 5, many clients at once wait a second each.

    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        self.closing = threading.Event()
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        for connection in tuple(self.open):
            _shut(connection)


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # The client was quicker.
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HTTPServer

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # The client gave up, which is what faults are for.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in `ScriptedServer.requests`."""

    def do_GET(self) -> None:
        name = self.server.scripted.model
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "script"}]
        if self.path.rstrip("/") == "/v1/models":
            self._send_json(200, {"object": "list", "data": listed})
        elif self.path == f"/v1/models/{name}":
            self._send_json(200, listed[0])
        else:
            self._send_error(404, f"no such endpoint: GET {self.path}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        endpoints = {"/v1/chat/completions": self._chat, "/v1/embeddings": self._embeddings}
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._send_error(400, f"the body is no JSON: {error}")
        if self.path not in endpoints:
            return self._send_error(404, f"no such endpoint: POST {self.path}")
        if not isinstance(body, dict) or not ("messages" in body or "input" in body):
            return self._send_error(400, f"the body needs messages or input: {raw[:200]!r}")
        headers = MappingProxyType({name.lower(): value for name, value in self.headers.items()})
        return self._answered(endpoints[self.path], ScriptedRequest(_frozen(body), self.path, headers))

    def _answered(self, endpoint: Callable[[ScriptedRequest], None], request: ScriptedRequest) -> None:
        # Status 400, because clients do not retry it: a gap in the script shows at once.
        try:
            endpoint(request)
        except InvalidInput as error:
            self._send_error(400, str(error))

    def _chat(self, request: ScriptedRequest) -> None:
        reply = self.server.scripted._chat(request)
        if self._waited(reply.delay):
            return
        if isinstance(reply, Fault):
            self._fail(reply)
        elif request.body.get("stream"):
            self._stream(_chunks(request, reply))
        else:
            self._send_json(200, _completion(request, reply))

    def _embeddings(self, request: ScriptedRequest) -> None:
        found = self.server.scripted._embed(request)
        if not isinstance(found, Fault):
            self._send_json(200, found)
        elif not self._waited(found.delay):
            self._fail(found)

    def _waited(self, seconds: float) -> bool:
        """Wait; whether the server closed meanwhile."""
        closed = seconds > 0 and self.server.closing.wait(None if math.isinf(seconds) else seconds)
        if closed:
            self._drop()
        return closed

    def _fail(self, fault: Fault) -> None:
        if fault.body is not None:
            self._send(fault.status or 200, fault.body.encode("utf-8", "surrogatepass"), fault.retry_after)
        elif fault.status is not None:
            self._send_error(fault.status, str(fault), fault.retry_after)
        else:
            self._drop()

    def _drop(self) -> None:
        # Zero linger closes with a reset, as a crashed server does.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        _shut(self.connection)

    def _send(self, status: int, body: bytes, retry_after: float | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", f"{retry_after:g}")
        self.end_headers()
        self.wfile.write(body)

    def _send_json(self, status: int, value: Any) -> None:
        self._send(status, json.dumps(value).encode())

    def _send_error(self, status: int, message: str, retry_after: float | None = None) -> None:
        error = {"message": message, "type": "scripted", "param": None, "code": None}
        self._send(status, json.dumps({"error": error}).encode(), retry_after)

    def _stream(self, chunks: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for data in (*(json.dumps(chunk) for chunk in chunks), "[DONE]"):
            event = f"data: {data}\n\n".encode()
            self.wfile.write(b"%X\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")
