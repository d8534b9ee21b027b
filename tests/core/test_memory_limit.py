"""The scopes' indexes in memory: how much they take is known, and is kept under a limit."""

from __future__ import annotations

import gc
import random
import tracemalloc
from pathlib import Path

import pytest
from embedders import HashingEmbedder

from secom_core.bank import MemoryBank
from secom_core.conversation import Message

WORDS = [f"{start}{end}" for start in ("bar", "kel", "mon", "tir", "sup") for end in range(200)]


def talk(turns: int, seed: int, longest: int = 30) -> list[Message]:
    rng = random.Random(seed)
    # As people talk: few words often, most words seldom.
    said = (" ".join(rng.choices(WORDS, range(len(WORDS), 0, -1), k=rng.randrange(3, longest))) for _ in range(turns))
    return [Message(text, "", ("Ann", "Bo")[place % 2], f"{seed}-{place}") for place, text in enumerate(said)]


def filled(path: Path, scopes: int, turns: int, longest: int = 30) -> None:
    with MemoryBank.open(path) as bank:
        for number in range(scopes):
            for start in range(0, turns, 50):
                batch = talk(turns, number, longest)[start : start + 50]
                bank.remember(("u", str(number)), batch, session=f"s{start}", close=True)


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "longest", "dimensions"), [(100, 30, 0), (600, 30, 0), (150, 150, 64)])
def test_what_an_index_takes_is_known_within_a_quarter(tmp_path, turns, longest, dimensions):
    filled(tmp_path / "bank.db", 1, turns, longest)
    embedder = HashingEmbedder(dimensions) if dimensions else None
    with MemoryBank.open(tmp_path / "bank.db", embedder=embedder) as bank:
        bank.remember(("warm",), talk(50, 99), session="s")
        bank.recall(("warm",), "bar1")
        taken, known = taken_by(bank, ("u", "0"))
        assert known == pytest.approx(taken, rel=0.25)


@pytest.mark.slow
def test_what_recalls_read_of_an_index_that_is_on_disk_is_counted(tmp_path):
    filled(tmp_path / "bank.db", 2, 600)
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        for scope in (("u", "0"), ("u", "1")):
            bank.prepare(scope)
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        bank.recall(("u", "0"), "bar1")
        taken, known = taken_by(bank, ("u", "1"))
        assert known == pytest.approx(taken, rel=0.4)
        assert bank.health().bytes_loaded > known
        for number in range(20):
            bank.recall(("u", "1"), f"bar{number} kel{number}")
        states = bank._inside.scopes._states
        assert states.get(("u", "1")).index.nbytes < 1.11 * states._weights[("u", "1")]


def taken_by(bank: MemoryBank, scope: tuple[str, ...]) -> tuple[int, int]:
    """How much memory a recall of a scope takes, and how much the bank says that it does."""
    known = bank._inside.scopes._states.nbytes
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        bank.prepare(scope)
        bank.recall(scope, "bar1 kel2")
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before, bank._inside.scopes._states.nbytes - known
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_least_recently_used_go_where_it_gets_too_much_and_come_back(tmp_path):
    filled(tmp_path / "bank.db", 12, 60)
    scopes = [("u", str(number)) for number in range(12)]
    with MemoryBank.open(tmp_path / "bank.db") as whole, MemoryBank.open(tmp_path / "bank.db") as probe:
        probe.recall(scopes[0], "bar1")
        limit = int(probe._inside.scopes._states.nbytes * 4.5)
        with MemoryBank.open(tmp_path / "bank.db", max_memory=limit) as bank:
            for scope in [*scopes, *reversed(scopes), scopes[3]]:
                for query in ("bar1 kel2", "sup199"):
                    found, expected = bank.recall(scope, query, k=3), whole.recall(scope, query, k=3)
                    assert [hit.turn_ids for hit in found.hits] == [hit.turn_ids for hit in expected.hits]
                assert 0 < bank._inside.scopes._states.nbytes <= limit
            held = list(bank._inside.scopes._states._states)
            assert held[-1] == scopes[3]
            assert 2 <= len(held) <= 5
        assert whole._inside.scopes._states.nbytes > 2 * limit
        whole.forget(scopes[5])
        assert len(whole._inside.scopes._states._states) == 11


@pytest.mark.slow
def test_a_scope_that_is_larger_than_the_limit_is_served_all_the_same(tmp_path):
    filled(tmp_path / "bank.db", 2, 60)
    with MemoryBank.open(tmp_path / "bank.db", max_memory=1) as bank:
        for number in (0, 1, 0):
            assert bank.recall(("u", str(number)), "bar1 bar2 bar3 kel1", k=2).hits
            assert list(bank._inside.scopes._states._states) == [("u", str(number))]


@pytest.mark.slow
def test_growing_is_noticed(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db", max_memory=200_000) as bank:
        for scope in (("a",), ("b",)):
            bank.remember(scope, talk(5, 1), session="s")
            bank.recall(scope, "bar1")
        assert len(bank._inside.scopes._states._states) == 2
        bank.remember(("b",), talk(200, 2), session="t")
        bank.recall(("b",), "bar1")
        assert list(bank._inside.scopes._states._states) == [("b",)]
