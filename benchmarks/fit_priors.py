"""Makes the priors of the lexical and the embedding segmenter, ``secom_core/segmenters/*_prior.json``.

    python -m benchmarks.fit_priors --service dialseg711_dev.jsonl --chat tiage_train.jsonl --embedder none --out FILE

With an embedder it makes the embedding segmenter's, whose weights read similarities in the session's own units.

Talk in which somebody is served comes from every second dialogue of DialSeg711's half (rows 0, 2, 4, ...; the others
are left to measure on), chat from TIAGE's training part. What is kept are some three hundred weights, no text.
Needs scikit-learn.
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

from benchmarks.segmentation import Dialogue, choose_embedder, read_dialogues
from secom_core.protocols import Embedder
from secom_core.segmenters import embedding, lexical
from secom_core.segmenters.cohesion import bags_of
from secom_core.segmenters.cues import WORDS
from secom_core.segmenters.evidence import GATE, centred

Floats = npt.NDArray[np.float64]
STRENGTH = 0.02  # scikit-learn's C, on columns of unit spread


def measured(dialogues: Sequence[Dialogue], embedder: Embedder | None) -> tuple[list[Floats], Floats]:
    """The columns of each dialogue, and the truth at all gaps."""
    kept = [dialogue for dialogue in dialogues if len(dialogue.turns) > 1]
    texts = [[turn.content for turn in dialogue.turns] for dialogue in kept]
    truth = np.concatenate([dialogue.boundaries[:-1] for dialogue in kept]).astype(float)
    if embedder is None:
        return [lexical.columns(said, bags_of(said)) for said in texts], truth
    vectors = (np.asarray(embedder.embed(said), dtype=np.float64) for said in texts)
    return [embedding.columns(said, bags_of(said), rows) for said, rows in zip(texts, vectors, strict=True)], truth


def fit(values: Sequence[Floats], truths: Sequence[Floats], width: int) -> dict[str, Any]:
    """A logistic regression in which each kind of talk counts the same; its bias without the boundaries' rate."""
    from sklearn.linear_model import LogisticRegression

    weights = np.concatenate([np.full(len(truth), 1 / len(truth)) for truth in truths])
    weights *= len(weights) / weights.sum()
    truth = np.concatenate(truths)
    model = LogisticRegression(C=STRENGTH, max_iter=5000)
    model.fit(np.concatenate(values)[:, :width], truth, sample_weight=weights)
    rate = np.average(truth, weights=weights)
    bias = model.intercept_[0] - np.log(rate / (1 - rate))
    return {"bias": round(float(bias), 4), "values": [round(float(value), 4) for value in model.coef_[0]]}


def fit_gate(service: Sequence[Floats], chat: Sequence[Floats], names: Sequence[str]) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression

    places = [names.index(name) for name in GATE]
    means = np.array([values[:, places].mean(axis=0) for values in (*service, *chat)])
    truth = np.array([1] * len(service) + [0] * len(chat))
    model = LogisticRegression(C=0.5).fit(means, truth)
    return {
        "bias": round(float(model.intercept_[0]), 4),
        "values": [round(float(value), 4) for value in model.coef_[0]],
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_priors", description=__doc__.split("\n")[0])
    parser.add_argument("--service", type=Path, required=True)
    parser.add_argument("--chat", type=Path, required=True)
    parser.add_argument("--embedder", default="none", help="none, static, minilm, or the path of a model")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(argv)
    embedder = choose_embedder(arguments.embedder)
    names = lexical.COLUMNS if embedder is None else embedding.COLUMNS
    service, served = measured(read_dialogues(arguments.service)[::2], embedder)
    chat, chatted = measured(read_dialogues(arguments.chat), embedder)
    parts = [np.concatenate(service), np.concatenate(chat)]
    means: Floats = np.mean(np.stack([part.mean(axis=0) for part in parts]), axis=0).round(4)
    spread: Floats = np.sqrt(np.mean(np.stack([((part - means) ** 2).mean(axis=0) for part in parts]), axis=0))
    scales: Floats = np.maximum(spread, 1e-3).round(4)
    scaled = [np.concatenate([centred(values, means, scales) for values in kind]) for kind in (service, chat)]
    models = {
        "neutral": fit(scaled, [served, chatted], len(names) - len(WORDS)),
        "service": fit(scaled[:1], [served], len(names)),
        "chat": fit(scaled[1:], [chatted], len(names)),
        "gate": fit_gate(service, chat, names),
    }
    prior = {"columns": names, "means": means.tolist(), "scales": scales.tolist(), "models": models}
    arguments.out.write_text(json.dumps(prior) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
