"""Files with odd names, links, devices: a bank and its backups work there, or say what is wrong."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput, SecomError, StoreError

ANN = ("acme", "ann")
unix = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and links are a matter of Unix")


@pytest.fixture
def bank(tmp_path: Path) -> MemoryBank:
    bank = MemoryBank.open(tmp_path / "memory.db")
    bank.remember(ANN, [("user", "I moved to Ghent.")], session="s")
    return bank


@pytest.mark.parametrize(
    "name",
    [
        "a blank and ünïcode 日本.db",
        "hash#tag.db",
        "what?mode=ro.db",
        "per%20cent.db",
        "quote'\".db",
        pytest.param("no-text\udcff.db", marks=pytest.mark.skipif(sys.platform != "linux", reason="names are bytes")),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="some of the names are none there")
def test_a_bank_and_its_backups_may_have_any_name(bank: MemoryBank, tmp_path: Path, name: str) -> None:
    for _ in range(2):
        assert bank.storage.backup(tmp_path / name) == tmp_path / name
    with MemoryBank.open(tmp_path / name) as other:
        assert "Ghent" in other.recall(ANN, "Where did I move?").text
        assert other.storage.path == str(tmp_path / name)
        assert other.storage.backup(tmp_path / f"second {name}").exists()


@unix
def test_a_pipe_is_no_bank_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    program = "import sys; from secom_core import MemoryBank; MemoryBank.open(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "pipe"], capture_output=True, text=True, timeout=30
    )
    assert "InvalidInput: a bank is one file" in done.stderr
    assert "a device or a pipe; name another file" in done.stderr


@unix
def test_a_backup_replaces_no_pipe_and_no_device(bank: MemoryBank, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=r"a device or a pipe; name another file"):
        bank.storage.backup(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@unix
def test_a_link_to_itself_is_a_clear_error(bank: MemoryBank, tmp_path: Path) -> None:
    (tmp_path / "loop.db").symlink_to("loop.db")
    for call in (MemoryBank.open, bank.storage.backup):
        for place in ("loop.db", "loop.db/memory.db"):
            with pytest.raises(SecomError, match=r"loop\.db.* is a link that leads back to itself"):
                call(tmp_path / place)


@unix
def test_a_backup_where_no_file_can_be_says_so(bank: MemoryBank, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    for target in (
        tmp_path / "memory.db" / "copy.db",
        tmp_path / ("x" * 300),
        tmp_path / "memory.db" / "a" / "copy.db",
    ):
        with pytest.raises(
            StoreError, match=r"cannot be copied to .*see that there is room .*, and that you can write"
        ):
            bank.storage.backup(target)
    assert sorted(tmp_path.iterdir()) == before


@unix
def test_a_path_that_is_too_long_for_the_database_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be opened; .* by a shorter path if this one is long"):
        MemoryBank.open(tmp_path / ("x" * 252))
