"""`python -m benchmarks.agents`: every agent runs, has its memory in the prompt, and is timed part by part."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="the clients speak HTTP")

from benchmarks import agent_crowd, agents

pytestmark = pytest.mark.slow

SIZE = 24


def ran(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["agents", "--turns", str(SIZE), "--users", "0", *arguments])
    agents.main()


def test_every_agent_is_timed_beside_the_same_without_memory(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(agents, "WARM_UP", 1)
    out = tmp_path / "agents.json"
    ran(monkeypatch, "--measured", "2", "--json", str(out))
    report = json.loads(out.read_text(encoding="utf-8"))
    assert {"seed", "measured", "versions", "load"} <= set(report)
    frameworks = report["milliseconds"][str(SIZE)]
    assert {name: list(rows) for name, rows in frameworks.items()} == {
        name: ["no memory", *rows] for name, rows in agents.AGENTS.items()
    }
    for rows in frameworks.values():
        assert rows.pop("no memory")["turn"]["p50"] > 0
        for name, row in rows.items():
            assert all(row[part]["p95"] >= row[part]["p50"] for part in agents.PARTS), name
            assert row["turn"]["p50"] > row["recall"]["p50"] > 0, name
            assert row["write"]["p50"] > 0, name
            # The seeded words of one turn are in no other.
            assert 5 <= row["turns_shown"] <= SIZE, name
    printed = capsys.readouterr().out
    assert len(re.findall(r"\d+\.\d\dx$", printed, re.MULTILINE)) == 16, "a ratio for each memory"


def test_what_takes_too_long_is_left_out_with_the_reason(monkeypatch, capsys) -> None:
    ran(monkeypatch, "--measured", "1", "--patience", "0", "--only", "InMemoryStore")
    printed = capsys.readouterr().out
    assert f"left out: it takes longer than 0 s to take in {SIZE} turns" in printed
    assert "x ours" in printed


def test_users_at_once_are_set_beside_the_same_without_memory(monkeypatch, capsys) -> None:
    monkeypatch.setattr(agent_crowd, "KNOWN", 10)
    monkeypatch.setattr(agent_crowd, "SAID", 2)
    monkeypatch.setattr(agent_crowd, "DELAYS", (0.0, 0.01))
    agents.scripted_models()
    found = agent_crowd.crowds(2)
    for framework in agent_crowd.AGENTS:
        for row in found[framework].values():
            assert row["times"] == row["ours"] / row["no memory"] > 0
    assert capsys.readouterr().out.count("2 users at once") == 4


def test_of_several_rounds_of_users_at_once_the_middle_counts(monkeypatch, capsys) -> None:
    took = iter([1.0, 1.5, 2.0, 2.2, 1.0, 9.0])
    monkeypatch.setattr(agent_crowd, "timed", lambda *_, knows: next(took))
    monkeypatch.setattr(agent_crowd, "AGENTS", {"an agent": {"no memory": None, "ours": None}})
    monkeypatch.setattr(agent_crowd, "DELAYS", (0.5,))
    row = agent_crowd.crowds(40, 3)["an agent"]["0.5"]
    assert [row["no memory"], row["ours"], row["times"]] == [1.0, 2.2, 1.5]
    assert "1.50 times, the middle of 1.50 1.10 9.00" in capsys.readouterr().out


def test_what_the_model_was_sent_before_is_a_share_of_the_prompt() -> None:
    prompts = agents.Prompts()
    for conversation, prompt in [("a", "one"), ("a", "one two"), ("b", "one two"), ("b", "two")]:
        prompts.add(conversation, prompt)
    # Seven characters of which three are the same, and three that are all new; the first of each has none before it.
    assert prompts.shares["cached"] == 3 / 10


def test_calls_inside_calls_are_counted_once() -> None:
    clock = agents.Clock()
    with clock.timing("recall"):
        time.sleep(0.01)
        with clock.timing("write"):
            time.sleep(0.01)
    assert clock.seconds["recall"] >= 0.02
    assert clock.seconds["write"] == 0
    clock.reset()
    assert clock.seconds == {"recall": 0, "write": 0}


def test_the_time_of_the_model_is_no_time_of_memory() -> None:
    class Hooks:
        def wrap_model_call(self, request, handler):
            time.sleep(0.01)
            answer = handler(request)
            time.sleep(0.02)
            return answer

        def after_agent(self, state, runtime):
            time.sleep(0.02)

    clock = agents.Clock()
    timed = agents.timed_hooks(Hooks, clock)()
    timed.wrap_model_call(None, lambda request: time.sleep(0.5))
    timed.after_agent(None, None)
    assert 0.01 <= clock.seconds["recall"] < 0.2
    assert 0.04 <= clock.seconds["write"] < 0.3


def test_the_ratio_is_to_ours() -> None:
    def row(recall: float, write: float) -> dict:
        return {"recall": {"p50": recall}, "write": {"p50": write}}

    rows = {"no memory": {"turn": {"p50": 1}}, agents.OURS: row(2, 2), "a peer": row(30, 10), "slow": {"left_out": "…"}}
    assert {name: agents.ratio(name, rows) for name in rows} == {
        "no memory": None,
        agents.OURS: 1,
        "a peer": 10,
        "slow": None,
    }
    del rows[agents.OURS]
    assert agents.ratio("a peer", rows) is None


def test_a_bank_is_filled_once_and_copied(tmp_path: Path) -> None:
    setting = agents.Setting("http://unused", agents.utterances(SIZE, 0), tmp_path, 9, None)
    with setting.bank(False) as one, setting.bank(False) as other:
        assert one.storage.path != other.storage.path
        one.forget(agents.SCOPE)
        assert len([turn for name in other.sessions(agents.SCOPE) for turn in other.turns(agents.SCOPE, name)]) == SIZE
