"""What an agent over HTTP is told of a call that the server refuses: in its protocol, so that its session goes on.

Over an error status, clients end every call of the session, or say no more than that there was an error.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from callers import Caller, called

from benchmarks.served import serving
from secom_core.testing import Fault, ScriptedServer

httpx2 = pytest.importorskip("httpx2")
from mcp import Client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402

pytestmark = pytest.mark.slow

SCOPE = ("acme", "alice")


def asked(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


@asynccontextmanager
async def official(url: str, token: str, mode: Any = "auto") -> AsyncIterator[Client]:
    """The official client, with a user's token, in its newest protocol or an older one."""
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


LOOK: Mapping[str, Any] = asked("tools/call", name="look", arguments={})


async def test_more_calls_at_once_than_a_token_may_make_wait_for_their_turn(place: Path) -> None:
    environ = {"SECOM_SERVE_MAX_CONCURRENT": "2"}
    with serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served, called(served, SCOPE) as caller:
        caller.remember("I keep bees.")
        async with official(served.url, caller.token) as client:
            results = await asyncio.gather(*(client.call_tool("recall", {"query": "bees"}) for _ in range(20)))
        assert ["I keep bees." in result.content[0].text for result in results] == [True] * 20


def test_a_call_too_many_is_a_result_that_the_model_reads(place: Path) -> None:
    environ = {"SECOM_SERVE_MAX_PER_MINUTE": "2"}
    with serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served, called(served, SCOPE) as caller:
        while True:
            told = caller.http.post("/mcp", json=LOOK)
            assert told.status_code == 200
            if told.json()["result"]["isError"]:
                break
        [content] = told.json()["result"]["content"]
        assert told.json()["id"] == 7
        assert "this token may make 2 calls in a minute; wait " in content["text"]

        listed = caller.http.post("/mcp", json=asked("tools/list"))
        assert listed.status_code == 200
        assert "2 calls in a minute" in listed.json()["error"]["message"]
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert caller.http.post("/mcp", json=notification).status_code == 429
        assert caller.http.post("/mcp", content=b"[").status_code == 415
        assert caller.get("/v1/stats").status_code == 429
        counted = caller.http.get("/metrics").text
        assert 'secom_calls_total{path="/mcp",status="429"} 3.0' in counted


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_reads_that_a_call_is_too_many_and_goes_on(place: Path, mode: str) -> None:
    environ = {"SECOM_SERVE_MAX_PER_MINUTE": "8"}
    with serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served, called(served, SCOPE) as caller:
        async with official(served.url, caller.token, mode) as client:
            results = [await client.call_tool("look", {}) for _ in range(12)]
        assert [each.is_error for each in results[-2:]] == [True, True]
        assert "this token may make 8 calls in a minute" in results[-1].content[0].text


def test_a_call_that_takes_too_long_is_a_result_that_the_model_reads(place: Path) -> None:
    with ScriptedServer(embedding_faults=[Fault(delay=4)] * 20) as model:
        environ = {"SECOM_SERVE_TIMEOUT": "1", "SECOM_EMBEDDER": "openai:any", "SECOM_BASE_URL": model.base_url}
        with (
            serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served,
            called(served, SCOPE) as caller,
        ):
            caller.remember("I keep bees.")
            told = caller.http.post("/mcp", json=asked("tools/call", name="recall", arguments={"query": "bees"}))
    assert told.status_code == 200
    assert told.json()["result"]["isError"]
    assert "no answer within 1 s" in told.json()["result"]["content"][0]["text"]


def test_a_call_that_cannot_write_is_a_result_that_the_model_reads(place: Path) -> None:
    environ = {"SECOM_SERVE_TIMEOUT": "2"}
    with serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served, called(served, SCOPE) as caller:
        caller.remember("I keep bees.")
        with closing(sqlite3.connect(place / "memory.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            told = caller.http.post("/mcp", json=asked("tools/call", name="remember", arguments={"text": "I sing."}))
            other.execute("ROLLBACK")
        assert told.status_code == 200
        assert told.json()["result"]["isError"]
        assert "nothing was stored, try again" in told.json()["result"]["content"][0]["text"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_call_that_is_too_large_is_a_result_that_the_model_reads(place: Path, mode: str) -> None:
    environ = {"SECOM_SERVE_MAX_BODY_BYTES": "100000"}
    with serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served, called(served, SCOPE) as caller:
        async with official(served.url, caller.token, mode) as client:
            result = await client.call_tool("remember", {"text": 'It says {"id": 3}, ' * 10_000})
            assert result.is_error
            assert "longer than 100,000 bytes" in result.content[0].text
            assert "Nothing is remembered" in (await client.call_tool("look", {})).content[0].text

        large = {"name": "remember", "arguments": {"text": '"id": 3}' * 30_000}}
        fields = {"jsonrpc": "2.0", "id": "a-7", "method": "tools/call", "params": large}
        for names in (["jsonrpc", "id", "method", "params"], ["method", "params", "jsonrpc", "id"]):
            told = caller.http.post("/mcp", json={name: fields[name] for name in names})
            assert (told.status_code, told.json()["id"]) == (200, "a-7")
            assert told.json()["result"]["isError"]
        nested = {"method": "tools/call", "params": {**large, "id": 3}}
        assert caller.http.post("/mcp", json=nested).status_code == 413
        assert caller.http.post("/v1/remember", json=fields).status_code == 413


def test_an_agent_hears_why_its_token_is_refused(caller: Caller) -> None:
    """The official client shows an error of the protocol, and of other bodies nothing."""
    refused = caller.http.post("/mcp", json=LOOK, headers={"authorization": "Bearer secom_wrong"})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert (refused.json()["jsonrpc"], refused.json()["id"]) == ("2.0", None)
    assert "the token is missing or unknown" in refused.json()["error"]["message"]


def test_a_slash_behind_a_path_leads_to_no_other_address(caller: Caller) -> None:
    """A redirect would name the address of this server, over HTTP, to whoever came through a proxy with TLS."""
    told = caller.http.post("/mcp/", json=asked("tools/list"))
    assert told.status_code == 200
    assert told.json()["result"]["tools"][0]["name"] == "recall"
    assert caller.ok(caller.get("/v1/stats/"))["turns"] == 0
    assert caller.get("/v1/nothing/").status_code == 404
    assert caller.http.get("/inspect/").status_code == 200
