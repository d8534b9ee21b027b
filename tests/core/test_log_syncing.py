"""A commit is on disk when the call that made it returns, and no other writer waits for the disk meanwhile."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from secom_core import MemoryBank, StoreError
from secom_core.stores import log_syncing, sqlite

ANN, BOB = ("acme", "ann"), ("acme", "bob")
LATEST = 10

pytestmark = pytest.mark.skipif(not log_syncing.CAN_SYNC, reason="SQLite itself puts commits on disk here")


def said(bank: MemoryBank, scope: tuple[str, ...]) -> list[str]:
    return [message.text for turn in bank.turns(scope) for message in turn.messages]


def syncing(monkeypatch: pytest.MonkeyPatch, sync: Callable[[int], None]) -> None:
    monkeypatch.setattr(log_syncing, "_sync", sync)


def test_what_was_remembered_is_in_the_log_and_the_log_on_disk_when_the_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    log = tmp_path / "m.db-wal"
    with MemoryBank.open(tmp_path / "m.db") as bank:
        syncing(monkeypatch, lambda _file: synced.append(log.read_bytes()))
        bank.remember(ANN, [("user", "I live in Ghent.")], session="s", later=True)
        assert b"I live in Ghent." in synced[-1]
        bank.forget(ANN)
        assert len(synced) > 1, "what was forgotten does not come back after a power cut"
        count = len(synced)
        bank.recall(ANN, "Where?")
        assert len(synced) == count, "what only reads waits for no disk"


def test_another_writer_has_its_turn_while_one_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, goes_on = threading.Event(), threading.Event()

    def slow(_file: int) -> None:
        if threading.current_thread() is first:
            waits.set()
            goes_on.wait(LATEST)

    with MemoryBank.open(tmp_path / "m.db") as bank:
        syncing(monkeypatch, slow)
        first = threading.Thread(target=bank.remember, args=(ANN, [("user", "First.")]), kwargs={"session": "s"})
        first.start()
        try:
            assert waits.wait(LATEST)
            bank.remember(BOB, [("user", "Second.")], session="s")
            assert said(bank, BOB) == ["Second."]
            assert first.is_alive()
        finally:
            goes_on.set()
            first.join(LATEST)


def test_a_disk_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with MemoryBank.open(tmp_path / "m.db") as bank:
        with monkeypatch.context() as patch:
            syncing(patch, fails)
            with pytest.raises(StoreError, match="could not be put on disk"):
                bank.remember(ANN, [("user", "I live in Ghent.")], session="s")
        bank.remember(ANN, [("user", "I have a cat.")], session="s")
        assert "I have a cat." in said(bank, ANN)


@pytest.mark.parametrize("has_log", [True, False])
def test_without_a_log_that_can_be_synced_sqlite_syncs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_log: bool
) -> None:
    monkeypatch.setattr(sqlite, "CAN_SYNC", has_log)
    with MemoryBank.open(tmp_path / "m.db") as bank:
        store = bank._store
        with store.transaction() as connection:
            [level] = connection.exec_driver_sql("PRAGMA synchronous").one()
        assert level == (1 if has_log else 2)
