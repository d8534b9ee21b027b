"""The calls of the inspector by a real client: why, names, what stands, what would be gone; and its files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from callers import Caller, called

from benchmarks.served import Served
from secom_core import MemoryBank
from secom_core.conversation import Scope
from secom_core.ranking import SIGNALS
from secom_core.serve.inspector.reasons import KINDS, LABELS, why
from secom_core.serve.inspector.routes import CALLS, POLICY
from secom_core.text.matching import query_terms

FILES = (
    "addresses.js announce.js elements.js icon.svg index.html inspector.js made.js phrases.js questions.js search.js "
    "server.js sessions.js standing.js style.css turns.js why.js"
).split()


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_page_leads_to_its_folder_and_needs_no_token(server: Served) -> None:
    led = httpx.get(f"{server.url}/inspect")
    assert (led.status_code, led.headers["location"]) == (307, "inspect/")
    page = httpx.get(f"{server.url}/inspect/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("name", FILES)
def test_every_file_comes_with_the_policy(server: Served, name: str) -> None:
    found = httpx.get(f"{server.url}/inspect/{name}")
    assert found.status_code == 200
    assert found.headers["content-security-policy"] == POLICY
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["x-frame-options"] == "DENY"
    assert found.headers["referrer-policy"] == "no-referrer"


def test_the_policy_allows_nothing_but_the_servers_own() -> None:
    parts = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert parts["default-src"] == "'none'"
    assert {parts[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}
    assert {parts[name] for name in ("base-uri", "form-action", "frame-ancestors", "trusted-types")} == {"'none'"}
    assert "unsafe" not in POLICY


def test_the_list_of_files_is_whole() -> None:
    folder = Path(__file__).parents[2] / "secom_core/serve/inspector/static"
    assert sorted(each.name for each in folder.iterdir()) == FILES
    for each in folder.glob("*.js"):
        text = each.read_text(encoding="utf-8")
        for forbidden in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "http://",
            "https://",
        ):
            assert forbidden not in text, f"{each.name} has {forbidden}"


SPELLED = """
import {{ readFileSync }} from "node:fs";
import {{ decoded, encoded }} from "{module}";
const names = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(names.map((name) => [encoded(name), decoded(encoded(name)) === name])));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here to run the page's script")
def test_the_page_spells_a_name_of_a_session_as_the_server_reads_it() -> None:
    module = Path(__file__).parents[2] / "secom_core/serve/inspector/static/addresses.js"
    names = [".", "a/b?&#", "50% off", "%ED%A0%80", "Grüße 世界 😀", "cut \ud83d", "\ude00", "x\ud83d!\ud83d"]
    script = SPELLED.format(module=module.as_uri())
    given = {"input": json.dumps(names), "capture_output": True, "text": True}
    ran = subprocess.run(["node", "--input-type=module", "-e", script], **given)
    assert ran.returncode == 0, ran.stderr
    for name, (spelled, is_back) in zip(names, json.loads(ran.stdout), strict=True):
        assert unquote(spelled, errors="surrogatepass") == name
        assert is_back, name


@pytest.mark.parametrize(
    "path", ["routes.py", "..%2froutes.py", "../routes.py", "%2e%2e/%2e%2e/application.py", "none", "static/style.css"]
)
def test_nothing_else_is_a_file(server: Served, path: str) -> None:
    found = httpx.get(f"{server.url}/inspect/{path}")
    assert found.status_code in (401, 404)
    assert "secom" not in found.text or found.json()["error"]["code"] in ("no_such_call", "no_token")


# -- calls -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.path)
def test_no_call_is_answered_without_a_token(server: Served, call: Any) -> None:
    response = httpx.request(call.method, server.url + call.path, json={} if call.method == "POST" else None)
    assert response.status_code == 401


def test_each_signal_and_kind_has_its_plain_words() -> None:
    assert LABELS.keys() == SIGNALS.keys()
    assert set(KINDS) == {"relevant", "surrounding", "standing", "recent"}


def test_reasons_are_ordered_by_what_they_add_and_name_the_words_in_common(tmp_path: Path) -> None:
    scope, query = ("acme",), "Which worktop comes on Thursday?"
    with MemoryBank.open(str(tmp_path / "memory.db")) as bank:
        bank.remember(scope, [("user", "The oak worktop comes on Thursday."), ("assistant", "Good.")], session="s")
        bank.remember(scope, [("user", "The dog has to see the vet."), ("assistant", "When?")], session="t")
        best = bank.recall(scope, query, k=1).hits[0]
        told = why(best, bank.weights_of(best), query_terms(query, [best.text]))
    adds = [abs(each["adds"]) for each in told["reasons"]]
    assert adds == sorted(adds, reverse=True)
    assert sum(each["adds"] for each in told["reasons"]) == pytest.approx(best.score, abs=0.02)
    texts = {turn.id: turn for turn in best.turns}
    words = {
        texts[each["turn_id"]].messages[each["message"]].text[start:stop]
        for each in told["matches"]
        for start, stop in each["spans"]
    }
    assert {"worktop", "comes", "Thursday"} <= words


def test_an_explained_recall_is_the_recall_of_the_api(caller: Caller) -> None:
    caller.remember("The oak worktop comes on Thursday.", "The dog is ill.", session="one")
    asked = {"query": "When does the worktop come?", "token_budget": 300}
    explained = caller.ok(caller.post("/v1/inspect/recall", **asked))
    plain = caller.ok(caller.post("/v1/recall", **asked, explain=True))
    assert explained["recall"] == plain
    assert len(explained["why"]) == len(plain["hits"])


def test_segments_have_names(caller: Caller) -> None:
    caller.remember("Biscuit scratches.", "The vet saw Biscuit.", session="a / b")
    one = caller.ok(caller.get("/v1/inspect/session", name="a / b"))
    assert [len(one["names"])] == [len(one["session"]["segments"])]
    assert "Biscuit" in one["names"][0]
    listed = caller.ok(caller.get("/v1/inspect/sessions", limit=5))
    assert listed["sessions"][0]["names"] == one["names"]
    assert listed["total"] == 1


def test_what_stands_is_listed_with_its_dates(caller: Caller) -> None:
    first, second = caller.remember("Please always answer in metres.", "I live in Ghent.")
    caller.ok(caller.post("/v1/inspect/pin", turn_id=first, pinned=True))
    newer = caller.ok(caller.post("/v1/correct", turn_id=second, text="I live in Bruges."))["turn_id"]
    found = caller.ok(caller.get("/v1/inspect/standing"))
    assert [(each["kind"], each["turn"]["id"]) for each in found["statements"]] == [
        ("fact", newer),
        ("instruction", first),
    ]
    assert [turn["id"] for turn in found["pinned"]] == [first]
    [replaced] = found["replaced"]
    assert (replaced["older"]["id"], replaced["newer"]["id"], replaced["by"]) == (second, newer, "hand")
    assert replaced["at"].startswith("20")
    assert found["finds_changes"] is False
    assert caller.ok(caller.post("/v1/inspect/undo", turn_id=second))["marks"] == []
    assert caller.ok(caller.post("/v1/inspect/pin", turn_id=first, pinned=False))["marks"] == []


def test_what_would_be_gone_is_what_goes(caller: Caller) -> None:
    caller.remember("one", "two", session="a")
    caller.remember("three", session="b")
    doomed = caller.ok(caller.post("/v1/inspect/forget", session="a"))
    assert (doomed["turns"], doomed["messages"], doomed["sessions"]) == (2, 2, ["a"])
    assert doomed["openings"] == ["user: one", "user: two"]
    assert doomed["made"]["segments"] >= 1
    assert caller.ok(caller.get("/v1/stats"))["turns"] == 3
    assert caller.ok(caller.post("/v1/forget", session="a")) == {"forgotten": 2}
    assert caller.ok(caller.post("/v1/inspect/forget", session="a"))["turns"] == 0


def test_a_token_reaches_its_own_scope_alone(server: Served, caller: Caller, scope: Scope) -> None:
    [turn] = caller.remember("My code is 4711.")
    with called(server, (*scope, "other")) as other:
        assert other.ok(other.post("/v1/inspect/recall", query="code"))["recall"]["hits"] == []
        assert other.ok(other.get("/v1/inspect/sessions"))["total"] == 0
        assert other.get("/v1/inspect/session", name="monday").status_code == 404
        assert other.post("/v1/inspect/pin", turn_id=turn, pinned=True).status_code == 404
        assert other.post("/v1/inspect/undo", turn_id=turn).status_code == 404
        assert other.ok(other.post("/v1/inspect/forget", turn_ids=[turn]))["turns"] == 0
        assert other.post("/v1/inspect/recall", query="code", scope=list(scope)).status_code == 400


def test_a_token_that_may_only_read_changes_nothing(server: Served, caller: Caller, scope: Scope) -> None:
    [turn] = caller.remember("My code is 4711.")
    with called(server, scope, writes=False) as reader:
        for path, body in (
            ("pin", {"turn_id": turn, "pinned": True}),
            ("undo", {"turn_id": turn}),
            ("forget", {"all": True}),
        ):
            response = reader.post(f"/v1/inspect/{path}", **body)
            assert (response.status_code, response.json()["error"]["code"]) == (403, "not_allowed")
        assert reader.ok(reader.get("/v1/inspect/standing"))["pinned"] == []


def test_a_server_without_layers_says_so(caller: Caller) -> None:
    assert caller.ok(caller.get("/v1/inspect/made")) == {
        "layers": [],
        "waiting": {},
        "by_model": False,
        "summary": None,
        "topics": [],
        "threads": [],
        "single": 0,
    }
