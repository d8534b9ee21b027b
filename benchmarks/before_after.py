"""What recalling and adding cost in this checkout against another one: both in one run, taking turns.

``python -m benchmarks.before_after --before FOLDER [--turns 5000] [--budgets 1000 4000] [--rounds 3] [--json OUT]``

``FOLDER`` is a checkout of the project as it was, such as one that ``git worktree add`` makes. Each round runs either
checkout in a process of its own, with the same seeded talk: people's (utterances of 8 to 30 words) and a chat with an
assistant (exchanges with replies of some 1,000 words). A recall is the whole of `MemoryBank.recall`; adding is
`MemoryBank.remember` on a file with the recall that sees it, less a recall. The least median of the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.adding import SESSION_TURNS, milliseconds, sessions, utterances
from benchmarks.latency import HashedWords
from benchmarks.retrieval import versions
from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Session, group_messages

HERE = Path(__file__).resolve().parents[1]
SCOPE = ("benchmark", "before")
QUERIES, ADDED = 40, 20
LONG = 20
"""How many exchanges a hundred utterances stand for in a chat whose replies are long."""


def chat(exchanges: int, seed: int) -> list[Session]:
    """A user's messages, and replies of some fifty sentences."""
    asked, said = utterances(exchanges, seed), iter(utterances(exchanges * 50, seed + 1))
    made = []
    for number, first in enumerate(range(0, exchanges, SESSION_TURNS)):
        messages = [
            message
            for text in asked[first : first + SESSION_TURNS]
            for message in (Message(text, role="user"), Message(" ".join(next(said) for _ in range(50)), "assistant"))
        ]
        made.append(Session(f"c{number}", group_messages(messages, f"c{number}")))
    return made


def measured(turns: int, budgets: list[int]) -> Iterator[tuple[str, float]]:
    """What one checkout takes, in milliseconds; medians."""
    kinds: dict[str, Callable[[], list[Session]]] = {
        "talk": lambda: sessions(utterances(turns, 0)),
        "chat": lambda: chat(turns // LONG, 0),
    }
    queries = [" ".join(text.split()[:8]) for text in utterances(QUERIES, 7)]
    for kind, made in kinds.items():
        for name, embedder in (("by words", None), ("with vectors", HashedWords())):
            with (
                tempfile.TemporaryDirectory() as folder,
                MemoryBank.open(Path(folder) / "bank.db", embedder=embedder) as bank,
            ):
                for session in made():
                    bank.remember(SCOPE, session, close=True)
                for budget in budgets:
                    times = [_recall(bank, query, budget) for query in (queries[0], *queries)][1:]
                    yield f"recall, {kind}, {name}, {budget} tokens", statistics.median(times)
                yield f"add, {kind}, {name}", statistics.median(_added(bank, kind == "chat"))


def _recall(bank: MemoryBank, query: str, budget: int) -> float:
    return milliseconds(lambda: bank.recall(SCOPE, query, token_budget=budget))


def _added(bank: MemoryBank, is_chat: bool) -> list[float]:
    taken = []
    for text, *reply in zip(utterances(ADDED, 11), *([utterances(ADDED, 12)] if is_chat else []), strict=True):
        said = [Message(text, "user" if is_chat else "")]
        said += [Message(" ".join(reply * 50), "assistant")] if is_chat else []
        usual = _recall(bank, text, 500)
        begin = time.perf_counter()
        bank.remember(SCOPE, said, session="new")
        bank.recall(SCOPE, text, token_budget=500)
        taken.append((time.perf_counter() - begin) * 1000 - usual)
    return taken


def run_in(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """The figures of the checkout in ``folder``, by this module."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    budgets = [str(budget) for budget in options.budgets]
    command = [sys.executable, "-c", _WORKER, str(HERE), "--turns", str(options.turns), "--budgets", *budgets]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


_WORKER = """
import sys
here = sys.argv.pop(1)
import secom_core
sys.argv.append("--worker")
import benchmarks
benchmarks.__path__.append(here + "/benchmarks")
from benchmarks.before_after import main
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 4000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(dict(measured(options.turns, options.budgets))))
        return
    if options.before is None:
        parser.error("--before takes a checkout of the project as it was")
    folders = {"before": options.before.resolve(), "after": HERE}
    rounds = [{name: run_in(folder, options) for name, folder in folders.items()} for _ in range(options.rounds)]
    results: dict[str, dict[str, Any]] = {}
    print(f"{options.turns} turns; milliseconds, the least of {options.rounds} medians")
    for name in rounds[0]["after"]:
        before, after = (min(each[which][name] for each in rounds) for which in ("before", "after"))
        results[name] = {"before": round(before, 3), "after": round(after, 3), "ratio": round(after / before, 2)}
        print(f"{name:<46}{before:>9.2f}{after:>9.2f}{after / before:>8.2f}x")
    if options.json:
        kept = {"turns": options.turns, "milliseconds": results, "versions": versions()}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
