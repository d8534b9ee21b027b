"""The routes of the inspector: its page and files, which hold nothing of anybody, and its calls, which need a token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from ...configuration import ServeSettings
from .. import requests
from ..application import CallRoute, endpoint
from ..memory import ServedMemory
from . import answers, calls

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""What the page may do: load its own files and call its own server. Nothing that is written into it can run."""

_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
    # The page and its modules belong together: each is asked for again, and none is of another version.
    "cache-control": "no-cache",
}
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_PAGE: Final = "index.html"

CALLS: Final = (
    CallRoute("POST", "/v1/inspect/recall", requests.Recall, answers.ExplainedAnswer, calls.explained),
    CallRoute("GET", "/v1/inspect/sessions", requests.Page, answers.NamedSessionsAnswer, calls.sessions),
    CallRoute("GET", "/v1/inspect/session", requests.Session, answers.NamedSessionAnswer, calls.session),
    CallRoute("GET", "/v1/inspect/standing", requests.Nothing, answers.StandingAnswer, calls.standing),
    CallRoute("GET", "/v1/inspect/made", requests.Nothing, answers.MadeAnswer, calls.made),
    CallRoute("POST", "/v1/inspect/forget", requests.Forget, answers.DoomedAnswer, calls.doomed),
    CallRoute("POST", "/v1/inspect/pin", calls.Pin, answers.DoneAnswer, calls.pin, writes=True),
    CallRoute("POST", "/v1/inspect/undo", calls.Undo, answers.DoneAnswer, calls.undo, writes=True),
)
"""The calls of the page, which change with it: programs use those of the API."""


def inspector_routes(memory: ServedMemory, settings: ServeSettings) -> list[BaseRoute]:
    """What `secom_core.serve.application` mounts for the inspector.

    Args:
        memory: what is served.
        settings: the limits of calls.
    """
    return [
        Route("/", _redirected, methods=["GET"]),
        Route("/inspect", _redirected, methods=["GET"]),
        Route("/inspect/", _served, methods=["GET"]),
        Route("/inspect/{file}", _served, methods=["GET"]),
        *(Route(call.path, endpoint(memory, settings, call), methods=[call.method]) for call in CALLS),
    ]


async def _redirected(_: Request) -> Response:
    # Relative, so that it holds behind a proxy under another path too.
    return RedirectResponse("inspect/", headers=_HEADERS)


async def _served(request: Request) -> Response:
    name = request.path_params.get("file", _PAGE)
    content = _files().get(name)
    if content is None:
        raise HTTPException(404)
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers=dict(_HEADERS))


@cache
def _files() -> Mapping[str, bytes]:
    """The files of the page by name: nothing else can be asked for."""
    folder = files(__package__).joinpath("static")
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.name.rpartition(".")[2] in _TYPES}
