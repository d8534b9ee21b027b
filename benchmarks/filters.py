"""Recalls with a filter: whether they are those of a bank which holds only what passes, and what they cost.

    python -m benchmarks.filters [--turns 50000] [--rounds 15] [--store sqlite postgres] [--json OUT]

- *equality*: a small talk is remembered whole, and what passes alone, on each store that is installed; every form of
  filter is asked for, and counts as equal where the recalls show the same turns. A vector store outside ranks alone.
- *time*: a scope of so many turns, of which one in a hundred passes; a recall with the filter and without it, by the
  processor's time, the median of so many queries in turns. Then the first recall after a restart, which reads what is
  known of all messages, and one after each turn that comes.

Texts are seeded words.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.latency import HashedWords
from benchmarks.places import Places, stores
from benchmarks.retrieval import versions
from secom_core import MemoryBank, Message
from secom_core.protocols import VectorStore
from secom_core.vector_stores import PgVectorStore

SCOPE = ("benchmark", "filters")
START = datetime(2025, 1, 1, tzinfo=timezone.utc)
WORDS = [f"word{number}" for number in range(2000)]
BUDGET = 1000

FORMS: Mapping[str, tuple[dict[str, Any], Callable[[Message, str], bool]]] = {
    "equal": ({"metadata.number": 7}, lambda said, _: said.metadata["number"] == 7),
    "one of": ({"session": {"in": ["s1", "s3"]}}, lambda _, session: session in ("s1", "s3")),
    "range": ({"metadata.number": {"ge": 3, "lt": 6}}, lambda said, _: 3 <= said.metadata["number"] < 6),
    "time": ({"at": {"le": "2025-01-04"}}, lambda said, _: said.at is not None and said.at.day <= 4),
    "speaker": ({"speaker": "Ann"}, lambda said, _: said.speaker == "Ann"),
    "exists": ({"metadata.marked": {"exists": True}}, lambda said, _: "marked" in said.metadata),
    "not": ({"not": {"metadata.marked": True}}, lambda said, _: "marked" not in said.metadata),
    "or": (
        {"or": [{"metadata.number": 1}, {"speaker": "Bob", "metadata.marked": True}]},
        lambda said, _: said.metadata["number"] == 1 or (said.speaker == "Bob" and "marked" in said.metadata),
    ),
}

Said = list[tuple[Message, str]]


def talk(turns: int, *, marked: int, words: int = 12, seed: int = 5) -> Said:
    """Utterances of two people in sessions of fifty; one in ``marked`` has a mark."""
    draw = random.Random(seed)
    said: Said = []
    for number in range(turns):
        about: dict[str, Any] = {"number": draw.randrange(10)}
        about |= {"marked": True} if draw.randrange(marked) == 0 else {}
        text, at = " ".join(draw.choices(WORDS, k=words)), START + timedelta(hours=number)
        message = Message(text, "", draw.choice(["Ann", "Bob"]), f"m{number}", at, about)
        said.append((message, f"s{number // 50}"))
    return said


def remember(bank: MemoryBank, said: Said) -> None:
    for session in dict.fromkeys(session for _, session in said):
        bank.remember(SCOPE, [each for each, of in said if of == session], session=session, later=True)
    bank.derive(SCOPE)


# -- equality ---------------------------------------------------------------------------------------------------------


def banks(places: Mapping[str, Places]) -> Iterator[tuple[str, Callable[[], MemoryBank]]]:
    """Banks of each kind, by name; those whose packages are missing are left out."""
    alone: dict[str, Any] = {"granularity": "turn", "weights": {"passage_dense": 1.0}}
    new = map("bank{}".format, count())
    for name, place in places.items():
        yield f"{name}, by words", lambda place=place: MemoryBank.open(place(next(new)), granularity="turn")  # type: ignore[misc]
    yield "sqlite, with vectors", lambda: MemoryBank.open(granularity="turn", embedder=HashedWords())
    if "postgres" in places:
        url = places["postgres"]
        yield (
            "PgVectorStore",
            lambda: MemoryBank.open(vector_store=PgVectorStore(url(next(new)), HashedWords()), **alone),
        )
    for name, make in (("FAISS", _faiss), ("Qdrant", _qdrant), ("LlamaIndex's simple store", _simple)):
        with suppress(ImportError):
            make()
            yield name, lambda make=make: MemoryBank.open(vector_store=make(), **alone)  # type: ignore[misc]


def _faiss() -> VectorStore:
    import faiss
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS

    from benchmarks.peers import langchain_embeddings
    from langchain_secom import LangChainVectorStore

    index = faiss.IndexFlatIP(HashedWords().embed(["a"]).shape[1])
    return LangChainVectorStore(FAISS(langchain_embeddings(HashedWords()), index, InMemoryDocstore(), {}))


def _qdrant() -> VectorStore:
    from langchain_qdrant import QdrantVectorStore
    from qdrant_client import QdrantClient, models

    from benchmarks.peers import langchain_embeddings
    from langchain_secom import LangChainVectorStore

    client, width = QdrantClient(":memory:"), HashedWords().embed(["a"]).shape[1]
    size = models.VectorParams(size=width, distance=models.Distance.COSINE)
    client.create_collection("filters", vectors_config=size)
    return LangChainVectorStore(QdrantVectorStore(client, "filters", langchain_embeddings(HashedWords())))


def _simple() -> VectorStore:
    from llama_index.core.vector_stores import SimpleVectorStore

    from llamaindex_secom import LlamaIndexVectorStore

    return LlamaIndexVectorStore(SimpleVectorStore(), embed_model=HashedWords())


def shown(bank: MemoryBank, query: str, where: Mapping[str, Any] | None = None) -> list[str]:
    recall = bank.recall(SCOPE, query, token_budget=BUDGET, where=where, now=START + timedelta(days=99))
    return [turn.id for turn in recall.turns]


def equality(open_bank: Callable[[], MemoryBank], queries: int = 10) -> dict[str, str]:
    """For each form, of how many queries the recalls are equal."""
    said, draw, rows = talk(300, marked=4), random.Random(11), dict[str, str]()
    asked = [" ".join(draw.choices(said[draw.randrange(300)][0].text.split(), k=4)) for _ in range(queries)]
    with open_bank() as bank:
        remember(bank, said)
        for form, (where, passes) in FORMS.items():
            with open_bank() as alone:
                remember(alone, [each for each in said if passes(*each)])
                same = sum(shown(bank, query, where) == shown(alone, query) for query in asked)
            rows[form] = f"{same}/{queries}"
    return rows


# -- time -------------------------------------------------------------------------------------------------------------


def processor_ms(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return (time.process_time() - begun) * 1000


def times(turns: int, rounds: int) -> dict[str, float]:
    """Milliseconds of the processor a recall, by what is asked for."""
    where, draw = {"metadata.marked": True}, random.Random(7)
    queries = [" ".join(draw.choices(WORDS, k=5)) for _ in range(rounds)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "filters.db"
        with MemoryBank.open(path) as bank:
            remember(bank, talk(turns, marked=100))
            shown(bank, "word1")
        with MemoryBank.open(path) as bank:
            shown(bank, "word1")
            found = {"first after a restart": processor_ms(lambda: shown(bank, "word1", where))}
            pairs = [
                (processor_ms(lambda: shown(bank, each)), processor_ms(lambda: shown(bank, each, where)))  # noqa: B023
                for each in queries
            ]
            found["unfiltered"], found["filtered"] = (median(column) for column in zip(*pairs, strict=True))
            after = []
            for number, query in enumerate(queries):
                bank.remember(SCOPE, [Message("one more", "", "Ann", f"n{number}")], session="s0")
                shown(bank, "word1")
                after.append(processor_ms(lambda: shown(bank, query, where)))  # noqa: B023
            found["filtered, after a turn has come"] = median(after)
    return {name: round(value, 1) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--store", nargs="+", choices=["sqlite", "postgres"], default=["sqlite"])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, stores(args.store, Path(folder)) as places:
        same = {name: equality(make) for name, make in banks(places)}
    print(f"| {' | '.join(['store', *FORMS])} |\n|{'---|' * (len(FORMS) + 1)}")
    for name, row in same.items():
        print(f"| {' | '.join([name, *row.values()])} |")
    taken = times(args.turns, args.rounds)
    for name, value in taken.items():
        print(f"{name}: {value} ms")
    if args.json:
        made = {"turns": args.turns, "rounds": args.rounds, "equal": same, "processor_ms": taken}
        made |= {
            "seed": 5,
            "versions": versions("psycopg", "pgvector", "faiss-cpu", "qdrant-client", "llama-index-core"),
        }
        args.json.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
