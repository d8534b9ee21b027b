"""A bank in an event loop with a thousand calls at once: what the loop waits, how many threads, what a cancel leaves.

    python -m benchmarks.event_loop [--calls 1000] [--json OUT]

Half of the calls remember a turn, half recall, all at once, over 50 scopes of 100 turns each in one file. Beside them
runs a task that wakes every 5 milliseconds: how much later than that it wakes is the *lag* of the loop, what every
other request of the server waits. Rows: `AsyncMemoryBank`; the bank in the loop's own threads (`asyncio.to_thread`), as
one would write it; and the bank called in the loop itself, which shows what is at stake. Then as many calls again of
which every second is cancelled at a moment drawn by a seed: *whole* says whether each message is there once or not at
all, and those that were answered are there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.adding import sessions, utterances
from benchmarks.retrieval import versions
from secom_core import AsyncMemoryBank, MemoryBank

SCOPES: Final = 50
TURNS: Final = 100
TICK_S: Final = 0.005

Call = Callable[[str, tuple[Any, ...], dict[str, Any]], Awaitable[Any]]


def filled(path: Path) -> None:
    """Give every scope turns, and read each once."""
    with MemoryBank.open(path) as bank:
        for number in range(SCOPES):
            for session in sessions(utterances(TURNS, number)):
                bank.remember(scope(number), session, close=True)


def scope(number: int) -> tuple[str, str]:
    return "acme", f"user-{number % SCOPES}"


async def lag(stop: asyncio.Event) -> list[float]:
    """How much later than it wanted a task wakes, in milliseconds."""
    found: list[float] = []
    while not stop.is_set():
        begin = time.perf_counter()
        await asyncio.sleep(TICK_S)
        found.append((time.perf_counter() - begin - TICK_S) * 1000)
    return found


async def one(call: Call, number: int, text: str) -> Any:
    if number % 2:
        return await call("recall", (scope(number), text), {"token_budget": 500})
    return await call("remember", (scope(number), [("user", text)]), {"session": "now"})


async def crowd(call: Call, calls: int) -> dict[str, float]:
    """All calls at once, with the lag of the loop beside them."""
    stop, before = asyncio.Event(), threading.active_count()
    watching = asyncio.create_task(lag(stop))
    await asyncio.sleep(0.1)
    begin = time.perf_counter()
    await asyncio.gather(*(one(call, number, text) for number, text in enumerate(utterances(calls, 1))))
    took, threads = time.perf_counter() - begin, threading.active_count() - before
    stop.set()
    lags = await watching
    return {
        "seconds": took,
        "lag_p50": float(np.percentile(lags, 50)),
        "lag_p99": float(np.percentile(lags, 99)),
        "lag_max": max(lags),
        "threads": threads,
    }


async def cancelled(bank: AsyncMemoryBank, calls: int) -> dict[str, Any]:
    """Every second call cancelled at some moment: whether each message is there as a whole or not at all."""
    draw, answered = random.Random(5), set[str]()

    async def remember(number: int) -> None:
        await bank.remember(
            scope(number), [{"role": "user", "content": f"Kept {number}.", "id": f"k{number}"}], session="c"
        )
        answered.add(f"k{number}")

    tasks = [asyncio.create_task(remember(number)) for number in range(calls)]
    for task in tasks[::2]:
        asyncio.get_running_loop().call_later(draw.random() * calls / 300, task.cancel)
    await asyncio.wait(tasks)
    there = [turn.id for number in range(SCOPES) for turn in await bank.turns(scope(number), "c")]
    return {
        "cancelled": sum(task.cancelled() for task in tasks),
        "answered": len(answered),
        "lost": len(answered - set(there)),
        "doubled": len(there) - len(set(there)),
        "amiss": len(await bank.check()),
    }


async def rows(path: Path, calls: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with await AsyncMemoryBank.open(path) as bank:
        found["AsyncMemoryBank"] = await crowd(lambda name, given, named: getattr(bank, name)(*given, **named), calls)
        found["cancelled"] = await cancelled(bank, calls)
    with MemoryBank.open(path) as inside:

        async def in_the_loop(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return getattr(inside, name)(*given, **named)

        found["MemoryBank in asyncio.to_thread"] = await crowd(
            lambda name, given, named: asyncio.to_thread(getattr(inside, name), *given, **named), calls
        )
        found["MemoryBank in the loop"] = await crowd(in_the_loop, calls)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        filled(path)
        found = asyncio.run(rows(path, args.calls))
    for name, row in found.items():
        print(f"{name:34s} " + ", ".join(f"{key} {value:.1f}" for key, value in row.items()))
    if args.json:
        kept = {"calls": args.calls, "rows": found, "versions": versions("secom-memory", "sqlalchemy")}
        args.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
