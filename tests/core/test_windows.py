"""What Windows does in another way, as far as it can be had elsewhere."""

from __future__ import annotations

import errno
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from secom_core import MemoryBank
from secom_core.times import counted_time


def test_a_backup_is_synced_by_a_file_that_is_open_for_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl", reason="tells how a file was opened, which Windows does not")
    sync, synced = os.fsync, []

    def as_on_windows(file: int) -> None:
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        synced.append(file)
        sync(file)

    monkeypatch.setattr(os, "fsync", as_on_windows)
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(("a",), [{"role": "user", "content": "I moved to Ghent."}], session="s")
        bank.storage.backup(tmp_path / "copy.db")
    assert synced
    with MemoryBank.open(tmp_path / "copy.db") as copy:
        assert [turn.text for turn in copy.turns(("a",), "s")] == ["user: I moved to Ghent."]


@pytest.mark.parametrize("number", [-1, -1e9, -1e11 - 1, 0, 1714745100.25])
def test_times_before_1970_are_read(number: float) -> None:
    expected = number / 1000 if abs(number) > 1e11 else number
    assert counted_time(number) == datetime.fromtimestamp(expected, timezone.utc)
