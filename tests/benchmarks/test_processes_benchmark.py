"""The short form of `benchmarks.processes`: real servers, real forks, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import processes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("shape", processes.SHAPES)
def test_no_request_fails_and_no_turn_is_lost(
    shape: str, place: Path | str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for package in processes.PACKAGES[shape]:
        pytest.importorskip(package, reason="a server of the extra 'dev'")
    outcome = processes.run(shape, "any", str(place), tmp_path_factory.mktemp("p"), requests=40, clients=4)
    assert outcome.is_clean, outcome
    assert 1 <= outcome.processes <= outcome.workers


def test_what_is_lost_or_doubled_is_seen() -> None:
    outcome = processes.Outcome("any", "sqlite", 1)
    answers = [{"id": "a", "process": 1, "found": True}, {"id": "b", "process": 1, "found": False}]
    processes.compare(outcome, answers, Counter({"a": 2}))
    assert (outcome.lost, outcome.doubled, outcome.unfound, outcome.processes) == (1, 1, 1, 1)
    assert not outcome.is_clean
    assert "| any | sqlite | 1 | 1 | 0 | 0 | 1 | 1 | 1 | 0 |" in processes.table([outcome])
