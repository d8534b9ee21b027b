from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import calibration, chats, fit_relevance, fit_weights
from benchmarks.fit_relevance import Search
from secom_core.conversation import Message, Turn
from secom_core.indexes.bm25 import BM25
from secom_core.memory import Memory, Passage
from secom_core.ranking import LEXICAL, Candidate
from secom_core.ranking.relevance import CALIBRATED, chance, confidence, features, relevances

TALK = ["I bought a kayak in Lisbon.", "What colour is it?", "Bright orange.", "My sister repairs violins."]
CHAT = ["My sister Vera moved to Bergen.", "How lovely!", "I keep two goats named Tilda and Olga.", "Fine names."]
ASKED = {"Where does Vera live?": ("In Bergen.", ["0"]), "What are the goats called?": ("Tilda and Olga.", ["2"])}


def written(folder: Path) -> list[str]:
    """Two conversations and two chats; the arguments that name them."""
    for name in ("one", "two"):
        lines = [{"speaker": ("Ann", "Bob")[n % 2], "dia_id": f"D1:{n + 1}", "text": t} for n, t in enumerate(TALK)]
        questions = [
            {"question": "Where was the kayak bought?", "answer": "Lisbon", "evidence": ["D1:1"], "category": 4},
            {"question": "Which instruments does his sister repair?", "evidence": ["D1:4"], "category": 1},
            {"question": "What does Bob buy in Lisbon?", "evidence": ["D1:1"], "category": 5},
        ]
        talk = {"session_1": lines, "session_1_date_time": "1:00 pm on 1 May, 2023", "qa": questions}
        messages = [
            {"id": str(n), "role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(CHAT)
        ]
        rows = [{"kind": "fact", "question": q, "gold": gold, "evidence": ids} for q, (gold, ids) in ASKED.items()]
        rows.append({"kind": "abstention", "question": "Why did Vera move?", "gold": "Not said.", "evidence": []})
        sessions = [{"session": "one", "date": "2024-03-15", "messages": messages}]
        for kind, whole in (
            ("talk", talk),
            ("chats", {"name": f"chat {name}", "sessions": sessions, "questions": rows}),
        ):
            (folder / kind).mkdir(exist_ok=True)
            (folder / kind / f"{name}.json").write_text(json.dumps(whole), encoding="utf-8")
    return ["--talk", str(folder / "talk"), "--chats", str(folder / "chats")]


def ran(monkeypatch: pytest.MonkeyPatch, module, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments])
    module.main()


@pytest.mark.slow
def test_weights_are_fitted_on_each_shape_and_on_both(tmp_path, monkeypatch, capsys) -> None:
    out = tmp_path / "weights.out"
    ran(monkeypatch, fit_weights, *written(tmp_path), "--budgets", "60", "--json", str(out))
    fitted = json.loads(out.read_text(encoding="utf-8"))
    assert set(fitted["folds"]) == {"one", "two", "chat one", "chat two"}
    assert {(on, of) for on, row in fitted["transfer"].items() for of in row} == {
        (on, of) for on in ("talk", "chats", "both") for of in ("talk", "chats")
    }
    assert set(fitted["final"]) == set(LEXICAL)
    assert fitted["final"]["non_answer"] == -1.0, "set by hand"
    assert "fitted on" in capsys.readouterr().out
    ran(monkeypatch, chats, "--data", str(tmp_path / "chats"), "--budgets", "60", "--weights", str(out))


@pytest.mark.slow
def test_relevance_is_fitted_and_measured(tmp_path, monkeypatch, capsys) -> None:
    data, out = written(tmp_path), tmp_path / "out"
    ran(monkeypatch, fit_relevance, *data, "--json", str(out))
    fitted = json.loads(out.read_text(encoding="utf-8"))
    assert len(fitted["final"]["relevance"]) == 1 + 2 + len(CALIBRATED)
    assert min(fitted["final"]["confidence"][1:]) >= 0, "more evidence never makes less sure"
    assert {"talk, adversarial (2)", "chats, unsaid (2)"} <= set(fitted["confidence_area"])
    ran(monkeypatch, calibration, *data, "--budget", "100", "--json", str(out))
    measured = json.loads(out.read_text(encoding="utf-8"))
    assert set(measured["confidence_area"]) == {"confidence", "best BM25"}
    assert set(measured["calibration_error"]) == {"talk", "chats"}
    assert "area under the ROC curve" in capsys.readouterr().out


def test_a_passage_is_worth_what_it_tells_of_the_evidence() -> None:
    told = "Vera moved to Bergen in May."
    question = chats.Question("family", "Where and when?", "Bergen, in May.", (told,), (), None)
    turn = Turn((Message("Is it so?"), Message(told, "assistant")), id="0")
    memory = Memory("m", "one", (turn,))
    assert fit_weights.shares(question, Candidate(turn, memory, 0.0)) == [1.0]
    other, cut = Passage(turn, 0, 0, 9), Passage(turn, 1, 0, 10)
    assert fit_weights.shares(question, Candidate(turn, memory, 0.0, passage=other)) == []
    assert fit_weights.shares(question, Candidate(turn, memory, 0.0, passage=cut)) == [0.0], "a cut sentence"


def test_each_group_counts_what_is_wanted_of_it() -> None:
    assert fit_weights.counts_of(["a", "a", "b"], {}) == pytest.approx([0.25, 0.25, 0.5])
    assert fit_weights.counts_of(["a", "a", "b"], {"a": 4.0}) == pytest.approx([0.4, 0.4, 0.2])


def test_kept_vectors_are_read_again(tmp_path) -> None:
    seen: list[str] = []

    class Lengths:
        name = "lengths"

        def embed(self, texts):
            seen.extend(texts)
            return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    first = fit_weights.Kept(Lengths(), tmp_path / "vectors.npz")
    assert first.embed(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    first.save()
    again = fit_weights.Kept(Lengths(), tmp_path / "vectors.npz")
    assert again.embed(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert seen == ["a", "bb", "ccc"]


def test_the_logistic_fit_finds_the_weights_that_made_the_labels() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 3))
    wanted = np.array([-0.5, 1.0, -2.0, 0.0])
    truth = (rng.random(len(rows)) < chance(wanted[0] + rows @ wanted[1:])).astype(float)
    counts = np.full(len(rows), 1 / len(rows))
    assert fit_relevance.logistic(rows, truth, counts, 0.0) == pytest.approx(wanted, abs=0.1)
    only = fit_relevance.growing(rows, truth, counts, 0.0)
    assert only[2] == 0.0 < only[1], "what would count against is left out"


def test_what_is_fitted_is_calibrated() -> None:
    rng = np.random.default_rng(1)
    searches = []
    for place in range(300):
        rows = rng.standard_normal((20, 4))
        helps = rng.random(20) < chance(rows[:, 0] - 1.5)
        searches.append(Search("a", ("talk", "chats")[place % 2], "answered", rows, helps, 1.0))
    constants = fit_relevance.fit_relevance(searches)
    chances = np.concatenate([fit_relevance.chances_of(constants, each) for each in searches])
    assert fit_relevance.calibration_error(chances, np.concatenate([each.helps for each in searches])) < 0.02


def test_the_calibration_error_is_the_mean_distance_from_what_came_true() -> None:
    assert fit_relevance.calibration_error(np.array([0.25, 0.25, 1.0, 1.0]), np.array([0, 1, 1, 1])) == 0.125
    assert fit_relevance.reliability(np.array([1.0]), np.array([False])) == [(1.0, 0.0, 1)]


def test_relevance_grows_with_the_score_and_with_what_is_held() -> None:
    scores, best = np.array([4.0, 1.0, 2.0]), np.array([0, 2, 1])
    held = {name: np.array([0.5, 0.5, 0.5]) for name in CALIBRATED}
    for dense in (False, True):
        first, second, third = relevances(held, scores, best, dense=dense)
        assert 1 > first > second > third > 0
        assert relevances(held, scores + 5, best, dense=dense) == pytest.approx([first, second, third])
        assert relevances(held, scores / 4, best, dense=dense)[0] < first, "it stands out less"
        more = {**held, "passage_coverage": np.array([1.0, 0.5, 0.5])}
        assert relevances(more, scores, best, dense=dense)[0] > first
    assert features(held, scores, best).shape == (3, 2 + len(CALIBRATED))


def test_confidence_grows_with_what_was_found_and_what_was_ever_said() -> None:
    assert confidence([], 1.0) == 0.0
    assert confidence([0.9, 0.2], 1.0) > confidence([0.2, 0.2], 1.0) > confidence([0.2, 0.2], 0.0)
    assert confidence([0.5] * 5, 1.0) > confidence([0.5, *[0.1] * 4], 1.0)
    assert confidence([0.5], 1.0) == confidence([0.5] * 5, 1.0), "a small memory is not an unsure one"


def test_known_is_the_share_of_the_words_that_anybody_holds() -> None:
    words = BM25()
    words.add([0, 1, 2], ["My dog Rex barks.", "The dog sleeps.", "我喜欢打羽毛球。"])
    assert words.known("") == words.known("dog Rex") == words.known("What did the dog do?") == 1.0
    assert words.known("zebra") == 0.0
    assert words.known("zebra dog") < words.known("zebra Rex") < 1.0, "a rare word weighs more"
    assert words.known("羽球") == 1.0, "a pair that nobody holds does not count"
    assert 0 < words.known("羽鲸") < 1.0
