"""Fits the constants of `secom_core.ranking.relevance`, and shows how far its chances are to be trusted.

    python -m benchmarks.fit_relevance --talk ../shared/data/locomo --chats ../shared/data/beam
        --embedder none|static|minilm|PATH [--vectors FILE] [--json OUT]

Relevance: of every search with the weights that ship, what was found is told to help or not. A turn of talk helps where
it is evidence; a passage of a chat where it shows half of the telling words of an evidence message. The regression is
logistic, by Newton's method, on the first 20 of each search. Every search counts the same, and talk as much as chats.

Confidence: questions that are answered are told from two kinds that are not. Of ``unsaid`` ones the thing was talked of
but what is asked was never said (BEAM's abstention questions); ``strange`` ones belong to another conversation. The
answered count as much as both others. Weights are kept from below 0, so that more evidence never makes less sure.
``adversarial`` questions (LoCoMo's, which mistake one speaker for the other) are never fitted on.

Figures are of five folds over conversations and chats, each searched with constants fitted on the other four.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.chats import area
from benchmarks.fit_weights import (
    EVERYTHING,
    FOLDS,
    SHAPES,
    Array,
    Asked,
    Kept,
    Source,
    argument_parser,
    counts_of,
    embedder_of,
    folds_of,
    index_of,
    shares,
    sources_of,
)
from benchmarks.locomo import read_locomo_questions
from benchmarks.retrieval import Conversation, locomo_files, versions
from secom_core.protocols import Embedder
from secom_core.ranking import DENSE, LEXICAL, ScopeIndex, scope_index
from secom_core.ranking.relevance import chance, evidence_features, features

HALF: Final = 0.5  # of the telling words of a message
STRANGERS: Final = {"talk": 60, "chats": 20}  # questions of another conversation that each is asked
KINDS: Final = ("answered", "unsaid", "strange", "adversarial")
FITTED: Final = 20  # how many of what each search found relevance is fitted on
FIRST: Final = (1, 20)  # how many of what each search found are looked at, beside all
BINS: Final = 10
PULL: Final = 1e-3


@dataclass(frozen=True)
class Search:
    """One search: what was found, best first, each with its `features` and whether it helps.

    Args:
        source: the name of the conversation or chat.
        shape: talk or chats.
        kind: one of `KINDS`.
        features: shape ``(n, f)``.
        helps: shape ``(n,)``.
        known: what share of the question's words was ever said.
    """

    source: str
    shape: str
    kind: str
    features: Array
    helps: npt.NDArray[np.bool_]
    known: float


def questions_of(options: argparse.Namespace, sources: Sequence[Source]) -> dict[str, list[tuple[str, Asked]]]:
    """Of each conversation and chat, the questions that are put to it, each with its kind."""
    asked = {source.name: [(_kind(each), each) for each in source.questions] for source in sources}
    for file in locomo_files(options.talk) if options.talk else ():
        adversarial = [each for each in read_locomo_questions(file) if each.category == 5]
        asked[file.stem] += [("adversarial", each) for each in adversarial]
    for shape in SHAPES:
        names = [source.name for source in sources if shape_of(source) == shape]
        for name, other in zip(names, names[1:] + names[:1], strict=True):
            answered = [each for kind, each in asked[other] if kind == "answered"]
            step = max(1, len(answered) // STRANGERS[shape])
            strange = answered[::step][: STRANGERS[shape]] if name != other else []
            asked[name] = asked[name] + [("strange", each) for each in strange]
    return asked


def _kind(question: Asked) -> str:
    return "answered" if question.evidence else "unsaid"


def shape_of(source: Source) -> str:
    return "talk" if isinstance(source, Conversation) else "chats"


@contextmanager
def kept_features() -> Iterator[list[Array]]:
    """Keeps what every search inside reads its chances from."""
    found: list[Array] = []
    shipped = scope_index.relevances

    def relevances(columns: Mapping[str, Array], scores: Array, best: Any, *, dense: bool) -> Array:
        found.append(features(columns, scores, best))
        return shipped(columns, scores, best, dense=dense)

    scope_index.relevances = relevances
    try:
        yield found
    finally:
        scope_index.relevances = shipped


def searches_of(source: Source, asked: Sequence[tuple[str, Asked]], embedder: Embedder | None) -> list[Search]:
    index = index_of(source, embedder, DENSE if embedder else LEXICAL)
    return [each for kind, question in asked if (each := _search(source, index, kind, question, embedder))]


def _search(source: Source, index: ScopeIndex, kind: str, asked: Asked, embedder: Embedder | None) -> Search | None:
    vector = embedder.embed([asked.question])[0] if embedder else None
    with kept_features() as found:
        candidates = index.search(asked.question, vector, budget=EVERYTHING)
    if not candidates:
        return None
    # A question that is put to another conversation has its evidence there, under ids that may be here too.
    helps = [kind == "answered" and max(shares(asked, each), default=0.0) >= HALF for each in candidates]
    return Search(
        source.name, shape_of(source), kind, found[0], np.array(helps), index.indexes.words.known(asked.question)
    )


def logistic(rows: Array, truth: Array, counts: Array, pull: float = PULL) -> Array:
    """The constant and the weights with the least loss, by Newton's method; ``counts`` sum to 1."""
    rows = np.column_stack([np.ones(len(rows)), rows])
    pulls = pull * (np.arange(rows.shape[1]) > 0)
    found = np.zeros(rows.shape[1])
    for _ in range(100):
        chances = chance(rows @ found)
        slope = rows.T @ (counts * (chances - truth)) + pulls * found
        curve = (rows * (counts * chances * (1 - chances))[:, None]).T @ rows + np.diag(pulls + 1e-12)
        step = np.linalg.solve(curve, slope)
        # A whole step may go too far where the loss is nearly flat.
        found = found - step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return found


def growing(rows: Array, truth: Array, counts: Array, pull: float = PULL) -> Array:
    """As `logistic`, without what would have a weight below 0."""
    kept = list(range(rows.shape[1]))
    while True:
        found = logistic(rows[:, kept], truth, counts, pull)
        if not kept or found[1:].min() >= 0:
            break
        del kept[int(np.argmin(found[1:]))]
    whole = np.zeros(rows.shape[1] + 1)
    whole[[0, *(place + 1 for place in kept)]] = found
    return whole


def fit_relevance(searches: Sequence[Search]) -> Array:
    """From what was found first for the questions that are answered, and those to which nothing was said.

    Hundreds that are found last, of which hardly any helps, would decide where the first ones' chances lie.
    """
    searches = [each for each in searches if each.kind in ("answered", "unsaid")]
    counts = counts_of([each.shape for each in searches], {})
    sizes = [len(each.helps[:FITTED]) for each in searches]
    return logistic(
        np.concatenate([each.features[:FITTED] for each in searches]),
        np.concatenate([each.helps[:FITTED] for each in searches]).astype(float),
        np.concatenate([np.full(size, count / size) for size, count in zip(sizes, counts, strict=True)]),
    )


def chances_of(constants: Array, search: Search) -> Array:
    return chance(constants[0] + search.features @ constants[1:])


def fit_confidence(searches: Sequence[Search], relevance: Callable[[Search], Array]) -> Array:
    searches = [each for each in searches if each.kind != "adversarial"]
    wanted = {(shape, kind): 1.0 if kind == "answered" else 0.5 for shape in SHAPES for kind in KINDS}
    return growing(
        np.array([evidence_features(relevance(each).tolist(), each.known) for each in searches]),
        np.array([float(each.kind == "answered") for each in searches]),
        counts_of([(each.shape, each.kind) for each in searches], wanted),
    )


def confidence_of(constants: Array, search: Search, relevance: Array) -> float:
    return float(chance(constants[0] + np.array(evidence_features(relevance.tolist(), search.known)) @ constants[1:]))


@dataclass(frozen=True)
class Judged:
    """A search with the chances that it was given, by constants that it helped to fit or did not."""

    search: Search
    relevance: Array
    confidence: float


def held_out(searches: Sequence[Search], folds: Mapping[str, int]) -> list[Judged]:
    """Every search by constants that were fitted without its fold."""
    judged = []
    for fold in range(FOLDS):
        others = [each for each in searches if folds[each.source] != fold]
        mine = [each for each in searches if folds[each.source] == fold]
        if others and mine:
            judged += judge(mine, *fit(others))
    return judged


def fit(searches: Sequence[Search]) -> tuple[Array, Array]:
    """The constants of relevance and of confidence."""
    relevance = fit_relevance(searches)
    return relevance, fit_confidence(searches, lambda each: chances_of(relevance, each))


def judge(searches: Sequence[Search], relevance: Array, confidence: Array) -> list[Judged]:
    chances = [chances_of(relevance, each) for each in searches]
    return [Judged(s, each, confidence_of(confidence, s, each)) for s, each in zip(searches, chances, strict=True)]


def calibration_error(chances: Array, truth: Array) -> float:
    """The expected calibration error in `BINS` bins of equal width (Guo et al., ICML 2017)."""
    return sum(count / len(chances) * abs(said - was) for said, was, count in reliability(chances, truth))


def reliability(chances: Array, truth: Array) -> list[tuple[float, float, int]]:
    """Of each bin that holds any: the mean chance, the share that came true, how many."""
    bins = np.minimum((chances * BINS).astype(int), BINS - 1)
    return [
        (float(chances[bins == each].mean()), float(truth[bins == each].mean()), int((bins == each).sum()))
        for each in np.unique(bins)
    ]


def reliability_table(chances: Array, truth: Array) -> str:
    lines = [f"{'chance':>8}{'true':>8}{'of':>8}"]
    lines += [f"{said:>8.3f}{was:>8.3f}{count:>8}" for said, was, count in reliability(chances, truth)]
    return "\n".join(lines)


def errors(judged: Sequence[Judged], shape: str) -> dict[str, float]:
    """The calibration error of the first of each search, of the first twenty, and of all."""
    mine = [each for each in judged if each.search.shape == shape and each.search.kind in ("answered", "unsaid")]
    if not mine:
        return {}
    found = {}
    for label, first in [*((str(first), first) for first in FIRST), ("all", None)]:
        chances = np.concatenate([each.relevance[:first] for each in mine])
        found[label] = round(
            calibration_error(chances, np.concatenate([each.search.helps[:first] for each in mine])), 4
        )
    return found


Scored = tuple[str, str, float]  # shape, kind, and how sure


def areas(scored: Sequence[Scored]) -> dict[str, float]:
    """By shape and kind, how well the answered are told from it: the area under the ROC curve."""
    found = {}
    for shape in SHAPES:
        answered = [(True, score) for each, kind, score in scored if (each, kind) == (shape, "answered")]
        for kind in KINDS[1:]:
            others = [(False, score) for each, other, score in scored if (each, other) == (shape, kind)]
            if (value := area([*answered, *others])) is not None:
                found[f"{shape}, {kind} ({len(others)})"] = value
    return found


def report(judged: Sequence[Judged]) -> str:
    lines = []
    for shape in SHAPES:
        if not (error := errors(judged, shape)):
            continue
        lines.append(f"{shape}: expected calibration error " + ", ".join(f"{k}: {v:.4f}" for k, v in error.items()))
        mine = [each for each in judged if each.search.shape == shape and each.search.kind in ("answered", "unsaid")]
        chances = np.concatenate([each.relevance[:20] for each in mine])
        lines.append(reliability_table(chances, np.concatenate([each.search.helps[:20] for each in mine])))
    lines.append("confidence tells the answered from (area under the ROC curve):")
    scored = [(each.search.shape, each.search.kind, each.confidence) for each in judged]
    lines += [f"  {name:<28}{value:>7.3f}" for name, value in areas(scored).items()]
    return "\n".join(lines)


def main() -> None:
    options = argument_parser(__doc__).parse_args()
    sources, embedder = sources_of(options), embedder_of(options)
    asked = questions_of(options, sources)
    searches = [each for source in sources for each in searches_of(source, asked[source.name], embedder)]
    if isinstance(embedder, Kept):
        embedder.save()
    judged = held_out(searches, folds_of(sources))
    final = dict(zip(("relevance", "confidence"), fit(searches), strict=True))
    print(f"held out, five folds; embedder: {options.embedder}; searches: {len(searches)}")
    print(report(judged))
    for name, constants in final.items():
        print(f"final {name}, the constant and the weights:", np.round(constants, 3).tolist())
    if options.json:
        result = {
            "embedder": options.embedder,
            "calibration_error": {shape: errors(judged, shape) for shape in SHAPES},
            "confidence_area": areas([(each.search.shape, each.search.kind, each.confidence) for each in judged]),
            "final": {name: np.round(constants, 4).tolist() for name, constants in final.items()},
            "seed": None,
            "versions": versions(),
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
