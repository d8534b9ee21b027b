"""What is kept of damaged and odd replies never falls below the figures that are shown."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice

import pytest

from benchmarks import damaged_replies, replies
from secom_core.llm.flow import Prompt
from secom_core.testing import Answer, ScriptedServer

RESULTS = replies.HERE / "benchmarks" / "results"
SHOWN = {part: json.loads((RESULTS / "replies.json").read_text())[part] for part in ("kept", "sent")}
ENTRIES = replies.entries_of(replies.CORPUS)
SENT = replies.entries_of(RESULTS / "replies_qwen2_5_coder_1_5b_instruct.jsonl")


def test_the_corpus_has_three_hundred_replies_over_all_prompts():
    prompts = Counter(entry["prompt"] for entry in ENTRIES)
    assert sum(prompts.values()) >= 300
    assert {*prompts} == {purpose for purpose, *_ in replies.questions()} == {*SHOWN["kept"]}


def test_half_as_many_were_really_sent_and_what_each_says_is_written_by_hand():
    assert len(SENT) >= 150
    assert {entry["prompt"] for entry in SENT} == {entry["prompt"] for entry in ENTRIES}
    assert all("said" in entry and entry["model"] for entry in SENT)


def test_the_corpus_is_what_its_kinds_of_damage_make():
    assert [json.loads(json.dumps(entry)) for entry in damaged_replies.corpus()] == ENTRIES


@pytest.mark.slow
@pytest.mark.parametrize("part", SHOWN)
def test_no_less_is_kept_than_the_page_of_results_shows(part):
    entries = ENTRIES if part == "kept" else SENT
    found = replies.measured(entries, lambda entry: entry["prompt"])
    shown = {name.partition(" (")[0]: each["after"] for name, each in SHOWN[part].items()}
    assert found.keys() == shown.keys()
    assert [name for name, each in found.items() if each["kept"] < shown[name]] == []


@pytest.mark.slow
def test_a_model_s_replies_are_recorded_once_and_measured(tmp_path, monkeypatch):
    pytest.importorskip("openai", reason="needs the extra 'openai'")
    monkeypatch.setattr(replies, "HERE", tmp_path)
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    asked: list[tuple[str, replies.Talk, Prompt, object]] = [*islice(replies.questions(), 3)]
    monkeypatch.setattr(replies, "questions", lambda: iter(asked))
    with ScriptedServer(Answer("<segmentation>", finish_reason="length")) as server:
        paths = {replies.record(server.base_url, "Tiny 1.0", 2) for _ in range(2)}
        assert len(server.requests) == 6
    (path,) = paths
    entries = replies.entries_of(path)
    assert path.name == "replies_tiny_1_0.jsonl"
    assert [entry["cut_off"] for entry in entries] == [True] * 6
    assert all(0 <= replies.kept(entry) <= 1 for entry in entries)
