"""Makes the prior of the adaptive segmenter: ``secom_core/segmenters/adaptive_prior.json``.

    python -m benchmarks.train_prior --embedder minilm [--out FILE] [--count 1200] [--seed 0]

It is fitted on dialogues made by `benchmarks.generated_talk` and on nothing else, so that it may be shipped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.generated_talk import KINDS, Dialogue, dialogues
from benchmarks.segmentation import choose_embedder
from secom_core.protocols import Embedder
from secom_core.segmenters.adaptive.gaps import CUES, SIMILARITIES, WORDING, Moments, SessionView, seen_of, view_of
from secom_core.segmenters.adaptive.head import Gaps, Penalty, fit_head
from secom_core.segmenters.cohesion import COHESION
from secom_core.segmenters.evidence import Prior

Floats = npt.NDArray[np.float64]
OUT = Path(__file__).parents[1] / "secom_core" / "segmenters" / "adaptive_prior.json"
PENALTY = Penalty(100.0)
UNREAD = range(len(COHESION), len(WORDING) + len(CUES))
"""Columns that cannot be judged in a language that nothing was fitted on: all but how the words hang together."""


def views_of(made: Sequence[Dialogue], embedder: Embedder) -> list[SessionView]:
    texts = sorted({turn.content for dialogue in made for turn in dialogue.turns})
    vectors = dict(zip(texts, embedder.embed(texts), strict=True))
    return [view_of(dialogue.turns, np.array([vectors[turn.content] for turn in dialogue.turns])) for dialogue in made]


def fitted(seen: list[npt.NDArray[np.float32]], truth: Floats, weights: Floats) -> dict[str, Any]:
    """A logistic regression; its bias without the boundaries' rate."""
    blank = [np.zeros((len(rows) + 1, 0), np.float32) for rows in seen]
    head = fit_head(Gaps.of(seen, blank), truth, weights, PENALTY, steps=500)
    rate = float(np.average(truth, weights=weights))
    return {"bias": round(head.bias - float(np.log(rate / (1 - rate))), 4), "values": head.seen.round(4).tolist()}


def make(made: Sequence[Dialogue], views: Sequence[SessionView]) -> dict[str, Any]:
    """All that is shipped, as plain numbers."""
    wording = np.vstack([view.wording for view in views]).astype(np.float64)
    alike = np.vstack([view.alike for view in views]).astype(np.float64)
    blank = np.zeros(len(CUES))
    means = np.concatenate([wording.mean(axis=0), blank, alike.mean(axis=0)]).round(4)
    scales = np.concatenate([np.maximum(wording.std(axis=0), 1e-3), blank + 1, alike.std(axis=0)]).round(4)
    prior = Prior((*WORDING, *CUES, *SIMILARITIES), means, scales, {})
    seen = [seen_of(view, prior, Moments.usual(prior)) for view in views]
    truth = np.concatenate([dialogue.boundaries[:-1] for dialogue in made]).astype(float)
    kinds = np.repeat([dialogue.kind for dialogue in made], [len(view) for view in views])
    weights = np.array([1 / (kinds == kind).sum() for kind in kinds]) * len(kinds) / len(KINDS)
    words = len(WORDING) + len(CUES)
    mute = [rows.copy() for rows in seen]
    for rows in mute:
        rows[:, UNREAD] = 0.0
    return {
        "columns": prior.columns,
        "means": means.tolist(),
        "scales": scales.tolist(),
        "models": {
            "words": fitted([rows[:, :words] for rows in seen], truth, weights),
            "words, any language": fitted([rows[:, :words] for rows in mute], truth, weights),
            "vectors": fitted(seen, truth, weights),
            "vectors, any language": fitted(mute, truth, weights),
        },
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_prior", description=__doc__.split("\n")[0])
    parser.add_argument("--embedder", default="minilm", help="minilm, or the path of a sentence-transformers model")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--count", type=int, default=1200, help="how many dialogues are made")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    embedder = choose_embedder(arguments.embedder)
    if embedder is None:
        raise SystemExit("the prior needs an embedder: --embedder minilm")
    made = [dialogue for dialogue in dialogues(arguments.count, arguments.seed) if len(dialogue.turns) > 1]
    kept = make(made, views_of(made, embedder))
    arguments.out.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(f"{arguments.out.name}: {len(made)} dialogues, {sum(len(dialogue.turns) for dialogue in made)} turns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
