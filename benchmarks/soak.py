"""What a long run leaves behind: memory, disk, open files and threads as curves. Nothing may grow without bound.

    python -m benchmarks.soak [--minutes 30] [--scopes 2000] [--memory-mib 64] [--vectors] [--reopen 60]
                              [--picture soak.svg] [--json OUT]

One process, one file. A scope drawn at random, a tenth of them more often, is written to, recalled from, learns from an
answer that cites, and forgets: its oldest session where it has more than four, so that what is stored has a bound. One
in twenty turns is derived by a `BackgroundWriter`. Every ``--reopen`` seconds the bank is closed and opened again. The
scopes' indexes take ``--memory-mib`` at most, far less than they would need.

The file grows until every scope has its four sessions; from then on everything should be level. How much each curve
grew from the third quarter of the time to the last is printed, and the run ends with an error where one of memory,
descriptors and threads grew by more than a tenth of itself (and by more than 8 MiB, or 4).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import mean
from typing import Any, Final

from benchmarks.adding import utterances
from benchmarks.latency import HashedWords
from benchmarks.places import resident_mib, stored_bytes
from benchmarks.retrieval import versions
from secom_core import MemoryBank, Message
from secom_core.bank import BackgroundWriter

KEPT: Final = 4
"""How many sessions a scope has at most."""
TURNS: Final = 12
"""How many exchanges a session has."""
START: Final = datetime(2024, 1, 1, tzinfo=timezone.utc)
BOUNDED: Final = {"resident MiB": 8.0, "descriptors": 4.0, "threads": 4.0}
"""What is level, and by how much each may grow in any case."""

Curves = dict[str, list[float]]


class Soak:
    """A bank under a mixed load.

    Args:
        path: the bank's file.
        scopes: how many there are.
        memory: bytes of the scopes' indexes.
        vectors: whether there is an embedder.
        seed: of everything that is drawn.
    """

    def __init__(self, path: Path, scopes: int, memory: int, *, vectors: bool, seed: int) -> None:
        self._path, self._memory = path, memory
        self._embedder = HashedWords() if vectors else None
        self._rng = random.Random(seed)
        self._texts = utterances(20_000, seed)
        self._scopes = [("soak", f"user{number}") for number in range(scopes)]
        self._said: Counter[tuple[str, ...]] = Counter()
        self.done: Counter[str] = Counter()
        self._open()

    def _open(self) -> None:
        self._bank = MemoryBank.open(self._path, embedder=self._embedder, citations=True, max_memory=self._memory)
        self._writer = BackgroundWriter(self._bank)

    def close(self) -> None:
        """Close the bank, after what waits is written."""
        self._writer.close()
        self._bank.close()

    def reopen(self) -> None:
        """Close the bank and open it again."""
        self.close()
        self._open()
        self.done["reopen"] += 1

    def step(self) -> None:
        """One exchange of a scope, and now and then what else is done with a memory."""
        # The most active tenth of the scopes has half of the calls.
        many = self._rng.random() < 0.5
        scope = self._scopes[self._rng.randrange(-(-len(self._scopes) // 10) if many else len(self._scopes))]
        self._remember(scope)
        if self._rng.random() < 0.5:
            self._recall(scope, learn=self._rng.random() < 0.3)
        if self._rng.random() < 0.01:
            list(self._bank.storage.export(scope))
            self.done["export"] += 1

    def _remember(self, scope: tuple[str, ...]) -> None:
        number = self._said[scope]
        self._said[scope] += 1
        session, at = f"s{number // TURNS}", START + timedelta(hours=number)
        first, second = self._rng.choices(self._texts, k=2)
        said = [Message(first, "user", at=at), Message(f"{second} {first}", "assistant", at=at)]
        last = number % TURNS == TURNS - 1
        if self._rng.random() < 0.05 and not last:
            self._writer.remember(scope, said, session=session)
        else:
            self._bank.remember(scope, said, session=session, close=last)
        self.done["remember"] += 1
        if last and number // TURNS >= KEPT:
            self._bank.forget(scope, session=f"s{number // TURNS - KEPT}")
            self.done["forget"] += 1

    def _recall(self, scope: tuple[str, ...], *, learn: bool) -> None:
        query = " ".join(self._rng.choice(self._texts).split()[:8])
        recall = self._bank.recall(scope, query, token_budget=500)
        self.done["recall"] += 1
        if learn and recall.numbers:
            self._bank.citations.reward(scope, query, recall.impression, recall.numbers[:1])
            self.done["learn"] += 1

    def now(self) -> dict[str, float]:
        """What the process and the file take."""
        return {
            "resident MiB": resident_mib(),
            "file MiB": stored_bytes(str(self._path)) / 2**20,
            "descriptors": len(os.listdir("/proc/self/fd")),
            "threads": threading.active_count(),
            "indexes MiB": self._bank.health().bytes_loaded / 2**20,
        }


def soaked(path: Path, options: argparse.Namespace) -> tuple[Curves, Counter[str]]:
    """The curves of a whole run, a point a second, and how often what was done."""
    soak = Soak(path, options.scopes, options.memory_mib * 2**20, vectors=options.vectors, seed=options.seed)
    curves: Curves = {"seconds": []}
    begun = sampled = opened = time.monotonic()
    while (now := time.monotonic()) - begun < 60 * options.minutes:
        soak.step()
        if now - opened >= options.reopen:
            soak.reopen()
            opened = now
        if now - sampled >= options.every:
            sampled = now
            curves["seconds"].append(round(now - begun, 1))
            for name, value in soak.now().items():
                curves.setdefault(name, []).append(round(value, 2))
    soak.close()
    return curves, soak.done


def growth(curve: list[float]) -> tuple[float, float]:
    """The means of the third quarter of a curve, and of the last."""
    quarter = max(1, len(curve) // 4)
    return mean(curve[-2 * quarter : -quarter] or curve), mean(curve[-quarter:])


def too_much(curves: Curves) -> list[str]:
    """Which of the curves that should be level grow."""
    found = []
    for name, allowed in BOUNDED.items():
        before, after = growth(curves[name])
        if after - before > max(allowed, before / 10):
            found.append(f"{name} grew from {before:.1f} to {after:.1f}")
    return found


def draw(path: Path, curves: Curves) -> None:
    """The curves, one above the other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in curves if name != "seconds"]
    figure, panels = plt.subplots(len(names), figsize=(6.4, 1.5 * len(names)), sharex=True)
    minutes = [second / 60 for second in curves["seconds"]]
    for name, axes in zip(names, panels, strict=True):
        axes.plot(minutes, curves[name], lw=1)
        axes.set(ylabel=name, ylim=(0, 1.15 * max(curves[name])))
    panels[-1].set(xlabel="minutes")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--scopes", type=int, default=2000)
    parser.add_argument("--memory-mib", type=int, default=64)
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--reopen", type=float, default=60, help="seconds after which the bank is opened again")
    parser.add_argument("--every", type=float, default=1, help="seconds between two points of the curves")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        curves, done = soaked(Path(folder) / "soak.db", options)
    print(", ".join(f"{count:,} × {name}" for name, count in done.most_common()))
    for name in (each for each in curves if each != "seconds"):
        before, after = growth(curves[name])
        print(f"{name}: {curves[name][0]} first, {before:.1f} in the third quarter, {after:.1f} in the last")
    if options.picture:
        draw(options.picture, curves)
    if options.json:
        told: dict[str, Any] = {"minutes": options.minutes, "scopes": options.scopes, "vectors": options.vectors}
        told |= {"memory_mib": options.memory_mib, "done": dict(done), "curves": curves, "seed": options.seed}
        options.json.write_text(json.dumps(told | {"versions": versions()}) + "\n", encoding="utf-8")
    if grown := too_much(curves):
        raise SystemExit("; ".join(grown))


if __name__ == "__main__":
    main()
