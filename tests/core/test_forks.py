"""A bank that was opened before its process forked: the child works with it, and the parent goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).with_name("fork_worker.py")


@pytest.mark.slow
def test_children_of_a_busy_process_work_and_the_parent_goes_on(place: Path | str) -> None:
    run = subprocess.run(
        [sys.executable, str(WORKER), str(place), "6"], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    assert outcome == {"ends": [0] * 6, "errors": [], "lost": [], "queued": 1, "derived": 1}, run.stderr[-3000:]


TORN = """
import os, sys, threading
from secom_core.bank import MemoryBank
from secom_core.errors import StoreError
from secom_core.processes import forks

forks.PATIENCE_S = 0.2
bank = MemoryBank.open(sys.argv[1])
inside, over = threading.Event(), threading.Event()

def call():
    with bank._store.transaction():
        inside.set()
        over.wait()

thread = threading.Thread(target=call)
thread.start()
inside.wait()
child = os.fork()
if not child:
    try:
        bank.remember(("acme", "ann"), [{"role": "user", "content": "I like tea."}], session="s")
        print("remembered", flush=True)
    except StoreError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
over.set()
thread.join()
bank.remember(("acme", "ann"), [{"role": "user", "content": "I like cake."}], session="s")
print(bank.stats(("acme", "ann")).turns)
"""


@pytest.mark.slow
def test_a_fork_in_the_midst_of_a_call_is_refused_by_the_child_and_costs_the_parent_nothing(place: Path | str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", TORN, str(place)], capture_output=True, text=True, timeout=60, check=True
    )
    child, parent = run.stdout.splitlines()
    if isinstance(place, Path):
        assert "cannot be used in this process, which was forked while a call to it was under way" in child
        assert parent == "1"
