"""Banks that earlier schemas wrote: upgraded when opened, with all that they held, and as good as new ones."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from old_banks import FIXTURES, made, opened, write_old

from secom_core.bank import MemoryBank
from secom_core.errors import StoreError
from secom_core.stores.migrations import STEPS, VERSION

ANN, BOB, MAY, TALK = made.ANN, made.BOB, made.MAY, made.TALK
LAYERS = {1: (), 2: ("timelines", "summaries"), 3: ("timelines", "summaries", "topics", "citations")}
RECORDS = {
    "timelines": lambda bank: bank.timelines.events(ANN),
    "summaries": lambda bank: bank.summaries.versions(ANN),
    "topics": lambda bank: bank.topics.all(ANN),
    "citations": lambda bank: bank.citations.log(ANN),
}


def stored(folder: Path, version: int) -> Path:
    """The bank as that schema's code had written it."""
    return write_old(folder / f"bank{version}.db", version)


@pytest.fixture(params=range(1, VERSION + 1))
def version(request):
    return request.param


def test_there_is_a_fixture_of_every_schema_and_it_says_so():
    assert {path.name for path in FIXTURES.glob("schema_*.sql")} == {f"schema_{n}.sql" for n in range(1, VERSION + 1)}


def test_the_file_is_whole_and_says_its_version(tmp_path, version):
    path = stored(tmp_path, version)
    with opened(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        versions = [row[0] for row in connection.execute("SELECT version FROM schema_versions ORDER BY 1")]
        assert versions == list(range(1, VERSION + 1))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        learned = connection.execute("SELECT part FROM part_states WHERE part LIKE '%:%'").fetchall()
        assert learned == [], "weights of signals, which nothing learns any more"


@pytest.mark.slow
def test_what_was_remembered_is_there_and_found(tmp_path, version):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as bank:
        assert bank.scopes() == [ANN, BOB]
        for scope in (ANN, BOB):
            assert {name: [turn.content for turn in bank.turns(scope, name)] for name in TALK} == TALK
            assert [turn.messages[0].metadata for turn in bank.turns(scope, "s1")] == [{"place": n} for n in range(4)]
            assert bank.memories(scope, "s1")
        found = bank.recall(ANN, "Who had the bicycle helmet?", k=3, now=MAY)
        assert "s2-0" in {turn.id for turn in found.turns}
        assert {turn.id for turn in found.turns} <= {turn.id for turn in bank.turns(ANN)}


@pytest.mark.slow
def test_every_layer_is_kept_or_can_be_made(tmp_path, version):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as bank:
        for layer in LAYERS[min(version, 3)]:
            assert RECORDS[layer](bank), layer
            assert bank.layers.behind(ANN, layer) == 0 or layer == "citations", "what was noted of it has its new name"
        answers = len(bank.citations.log(ANN))
        assert answers == (2 if version >= 3 else 0)
        bank.derive(ANN)
        for layer in LAYERS[3][:3]:
            assert RECORDS[layer](bank), layer
        impression = bank.recall(ANN, "the oven thermostat", k=2, now=MAY).impression
        assert bank.citations.reward(ANN, "the oven thermostat", impression, [1]).kind == "recorded"
        assert len(bank.citations.log(ANN)) == answers + 1


@pytest.mark.slow
def test_it_finds_what_a_new_bank_finds(tmp_path, version):
    parts = {**made.parts(), "citations": False}
    with MemoryBank.open(stored(tmp_path, version), **parts) as old, MemoryBank.open(**parts) as new:
        for line in (line for scope in (ANN, BOB) for line in [list(old.storage.export(scope))]):
            new.storage.import_([each for each in line if '"kind": "citation"' not in each])
        for bank in (old, new):
            for scope in (ANN, BOB):
                bank.rebuild(scope)
        for scope in (ANN, BOB):
            for query in ("Who had the helmet?", "sourdough", "Thursday"):
                assert old.recall(scope, query, k=3, now=MAY).text == new.recall(scope, query, k=3, now=MAY).text


@pytest.mark.slow
def test_it_goes_on_and_forgets(tmp_path, version):
    path = stored(tmp_path, version)
    with MemoryBank.open(path, **made.parts()) as bank:
        bank.remember(BOB, [{"role": "user", "content": "Quentin moved to Ghent."}], session="s2", close=True)
        assert "Ghent" in bank.recall(BOB, "Where did Quentin move?", k=2).text
        turns = len(bank.turns(ANN))
        assert turns >= 6
        assert bank.forget(ANN) == turns
        bank.forget(BOB, session="s1")
    with closing(sqlite3.connect(path)) as connection:
        # What a deleted file's pages held is overwritten as it is deleted; see docs/security.
        told = "\n".join(connection.iterdump())
    assert "thermostat" not in told
    assert "Ghent" in told


def test_an_upgraded_bank_moves(tmp_path, version, postgres_url):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as old:  # noqa: SIM117
        with MemoryBank.open(postgres_url, **made.parts()) as server:
            assert old.storage.move_to(server.storage).scopes == 2
            assert server.recall(ANN, "helmet", k=2, now=MAY).text == old.recall(ANN, "helmet", k=2, now=MAY).text


def test_an_upgrade_that_fails_leaves_what_was_there(tmp_path):
    path = stored(tmp_path, 2)
    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())

    def fails(connection):
        connection.exec_driver_sql("CREATE TABLE half_made (id INTEGER)")
        connection.exec_driver_sql("SELECT 1 FROM nowhere")

    with pytest.raises(StoreError, match="nowhere"), opened(path, (*STEPS, fails)):
        pytest.fail("it was opened")
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before
    with MemoryBank.open(path, **made.parts()) as bank:
        assert bank.scopes() == [ANN, BOB]
