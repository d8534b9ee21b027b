"""Banks that earlier schemas wrote: upgraded when opened, with all that they held, and as good as new ones."""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect

from secom_core.bank import MemoryBank
from secom_core.errors import StoreError
from secom_core.stores import schema
from secom_core.stores.opening import open_store
from secom_core.stores.schema import VERSION, schema_versions

FIXTURES = Path(__file__).parents[1] / "fixtures"
_spec = importlib.util.spec_from_file_location("make_schema_dump", FIXTURES / "make_schema_dump.py")
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)
ANN, BOB, MAY, TALK = made.ANN, made.BOB, made.MAY, made.TALK
LAYERS = {1: (), 2: ("events", "summaries"), 3: ("events", "summaries", "topics", "citation_log")}


def stored(folder: Path, version: int) -> Path:
    """The bank as that schema's code had written it."""
    path = folder / f"bank{version}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FIXTURES / f"schema_{version}.sql").read_text(encoding="utf-8"))
    return path


@pytest.fixture(params=range(1, VERSION + 1))
def version(request):
    return request.param


def tables(path: Path) -> dict[str, object]:
    store = open_store(path)
    found = inspect(store.engine)
    told = {
        name: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(name)],
            sorted(found.get_indexes(name), key=str),
            sorted(found.get_foreign_keys(name), key=str),
            sorted(tuple(each["column_names"]) for each in found.get_unique_constraints(name)),
        )
        for name in found.get_table_names()
    }
    store.close()
    return told


def test_there_is_a_fixture_of_every_schema_and_it_says_so():
    assert {path.name for path in FIXTURES.glob("schema_*.sql")} == {f"schema_{n}.sql" for n in range(1, VERSION + 1)}


def test_the_tables_are_those_of_a_new_bank(tmp_path, version):
    assert tables(stored(tmp_path, version)) == tables(tmp_path / "new.db")
    with closing(sqlite3.connect(tmp_path / f"bank{version}.db")) as connection:
        versions = [row[0] for row in connection.execute(f"SELECT version FROM {schema_versions.name} ORDER BY 1")]
        assert versions == list(range(1, VERSION + 1))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_what_was_remembered_is_there_and_found(tmp_path, version):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as bank:
        assert bank.scopes() == [ANN, BOB]
        for scope in (ANN, BOB):
            assert {name: [turn.content for turn in bank.turns(scope, name)] for name in TALK} == TALK
            assert [turn.messages[0].metadata for turn in bank.turns(scope, "s1")] == [{"place": n} for n in range(4)]
            assert bank.memories(scope, "s1")
        found = bank.recall(ANN, "Who had the bicycle helmet?", k=2, now=MAY)
        assert "s2-0" in {turn.id for turn in found.turns}
        assert {turn.id for turn in found.turns} <= {turn.id for name in TALK for turn in bank.turns(ANN, name)}


def test_every_layer_is_kept_or_can_be_made(tmp_path, version):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as bank:
        for layer in LAYERS[min(version, 3)]:
            assert getattr(bank, layer)(ANN), layer
        answers = len(bank.citation_log(ANN))
        assert (bank.learned(ANN).answers, answers) == ((2, 2) if version >= 3 else (0, 0))
        bank.reflect(ANN)
        for layer in LAYERS[3][:3]:
            assert getattr(bank, layer)(ANN), layer
        shown = bank.recall(ANN, "the oven thermostat", k=2, now=MAY).shown
        assert bank.reward(ANN, "the oven thermostat", shown, [1]).kind == "taught"
        assert len(bank.citation_log(ANN)) == answers + 1


def test_it_finds_what_a_new_bank_finds(tmp_path, version):
    parts = {**made.parts(), "learning": False}
    with MemoryBank.open(stored(tmp_path, version), **parts) as old, MemoryBank.open(**parts) as new:
        for line in (line for scope in (ANN, BOB) for line in [list(old.export(scope))]):
            new.import_([each for each in line if '"kind": "citation"' not in each])
        for bank in (old, new):
            for scope in (ANN, BOB):
                bank.rebuild(scope)
        for scope in (ANN, BOB):
            for query in ("Who had the helmet?", "sourdough", "Thursday"):
                assert old.recall(scope, query, k=3, now=MAY).text == new.recall(scope, query, k=3, now=MAY).text


def test_it_goes_on_and_forgets(tmp_path, version):
    path = stored(tmp_path, version)
    with MemoryBank.open(path, **made.parts()) as bank:
        bank.remember(BOB, [{"role": "user", "content": "Quentin moved to Ghent."}], session="s2", close=True)
        assert "Ghent" in bank.recall(BOB, "Where did Quentin move?", k=2).text
        assert bank.forget(ANN) == 6
        bank.forget(BOB, session="s1")
    with closing(sqlite3.connect(path)) as connection:
        # What a deleted file's pages held is overwritten as it is deleted; see docs/security.
        told = "\n".join(connection.iterdump())
    assert "thermostat" not in told
    assert "Ghent" in told


def test_an_upgraded_bank_moves(tmp_path, version, postgres_url):
    with MemoryBank.open(stored(tmp_path, version), **made.parts()) as old:  # noqa: SIM117
        with MemoryBank.open(postgres_url, **made.parts()) as server:
            assert old.move_to(server).scopes == 2
            assert server.recall(ANN, "helmet", k=2, now=MAY).text == old.recall(ANN, "helmet", k=2, now=MAY).text


def test_an_upgrade_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = stored(tmp_path, 2)
    with closing(sqlite3.connect(path)) as connection:
        before = list(connection.iterdump())

    def fails(connection):
        connection.exec_driver_sql("CREATE TABLE half_made (id INTEGER)")
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    monkeypatch.setattr(schema, "_MIGRATIONS", (*schema._MIGRATIONS, fails))
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    with pytest.raises(StoreError, match="nowhere"):
        open_store(path)
    with closing(sqlite3.connect(path)) as connection:
        assert list(connection.iterdump()) == before
    monkeypatch.undo()
    with MemoryBank.open(path, **made.parts()) as bank:
        assert bank.scopes() == [ANN, BOB]
