"""The short form of the reliability suites, and proof that they can fail."""

from __future__ import annotations

import importlib.util
import json
import random
import sys

import pytest

from benchmarks import growth, reliability, reliability_faults
from benchmarks.reliability_worker import SCOPE, said
from secom_core import MemoryBank

pytestmark = pytest.mark.slow


def run(module, monkeypatch, tmp_path, *arguments: str) -> dict:
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", [module.__name__, *arguments, "--json", str(out)])
    module.main()
    return json.loads(out.read_text())


@pytest.mark.long
def test_nothing_is_lost_to_kills_and_crowds(monkeypatch, tmp_path) -> None:
    """On SQLite; kills on PostgreSQL, with and without a move, are tests of their own in ``tests/core``."""
    short = ("--store", "sqlite", "--kills", "6", "--seconds", "1", "--cases", "0")
    result = run(reliability, monkeypatch, tmp_path, *short)
    duties = ("remember", "background", "index", "forget", "rebuild", "import", "move to sqlite", "migration")
    kills = {f"kill -9 in {what}" for what in duties}
    assert {each["suite"] for each in result["ours"]} == {*kills, "8 processes of 8 threads"}
    assert sum(each["promises"] for each in result["ours"]) > 300
    assert not any(each[what] for each in result["ours"] for what in ("lost", "doubled", "undead", "amiss", "errors"))


def test_damage_lies_and_odd_texts_lose_nothing(tmp_path) -> None:
    def place(name: str) -> str:
        return str(tmp_path / f"{name}.db")

    rng = random.Random(1)
    outcomes = [reliability_faults.damaged(place, 12, rng), reliability_faults.lied_to(place, 12, rng)]
    outcomes.append(reliability_faults.odd_texts("sqlite", place, 20, rng))
    for each in outcomes:
        assert each.is_clean, (each.errors, each)
        assert each.promises
        assert each.runs
    if importlib.util.find_spec("dissect") is not None:  # the extra 'salvage'
        assert outcomes[0].told["turns salvaged"] > 0
    assert outcomes[1].told["warnings that name the cause"] > 0


def test_what_is_lost_doubled_or_undead_is_seen(tmp_path) -> None:
    outcome = reliability.Outcome("any", "sqlite")
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        bank.remember(SCOPE, [said("w", number) for number in range(3)], session="w")
        reliability.look(outcome, bank, SCOPE, ["w-0", "w-7"], {"w-1"})
    assert (outcome.lost, outcome.undead, outcome.doubled, outcome.amiss) == (1, 1, 0, 0)
    assert not outcome.is_clean


def test_a_peer_that_saves_nothing_is_seen_to_lose(monkeypatch, tmp_path) -> None:
    class Forgetful:
        def __init__(self, folder) -> None: ...

        def add(self, identity: str, text: str) -> None: ...

        def ids(self) -> list[str]:
            return []

    assert reliability.odd_message(Forgetful, tmp_path / "odd", "x") == "lost without a word"
    result = reliability.beside("ours", tmp_path / "ours", 1, 20, random.Random(0))
    assert (result.reopened, result.lost, result.two_writers) == (1, 0, "0 of 120 lost")


@pytest.mark.long
def test_growth_in_turns_clients_and_scopes(monkeypatch, tmp_path) -> None:
    sizes = ("--turns", "100", "200", "--clients", "1", "2", "--scopes", "12", "--singles", "3")
    result = run(growth, monkeypatch, tmp_path, *sizes)
    assert [row["turns"] for row in result["turns"]] == [100, 200]
    assert [row["clients"] for row in result["clients"]] == [1, 2]
    assert result["scopes"][0]["turns"] == 1200
    assert set(result["turns_exponents"]["sqlite"]) == {"remember", "recall"}
