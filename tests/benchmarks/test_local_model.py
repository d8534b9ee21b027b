"""The runs of a local model: what was recorded once is not asked again, and gives the same figures without a server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("openai", reason="the client speaks HTTP")

from benchmarks import local_model
from benchmarks.recorded_model import AskedModel, Recorder, cost
from secom_core.errors import ContextTooLong, ModelUnavailable
from secom_core.llm.flow import Prompt
from secom_core.testing import Answer, Fault, ScriptedServer

RESULTS = Path(local_model.__file__).with_name("results")
DATA = Path(__file__).parents[2] / "examples" / "data"
TOO_LONG = '{"error": {"message": "the request exceeds the available context size"}}'


def asked(recorder: Recorder, *texts: str) -> list[str]:
    with recorder.serving() as url:
        model = AskedModel("m", url)
        return [model.complete(Prompt(text, purpose="answer")) for text in texts]


def test_what_is_recorded_is_answered_without_the_server(tmp_path):
    path = tmp_path / "recorded.jsonl"
    with ScriptedServer({"": Answer("yes", finish_reason="length")}) as server:
        assert asked(Recorder(path, server.base_url), "a", "b", "a") == ["yes"] * 3
        assert asked(Recorder(path, server.base_url), "a") == ["yes"]
        assert len(server.requests) == 2
        assert {(r.body["temperature"], r.body["seed"], r.body["max_tokens"]) for r in server.requests} == {(0, 0, 32)}
    again = Recorder(path)
    (reply,) = asked(again, "b")
    assert getattr(reply, "cut_off", False)
    assert cost(again.used)["calls"] == cost(again.used)["cut_off"] == 1


def test_a_line_that_a_killed_run_left_is_asked_for_again(tmp_path):
    path = tmp_path / "recorded.jsonl"
    with ScriptedServer("yes") as server:
        asked(Recorder(path, server.base_url), "a", "b")
        path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        asked(Recorder(path, server.base_url), "a", "b")
        assert [request.text for request in server.requests] == ["a", "b", "b"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


def test_a_refusal_is_recorded_and_a_server_that_is_down_is_not(tmp_path):
    path = tmp_path / "recorded.jsonl"
    with ScriptedServer({"long": Fault(status=400, body=TOO_LONG), "": Fault(status=503)}) as server:
        for upstream in (server.base_url, None):
            with pytest.raises(ContextTooLong):
                asked(Recorder(path, upstream), "long")
        recorder = Recorder(path, server.base_url)
        with pytest.raises(ModelUnavailable):
            asked(recorder, "short")
    assert recorder.missing == ["short"]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1


def test_seconds_are_those_in_which_anything_was_under_way():
    lines = [{"key": str(place), "at": at, "seconds": 2.0} for place, at in enumerate((10.0, 11.0, 20.0))]
    assert cost([*lines, *lines])["seconds"] == 5.0
    assert cost([*lines, *lines])["calls"] == 3


@pytest.mark.slow
def test_a_part_runs_again_from_its_file_and_says_what_is_missing(tmp_path):
    path, out = tmp_path / "recorded.jsonl", tmp_path / "out.json"
    arguments = ["citations", "--data", str(DATA), "--recorded", str(path), "--model", "m", "--most", "3"]
    with ScriptedServer("He said so [1][2]. It was (3).") as server:
        local_model.main([*arguments, "--base-url", server.base_url, "--json", str(out)])
        first = json.loads(out.read_text(encoding="utf-8"))
        assert len(server.requests) == 3
    local_model.main([*arguments, "--json", str(out)])
    assert json.loads(out.read_text(encoding="utf-8")) == first
    assert (first["citations"]["cite"], first["citations"]["numbers cited"]) == (3, 6)
    assert first["citations"]["forms"] == {"[1][2]": 3, "(1)": 3}
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    with pytest.raises(SystemExit, match="1 requests are not in"):
        local_model.main(arguments)


def test_the_figures_shown_are_those_of_the_replies_recorded():
    shown = json.loads((RESULTS / "local_model.json").read_text(encoding="utf-8"))
    (path,) = RESULTS.glob("recorded_*.jsonl")
    lines = [line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if "finish" in line]
    replies = [line["reply"] for line in lines if line["part"] == "citations"]
    forms = {name: sum(bool(re.search(form, each)) for each in replies) for name, form in local_model.FORMS.items()}
    assert len(replies) == shown["citations"]["answers"]
    assert {name: count for name, count in forms.items() if count} == shown["citations"]["forms"]
    for part in local_model.PARTS.keys() & shown.keys():
        assert cost([line for line in lines if line["part"] == part]) == shown[part]["cost"]
    before = [line["reply"] for line in lines if line["part"] == "citations, as it was"]
    assert (len(before), sum(bool(re.fullmatch(r"\[\d+\]", each)) for each in before)) == (25, 24)
    before = [line["reply"] for line in lines if line["part"] == "rubric, as it was"]
    assert ["- The new rule, in one sentence or two." in each for each in before] == [True] * 4
