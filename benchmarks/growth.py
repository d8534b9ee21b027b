"""What happens as a memory grows: turns in a scope, scopes in a store, clients at once. Ours and the peers' in one run.

    python -m benchmarks.growth [--store sqlite postgres] [--turns 1000 10000 100000] [--clients 1 8 64] [--processes 1]
                                [--scopes 10000] [--memory-mib 1024] [--peers] [--peer-turns 1000 5000] [--json OUT]

- *turns*: a scope is filled in sessions of a hundred turns (``--one-session``: in one that goes on); then single turns
  are remembered and recalled, one call at a time. How time grows is fitted as a power of the number of turns: an
  exponent of 0 is constant, 1 linear.
- *clients*: so many threads write a turn and recall it, each in a scope of its own of a thousand turns; of one process,
  and of each of the ``--processes`` that they are spread over.
- *scopes*: most hold a hundred turns, one in a hundred a thousand, one in a thousand five thousand. Then scopes drawn
  at random are recalled from: those drawn first are loaded, those in memory are not. What the process holds is its
  resident set, with the indexes kept under ``--memory-mib``.
- *peers*: LangChain's PGVector on the same PostgreSQL, and mem0 without a language model on Qdrant in a folder, filled
  turn by turn as an application would; all on vectors from the same hashing embedder of 384 dimensions. Ours beside
  them has the same embedder.

Texts are seeded words. Times are of `MemoryBank.remember` and `recall` whole: synced to disk, cut, stored; searched,
ranked, packed in 1000 tokens, rendered.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adding import sessions, utterances
from benchmarks.latency import HashedWords
from benchmarks.peers import langchain_embeddings, mem0_on
from benchmarks.places import Places, resident_mib, stored_bytes, stores
from benchmarks.retrieval import versions
from secom_core import MemoryBank
from secom_core.conversation import Session

BUDGET = 1000
PATIENCE_S = 600
CALL = 10_000
"""How many turns of one long session are remembered by a call."""

Row = dict[str, Any]


def spread(taken: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    return {f"p{rank}": round(float(np.percentile(taken, rank)) * 1000, 2) for rank in (50, 95)}


def seconds(call: Callable[..., object], *given: Any, **named: Any) -> float:
    begun = time.perf_counter()
    call(*given, **named)
    return time.perf_counter() - begun


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of a line through the logarithms."""
    return round(float(np.polyfit(np.log(sizes), np.log(times), 1)[0]), 2)


# -- turns in a scope -------------------------------------------------------------------------------------------------


def growing(
    store: str, places: Places, sizes: Sequence[int], singles: int, seed: int, *, one_session: bool = False
) -> Iterator[Row]:
    """One scope that grows from size to size."""
    scope, held = ("growth", "one"), 0
    target = places("turns")
    texts, extra = utterances(max(sizes), seed), utterances(singles, seed + 1)
    for size in sorted(sizes):
        with MemoryBank.open(target) as bank:
            fill = filled_at_once if one_session else filled
            filling = seconds(fill, bank, scope, texts[held:size], held)
            added, held = size - held, size
        before = resident_mib()
        with MemoryBank.open(target) as bank:
            cold = seconds(bank.recall, scope, extra[0], token_budget=BUDGET)
            writes = [seconds(bank.remember, scope, said(text), session="live") for text in extra]
            recalls = [seconds(bank.recall, scope, asked(text), token_budget=BUDGET) for text in extra]
            bank.forget(scope, session="live")
            yield {
                "store": store, "turns": size, "filled_per_second": round(added / filling),
                "remember": spread(writes), "recall": spread(recalls), "first_recall_s": round(cold, 2),
                "resident_mib": round(resident_mib() - before),
                "stored_bytes_a_turn": round(stored_bytes(target) / size),
            }  # fmt: skip


def filled(bank: MemoryBank, scope: Sequence[str], texts: Sequence[str], held: int) -> None:
    for number, session in enumerate(sessions(list(texts)), start=held // 100):
        bank.remember(scope, session.messages, session=f"s{number}", close=True)


def filled_at_once(bank: MemoryBank, scope: Sequence[str], texts: Sequence[str], held: int) -> None:
    for start in range(0, len(texts), CALL):
        bank.remember(scope, [said(text)[0] for text in texts[start : start + CALL]], session="one")


def said(text: str) -> list[Mapping[str, str]]:
    return [{"role": "user", "content": text}]


def asked(text: str) -> str:
    return " ".join(text.split()[:8])


# -- clients at once --------------------------------------------------------------------------------------------------


def crowded(store: str, places: Places, clients: int, processes: int, each: int, seed: int) -> Row:
    """So many threads, each in a scope of its own, in one process or spread over several."""
    target, history = places(f"clients{clients}-{processes}"), sessions(utterances(1000, seed))
    with MemoryBank.open(target) as bank:
        for client in range(clients):
            for session in history:
                bank.remember(client_scope(client), session, close=True)
            bank.recall(client_scope(client), "ready", token_budget=BUDGET)
    context = get_context("spawn")
    ready, told = context.Barrier(processes + 1), context.Queue()
    shares = [range(number, clients, processes) for number in range(processes)]
    workers = [context.Process(target=share, args=(target, ours, each, seed, ready, told)) for ours in shares]
    for worker in workers:
        worker.start()
    ready.wait(PATIENCE_S)
    begun = time.perf_counter()
    times = [told.get(timeout=PATIENCE_S) for _ in workers]
    lasted = time.perf_counter() - begun
    for worker in workers:
        worker.join()
    writes, recalls = (list(chain.from_iterable(of_all)) for of_all in zip(*times, strict=True))
    done = clients * each
    if len(recalls) != done:
        raise RuntimeError(f"{done - len(recalls)} of {done} turns failed")
    return {
        "store": store, "clients": clients, "processes": processes, "turns_per_second": round(done / lasted, 1),
        "remember": spread(writes), "recall": spread(recalls),
    }  # fmt: skip


def client_scope(client: int) -> tuple[str, str]:
    return "growth", str(client)


def share(target: str, clients: Sequence[int], each: int, seed: int, ready: Any, told: Any) -> None:
    """What one process does: a thread for each of its clients; tells how long each call took."""
    texts, writes, recalls = utterances(each, seed + 2), list[float](), list[float]()
    with MemoryBank.open(target) as bank:
        for client in clients:
            bank.recall(client_scope(client), "ready", token_budget=BUDGET)

        def work(client: int) -> None:
            scope = client_scope(client)
            for text in texts:
                writes.append(seconds(bank.remember, scope, said(text), session="live"))
                recalls.append(seconds(bank.recall, scope, asked(text), token_budget=BUDGET))

        threads = [threading.Thread(target=work, args=(client,)) for client in clients]
        ready.wait(PATIENCE_S)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        told.put((writes, recalls))


# -- many scopes ------------------------------------------------------------------------------------------------------


def sizes_of(count: int) -> list[int]:
    return [5000 if n % 1000 == 999 else 1000 if n % 100 == 50 else 100 for n in range(count)]


def many(store: str, places: Places, count: int, memory_mib: int, asks: int, seed: int) -> Row:
    target, rng = places("scopes"), random.Random(seed)
    history, sizes = sessions(utterances(5000, seed)), sizes_of(count)
    queries = [asked(text) for text in utterances(asks, seed + 1)]
    before = resident_mib()
    with MemoryBank.open(target, max_memory=memory_mib * 2**20) as bank:
        begun = time.perf_counter()
        for number, size in enumerate(sizes):
            for session in part(history, size, number):
                bank.remember(scope_of(number), session, close=True)
        filling = time.perf_counter() - begun
        drawn = [scope_of(rng.randrange(count)) for _ in queries]
        cold, warm = (
            [
                seconds(bank.recall, scope, query, token_budget=BUDGET)
                for scope, query in zip(asked_of, queries, strict=True)
            ]
            for asked_of in (drawn, [drawn[-1]] * asks)
        )
        for number in range(count):
            bank.recall(scope_of(number), queries[number % asks], token_budget=BUDGET)
        return {
            "store": store, "scopes": count, "turns": sum(sizes), "filled_per_second": round(sum(sizes) / filling),
            "recall_drawn": spread(cold), "recall_again": spread(warm), "memory_limit_mib": memory_mib,
            "resident_mib": round(resident_mib() - before),
            "stored_bytes_a_turn": round(stored_bytes(target) / sum(sizes)),
        }  # fmt: skip


def scope_of(number: int) -> tuple[str, str]:
    return "growth", f"user{number}"


def part(history: Sequence[Session], size: int, number: int) -> list[Session]:
    """Sessions of so many turns, not the same for every scope."""
    start = 0 if size == 5000 else number % (len(history) - size // 100)
    return list(history[start : start + size // 100])


# -- peers ------------------------------------------------------------------------------------------------------------

Peer = tuple[Callable[[str], object], Callable[[str], object]]
"""Takes in one turn; searches."""


def ours(target: str) -> Peer:
    bank = MemoryBank.open(target, embedder=HashedWords())
    scope = ("growth", "peer")
    return (
        lambda text: bank.remember(scope, said(text), session="one"),
        lambda query: bank.recall(scope, query, token_budget=BUDGET),
    )


def langchain_pgvector(target: str) -> Peer:
    from langchain_postgres import PGVector

    store = PGVector(
        langchain_embeddings(HashedWords()),
        connection=target.replace("postgresql://", "postgresql+psycopg://"),
        use_jsonb=True,
    )
    return (
        lambda text: store.add_texts([text], [{"user": "one"}]),
        lambda query: store.similarity_search(query, k=40, filter={"user": {"$eq": "one"}}),
    )


def mem0_qdrant(folder: str) -> Peer:
    memory = mem0_on(folder, HashedWords())
    return (
        lambda text: memory.add([{"role": "user", "content": text}], user_id="one", infer=False),
        lambda query: memory.search(query, filters={"user_id": "one"}, top_k=40, threshold=0.0),
    )


def peers(places: dict[str, Places], folder: Path, sizes: Sequence[int], singles: int, seed: int) -> Iterator[Row]:
    """Filled turn by turn, one user; the last turns and searches at each size are timed."""
    made: dict[str, Callable[[], Peer]] = {"ours on SQLite, same vectors": lambda: ours(places["sqlite"]("peer"))}
    if "postgres" in places:
        made["ours on PostgreSQL, same vectors"] = lambda: ours(places["postgres"]("peer"))
        made["LangChain PGVector"] = lambda: langchain_pgvector(places["postgres"]("pgvector"))
    made["mem0 on Qdrant, no LLM"] = lambda: mem0_qdrant(str(folder / "mem0"))
    texts = utterances(max(sizes), seed)
    for name, build in made.items():
        add, search = build()
        for number, text in enumerate(texts, start=1):
            if number in sizes:
                last = texts[number - singles : number]
                writes = [seconds(add, text) for text in last]
                searches = [seconds(search, asked(text)) for text in last]
                yield {"store": name, "turns": number, "remember": spread(writes), "recall": spread(searches)}
            else:
                add(text)


# -- report -----------------------------------------------------------------------------------------------------------


def line(row: Mapping[str, Any]) -> str:
    flat = {
        key: " / ".join(f"{ms:.2f}" for ms in value.values()) + " ms" if isinstance(value, dict) else value
        for key, value in row.items()
    }
    return "  " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in flat.items())


def growth_of(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """By store: the exponents of the medians."""
    found = {}
    for store in dict.fromkeys(row["store"] for row in rows):
        own = [row for row in rows if row["store"] == store]
        if len(own) > 1:
            sizes = [row["turns"] for row in own]
            found[store] = {kind: exponent(sizes, [row[kind]["p50"] for row in own]) for kind in ("remember", "recall")}
    return found


def said_of(title: str, rows: Iterator[Row]) -> list[Row]:
    print(title, flush=True)
    done = []
    for row in rows:
        done.append(row)
        print(line(row), flush=True)
    return done


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", nargs="+", choices=("sqlite", "postgres"), default=["sqlite"])
    parser.add_argument("--turns", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--one-session", action="store_true", help="the turns of a scope are one session")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--processes", type=int, nargs="+", default=[1])
    parser.add_argument("--scopes", type=int, default=10_000)
    parser.add_argument("--memory-mib", type=int, default=1024)
    parser.add_argument("--singles", type=int, default=50, help="calls timed at each size, and by each client")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--peer-turns", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # A socket's path is short, so the folder is not in one of many levels.
    with tempfile.TemporaryDirectory(prefix="growth-") as folder, stores(options.store, Path(folder)) as places:
        result = measured(options, places, Path(folder))
    if options.json:
        result |= {"seed": options.seed, "versions": versions("psycopg", "langchain-postgres", "mem0ai")}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(options: argparse.Namespace, places: dict[str, Places], folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = {"turns": [], "clients": [], "scopes": [], "peers": []}
    names = options.store
    for name in names if options.turns else ():
        rows = growing(
            name, places[name], options.turns, options.singles, options.seed, one_session=options.one_session
        )
        result["turns"] += said_of(f"turns in a scope, {name} (p50 / p95)", rows)
    for name in names if options.clients else ():
        rows = (
            crowded(name, places[name], each, processes, options.singles, options.seed)
            for each in options.clients
            for processes in options.processes
            if processes <= each
        )
        result["clients"] += said_of(f"clients at once, {name}", rows)
    for name in names if options.scopes else ():
        rows = iter([many(name, places[name], options.scopes, options.memory_mib, 200, options.seed)])
        result["scopes"] += said_of(f"many scopes, {name}", rows)
    if options.peers:
        rows = peers(places, folder, options.peer_turns, options.singles, options.seed)
        result["peers"] = said_of("filled turn by turn, one user", rows)
    for key in ("turns", "peers"):
        result[f"{key}_exponents"] = growth_of(result[key])
    print("growth exponents:", json.dumps({**result["turns_exponents"], **result["peers_exponents"]}, indent=1))
    return result


if __name__ == "__main__":
    main()
