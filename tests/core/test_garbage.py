"""Any derived row may be garbage: recall answers by what is left, rebuild makes it whole, check finds it and mends."""

from __future__ import annotations

import itertools
import random
import sqlite3
import threading
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.garbage import (
    ANN,
    BOB,
    Spoiled,
    Untouched,
    after,
    columns,
    every,
    filled,
    opened,
    recalled,
    spoil,
    told,
    tried,
)
from secom_core import MemoryBank
from secom_core.command import main
from secom_core.errors import DegradedWarning
from secom_core.stores.schema import metadata

AT_ONCE = 30


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Untouched:
    folder = tmp_path_factory.mktemp("garbage")
    return Untouched(Path(filled(folder / "whole.db")), folder)


def test_every_table_of_every_layer_is_spoilt() -> None:
    spoilt = {table.name for table, _ in columns()}
    by_hand = {"turn_marks", "lifetimes", "scope_caps"}
    assert set(metadata.tables) - spoilt == {"schema_versions", "scopes", "messages", "chat_messages", *by_hand}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_a_bank_full_of_rubbish_answers_and_is_made_whole(untouched: Untouched, seed: int) -> None:
    rng = random.Random(seed)
    outcome = tried(untouched, *rng.sample(list(every(rng)), AT_ONCE))
    assert outcome.is_clean, "\n".join(outcome.told)


SINGLE = {
    "a turn in no memory": ("memories", "stop", "row gone"),
    "memories of other words": ("memories", "digest", "of another row"),
    "memories that begin in text": ("memories", "start", "rubbish"),
    "memories past the end": ("memories", "stop", "huge"),
    "vectors of another width": ("vectors", "data", "another width"),
    "vectors of no numbers": ("vectors", "data", "not a number"),
    "sessions that count wrong": ("sessions", "messages", "zero"),
    "sessions settled past their end": ("sessions", "settled", "huge"),
    "events without a session": ("events", "session_id", "number"),
    "events of no calendar": ("events", "at", "a time of no calendar"),
    "topics without a note": ("topic_versions", "note_id", "number"),
    "versions that break the chain": ("summaries", "previous", "number"),
    "a piece of the index": ("index_blocks", "data", "half of it"),
    "answers that are no JSON": ("citations", "shown", "no JSON of ours"),
}


@pytest.fixture(params=SINGLE)
def spoilt(request: Any, untouched: Untouched) -> Path:
    path = untouched.copy("single")
    assert spoil(path, Spoiled(*SINGLE[request.param], False, 3))
    return path


@pytest.mark.slow
def test_what_is_amiss_is_found_and_mended(spoilt: Path) -> None:
    with warnings.catch_warnings(), opened(spoilt) as bank:
        warnings.simplefilter("error")
        found = bank.check()
        assert found
        assert not any(each.mended for each in found)
        assert bank.check() == found
        assert all(each.mended for each in bank.check(repair=True))
        assert bank.check() == ()


LAST = {"a head word": "statement_heads", "a note": "topic_notes", "an event": "events", "a link": "changes"}


@pytest.mark.parametrize("table", LAST.values(), ids=LAST)
def test_a_row_with_the_last_id_there_can_be_stops_no_rebuild_of_another_scope(
    untouched: Untouched, table: str
) -> None:
    path = untouched.copy("last")
    with closing(sqlite3.connect(path)) as connection, connection:
        # The last row is of the scope that was written last.
        connection.execute(f"UPDATE {table} SET id = ? WHERE id = (SELECT max(id) FROM {table})", (2**63 - 1,))
    with warnings.catch_warnings(), opened(path, citations=False) as bank:
        warnings.simplefilter("error")
        bank.rebuild(ANN)
        after(bank, ANN)
        assert recalled(bank, ANN) == untouched.recalls[ANN]


def test_what_a_language_model_said_counts_only_of_messages_that_say_it(untouched: Untouched) -> None:
    path = untouched.copy("said")
    with opened(path) as bank:
        assert {each.by for each in bank.changes(BOB)} == {"model"}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE change_records SET older_turn = 0, older_start = 0, older_stop = 9")
    with opened(path) as bank:
        with pytest.warns(DegradedWarning, match="change_records"):
            assert {each.by for each in bank.changes(BOB)} == {"rules"}
        assert "change_records" in {each.table for each in bank.check(repair=True)}
        assert bank.check() == ()


@pytest.mark.parametrize("version", ['\ue000json:"\\ud8', 3.5, b"v", None, -7, "three"], ids=str)
def test_a_version_that_is_none_keeps_nobody_waiting_for_ever(untouched: Untouched, version: Any) -> None:
    path = untouched.copy("version")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        try:
            connection.execute("UPDATE sessions SET version = ?", (version,))
        except sqlite3.IntegrityError:
            pytest.skip("the database refuses to hold it")

    def rebuilt() -> None:
        with warnings.catch_warnings(), opened(path, citations=False) as bank:
            warnings.simplefilter("ignore", DegradedWarning)
            bank.rebuild(ANN)
            after(bank, ANN)
            found.append(recalled(bank, ANN))

    found: list[Any] = []
    # A thread that nobody waits for, so that a rebuild without end fails here and does not hang.
    thread = threading.Thread(target=rebuilt, daemon=True)
    thread.start()
    thread.join(60)
    assert found == [untouched.recalls[ANN]]


@pytest.fixture
def whole(untouched: Untouched) -> Path:
    return untouched.copy("asked")


def test_a_whole_bank_has_nothing_amiss(whole: Path) -> None:
    with opened(whole) as bank:
        assert bank.check() == bank.check(ANN) == bank.check(repair=True) == ()


@pytest.mark.long
@pytest.mark.slow
def test_nothing_is_amiss_where_others_write(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        stop = threading.Event()

        def write(name: str) -> None:
            for number in itertools.count():
                if stop.is_set():
                    return
                bank.remember((name,), [("user", f"Fact {number} of {name}."), ("assistant", "Noted.")], session="s")

        threads = [threading.Thread(target=write, args=(name,)) for name in ("ann", "bob")]
        for thread in threads:
            thread.start()
        found = [each for _ in range(40) for each in bank.check() if "write-ahead log" not in each.what]
        stop.set()
        for thread in threads:
            thread.join()
        # A log that a reader holds cannot be emptied at that moment, and the check says so.
        assert found == []
        assert bank.stats(("ann",)).turns > 1


def test_an_index_of_other_turns_is_found_and_mended(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("UPDATE messages SET name = 'another' WHERE name = 'ann-1-2'")
    with opened(whole) as bank:
        [found] = bank.check()
        assert (found.table, found.scope, found.can_be_mended) == ("index_blocks", ANN, True)
        assert "'s1'" in found.what
        bank.check(repair=True)
        assert bank.check() == ()
        assert "another" in {turn.id for turn in bank.recall(ANN, "neighbour", token_budget=600).turns}


def test_a_warning_names_the_table_and_the_scope(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("UPDATE events SET at = 'noon' WHERE id = 1")
    with opened(whole) as bank, pytest.warns(DegradedWarning, match=r"1 of \d+ rows of the table 'events'.*\"ann\""):
        assert bank.timelines.events(ANN)


def test_another_scope_s_row_is_shown_to_nobody(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection, connection:
        [(session,)] = connection.execute("SELECT max(id) FROM sessions WHERE scope_id = 2").fetchall()
        connection.execute("UPDATE events SET session_id = ?, position = 99 WHERE id = 1", [session])
    with opened(whole) as bank, pytest.warns(DegradedWarning, match="'events'"):
        assert not any("helmet" in event.text for event in bank.timelines.events(BOB))


def test_a_reader_who_holds_forgotten_words_in_the_log_is_told_of(whole: Path) -> None:
    with opened(whole) as bank, closing(sqlite3.connect(whole, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        with pytest.warns(DegradedWarning, match="its log still holds them"):
            bank.forget(ANN, turn_ids=["ann-0-0"])
        [found] = bank.check(repair=True)
        assert "write-ahead log" in found.what
        assert not found.mended
        reader.execute("COMMIT")
        assert bank.check() == ()


def test_the_command_says_what_is_amiss_and_mends_it(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--store", str(whole)]) == 0
    assert "no errors were found" in capsys.readouterr().err
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("DELETE FROM memories WHERE session_id = 1")
    assert main(["check", "--store", str(whole)]) == 1
    said = capsys.readouterr()
    assert "memories, scope ['acme', 'ann'], session 's0'" in said.out
    assert f"secom check --repair --store {whole}" in said.err
    assert main(["check", "--repair", "--store", str(whole)]) == 0
    assert "was repaired" in capsys.readouterr().err
    assert main(["check", "--store", str(whole)]) == 0


SPOILT_ON_A_SERVER = """
UPDATE memories SET stop = 9223372036854775807, digest = 'x';
UPDATE memories SET start = -5 WHERE start = 0 AND session_id IN (SELECT min(id) FROM sessions);
UPDATE vectors SET data = substr(data, 1, 9);
UPDATE sessions SET version = 9223372036854775807, settled = 9223372036854775807, derived = -1, turns = -9;
UPDATE scopes SET revision = 9223372036854775807, epoch = -1;
UPDATE layer_progress SET messages = 9223372036854775807;
UPDATE events SET at = 'noon', scope_id = (SELECT min(id) + max(id) FROM scopes) - scope_id;
UPDATE links SET relation = '';
UPDATE topic_versions SET topic = -1, text = U&'\\E000json:{';
UPDATE citations SET shown = '[' WHERE id = 1;
UPDATE part_states SET state = '{"base": 1, "policy": []}'
"""


@pytest.mark.slow
def test_rubbish_on_a_server_is_set_aside_and_mended(postgres_url: str) -> None:
    filled(postgres_url)
    with opened(postgres_url) as bank, bank._store.transaction() as connection:
        for statement in SPOILT_ON_A_SERVER.split(";"):
            connection.exec_driver_sql(statement)
    with warnings.catch_warnings(), opened(postgres_url) as bank:
        warnings.simplefilter("ignore", DegradedWarning)
        assert "helmet" in told(bank, ANN)[0]
        assert bank.remember(ANN, [{"role": "user", "content": "A new lamp."}], session="s2").new == 1
        assert bank.forget(ANN, turn_ids=["ann-0-1"]) == 1
        assert bank.check()
        bank.check(repair=True)
        assert bank.check() == ()
    with warnings.catch_warnings(), opened(postgres_url) as bank:
        warnings.simplefilter("error")
        assert "lamp" in bank.recall(ANN, "lamp", layers=["summaries", "timelines", "topics"]).text


def test_a_repair_keeps_every_word(whole: Path) -> None:
    with opened(whole) as bank:
        before = [line for line in bank.storage.export(ANN) if '"turn"' in line[:20]]
    with closing(sqlite3.connect(whole)) as connection, connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        for table in ("memories", "vectors", "events", "topic_versions", "layer_progress"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE sessions SET turns = 'x', messages = -1, settled = 1.5")
    with MemoryBank.open(whole) as bank:
        bank.check(repair=True)
        assert bank.check() == ()
        assert [line for line in bank.storage.export(ANN) if '"turn"' in line[:20]] == before
