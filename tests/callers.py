"""Somebody who calls a server over HTTP, with a token of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from benchmarks.served import Served
from secom_core.conversation import Scope

_COUNT = itertools.count()


@dataclass
class Caller:
    """Somebody with a token."""

    http: httpx.Client
    token: str
    scope: Scope

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.http.get(path, params=query)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.http.post(path, json=body)

    def ok(self, response: httpx.Response) -> Any:
        assert response.status_code == 200, response.text
        return response.json()

    def remember(self, *texts: str, session: str = "monday") -> list[str]:
        messages = [{"role": "user", "content": text} for text in texts]
        ids: list[str] = self.ok(self.post("/v1/remember", messages=messages, session=session))["turn_ids"]
        return ids


@contextmanager
def called(server: Served, scope: Scope, *also: Scope, writes: bool = True) -> Iterator[Caller]:
    """A caller with a new token for a scope."""
    token = server.token(f"t{next(_COUNT)}", scope, also, writes=writes)
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        yield Caller(http, token, scope)
