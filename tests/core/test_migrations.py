"""The steps from one schema to the next: frozen, all or nothing, and the same tables wherever they began."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime
from functools import partial
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from old_banks import made, opened, rows_of, tables_of, versions, write_old
from sqlalchemy import Connection

import secom_core
from secom_core.bank import MemoryBank, Parts
from secom_core.errors import SchemaTooNew, StoreError
from secom_core.stores import migrations
from secom_core.stores.migrations import STEPS, VERSION, Step, migrate
from secom_core.stores.opening import open_store
from secom_core.stores.places import is_postgres
from secom_core.stores.schema import metadata
from secom_core.stores.sql import SqlStore

ANN, BOB = made.ANN, made.BOB
pytestmark = pytest.mark.usefixtures("every_step")
OLD = range(VERSION + 1)
FROZEN = {
    "0001.postgresql.sql": "b79234190d61e02f8ec5482f3f3286e91feb982764f4700179f1aec6179960e2",
    "0001.sqlite.sql": "f20a51664e09fb42d786717ba0e658027a0f2ae33c3ae821f2168d408b76ef26",
    "0002.postgresql.sql": "36744c441927df58210ef72ae27ea001bb1f323fafd61a374bc0263e4e9ea5c6",
    "0002.sqlite.sql": "760b700c8ce6a56263c90e2f3f99b050da6647ace9fba8d59b671007c7afb507",
    "0003.postgresql.sql": "71e10ba8e89fb7b10924f847542f26fc1762f7373dad898efc8c22d89cf1f4bf",
    "0003.sqlite.sql": "4eb585ce5598f904f1f2dd6da05be9c7dbdb0feed54e6b1f374b04bb79fe3f78",
    "0004.postgresql.sql": "9bb6477f30ffd0327332f7114b9f3d585ecaf125ed03de32c396406cead78426",
    "0004.sqlite.sql": "b993199bad930f3615bc47560388d08f82cfc396f5f31f53dd295bfe52bee2b6",
    "0005.postgresql.sql": "333da652614d8429b86a1c4899866192727a568efb3b4fa6b8bf2ec635fa6058",
    "0005.sqlite.sql": "a8645d8d03811b2748ce3462c2a0019712606ae454fdbf02ef481afc1f244e46",
    "0006.postgresql.sql": "c2da0c54c7aabe9847d263a8be76537692d2f0a0d3982a661f9ce3c77013bbf4",
    "0006.sqlite.sql": "b802c98681ee36d474bc7ed159a9e5166f1b9f5feb8925755332f3ec9c89cf58",
    "0007.postgresql.sql": "88bd61e477f114a4e4174ac00d162a6b26f69ae486b94bd7b589707603f1c7df",
    "0007.sqlite.sql": "88bd61e477f114a4e4174ac00d162a6b26f69ae486b94bd7b589707603f1c7df",
    "0008.postgresql.sql": "87b15cbe9a5cf24746b51499ade995afa9dec7d8eee51ceb7a6de84c6c4251a2",
    "0008.sqlite.sql": "87b15cbe9a5cf24746b51499ade995afa9dec7d8eee51ceb7a6de84c6c4251a2",
    "0009.postgresql.sql": "c2d9d22a193e5bfdb8bfd4ca8059cf8c836c621b28405ed8b1d263abe64f4067",
    "0009.sqlite.sql": "c2d9d22a193e5bfdb8bfd4ca8059cf8c836c621b28405ed8b1d263abe64f4067",
    "0010.postgresql.sql": "ca6de2c2e53bf9870500916e00afb8b52b575b4919a80003917141d0b9ed8b1c",
    "0010.sqlite.sql": "72237aa965adc79dea74bca1273b8a36d2cf5df42ec6919277f96d303332254c",
    "0011.postgresql.sql": "6cd32d150ae099ba0d29ab1354f05b4979b868e1103e83443266e32882887854",
    "0011.sqlite.sql": "8fb57eee4bee04a2e0f861dcbfdd8755de76c6c4e6c50b4646f55f14bb600e81",
    "0012.postgresql.sql": "ce7393bde270067092e9362a49a8f3cfd05ccb317f62e0766e1c556fb7bb7024",
    "0012.sqlite.sql": "e95c758555b8301ff72dd66fdffd31c83d5d95d82d8c5db82df64b39022bcd09",
    "0013.postgresql.sql": "bc8e2ced1dd95b5ef65d6151675ef8ae21d1a84f798687e1932836318465eab3",
    "0013.sqlite.sql": "53733d3a974d2d0718e56b48e0af89cda88a57e4b2ec41544ded0cb7a91dd824",
    "0014.postgresql.sql": "39b6dfe9c33982b67eb51867a3e24c8dab2065f58feb04558b76894063926bfa",
    "0014.sqlite.sql": "59918ee6197f6917f319e53072bfd456f2d18904a47435921e4f4c3ca3c67369",
}


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: Any, tmp_path: Path) -> Iterator[Callable[[], Path | str]]:
    """Makes places in which nothing is yet: files, then databases of PostgreSQL."""
    with ExitStack() as lent:
        if request.param == "sqlite":
            yield lambda: tmp_path / f"{uuid4().hex}.db"
        else:
            server = request.getfixturevalue("postgres")
            yield lambda: lent.enter_context(server.database())


@pytest.fixture
def place(empty: Callable[[], Path | str]) -> Path | str:
    """One such place."""
    return empty()


# -- the frozen text --------------------------------------------------------------------------------------------------


def test_no_step_was_ever_edited() -> None:
    texts = {each.name: each.read_text("utf-8") for each in files(migrations).iterdir() if each.name.endswith(".sql")}
    assert {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()} == FROZEN, (
        "databases have walked these steps as they were: append a step, and its digest here, and never edit one"
    )


def test_each_step_has_its_text_for_both_databases() -> None:
    assert set(FROZEN) == {
        f"{number:04}.{name}.sql" for number in range(1, VERSION + 1) for name in ("sqlite", "postgresql")
    }


def test_text_is_cut_into_statements_where_they_end() -> None:
    whole = [
        "-- Why; not what.\nCREATE TABLE a (b TEXT DEFAULT ';\n');\n",
        "\nCREATE TRIGGER t AFTER INSERT ON a BEGIN\n    DELETE FROM a;\nEND;\n",
        "\nUPDATE a SET b = '%'; -- done\n",
        "DROP TABLE a",
    ]
    assert list(migrations._statements("".join(whole))) == whole
    assert list(migrations._statements("DROP TABLE a;\n\n")) == ["DROP TABLE a;\n"]


def test_a_percent_sign_in_a_step_is_one(place, tmp_path, monkeypatch) -> None:
    for name in ("sqlite", "postgresql"):
        (tmp_path / f"{VERSION + 1:04}.{name}.sql").write_text("INSERT INTO scopes VALUES (7, 'a%s', 0, 0);")
    with opened(place) as store:
        monkeypatch.setattr(migrations, "files", lambda _package: tmp_path)
        migrate(store, (*STEPS, partial(migrations._run_text, VERSION + 1)))
        assert [row["key"] for row in rows_of(store)["scopes"]] == ["a%s"]


# -- from every version to today's ------------------------------------------------------------------------------------


def _of_a_space(row: dict[str, Any]) -> dict[str, Any]:
    """A row of vectors by its space, its columns in order."""
    space = f"{row['model']} [{len(row['data']) // 4}]"
    return {"session_id": row["session_id"], "space": space, "digest": row["digest"], "data": row["data"]}


def as_of_9(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """What the steps up to the ninth make of a bank's rows."""
    tables = {"learned": "part_states", "reflections": "layer_progress"}
    columns, layers = {"turns": "version"}, {"events": "timelines", "summary": "summaries"}
    told = {tables.get(name, name): found for name, found in rows.items()}
    if "learned" in rows:
        told["part_states"] = [{columns.get(name, name): row[name] for name in row} for row in rows["learned"]]
    if "reflections" in rows:
        named = [{**row, "layer": layers.get(row["layer"], row["layer"])} for row in rows["reflections"]]
        told["layer_progress"] = sorted(named, key=str)
    if "sessions" in rows and "cut" not in rows["sessions"][0]:
        ended = [row["messages"] * row["closed"] for row in rows["sessions"]]
        new = [{"ended": each, "cut": each, "cut_by": ""} for each in ended]
        told["sessions"] = [{**row, **more} for row, more in zip(rows["sessions"], new, strict=True)]
    if "vectors" in rows and "model" in rows["vectors"][0]:
        told["vectors"] = sorted(map(_of_a_space, rows["vectors"]), key=str)
    for table, column in (("citations", "lesson"), ("citation_turns", "cited")):
        if table in rows:
            told[table] = [{name: row[name] for name in row if name != column} for row in rows[table]]
    if "turn_marks" in rows:
        told["turn_marks"] = [{**dict.fromkeys(("place", "start", "stop")), **row} for row in rows["turn_marks"]]
    learned = [row for row in told.pop("part_states", []) if not row["part"].startswith("ranking:")]
    return {**told, **({"part_states": learned} if learned else {}), "schema_versions": versions()}


@pytest.mark.slow
@pytest.mark.parametrize("version", OLD)
def test_every_bank_arrives_at_todays_tables_with_all_its_rows(empty, version) -> None:
    old, place = write_old(empty(), version), empty()
    with opened(old, STEPS[:version]) as store:
        before = rows_of(store)
    for module in Path(secom_core.__file__).parent.glob("*/tables.py"):
        import_module(f"secom_core.{module.parent.name}.tables")
    with opened(old) as walked, opened(place, ()) as new:
        with new.transaction() as connection:
            metadata.create_all(connection)
        assert tables_of(walked) == tables_of(new)
        assert rows_of(walked) == as_of_9(before)


@pytest.mark.parametrize("version", [2, 4, 7])
def test_a_wish_to_learn_nothing_goes_with_what_was_learned(empty, version) -> None:
    old = write_old(empty(), version)
    table, part = ("learned", "frozen") if version < 5 else ("part_states", "setting:frozen")
    with opened(old, STEPS[:version]) as store, store.transaction() as connection:
        connection.exec_driver_sql(f"INSERT INTO {table} VALUES (2, '{part}', 0, '')")
    with opened(old) as store:
        assert "part_states" not in rows_of(store), "no rows are left"


# -- what steps can do ------------------------------------------------------------------------------------------------


def step(*both: str, sqlite: tuple[str, ...] = (), postgresql: tuple[str, ...] = ()) -> Step:
    """Runs some statements on both databases, or others on each."""

    def run(connection: Connection) -> None:
        for statement in both or {"sqlite": sqlite, "postgresql": postgresql}[connection.dialect.name]:
            connection.exec_driver_sql(statement)

    return run


MORE = (
    step("ALTER TABLE sessions ADD COLUMN language TEXT DEFAULT 'en' NOT NULL"),
    step(
        sqlite=(
            "CREATE TABLE new_events (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,"
            " scope_id INTEGER NOT NULL REFERENCES scopes (id) ON DELETE CASCADE,"
            " session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,"
            " position INTEGER NOT NULL, text TEXT NOT NULL, at BIGINT NOT NULL, UNIQUE (session_id, position))",
            "INSERT INTO new_events SELECT id, scope_id, session_id, position, text,"
            " CAST(strftime('%s', at) AS INTEGER) FROM events",
            # Ids that were given go on not being given again.
            "DELETE FROM sqlite_sequence WHERE name = 'new_events'",
            "UPDATE sqlite_sequence SET name = 'new_events' WHERE name = 'events'",
            "DROP TABLE events",
            "ALTER TABLE new_events RENAME TO events",
            "CREATE INDEX events_of_scope ON events (scope_id)",
        ),
        postgresql=("ALTER TABLE events ALTER COLUMN at TYPE BIGINT USING extract(epoch FROM at::timestamptz)",),
    ),
    step("ALTER TABLE citations RENAME TO answers"),
)
FAILS = step("CREATE TABLE half_made (id INTEGER)", "DELETE FROM messages", "SELECT 1 FROM nowhere")
LAST = VERSION + len(MORE)


def with_more(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """What the further steps make of a bank's rows."""
    told = {"answers" if name == "citations" else name: found for name, found in as_of_9(rows).items()}
    if "sessions" in told:
        told["sessions"] = [{**row, "language": "en"} for row in told["sessions"]]
    if "events" in told:
        told["events"] = [{**row, "at": int(datetime.fromisoformat(row["at"]).timestamp())} for row in told["events"]]
    return {**told, "schema_versions": versions(LAST)}


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 2, VERSION])
def test_further_steps_add_a_column_change_a_type_and_rename_a_table(empty, version) -> None:
    old = write_old(empty(), version)
    with opened(old, STEPS[:version]) as store:
        before = rows_of(store)
    with opened(old, STEPS + MORE) as walked, opened(empty(), STEPS + MORE) as new:
        assert tables_of(walked) == tables_of(new)
        assert rows_of(walked) == with_more(before)
    with opened(old, STEPS + MORE) as store:
        if version:
            assert_references_hold(store)


def assert_references_hold(store: SqlStore) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"), store.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO memories VALUES (999, 0, 1, '', '')")
    with store.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM scopes")
    assert set(rows_of(store)) == {"schema_versions"}


def test_an_id_is_given_once_also_where_its_table_was_made_anew(place) -> None:
    write_old(place, VERSION)
    with opened(place) as store, store.transaction() as connection:
        last = connection.exec_driver_sql("SELECT max(id) FROM events").scalar_one()
        connection.exec_driver_sql("DELETE FROM events")
    with opened(place, STEPS + MORE) as store, store.transaction() as connection:
        connection.exec_driver_sql(
            "INSERT INTO events (scope_id, session_id, position, text, at) VALUES (1, 1, 0, '', 0)"
        )
        assert connection.exec_driver_sql("SELECT id FROM events").scalar_one() > last


# -- all or nothing ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 2, VERSION])
def test_a_step_that_fails_leaves_what_was_there(place, version) -> None:
    write_old(place, version)
    with opened(place, STEPS[:version]) as store:
        before = tables_of(store), rows_of(store)
    with pytest.raises(StoreError, match="nowhere"), opened(place, (*STEPS, *MORE, FAILS)):
        pytest.fail("it was opened")
    with opened(place, STEPS[:version]) as store:
        assert (tables_of(store), rows_of(store)) == before
    with MemoryBank.open(place, **made.parts()) as bank:
        assert bank.scopes() == ([ANN, BOB] if version else [])


@pytest.fixture(params=["file", "memory"])
def store(request: Any, tmp_path: Path) -> Iterator[SqlStore]:
    """A store of SQLite with a session in it, whose next connection is the one that it had last."""
    opened = open_store(":memory:" if request.param == "memory" else tmp_path / "bank.db")
    with MemoryBank(opened, Parts(**made.parts())) as bank:
        made.fill(bank)
        yield opened


def enforces(store: SqlStore) -> bool:
    with closing(store.engine.raw_connection()) as connection:
        return bool(connection.cursor().execute("PRAGMA foreign_keys").fetchone()[0])


@pytest.mark.slow
def test_sqlite_enforces_references_after_a_step_and_after_one_that_failed(store) -> None:
    before = tables_of(store), rows_of(store)
    with pytest.raises(StoreError, match="nowhere"):
        migrate(store, (*STEPS, *MORE, FAILS))
    assert (tables_of(store), rows_of(store)) == before
    assert enforces(store)
    migrate(store, (*STEPS, *MORE))
    assert rows_of(store) == with_more(before[1])
    assert enforces(store)
    assert_references_hold(store)


@pytest.mark.slow
def test_sqlite_refuses_a_step_that_leaves_a_row_dangling(store) -> None:
    before = rows_of(store)
    with pytest.raises(StoreError, match="a row of event_turns names one of events that is not there"):
        migrate(store, (*STEPS, step("DELETE FROM links", "DELETE FROM events")))
    assert rows_of(store) == before
    assert enforces(store)


# -- several at once --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("version", [0, 2])
def test_two_that_open_an_old_bank_at_once_walk_each_step_once(place, version, monkeypatch) -> None:
    ran: Counter[int] = Counter()
    both_have_read, known, missing = threading.Barrier(2, timeout=60), threading.local(), migrations._missing

    def counted(number: int, connection: Connection) -> None:
        ran[number] += 1
        (*STEPS, *MORE)[number - 1](connection)

    def read(connection: Connection, steps: Any) -> range:
        found = missing(connection, steps)
        if not hasattr(known, "read"):
            known.read = True
            both_have_read.wait()
        return found

    write_old(place, version)
    monkeypatch.setattr(migrations, "STEPS", tuple(partial(counted, number) for number in range(1, LAST + 1)))
    monkeypatch.setattr(migrations, "_missing", read)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(open_store, [place] * 2)
    assert ran == dict.fromkeys(range(version + 1, LAST + 1), 1)
    assert rows_of(one) == rows_of(two)
    assert rows_of(one)["schema_versions"] == versions(LAST)
    for store in (one, two):
        store.close()


@pytest.mark.slow
def test_opening_an_up_to_date_bank_waits_for_nobody(place, monkeypatch) -> None:
    monkeypatch.setattr("secom_core.stores.sqlite.BUSY_TIMEOUT_S", 0.2)
    impatient = f"{place}&options=-c%20lock_timeout%3D200" if is_postgres(place) else place
    with opened(place) as store, store.transaction():
        with opened(impatient) as other:
            assert other.scopes() == []
        with pytest.raises(StoreError), opened(impatient, (*STEPS, *MORE)):
            pytest.fail("it was opened")


def test_a_bank_of_a_later_version_is_refused_and_left_alone(place) -> None:
    with opened(place, (*STEPS, *MORE)) as store:
        before = tables_of(store)
    with pytest.raises(SchemaTooNew, match=f"has schema {LAST}, this package knows {VERSION}; upgrade"), opened(place):
        pytest.fail("it was opened")
    with opened(place, (*STEPS, *MORE)) as store:
        assert tables_of(store) == before


def test_a_process_whose_bank_is_upgraded_under_it_says_so_and_writes_nothing(place) -> None:
    def renames(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE messages RENAME COLUMN text TO what")

    told = f"was upgraded to schema {LAST + 1} while this process, which knows {VERSION}, had it open"
    with opened(place) as store, MemoryBank(store) as bank:
        bank.remember(ANN, [("user", "I moved to Ghent.")], session="s1")
        with opened(place, (*STEPS, *MORE, renames)):
            pass
        for call in (
            lambda: bank.remember(ANN, [("user", "I moved to Lyon.")], session="s1"),
            lambda: bank.turns(ANN, "s1"),
            lambda: bank.remember(BOB, [("user", "I moved to Porto.")], session="s1"),
        ):
            with pytest.raises(SchemaTooNew, match=told):
                call()
    with opened(place, (*STEPS, *MORE, renames)) as store:
        assert len(rows_of(store)["messages"]) == 1


def test_an_encrypted_bank_walks_them_too(tmp_path) -> None:
    pytest.importorskip("sqlcipher3", reason="the extra 'encrypted' is not installed")
    path = tmp_path / "bank.db"
    with closing(open_store(path, key="secret")) as store:
        migrate(store, (*STEPS, *MORE))
        assert rows_of(store)["schema_versions"] == versions(LAST)
        assert enforces(store)
    with pytest.raises(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT count(*) FROM scopes")
