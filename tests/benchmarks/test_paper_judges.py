"""The papers' other judges, read by a scripted model, and how their agreement with labels is counted."""

from __future__ import annotations

import pytest

from benchmarks.evaluation.agreement import JUDGES, Case, agreement_of, cohens_kappa, judged, labelled_cases
from benchmarks.evaluation.judge import Comparison
from benchmarks.evaluation.paper_judges import (
    aspects,
    complete,
    entailment,
    faithful_choice,
    faithfulness,
    helpfulness,
    usefulness,
)
from secom_core.errors import BadReply, InvalidInput, ModelUnavailable
from secom_core.llm.flow import run
from secom_core.testing import Fault, ScriptedModel, ScriptedRequest

HISTORY = "Ann: I moved to Ghent in May."


def shown(model: ScriptedModel, *parts: str) -> bool:
    return all(part in request.text for request in model.requests for part in parts)


def test_faithfulness_is_a_number_for_an_answer_beside_its_conversation() -> None:
    model = ScriptedModel("It says Ghent, so does the answer. [[95]]")
    assert run(faithfulness("Where does Ann live?", "In Ghent.", HISTORY), model) == 95
    assert shown(model, HISTORY, "Where does Ann live?", "<answer>\nIn Ghent.")


def test_a_choice_is_asked_in_both_orders_and_may_be_none() -> None:
    fair = ScriptedModel({'name="A">\nGhent': "[[A]]", 'name="A">\nParis': "[[B]]"})
    assert run(faithful_choice("Where?", "Ghent", "Paris", HISTORY), fair) == Comparison(1.0, 1.0)
    assert run(faithful_choice("Where?", "Paris", "Ghent", HISTORY), fair).winner == 2
    assert run(faithful_choice("Where?", "Ghent", "Gent", HISTORY), ScriptedModel("[[None]]")).winner == 0
    by_place = run(faithful_choice("Where?", "Ghent", "Paris", HISTORY), ScriptedModel("[[A]]"))
    assert (by_place.winner, by_place.preference) == (0, 0), "one that goes by the place finds no winner"


def test_each_aspect_has_a_call_and_a_score_of_its_own() -> None:
    model = ScriptedModel({"engagingness, that": "[[10]]", "coherence, that": "[[20]]", "consistency, that": "[[30]]"})
    found = run(aspects("Hi.", context="user: Hello!", known="The user sails."), model)
    assert found == {"engagingness": 10, "coherence": 20, "consistency": 30}
    assert len(model.requests) == 3
    assert shown(model, "user: Hello!", "The user sails.", "<reply>\nHi.")


def test_the_more_helpful_memory_is_told_in_both_orders_or_a_tie() -> None:
    model = ScriptedModel({'number="1">\nnuts': "[[1]]", 'number="1">\nbikes': "[[2]]"})
    assert run(helpfulness("What shall I cook?", "nuts", "bikes"), model).winner == 1
    assert run(helpfulness("What shall I cook?", "a", "b"), ScriptedModel("[[tie]]")).winner == 0
    assert shown(model, "helps the assistant more")


@pytest.mark.parametrize("said", ["entails", "neutral", "contradicts"])
def test_a_reply_entails_the_past_contradicts_it_or_neither(said: str) -> None:
    assert run(entailment("So you live in Ghent.", HISTORY), ScriptedModel(f"Hm. [[{said.title()}]]")) == said


def test_an_answer_is_complete_or_not_and_a_memory_useful_or_not() -> None:
    assert run(complete("Who?", "Ines and Omar", "Omar and Ines."), ScriptedModel("[[yes]]")) is True
    assert run(complete("Who?", "Ines and Omar", "Omar."), ScriptedModel("[[No]]")) is False
    assert run(usefulness("Who?", "Omar came.", "Omar."), ScriptedModel("[[yes]]")) is True


@pytest.mark.parametrize("bad", ["yes", "[[maybe]]"])
def test_a_bad_judgement_is_asked_for_once_more_then_refused(bad: str) -> None:
    model = ScriptedModel([bad, "[[yes]]"])
    assert run(complete("Who?", "Omar", "Omar"), model) is True
    assert "An earlier judgement could not be used" in model.requests[1].text
    with pytest.raises(BadReply):
        run(complete("Who?", "Omar", "Omar"), ScriptedModel(bad))


# -- agreement --------------------------------------------------------------------------------------------------------


def test_kappa_of_a_worked_example() -> None:
    # Of ten, eight agree: p = 0.8. Five labels are yes, seven judgements: e = 0.5 * 0.7 + 0.5 * 0.3 = 0.5.
    # (0.8 - 0.5) / (1 - 0.5) = 0.6
    labels = [True] * 5 + [False] * 5
    found = [True] * 5 + [True] * 2 + [False] * 3
    assert cohens_kappa(labels, found) == pytest.approx(0.6)
    assert cohens_kappa(labels, labels) == 1
    assert cohens_kappa([1, 1], [1, 1]) == 1, "where nothing is left to chance"
    assert cohens_kappa([True, False], [True, True]) == 0, "one that always says yes knows nothing"
    with pytest.raises(InvalidInput, match="2 labels, 1 judgements"):
        cohens_kappa([1, 2], [1])


def test_every_judge_has_labelled_cases_of_more_than_one_label() -> None:
    by_judge = {name: [case for case in labelled_cases() if case.judge == name] for name in JUDGES}
    assert sum(map(len, by_judge.values())) == len(labelled_cases())
    assert all(len({case.label for case in cases}) > 1 for cases in by_judge.values())


@pytest.mark.parametrize("case", labelled_cases(), ids=lambda case: f"{case.judge}-{case.label}")
def test_a_judge_that_says_what_is_right_agrees_with_every_label(case: Case) -> None:
    def knowing(request: ScriptedRequest) -> str:
        if case.label in ("good", "bad"):
            return "[[90]]" if case.label == "good" else "[[10]]"
        if case.judge in ("faithful_choice", "helpfulness", "comparison"):
            first = case.inputs["first"] in request.text.partition("</answer>" if "<answer" in request.text else "2")[0]
            names = {"faithful_choice": "A B NONE", "helpfulness": "1 2 TIE", "comparison": "A D C"}[case.judge].split()
            return f"[[{names[2] if case.label == 0 else names[(case.label == 1) != first]}]]"
        if case.judge == "entailment":
            return f"[[{case.label}]]"
        words = ("correct", "incorrect") if case.judge == "correctness" else ("yes", "no")
        return f"[[{words[not case.label]}]]"

    assert judged(case, ScriptedModel(knowing)) == case.label


def test_what_cannot_be_read_counts_as_wrong_and_a_model_that_is_away_stops_the_run() -> None:
    cases = [case for case in labelled_cases() if case.judge == "complete"]
    found = [judged(case, ScriptedModel("[[yes]]" if case.label else "who knows")) for case in cases]
    agreement = agreement_of(cases, found)
    assert (agreement.cases, agreement.share, agreement.unread) == (6, 0.5, 3)
    with pytest.raises(ModelUnavailable):
        judged(cases[0], ScriptedModel(Fault(status=500)))
