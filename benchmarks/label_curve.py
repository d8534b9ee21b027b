"""How the adaptive segmenter gets better with labels: means and deviations over several draws.

    python -m benchmarks.label_curve --data FILE.jsonl --fit FILE.jsonl --embedder none|static|minilm|PATH
        [--labels 10 20 50 100] [--seeds 5] [--json OUT]

Where both files are the same, each draw is measured on the rows that it was not fitted on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from benchmarks.segmentation import choose_embedder, draw, figures, fit, measure, read_dialogues, versions
from secom_core.models import CachedEmbedder
from secom_core.protocols import Embedder
from secom_core.segmenters import AdaptiveSegmenter


def one_draw(arguments: argparse.Namespace, embedder: Embedder | None, labels: int, seed: int) -> dict[str, float]:
    """The figures of one fit."""
    rows = read_dialogues(arguments.data)
    same = arguments.fit.resolve() == arguments.data.resolve()
    labelled, others = draw(rows if same else read_dialogues(arguments.fit), labels, seed)
    segmenter = AdaptiveSegmenter(embedder, seed=seed)
    seconds = fit(segmenter, labelled)
    return figures(*measure(segmenter, others if same else rows)) | {"learning_seconds": seconds}


def summary(labels: int, draws: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Means over the draws, and how far the Score deviates."""
    means = {name: fmean(row[name] for row in draws) for name in draws[0]}
    return {"labels": labels, **means, "Score_deviation": pstdev(row["Score"] for row in draws)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_curve", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="JSONL to measure on")
    parser.add_argument("--fit", type=Path, required=True, help="JSONL to draw labelled rows from")
    parser.add_argument(
        "--embedder", default="none", help="none, static, minilm, or the path of a sentence-transformers model"
    )
    parser.add_argument("--labels", type=int, nargs="+", default=[10, 20, 50, 100])
    parser.add_argument("--seeds", type=int, default=5, help="how many draws, with the seeds 0, 1, ...")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    arguments = parser.parse_args(argv)
    model = choose_embedder(arguments.embedder)
    embedder = None if model is None else CachedEmbedder(model, size=1 << 16)
    curve = []
    for labels in arguments.labels:
        curve.append(summary(labels, [one_draw(arguments, embedder, labels, seed) for seed in range(arguments.seeds)]))
        line = "{labels:>5} labels: Score {Score:.3f} ± {Score_deviation:.3f}  Pk {Pk:.3f}  WindowDiff {WindowDiff:.3f}"
        print((line + "  F1 {F1:.3f}  learned in {learning_seconds:.1f} s").format(**curve[-1]))
    if arguments.json:
        about = {"data": arguments.data.name, "fit": arguments.fit.name, "embedder": arguments.embedder}
        report = about | {"seeds": arguments.seeds, "curve": curve, "versions": versions()}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
