"""What one more turn costs as a scope grows: ours, rank_bm25 and LangChain's BM25Retriever, in one run.

``python -m benchmarks.adding [--sizes 500 5000 50000] [--added 20] [--json OUT]``

``BM25.add`` is our index alone; ``remember`` is the whole of `MemoryBank.remember` on a file (synced to disk, cut,
stored) and ``catch-up`` what the next recall does to see the turn. The peers have no incremental form: one more
document means a new index over all of them, and nothing of theirs is on disk. Medians of ``--added`` single turns.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchmarks.retrieval import versions
from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Session, group_messages
from secom_core.indexes.bm25 import BM25
from secom_core.text.terms import terms

SCOPE = ("benchmark", "adding")
SESSION_TURNS = 100


def utterances(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    vocabulary = [
        "".join(rng.choices("bcdfglmnprst", k=2)) + rng.choice("aeiou") + rng.choice("nrst") for _ in range(4000)
    ]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    return [" ".join(rng.choices(vocabulary, weights, k=rng.randint(8, 30))) + "." for _ in range(count)]


def sessions(texts: list[str]) -> list[Session]:
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    made = []
    for number, first in enumerate(range(0, len(texts), SESSION_TURNS)):
        at = start + timedelta(days=number)
        said = [Message(text, role="", at=at) for text in texts[first : first + SESSION_TURNS]]
        made.append(Session(f"s{number}", group_messages(said, f"s{number}")))
    return made


def milliseconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1000


def ours(texts: list[str], extra: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, MemoryBank.open(Path(folder) / "bank.db") as bank:
        for session in sessions(texts):
            bank.remember(SCOPE, session, close=True)
        bank.recall(SCOPE, extra[0], token_budget=500)
        writes, recalls = [], []
        for text in extra:
            writes.append(
                milliseconds(lambda text=text: bank.remember(SCOPE, [Message(text, role="")], session="live"))
            )
            recalls.append(milliseconds(lambda text=text: bank.recall(SCOPE, text, token_budget=500)))
        before = statistics.median(
            milliseconds(lambda: bank.recall(SCOPE, extra[0], token_budget=500)) for _ in range(10)
        )
    return {
        "index": index_only(texts, extra),
        "remember": statistics.median(writes),
        "catch_up": max(0.0, statistics.median(recalls) - before),
        "recall": before,
    }


def index_only(texts: list[str], extra: list[str]) -> float:
    index = BM25()
    index.add(range(len(texts)), texts)
    numbers = range(len(texts), len(texts) + len(extra))
    return statistics.median(
        milliseconds(lambda n=n, t=t: index.add([n], [t])) for n, t in zip(numbers, extra, strict=True)
    )


def rank_bm25(texts: list[str], extra: list[str]) -> float:
    from rank_bm25 import BM25Okapi

    tokens = [terms(text) for text in texts]
    return statistics.median(milliseconds(lambda t=t: BM25Okapi([*tokens, terms(t)])) for t in extra[:3])


def langchain_bm25(texts: list[str], extra: list[str]) -> float:
    from langchain_community.retrievers import BM25Retriever

    return statistics.median(milliseconds(lambda t=t: BM25Retriever.from_texts([*texts, t])) for t in extra[:3])


def measure(size: int, added: int, seed: int) -> dict[str, float]:
    texts = utterances(size + added, seed)
    kept, extra = texts[:size], texts[size:]
    row = ours(kept, extra)
    return {**row, "rank_bm25": rank_bm25(kept, extra), "langchain_bm25": langchain_bm25(kept, extra)}


def table(results: dict[int, dict[str, float]]) -> str:
    columns = {
        "index": "BM25.add",
        "remember": "remember",
        "catch_up": "catch-up",
        "rank_bm25": "rank_bm25",
        "langchain_bm25": "LangChain BM25Retriever",
    }
    lines = [
        "   turns"
        + "".join(f"{title:>{len(title) + 3}}" for title in columns.values())
        + "   rank_bm25 / BM25.add   (ms)"
    ]
    for size, row in results.items():
        cells = "".join(f"{row[name]:>{len(title) + 3}.2f}" for name, title in columns.items())
        lines.append(f"{size:>8}{cells}{row['rank_bm25'] / row['index']:>24.0f}x")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 50_000])
    parser.add_argument("--added", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = {size: measure(size, options.added, options.seed) for size in options.sizes}
    print(table(results))
    if options.json:
        kept = {"seed": options.seed, "milliseconds": results, "versions": versions("rank-bm25", "langchain-community")}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
