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
