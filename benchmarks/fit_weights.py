"""Fits the weights that ship in `secom_core.ranking.weights`, and shows what they are worth on what they never saw.

    python -m benchmarks.fit_weights --data ../shared/data/locomo --embedder none|minilm|PATH --json OUT

Every conversation is left out once: weights are fitted on the others, and its questions are answered with them, through
the real packing under the real budgets. Then weights are fitted on all; these are the ones to ship. OUT holds both
(``folds`` by conversation, ``final``); ``benchmarks.retrieval --weights OUT`` measures the folds through the bank.

A question's loss is the cross-entropy between the softmax of its candidates' scores and an even spread over its
evidence (ListNet, Cao et al., ICML 2007, top one). It is convex and small, so Newton's method solves it: no seed, no
learning rate. The one free choice, how strongly weights are pulled to 0, is the same for all folds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.locomo import LocomoQuestion
from benchmarks.retrieval import (
    BUDGETS,
    CATEGORIES,
    SCOPE,
    Conversation,
    embedder_named,
    locomo_files,
    read_conversation,
    token_counter,
    versions,
)
from secom_core.bank import MemoryBank
from secom_core.context import PackTurns
from secom_core.protocols import Embedder
from secom_core.ranking import DENSE, LEXICAL, Candidate, ScopeIndex

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A question with its candidates: signals of shape ``(n, s)``, and the share of the evidence each turn is."""

    question: LocomoQuestion
    candidates: list[Candidate]
    signals: Array
    target: Array


def index_of(conversation: Conversation, embedder: Embedder | None, names: Sequence[str]) -> ScopeIndex:
    """The scope as the bank would hold it, ranked by all ``names`` alike."""
    index = ScopeIndex(dense=embedder is not None, weights=dict.fromkeys(names, 1.0), counter=token_counter()[0])
    with MemoryBank.open(":memory:", embedder=embedder) as bank:
        for session in conversation.sessions:
            bank.remember(SCOPE, session, close=True)
        for session in conversation.sessions:
            turns = bank.turns(SCOPE, session.name)
            memories = bank.memories(SCOPE, session.name)
            index.add_turns(turns, embedder.embed([turn.text for turn in turns]) if embedder else None)
            keys = embedder.embed([memory.key for memory in memories]) if embedder else None
            index.set_memories(session.name, 0, memories, keys)
    return index


def cases_of(conversation: Conversation, embedder: Embedder | None, names: Sequence[str]) -> list[Case]:
    index = index_of(conversation, embedder, names)
    cases = []
    for question in conversation.questions:
        vector = embedder.embed([question.question])[0] if embedder else None
        # No limit: which candidates make the cut must not hang on the weights that are yet to be fitted.
        candidates = index.search(question.question, vector, limit=2000)
        signals = np.array([[candidate.signals[name] for name in names] for candidate in candidates])
        target = np.array([float(candidate.turn.id in question.evidence) for candidate in candidates])
        cases.append(Case(question, candidates, signals, target / max(target.sum(), 1.0)))
    return cases


def fit(cases: Sequence[Case], pull: float) -> Array:
    """The weights with the least loss, by Newton's method with halved steps where a whole one would go too far."""
    told = [case for case in cases if case.target.any()]
    weights = np.zeros(told[0].signals.shape[1])
    value, slope, curve = loss(told, weights, pull)
    for _ in range(50):
        step = np.linalg.solve(curve, slope)
        while (new := loss(told, weights - step, pull))[0] > value and np.abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
        value, slope, curve = new
        if np.abs(step).max() < 1e-7:
            break
    return weights


def loss(cases: Sequence[Case], weights: Array, pull: float) -> tuple[float, Array, Array]:
    """The mean loss of a question, with its gradient and Hessian."""
    size = len(weights)
    value, slope, curve = 0.0, np.zeros(size), np.zeros((size, size))
    for case in cases:
        scores = case.signals @ weights
        scores -= scores.max()
        chances = np.exp(scores)
        chances /= chances.sum()
        mean = chances @ case.signals
        value -= float(case.target @ np.log(np.maximum(chances, 1e-300)))
        slope += mean - case.target @ case.signals
        curve += (case.signals * chances[:, None]).T @ case.signals - np.outer(mean, mean)
    count = len(cases)
    pulled = value / count + pull * float(weights @ weights)
    return pulled, slope / count + 2 * pull * weights, curve / count + 2 * pull * np.eye(size)


def answered(case: Case, weights: Array, budget: int) -> float:
    """The evidence recall of the case, packed as the bank packs."""
    scores = case.signals @ weights
    order = np.argsort(-scores, kind="stable")[:400]
    ranked = [replace(case.candidates[place], score=float(scores[place])) for place in order.tolist()]
    hits = PackTurns().pack(ranked, token_budget=budget, k=None, counter=token_counter()[0])
    return evidence_recall([turn_id for hit in hits for turn_id in hit.turn_ids], case.question.evidence)


def measured(cases: Sequence[Case], weights: Array, budgets: Sequence[int]) -> Array:
    """Recall by question and budget."""
    return np.array([[answered(case, weights, budget) for budget in budgets] for case in cases])


def by_name(names: Sequence[str], weights: Array) -> dict[str, float]:
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def fold_table(names: Sequence[str], folds: dict[str, Array], recalls: dict[str, Array], budgets: Sequence[int]) -> str:
    head = f"{'left out':<12}{'questions':>10}" + "".join(f"{budget:>8}" for budget in budgets)
    lines = [head]
    for name, recall in recalls.items():
        lines.append(f"{name:<12}{len(recall):>10}" + "".join(f"{value:>8.3f}" for value in recall.mean(axis=0)))
    every = np.concatenate(list(recalls.values()))
    lines.append(f"{'all':<12}{len(every):>10}" + "".join(f"{value:>8.3f}" for value in every.mean(axis=0)))
    lines += ["", f"{'weight':<18}" + "".join(f"{name:>9}" for name in folds)]
    lines += [
        f"{name:<18}" + "".join(f"{weights[place]:>9.3f}" for weights in folds.values())
        for place, name in enumerate(names)
    ]
    return "\n".join(lines)


def category_table(cases: dict[str, list[Case]], recalls: dict[str, Array], budgets: Sequence[int]) -> str:
    kinds = np.array([case.question.category for each in cases.values() for case in each])
    every = np.concatenate(list(recalls.values()))
    return "\n".join(
        f"{name:<22}" + "".join(f"{value:>8.3f}" for value in every[kinds == category].mean(axis=0))
        for category, name in CATEGORIES.items()
        if (kinds == category).any()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--pull", type=float, default=1e-3, help="how strongly weights are pulled to 0")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    embedder = embedder_named(options.embedder)
    names = list(DENSE if embedder else LEXICAL)
    cases = {
        conversation.name: cases_of(conversation, embedder, names)
        for conversation in map(read_conversation, locomo_files(options.data))
    }
    folds, recalls = {}, {}
    for name in cases:
        folds[name] = fit([case for other, each in cases.items() if other != name for case in each], options.pull)
        recalls[name] = measured(cases[name], folds[name], options.budgets)
    final = fit([case for each in cases.values() for case in each], options.pull)
    print(f"fitted on all conversations but the one left out; tokens: {token_counter()[1]}; {options.embedder}")
    print(fold_table(names, folds, recalls, options.budgets))
    print(category_table(cases, recalls, options.budgets))
    print("final, fitted on all:", json.dumps(by_name(names, final)))
    if options.json:
        write(options.json, options, names, folds, recalls, final)


def write(
    path: Path,
    options: argparse.Namespace,
    names: Sequence[str],
    folds: dict[str, Array],
    recalls: dict[str, Array],
    final: Array,
) -> None:
    every = np.concatenate(list(recalls.values())).mean(axis=0)
    result: dict[str, Any] = {
        "embedder": options.embedder,
        "pull": options.pull,
        "split": "each conversation left out once",
        "recall": {str(budget): round(float(value), 4) for budget, value in zip(options.budgets, every, strict=True)},
        "folds": {name: by_name(names, weights) for name, weights in folds.items()},
        "final": by_name(names, final),
        "token_counter": token_counter()[1],
        "seed": None,
        "versions": versions(),
    }
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
