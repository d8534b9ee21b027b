"""A server of the OpenAI protocol that replies by a script."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import InvalidInput
from . import protocol
from .scripts import Answer, Fault, Script, ScriptedRequest, ScriptPlayer


class ScriptedServer:
    """An OpenAI-compatible server on the loopback interface that replies by a script (`secom_core.testing.scripts`).

    Whatever talks to OpenAI can be tested with it over real HTTP, faults included: this package, LangChain's and
    LlamaIndex's OpenAI classes, the openai client::

        with ScriptedServer({"capital of France": "Paris", "": Fault(status=500)}) as server:
            model = OpenAIModel("any-name", base_url=server.base_url)
            assert model.complete(Prompt("What is the capital of France?")) == "Paris"
            assert server.requests[0].text == "What is the capital of France?"

    It serves ``POST /v1/chat/completions`` (whole and streamed) and ``POST /v1/embeddings`` (as `ScriptedEmbedder`).
    Use it as a context manager, or call `start` and `close`. A request to which the script has no reply, or raises an
    error, gets status 400, which clients do not retry.

    Args:
        script: the replies of the chat endpoint.
        dimensions: the length of an embedding, unless the request names another.
        embedding_faults: what goes wrong with the first requests for embeddings, in order.

    Raises:
        InvalidInput: for what is no script.
    """

    def __init__(self, script: Script = "ok", *, dimensions: int = 64, embedding_faults: Sequence[Fault] = ()) -> None:
        self.dimensions = dimensions
        self._chat = ScriptPlayer(script)
        faults = iter(embedding_faults)
        # An empty answer stands for the embeddings themselves.
        self._embeddings = ScriptPlayer(lambda request: next(faults, Answer()))
        self._http: _HTTPServer | None = None

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        """The requests to the chat endpoint so far, in the order of their arrival."""
        return self._chat.requests

    @property
    def embedding_requests(self) -> tuple[ScriptedRequest, ...]:
        """The requests to the embeddings endpoint so far."""
        return self._embeddings.requests

    @property
    def base_url(self) -> str:
        """The address to give to a client, ``http://127.0.0.1:<port>/v1``.

        Raises:
            InvalidInput: where the server has not started.
        """
        if self._http is None:
            raise InvalidInput("the scripted server has no address before start()")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def start(self) -> ScriptedServer:
        """Listen on a free port and serve in the background."""
        if self._http is None:
            self._http = _HTTPServer(self)
        return self

    def close(self) -> None:
        """Stop serving, and drop every connection that is open."""
        if self._http is not None:
            self._http.hang_up()
        self._http = None

    def __enter__(self) -> ScriptedServer:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.close()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # With the default of 5, many clients at once wait a second each.

    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.005,), daemon=True)
        self._thread.start()

    def hang_up(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True
    server: _HTTPServer

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # The client gave up, which faults are meant to make it do.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the requests are in `ScriptedServer.requests`."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        scripted = self.server.scripted
        players = {"/v1/chat/completions": scripted._chat, "/v1/embeddings": scripted._embeddings}
        if self.path not in players:
            return self._send_error(404, f"no such endpoint: POST {self.path}")
        try:
            body = json.loads(raw)
        except ValueError as error:
            return self._send_error(400, f"the body is no JSON: {error}")
        if not isinstance(body, dict) or not ("messages" in body or "input" in body):
            return self._send_error(400, f"the body needs messages or input: {raw[:200]!r}")
        request = ScriptedRequest(body, self.path, {name.lower(): value for name, value in self.headers.items()})
        try:
            reply = players[self.path].reply(request)
        except InvalidInput as error:
            return self._send_error(400, str(error))
        except Exception as error:
            self._send_error(400, f"the script raised {error!r}")
            raise  # which writes where it happened to stderr
        return self._send_reply(request, reply)

    def _send_reply(self, request: ScriptedRequest, reply: Answer | Fault) -> None:
        if reply.delay > 0 and self.server.closing.wait(None if math.isinf(reply.delay) else reply.delay):
            self._drop()
        elif isinstance(reply, Fault):
            self._fail(reply)
        elif request.path == "/v1/embeddings":
            self._send(200, json.dumps(protocol.embeddings(request, self.server.scripted.dimensions)))
        elif request.body.get("stream"):
            self._stream(protocol.chunks(request, reply))
        else:
            self._send(200, json.dumps(protocol.completion(request, reply)))

    def _fail(self, fault: Fault) -> None:
        if fault.body is not None:
            self._send(fault.status or 200, fault.body, fault.retry_after)
        elif fault.status is not None:
            self._send_error(fault.status, str(fault), fault.retry_after)
        else:
            self._drop()

    def _drop(self) -> None:
        # Zero linger closes with a reset, as a crashed server does.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, text: str, retry_after: float | None = None) -> None:
        body = text.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", f"{retry_after:g}")
        self.end_headers()
        self.wfile.write(body)

    def _send_error(self, status: int, message: str, retry_after: float | None = None) -> None:
        error = {"message": message, "type": "scripted", "param": None, "code": None}
        self._send(status, json.dumps({"error": error}), retry_after)

    def _stream(self, chunks: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for data in (*map(json.dumps, chunks), "[DONE]"):
            self.wfile.write(f"data: {data}\n\n".encode())
