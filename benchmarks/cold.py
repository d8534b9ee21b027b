"""How long a process that has just started takes to its first recall.

    python -m benchmarks.cold [--store sqlite postgres] [--turns 1000 10000 100000] [--vectors 1000 10000 100000]
                              [--starts 5] [--locomo DIR] [--beam DIR] [--json OUT]

A scope is filled with exchanges of about 50 words, in sessions of twenty that are closed; one recall makes its index,
which is kept with the bank. Then a new process, ``--starts`` times, imports the package and opens the bank; from there
on to the first block of 1000 tokens is what is timed, each time with another query, and the second recall after it.
Beside it: the least processor time of these processes, which other work on the machine changes least; the same where
nothing of the index is kept, and all of it is made first; what the process holds in memory after it, what
the bank takes on disk, with its index and without; and what it takes to forget one turn and recall again, in a process
that has the index.

The blocks must be the same, to the letter, in the process that filled the bank, in one that starts, and where the index
is made anew: the run ends with an error where they are not.

With ``--locomo`` or ``--beam``, a folder of conversations as `benchmarks.retrieval` and `benchmarks.chats` read them,
all their questions are asked too, by words: of the index that grew with the conversation, of one that is read from
disk for each question, and of one made anew. *differ* is how many blocks are not the same, to the letter.

Last, the whole command ``secom recall`` on a bank of 20,000 messages (``--command 0`` leaves it out).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import delete, select

from benchmarks.adding import utterances
from benchmarks.chats import chat_files, read_chat
from benchmarks.latency import HashedWords
from benchmarks.places import Places, resident_mib, stored_bytes, stores
from benchmarks.retrieval import locomo_files, read_conversation, versions
from secom_core import MemoryBank, Message
from secom_core.conversation import Session
from secom_core.stores.schema import index_blocks, scopes

SCOPE = ("cold", "one")
SESSION = 20
BUDGET = 1000
NOW = datetime(2025, 1, 1, tzinfo=timezone.utc)
ASKED = 8
"""How many words a query has."""
_COMMANDS = 6
"""How often the command is run."""


def filled(bank: MemoryBank, turns: int, seed: int) -> None:
    said = utterances(5 * turns, seed)
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    for number in range(0, turns, SESSION):
        messages = []
        for turn in range(number, min(number + SESSION, turns)):
            first, second = " ".join(said[5 * turn : 5 * turn + 1]), " ".join(said[5 * turn + 1 : 5 * turn + 3])
            at = start + timedelta(hours=number, minutes=turn - number)
            messages += [Message(first, "user", at=at), Message(second, "assistant", at=at)]
        bank.remember(SCOPE, messages, session=f"s{number}", close=True)


def queries(count: int, seed: int) -> list[str]:
    return [" ".join(text.split()[:ASKED]) for text in utterances(count, seed + 1)]


def child(target: str, query: str, vectors: bool, whole: bool) -> None:
    """What a new process does, which may first make the whole index; prints what it measured."""
    embedder = HashedWords() if vectors else None
    before, begun, at_work = resident_mib(), time.perf_counter(), time.process_time()
    bank = MemoryBank.open(target, embedder=embedder)
    if whole:
        bank.prepare(SCOPE)
    first = bank.recall(SCOPE, query, token_budget=BUDGET)
    taken, at_work = time.perf_counter() - begun, time.process_time() - at_work
    begun = time.perf_counter()
    bank.recall(SCOPE, query[::-1] + " again", token_budget=BUDGET)
    second = time.perf_counter() - begun
    told = {"ms": 1000 * taken, "processor_ms": 1000 * at_work, "second_ms": 1000 * second}
    print(json.dumps({**told, "mib": resident_mib() - before, "text": first.text}))


def started(target: str, query: str, vectors: bool, *, whole: bool = False) -> dict[str, Any]:
    """The same in a process of its own."""
    call = f"from benchmarks.cold import child; child({target!r}, {query!r}, {vectors}, {whole})"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout))


def drop_index(target: str) -> None:
    with MemoryBank.open(target) as bank, bank._store.transaction() as connection:
        connection.execute(delete(index_blocks).where(index_blocks.c.scope_id.in_(select(scopes.c.id))))


def measured(store: str, places: Places, turns: int, starts: int, seed: int, *, vectors: bool) -> dict[str, Any]:
    target = places(f"cold{turns}{'v' * vectors}")
    asked = queries(starts, seed)
    with MemoryBank.open(target, embedder=HashedWords() if vectors else None) as bank:
        filled(bank, turns, seed)
        begun = time.perf_counter()
        bank.recall(SCOPE, "ready", token_budget=BUDGET)
        making = time.perf_counter() - begun
        warm = [bank.recall(SCOPE, query, token_budget=BUDGET).text for query in asked]
    with_index = stored_bytes(target)
    cold = [started(target, query, vectors) for query in asked]
    drop_index(target)
    anew = started(target, asked[0], vectors, whole=True)
    if [each["text"] for each in cold] != warm or anew["text"] != warm[0]:
        raise RuntimeError(f"{store}, {turns} turns: what is recalled is not the same after a start")
    forgetting = forgotten(target, asked[0], vectors)
    kept = with_index - _bytes_without(target)
    return {
        "store": store, "turns": turns, "vectors": vectors,
        "first_recall_ms": round(median(each["ms"] for each in cold), 1),
        "slowest_ms": round(max(each["ms"] for each in cold), 1),
        "least_processor_ms": round(min(each["processor_ms"] for each in cold), 1),
        "second_recall_ms": round(median(each["second_ms"] for each in cold), 1),
        "made_anew_ms": round(anew["ms"], 1), "making_s": round(making, 2),
        "forget_ms": round(forgetting, 1),
        "resident_mib": round(median(each["mib"] for each in cold), 1),
        "stored_mib": round(with_index / 2**20, 1), "of_that_index_mib": round(kept / 2**20, 1),
    }  # fmt: skip


def forgotten(target: str, query: str, vectors: bool) -> float:
    """Milliseconds to forget a turn in a process that has the index, and for the next recall together."""
    with MemoryBank.open(target, embedder=HashedWords() if vectors else None) as bank:
        bank.recall(SCOPE, query, token_budget=BUDGET)
        doomed = bank.turns(SCOPE, "s0")[1].id
        begun = time.perf_counter()
        bank.forget(SCOPE, turn_ids=[doomed])
        bank.recall(SCOPE, query, token_budget=BUDGET)
        return (time.perf_counter() - begun) * 1000


def _bytes_without(target: str) -> int:
    """What the bank takes where nothing of the index is kept, on disk as small as it can be."""
    with MemoryBank.open(target) as bank:
        drop_index(target)
        bank.storage.compact()
    return stored_bytes(target)


Talk = tuple[str, Sequence[Session], Sequence[str]]


def talks(options: argparse.Namespace) -> Iterator[Talk]:
    """The name of each set, its conversations, and the questions about each."""
    for file in locomo_files(options.locomo) if options.locomo else ():
        found = read_conversation(file)
        yield "LoCoMo", found.sessions, [each.question for each in found.questions]
    for file in chat_files([options.beam]) if options.beam else ():
        chat = read_chat(file)
        yield "BEAM", chat.sessions, [each.question for each in chat.questions]


def same(target: Path, talk: Talk) -> dict[str, Any]:
    """How many blocks are not the same where the index grew, was read from disk, and was made anew."""
    name, sessions, questions = talk

    def asked(bank: MemoryBank, *, each_cold: bool = False) -> list[str]:
        found = []
        for question in questions:
            if each_cold:
                bank._inside.scopes.drop(SCOPE)
            found += [bank.recall(SCOPE, question, token_budget=budget, now=NOW).text for budget in (500, 4000)]
        return found

    with MemoryBank.open(target) as bank:
        for session in sessions:
            bank.remember(SCOPE, session, close=True)
            bank.recall(SCOPE, "so far", token_budget=100)
        grown = asked(bank)
    with MemoryBank.open(target) as bank:
        read = asked(bank, each_cold=True)
    drop_index(str(target))
    with MemoryBank.open(target) as bank:
        bank.prepare(SCOPE)
        made = asked(bank)
    differ = sum(len({*each}) > 1 for each in zip(grown, read, made, strict=True))
    return {"set": name, "conversations": 1, "blocks": len(grown), "differ": differ}


def all_same(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The same, added up by set."""
    sums: dict[str, Counter[str]] = {}
    for number, talk in enumerate(talks(options)):
        found = same(folder / f"same{number}.db", talk)
        sums.setdefault(found.pop("set"), Counter()).update(found)
    return [{"set": name, **counts} for name, counts in sums.items()]


def command(folder: Path, messages: int, seed: int) -> dict[str, Any]:
    """The command, from its start to its end, after the first that makes the index.

    It runs as where it is installed: its modules were compiled before.
    """
    target = str(folder / "command.db")
    with MemoryBank.open(target) as bank:
        filled(bank, messages // 2, seed)
    secom = [sys.executable, "-m", "secom_core", "recall", "--store", target]
    secom += [part for each in SCOPE for part in ("--scope", each)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times, at_work = [], []
    for query in queries(_COMMANDS, seed):
        begun, before = time.perf_counter(), _processor_time_of_children()
        subprocess.run([*secom, query], capture_output=True, check=True, env=environment)
        times.append(time.perf_counter() - begun)
        at_work.append(_processor_time_of_children() - before)
    return {
        "messages": messages, "first_s": round(times[0], 2), "then_s": round(median(times[1:]), 2),
        "least_processor_s": round(min(at_work), 2),
    }  # fmt: skip


def _processor_time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows(options: argparse.Namespace, places: dict[str, Places]) -> Iterator[dict[str, Any]]:
    for store in options.store:
        for vectors, sizes in ((False, options.turns), (True, options.vectors)):
            for turns in sizes:
                yield measured(store, places[store], turns, options.starts, options.seed, vectors=vectors)


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", nargs="+", choices=("sqlite", "postgres"), default=["sqlite"])
    parser.add_argument("--turns", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--vectors", type=int, nargs="*", default=[])
    parser.add_argument("--starts", type=int, default=5, help="how many processes start at each size")
    parser.add_argument("--command", type=int, default=20_000, help="how many messages `secom recall` is tried on")
    parser.add_argument("--locomo", type=Path, help="a folder of LoCoMo conversations")
    parser.add_argument("--beam", type=Path, help="a folder of chats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"cold": []}
    with tempfile.TemporaryDirectory(prefix="cold-") as folder, stores(options.store, Path(folder)) as places:
        for row in rows(options, places):
            result["cold"].append(row)
            print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in row.items()), flush=True)
        if options.locomo or options.beam:
            result["same"] = all_same(Path(folder), options)
            for row in result["same"]:
                print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        if options.command:
            result["command"] = command(Path(folder), options.command, options.seed)
            print(", ".join(f"{name.replace('_', ' ')} {value}" for name, value in result["command"].items()))
    if options.json:
        result |= {"seed": options.seed, "versions": versions("psycopg")}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
