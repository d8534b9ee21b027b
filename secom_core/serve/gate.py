"""What every request passes before it reaches a call: the name of the host, the token, limits, the body, the clock."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Final

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..configuration import ServeSettings
from ..errors import InvalidInput, traced
from .grants import Grant, Tokens
from .hosts import Hosts
from .metrics import Metrics
from .refusals import Refused, answered, answered_to_agent, told_of
from .usage import Usage

_LOG: Final = logging.getLogger(__name__)
OPEN: Final = ("/health", "/metrics", "/openapi.json")
"""What is answered without a token of a scope: it tells of no scope."""
INSPECTOR: Final = "/inspect"
"""Where the inspector's files are: the page holds nothing of anybody, and asks for a token itself."""
MCP: Final = "/mcp"
"""Where agents are answered, by the Model Context Protocol."""
_JSON: Final = "application/json"
_PATIENCE: Final = 4
_SHORT: Final = 65_536
"""How many bytes are read of a call that is one too many."""
_END: Final = 4_096
"""How many bytes at either end of a body that is too large are looked at."""
_ID: Final = rb'"id"\s*:\s*(?P<id>\d+|"[\w-]*")\s*'
_BESIDE: Final = rb'"(?:jsonrpc|method)"\s*:\s*"[\w./]*"\s*'
# Beside these, the fields of a request are what it is asked with.
_ID_FIRST: Final = re.compile(rb"\s*\{\s*(?:%b,\s*)*%b," % (_BESIDE, _ID))
_ID_LAST: Final = re.compile(rb",\s*%b(?:,\s*%b)*\}\s*\Z" % (_ID, _BESIDE))
_CALLS: Final = re.compile(rb'"method"\s*:\s*"tools/call"')
_HEADERS: Final = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Gate:
    """An ASGI application around another, which lets in what may come in.

    A request that is let in has its `Grant` in ``request.state.grant``, and its body has come whole.

    Args:
        app: answers what is let in.
        settings: the limits, and the names of the server.
        tokens: says who may do what.
        metrics: counts.
        paths: what is counted by its own name.
        clock: gives the time in seconds.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServeSettings,
        tokens: Tokens,
        metrics: Metrics,
        paths: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app, self._settings, self._tokens, self._metrics = app, settings, tokens, metrics
        self._paths = frozenset({*OPEN, INSPECTOR, *paths})
        self._hosts = Hosts(settings.host, settings.allowed_hosts)
        self._usage, self._clock = Usage(settings.max_per_minute, settings.max_concurrent, clock), clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; what is no request of HTTP is passed on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, answer, scope = self._clock(), _Answer(send), self._without_slash(scope)
        self._metrics.running.inc()
        try:
            await self._answer(scope, receive, answer)
        finally:
            self._metrics.running.dec()
            self._metrics.count(self._route(scope["path"]), answer.status, self._clock() - began)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            with await self._let_in(scope):
                await self._timed(scope, receive, answer)
        except _Left:
            answer.status = 499
        except Exception as error:  # noqa: BLE001 - whatever fails in a call is an answer, and the server goes on
            await self._refuse(error, scope, receive, answer)

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if answer.status:
            _LOG.error("an answer broke off\n%s", traced(error))
            return
        told = told_of(error)
        if scope["path"] == MCP:
            response = answered_to_agent(told, await self._asked(told, scope, receive))
        else:
            response = answered(told)
        await response(scope, receive, answer)
        answer.status = told.status

    async def _asked(self, told: Refused, scope: Scope, receive: Receive) -> bytes:
        """The request of an agent that was let in, which its answer has to name; nothing where it has not come."""
        if told.status == 429:
            with suppress(Refused, _Left), anyio.move_on_after(self._settings.timeout):
                return await _body(Headers(scope=scope), receive, _SHORT)
        if isinstance(told, _TooLarge):
            return told.asked
        body: bytes = scope.get("state", {}).get("body", b"")
        return body

    def _without_slash(self, scope: Scope) -> Scope:
        """The request under the path of its call: a redirect would name this server, and not the proxy before it."""
        path = scope["path"].removesuffix("/")
        is_call = path in self._paths and path != INSPECTOR
        return {**scope, "path": path, "raw_path": path.encode("ascii")} if is_call else scope

    def _route(self, path: str) -> str:
        """The route of a path, as a label: one of a few, whatever callers send."""
        return path if path in self._paths else "other"

    async def _let_in(self, scope: Scope) -> AbstractContextManager[None]:
        """Check everything that the headers say.

        Raises:
            Refused: a header is wrong, or no token lets the request in.
            TooMany: the token asks for too much.
        """
        headers, path = Headers(scope=scope), scope["path"]
        # The page's files are let in first: behind a proxy with another name, the page has to be there to say so.
        is_page = path in ("/", INSPECTOR) or path.startswith(f"{INSPECTOR}/")
        if path != "/health":
            self._hosts.check_name(headers)
            if not is_page:
                self._hosts.check_origin(headers)
        if is_page or path in OPEN:
            return nullcontext()
        grant = self._grant(headers)
        if scope["method"] == "POST" and headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise Refused(415, "wrong_type", f"the body is JSON: send content-type {_JSON}")
        packed = headers.get("content-encoding", "identity")
        if packed.strip().lower() not in ("", "identity"):
            raise Refused(415, "wrong_encoding", f"send the body as it is, without content-encoding {packed[:50]!r}")
        scope.setdefault("state", {})["grant"] = grant
        if path == MCP:
            # Clients of the protocol do not ask again later, so these calls wait.
            with anyio.move_on_after(self._settings.timeout):
                await self._usage.room(grant.name)
        return self._usage.one(grant.name)

    def _grant(self, headers: Headers) -> Grant:
        try:
            grant = self._tokens.grant(bearer(headers))
        except InvalidInput as error:
            _LOG.error("nobody is let in: %s", error)
            raise Refused(503, "tokens_unreadable", "tokens cannot be checked; the server's log says why") from error
        if grant is None:
            raise Refused(
                401,
                "no_token",
                "the token is missing or unknown; `secom token NAME` makes one; send it as Authorization: Bearer TOKEN",
                {"www-authenticate": "Bearer"},
            )
        return grant

    async def _timed(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        came = False
        with anyio.move_on_after(self._settings.timeout) as limit:
            body = await _body(Headers(scope=scope), receive, self._settings.max_body_bytes)
            came = True
            scope.setdefault("state", {})["body"] = body
            # With it, a router raises where it would answer in plain text.
            scope["app"] = self._app
            await self._app(scope, _replay(body, receive), answer)
        if not limit.cancelled_caught:
            return
        if not came:
            raise Refused(408, "too_slow", "the body did not come in time", {"connection": "close"})
        raise Refused(
            504,
            "timed_out",
            f"no answer within {self._settings.timeout:g} s. What has begun goes on to its end; messages that carry "
            "ids may be sent again without being remembered twice",
        )


class _Left(Exception):
    """The client went away before its request had come."""


class _Answer:
    """Sends an answer, with headers that every one has, and remembers its status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *_HEADERS]}
        await self._send(message)


def bearer(headers: Headers) -> str | None:
    """The token of a request; nothing where it has none.

    Raises:
        Refused: there are two headers, of which nobody knows which one counts.
    """
    given = headers.getlist("authorization")
    if len(given) > 1:
        raise Refused(400, "two_tokens", "the request has several Authorization headers; send one")
    kind, _, token = (given[0] if given else "").strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


async def _body(headers: Headers, receive: Receive, most: int) -> bytes:
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > _PATIENCE * most:
        raise _TooLarge(most)
    parts, size, more, begin, end = list[bytes](), 0, True, b"", b""
    # A little more than is allowed is read and thrown away: who still sends would not read the answer.
    while more and size <= _PATIENCE * most:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Left
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        begin, end = (begin + part[:_END])[:_END], (end + part)[-_END:]
        if size <= most:
            parts.append(part)
    if size > most:
        raise _TooLarge(most, begin, b"" if more else end)
    return b"".join(parts)


class _TooLarge(Refused):
    """A body that is longer than is allowed; what its ends tell of an agent's request is enough to answer that."""

    def __init__(self, most: int, begin: bytes = b"", end: bytes = b"") -> None:
        message = f"the body is longer than {most:,} bytes; send the messages in several calls"
        super().__init__(413, "too_large", message, {"connection": "close"})
        named = _ID_FIRST.match(begin) or _ID_LAST.search(end)
        method = b"tools/call" if _CALLS.search(begin) or _CALLS.search(end) else b""
        self.asked = b'{"id": %b, "method": "%b"}' % (named["id"], method) if named else b""


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the body that has come, and then what comes after it."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
