"""From errors to answers: a status, a word for programs, and a sentence for people. What is inside is only logged."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import INTERNAL_ERROR, INVALID_REQUEST
from starlette.exceptions import HTTPException
from starlette.responses import Response

from ..errors import DuplicateId, InvalidInput, ModelError, SecomError, StoreError, StoreLocked, traced, without_keys
from .answers import ErrorAnswer
from .operations import NotAllowed, NotThere
from .usage import TooMany

_LOG: Final = logging.getLogger(__name__)
_KINDS: Final[tuple[tuple[type[SecomError], int, str], ...]] = (
    (NotAllowed, 403, "not_allowed"),
    (NotThere, 404, "not_there"),
    (TooMany, 429, "too_many_calls"),
    (DuplicateId, 409, "duplicate_id"),
    (InvalidInput, 400, "invalid"),
)
"""What is the caller's doing: the message says what to change."""
_INSIDE: Final[tuple[tuple[type[SecomError], int, str, str], ...]] = (
    (StoreLocked, 503, "store_busy", "the store is busy; nothing was stored, try again"),
    (StoreError, 503, "store_unavailable", "the store cannot be used at the moment; the server's log says why"),
    (ModelError, 502, "model_unavailable", "a model gave no usable answer; the server's log says why"),
)
"""What is not: paths and addresses stay in the log."""


class Refused(SecomError):
    """A request that is not let in.

    Args:
        status: of the answer.
        code: a word for programs.
        message: a sentence for people.
        headers: further headers of the answer.
    """

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.code, self.headers = status, code, dict(headers or {})
        super().__init__(message)


def refusal(error: SecomError) -> Refused:
    """What the caller is told of an error."""
    if isinstance(error, Refused):
        return error
    for kind, status, code in _KINDS:
        if isinstance(error, kind):
            headers = {"retry-after": str(error.retry_after)} if isinstance(error, TooMany) else {}
            return Refused(status, code, str(error), headers)
    _LOG.error("a call failed: %s", without_keys(str(error)))
    for kind, status, code, message in _INSIDE:
        if isinstance(error, kind):
            return Refused(status, code, message, {"retry-after": "1"} if status == 503 else {})
    return Refused(500, "failed", "the call failed; the server's log says why")


def told_of(error: Exception) -> Refused:
    """What the caller is told of whatever went wrong."""
    if isinstance(error, HTTPException):
        return Refused(error.status_code, "no_such_call", _of_route(error.status_code), error.headers)
    if isinstance(error, SecomError):
        return refusal(error)
    _LOG.error("a call failed\n%s", traced(error))
    return Refused(500, "failed", "the call failed; the server's log says why")


def answered(told: Refused) -> Response:
    """The answer that a refusal becomes."""
    body = ErrorAnswer(error={"code": told.code, "message": str(told)})
    return Response(json.dumps(body), told.status, told.headers, "application/json")


def answered_to_agent(told: Refused, asked: bytes) -> Response:
    """The answer that a refusal becomes for an agent, in its protocol.

    Over a status of HTTP that is an error, clients end all calls of their session, or do not say why. So the agent gets
    it as the answer to its request: as the result of a tool, which its model reads, or as an error of the protocol.

    Args:
        told: what the agent is told.
        asked: its request; empty where the agent was not let in, or the request has not come: then the status tells.
    """
    request, message = _request(asked), str(told)
    if request is None:
        body = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": message}}
        return Response(json.dumps(body), told.status, told.headers, "application/json")
    if request.get("method") == "tools/call":
        # Newer clients want to know that it is all, and older ones pass that over.
        said = {"content": [{"type": "text", "text": message}], "isError": True, "resultType": "complete"}
        answer: dict[str, Any] = {"result": said}
    else:
        answer = {"error": {"code": INTERNAL_ERROR, "message": message}}
    return Response(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), media_type="application/json")


def _request(asked: bytes) -> dict[str, Any] | None:
    """A request that waits for an answer; none where it is something else."""
    try:
        request = json.loads(asked)
    except (ValueError, RecursionError):
        return None
    waits = isinstance(request, dict) and isinstance(request.get("id"), int | str)
    return request if waits else None


def _of_route(status: int) -> str:
    if status == 405:
        return "this path takes another method; /openapi.json lists the calls"
    return "there is no such path; /openapi.json lists the calls"
