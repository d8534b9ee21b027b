"""Requests that mean harm, each against a real server: it refuses them, and answers everybody else."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from callers import Caller, called

from benchmarks.served import Served

pytestmark = pytest.mark.slow

OTHER = ("acme", "bob")


@pytest.fixture(autouse=True)
def well_afterwards(server: Served) -> Iterator[None]:
    yield
    assert httpx.get(f"{server.url}/health", timeout=10).json() == {"status": "ok"}


@pytest.fixture(scope="module")
def victim(server: Served) -> Iterator[Caller]:
    with called(server, OTHER) as found:
        found.remember("The vault opens with walrus-9.", session="secrets")
        yield found


def sent(server: Served, raw: bytes, *, within: float = 10.0) -> bytes:
    """What a server answers to bytes that no client library would send."""
    with connected(server) as connection:
        connection.settimeout(within)
        connection.sendall(raw)
        parts = []
        with suppress(ConnectionResetError):
            while part := connection.recv(65_536):
                parts.append(part)
        return b"".join(parts)


@contextmanager
def connected(server: Served) -> Iterator[socket.socket]:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as connection:
        yield connection


def request(caller: Caller, *headers: str, path: str = "/v1/stats", method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


# -- another scope -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scope", "scope_json", "tenant", "user_id", "namespace"])
def test_no_field_of_a_body_names_another_scope(caller: Caller, victim: Caller, name: str) -> None:
    bodies: dict[str, dict[str, Any]] = {
        "/v1/recall": {"query": "What opens the vault?"},
        "/v1/remember": {"messages": [{"role": "user", "content": "x"}], "session": "s"},
        "/v1/forget": {"all": True},
        "/v1/correct": {"turn_id": "x", "text": "y"},
    }
    for path, body in bodies.items():
        found = caller.post(path, **body, **{name: [*OTHER]})
        assert (found.status_code, "walrus" in found.text) == (400, False)
    assert victim.ok(victim.get("/v1/stats"))["turns"] == 1


@pytest.mark.parametrize(
    "header", ["x-scope", "x-secom-scope", "x-user-id", "x-forwarded-user", "x-original-url", "cookie"]
)
def test_no_header_names_another_scope(caller: Caller, victim: Caller, header: str) -> None:
    headers = {header: json.dumps(OTHER)}
    found = caller.http.post("/v1/recall", json={"query": "What opens the vault?"}, headers=headers)
    assert caller.ok(found)["hits"] == []
    assert caller.ok(caller.http.get("/v1/stats", headers=headers))["scope"] == [*caller.scope]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/session?name=secrets",
        "/v1/session?name=../../acme/bob/secrets",
        "/v1/session?name=%2e%2e%2fsecrets",
        "/v1/session?name=secrets%00",
        "/v1/session?name=secrets%ff",
        "//v1/session?name=secrets",
        "/v1/acme/bob/session?name=secrets",
        "/v1/sessions?scope=acme&scope=bob",
        "/v1/turns?id=' OR 1=1 --",
        "/v1/stats/../session?name=secrets",
    ],
)
def test_no_path_reaches_another_scope(caller: Caller, victim: Caller, path: str) -> None:
    found = caller.http.get(path)
    assert "walrus" not in found.text
    assert found.status_code in (400, 404) or found.json() == {"turns": []}


def test_ids_and_sessions_of_another_scope_are_not_reached(caller: Caller, victim: Caller) -> None:
    [row] = victim.ok(victim.get("/v1/session", name="secrets"))["turns"]
    assert caller.ok(caller.get("/v1/turns", id=row["id"])) == {"turns": []}
    assert caller.post("/v1/correct", turn_id=row["id"], text="gone").status_code == 404
    assert caller.ok(caller.post("/v1/forget", turn_ids=[row["id"]])) == {"forgotten": 0}
    assert caller.ok(caller.post("/v1/forget", session="secrets")) == {"forgotten": 0}
    assert caller.post("/v1/recall", query="vault", also=[[*OTHER]]).status_code == 403
    assert "walrus" in victim.ok(victim.post("/v1/recall", query="vault"))["text"]


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_long_is_refused_before_it_is_read(server: Served, caller: Caller) -> None:
    auth, kind = f"Authorization: Bearer {caller.token}", "Content-Type: application/json"
    declared = request(
        caller, "Host: localhost", auth, kind, "Content-Length: 99999999999", method="POST", path="/v1/recall"
    )
    assert status(sent(server, declared)) == 413
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    head = request(
        caller, "Host: localhost", auth, kind, "Transfer-Encoding: chunked", method="POST", path="/v1/recall"
    )
    assert status(sent(server, head + chunk * 2 + b"0\r\n\r\n")) == 413
    assert caller.post("/v1/recall", query="x" * 200_000).status_code == 413


def test_more_messages_than_a_call_may_bring_are_refused_and_none_is_kept(caller: Caller) -> None:
    messages = [{"role": "user", "content": str(number)} for number in range(51)]
    found = caller.post("/v1/remember", messages=messages, session="s")
    assert (found.status_code, "51 in one call, and 50 are allowed" in found.text) == (400, True)
    assert caller.ok(caller.get("/v1/stats"))["turns"] == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"\xff\xfe",
        b'{"query": NaN}',
        b'{"query": "x", "k": 1e999}',
        b'{"query": "x", "k": ' + b"9" * 5_000 + b"}",
        b"[" * 50_000,
        b'{"where":' * 5_000 + b"1" + b"}" * 5_000,
        b'{"query": "x"} {"query": "y"}',
        b"query=x",
    ],
)
def test_a_body_that_is_no_json_is_refused(caller: Caller, body: bytes) -> None:
    found = caller.http.post("/v1/recall", content=body, headers={"content-type": "application/json"})
    assert (found.status_code, found.json()["error"]["code"]) == (400, "invalid")
    assert len(found.text) < 2_000


@pytest.mark.parametrize(
    ("body", "encoding", "status", "says"),
    [
        (b'\xef\xbb\xbf{"query": "x"}', "identity", 200, "confidence"),
        ('{"query": "où"}'.encode("latin-1"), "", 400, "the body is not UTF-8: byte 12 is 0xf9"),
        (
            gzip.compress(b'{"query": "x"}', mtime=0),
            "gzip",
            415,
            "send the body as it is, without content-encoding 'gzip'",
        ),
    ],
    ids=["a mark of UTF-8", "Latin-1", "gzip"],
)
def test_a_body_in_another_encoding_is_read_or_the_client_told_why_not(
    caller: Caller, body: bytes, encoding: str, status: int, says: str
) -> None:
    headers = {"content-type": "application/json", "content-encoding": encoding}
    found = caller.http.post("/v1/recall", content=body, headers=headers)
    assert found.status_code == status
    assert says in found.text


def test_metadata_that_is_nested_too_deeply_is_refused(caller: Caller) -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    message = {"role": "user", "content": "x", "metadata": {"deep": deep}}
    assert caller.post("/v1/remember", messages=[message], session="s").status_code == 400


def test_half_a_character_is_kept_and_comes_back(caller: Caller) -> None:
    body = b'{"messages": [{"role": "user", "content": "I like \\ud83d very much."}], "session": "cut \\ud83d"}'
    kind = {"content-type": "application/json"}
    assert caller.http.post("/v1/remember", content=body, headers=kind).status_code == 200
    found = caller.http.post("/v1/recall", content=b'{"query": "what do I like \\ud83d"}', headers=kind)
    assert found.status_code == 200
    assert "I like \\ud83d very much." in found.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_of_a_page_is_no_call(caller: Caller, kind: str) -> None:
    found = caller.http.post("/v1/forget", content=b'{"all": true}', headers={"content-type": kind})
    assert found.status_code == 415


@pytest.mark.parametrize("kind", ["Application/JSON", "application/json; charset=utf-8"])
def test_the_type_of_a_body_may_be_written_in_any_case(caller: Caller, kind: str) -> None:
    """RFC 9110, section 8.3.1."""
    found = caller.http.post("/v1/recall", content=b'{"query": "x"}', headers={"content-type": kind})
    assert found.status_code == 200


# -- headers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer secom_",
        "bearer x y",
        "Bearer " + "x" * 10_000,
        "Token {token}",
    ],
)
def test_nobody_is_let_in_without_a_token(server: Served, caller: Caller, given: str | None) -> None:
    headers = [] if given is None else [f"Authorization: {given.format(token=caller.token)}"]
    answer = sent(server, request(caller, "Host: localhost", *headers))
    assert (status(answer), b"www-authenticate: Bearer" in answer) == (401, True)


def test_a_token_in_the_address_lets_nobody_in(server: Served, caller: Caller) -> None:
    for name in ("token", "access_token", "authorization", "api_key"):
        assert httpx.get(f"{server.url}/v1/stats", params={name: caller.token}).status_code == 401


def test_two_tokens_in_one_request_are_refused(server: Served, caller: Caller, victim: Caller) -> None:
    for first, second in ((caller, victim), (victim, caller)):
        raw = request(
            caller, "Host: localhost", f"Authorization: Bearer {first.token}", f"authorization: Bearer {second.token}"
        )
        answer = sent(server, raw)
        assert (status(answer), b"several Authorization headers" in answer) == (400, True)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "", "[", "a@b"]
)
def test_another_name_of_this_machine_reaches_nothing(server: Served, caller: Caller, host: str) -> None:
    raw = request(caller, f"Host: {host}", f"Authorization: Bearer {caller.token}")
    assert status(sent(server, raw)) in (400, 421)
    for header in ("X-Forwarded-Host: localhost", "X-Host: localhost", "Forwarded: host=localhost"):
        raw = request(caller, f"Host: {host}", header, f"Authorization: Bearer {caller.token}")
        assert status(sent(server, raw)) in (400, 421)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://localhost.evil.example", "["]
)
def test_a_page_of_another_site_reaches_nothing(caller: Caller, origin: str) -> None:
    found = caller.http.get("/v1/stats", headers={"origin": origin})
    assert (found.status_code, found.json()["error"]["code"]) == (403, "wrong_origin")
    assert "access-control-allow-origin" not in found.headers
    preflight = caller.http.options("/v1/recall", headers={"origin": origin, "access-control-request-method": "POST"})
    assert preflight.status_code == 403
    script = caller.http.get("/inspect/inspector.js", headers={"origin": origin})
    assert "access-control-allow-origin" not in script.headers
    assert script.headers["cross-origin-resource-policy"] == "same-origin"
    place = str(caller.http.base_url).rstrip("/")
    assert caller.http.get("/v1/stats", headers={"origin": place}).status_code == 200


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1", "Via: 1.1 proxy"]
)
def test_whoever_comes_through_a_proxy_sees_no_figures(server: Served, caller: Caller, header: str) -> None:
    assert status(sent(server, request(caller, "Host: localhost", header, path="/metrics"))) == 403
    assert status(sent(server, request(caller, "Host: localhost", path="/metrics"))) == 200


def test_requests_in_one_another_are_refused(server: Served, caller: Caller) -> None:
    inner = b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n"
    auth, kind = f"Authorization: Bearer {caller.token}", "Content-Type: application/json"
    both = request(
        caller,
        "Host: localhost",
        auth,
        kind,
        "Content-Length: 4",
        "Transfer-Encoding: chunked",
        method="POST",
        path="/v1/recall",
    )
    answer = sent(server, both + b"0\r\n\r\n" + inner)
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1") == 1
    for lengths in (("Content-Length: 4", "Content-Length: 40"), ("Content-Length: -1",), ("Content-Length: 1e3",)):
        raw = request(caller, "Host: localhost", auth, kind, *lengths, method="POST", path="/v1/recall")
        assert status(sent(server, raw + b"{}{}")) == 400


def test_two_hosts_and_long_headers_are_refused(server: Served, caller: Caller) -> None:
    auth = f"Authorization: Bearer {caller.token}"
    assert status(sent(server, request(caller, "Host: localhost", "Host: evil.example", auth))) == 400
    answer = sent(server, request(caller, "Host: localhost", auth, "X-Long: " + "x" * 200_000))
    assert not answer or status(answer) in (400, 431)


def test_what_is_no_http_gets_no_answer_of_a_call(server: Served) -> None:
    for raw in (b"\x16\x03\x01\x02\x00\x01\x00", b"\r\n" * 100 + b"QUIT\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
        assert b"200" not in sent(server, raw)


# -- slowness and number -----------------------------------------------------------------------------------------------


def test_a_body_that_comes_drop_by_drop_is_given_up(server: Served, caller: Caller) -> None:
    auth, kind = f"Authorization: Bearer {caller.token}", "Content-Type: application/json"
    head = request(caller, "Host: localhost", auth, kind, "Content-Length: 1000", method="POST", path="/v1/recall")
    began = time.monotonic()
    assert status(sent(server, head + b"{", within=30)) == 408
    assert time.monotonic() - began < 15


def test_headers_that_come_drop_by_drop_are_given_up_and_hold_up_nobody(server: Served, caller: Caller) -> None:
    closed: list[float] = []

    def crawl() -> None:
        began = time.monotonic()
        with connected(server) as connection:
            connection.sendall(b"GET /v1/stats HTTP/1.1\r\n")
            try:
                while time.monotonic() - began < 30:
                    connection.sendall(b"X-A: b\r\n")
                    time.sleep(0.5)
            except OSError:
                closed.append(time.monotonic() - began)

    crawlers = [threading.Thread(target=crawl) for _ in range(20)]
    for each in crawlers:
        each.start()
    took = []
    for _ in range(10):
        began = time.monotonic()
        caller.ok(caller.get("/v1/stats"))
        took.append(time.monotonic() - began)
    for each in crawlers:
        each.join()
    assert len(closed) == 20
    assert max(closed) < 20
    assert max(took) < 5


def test_a_client_that_leaves_in_the_middle_costs_nobody_anything(server: Served, caller: Caller) -> None:
    auth, kind = f"Authorization: Bearer {caller.token}", "Content-Type: application/json"
    head = request(caller, "Host: localhost", auth, kind, "Content-Length: 1000", method="POST", path="/v1/remember")
    for _ in range(20):
        with connected(server) as connection:
            connection.sendall(head + b'{"messages": [')
    until = time.monotonic() + 4
    while (found := caller.get("/v1/stats")).status_code == 429 and time.monotonic() < until:
        # The server has not noticed yet that all of them have left.
        time.sleep(0.1)
    assert caller.ok(found)["turns"] == 0
