"""`secom serve` under a crowd: how long calls take, what fails, and what is lost when it is stopped or killed.

    python -m benchmarks.serving [--clients 64] [--seconds 60] [--pause 0] [--json benchmarks/results/serving.json]

Each client has a token and a scope of its own, which begins with a hundred turns. It remembers an exchange of two
messages with ids, recalls with 500 tokens, and so on without a pause, unless ``--pause`` gives one in seconds. The
server is a process of its own over a file of SQLite; the clients share another process. After the time it is sent
SIGTERM in the middle of their calls; then it is started again over the same file, and after a few seconds it is killed.
*lost* is how many messages were acknowledged with status 200 and are not in the file afterwards, as another process
reads it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np

from benchmarks.adding import sessions, utterances
from benchmarks.retrieval import versions
from benchmarks.served import Served, serving
from secom_core import MemoryBank
from secom_core.conversation import Scope

TURNS: Final = 100
KILLED_AFTER_S: Final = 5.0
_KINDS: Final = ("remember", "recall")


@dataclass
class Outcome:
    """What the clients saw.

    Args:
        took: how long each call took, in milliseconds, by kind.
        errors: what was answered with another status than 200, or not at all, before the server was told to end.
        acknowledged: the ids of the messages that were answered with 200, by scope.
        exit_code: of the server.
    """

    took: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    errors: list[str] = field(default_factory=list)
    acknowledged: dict[Scope, set[str]] = field(default_factory=dict)
    exit_code: int | None = None


@dataclass
class _Crowd:
    served: Served
    tokens: dict[Scope, str]
    pause: float
    outcome: Outcome = field(default_factory=Outcome)
    ended: bool = False

    async def client(self, scope: Scope, texts: Iterator[str], prefix: str) -> None:
        headers = {"authorization": f"Bearer {self.tokens[scope]}"}
        kept = self.outcome.acknowledged.setdefault(scope, set())
        async with httpx.AsyncClient(base_url=self.served.url, headers=headers, timeout=30) as http:
            for number in itertools.count():
                ids = [f"{prefix}-{number}-{each}" for each in "ab"]
                said = [
                    {"role": role, "content": next(texts), "id": each}
                    for role, each in zip(("user", "assistant"), ids, strict=True)
                ]
                if await self.call(http, "remember", {"messages": said, "session": f"{prefix} {number // 20}"}):
                    kept.update(ids)
                await self.call(http, "recall", {"query": next(texts), "token_budget": 500})
                if self.ended:
                    return
                await asyncio.sleep(self.pause)

    async def call(self, http: httpx.AsyncClient, kind: str, body: dict[str, Any]) -> bool:
        begin = time.perf_counter()
        try:
            found = await http.post(f"/v1/{kind}", json=body)
        except httpx.HTTPError as error:
            if not self.ended:
                self.outcome.errors.append(f"{kind}: {type(error).__name__}")
            return False
        if found.status_code != 200 and not self.ended:
            self.outcome.errors.append(f"{kind}: {found.status_code} {found.text[:200]}")
        elif not self.ended:
            self.outcome.took[kind].append((time.perf_counter() - begin) * 1000)
        return found.status_code == 200

    async def run(self, seconds: float, *, kill: bool, prefix: str) -> None:
        clients = [
            asyncio.create_task(self.client(scope, itertools.cycle(utterances(200, number)), prefix))
            for number, scope in enumerate(self.tokens)
        ]
        await asyncio.sleep(seconds)
        self.ended = True
        await asyncio.to_thread(self.served.kill if kill else self.served.stop)
        self.outcome.exit_code = self.served.process.returncode
        await asyncio.gather(*clients)


def scopes(clients: int) -> list[Scope]:
    return [("acme", f"user-{number}") for number in range(clients)]


def filled(path: Path, clients: int) -> None:
    """Give every scope turns to search."""
    with MemoryBank.open(path) as bank:
        for number, scope in enumerate(scopes(clients)):
            for session in sessions(utterances(TURNS, number)):
                bank.remember(scope, session, close=True)


def crowd(folder: Path, clients: int, seconds: float, *, kill: bool = False, pause: float = 0.0) -> Outcome:
    """A crowd at a server over the bank of a folder, until it is stopped, or killed, in the middle of their calls."""
    prefix = "killed" if kill else "stopped"
    (folder / "tokens.jsonl").unlink(missing_ok=True)
    (folder / "tokens.jsonl").touch(mode=0o600)
    with serving(folder, "--tokens-file", "tokens.jsonl") as served:
        tokens = {scope: served.token(f"{prefix}-{number}", scope) for number, scope in enumerate(scopes(clients))}
        found = _Crowd(served, tokens, pause)
        asyncio.run(found.run(seconds, kill=kill, prefix=prefix))
    return found.outcome


def lost(path: Path, outcomes: Sequence[Outcome]) -> int:
    """How many acknowledged messages are not in the file."""
    missing = 0
    with MemoryBank.open(path) as bank:
        for scope in {scope for outcome in outcomes for scope in outcome.acknowledged}:
            there = {message.id for turn in bank.turns(scope) for message in turn.messages}
            missing += sum(len(outcome.acknowledged.get(scope, set()) - there) for outcome in outcomes)
    return missing


def figures(outcome: Outcome, seconds: float) -> dict[str, Any]:
    """What is printed and kept of a run."""
    found: dict[str, Any] = {}
    for kind, took in outcome.took.items():
        p50, p95, p99 = (float(each) for each in np.percentile(took or [0.0], (50, 95, 99)))
        found[kind] = {"calls": len(took), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "a_second": len(took) / seconds}
    acknowledged = sum(map(len, outcome.acknowledged.values()))
    return {**found, "errors": len(outcome.errors), "acknowledged": acknowledged, "exit_code": outcome.exit_code}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/serving.json"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder / "memory.db", args.clients)
        stopped = crowd(folder, args.clients, args.seconds, pause=args.pause)
        lost_stopped = lost(folder / "memory.db", [stopped])
        killed = crowd(folder, args.clients, KILLED_AFTER_S, kill=True, pause=args.pause)
        lost_killed = lost(folder / "memory.db", [stopped, killed])
    rows = {
        "SIGTERM": {**figures(stopped, args.seconds), "lost": lost_stopped},
        "kill -9": {**figures(killed, KILLED_AFTER_S), "lost": lost_killed},
    }
    for name, row in rows.items():
        for kind in _KINDS:
            print(f"{name:8s} {kind:9s}", ", ".join(f"{key} {value:,.1f}" for key, value in row[kind].items()))
        print(f"{name:8s}", ", ".join(f"{key} {row[key]}" for key in ("errors", "acknowledged", "lost", "exit_code")))
    for error in sorted(set(stopped.errors + killed.errors))[:10]:
        print("error:", error)
    setting = {"clients": args.clients, "seconds": args.seconds, "pause": args.pause, "cores": os.cpu_count()}
    kept = {**setting, "load_before": os.getloadavg()[2], "rows": rows}
    kept["versions"] = versions("secom-memory", "mcp", "starlette", "uvicorn", "sqlalchemy")
    args.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
