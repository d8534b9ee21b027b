"""How long one recall takes as a scope grows: ours and the peers' retrievers, in one run.

``python -m benchmarks.latency [--sizes 500 50000] [--budget 4000] [--queries 50] [--json OUT]``

Turns are made of seeded words; vectors come from a hashing embedder of 384 dimensions, the same for all, so that what
is timed is the search and not a model. Ours is the whole of `MemoryBank.recall`: search, ranking, packing, rendering.
The peers rank as many turns as fill the budget. mem0 is left out above ``--mem0-up-to`` turns: it writes one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.adding import sessions, utterances
from benchmarks.peers import PACKAGES, PEERS
from benchmarks.retrieval import versions
from secom_core.bank import MemoryBank
from secom_core.protocols import Vectors
from secom_core.text.terms import terms

SCOPE = ("benchmark", "latency")


class HashedWords:
    """Sums a seeded random vector a word: no model, but near texts are near."""

    name = "hashed-words-384"

    def __init__(self) -> None:
        self._known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.stack(
            [
                sum((self._word(word) for word in terms(text, keep_stopwords=True)), np.zeros(384)) + 1e-3
                for text in texts
            ]
        )
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _word(self, word: str) -> Vectors:
        if word not in self._known:
            seed = int.from_bytes(word.encode()[:8].ljust(8, b"\0"), "little")
            self._known[word] = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
        return self._known[word]


def timed(search: Callable[[str], object], queries: list[str]) -> dict[str, float]:
    search(queries[0])
    taken = []
    for query in queries:
        begin = time.perf_counter()
        search(query)
        taken.append((time.perf_counter() - begin) * 1000)
    return {"p50": float(np.percentile(taken, 50)), "p95": float(np.percentile(taken, 95))}


def measure(size: int, budget: int, count: int, mem0_up_to: int, seed: int) -> dict[str, dict[str, float]]:
    texts = utterances(size, seed)
    queries = [" ".join(text.split()[:8]) for text in utterances(count, seed + 1)]
    embedder = HashedWords()
    history = sessions(texts)
    results = {}
    for name, used in (("ours", embedder), ("ours, no embedder", None)):
        with MemoryBank.open(embedder=used) as bank:
            for session in history:
                bank.remember(SCOPE, session, close=True)
            results[name] = timed(lambda query, bank=bank: bank.recall(SCOPE, query, token_budget=budget), queries)
    turns = [turn for session in history for turn in session.turns]
    for name, build in PEERS.items():
        if name.startswith("mem0") and size > mem0_up_to:
            continue
        results[name] = timed(build(turns, embedder), queries)
    return results


def table(results: dict[int, dict[str, dict[str, float]]]) -> str:
    lines = []
    for size, rows in results.items():
        ours = rows["ours"]["p50"]
        lines.append(f"{size} turns{'':<28}{'p50 ms':>9}{'p95 ms':>9}{'p50 / ours':>12}")
        for name, row in rows.items():
            lines.append(f"  {name:<36}{row['p50']:>9.2f}{row['p95']:>9.2f}{row['p50'] / ours:>11.1f}x")
    return "\n".join(lines)


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 50_000])
    parser.add_argument("--budget", type=int, default=4000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--mem0-up-to", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {
        size: measure(size, options.budget, options.queries, options.mem0_up_to, options.seed) for size in options.sizes
    }
    print(table(results))
    if options.json:
        kept = {"seed": options.seed, "milliseconds": results, "versions": versions(*PACKAGES)}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
