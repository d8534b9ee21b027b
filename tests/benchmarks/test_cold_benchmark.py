"""The benchmark of starts, on little."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import cold
from secom_core.bank import kept_index


@pytest.mark.long
@pytest.mark.slow
def test_a_start_reads_what_was_kept_and_recalls_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kept_index, "_WORTH", 500)
    where = tmp_path / "cold.json"
    monkeypatch.setattr(
        sys,
        "argv",
        ["cold", "--turns", "60", "--vectors", "60", "--starts", "1", "--command", "60", "--json", str(where)],
    )
    cold.main()
    told = json.loads(where.read_text())
    assert [(row["turns"], row["vectors"]) for row in told["cold"]] == [(60, False), (60, True)]
    for row in told["cold"]:
        assert row["of_that_index_mib"] > 0
        assert row["first_recall_ms"] > 0
        assert row["forget_ms"] > 0
    assert told["command"]["messages"] == 60
    assert "first recall ms" in capsys.readouterr().out
