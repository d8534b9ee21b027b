"""The HTTP API: which path leads to which call. `secom_core.serve.openapi` describes the same table."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from urllib.parse import parse_qsl

from ..configuration import ServeSettings
from ..errors import InvalidInput, MissingExtra
from . import answers, operations, requests
from .grants import OF_METRICS, Grant, Tokens
from .memory import ServedMemory

try:
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import BaseRoute, Route, Router
    from starlette.types import ASGIApp

    from .agents import mcp_route
    from .gate import MCP, Gate, bearer
    from .hosts import is_loopback
    from .metrics import CONTENT_TYPE, Metrics
    from .refusals import Refused
except ImportError as error:
    raise MissingExtra("secom serve", "serve") from error

_LARGE: Final = 65_536
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


@dataclass(frozen=True)
class CallRoute:
    """A call of the API.

    Args:
        method: of HTTP.
        path: where it is.
        takes: the model of its arguments: the body, or what stands in the query.
        gives: the shape of its answer.
        does: does it, given the bank (or what writes to it), the grant and the arguments.
        writes: whether it waits its turn among the calls that write.
        repeated: arguments that may stand in the query more than once.
    """

    method: Literal["GET", "POST"]
    path: str
    takes: type[requests.Call]
    gives: Any
    does: Callable[[Any, Grant, Any], Any]
    writes: bool = False
    repeated: tuple[str, ...] = ()


CALLS: Final = (
    CallRoute("POST", "/v1/remember", requests.Remember, answers.RememberAnswer, operations.remember, writes=True),
    CallRoute("POST", "/v1/recall", requests.Recall, answers.RecallAnswer, operations.recall),
    CallRoute("GET", "/v1/sessions", requests.Page, answers.SessionsAnswer, operations.sessions),
    CallRoute("GET", "/v1/session", requests.Session, answers.SessionAnswer, operations.session),
    CallRoute("GET", "/v1/turns", requests.Turns, answers.TurnsAnswer, operations.turns, repeated=("id",)),
    CallRoute("POST", "/v1/correct", requests.Correct, answers.CorrectAnswer, operations.correct, writes=True),
    CallRoute("POST", "/v1/forget", requests.Forget, answers.ForgetAnswer, operations.forget, writes=True),
    CallRoute("GET", "/v1/stats", requests.Nothing, answers.StatsAnswer, operations.stats),
)
"""The calls of the API, in the order in which they are described."""


def application(
    memory: ServedMemory, settings: ServeSettings, tokens: Tokens, mounts: Sequence[BaseRoute] = ()
) -> ASGIApp:
    """The application of a server, for any server of ASGI. It closes the memory as it ends.

    Args:
        memory: what is served.
        settings: the limits, and the names of the server.
        tokens: says who may do what.
        mounts: further routes, such as the inspector's; they are answered without a token under ``/inspect`` alone.
    """
    metrics = Metrics()
    mcp, agents = mcp_route(memory)
    routes = [
        *(Route(call.path, endpoint(memory, settings, call), methods=[call.method]) for call in CALLS),
        Route("/health", _health(memory), methods=["GET"]),
        Route("/metrics", _metrics(memory, metrics), methods=["GET"]),
        Route("/openapi.json", _described, methods=["GET"]),
        Route(MCP, mcp, methods=["POST"]),
        *mounts,
    ]

    @asynccontextmanager
    async def lifespan(_: Router) -> AsyncIterator[None]:
        memory.start()
        try:
            async with agents.run():
                yield
        finally:
            await memory.close()

    inside = Router(routes, redirect_slashes=False, lifespan=lifespan)
    return Gate(inside, settings, tokens, metrics, {MCP, *(call.path for call in CALLS)})


def endpoint(
    memory: ServedMemory, settings: ServeSettings, call: CallRoute
) -> Callable[[Request], Awaitable[Response]]:
    """What answers the requests of a call, given the memory and the limits of the server."""

    async def answer(request: Request) -> Response:
        grant: Grant = request.state.grant
        asked = await _of_body(request, call) if call.method == "POST" else _of_query(request, call)
        if isinstance(asked, requests.Remember):
            operations.check_number(len(asked.messages), settings.max_messages)
        to: Any = memory.writer if isinstance(asked, requests.Remember) else memory.bank
        body = await memory.run_as_json(lambda: call.does(to, grant, asked), writes=call.writes)
        return Response(body, media_type="application/json", headers={"cache-control": "no-store"})

    return answer


async def _of_body(request: Request, call: CallRoute) -> requests.Call:
    body = await request.body()

    def read() -> requests.Call:
        return requests.checked(call.takes, _parsed(body))

    # What is long takes long to read, and nobody else should wait for it.
    return await asyncio.to_thread(read) if len(body) > _LARGE else read()


def _parsed(body: bytes) -> object:
    try:
        # Some clients begin it with a mark of UTF-8.
        return json.loads(body.decode("utf-8-sig"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the body is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}") from error
    except (ValueError, RecursionError) as error:
        says = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput(f"the body is not JSON: {says}") from error


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number of JSON")


def _of_query(request: Request, call: CallRoute) -> requests.Call:
    pairs, given = _queried(request.scope["query_string"]), dict[str, Any]()
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1 and name not in call.repeated:
            raise InvalidInput(f"{name}: it is given {times} times, and once is allowed")
        values = [value for each, value in pairs if each == name]
        given[name] = values if name in call.repeated else values[0]
    return requests.checked(call.takes, given)


def _queried(query: bytes) -> list[tuple[str, str]]:
    try:
        # Names of sessions may end with half a character, and other bytes would become another name.
        return parse_qsl(query.decode("utf-8"), keep_blank_values=True, errors="surrogatepass")
    except ValueError as error:
        raise InvalidInput(f"the query is not percent-encoded UTF-8, got {query[:100]!r}") from error


def _health(memory: ServedMemory) -> Callable[[Request], Awaitable[Response]]:
    async def health(_: Request) -> Response:
        is_well = (await memory.run(memory.bank.health)).ok
        return JSONResponse({"status": "ok" if is_well else "failing"}, 200 if is_well else 503)

    return health


def _metrics(memory: ServedMemory, metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        _check_metrics(request, os.environ.get(OF_METRICS))
        return Response(metrics.text(await memory.run(memory.bank.health)), media_type=CONTENT_TYPE)

    return shown


def _check_metrics(request: Request, token: str | None) -> None:
    if token:
        given = bearer(request.headers) or ""
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("utf-8", "surrogatepass")):
            raise Refused(401, "no_token", f"/metrics needs the token of {OF_METRICS}", {"www-authenticate": "Bearer"})
        return
    # Behind a proxy on this machine everybody comes from the loopback address.
    came_through = any(name in request.headers for name in _FORWARDED)
    if came_through or request.client is None or not is_loopback(request.client.host):
        raise Refused(403, "not_allowed", f"/metrics is for this machine, or for the token that {OF_METRICS} holds")


async def _described(_: Request) -> Response:
    return Response(_description(), media_type="application/json")


@cache
def _description() -> bytes:
    from .openapi import described

    return json.dumps(described(CALLS)).encode()
