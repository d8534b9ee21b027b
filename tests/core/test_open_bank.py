"""A bank while it is open: how it is, what closing means, and a file that goes away under it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, StoreError
from secom_core.stores.migrations import VERSION

ANN = ("acme", "ann")


def said(text: str) -> list[Message]:
    return [Message(text)]


# -- health -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bank_says_how_it_is(place: Path | str) -> None:
    with MemoryBank.open(place) as bank, BackgroundWriter(bank, debounce=60) as writer:
        empty = bank.health()
        assert empty.ok
        assert (empty.reachable, empty.writable, empty.writer_alive, empty.last_error) == (True, True, True, None)
        assert (empty.schema, empty.scopes_loaded, empty.bytes_loaded, empty.queued) == (VERSION, 0, 0, 0)
        assert (empty.unwritten, empty.underived, empty.forgotten_in_log) == (0, 0, False)
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        waiting = bank.health()
        assert (waiting.queued, waiting.underived) == (1, 1)
        bank.recall(ANN, "Where did I move?")
        writer.flush()
        loaded = bank.health()
        assert (loaded.scopes_loaded, loaded.queued, loaded.underived) == (1, 0, 0)
        assert loaded.bytes_loaded > 0
        assert loaded.ok
        assert loaded.work.keys() == {"remember", "recall", "derive"}
        assert replace(loaded, scopes_loaded=0, bytes_loaded=0, turns=0, work={}) == empty


def test_health_says_what_is_broken_and_raises_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        path.unlink()
        removed = bank.health()
        assert (removed.reachable, removed.writable, removed.ok) == (True, False, False)
        assert "was removed or replaced" in (removed.last_error or "")
    closed = bank.health()
    assert (closed.reachable, closed.writable, closed.schema, closed.underived) == (False, False, None, None)
    assert "is closed" in (closed.last_error or "")


def test_health_says_what_failed_last_in_a_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **more: object) -> None:
        raise RuntimeError("a defect near Ghent")

    with MemoryBank.open(tmp_path / "m.db") as bank, BackgroundWriter(bank, debounce=0) as writer:
        monkeypatch.setattr(bank, "derive", broken)
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        assert writer.flush(20)
        error = bank.health().last_error
        assert error == "what was said is not derived yet, the next recall tries again: RuntimeError"
        assert bank.health().ok


# -- a file that goes away --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["removed", "replaced", "moved"])
def test_a_file_that_is_no_longer_there_is_noticed_at_the_next_write(tmp_path: Path, how: str) -> None:
    path, copy = tmp_path / "m.db", tmp_path / "copy.db"
    with MemoryBank.open(path) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        bank.storage.backup(copy)
        if how == "removed":
            path.unlink()
        elif how == "moved":
            path.rename(tmp_path / "elsewhere.db")
        else:
            copy.replace(path)
        with pytest.raises(StoreError, match=r"m\.db' was removed or replaced while it was open, and nothing more is"):
            bank.remember(ANN, said("I like tea."), session="s")
        assert path.exists() == (how == "replaced"), "a new file was made"
        said_of_it = (bank.health().last_error or "").partition("; ")[2]
    assert said_of_it == (
        "close the bank, put the file back, or, once m.db-wal and m.db-shm are removed too, a backup of it, and open "
        "the bank again"
    )
    if how == "removed":
        shutil.copy(copy, path)
    if how == "moved":
        (tmp_path / "elsewhere.db").rename(path)
    else:
        for rest in ("m.db-wal", "m.db-shm"):
            path.with_name(rest).unlink(missing_ok=True)
    with MemoryBank.open(path) as again:
        assert again.remember(ANN, said("I like tea."), session="s").new == 1
        assert again.stats(ANN).turns == 2


# -- closing ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_closed_bank_is_closed(place: Path | str) -> None:
    bank = MemoryBank.open(place)
    bank.remember(ANN, said("I moved to Ghent."), session="s")
    bank.close()
    bank.close()
    for call in (
        lambda: bank.remember(ANN, said("I like tea."), session="s"),
        lambda: bank.recall(ANN, "Where?"),
        lambda: bank.forget(ANN),
        bank.scopes,
    ):
        with pytest.raises(StoreError, match=r"the bank at .* is closed; open it again with MemoryBank\.open"):
            call()
    with MemoryBank.open(place) as again:
        assert again.stats(ANN).turns == 1


def test_a_closed_bank_in_memory_is_closed() -> None:
    bank = MemoryBank.open()
    bank.close()
    with pytest.raises(StoreError, match="is closed"):
        bank.scopes()


@pytest.mark.parametrize("wrong", [5, "", True])
def test_layers_are_a_sequence(wrong) -> None:
    with pytest.raises(InvalidInput, match=r"layers are classes that secom_core.layers.register knows, got"):
        MemoryBank.open(layers=wrong)
