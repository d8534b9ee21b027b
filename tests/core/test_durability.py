"""What `remember` returned for is never lost: not to `kill -9`, not to other writers of the same store."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from secom_core.bank import MemoryBank

WORKER = Path(__file__).with_name("durability_worker.py")
ANN = ("acme", "ann")


def start(path: Path | str, name: str, count: int = 1_000_000) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(process: subprocess.Popen[str]) -> list[str]:
    out, _ = process.communicate(timeout=120)
    # A line cut short by the kill was not acknowledged.
    return [line.strip() for line in out.splitlines(keepends=True) if line.endswith("\n") and line.strip() != "ready"]


def stored_ids(bank: MemoryBank) -> list[str]:
    return [turn.id for session in bank.sessions(ANN) for turn in bank.turns(ANN, session)]


@pytest.mark.slow
def test_kill_9_at_random_moments_loses_no_returned_turn(place):
    moments = random.Random(7)
    promised: list[str] = []
    runs = 8 if isinstance(place, Path) else 3
    for run in range(30):
        if run >= runs and len(promised) > 10:
            break
        process = start(place, f"w{run}")
        assert process.stdout.readline() == "ready\n"
        if run % 2:
            # On a slow day the moment alone would come before the first turn is written.
            promised.append(process.stdout.readline().strip())
        time.sleep(moments.uniform(0, 0.15 if isinstance(place, Path) else 0.4))
        process.send_signal(signal.SIGKILL)
        promised += acknowledged(process)
    assert len(promised) > 10, "the writers were killed before they wrote anything worth testing"
    with MemoryBank.open(place) as bank:
        stored = stored_ids(bank)
        assert set(promised) <= set(stored)
        assert len(stored) == len(set(stored))
        for turn_id in promised[:: max(1, len(promised) // 20)]:
            session, number = turn_id.rsplit("-", 1)
            found = bank.recall(ANN, f"parcel{number} of writer {session}", token_budget=2000)
            assert turn_id in {turn.id for turn in found.turns}


@pytest.mark.slow
def test_four_processes_write_one_store(place):
    with MemoryBank.open(place) as reader:
        writers = [start(place, f"p{number}", 25) for number in range(4)]
        promised = [turn_id for writer in writers for turn_id in acknowledged(writer)]
        assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
        assert len(promised) == 100
        assert sorted(stored_ids(reader)) == sorted(promised)
        seen = reader.recall(ANN, "parcel24 writer p2", token_budget=300)
        assert "p2-24" in {turn.id for turn in seen.turns}


@pytest.mark.slow
@pytest.mark.usefixtures("every_step")
def test_a_bank_can_be_made_by_many_at_once(tmp_path):
    """As the workers of a server do that start together; without waiting for the write-ahead log, 1 in 150 failed."""
    together = threading.Barrier(8)

    def make(path: Path) -> int:
        together.wait()
        with MemoryBank.open(path) as bank:
            return len(bank.scopes())

    with ThreadPoolExecutor(together.parties) as pool:
        for number in range(60):
            assert set(pool.map(make, [tmp_path / f"{number}.db"] * together.parties)) == {0}
