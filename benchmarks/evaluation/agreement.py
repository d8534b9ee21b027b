"""How far a judge agrees with labels: every judge on a small set written by us, ``judge_labels.json`` beside this.

Judges differ more than memories do: the same answers can score 91 under one prompt and 35 under another. So a table
that a model has judged is read beside the agreement of that model, under that prompt, with cases whose answer is plain.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from secom_core.errors import BadReply, InvalidInput
from secom_core.llm.flow import ChatModel, Procedure, run

from . import judge, paper_judges

__all__ = ["JUDGES", "Agreement", "Case", "agreement_of", "cohens_kappa", "judged", "labelled_cases"]

_CASES: Final = Path(__file__).with_name("judge_labels.json")
_MIDDLE: Final = 50


@dataclass(frozen=True, slots=True)
class Case:
    """One case for one judge.

    Args:
        judge: one of `JUDGES`.
        label: what is right: ``good`` or ``bad`` of a score, 1, 2 or 0 of a choice, yes or no, or a kind of entailment.
        inputs: what the judge is given, by the names of its arguments.
    """

    judge: str
    label: str | int | bool
    inputs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with the labels.

    Args:
        cases: how many there were.
        share: the share that it judged as labelled; what could not be read counts as wrong.
        kappa: Cohen's kappa, the agreement beyond that of chance: 1 is all, 0 is chance.
        unread: how many judgements could not be read.
    """

    cases: int
    share: float
    kappa: float
    unread: int


def labelled_cases() -> list[Case]:
    """The cases, in the order of the file."""
    return [Case(**record) for record in json.loads(_CASES.read_text(encoding="utf-8"))]


def cohens_kappa(labels: Sequence[Any], found: Sequence[Any]) -> float:
    """The agreement of two judges beyond that of chance (Cohen, 1960): ``(p - e) / (1 - e)``.

    ``p`` is the share on which they agree, ``e`` the share on which two would that draw by their own frequencies. 1
    where both always say the same one thing.

    Raises:
        InvalidInput: for no cases, or another number of judgements than labels.
    """
    if not labels or len(labels) != len(found):
        raise InvalidInput(f"kappa needs a judgement for each label, got {len(labels)} labels, {len(found)} judgements")
    total = len(labels)
    observed = sum(mine == yours for mine, yours in zip(labels, found, strict=True)) / total
    ours, theirs = Counter(labels), Counter(found)
    expected = sum(ours[value] * theirs[value] for value in ours) / total**2
    return 1.0 if expected == 1 else (observed - expected) / (1 - expected)


def _scored(procedure: Procedure[int]) -> Procedure[str]:
    return "good" if (yield from procedure) > _MIDDLE else "bad"


def _aspect(name: str) -> Callable[..., Procedure[str]]:
    def scored(**inputs: str) -> Procedure[str]:
        return "good" if (yield from paper_judges.aspects(**inputs))[name] > _MIDDLE else "bad"

    return scored


def _won(procedure: Procedure[judge.Comparison]) -> Procedure[int]:
    return (yield from procedure).winner


JUDGES: Final[Mapping[str, Callable[..., Procedure[Any]]]] = {
    "faithfulness": lambda **inputs: _scored(paper_judges.faithfulness(**inputs)),
    "faithful_choice": lambda **inputs: _won(paper_judges.faithful_choice(**inputs)),
    **{name: _aspect(name) for name in paper_judges.ASPECTS},
    "helpfulness": lambda **inputs: _won(paper_judges.helpfulness(**inputs)),
    "entailment": paper_judges.entailment,
    "complete": paper_judges.complete,
    "usefulness": paper_judges.usefulness,
    "score": lambda **inputs: _scored(judge.score(**inputs)),
    "comparison": lambda **inputs: _won(judge.comparison(**inputs)),
    "correctness": judge.correctness,
}
"""Every judge by its name, as a procedure that gives what a label says."""


def judged(case: Case, model: ChatModel) -> str | int | bool | None:
    """What a model says of a case; None where it cannot be read.

    Raises:
        ModelUnavailable: the model gave no answer.
    """
    try:
        return run(JUDGES[case.judge](**case.inputs), model)  # type: ignore[no-any-return]
    except BadReply:
        return None


def agreement_of(cases: Sequence[Case], found: Sequence[str | int | bool | None]) -> Agreement:
    """How far judgements agree with the labels of cases.

    Raises:
        InvalidInput: as `cohens_kappa` does.
    """
    labels = [case.label for case in cases]
    kappa = cohens_kappa(labels, found)
    right = sum(mine == yours for mine, yours in zip(labels, found, strict=True))
    return Agreement(len(labels), right / len(labels), kappa, sum(each is None for each in found))
