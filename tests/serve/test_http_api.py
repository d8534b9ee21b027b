"""The HTTP API: a real client through every call of a real server, each answer held against the description."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema
import pytest
from callers import Caller, called

from benchmarks.served import Served, serving
from secom_core import MemoryBank

pytestmark = pytest.mark.slow

EXCHANGE = [
    {"role": "user", "content": "I moved to Ghent in May.", "id": "m1", "at": "2024-05-07T10:00:00Z"},
    {"role": "assistant", "content": "How do you like it there?"},
]


@pytest.fixture(scope="session")
def description(server: Served) -> dict[str, Any]:
    found = httpx.get(f"{server.url}/openapi.json")
    assert found.headers["content-type"] == "application/json"
    described: dict[str, Any] = found.json()
    return described


def held(description: dict[str, Any], method: str, path: str, response: httpx.Response) -> Any:
    """The answer, which has the shape that the description gives it for its status."""
    answers = description["paths"][path][method]["responses"]
    schema = answers[str(response.status_code)]["content"]["application/json"]["schema"]
    jsonschema.validate(response.json(), {**schema, "components": description["components"]})
    return response.json()


def test_every_call_answers_as_it_is_described(caller: Caller, description: dict[str, Any]) -> None:
    def post(path: str, **body: Any) -> Any:
        request = description["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(body, {**request, "components": description["components"]})
        response = caller.post(path, **body)
        assert response.status_code == 200, response.text
        return held(description, "post", path, response)

    def get(path: str, **query: Any) -> Any:
        return held(description, "get", path, caller.get(path, **query))

    done = post("/v1/remember", messages=EXCHANGE, session="spring / one", close=True)
    assert done == {"turn_ids": ["m1"], "new": 2, "ended": ["spring / one"]}
    assert post("/v1/remember", messages=EXCHANGE[:1], session="spring / one")["new"] == 0
    recall = post("/v1/recall", query="When did I move?", token_budget=300, explain=True)
    [hit] = recall["hits"]
    assert "Ghent" in recall["text"]
    assert recall["tokens"] <= 300
    assert (hit["number"], hit["session"], hit["turn_ids"], hit["scope"]) == (
        1,
        "spring / one",
        ["m1"],
        [*caller.scope],
    )
    assert hit["signals"]
    assert "score" not in post("/v1/recall", query="When did I move?")["hits"][0]
    assert get("/v1/sessions", limit=5) == {
        "sessions": [
            {
                "name": "spring / one",
                "begin": "2024-05-07T10:00:00+00:00",
                "end": "2024-05-07T10:00:00+00:00",
                "turns": 1,
                "segments": 1,
            }
        ],
        "total": 1,
    }
    whole = get("/v1/session", name="spring / one")
    assert whole["turns"][0]["messages"][0]["text"] == "I moved to Ghent in May."
    assert whole["segments"] == [{"id": "spring / one#0-1", "start": 0, "stop": 1, "turn_ids": ["m1"]}]
    now = post("/v1/correct", turn_id="m1", text="I moved to Bruges in May.")["turn_id"]
    both = get("/v1/turns", id=["m1", now])["turns"]
    assert {turn["id"]: [mark["kind"] for mark in turn["marks"]] for turn in both} == {"m1": ["corrected"], now: []}
    corrected = post("/v1/recall", query="When did I move?")
    assert "(replaced on" in corrected["text"]
    [replaced] = [each for hit in corrected["hits"] for each in hit["replaced"]]
    assert (replaced["turn_id"], replaced["newer"], replaced["kind"]) == ("m1", now, "corrected")
    assert post("/v1/correct", turn_id=now, text=None) == {"turn_id": None}
    stats = get("/v1/stats")
    assert (stats["scope"], stats["turns"], stats["writes"]) == ([*caller.scope], 2, True)
    assert post("/v1/forget", turn_ids=["m1"]) == {"forgotten": 1}
    assert post("/v1/forget", all=True) == {"forgotten": 1}
    assert get("/v1/stats")["turns"] == 0


def test_the_description_names_every_call_and_no_other(server: Served, description: dict[str, Any]) -> None:
    listed = {(method.upper(), path) for path, methods in description["paths"].items() for method in methods}
    for method, path in listed:
        found = httpx.request(method, server.url + path, headers={"content-type": "application/json"})
        assert found.status_code == 401, path
        assert "`secom token NAME` makes one" in found.json()["error"]["message"]
    assert len(listed) == 8
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    assert {f"{method} {path}" for method, path in listed} == set(re.findall(r"`((?:GET|POST) /v1/\S+)`", page))


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"query": "x", "k": "three"}, "k: Input should be a valid integer, got 'three'"),
        ({"query": "x", "k": 0}, "k: Input should be greater than or equal to 1, got 0"),
        ({"query": "  "}, "query: should be a text that is not empty, got '  '"),
        ({}, "query: Field required"),
        ({"query": "x", "tokens": 5}, "tokens: Extra inputs are not permitted; it takes query, token_budget"),
        ({"query": "x", "where": {"$nonsense": 1}}, "nonsense"),
        ({"query": "x", "layers": ["moods"]}, "no layer is called 'moods'"),
        ({"query": "x", "layers": ["topics"]}, 'this server makes no topics; start it with layers = ["topics"]'),
        ({"query": "x", "context": [{"content": "no role"}]}, "message 0: needs a 'role'"),
        ({"query": "x", "now": "tomorrow"}, "now: should be a time such as 2024-05-07T14:05:00Z, got 'tomorrow'"),
        ([], "the request: should be an object of JSON, with arguments by name, got []"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_place_and_value(caller: Caller, body: Any, says: str) -> None:
    found = caller.http.post("/v1/recall", json=body)
    assert found.status_code == 400
    assert found.json()["error"]["code"] == "invalid"
    assert says in found.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/remember", {"messages": [], "session": "s"}, "messages: List should have at least 1 item"),
        ("/v1/remember", {"messages": [{"role": "user", "content": "x"}]}, "session: Field required"),
        ("/v1/remember", {"messages": "hello", "session": "s"}, "messages: Input should be a valid list"),
        ("/v1/forget", {}, "give session, turn_ids or before, or all: true"),
        ("/v1/forget", {"all": True, "session": "s"}, "and not both"),
        ("/v1/forget", {"all": "yes"}, "all: Input should be a valid boolean, got 'yes'"),
        ("/v1/correct", {"turn_id": "m1"}, "text: Field required"),
    ],
)
def test_what_changes_memory_is_checked_before_anything_is_done(
    caller: Caller, path: str, body: dict[str, Any], says: str
) -> None:
    caller.remember("I keep bees.")
    found = caller.http.post(path, json=body)
    assert (found.status_code, says in found.json()["error"]["message"]) == (400, True), found.text
    assert caller.ok(caller.get("/v1/stats"))["turns"] == 1


def test_what_is_not_there_is_said(caller: Caller) -> None:
    for found in (
        caller.get("/v1/session", name="nothing"),
        caller.post("/v1/correct", turn_id="nothing", text="x"),
        caller.get("/v1/nothing"),
    ):
        assert found.status_code == 404, found.text
        assert found.json()["error"]["message"]
    assert caller.post("/v1/forget", turn_ids=["nothing"]).json() == {"forgotten": 0}
    assert caller.get("/v1/turns", id="nothing").json() == {"turns": []}
    assert caller.get("/v1/remember").status_code == 405


def test_an_id_that_belongs_to_other_words_is_refused(caller: Caller) -> None:
    caller.ok(caller.post("/v1/remember", messages=EXCHANGE, session="s"))
    other = [{"role": "user", "content": "Something else.", "id": "m1"}]
    assert caller.post("/v1/remember", messages=other, session="s").status_code == 409


def test_what_expires_is_gone(caller: Caller) -> None:
    message = [{"role": "user", "content": "The code is 1234."}]
    past = caller.post("/v1/remember", messages=message, session="s", expires="2020-01-01T00:00:00Z")
    assert past.status_code == 200, past.text
    caller.ok(caller.post("/v1/remember", messages=message, session="t", expires="2999-01-01T00:00:00Z"))
    assert [row["name"] for row in caller.ok(caller.get("/v1/sessions"))["sessions"]] == ["t"]


def test_the_list_of_sessions_comes_in_parts_the_latest_first(caller: Caller) -> None:
    for number in range(5):
        caller.remember(f"This is talk {number}.", session=f"talk {number}")
    part = caller.ok(caller.get("/v1/sessions", limit=2, offset=1))
    assert [row["name"] for row in part["sessions"]] == ["talk 3", "talk 2"]
    assert part["total"] == 5
    assert caller.get("/v1/sessions", limit=0).status_code == 400
    assert caller.http.get("/v1/sessions?limit=1&limit=2").status_code == 400


@pytest.mark.parametrize("name", [".", "..", "a/", "//b", "50% off", "two\nlines", "\u200b", "a&name=b", "cut \ud83d"])
def test_a_session_of_any_name_is_there_under_its_name(caller: Caller, name: str) -> None:
    body = json.dumps({"session": name, "messages": [{"role": "user", "content": "Hello."}]})
    caller.ok(caller.http.post("/v1/remember", content=body, headers={"content-type": "application/json"}))
    spelled = quote(name, safe="", errors="surrogatepass")
    assert caller.ok(caller.http.get(f"/v1/session?name={spelled}"))["name"] == name


def test_the_latest_session_is_first_whatever_the_order_of_its_import(caller: Caller) -> None:
    for name, day in (("day 20", 20), ("day 4", 4), ("day 16", 16), ("day 4", 25)):
        message = {"role": "user", "content": "We spoke.", "at": f"2025-11-{day:02}T09:00:00Z"}
        caller.ok(caller.post("/v1/remember", messages=[message], session=name))
    names = [row["name"] for row in caller.ok(caller.get("/v1/sessions"))["sessions"]]
    assert names == ["day 4", "day 20", "day 16"]


def test_a_token_that_may_only_read_changes_nothing(server: Served, caller: Caller) -> None:
    [turn] = caller.remember("I keep bees.")
    with called(server, caller.scope, writes=False) as reader:
        assert "bees" in reader.ok(reader.post("/v1/recall", query="bees"))["text"]
        assert reader.ok(reader.get("/v1/stats"))["writes"] is False
        for path, body in {
            "/v1/remember": {"messages": EXCHANGE, "session": "s"},
            "/v1/correct": {"turn_id": turn, "text": "I keep wasps."},
            "/v1/forget": {"all": True},
        }.items():
            refused = reader.post(path, **body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_allowed")
    assert caller.ok(caller.get("/v1/stats"))["turns"] == 1


def test_a_recall_searches_the_scopes_that_its_token_allows(server: Served, caller: Caller) -> None:
    team = ("acme", f"team of {caller.scope[1]}")
    with called(server, team) as other:
        other.remember("The team meets on Fridays.")
    with called(server, caller.scope, team) as member:
        found = member.ok(member.post("/v1/recall", query="When does the team meet?", also=[[*team]]))
        assert "Fridays" in found["text"]
        assert found["hits"][0]["scope"] == [*team]
    refused = caller.post("/v1/recall", query="When does the team meet?", also=[[*team]])
    assert refused.status_code == 403
    assert "Fridays" not in refused.text


def test_health_and_metrics_tell_of_the_process_and_of_nobody(server: Served, caller: Caller) -> None:
    caller.remember("My safe word is walrus.")
    assert httpx.get(f"{server.url}/health").json() == {"status": "ok"}
    text = httpx.get(f"{server.url}/metrics").text
    assert re.search(r'^secom_calls_total\{path="/v1/remember",status="200"\} [1-9]', text, re.M)
    assert "secom_bank_writable 1.0" in text
    assert "walrus" not in text
    assert caller.scope[1] not in text


# -- who is let in -----------------------------------------------------------------------------------------------------


def test_a_token_that_is_revoked_lets_nobody_in(server: Served, caller: Caller) -> None:
    file = server.folder / "tokens.jsonl"
    with called(server, caller.scope) as soon_gone:
        soon_gone.ok(soon_gone.get("/v1/stats"))
        *kept, _ = file.read_text().splitlines(keepends=True)
        file.write_text("".join(kept))
        refused = soon_gone.get("/v1/stats")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    caller.ok(caller.get("/v1/stats"))


def test_the_file_of_tokens_holds_no_token_and_is_its_owners_alone(server: Served, caller: Caller) -> None:
    file = server.folder / "tokens.jsonl"
    assert caller.token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_of_tokens_that_is_damaged_lets_nobody_in(place: Path) -> None:
    with serving(place, "--tokens-file", "tokens.jsonl") as served:
        headers = {"authorization": f"Bearer {served.token('a', ('acme',))}"}
        assert httpx.get(f"{served.url}/v1/stats", headers=headers).status_code == 200
        with (place / "tokens.jsonl").open("a") as file:
            file.write("{broken\n")
        refused = httpx.get(f"{served.url}/v1/stats", headers=headers)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "tokens_unreadable")


def test_one_token_may_come_from_the_environment(tmp_path: Path) -> None:
    token = "a-token-of-my-own-choice"
    environ = {"SECOM_TOKEN": token, "SECOM_SCOPE": "acme/alice", "SECOM_METRICS_TOKEN": "another-token-for-figures"}
    with serving(tmp_path, environ=environ) as served:
        mine = {"authorization": f"Bearer {token}"}
        assert httpx.get(f"{served.url}/v1/stats").status_code == 401
        assert httpx.get(f"{served.url}/v1/stats", headers=mine).json()["scope"] == ["acme", "alice"]
        assert httpx.get(f"{served.url}/metrics").status_code == 401
        assert httpx.get(f"{served.url}/metrics", headers=mine).status_code == 401
        figures = {"authorization": "Bearer another-token-for-figures"}
        assert "secom_calls" in httpx.get(f"{served.url}/metrics", headers=figures).text


def test_without_tokens_whoever_is_on_this_machine_reaches_the_one_scope(tmp_path: Path) -> None:
    with serving(tmp_path, "--scope", "acme", "--scope", "alice") as served:
        body = {"messages": EXCHANGE, "session": "s"}
        assert httpx.post(f"{served.url}/v1/remember", json=body).json()["new"] == 2
        assert served.stop() == 0
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        assert bank.scopes() == [("acme", "alice")]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0", "--scope", "acme"], "can be reached from other machines, and there are no tokens"),
        ([], "whose memory\\? a server without tokens needs a scope"),
        (["--tokens-file", "nowhere.jsonl"], "--tokens-file nowhere.jsonl` makes one"),
        (["--mcp", "--scope", "acme"], "--port is for HTTP, and --mcp serves one agent"),
        (["--scope", "acme", "--embedder", "statik"], "did you mean 'static'"),
    ],
)
def test_a_server_that_could_let_in_nobody_or_everybody_does_not_start(
    tmp_path: Path, options: list[str], says: str
) -> None:
    with pytest.raises(RuntimeError, match=says), serving(tmp_path, *options):
        pass
    assert not (tmp_path / "memory.db").exists()


def test_where_something_listens_already_no_store_is_made(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "secom_core", "serve", "--scope", "acme", "--port", str(port)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    taken = os.strerror(errno.EADDRINUSE)
    assert done.stderr == (
        f"secom: nothing can listen on 127.0.0.1, port {port}: {taken}; give another --host or --port\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_nobody_knows_is_said_in_the_words_for_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "secom_core", "serve", "--scope", "acme", "--host", "nowhere.invalid"]
    asked = {"cwd": tmp_path, "capture_output": True, "encoding": "utf-8", "timeout": 60}
    done = subprocess.run(command, env={**os.environ, "SECOM_TOKEN": "t" * 40}, **asked)  # type: ignore[call-overload]
    with pytest.raises(socket.gaierror) as unknown:
        socket.getaddrinfo("nowhere.invalid", 8765)
    why = unknown.value.strerror
    assert done.stderr == (
        f"secom: nothing can listen on nowhere.invalid, port 8765: {why}; give another --host or --port\n"
    )


def test_without_the_extra_the_line_for_pip_is_said(tmp_path: Path) -> None:
    words = ["serve", "--scope", "acme"]
    code = f"import sys; sys.modules['mcp'] = None; from secom_core.command import main; sys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 1
    assert 'pip install "secom-memory[serve]"' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_address_alone_leads_to_the_inspector(server: Served) -> None:
    done = httpx.get(f"{server.url}/", follow_redirects=True, timeout=30)
    assert done.status_code == 200
    assert str(done.url) == f"{server.url}/inspect/"
    assert "<title>Memory inspector</title>" in done.text


def test_times_without_an_offset_are_of_the_servers_time_zone(tmp_path: Path) -> None:
    options = ("--scope", "acme", "--scope", "alice", "--timezone", "America/New_York")
    with serving(tmp_path, *options) as served, httpx.Client(base_url=served.url, timeout=30) as http:
        said = {"role": "user", "content": "I painted the wall."}
        own = [{**said, "at": "2025-06-10T23:30"}, {**said, "timestamp": "2025-06-11T03:30Z"}]
        for at in ("2025-06-09", "2025-06-09T01:00+02:00"):
            http.post("/v1/remember", json={"messages": [said, *own], "session": at, "at": at}).raise_for_status()
        assert http.post("/v1/forget", json={"before": "2025-06-09T00:00"}).json() == {"forgotten": 1}
        sessions = (
            http.get("/v1/session", params={"name": at}).json() for at in ("2025-06-09", "2025-06-09T01:00+02:00")
        )
        times = [[turn["at"] for turn in session["turns"]] for session in sessions]
        late = "2025-06-10T23:30:00-04:00"
        assert times == [["2025-06-09T00:00:00-04:00", late, late], [late, late]]
        asked = {"query": "What did I paint yesterday?", "now": "2025-06-11T20:00", "k": 1}
        assert "2025-06-10 Tue" in http.post("/v1/recall", json=asked).json()["text"]


def test_days_are_counted_in_the_time_zone_of_the_users(tmp_path: Path) -> None:
    options = ("--scope", "acme", "--scope", "alice", "--timezone", "Europe/Brussels")
    with serving(tmp_path, *options) as served, httpx.Client(base_url=served.url, timeout=30) as http:
        for day in (9, 10, 11):
            said = {"role": "user", "content": f"I painted thing {day}.", "at": f"2025-06-{day:02}T22:30:00.000Z"}
            http.post("/v1/remember", json={"messages": [said], "session": f"s{day}"})
        asked = {"query": "What did I paint yesterday?", "k": 1, "now": "2025-06-11T22:30:00.000Z"}
        recall = http.post("/v1/recall", json=asked).json()
        assert [turn["at"] for hit in recall["hits"] for turn in hit["turns"]] == ["2025-06-11T00:30:00+02:00"]
        assert "2025-06-11 Wed" in recall["text"]


def test_a_recall_does_not_wait_while_another_program_writes(place: Path) -> None:
    """What was said just before is not indexed yet, and that would have to be written."""
    with (
        serving(place, "--tokens-file", "tokens.jsonl", environ={"SECOM_SERVE_TIMEOUT": "10"}) as served,
        called(served, ("acme", "alice")) as caller,
        closing(sqlite3.connect(place / "memory.db", isolation_level=None)) as other,
    ):
        caller.remember("I keep bees on the roof.")
        other.execute("BEGIN IMMEDIATE")
        found = caller.ok(caller.post("/v1/recall", query="Where are the bees?"))
        other.execute("ROLLBACK")
        assert "bees on the roof" in found["text"]
        caller.remember("And geese in the garden.")
        assert "geese" in caller.ok(caller.post("/v1/recall", query="Where are the geese?"))["text"]


def test_a_call_that_cannot_write_says_so_in_time_and_writes_nothing_later(place: Path) -> None:
    said = [{"role": "user", "content": "I keep bees."}]
    with (
        serving(place, "--tokens-file", "tokens.jsonl", environ={"SECOM_SERVE_TIMEOUT": "6"}) as served,
        called(served, ("acme", "alice")) as caller,
        closing(sqlite3.connect(place / "memory.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        refused = caller.post("/v1/remember", messages=said, session="s")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_busy")
        assert refused.headers["retry-after"] == "1"
        other.execute("ROLLBACK")
        assert caller.ok(caller.post("/v1/remember", messages=said, session="s"))["new"] == 1
        assert caller.ok(caller.get("/v1/stats"))["messages"] == 1
