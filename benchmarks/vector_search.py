"""A scope's vectors searched by numpy, as a bank does, and by FAISS: exact, and through a graph. All in one run.

    python -m benchmarks.vector_search [--sizes 1000 1000000] [--data ../shared/data/locomo] [--json OUT]

- *all* cosines, which the ranking asks for: `VectorIndex.scores`; numpy on FAISS's memory; FAISS's own loop over it.
- *best* 200: `VectorIndex.search`, ``IndexFlatIP``, ``IndexHNSWFlat`` by efSearch, and how many of the 200 it *finds*.
- *add* one more vector at that size; *load* all into an empty index, with all threads; the memory that it takes.
- *recall*: the whole of `MemoryBank.recall` on one scope of so many seeded turns, with a hashing embedder, and what
  `VectorIndex.scores` is of it, for turns and keys together: the most that a quicker search could save.

Vectors have 384 dimensions. *random* ones are seeded, on the unit sphere, asked for by others. *talk*, where ``--data``
holds LoCoMo conversations, are MiniLM's of their turns and copies, each moved a little in the direction from one turn
to another; asked for by the questions'. Milliseconds: the median over the queries of the quickest of some runs.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.adding import sessions, utterances
from benchmarks.latency import SCOPE, HashedWords
from benchmarks.retrieval import locomo_files, read_conversation, versions
from benchmarks.segmentation import choose_embedder
from secom_core.bank import MemoryBank
from secom_core.indexes import VectorIndex
from secom_core.vectors import Vectors

DIMENSIONS, BEST, BUDGET, ADDED, MOVED, SEED = 384, 200, 1000, 20, 0.25, 0
NEIGHBOURS, EF_CONSTRUCTION, EF_SEARCH = 32, 100, (200, 300, 400)
THREADS, QUERIES, REPEATS = (1, 2), 30, 5
Row = dict[str, Any]


def seconds(act: Callable[..., object], *given: Any) -> float:
    begun = time.perf_counter()
    act(*given)
    return time.perf_counter() - begun


def quickest(act: Callable[[Any], object], over: Iterable[Any], repeats: int = REPEATS) -> float:
    return float(np.median([min(seconds(act, each) for _ in range(repeats)) for each in over])) * 1000


def unit(rows: Vectors) -> Vectors:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def talk(data: Path) -> tuple[Vectors, Vectors]:
    embedder, held = choose_embedder("minilm"), [read_conversation(file) for file in locomo_files(data)]
    turns = [turn.text for each in held for session in each.sessions for turn in session.turns]
    return embedder.embed(turns), embedder.embed([question.question for each in held for question in each.questions])


def more(turns: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    own, start, end = rng.integers(len(turns), size=(3, max(0, count - len(turns))))
    return np.concatenate([rng.permutation(turns)[:count], unit(turns[own] + MOVED * (turns[end] - turns[start]))])


def measured(vectors: Vectors, queries: Vectors, new: Vectors) -> Row:
    size, ours, flat = len(vectors), VectorIndex(), faiss.IndexFlatIP(DIMENSIONS)
    graph = faiss.IndexHNSWFlat(DIMENSIONS, NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = EF_CONSTRUCTION
    adds = {"VectorIndex": ours.add, "IndexFlatIP": lambda _, x: flat.add(x), "HNSW": lambda _, x: graph.add(x)}
    load = {name: seconds(add, range(size), vectors) for name, add in adds.items()}
    xb = faiss.rev_swig_ptr(flat.get_xb(), size * DIMENSIONS).reshape(size, DIMENSIONS)
    into, ptr = np.empty(size, dtype=np.float32), faiss.swig_ptr
    searches: dict[str, Callable[[Vectors], Any]] = {
        "all: VectorIndex": ours.scores,
        "all: xb @ q": lambda query: xb @ query,
        "all: FAISS": lambda query: faiss.fvec_inner_products_ny(ptr(into), ptr(query), ptr(xb), DIMENSIONS, size),
        "best: VectorIndex": lambda query: ours.search(query, BEST),
        "best: IndexFlatIP": lambda query: flat.search(query[None], BEST),
    }
    row, finds, exact = {}, {}, [{place for place, _ in ours.search(query, BEST)} for query in queries]
    for ef in EF_SEARCH:
        chosen = faiss.SearchParametersHNSW(efSearch=ef)
        searches[f"best: HNSW {ef}"] = lambda query, chosen=chosen: graph.search(query[None], BEST, params=chosen)
        found = (set(graph.search(query[None], BEST, params=chosen)[1][0].tolist()) for query in queries)
        finds[f"HNSW {ef}"] = float(np.mean([len(a & b) / len(a) for a, b in zip(exact, found, strict=True)]))
    for threads in THREADS:
        with threadpool_limits(threads):
            ms = {name: quickest(search, queries) for name, search in searches.items()}
        times = {name: taken / ms[name.split(":")[0] + ": VectorIndex"] for name, taken in ms.items()}
        row |= {f"ms, threads {threads}": ms, f"times numpy's, threads {threads}": times}
    held = {"VectorIndex": ours.nbytes, "IndexFlatIP": vectors.nbytes}
    held["HNSW"] = vectors.nbytes + 4 * graph.hnsw.neighbors.size() + 12 * size
    grown = {n: quickest(lambda at, a=a: a([size + at], new[at : at + 1]), range(ADDED), 1) for n, a in adds.items()}
    return row | {"finds": finds, "add_ms": grown, "load_s": load, "bytes": held}


def recalled(size: int) -> Row:
    queries = [" ".join(text.split()[:8]) for text in utterances(QUERIES, SEED + 1)]
    plain, spent, row = VectorIndex.scores, [], {}

    def watched(*given: Any) -> Any:
        begun = time.perf_counter()
        found = plain(*given)
        spent.append(time.perf_counter() - begun)
        return found

    with MemoryBank.open(embedder=HashedWords()) as bank, patch.object(VectorIndex, "scores", watched):
        for session in sessions(utterances(size, SEED)):
            bank.remember(SCOPE, session, close=True)
        for threads in THREADS:
            spent.clear()
            with threadpool_limits(threads):
                whole = quickest(lambda query: bank.recall(SCOPE, query, token_budget=BUDGET), queries)
            search = float(np.median(np.reshape(spent, (QUERIES, REPEATS, -1)).sum(axis=2).min(axis=1))) * 1000
            row[f"threads {threads}"] = {"recall_ms": whole, "vectors_ms": search, "share": search / whole}
    return row


def rows(options: argparse.Namespace) -> Iterator[tuple[str, Row]]:
    rng, real = np.random.default_rng(SEED), talk(options.data) if options.data else None
    for size in options.sizes:
        drawn = (unit(rng.standard_normal((n, DIMENSIONS), dtype=np.float32)) for n in (size, QUERIES, ADDED))
        yield f"random, {size}", measured(*drawn)
        if real:
            vectors = more(real[0], size + ADDED, rng)
            yield f"talk, {size}", measured(vectors[:size], rng.permutation(real[1])[:QUERIES], vectors[size:])
    for size in options.recall_sizes:
        yield f"recall, {size}", recalled(size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, 50_000, 200_000, 1_000_000])
    parser.add_argument("--recall-sizes", type=int, nargs="*", default=[50_000, 200_000])
    parser.add_argument("--data", type=Path, help="LoCoMo conversations; without them only random vectors")
    parser.add_argument("--json", type=Path)
    options, result = parser.parse_args(), {}
    for title, row in rows(options):
        result[title] = json.loads(json.dumps(row), parse_float=lambda read: float(f"{float(read):.4g}"))
        print(title, *(f"  {key}: {values}" for key, values in result[title].items()), sep="\n", flush=True)
    if options.json:
        result |= {"seed": SEED, "queries": QUERIES, "best": BEST, "versions": versions("faiss-cpu")}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
