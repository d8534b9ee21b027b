"""How far `Hit.relevance` and `Recall.confidence` are to be trusted, as shipped, through the bank.

    python -m benchmarks.calibration --talk ../shared/data/locomo --chats ../shared/data/beam
        --embedder none|static|minilm|PATH [--vectors FILE] [--budget 2000] [--json OUT]

Every question is asked with `MemoryBank.recall`. A hit helps where it shows a turn that is evidence, or in a chat half
of the telling words of an evidence message; what was not found but stands beside is left out. A reliability table says
for each tenth of the chances how many hits helped, and their expected calibration error.

Confidence is to tell questions that are answered from ``unsaid``, ``strange`` and ``adversarial`` ones
(`benchmarks.fit_relevance`), as the area under the ROC curve: 1 is perfect, 0.5 chance. Beside it stand the best BM25
score of a message and, with an embedder, the best cosine.

The constants that ship were fitted on these sets: `benchmarks.fit_relevance` has figures that are held out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.chats import Question
from benchmarks.evaluation.coverage import coverage
from benchmarks.fit_relevance import (
    HALF,
    Scored,
    areas,
    calibration_error,
    questions_of,
    reliability_table,
    shape_of,
)
from benchmarks.fit_weights import SHAPES, Asked, Kept, Source, argument_parser, embedder_of, sources_of
from benchmarks.retrieval import SCOPE, token_counter, versions
from secom_core.bank import MemoryBank
from secom_core.indexes.bm25 import BM25
from secom_core.memory import Hit
from secom_core.protocols import Embedder

OURS: Final = "confidence"


@dataclass(frozen=True)
class Told:
    """A recall: what it said of its hits, whether they helped, and how sure each way of telling was.

    Args:
        shape: talk or chats.
        kind: one of `benchmarks.fit_relevance.KINDS`.
        hits: the relevance of each hit that was found, and whether it helped; the most relevant first.
        sure: by the name of the way.
    """

    shape: str
    kind: str
    hits: list[tuple[float, bool]]
    sure: dict[str, float]


def told_of(source: Source, asked: Iterable[tuple[str, Asked]], embedder: Embedder | None, budget: int) -> list[Told]:
    baselines = {"best BM25": best_bm25(source)}
    if embedder is not None:
        baselines["best cosine"] = best_cosine(source, embedder)
    told = []
    with MemoryBank.open(":memory:", embedder=embedder, token_counter=token_counter()[0]) as bank:
        for session in source.sessions:
            bank.remember(SCOPE, session, close=True)
        for kind, question in asked:
            recall = bank.recall(SCOPE, question.question, token_budget=budget, only_relevant=True)
            hits = [(hit.relevance, kind == "answered" and helps(question, hit)) for hit in recall.hits]
            sure = {OURS: recall.confidence, **{name: best(question.question) for name, best in baselines.items()}}
            told.append(Told(shape_of(source), kind, sorted(hits, key=lambda hit: -hit[0]), sure))
    return told


def helps(question: Asked, hit: Hit) -> bool:
    """Whether what is shown of a memory is evidence."""
    if not isinstance(question, Question):
        return not set(question.evidence).isdisjoint(hit.turn_ids)
    shares = (coverage(hit.text, question.question, question.gold, [message])[0] for message in question.evidence)
    return max(shares, default=0.0) >= HALF


def _lines(source: Source) -> list[str]:
    return [message.line for session in source.sessions for turn in session.turns for message in turn.messages]


def best_bm25(source: Source) -> Callable[[str], float]:
    lines, words = _lines(source), BM25()
    words.add(range(len(lines)), lines)
    return lambda query: float(words.scores(query)[1].max(initial=0.0))


def best_cosine(source: Source, embedder: Embedder) -> Callable[[str], float]:
    vectors = embedder.embed(_lines(source))
    vectors = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12)

    def best(query: str) -> float:
        vector = embedder.embed([query])[0]
        return float((vectors @ vector).max() / (np.linalg.norm(vector) + 1e-12))

    return best


def relevance_report(told: Sequence[Told], shape: str) -> tuple[dict[str, float], str]:
    """The calibration error of all hits and of the most relevant of each recall, and the table of all."""
    mine = [each for each in told if each.shape == shape and each.kind in ("answered", "unsaid")]
    found = {
        "all": np.array([hit for each in mine for hit in each.hits]),
        "first": np.array([hit for each in mine for hit in each.hits[:1]]),
    }
    error = {label: round(calibration_error(hits[:, 0], hits[:, 1]), 4) for label, hits in found.items()}
    return error, reliability_table(found["all"][:, 0], found["all"][:, 1])


def confidence_areas(told: Sequence[Told]) -> dict[str, dict[str, float]]:
    scored: dict[str, list[Scored]] = {}
    for each in told:
        for name, sure in each.sure.items():
            scored.setdefault(name, []).append((each.shape, each.kind, sure))
    return {name: areas(rows) for name, rows in scored.items()}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--budget", type=int, default=2000)
    options = parser.parse_args()
    sources, embedder = sources_of(options), embedder_of(options)
    asked = questions_of(options, sources)
    told = [each for source in sources for each in told_of(source, asked[source.name], embedder, options.budget)]
    if isinstance(embedder, Kept):
        embedder.save()
    print(f"as shipped; embedder: {options.embedder}; {options.budget} tokens; questions: {len(told)}")
    result: dict[str, Any] = {"embedder": options.embedder, "budget": options.budget, "calibration_error": {}}
    for shape in SHAPES:
        if any(each.shape == shape and each.hits for each in told):
            error, table = relevance_report(told, shape)
            result["calibration_error"][shape] = error
            print(f"{shape}: expected calibration error {error['all']:.4f}; of the best hit {error['first']:.4f}")
            print(table)
    result["confidence_area"] = confidence_areas(told)
    titles = next(iter(result["confidence_area"].values()))
    print("area under the ROC curve, the answered against:")
    print(f"{'':<14}" + "".join(f"{title:>26}" for title in titles))
    for name, values in result["confidence_area"].items():
        print(f"{name:<14}" + "".join(f"{value:>26.3f}" for value in values.values()))
    if options.json:
        result |= {"token_counter": token_counter()[1], "seed": None, "versions": versions()}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
