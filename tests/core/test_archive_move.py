"""A bank moves between SQLite and PostgreSQL with every layer; a file is copied while it is written."""

from __future__ import annotations

import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from layered_bank import ANN, BOB, filled, layered, told
from sqlalchemy import text, update

from secom_core.archive import move as moving
from secom_core.archive.move import Fingerprint, Moved, fingerprint
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, StoreError
from secom_core.stores.opening import open_store
from secom_core.stores.schema import memories, messages, metadata
from secom_core.vector_stores.tables import dense_documents, dense_sessions

WORKER = Path(__file__).with_name("move_worker.py")


def fingerprints(where: str | Path) -> dict[tuple[str, ...], Fingerprint]:
    store = open_store(where)
    try:
        return {scope: fingerprint(store, scope) for scope in store.scopes()}
    finally:
        store.close()


def test_every_table_goes_or_is_left_for_a_reason():
    left = {"schema_versions", dense_documents.name, dense_sessions.name, "index_blocks"}
    assert {table.name for table in moving._Numbers().tables} | left == set(metadata.tables)


def test_a_bank_goes_to_postgres_and_back_with_every_layer(tmp_path, postgres_url):
    with filled(tmp_path / "one.db") as source:
        before = {scope: told(source, scope) for scope in (ANN, BOB)}
        with layered(postgres_url) as there:
            assert source.storage.move_to(there.storage) == Moved(2, 0, 17)
            assert {scope: told(there, scope) for scope in (ANN, BOB)} == before
            with layered(tmp_path / "two.db") as back:
                # What is there already has other numbers than the rows that come.
                back.remember(("x",), [{"role": "user", "content": "I was here."}], session="s", close=True)
                assert there.storage.move_to(back.storage) == Moved(2, 0, 17)
                assert {scope: told(back, scope) for scope in (ANN, BOB)} == before
    assert all(before[ANN][layer] for layer in before[ANN])
    one, two, server = (fingerprints(where) for where in (tmp_path / "one.db", tmp_path / "two.db", postgres_url))
    assert one == server == {scope: two[scope] for scope in one}
    # Nothing of this talk changes.
    assert min(count for table, (count, _) in one[ANN].items() if table not in ("changes", "change_records")) > 0


@pytest.mark.slow
def test_a_bank_that_moved_goes_on_learning_and_forgetting(tmp_path, place):
    with filled(tmp_path / "one.db") as source, layered(place) as there:
        source.storage.move_to(there.storage)
        for bank in (source, there):
            impression = bank.recall(ANN, "Who had the helmet?", k=2).impression
            assert bank.citations.reward(ANN, "Who had the helmet?", impression, [2]).kind == "taught"
            bank.forget(ANN, session="s2")
            bank.derive(ANN)
        assert len(there.citations.log(ANN)) == len(source.citations.log(ANN))
        assert there.citations.updates(ANN) == source.citations.updates(ANN)
        assert [each.text for each in there.summaries.versions(ANN)] == [
            each.text for each in source.summaries.versions(ANN)
        ]


@pytest.mark.slow
def test_what_is_there_already_is_compared_and_passed_over(tmp_path, place):
    with filled(tmp_path / "one.db") as source, layered(place) as there:
        source.storage.move_to(there.storage)
        assert source.storage.move_to(there.storage) == Moved(0, 2, 0)
        with there._store.transaction() as connection:
            connection.execute(update(memories).where(memories.c.start == 0).values(key="something else"))
        with pytest.raises(StoreError, match=r"scope \('acme', 'ann'\) is in the target already.*not the same"):
            source.storage.move_to(there.storage)
        there.forget(ANN, session="s1")
        with pytest.raises(StoreError, match=r"in the source and in the target: .*'messages': \(9, 5\)"):
            source.storage.move_to(there.storage)


def test_what_was_said_after_a_move_comes_by_an_export_as_the_error_says(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as source, MemoryBank.open(tmp_path / "two.db") as there:
        source.remember(ANN, [("user", "I moved to Ghent.")], session="s")
        source.storage.move_to(there.storage)
        source.remember(ANN, [("user", "I like tea.")], session="s")
        source.remember(ANN, [("user", "I like coffee.")], session="t")
        with pytest.raises(StoreError, match=r"adds what the target lacks: an export .* Or forget the scope in the"):
            source.storage.move_to(there.storage)
        there.storage.import_(source.storage.export(ANN))
        assert [turn.content for turn in there.turns(ANN)] == ["I moved to Ghent.", "I like tea.", "I like coffee."]
        there.forget(ANN)
        assert source.storage.move_to(there.storage).messages == 3


@pytest.mark.slow
def test_what_arrives_otherwise_than_it_was_sent_is_not_kept(tmp_path):
    with filled(tmp_path / "one.db") as source, layered(tmp_path / "two.db") as there:
        with there._store.transaction() as connection:
            connection.execute(
                text(
                    "CREATE TRIGGER flips AFTER INSERT ON messages WHEN new.turn = 3 "
                    "BEGIN UPDATE messages SET text = 'flipped' WHERE id = new.id; END"
                )
            )
        with pytest.raises(StoreError, match=r"scope \('acme', 'ann'\) did not arrive as it was sent"):
            source.storage.move_to(there.storage)
        assert there.scopes() == []


def test_a_bank_does_not_move_into_itself(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as one, MemoryBank.open(tmp_path / "one.db") as two:  # noqa: SIM117
        with pytest.raises(InvalidInput, match="into itself"):
            one.storage.move_to(two.storage)


@pytest.mark.slow
def test_a_move_killed_at_random_moments_is_taken_up_and_loses_nothing(tmp_path, place):
    moments = random.Random(5)
    with MemoryBank.open(tmp_path / "one.db") as source:
        for number in range(60):
            said = [f"Note {turn} of {number}: the parcel is on shelf {turn * number}." for turn in range(4)]
            source.remember(("u", str(number)), [{"role": "user", "content": each} for each in said], session="s")
    arrived = [0]
    for _ in range(4):
        # Scopes that have begun, and statements after it: a scope takes some twenty.
        moment = [str(moments.randrange(2, 15)), str(moments.randrange(1, 20))]
        killed = subprocess.run([sys.executable, str(WORKER), str(tmp_path / "one.db"), str(place), *moment])
        assert killed.returncode == -signal.SIGKILL
        here = fingerprints(place)
        arrived.append(len(here))
        # Whole scopes or nothing of them.
        assert all(each["messages"][0] == 4 for each in here.values())
    assert arrived == sorted(set(arrived))
    assert arrived[-1] < 60
    with MemoryBank.open(tmp_path / "one.db") as source, MemoryBank.open(place) as there:
        done = source.storage.move_to(there.storage)
    assert (done.scopes, done.known) == (60 - arrived[-1], arrived[-1])
    assert fingerprints(place) == fingerprints(tmp_path / "one.db")


@pytest.mark.slow
def test_a_backup_is_whole_while_others_write(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as bank:
        promised: list[str] = []
        ended = threading.Event()

        def write() -> None:
            number = 0
            while not ended.is_set():
                said = [{"role": "user", "content": f"Parcel {number} is on its way.", "id": str(number)}]
                promised.extend(bank.remember(ANN, said, session="s").turn_ids)
                number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                while len(promised) % 20 != 19:
                    time.sleep(0.001)
                before = len(promised)
                assert bank.storage.backup(tmp_path / "copies" / "copy.db") == tmp_path / "copies" / "copy.db"
                with closing(sqlite3.connect(tmp_path / "copies" / "copy.db")) as raw:
                    assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                    held = [row[0] for row in raw.execute(f"SELECT name FROM {messages.name} ORDER BY id")]
                assert held[:before] == promised[:before]
        finally:
            ended.set()
            writer.join()
    with MemoryBank.open(tmp_path / "copies" / "copy.db") as copy:
        assert {turn.id for turn in copy.recall(ANN, "Parcel 7", k=50).turns} >= {"7"}
    assert sorted(path.name for path in (tmp_path / "copies").glob("*.db*")) == ["copy.db"]


@pytest.mark.slow
def test_a_bank_in_memory_can_be_backed_up(tmp_path):
    with filled(":memory:") as bank:
        bank.storage.backup(tmp_path / "copy.db")
        expected = told(bank, ANN)
    with layered(tmp_path / "copy.db") as copy:
        assert told(copy, ANN) == expected


def test_a_backup_that_cannot_be_made_says_why(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as bank:
        bank.remember(ANN, [{"role": "user", "content": "A word " * 5000}], session="s")
        with pytest.raises(InvalidInput, match="cannot replace the bank itself"):
            bank.storage.backup(tmp_path / "one.db")
        with pytest.raises(InvalidInput, match=r"a backup is one file, and .* is a folder; name a file in it"):
            bank.storage.backup(tmp_path)
    whole = (tmp_path / "one.db").read_bytes()
    (tmp_path / "copy.db").write_bytes(whole)
    with MemoryBank.open(tmp_path / "one.db") as bank:
        (tmp_path / "one.db").write_bytes(whole[:8192] + b"\x55" * 4096 + whole[12288:])
        with pytest.raises(StoreError, match=r"one\.db is damaged \(.*secom export --damaged.*latest backup"):
            bank.storage.backup(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_bytes() == whole


@pytest.mark.parametrize("kind", ["a text", "another program's", "an encrypted bank"])
def test_a_backup_replaces_nothing_that_is_no_backup(tmp_path, kind):
    """As where two names are mixed up in a command."""
    other = tmp_path / "other.db"
    if kind == "a text":
        other.write_text("Dear diary, ...")
    elif kind == "another program's":
        with closing(sqlite3.connect(other)) as connection:
            connection.execute("CREATE TABLE invoices (paid INTEGER)")
            connection.commit()
    else:
        pytest.importorskip("sqlcipher3", reason="needs the extra 'encrypted'")
        with MemoryBank.open(other, key="of the vault") as vault:
            vault.remember(ANN, [{"role": "user", "content": "What nobody else is to read."}], session="s")
    before = other.read_bytes()
    wanted = r"other\.db' is no earlier backup of this bank, .* name another file"
    with MemoryBank.open(tmp_path / "one.db") as bank, pytest.raises(InvalidInput, match=wanted):
        bank.storage.backup(other)
    assert other.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process's files are a matter of Unix")
def test_a_backup_without_room_names_the_copy_and_not_the_bank_as_what_failed(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as bank:
        bank.remember(ANN, [{"role": "user", "content": "A word " * 50_000}], session="s")
    script = """
import resource, signal, sys
from secom_core import MemoryBank
from secom_core.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with MemoryBank.open(sys.argv[1]) as bank:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    try:
        bank.storage.backup(sys.argv[2])
    except StoreError as error:
        print(error)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "one.db"), str(tmp_path / "copy.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert re.search(r"one\.db cannot be copied to '.*copy\.db': .*room in that folder", ran.stdout)
    assert not (tmp_path / "copy.db").exists()


def test_postgres_is_backed_up_by_its_own_means(postgres_url, tmp_path):
    with MemoryBank.open(postgres_url) as bank, pytest.raises(InvalidInput, match="pg_dump"):
        bank.storage.backup(tmp_path / "copy.db")


def test_a_backup_does_not_go_where_the_log_of_another_bank_lies(tmp_path):
    """SQLite would write that log over the copy when it is opened, and the copy would be the other bank."""
    there, left = tmp_path / "there.db", tmp_path / "left.db"
    with MemoryBank.open(there) as other, MemoryBank.open(tmp_path / "one.db") as bank:
        other.remember(ANN, [{"role": "user", "content": "The old parcel."}], session="old")
        bank.remember(ANN, [{"role": "user", "content": "The new parcel."}], session="new")
        for suffix in ("", "-wal"):
            # As a process that is killed leaves them.
            left.with_name(f"left.db{suffix}").write_bytes(there.with_name(f"there.db{suffix}").read_bytes())
        for target in (there, left):
            with pytest.raises(StoreError, match=rf"{target.name}' is a database that is in use.*-wal.*another file"):
                bank.storage.backup(target)
    with MemoryBank.open(left) as kept:
        assert kept.sessions(ANN) == ["old"]
    with MemoryBank.open(tmp_path / "one.db") as bank:
        bank.storage.backup(left)
    with MemoryBank.open(left) as back:
        assert back.sessions(ANN) == ["new"]


def test_a_move_from_a_damaged_bank_names_that_bank_and_what_to_do(tmp_path):
    with MemoryBank.open(tmp_path / "one.db") as bank:
        bank.remember(ANN, [Message(f"A word {place}. " * 20, id=f"m{place}") for place in range(400)], session="s")
    raw = bytearray((tmp_path / "one.db").read_bytes())
    for start in range(0, len(raw), 4096):
        if b"A word 200." in raw[start : start + 4096]:
            raw[start : start + 100] = b"\x55" * 100
    (tmp_path / "one.db").write_bytes(raw)
    wanted = pytest.raises(StoreError, match=r"one\.db is damaged \(.*put its latest backup in its place, once the")
    with MemoryBank.open(tmp_path / "one.db") as bank, MemoryBank.open(tmp_path / "two.db") as other, wanted:
        bank.storage.move_to(other.storage)
