"""What a reranker between search and packing brings: evidence inside a budget with one and without, on both shapes.

    python -m benchmarks.reranking --locomo PATH … --chats PATH … [--judge minilm|PATH] [--first 10 30] [--weight 0.5 1]
        [--weights FILE] [--budgets 1000 2000 4000] [--questions N] [--json OUT]

The judge is the cosine of an embedding model (``minilm`` of the dev group unless given), over a bank that has no
embedder: no weights of a cross-encoder are to be had where these figures were made. A cross-encoder is given by
``--cross-encoder FOLDER`` in its place. LoCoMo is measured as in `benchmarks.retrieval` (evidence recall), chats as in
`benchmarks.chats` (coverage), each with the reranker for every ``--first`` and ``--weight``, and without.

``--weights`` takes the ranking's weights of each conversation from a file of `benchmarks.fit_weights`, so that none is
measured with weights that it helped to fit. ``--questions`` asks so many of each conversation, spread evenly.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeVar

from benchmarks import chats, retrieval
from benchmarks.evaluation.coverage import coverage
from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.retrieval import embedder_named, token_counter, versions, weights_for
from secom_core.bank import MemoryBank
from secom_core.conversation import Session
from secom_core.memory import Recall
from secom_core.models import SentenceTransformerReranker
from secom_core.protocols import Embedder, Reranker
from secom_core.ranking.reranking import Reranking

BUDGETS = (500, 1000, 2000, 4000)
OFF = "off"
T = TypeVar("T")


@dataclass(frozen=True)
class Cosine:
    """The cosine of the query and each text, as a reranker."""

    embedder: Embedder

    def __call__(self, query: str, texts: Sequence[str], /) -> list[float]:
        embed_queries: Any = getattr(self.embedder, "embed_queries", self.embedder.embed)
        [asked] = embed_queries([query])
        return [float(score) for score in self.embedder.embed(list(texts)) @ asked]


@dataclass(frozen=True)
class Row:
    """One question under one budget: the share of its evidence that came back, and what the recall took."""

    budget: int
    found: float
    recall: Recall


@dataclass(frozen=True)
class Talk:
    """A conversation and what is asked of it: each question gives a recall and the share of evidence in it."""

    name: str
    sessions: Sequence[Session]
    questions: Sequence[Callable[[MemoryBank, int], tuple[float, Recall]]]


def locomo(file: Path, most: int | None) -> Talk:
    read = retrieval.read_conversation(file)

    def question(asked: Any) -> Callable[[MemoryBank, int], tuple[float, Recall]]:
        def ask(bank: MemoryBank, budget: int) -> tuple[float, Recall]:
            recall = bank.recall(retrieval.SCOPE, asked.question, token_budget=budget)
            found = [turn.id for turn in recall.turns]
            return evidence_recall(found, asked.evidence), recall

        return ask

    return Talk(read.name, read.sessions, [question(each) for each in spread(read.questions, most)])


def chat(file: Path, most: int | None) -> Talk:
    read = chats.read_chat(file)

    def question(asked: chats.Question) -> Callable[[MemoryBank, int], tuple[float, Recall]]:
        def ask(bank: MemoryBank, budget: int) -> tuple[float, Recall]:
            recall = chats.recall(bank, asked, budget)
            return coverage(recall.text, asked.question, asked.gold, asked.evidence)[0], recall

        return ask

    scored = [each for each in read.questions if each.evidence]
    return Talk(read.name, read.sessions, [question(each) for each in spread(scored, most)])


def spread(items: Sequence[T], most: int | None) -> Sequence[T]:
    """So many of them at most, at even distances."""
    if most is None or len(items) <= most:
        return items
    return [items[place * len(items) // most] for place in range(most)]


def measure(
    talks: Sequence[Talk], scope: tuple[str, str], rerankers: Mapping[str, Reranking | None], options: Any
) -> dict[str, list[Row]]:
    """Every question under every budget, by reranker; each talk is remembered once for each."""
    rows: dict[str, list[Row]] = {name: [] for name in rerankers}
    counter, _ = token_counter()
    for talk, (name, reranker) in product(talks, rerankers.items()):
        weights = weights_for(options.weights, talk.name)
        with MemoryBank.open(reranker=reranker, token_counter=counter, weights=weights) as bank:
            for session in talk.sessions:
                bank.remember(scope, session, close=True)
            for ask, budget in product(talk.questions, options.budgets):
                found, recall = ask(bank, budget)
                # What was shown is not needed any more.
                rows[name].append(Row(budget, found, replace(recall, hits=(), text="")))
    return rows


def summary(rows: Sequence[Row], budgets: Sequence[int]) -> dict[str, Any]:
    works = [row.recall.work for row in rows]
    return {
        "evidence": {
            str(budget): round(fmean(row.found for row in rows if row.budget == budget), 4) for budget in budgets
        },
        "questions": len(rows) // len(budgets),
        "rerank_texts": round(fmean(work.rerank_texts for work in works), 1),
        "rerank_tokens": round(fmean(work.rerank_tokens for work in works), 1),
        "milliseconds": round(median(work.milliseconds for work in works), 2),
        "milliseconds_rerank": round(median(work.stages.get("rerank", 0.0) for work in works), 2),
    }


def judge_of(options: argparse.Namespace) -> tuple[Reranker, str]:
    """The reranker, and what it is."""
    if options.cross_encoder:
        return SentenceTransformerReranker(options.cross_encoder), f"the cross-encoder {options.cross_encoder.name}"
    embedder = embedder_named(options.judge)
    if embedder is None:
        raise SystemExit("a judge is an embedding model, minilm or a folder, got none")
    return Cosine(embedder), f"the cosine of {embedder.name}, texts embedded before are kept"


def files(paths: Sequence[Path]) -> list[Path]:
    return [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, nargs="*", default=[])
    parser.add_argument("--chats", type=Path, nargs="*", default=[])
    parser.add_argument("--judge", default="minilm")
    parser.add_argument("--cross-encoder", type=Path)
    parser.add_argument("--first", type=int, nargs="+", default=[30])
    parser.add_argument("--weight", type=float, nargs="+", default=[0.5])
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--questions", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    judge, judged_by = judge_of(options)
    rerankers: dict[str, Reranking | None] = {OFF: None}
    for first, weight in product(options.first, options.weight):
        rerankers[f"first {first}, weight {weight:g}"] = Reranking(judge, first=first, weight=weight, timeout=600)
    sets = {
        "LoCoMo": (retrieval.SCOPE, [locomo(file, options.questions) for file in files(options.locomo)]),
        "chats": (chats.SCOPE, [chat(file, options.questions) for file in files(options.chats)]),
    }
    results: dict[str, Any] = {}
    print(f"judge: {judged_by}; tokens: {token_counter()[1]}")
    for title, (scope, talks) in sets.items():
        if not talks:
            continue
        rows = measure(talks, scope, rerankers, options)
        found = {name: summary(each, options.budgets) for name, each in rows.items()}
        results[title] = {"conversations": [talk.name for talk in talks], "rerankers": found}
        print(
            f"{title + ', evidence inside tokens':<34}" + "".join(f"{each:>8}" for each in options.budgets) + "      ms"
        )
        for name, each in found.items():
            cells = "".join(f"{value:8.3f}" for value in each["evidence"].values())
            print(f"{name:<34}{cells}{each['milliseconds']:8.1f}")
    if options.json:
        settings = {
            "judge": judged_by,
            "embedder": None,
            "weights": options.weights.name if options.weights else "as shipped",
            "questions_of_each": options.questions or "all",
            "token_counter": token_counter()[1],
            "seed": None,
            "versions": versions(),
        }
        options.json.write_text(json.dumps({"results": results, **settings}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
