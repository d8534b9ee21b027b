"""Fits the weights that ship in `secom_core.ranking.weights`, and shows what they are worth on what they never saw.

    python -m benchmarks.fit_weights --talk ../shared/data/locomo --chats ../shared/data/beam
        --embedder none|static|minilm|PATH [--vectors FILE] [--talk-counts TIMES]
        [--every N] --json OUT

One set of weights is for talk between people (LoCoMo) and chats with an assistant (BEAM) together. Each shape counts
the same however many questions it has, unless ``--talk-counts`` says otherwise. Conversations and chats are dealt
into five folds: weights are fitted on talk, on chats, and on both without a fold, and the questions of the fold are
answered with them, through the real packing under the real budgets. Talk is measured by evidence recall, chats by
`benchmarks.evaluation.coverage`. Then weights are fitted on all; these are the ones to ship. OUT holds those fitted
on both (``folds`` by conversation and chat, ``final``); ``benchmarks.retrieval --weights OUT`` and ``benchmarks.chats
--weights OUT`` measure the folds through the bank.

A question's loss is the cross-entropy between the softmax of its candidates' scores and a target (ListNet, Cao et al.,
ICML 2007, top one): an even spread over the turns that are evidence; in a chat, what share of the telling words of each
evidence message a candidate shows. It is convex and small, so Newton's method solves it: no seed, no learning rate. The
one free choice, how strongly weights are pulled to 0, is the same for all folds. What neither set holds is set by hand
(`HAND`) and not fitted.

``--vectors`` keeps vectors in a file between runs; ``--every N`` measures every Nth question, which is what takes long.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.chats import Chat, Question, chat_files, read_chat
from benchmarks.evaluation.coverage import coverage
from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.locomo import LocomoQuestion
from benchmarks.retrieval import (
    BUDGETS,
    SCOPE,
    Conversation,
    embedder_named,
    locomo_files,
    read_conversation,
    token_counter,
    versions,
)
from secom_core.bank import MemoryBank
from secom_core.context import PackTurns, render
from secom_core.memory import passages_of
from secom_core.protocols import Embedder, Vectors
from secom_core.ranking import DENSE, LEXICAL, Candidate, ScopeIndex

Array = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]
Source = Conversation | Chat
Asked = LocomoQuestion | Question

HAND: Final[Mapping[str, float]] = {"non_answer": -1.0, "item": 3.0}
"""Weights that are set by hand, as neither set holds what they are for."""

FOLDS: Final = 5
EVERYTHING: Final = 1_000_000
SHAPES: Final = ("talk", "chats")


@dataclass(frozen=True)
class Case:
    """A question with its candidates: signals of shape ``(n, s)``, and how much of the evidence each is, summing to 1.

    The target is 0 throughout where no candidate is evidence.
    """

    question: Asked
    candidates: list[Candidate]
    signals: Array
    target: Array

    @property
    def shape(self) -> str:
        return "talk" if isinstance(self.question, LocomoQuestion) else "chats"


class Kept:
    """Keeps vectors in a file, as 16-bit numbers by a hash of the text; they are written by `save`."""

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._embedder, self._file, self.name = embedder, file, embedder.name
        self._known: dict[bytes, Any] = {}
        if file.exists():
            read = np.load(file)
            keys = [key.tobytes() for key in read["keys"]]
            self._known = dict(zip(keys, read["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        keys = [hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            vectors = np.asarray(self._embedder.embed(list(new.values())), dtype=np.float16)
            self._known.update(zip(new, vectors, strict=True))
        return np.stack([self._known[key] for key in keys]).astype(np.float32)

    def save(self) -> None:
        keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(-1, 16)
        np.savez(self._file, keys=keys, vectors=np.stack(list(self._known.values())))


def embedder_of(options: argparse.Namespace) -> Embedder | None:
    """The embedder that is named, with its file of vectors where one is given."""
    embedder = embedder_named(options.embedder)
    return Kept(embedder, options.vectors) if embedder is not None and options.vectors else embedder


def sources_of(options: argparse.Namespace) -> list[Source]:
    """The conversations of ``--talk`` and the chats of ``--chats``."""
    talk: list[Source] = [read_conversation(file) for file in locomo_files(options.talk)] if options.talk else []
    return [*talk, *map(read_chat, chat_files(options.chats))] if options.chats else talk


def index_of(source: Source, embedder: Embedder | None, weights: Mapping[str, float]) -> ScopeIndex:
    """The scope as the bank would hold it, ranked by these weights."""
    index = ScopeIndex(dense=embedder is not None, weights=weights, counter=token_counter()[0])
    with MemoryBank.open(":memory:", embedder=embedder) as bank:
        for session in source.sessions:
            bank.remember(SCOPE, session, close=True)
        for session in source.sessions:
            turns = bank.turns(SCOPE, session.name)
            memories = bank.memories(SCOPE, session.name)
            passages = [passage.searched for turn in turns for passage in passages_of(turn)]
            index.add_turns(turns, embedder.embed(passages) if embedder else None)
            keys = embedder.embed([memory.key for memory in memories]) if embedder else None
            index.set_memories(session.name, 0, memories, keys)
    return index


def cases_of(source: Source, embedder: Embedder | None, names: Sequence[str]) -> list[Case]:
    """The source's questions with evidence."""
    index = index_of(source, embedder, dict.fromkeys(names, 1.0))
    cases = []
    for question in source.questions:
        if not question.evidence:
            continue
        vector = embedder.embed([question.question])[0] if embedder else None
        # All: which candidates make the cut must not hang on the weights that are yet to be fitted.
        candidates = index.search(question.question, vector, budget=EVERYTHING)
        signals = np.array([[candidate.signals[name] for name in names] for candidate in candidates])
        target = np.array([sum(shares(question, candidate)) for candidate in candidates])
        cases.append(Case(question, candidates, signals, target / max(target.sum(), 1e-9)))
    return cases


def shares(question: Asked, candidate: Candidate) -> list[float]:
    """How much of each evidence that the candidate holds it shows."""
    if isinstance(question, LocomoQuestion):
        return [1.0] if candidate.turn.id in question.evidence else []
    passage = candidate.passage
    held = {each.text for each in (candidate.turn.messages if passage is None else [passage.message])}
    shown = candidate.turn.text if passage is None else passage.text
    messages = [message for message in question.evidence if message in held]
    return [coverage(shown, question.question, question.gold, [message])[0] for message in messages]


def fit(cases: Sequence[Case], pull: float, talk_counts: float = 1.0) -> Weights:
    """The weights with the least loss, by Newton's method with halved steps where a whole one would go too far."""
    told = [case for case in cases if case.target.any()]
    weights = np.zeros(told[0].signals.shape[1])
    value, slope, curve = loss(told, weights, pull, talk_counts)
    for _ in range(50):
        step = np.linalg.solve(curve, slope)
        while (new := loss(told, weights - step, pull, talk_counts))[0] > value and np.abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
        value, slope, curve = new
        if np.abs(step).max() < 1e-7:
            break
    return weights


def loss(cases: Sequence[Case], weights: Weights, pull: float, talk_counts: float = 1.0) -> tuple[float, Array, Array]:
    """The mean loss of a question, each shape counting as much as it is to, with its gradient and Hessian."""
    size = len(weights)
    value, slope, curve = 0.0, np.zeros(size), np.zeros((size, size))
    for case, count in zip(cases, counts_of([case.shape for case in cases], {"talk": talk_counts}), strict=True):
        scores = case.signals @ weights
        scores -= scores.max()
        chances = np.exp(scores)
        chances /= chances.sum()
        mean = chances @ case.signals
        value -= count * float(case.target @ np.log(np.maximum(chances, 1e-300)))
        slope += count * (mean - case.target @ case.signals)
        curve += count * ((case.signals * chances[:, None]).T @ case.signals - np.outer(mean, mean))
    return value + pull * float(weights @ weights), slope + 2 * pull * weights, curve + 2 * pull * np.eye(size)


def counts_of(groups: Sequence[Hashable], wanted: Mapping[Any, float]) -> Array:
    """What each counts, so that a group counts what is wanted of it together, 1 unless given; scaled to sum to 1."""
    sizes = Counter(groups)
    counts = np.array([wanted.get(group, 1.0) / sizes[group] for group in groups])
    return np.asarray(counts / counts.sum())


def folds_of(sources: Iterable[Source]) -> dict[str, int]:
    """Which fold each conversation and chat is in, by name."""
    folds: dict[str, int] = {}
    for kind in (Conversation, Chat):
        names = sorted(each.name for each in sources if isinstance(each, kind))
        folds.update({name: place % FOLDS for place, name in enumerate(names)})
    return folds


def answered(case: Case, weights: Weights, budgets: Sequence[int]) -> list[float]:
    """How much of the evidence is shown under each budget, packed as the bank packs."""
    scores = case.signals @ weights
    order = np.argsort(-scores, kind="stable")[:500].tolist()
    ranked = [replace(case.candidates[place], score=float(scores[place])) for place in order]
    return [shown(case.question, ranked, budget) for budget in budgets]


def shown(question: Asked, ranked: Sequence[Candidate], budget: int) -> float:
    hits = PackTurns().pack(ranked, token_budget=budget, k=None, counter=_counter())
    if isinstance(question, LocomoQuestion):
        return evidence_recall([turn_id for hit in hits for turn_id in hit.turn_ids], question.evidence)
    return coverage(render(hits), question.question, question.gold, question.evidence)[0]


@cache
def _counter() -> Callable[[str], int]:
    return cache(token_counter()[0])


Cases = dict[str, list[Case]]  # by the name of their conversation or chat
Fits = dict[str, list[Weights]]  # without each fold, by what they were fitted on


def fits_of(cases: Cases, folds: Mapping[str, int], pull: float, talk_counts: float) -> Fits:
    """Fitted on each shape and on both, without each fold in turn."""
    shapes = {case.shape for each in cases.values() for case in each}
    wanted = {shape: {shape} for shape in SHAPES if shape in shapes} | ({"both": shapes} if len(shapes) > 1 else {})
    return {
        label: [_fit_without(cases, folds, fold, taken, pull, talk_counts) for fold in range(FOLDS)]
        for label, taken in wanted.items()
    }


def _fit_without(
    cases: Cases, folds: Mapping[str, int], fold: int, shapes: set[str], pull: float, talk_counts: float
) -> Weights:
    return fit(
        [case for name, each in cases.items() if folds[name] != fold for case in each if case.shape in shapes],
        pull,
        talk_counts,
    )


def measured(
    cases: Cases, folds: Mapping[str, int], weights: Sequence[Weights], every: int, budgets: Sequence[int]
) -> dict[str, Array]:
    """By shape, how much is shown of every nth question under each budget, with the weights of its fold."""
    rows: dict[str, list[list[float]]] = {}
    for name, each in cases.items():
        for case in each[folds[name] % every :: every]:
            rows.setdefault(case.shape, []).append(answered(case, weights[folds[name]], budgets))
    return {shape: np.array(found) for shape, found in rows.items()}


def transfer_table(found: Mapping[str, Mapping[str, Array]], budgets: Sequence[int]) -> str:
    shapes = next(iter(found.values()))
    titles = "".join(f" |{shape + f' ({len(rows)})':>{7 * len(budgets)}}" for shape, rows in shapes.items())
    head = f"{'fitted on':<12}" + "".join(f" |{''.join(f'{budget:>7}' for budget in budgets)}" for _ in shapes)
    lines = [f"{'measured on':<12}{titles}", head]
    for label, of_shape in found.items():
        cells = [" |" + "".join(f"{value:>7.3f}" for value in rows.mean(axis=0)) for rows in of_shape.values()]
        lines.append(f"{label:<12}{''.join(cells)}")
    return "\n".join(lines)


def weight_table(names: Sequence[str], fits: Fits, final: Weights) -> str:
    """The mean over the folds by what was fitted on, and the final weights with their spread over the folds of it."""
    columns = {label: np.mean(each, axis=0) for label, each in fits.items()}
    spread = np.std(list(fits.values())[-1], axis=0)
    head = f"{'weight':<22}" + "".join(f"{label:>9}" for label in (*columns, "final", "±"))
    return "\n".join(
        [head]
        + [
            f"{name:<22}" + "".join(f"{each[n]:>9.3f}" for each in (*columns.values(), final, spread))
            for n, name in enumerate(names)
        ]
    )


def by_name(names: Sequence[str], weights: Weights) -> dict[str, float]:
    fitted = {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}
    return {**fitted, **HAND}


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """What the fits of this package take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talk", type=Path, help="LoCoMo conversations, a folder or a file")
    parser.add_argument("--chats", type=Path, nargs="+", action="extend", default=[], help="folders or files of chats")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--vectors", type=Path, help="a file (.npz) that keeps vectors between runs")
    parser.add_argument("--json", type=Path)
    return parser


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--pull", type=float, default=1e-3, help="how strongly weights are pulled to 0")
    parser.add_argument("--talk-counts", type=float, default=1.0, metavar="TIMES", help="what talk counts beside chats")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="measure every Nth question")
    options = parser.parse_args()
    sources, embedder = sources_of(options), embedder_of(options)
    if not sources:
        parser.error("nothing to fit on: give --talk, --chats or both")
    names = [name for name in (DENSE if embedder else LEXICAL) if name not in HAND]
    cases = {source.name: cases_of(source, embedder, names) for source in sources}
    if isinstance(embedder, Kept):
        embedder.save()
    folds = folds_of(sources)
    fits = fits_of(cases, folds, options.pull, options.talk_counts)
    found = {label: measured(cases, folds, each, options.every, options.budgets) for label, each in fits.items()}
    final = fit([case for each in cases.values() for case in each], options.pull, options.talk_counts)
    print(f"five folds over conversations and chats; tokens: {token_counter()[1]}; embedder: {options.embedder}")
    print(transfer_table(found, options.budgets))
    print(weight_table(names, fits, final))
    print("final, fitted on all:", json.dumps(by_name(names, final)))
    if options.json:
        together = list(fits.values())[-1]
        result: dict[str, Any] = {
            "embedder": options.embedder,
            "pull": options.pull,
            "talk_counts": options.talk_counts,
            "split": "five folds over conversations and chats",
            "every": options.every,
            "transfer": {label: _rounded(of_shape, options.budgets) for label, of_shape in found.items()},
            "folds": {name: by_name(names, together[folds[name]]) for name in cases},
            "final": by_name(names, final),
            "token_counter": token_counter()[1],
            "seed": None,
            "versions": versions(),
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _rounded(found: Mapping[str, Array], budgets: Sequence[int]) -> dict[str, dict[str, float]]:
    means = {shape: rows.mean(axis=0).tolist() for shape, rows in found.items()}
    return {
        shape: {str(budget): round(value, 4) for budget, value in zip(budgets, row, strict=True)}
        for shape, row in means.items()
    }


if __name__ == "__main__":
    main()
