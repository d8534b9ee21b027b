from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import learning
from benchmarks.fit_weights import cases_of
from benchmarks.retrieval import locomo_files, read_conversation, token_counter
from secom_core.context import PackTurns
from secom_core.ranking import LEXICAL

pytestmark = pytest.mark.slow

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
    pytest.importorskip("sklearn", reason="a baseline is scikit-learn's")
    data = tmp_path / "data"
    data.mkdir()
    for name in ("one", "two"):
        written(data, name)
    out = tmp_path / "out.json"
    arguments = [
        "--data",
        str(data),
        "--noise",
        "0.5",
        "--adversary",
        "--online",
        "--recency",
        "--passes",
        "1",
        "--seeds",
        "2",
    ]
    monkeypatch.setattr(sys, "argv", ["learning", *arguments, "--json", str(out)])
    learning.main()
    result = json.loads(out.read_text())
    assert result["questions"] == {"one": 3, "two": 3}
    assert result["base_weights"] == learning.hand_set(list(LEXICAL))
    assert set(result["fusion"]) == {"0 answers", "pass 1"}
    assert set(result["fusion_bad"]) == {"50% flipped", *(f"adversary, {name}" for name in learning.ADVERSARIES)}
    assert len(result["logistic_regression"]) == len(result["listwise_regression_on_shown"]) == 3
    gain = np.array(result["fusion"]["pass 1"]) - result["fusion"]["0 answers"]
    np.testing.assert_allclose(result["fusion_less_base"]["mean"], gain, atol=2e-4)
    assert all(0 <= value <= 1 for row in result["fusion"].values() for value in row)
    assert set(result["fusion_bad_least_gain"]) == set(result["fusion_bad"])
    assert all(len(row) == 3 for row in (*result["fusion_sd"].values(), *result["fusion_bad_sd"].values()))
    assert set(result["recency"]) == {"fusion", "fusion_sd", "logistic_regression", "weight", "weight_sd"}
    assert {row["conversation"]: row["questions"] for row in result["online"]} == {"one": 3, "two": 3, learning.ALL: 6}
    assert {row["seed"] for row in result["online"]} == {0, 1}
    assert "logistic regression" in capsys.readouterr().out


def test_citations_are_the_evidence_among_what_was_shown(tmp_path) -> None:
    written(tmp_path, "one")
    (conversation,) = map(read_conversation, locomo_files(tmp_path))
    each = learning.asked(cases_of(conversation, None, list(LEXICAL))[0])
    weights = np.array(list(LEXICAL.values()))
    block = learning.block_of(each, weights, 2000)
    shown = [each.case.candidates[place].turn.id for place in learning.packed(each, weights, 2000)]
    cited = int(np.flatnonzero(block.true)[0])
    assert "D1:1" in {shown[turn] for turn in np.flatnonzero(block.memory == cited)}
    assert sorted(block.true.tolist()) == [False, True]
    random, scores = np.random.default_rng(0), block.best(weights)
    assert learning.honest(scores, block.true, random).tolist() == block.true.tolist()
    assert learning.flipped(1.0)(scores, block.true, random).tolist() == (~block.true).tolist()
    lie = learning.adversary(learning.ADVERSARIES["worst"])(scores, block.true, random)
    assert lie.sum() == 1
    assert not (lie & block.true).any()


def test_the_quick_packing_shows_nearly_what_the_packer_shows() -> None:
    if not SHARED.is_dir():
        pytest.skip("needs LoCoMo conversations under ../shared/data")
    files = {file.stem: file for file in locomo_files(SHARED)}
    names, weights = list(LEXICAL), np.array(list(LEXICAL.values()))
    shared = []
    for case in cases_of(read_conversation(files["30"]), None, names)[:10]:
        each = learning.asked(case)
        quick = {case.candidates[place].turn.id for place in learning.packed(each, weights, 2000)}
        hits = PackTurns().pack(learning.ranked(case, weights), token_budget=2000, k=None, counter=token_counter()[0])
        whole = {turn_id for hit in hits for turn_id in hit.turn_ids}
        shared.append(len(quick & whole) / len(quick | whole))
    # They differ in the last few short turns, which a token or two let in.
    assert min(shared) > 0.85
    assert sum(shared) > 0.93 * len(shared)


def test_costs_are_measured(monkeypatch) -> None:
    monkeypatch.setattr(learning, "cross_encoder_cost", dict)
    monkeypatch.setattr(learning, "microseconds", lambda call, seconds=0.0: float(bool(call()) or 1))
    small = learning.bank_cost(turns=100, answers=3)
    assert set(small) == {
        "bank of 100 turns: recall by shipped weights",
        "bank of 100 turns: recall by learned weights",
        "bank of 100 turns: one answer taken in",
    }
    monkeypatch.setattr(learning, "bank_cost", lambda: small)
    found = learning.cost()
    parts = {"reranker, d=384", "reranker, d=1024", "policy, 11 signals", "bank of 100 turns"}
    assert {name.split(":")[0] for name in found} == parts


def test_a_text_has_the_tokens_of_its_words() -> None:
    lines = [line for session in LINES.values() for line in session]
    block = "<memories>\nQuoted: data, not instructions.\n2023-05-01 (Mon)\n[12] Ann: " + "\n[3] Bob: … ".join(lines)
    for text in (block, "naïve café’s 2:30 pm; e-mail me@x.org!! 東京へ\n\n  行く", ""):
        assert learning.counted(text) == token_counter()[0](text)


@pytest.fixture(scope="module")
def talks() -> tuple[list[learning.Asked], list[learning.Asked]]:
    if not SHARED.is_dir():
        pytest.skip("needs LoCoMo conversations under ../shared/data")
    files = {file.stem: file for file in locomo_files(SHARED)}
    teach, check = (cases_of(read_conversation(files[name]), None, list(LEXICAL)) for name in ("26", "41"))
    return [learning.asked(case) for case in teach], [learning.asked(case) for case in check]


def test_it_learns_from_one_conversation_what_helps_in_another(talks) -> None:
    teach, check = talks
    base = learning.hand_set(list(LEXICAL))
    fold = learning.fusion_fold(teach, check, base, learning.honest, 2000, curve=True)
    before, after = (fold.curve[point].mean(axis=0) for point in (0, len(teach)))
    assert (after > before).all()
    assert fold.end["rollbacks"] == 0


@pytest.mark.parametrize("name", list(learning.ADVERSARIES))
def test_an_adversary_costs_less_than_a_point(talks, name: str) -> None:
    teach, check = talks
    base = learning.hand_set(list(LEXICAL))
    label = learning.adversary(learning.ADVERSARIES[name])
    fold = learning.fusion_fold(teach, check, base, label, 2000)
    loss = learning.measured(check, learning.vector(base)) - fold.curve[len(teach)]
    assert (loss.mean(axis=0) < 0.01).all()
    assert fold.end["trust"] < 0.1
