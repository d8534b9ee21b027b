"""A disk without room: what was acknowledged is there and found, and what was not says what to do, or waits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank, remember_soon
from secom_core.command import main
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, StoreError, StoreLocked, StoreUnwritable
from secom_core.stores import places

ANN = ("acme", "ann")
LONG = " ".join(f"word{number}" for number in range(2_000))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of a process's files are a matter of Unix")


@contextmanager
def no_room(bank: MemoryBank, *, beside: str = "-wal") -> Iterator[None]:
    """The log of the bank's file, or the file, cannot grow, as where a quota is used up."""
    import resource

    most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (Path(f"{bank.storage.path}{beside}").stat().st_size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    """The last of what was said is on disk, and not cut and indexed yet."""
    with MemoryBank.open(tmp_path / "memory.db") as made:
        made.remember(ANN, [Message("I moved to Ghent."), Message("Nice.", role="assistant")], session="s")
        made.remember(ANN, [Message("My aunt moved to Lyon.")], session="t", later=True)
        yield made


def kept(bank: MemoryBank) -> list[str]:
    return [message.text for turn in bank.turns(ANN) for message in turn.messages]


def test_what_is_stored_is_recalled_and_exported_where_nothing_can_be_written(bank: MemoryBank) -> None:
    with no_room(bank):
        found = bank.recall(ANN, "Who moved where?").text
        lines = list(bank.storage.export(ANN))
    assert "Ghent" in found
    assert "Lyon" in found
    with MemoryBank.open() as other:
        assert other.storage.import_(lines) == 2
        assert kept(other) == kept(bank)
        assert "Lyon" in other.recall(ANN, "Who moved where?").text
        assert not other.check()
    assert bank.recall(ANN, "Who moved where?").text == found
    assert bank.health().underived == 0
    assert not bank.check()


def test_what_is_not_stored_says_what_to_do_and_is_stored_once_there_is_room(bank: MemoryBank) -> None:
    said = [Message(LONG, id="long")]
    with (
        no_room(bank),
        pytest.raises(StoreUnwritable, match=r"disk I/O error; see that there is room .* quota"),
    ):
        bank.remember(ANN, said, session="u")
    bank._store.engine.dispose()
    with bank._store.engine.connect() as connection:
        [pages] = connection.exec_driver_sql("PRAGMA page_count").one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreUnwritable, match="disk is full; make room on its disk, and try again"):
        bank.remember(ANN, said, session="u")
    assert LONG not in kept(bank)
    bank._store.engine.dispose()
    bank.remember(ANN, said, session="u")
    assert kept(bank)[-1] == LONG
    assert issubclass(StoreLocked, StoreUnwritable)


@pytest.mark.parametrize("with_writer", [False, True])
def test_an_answer_waits_until_there_is_room(
    bank: MemoryBank, with_writer: bool, caplog: pytest.LogCaptureFixture
) -> None:
    writer = BackgroundWriter(bank) if with_writer else None
    with no_room(bank):
        with pytest.warns(DegradedWarning, match="waits in memory, and is written as soon as it can .*there is room"):
            assert remember_soon(bank, writer, ANN, [Message(LONG)], session="u") is None
        while not any("it is tried again" in each for each in caplog.messages):
            time.sleep(0.02)
        assert remember_soon(bank, writer, ANN, [Message("And tea.")], session="u") is None
        assert re.search("waits in memory.*there is room", caplog.messages[-1])
        assert bank.health().unwritten == 2
    deadline = time.monotonic() + 60
    while bank.health().unwritten and time.monotonic() < deadline:
        time.sleep(0.02)
    assert kept(bank)[-2:] == [LONG, "And tea."]
    health = bank.health()
    assert (health.ok, health.last_error) == (True, None)


@contextmanager
def no_files() -> Iterator[None]:
    """The process may open no more files, as where a server has many connections."""
    import resource

    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def test_an_answer_waits_until_a_file_may_be_opened(bank: MemoryBank) -> None:
    remember_soon(bank, None, ANN, [Message("I moved to Bonn.")], session="v")
    bank.recall(ANN, "Who moved where?")
    engine = bank.storage._store.engine
    what = "has as many files and connections open as it may; close some, or allow more"
    with no_files():
        # The connection that is there serves, and what it commits is put on disk without a file of its own.
        bank.remember(ANN, [Message("My dog is Rex.")], session="v", later=True)
    engine.dispose()
    with no_files():
        with pytest.raises(StoreUnwritable, match=what):
            bank.remember(ANN, [Message("Never stored.")], session="v")
        with pytest.warns(DegradedWarning, match=f"waits in memory.*{what}"):
            assert remember_soon(bank, None, ANN, [Message("And tea.")], session="v") is None
    deadline = time.monotonic() + 60
    while bank.health().unwritten and time.monotonic() < deadline:
        time.sleep(0.02)
    assert kept(bank)[-3:] == ["I moved to Bonn.", "My dog is Rex.", "And tea."]


def test_a_store_that_may_not_be_opened_for_want_of_files_says_so(tmp_path: Path) -> None:
    with no_files(), pytest.raises(StoreError, match="has as many files and connections open as it may"):
        MemoryBank.open(tmp_path / "other.db")


def test_a_file_whose_path_is_too_long_for_sqlite_is_not_said_to_lack_files(bank: MemoryBank, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a" * 200] * 3)
    folder.mkdir(parents=True)
    (folder / "memory.db").write_bytes((tmp_path / "memory.db").read_bytes())
    with pytest.raises(StoreError, match="by a shorter path if this one is long") as told:
        MemoryBank.open(folder / "memory.db")
    assert not isinstance(told.value, StoreUnwritable)


def test_health_tells_of_a_disk_that_is_full(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bank.health().writable
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(places, "disk_usage", lambda folder: usage(10**9, 10**9, 0))
    health = bank.health()
    assert health.reachable
    assert not health.ok
    assert "less than 1 MiB of room" in str(health.last_error)


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name are a matter of Linux")
def test_health_tells_of_a_quota_that_is_used_up_and_leaves_nothing_behind(bank: MemoryBank, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with no_room(bank):
        health = bank.health()
    assert not health.ok
    assert not health.writable
    assert "in your quota" in str(health.last_error)
    assert bank.health().ok
    assert sorted(tmp_path.iterdir()) == before


def test_a_log_that_keeps_what_was_forgotten_may_do_so_for_want_of_room(bank: MemoryBank) -> None:
    bank.remember(ANN, [Message(LONG) for _ in range(20)], session="u")
    bank.storage.compact()
    bank.remember(ANN, [Message(LONG), Message("The secret is tea.")], session="v")
    with no_room(bank, beside=""):
        with pytest.warns(DegradedWarning, match="its log still holds them, as .* or its disk is full"):
            bank.forget(ANN, session="v")
        assert bank.health().forgotten_in_log
    bank.remember(ANN, [Message("I like coffee.")], session="v")
    assert not bank.health().forgotten_in_log


_FULL = """
import resource, signal, sys
from secom_core.command import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 8192])
def test_a_store_that_was_begun_on_a_full_disk_is_made_once_there_is_room(
    bank: MemoryBank, tmp_path: Path, room: int
) -> None:
    """What a move, or the first remember, has left there is a file without tables, and nobody else's."""
    (tmp_path / "chat.txt").write_text("Ann: I moved to Ghent.\n")
    new, source = str(tmp_path / "new.db"), ["--store", str(bank.storage.path)]
    for words in (["move", new, *source], ["remember", str(tmp_path / "chat.txt"), "--store", new, "--scope", "ann"]):
        command = [sys.executable, "-B", "-c", _FULL, str(room), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert "there is room" in done.stderr or "make room" in done.stderr
        assert main(words) == 0
        Path(new).unlink()
