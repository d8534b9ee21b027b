"""What is there to learn from what answers cite? On LoCoMo, against the weights that ship, fitted elsewhere.

    python -m benchmarks.learning --data ../shared/data/locomo --embedder none static
        --json benchmarks/results/learning.json --picture benchmarks/results/learning.svg

No language model is asked: what an answer would cite is given by the evidence labels, among what was shown and nothing
else. Each conversation is the stream of one user, in an order drawn by the seed: a question is answered, a block of
``--shown`` tokens is packed, each numbered memory of the block that shows a turn of the evidence is cited, and that
teaches for the questions to come. The base are the weights that `benchmarks.fit_weights` fits without the conversation.
Gains over it are means over questions and ``--seeds`` orders, with standard errors over questions. What is tried:

- *weights*: the base, moved by Newton's method to what was cited among what was shown (ListNet, Cao et al., ICML 2007),
  with a pull back to the base.
- *cited before*: three signals more, in how many answers a turn was cited, in how many it was shown and not, and how
  like the question is to the most alike of those whose answers cited it; what they count for is fitted on the streams
  of the other conversations.
- *weights told all*: fitted on all labels of the very conversation. No weights could do much better, so the rest is not
  in the signals.

Citers: one who is right; some whose marks are flipped (what was cited is not, and what was not is); one who cites what
the base ranks best of what is wrong, and one who cites anything wrong.

With an embedder, the paper's reranker (RMM, section 6) too, over the best 20 turns by vector: each conversation is left
out once, the others teach for three passes. And what it shows while it learns, drawn as in the paper's training and not
drawn, by quarters of one stream of all questions.

With three seeds it takes five minutes of one core without an embedder, and seven with the static one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.fit_weights import Case, cases_of, fit
from benchmarks.retrieval import embedder_named, locomo_files, read_conversation, token_counter, versions
from secom_core.citations import Reranker, RerankerOptions
from secom_core.context import PackTurns
from secom_core.protocols import Embedder
from secom_core.ranking import Candidate
from secom_core.text.terms import terms

Array = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]
T = TypeVar("T")

RESULTS: Final = Path(__file__).parent / "results"
MEASURES: Final = ("recall@5", "recall, 500 tokens", "recall, 1000 tokens")


# -- a question -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question with its candidates, and what it takes to pack them quickly.

    Args:
        case: the question, with signals of shape ``(n, s)``.
        vector: the question's, where there is an embedder.
        tokens: how long each turn is.
        memory: the number of its memory, in time order.
        evidence: whether it is of the evidence.
        found: what was measured, by weights: whoever learns nothing ends with those that he began with.
    """

    case: Case
    vector: Array | None
    tokens: Places
    memory: Places
    evidence: Marks
    found: dict[bytes, list[float]] = field(default_factory=dict)

    def besides(self, columns: Array) -> Asked:
        """With further signals, shape ``(n, k)``."""
        return replace(self, case=replace(self.case, signals=np.hstack([self.case.signals, columns])), found={})

    def measures(self, weights: Array) -> list[float]:
        key = weights.tobytes()
        if key not in self.found:
            self.found[key] = measures_of(ranked(self.case, weights), self.case.question.evidence)
        return self.found[key]

    def likeness(self, other: Asked) -> float:
        """How alike two questions are, from 0 to 1: the cosine of their vectors, or the share of their words."""
        if self.vector is not None and other.vector is not None:
            return float(self.vector @ other.vector)
        mine, others = words_of(self.case.question.question), words_of(other.case.question.question)
        return len(mine & others) / max(len(mine | others), 1)


@cache
def words_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def asked(case: Case, embedder: Embedder | None = None) -> Asked:
    memories = {each.memory.id: each.memory for each in case.candidates}
    oldest = datetime.min.replace(tzinfo=timezone.utc)
    in_time = sorted(memories.values(), key=lambda m: (m.turns[0].at or oldest, m.session, m.turns[0].index))
    number = {memory.id: place for place, memory in enumerate(in_time)}
    return Asked(
        case,
        None if embedder is None else np.asarray(embedder.embed([case.question.question])[0], dtype=np.float64),
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


# -- what an answer is shown ------------------------------------------------------------------------------------------

THRIFT, BLOCK, HEADING, LINE = 0.5, 24, 9, 1
"""`secom_core.context.packing.PackTurns`, with the tokens of a block's frame, of a memory's heading and of a line."""


def packed(each: Asked, weights: Array, budget: int) -> Places:
    """The places of the candidates shown, by memory in time order: by the bank's rule, headings estimated."""
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
    """What is shown: the turns with their signals, the place of each turn's memory, which memories show evidence."""

    turns: tuple[str, ...]
    signals: Array
    memory: npt.NDArray[np.intp]
    true: Marks

    def best(self, weights: Array) -> Array:
        """Each memory's best score; further signals than the weights count for nothing."""
        found = np.full(len(self.true), -np.inf)
        np.maximum.at(found, self.memory, self.signals[:, : len(weights)] @ weights)
        return found


def block_of(each: Asked, weights: Array, budget: int) -> Block:
    places = packed(each, weights, budget)
    _, memory = np.unique(each.memory[places], return_inverse=True)
    true = np.bincount(memory, weights=each.evidence[places]) > 0
    turns = tuple(each.case.candidates[place].turn.id for place in places.tolist())
    return Block(turns, each.case.signals[places], memory, true)


# -- who cites --------------------------------------------------------------------------------------------------------

Citer = Callable[[Array, Marks, np.random.Generator], Marks]
"""From the scores of the memories shown in the base ranking, and whether each shows evidence: whether it is cited."""


def honest(scores: Array, true: Marks, random: np.random.Generator) -> Marks:
    return true


def flipped(share: float) -> Citer:
    return lambda scores, true, random: np.asarray(true ^ (random.random(len(true)) < share))


def wrong(pick: Callable[[Array, np.random.Generator], int]) -> Citer:
    """Cites one memory without evidence, by the base's scores."""

    def cite(scores: Array, true: Marks, random: np.random.Generator) -> Marks:
        cited, false = np.zeros(len(true), dtype=bool), np.flatnonzero(~true)
        if len(false):
            cited[false[pick(scores[false], random)]] = True
        return cited

    return cite


CITERS: Final[Mapping[str, Citer]] = {
    "right": honest,
    "10% flipped": flipped(0.1),
    "30% flipped": flipped(0.3),
    "50% flipped": flipped(0.5),
    "the best-ranked wrong one": wrong(lambda scores, random: int(np.argmax(scores))),
    "any wrong one": wrong(lambda scores, random: int(random.integers(len(scores)))),
}


# -- who learns -------------------------------------------------------------------------------------------------------


class Learner(Protocol):
    """Ranks a question, and learns from what its answer cites."""

    def ranks(self, each: Asked) -> tuple[Asked, Array]:
        """The question with the signals that count, and their weights."""
        ...

    def learn(self, each: Asked, block: Block, cited: Marks) -> None:
        """Take in which memories of the block were cited."""
        ...


class Weights:
    """The base, moved to what was cited among what was shown.

    Args:
        base: the weights to begin with.
        pull: how strongly they are pulled back there, in answers' worth of curvature.
    """

    def __init__(self, base: Array, pull: float = 10.0) -> None:
        self._base, self._pull, self.now = base, pull, base
        self._curvature, self._wanted = np.zeros((len(base), len(base))), np.zeros(len(base))

    def ranks(self, each: Asked) -> tuple[Asked, Array]:
        return each, self.now

    def learn(self, each: Asked, block: Block, cited: Marks) -> None:
        """Add the loss's curvature and slope, as this answer sees them, to the sums, and take their minimum.

        A memory is cited for one of its turns or another, so that its chance is the sum of theirs.
        """
        if cited.all() or not cited.any():
            return
        rows = np.clip(block.signals, -12, 12)
        chances = np.exp(rows @ self.now - (rows @ self.now).max())
        chances /= chances.sum()
        told = np.where(cited, 1 / cited.sum(), 0)[block.memory] * chances
        told /= np.bincount(block.memory, weights=chances)[block.memory]
        mean = chances @ rows
        curvature = (rows * chances[:, None]).T @ rows - np.outer(mean, mean)
        self._curvature += curvature
        self._wanted += curvature @ self.now - (mean - told @ rows)
        pulled = self._curvature + self._pull * np.eye(len(mean))
        self.now = np.linalg.solve(pulled, self._wanted + self._pull * self._base)


class CitedBefore:
    """The base, and three signals of what earlier answers cited.

    Args:
        base: the base's weights.
        counts_for: what the three count for beside them.
    """

    def __init__(self, base: Array, counts_for: Array) -> None:
        self._weights = np.concatenate([base, counts_for])
        self._shown: Counter[str] = Counter()
        self._cited: defaultdict[str, list[Asked]] = defaultdict(list)

    def ranks(self, each: Asked) -> tuple[Asked, Array]:
        return each.besides(self.signals(each)), self._weights

    def signals(self, each: Asked) -> Array:
        found = np.zeros((len(each.tokens), 3))
        for place, candidate in enumerate(each.case.candidates):
            if shown := self._shown[candidate.turn.id]:
                by = self._cited.get(candidate.turn.id, [])
                alike = max(map(each.likeness, by), default=0.0)
                found[place] = np.log1p(len(by)), np.log1p(shown - len(by)), alike
        return found

    def learn(self, each: Asked, block: Block, cited: Marks) -> None:
        for turn_id, memory in zip(block.turns, block.memory.tolist(), strict=True):
            self._shown[turn_id] += 1
            if cited[memory]:
                self._cited[turn_id].append(each)


@dataclass(frozen=True)
class Fixed:
    """Learns nothing."""

    weights: Array

    def ranks(self, each: Asked) -> tuple[Asked, Array]:
        return each, self.weights

    def learn(self, each: Asked, block: Block, cited: Marks) -> None:
        """Nothing."""


# -- one user's stream ------------------------------------------------------------------------------------------------

Talks = Mapping[str, Sequence[Asked]]
"""Questions by conversation."""


@dataclass(frozen=True)
class Setting:
    """What every stream of a run has in common.

    Args:
        talks: the questions by conversation.
        bases: the weights by conversation, fitted without it.
        shown: of how many tokens the block is that an answer cites from.
        seeds: how many orders the questions are asked in.
    """

    talks: Talks
    bases: Mapping[str, Array]
    shown: int
    seeds: int

    def streams(self, learner: Callable[[str, int], Learner], citer: Citer) -> dict[str, Array]:
        """By conversation, the gain over the base: shape ``(seeds, questions, measures)``."""
        return {
            name: np.stack([self._gains(name, seed, learner(name, seed), citer) for seed in range(self.seeds)])
            for name in self.talks
        }

    def _gains(self, name: str, seed: int, learner: Learner, citer: Citer) -> Array:
        talk, base = self.talks[name], self.bases[name]
        gains, random = np.zeros((len(talk), len(MEASURES))), np.random.default_rng(seed)
        for place in order_of(len(talk), seed):
            known, weights = learner.ranks(talk[place])
            # Measured before its answer teaches.
            gains[place] = np.subtract(known.measures(weights), talk[place].measures(base))
            block = block_of(known, weights, self.shown)
            learner.learn(talk[place], block, citer(block.best(base), block.true, random))
        return gains


def order_of(count: int, seed: int) -> list[int]:
    """The order in which the questions of a conversation are asked."""
    places: list[int] = np.random.default_rng([seed, count]).permutation(count).tolist()
    return places


def stream(cases: Sequence[T], passes: int, random: np.random.Generator) -> Iterator[T]:
    for _ in range(passes):
        yield from (cases[place] for place in random.permutation(len(cases)))


def cited_before_fitted(setting: Setting, without: str) -> Array:
    """What being cited before counts for, shape ``(3,)``, fitted on the streams of the other conversations."""
    base, cases = setting.bases[without], []
    for name in setting.talks:
        learner = CitedBefore(base, np.zeros(3))
        talk = setting.talks[name] if name != without else []
        for each in (talk[place] for place in order_of(len(talk), 0)):
            columns = np.column_stack([each.case.signals @ base, learner.signals(each)])
            cases.append(replace(each.case, signals=columns))
            block = block_of(each, base, setting.shown)
            learner.learn(each, block, block.true)
    fitted = fit(cases, 1e-4)
    return np.asarray(fitted[1:] / fitted[0])


def weights_table(setting: Setting) -> dict[str, Any]:
    """By who learns and who cites, the gain over the base."""
    before = {name: cited_before_fitted(setting, name) for name in setting.talks}
    learners: dict[str, Callable[[str, int], Learner]] = {
        "weights": lambda name, seed: Weights(setting.bases[name]),
        "cited before": lambda name, seed: CitedBefore(setting.bases[name], before[name]),
    }
    rows = {
        learner: {citer: gain_of(setting.streams(make, cites)) for citer, cites in CITERS.items()}
        for learner, make in learners.items()
    }
    told_all = {name: fit([each.case for each in talk], 1e-3) for name, talk in setting.talks.items()}
    rows["weights told all"] = {"": gain_of(setting.streams(lambda name, seed: Fixed(told_all[name]), honest))}
    at_base = [each.measures(setting.bases[name]) for name, talk in setting.talks.items() for each in talk]
    return {"base": mean_of(np.array(at_base)), "gains": rows, "cited_before_counts_for": listed(before)}


def gain_of(gains: Mapping[str, Array]) -> dict[str, Any]:
    """The mean gain, its standard error over questions, that of the worst seed, and by quarters of the streams."""
    found = np.concatenate(list(gains.values()), axis=1)
    by_question = found.mean(axis=0)
    return {
        "gain": mean_of(by_question),
        "standard_error": rounded(by_question.std(axis=0, ddof=1) / np.sqrt(len(by_question))),
        "worst_seed": rounded(found.mean(axis=1).min(axis=0)),
        "quarters": [mean_of(np.concatenate(parts)) for parts in zip(*map(quarters_of, gains.values()), strict=True)],
    }


def quarters_of(gains: Array) -> list[Array]:
    """The rows of all orders by the quarter of the stream that they were asked in."""
    asked_in = [np.array_split(each[order_of(len(each), seed)], 4) for seed, each in enumerate(gains)]
    return [np.concatenate(parts) for parts in zip(*asked_in, strict=True)]


def mean_of(rows: Array) -> list[float]:
    return rounded(rows.mean(axis=0))


def rounded(values: Array) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def listed(values: Mapping[str, Array]) -> dict[str, list[float]]:
    return {name: rounded(each) for name, each in values.items()}


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


def reranker_measured(check: Sequence[Near], reranker: Reranker) -> Array:
    packer = PackTurns(thrift=0)
    return np.array([measures_of(reranked(each, reranker), each.case.question.evidence, packer) for each in check])


def reranked(each: Near, reranker: Reranker) -> list[Candidate]:
    places = np.argsort(-reranker.scores(each.query, each.vectors[:20]), kind="stable").tolist()
    order = [*places, *range(20, len(each.candidates))]
    return [replace(each.candidates[place], score=-float(rank)) for rank, place in enumerate(order)]


def reranker_gains(
    talks: Mapping[str, Sequence[Near]], citer: Citer, seed: int, passes: int = 3, **settings: Any
) -> Array:
    """What it gains on a conversation that others have taught it; shape ``(questions, measures)``."""
    gains = []
    for name, check in talks.items():
        random = np.random.default_rng(seed)
        reranker = Reranker(len(check[0].query), RerankerOptions(seed=seed, **settings))
        before = reranker_measured(check, reranker)
        others = [each for other, talk in talks.items() if other != name for each in talk]
        for each in stream(others, passes, random):
            teach(reranker, each, citer, random, explore=True)
        gains.append(reranker_measured(check, reranker) - before)
    return np.concatenate(gains)


def teach(
    reranker: Reranker, each: Near, citer: Citer, random: np.random.Generator, *, explore: bool
) -> list[Candidate]:
    """What it shows, after it has learned from what is cited of that."""
    draw = reranker.choose(each.query, each.vectors[:20], explore=explore)
    shown = [each.candidates[place] for place in draw.order]
    true = np.array([one.turn.id in each.case.question.evidence for one in shown])
    cited = citer(draw.scores[list(draw.order)], true, random)
    reranker.learn(draw, [place for place, named in zip(draw.order, cited.tolist(), strict=True) if named])
    return shown


def reranker_table(talks: Mapping[str, Sequence[Near]], seeds: int) -> dict[str, Any]:
    questions = [each for talk in talks.values() for each in talk]
    untaught = reranker_measured(questions, Reranker(len(questions[0].query)))
    gains = {
        citer: over_seeds([reranker_gains(talks, cites, seed) for seed in range(seeds)])
        for citer, cites in CITERS.items()
    }
    gains["right, learning rate 0.01"] = over_seeds(
        [reranker_gains(talks, honest, seed, learning_rate=0.01) for seed in range(seeds)]
    )
    return {"base": mean_of(untaught), "gains": gains, "recall@5 along the stream": along(questions, seeds)}


def over_seeds(runs: Sequence[Array]) -> dict[str, list[float]]:
    by_question = np.mean(runs, axis=0)
    return {
        "gain": mean_of(by_question),
        "standard_error": rounded(by_question.std(axis=0, ddof=1) / np.sqrt(len(by_question))),
        "worst_seed": rounded(np.mean(runs, axis=1).min(axis=0)),
    }


def along(questions: Sequence[Near], seeds: int) -> dict[str, list[float]]:
    """By quarters of a stream of all questions, what is shown while it learns, at the defaults; means over seeds."""
    ways = {"the best are taken": False, "drawn": True}
    runs = {name: [shown_along(questions, explore, seed) for seed in range(seeds)] for name, explore in ways.items()}
    rows = {name: rounded(np.mean([found for found, _ in run], axis=0)) for name, run in runs.items()}
    return rows | {"without learning": rounded(np.mean([base for _, base in runs["drawn"]], axis=0))}


def shown_along(questions: Sequence[Near], explore: bool, seed: int) -> tuple[Array, Array]:
    """Recall@5 by quarters: of what it shows, and of the retriever's best."""
    random = np.random.default_rng(seed)
    reranker = Reranker(len(questions[0].query), RerankerOptions(seed=seed))
    rows = []
    for each in stream(questions, 1, random):
        shown = teach(reranker, each, honest, random, explore=explore)
        ids = ([one.turn.id for one in found] for found in (shown, each.candidates[:5]))
        rows.append([evidence_recall(found, each.case.question.evidence) for found in ids])
    quarters = np.array([quarter.mean(axis=0) for quarter in np.array_split(np.array(rows), 4)])
    return quarters[:, 0], quarters[:, 1]


# -- report -----------------------------------------------------------------------------------------------------------


def measured(data: Path, name: str, shown: int, seeds: int) -> dict[str, Any]:
    """All that is measured with one embedder."""
    fitted = json.loads((RESULTS / f"weights_{name}.json").read_text(encoding="utf-8"))["folds"]
    embedder, signals = embedder_named(name), list(next(iter(fitted.values())))
    conversations = [read_conversation(file) for file in locomo_files(data)]
    cases = {each.name: cases_of(each, embedder, signals) for each in conversations}
    talks = {each: [asked(case, embedder) for case in found] for each, found in cases.items()}
    bases = {each: np.array([fitted[each][signal] for signal in signals]) for each in talks}
    found: dict[str, Any] = {"questions": {each: len(talk) for each, talk in talks.items()}}
    found["signals"] = weights_table(Setting(talks, bases, shown, seeds))
    if embedder is not None:
        found["reranker"] = reranker_table(
            {each: [near(case, embedder) for case in cases[each]] for each in talks}, seeds
        )
    return found


def printed(name: str, found: Mapping[str, Any]) -> str:
    lines = [f"embedder: {name}; gains in points, with standard errors over questions; the worst seed in brackets"]
    for kind, by_citer in found["signals"]["gains"].items():
        lines += [line_of(f"{kind}, {citer}" if citer else kind, row) for citer, row in by_citer.items()]
    if "reranker" in found:
        lines += [line_of(f"reranker, {citer}", row) for citer, row in found["reranker"]["gains"].items()]
        rows = found["reranker"]["recall@5 along the stream"].items()
        lines += [
            f"  {f'recall@5 by quarters, {way}':<44}" + "".join(f"{each:>9.3f}" for each in row) for way, row in rows
        ]
    return "\n".join(lines)


def line_of(title: str, row: Mapping[str, Any]) -> str:
    cells = zip(row["gain"], row["standard_error"], row["worst_seed"], strict=True)
    return f"  {title:<44}" + "".join(f"{100 * a:>+9.2f} ± {100 * b:.2f} ({100 * c:+.2f})" for a, b, c in cells)


def draw(path: Path, found: Mapping[str, Mapping[str, Any]]) -> None:
    """The gain at 500 tokens by quarters of a user's stream: one panel an embedder."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "secom"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(found), figsize=(4.2 * len(found), 3.4), sharey=True, squeeze=False)
    for axes, (name, result) in zip(panels[0], found.items(), strict=True):
        for kind, by_citer in result["signals"]["gains"].items():
            for citer, row in by_citer.items():
                if citer in {"", "right", "10% flipped"}:
                    heights = [100 * quarter[1] for quarter in row["quarters"]]
                    style = "--" if citer == "10% flipped" else ":" if not citer else "-"
                    axes.plot(range(1, 5), heights, style, marker="o", ms=3, label=f"{kind}, {citer}".rstrip(", "))
        axes.axhline(0, color="grey", lw=1)
        axes.set(title=f"embedder: {name}", xlabel="quarter of a user's questions", xticks=range(1, 5))
    panels[0][0].set_ylabel("points of recall, 500 tokens,\nover the weights that ship")
    panels[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", nargs="+", default=["none"], choices=("none", "static", "minilm"))
    parser.add_argument("--shown", type=int, default=2000, help="tokens of the block that answers cite from")
    parser.add_argument("--seeds", type=int, default=3, help="how many orders of the questions")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.embedder:
        found[name] = measured(options.data, name, options.shown, options.seeds)
        print(printed(name, found[name]), flush=True)
    result: dict[str, Any] = {
        "measures": list(MEASURES), "shown_tokens": options.shown, "seeds": options.seeds,
        "token_counter": token_counter()[1], "embedders": found,
    }  # fmt: skip
    if options.picture:
        draw(options.picture, found)
    if options.json:
        options.json.write_text(json.dumps({**result, "versions": versions()}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
