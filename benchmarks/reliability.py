"""Kills, crowds, damage: what is lost of what was acknowledged. Ours, and with ``--peers`` theirs, in one run.

    python -m benchmarks.reliability [--store sqlite postgres] [--kills 200] [--seconds 120] [--peers] [--json OUT]

A worker process prints a line for each call that has returned: a promise. It is killed with SIGKILL at a random moment
(``--kills`` times in all), or lives with seven others of eight threads each for ``--seconds``. Then the bank is opened
again, and every promise is looked for:

- *lost*: promised and not there; *doubled*: there twice; *undead*: promised to be gone and there.
- *amiss*: searches whose answer is not that of a new bank that has taken in the export of this one; what
  `MemoryBank.check` finds; in a crowd also searches that do not bring back what the same thread has just said.
- *errors*: what reached a caller and is no clear error of ours.

All five are to be 0. The moments are drawn by ``--seed``; what a process was doing at its moment is chance. Further
suites damage files, have the language model lie, remember odd texts, and run the tests of attacks (``--cases``):
`benchmarks.reliability_faults` says what each counts.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.peers import PACKAGES
from benchmarks.places import Places, stores
from benchmarks.promises import Outcome, look, stored
from benchmarks.reliability_faults import attacked, damaged, lied_to, odd_texts
from benchmarks.reliability_peers import PEERS
from benchmarks.reliability_worker import CLIENTS, SCOPE, said
from benchmarks.retrieval import versions
from secom_core import MemoryBank

FIXTURES: Final = Path(__file__).parents[1] / "tests" / "fixtures"
PROCESSES: Final = 8


# -- processes --------------------------------------------------------------------------------------------------------


def started(duty: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.reliability_worker", duty, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def promises_of(process: subprocess.Popen[str], outcome: Outcome) -> list[dict[str, Any]]:
    """What it has promised to its end; a line that the kill cut short promised nothing."""
    out, complaint = process.communicate(timeout=600)
    if process.returncode not in (0, -signal.SIGKILL) or "Traceback" in complaint:
        outcome.errors.append(complaint.strip()[-500:] or f"exit status {process.returncode}")
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


def killed(moment: float, outcome: Outcome, duty: str, *arguments: str) -> list[dict[str, Any]]:
    """What a worker promised that was killed so many seconds after it was ready."""
    process = started(duty, *arguments)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    outcome.runs += 1
    return promises_of(process, outcome)


# -- suites -----------------------------------------------------------------------------------------------------------


def kill_writers(duty: str, store: str, places: Places, runs: int, rng: random.Random) -> Outcome:
    """Remember, background derivation, the index, forget: one bank that grows, a killed writer after the other."""
    outcome, target = Outcome(f"kill -9 in {duty}", store), places(duty)
    MemoryBank.open(target).close()
    said_so, gone = [], set()
    for run in range(runs):
        # One that forgets takes several times as long to have done anything.
        for each in killed(rng.uniform(0, 1.5 if duty == "forget" else 0.25), outcome, duty, target, f"w{run}"):
            said_so += [each["id"]] if "id" in each else []
            gone |= {each["gone"]} if "gone" in each else set()
    with MemoryBank.open(target) as bank:
        look(outcome, bank, SCOPE, [each for each in said_so if not forgetting(each, gone)], gone)
    return outcome


def forgetting(identity: str, gone: set[str]) -> bool:
    """Whether its forgetting may have been under way, or done, when the process was killed."""
    return "secret" in identity or identity in gone


def kill_rebuild(store: str, places: Places, runs: int, rng: random.Random) -> Outcome:
    outcome, target = Outcome("kill -9 in rebuild", store), places("rebuild")
    promised = filled(target, 300)
    for _ in range(runs):
        killed(rng.uniform(0, 0.4), outcome, "rebuild", target, "r")
    with MemoryBank.open(target) as bank:
        look(outcome, bank, SCOPE, promised, set())
    return outcome


def kill_moves(way: tuple[str, str], places: Places, others: Places, runs: int, rng: random.Random) -> Outcome:
    """A move that was killed is begun again, and is whole at its end."""
    outcome, source = Outcome(f"kill -9 in move to {way[1]}", way[0]), places("move")
    promised = filled(source, 300)
    for run in range(runs):
        target = others(f"moved{run}")
        MemoryBank.open(target).close()
        killed(rng.uniform(0, 0.5), outcome, "move", source, "m", target)
        with MemoryBank.open(source) as bank, MemoryBank.open(target) as moved:
            bank.storage.move_to(moved.storage)
            look(outcome, moved, SCOPE, promised, set())
    return outcome


def kill_imports(store: str, places: Places, runs: int, rng: random.Random) -> Outcome:
    """An import that was killed is begun again, and is whole at its end."""
    outcome, source = Outcome("kill -9 in import", store), places("exported")
    promised = filled(source, 300)
    with tempfile.TemporaryDirectory(prefix="lines-") as folder, MemoryBank.open(source) as bank:
        lines = Path(folder) / "export.jsonl"
        lines.write_text("\n".join(bank.storage.export(SCOPE)), encoding="utf-8")
        for run in range(runs):
            target = places(f"imported{run}")
            MemoryBank.open(target).close()
            killed(rng.uniform(0, 0.3), outcome, "take_in", target, "i", str(lines))
            with MemoryBank.open(target) as taken_in:
                taken_in.storage.import_(lines.read_text(encoding="utf-8").splitlines())
                look(outcome, taken_in, SCOPE, promised, set())
    return outcome


def kill_migrations(places: Places, runs: int, rng: random.Random) -> Outcome:
    """A file of an older version, killed while it is brought up to date."""
    outcome, older = Outcome("kill -9 in migration", "sqlite"), sorted(FIXTURES.glob("*.sql"))
    for run in range(runs):
        target, whole = older_bank(older[run % len(older)], places(f"migrated{run}")), places(f"whole{run}")
        shutil.copy(target, whole)
        killed(rng.uniform(0, 0.1), outcome, "migrate", target, "m")
        with MemoryBank.open(target) as bank, MemoryBank.open(whole) as intact:
            for scope in intact.scopes():
                outcome.promises += len(there := stored(intact, scope))
                outcome.lost += len(set(there) - set(stored(bank, scope)))
                outcome.doubled += len(stored(bank, scope)) - len(there)
    return outcome


def older_bank(statements: Path, target: str) -> str:
    """A file as an older version left it."""
    with closing(sqlite3.connect(target)) as connection:
        connection.executescript(statements.read_text(encoding="utf-8"))
    return target


def crowd(store: str, places: Places, seconds: float) -> Outcome:
    """Eight processes of eight threads; afterwards every promise is there once."""
    outcome, target = Outcome(f"{PROCESSES} processes of {CLIENTS} threads", store), places("crowd")
    MemoryBank.open(target).close()
    workers = [started("crowd", target, f"p{number}", str(seconds)) for number in range(PROCESSES)]
    told = [each for worker in workers for each in promises_of(worker, outcome)]
    outcome.runs = PROCESSES
    outcome.errors += [each["error"] for each in told if "error" in each]
    for each in told:
        if not each.get("seen", True):
            outcome.note("a thread that does not find what it has just said")
    for kind in ("write", "recall"):
        taken = [each[kind] * 1000 for each in told if kind in each]
        outcome.milliseconds[kind] = {f"p{rank}": round(float(np.percentile(taken, rank)), 1) for rank in (50, 95, 100)}
    with MemoryBank.open(target) as bank:
        for place in range(4):
            promised = [each["id"] for each in told if each.get("scope") == place]
            look(outcome, bank, (*SCOPE, str(place)), promised, set())
    return outcome


# -- peers ------------------------------------------------------------------------------------------------------------


@dataclass
class Beside:
    """How one memory on disk came through, ours or another."""

    name: str
    kills: int = 0
    reopened: int = 0
    promised: int = 0
    lost: int = 0
    two_writers: str = ""
    odd_messages: dict[str, str] = field(default_factory=dict)


def beside(name: str, folder: Path, kills: int, held: int, rng: random.Random) -> Beside:
    """Kills during adds to a memory of ``held`` turns; two processes on one path; messages that are large or odd."""
    result, scrap = Beside(name, kills), Outcome("peer", name)
    prepared, before = folder / "prepared", [f"given-{number}" for number in range(held)]
    prepared.mkdir(parents=True)
    promises_of(started("peer", str(prepared), "given", name, str(held)), scrap)
    for run in range(kills):
        target = folder / f"kill{run}"
        shutil.copytree(prepared, target)
        told = killed(rng.uniform(0, 0.3), scrap, "peer", str(target), f"w{run}", name, "1000000")
        promised = {*before, *(each["id"] for each in told if "id" in each)}
        there = held_by(PEERS[name], target)
        result.reopened += there is not None
        result.promised += len(promised)
        result.lost += len(promised - set(there or ()))
    result.two_writers = two_writers(name, folder / "two", PEERS[name])
    for kind, text in {"1 MB": "x " * 500_000, "lone surrogate": "a \ud800 b", "empty": ""}.items():
        result.odd_messages[kind] = odd_message(PEERS[name], folder / kind.replace(" ", "-"), text)
    return result


def held_by(open_memory: Callable[[Path], Any], folder: Path) -> list[str] | None:
    """What a memory holds; nothing where it cannot be opened any more, whatever it says then."""
    try:
        return list(open_memory(folder).ids())
    except Exception as error:  # noqa: BLE001
        print(f"    {type(error).__name__}: {str(error)[:100]}", flush=True)
        return None


def two_writers(name: str, folder: Path, open_memory: Callable[[Path], Any]) -> str:
    folder.mkdir()
    scrap = Outcome("peer", name)
    workers = [started("peer", str(folder), f"p{number}", name, "60") for number in range(2)]
    promised = {each["id"] for worker in workers for each in promises_of(worker, scrap) if "id" in each}
    there = set(held_by(open_memory, folder) or ())
    refused = f", {len(scrap.errors)} of 2 stopped with an error" if scrap.errors else ""
    return f"{len(promised - there)} of {len(promised)} lost{refused}"


def odd_message(open_memory: Callable[[Path], Any], folder: Path, text: str) -> str:
    folder.mkdir()
    try:
        open_memory(folder).add("odd", text)
        return "kept" if "odd" in open_memory(folder).ids() else "lost without a word"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {str(error)[:60]}"


# -- banks ------------------------------------------------------------------------------------------------------------


def filled(target: str, count: int) -> list[str]:
    """A bank of three closed sessions; the ids of its turns."""
    messages = [said("given", number) for number in range(count)]
    with MemoryBank.open(target) as bank:
        for start in range(0, count, count // 3):
            bank.remember(SCOPE, messages[start : start + count // 3], session=f"given-{start}", close=True)
    return [each["id"] for each in messages]


# -- report -----------------------------------------------------------------------------------------------------------


def table(outcomes: Sequence[Outcome]) -> str:
    names = ("lost", "doubled", "undead", "amiss", "errors")
    lines = [f"{'suite':<34}{'store':<10}{'runs':>6}{'promises':>10}" + "".join(f"{name:>9}" for name in (*names, "s"))]
    for each in outcomes:
        lines.append(
            f"{each.suite:<34}{each.store:<10}{each.runs:>6}{each.promises:>10}{each.lost:>6}{each.doubled:>9}"
            f"{each.undead:>8}{each.amiss:>7}{len(each.errors):>8}{each.seconds:>7.0f}"
        )
        lines += [f"    {error.splitlines()[-1][:150]}" for error in sorted(set(each.errors))[:5]]
        lines += [f"    {what}: {count}" for what, count in each.told.items()]
        lines += [
            f"    {kind}: " + ", ".join(f"{rank} {ms} ms" for rank, ms in row.items())
            for kind, row in each.milliseconds.items()
        ]
    return "\n".join(lines)


def table_of_peers(rows: Sequence[Beside]) -> str:
    lines = [f"{'memory':<32}{'kills':>6}{'reopened':>10}{'lost of promised':>18}  two writers; odd messages"]
    for each in rows:
        odd = "; ".join(f"{kind}: {what}" for kind, what in each.odd_messages.items())
        share = f"{each.lost} of {each.promised}"
        lines.append(f"{each.name:<32}{each.kills:>6}{each.reopened:>10}{share:>18}  {each.two_writers}; {odd}")
    return "\n".join(lines)


def suites(options: argparse.Namespace, places: Mapping[str, Places]) -> Iterator[Callable[[], Outcome]]:
    """What is asked for, on each store; the kills are shared out evenly."""
    rng, names = random.Random(options.seed), options.store
    each = math.ceil(options.kills / (7 * len(names) + 1))
    for name in names if options.kills else ():
        place, other = places[name], names[-1 - names.index(name)]
        for duty in ("remember", "background", "index", "forget"):
            yield partial(kill_writers, duty, name, place, each, rng)
        yield partial(kill_rebuild, name, place, each, rng)
        yield partial(kill_imports, name, place, each, rng)
        yield partial(kill_moves, (name, other), place, places[other], each, rng)
    if options.kills:
        yield partial(kill_migrations, places["sqlite"], each, rng)
    if options.cases:
        yield partial(damaged, places["sqlite"], options.cases, rng)
        yield partial(lied_to, places["sqlite"], options.cases, rng)
        yield attacked
    for name in names if options.cases else ():
        yield partial(odd_texts, name, places[name], options.cases, rng)
    for name in names if options.seconds else ():
        yield partial(crowd, name, places[name], options.seconds)


def keep(options: argparse.Namespace, outcomes: Sequence[Outcome], rows: Sequence[Beside]) -> None:
    if options.json:
        result: dict[str, Any] = {"ours": list(map(asdict, outcomes)), "beside": list(map(asdict, rows))}
        result |= {"seed": options.seed, "versions": versions("psycopg", *PACKAGES)}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", nargs="+", choices=("sqlite", "postgres"), default=["sqlite"])
    parser.add_argument("--kills", type=int, default=200, help="how often a process is killed, in all")
    parser.add_argument("--seconds", type=float, default=120, help="how long the crowd works on each store; 0: not")
    parser.add_argument("--cases", type=int, default=200, help="damaged files, failing calls, odd texts; 0: none")
    parser.add_argument("--peers", action="store_true", help="besides: what others lose, and ours by the same measure")
    parser.add_argument("--peer-kills", type=int, default=10)
    parser.add_argument("--peer-turns", type=int, default=200, help="how many turns they hold before the kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    rows: list[Beside] = []
    # A socket's path is short.
    with tempfile.TemporaryDirectory(prefix="kill-") as folder, stores(options.store, Path(folder)) as places:
        for suite in suites(options, places):
            begun = time.perf_counter()
            outcome = suite()
            outcome.seconds = round(time.perf_counter() - begun, 1)
            outcomes.append(outcome)
            print(f"{outcome.suite}, {outcome.store}: {outcome.seconds} s", flush=True)
        print(table(outcomes), flush=True)
        keep(options, outcomes, rows)
        if options.peers:
            rng, theirs = random.Random(options.seed), Path(folder) / "peers"
            rows = [beside(name, theirs / name, options.peer_kills, options.peer_turns, rng) for name in PEERS]
            print(table_of_peers(rows))
            keep(options, outcomes, rows)
    if not all(each.is_clean for each in outcomes):
        sys.exit("something was lost: see above")


if __name__ == "__main__":
    main()
