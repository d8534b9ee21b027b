from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import learning
from benchmarks.fit_weights import cases_of
from benchmarks.retrieval import locomo_files, read_conversation
from secom_core.ranking import LEXICAL

SHARED = Path(__file__).parents[3] / "shared" / "data" / "locomo"

LINES = {
    "session_1": ["I bought a kayak in Lisbon.", "What colour is it?", "Bright orange.", "My sister repairs violins."],
    "session_2": ["The kayak leaks.", "Did you patch it?", "Twice, with tape.", "Grandfather sold the violins."],
}
QUESTIONS = [
    {"question": "Where was the kayak bought?", "answer": "Lisbon", "evidence": ["D1:1"], "category": 4},
    {"question": "Which instruments does his sister repair?", "answer": "violins", "evidence": ["D1:4"], "category": 1},
    {"question": "What happened to the violins?", "answer": "sold", "evidence": ["D2:4; D1:4"], "category": 2},
]


def written(folder: Path, name: str) -> None:
    sessions = {
        session: [
            {"speaker": ("Ann", "Bob")[place % 2], "dia_id": f"D{number}:{place + 1}", "text": text}
            for place, text in enumerate(lines)
        ]
        for number, (session, lines) in enumerate(LINES.items(), start=1)
    }
    dates = {f"{session}_date_time": f"1:00 pm on {place + 1} May, 2023" for place, session in enumerate(LINES)}
    (folder / f"{name}.json").write_text(json.dumps({**sessions, **dates, "qa": QUESTIONS}), encoding="utf-8")


def test_the_command_measures_and_writes(tmp_path, monkeypatch, capsys) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("one", "two"):
        written(data, name)
    out = tmp_path / "out.json"
    arguments = ["--data", str(data), "--noise", "0.5", "--adversary", "--online", "--passes", "1", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", ["learning", *arguments, "--json", str(out)])
    learning.main()
    result = json.loads(out.read_text())
    assert result["questions"] == {"one": 3, "two": 3}
    assert result["base_weights"] == learning.hand_set(list(LEXICAL))
    assert set(result["fusion"]) == {"0 answers", "pass 1"}
    assert set(result["fusion_bad"]) == {"50% flipped", *(f"adversary, {name}" for name in learning.ADVERSARIES)}
    assert all(0 <= value <= 1 for row in result["fusion"].values() for value in row)
    assert {row["conversation"] for row in result["online"]} == {"one", "two"}
    assert "logistic regression" in capsys.readouterr().out


def test_citations_are_the_evidence_among_what_was_shown(tmp_path) -> None:
    written(tmp_path, "one")
    (conversation,) = map(read_conversation, locomo_files(tmp_path))
    case = cases_of(conversation, None, list(LEXICAL))[0]
    hits = learning.packed(learning.ranked(case, np.array(list(LEXICAL.values()))), 2000)
    true = learning.truth(hits, case.question.evidence)
    cited = {turn_id for hit, right in zip(hits, true, strict=True) if right for turn_id in hit.turn_ids}
    assert "D1:1" in cited
    assert sorted(true) == [False, True]
    random = np.random.default_rng(0)
    assert learning.honest(hits, true, random) == true
    assert learning.flipped(1.0)(hits, true, random) == [not right for right in true]
    lie = learning.adversary(learning.ADVERSARIES["worst"], dict(LEXICAL))(hits, true, random)
    assert not any(said and right for said, right in zip(lie, true, strict=True))
    assert sum(lie) == 1


def test_costs_are_measured(monkeypatch) -> None:
    monkeypatch.setattr(learning, "cross_encoder_cost", dict)
    monkeypatch.setattr(learning, "microseconds", lambda call, seconds=0.0: float(bool(call()) or 1))
    found = learning.cost()
    assert {name.split(":")[0] for name in found} == {"reranker, d=384", "reranker, d=1024", "policy, 11 signals"}


def test_it_learns_from_one_conversation_what_helps_in_another() -> None:
    if not SHARED.is_dir():
        pytest.skip("needs LoCoMo conversations under ../shared/data")
    files = {file.stem: file for file in locomo_files(SHARED)}
    names = list(LEXICAL)
    base = learning.hand_set(names)
    teach = cases_of(read_conversation(files["26"]), None, names)
    check = cases_of(read_conversation(files["41"]), None, names)
    options = Namespace(passes=1, shown=2000)
    fold = learning.fusion_fold(teach, check, base, learning.honest, options, curve=False, seed=0)
    before, after = (fold.curve[point].mean(axis=0) for point in (0, len(teach)))
    assert (after > before).all()
    assert fold.end["rollbacks"] == 0
