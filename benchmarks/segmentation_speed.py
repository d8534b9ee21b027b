"""Turns cut a second, and what one new turn costs as the history grows, beside the semantic chunkers of LangChain and
LlamaIndex with the same embedder in the same run.

``python -m benchmarks.segmentation_speed --data FILE.jsonl --embedder minilm [--dialogues 60] [--repeats 3]
[--histories 100 1000 5000] [--added 5] [--json OUT]``

Needs the extra ``peers`` and langchain-experimental; a peer that is not installed is left out.

*Unseen text*: all dialogues are given in one call and cut from nothing, embedding included, nothing cached; the best
of the repeats. The peers are given a dialogue as one text, a line a turn. They embed, for each sentence, the sentence
with its neighbours; ``(turns)`` are the same with turns in the place of sentences, so that they embed as many texts as
we do. The ratios are of processor seconds, which a busy machine disturbs less. What takes the time is the embedder, in
proportion to the tokens it is given: about three times ours.

*One new turn*: the dialogues' turns, over and over, as one long history; everybody with the same cache of vectors,
filled before. Ours is asked for what a bank asks for: the unsettled end of the session. The peers have no such form
and are given the whole text again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.segmentation import choose_embedder, read_dialogues, versions
from secom_core.conversation import Turn, as_turns
from secom_core.derived.cutting import TAIL
from secom_core.models import CachedEmbedder
from secom_core.protocols import Embedder, Segmenter
from secom_core.segmenters import AdaptiveSegmenter, EmbeddingSegmenter, LexicalSegmenter

Cut = Callable[[Sequence[Sequence[Turn]]], object]
"""Cuts several dialogues."""
_BATCH = 32  # LlamaIndex's own default is 10; 32 is what our embedder uses


def ours(embedder: Embedder, taught: Sequence[Sequence[Turn]]) -> dict[str, Cut]:
    """Our segmenters; ``adaptive`` has learned from the first dialogues, as it would have in use."""
    adaptive = AdaptiveSegmenter(embedder)
    adaptive.learn(taught)
    return {
        "lexical": partial(_each, LexicalSegmenter()),
        "embedding": partial(_each, EmbeddingSegmenter(embedder)),
        "adaptive": adaptive.segment_all,
    }


def _each(segmenter: Segmenter, dialogues: Sequence[Sequence[Turn]]) -> None:
    for turns in dialogues:
        segmenter.segment(turns)


def peers(embedder: Embedder) -> dict[str, Cut]:
    """Those that are installed."""
    made: dict[str, Cut] = {}
    if find_spec("langchain_experimental"):
        made |= _langchain(embedder)
    if find_spec("llama_index"):
        made |= _llamaindex(embedder)
    return made


def _text(turns: Sequence[Turn]) -> str:
    return "\n".join(turn.content for turn in turns)


def _langchain(embedder: Embedder) -> dict[str, Cut]:
    from langchain_core.embeddings import Embeddings
    from langchain_experimental.text_splitter import SemanticChunker  # type: ignore[import-not-found, unused-ignore]

    class Same(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in embedder.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    sentences, turnwise = SemanticChunker(Same()), SemanticChunker(Same(), sentence_split_regex=r"\n")
    return {
        "LangChain SemanticChunker": lambda said: sentences.create_documents(list(map(_text, said))),
        "LangChain SemanticChunker (turns)": lambda said: turnwise.create_documents(list(map(_text, said))),
    }


def _llamaindex(embedder: Embedder) -> dict[str, Cut]:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser
    from llama_index.core.schema import Document

    class Same(BaseEmbedding):  # type: ignore[misc, unused-ignore]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [list(map(float, row)) for row in embedder.embed(texts)]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    def documents(said: Sequence[Sequence[Turn]]) -> list[Document]:
        return [Document(text=_text(turns)) for turns in said]

    model = Same(embed_batch_size=_BATCH)
    sentences = SemanticSplitterNodeParser.from_defaults(embed_model=model)
    turnwise = SemanticSplitterNodeParser.from_defaults(embed_model=model, sentence_splitter=str.splitlines)
    return {
        "LlamaIndex SemanticSplitter": lambda said: sentences.get_nodes_from_documents(documents(said)),
        "LlamaIndex SemanticSplitter (turns)": lambda said: turnwise.get_nodes_from_documents(documents(said)),
    }


def seconds(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and seconds of the processor in this process, whatever else the machine does."""
    start, worked = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - worked


def unseen(cuts: dict[str, Cut], dialogues: Sequence[Sequence[Turn]], repeats: int) -> dict[str, tuple[float, float]]:
    """Turns a second of each, by the clock and by the processor.

    The repeats go round all of them, so that a slow moment hits everybody.
    """
    turns = sum(map(len, dialogues))
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cuts}
    for _ in range(repeats):
        for name, cut in cuts.items():
            taken[name].append(seconds(partial(cut, dialogues)))
    return {
        name: (turns / min(clock for clock, _ in all_), turns / min(worked for _, worked in all_))
        for name, all_ in taken.items()
    }


def one_more(cuts: dict[str, Cut], whole: set[str], said: Sequence[str], size: int, added: int) -> dict[str, float]:
    """Median milliseconds for each of ``added`` turns after a history of ``size``."""
    found = {}
    for number, (name, cut) in enumerate(cuts.items()):
        # Everybody is told turns of his own, so that nobody finds another's vectors.
        new = [f"{said[place % len(said)]} {number} {place}" for place in range(added)]
        turns = as_turns([*islice(cycle(said), size), *new])
        cut([turns[:size] if name in whole else turns[max(0, size - TAIL) : size]])
        taken = []
        for stop in range(size + 1, size + added + 1):
            given = turns[:stop] if name in whole else turns[max(0, stop - TAIL) : stop]
            taken.append(seconds(partial(cut, [given]))[0])
        found[name] = 1000 * statistics.median(taken)
    return found


def ratios(rates: dict[str, float], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """How many times as fast each of ours is as each peer."""
    return {name: {peer: rates[name] / rate for peer, rate in rates.items() if peer not in names} for name in names}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.segmentation_speed", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="JSONL, a dialogue a row")
    parser.add_argument("--embedder", default="minilm", help="minilm, or the path of a sentence-transformers model")
    parser.add_argument("--dialogues", type=int, default=60, help="how many are cut")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--histories", type=int, nargs="*", default=[100, 1000, 5000])
    parser.add_argument("--added", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args(argv)
    report = measured(arguments)
    _show(report)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    model = choose_embedder(arguments.embedder)
    if model is None:
        raise SystemExit("this compares segmenters that embed: --embedder minilm, or the path of a model")
    dialogues = [dialogue.turns for dialogue in read_dialogues(arguments.data)]
    cut, taught = dialogues[: arguments.dialogues], dialogues[arguments.dialogues :][:30]
    mine = list(ours(model, taught))
    rates = unseen(ours(model, taught) | peers(model), cut, arguments.repeats)
    worked = {name: rate for name, (_, rate) in rates.items()}
    cached = CachedEmbedder(model, size=1 << 18)
    said = [turn.content for turns in cut for turn in turns]
    cuts = ours(cached, taught) | peers(cached)
    grown = {
        str(size): one_more(cuts, set(cuts) - set(mine), said, size, arguments.added) for size in arguments.histories
    }
    return {
        "data": arguments.data.name,
        "dialogues": len(cut),
        "turns": sum(map(len, cut)),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "turns_per_second": {name: clock for name, (clock, _) in rates.items()},
        "turns_per_processor_second": worked,
        "times_as_fast": ratios(worked, mine),
        "milliseconds_for_one_new_turn": grown,
        "embedder": arguments.embedder if arguments.embedder == "minilm" else Path(arguments.embedder).name,
        "versions": versions("langchain-experimental", "llama-index-core"),
    }


def _show(report: dict[str, Any]) -> None:
    sizes = list(report["milliseconds_for_one_new_turn"])
    heads = "".join(f"{f'ms at {size}':>12}" for size in sizes)
    print(f"{'':38}{'turns/s':>10}{'CPU':>8}{heads}")
    for name, rate in report["turns_per_second"].items():
        grown = "".join(f"{report['milliseconds_for_one_new_turn'][size][name]:>12.1f}" for size in sizes)
        print(f"{name:38}{rate:>10.0f}{report['turns_per_processor_second'][name]:>8.0f}{grown}")
    for name, others in report["times_as_fast"].items():
        print(f"{name}: " + ", ".join(f"{ratio:.1f} x {peer}" for peer, ratio in others.items()))


if __name__ == "__main__":
    sys.exit(main())
