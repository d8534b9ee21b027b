"""The soak, for seconds in place of half an hour."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import soak

SHORT = "--minutes 0.08 --scopes 2 --memory-mib 1 --reopen 1 --every 0.2"


@pytest.mark.slow
def test_a_short_soak_does_everything_and_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, picture = tmp_path / "soak.json", tmp_path / "soak.svg"
    monkeypatch.setattr(sys, "argv", ["soak", *SHORT.split(), "--json", str(told), "--picture", str(picture)])
    # So short a run is no proof of anything being level.
    monkeypatch.setattr(soak, "BOUNDED", {})
    soak.main()
    run = json.loads(told.read_text())
    assert min(run["done"].get(each, 0) for each in ("remember", "recall", "learn", "reopen")) > 0
    assert {len(curve) for curve in run["curves"].values()} == {len(run["curves"]["seconds"])}
    assert picture.read_text().count("<path") > len(run["curves"])


def test_a_curve_that_grows_is_told_of() -> None:
    level, growing = [50.0, 51.0] * 20, [float(each) for each in range(10, 50)]
    assert soak.too_much({"resident MiB": level, "descriptors": level, "threads": level}) == []
    [found] = soak.too_much({"resident MiB": level, "descriptors": growing, "threads": level})
    assert found.startswith("descriptors grew from 34.5 to 44.5")
