"""What Windows does in another way, as far as it can be had elsewhere."""

from __future__ import annotations

import errno
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank, times


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


class AsOnWindows(datetime):
    """Where the system's clock begins in 1970."""

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: Any = None) -> AsOnWindows:
        if timestamp < 0:
            raise OSError(errno.EINVAL, "Invalid argument")
        return super().fromtimestamp(timestamp, tz)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (-1, datetime(1969, 12, 31, 23, 59, 59)),
        (-86400 * 365, datetime(1969, 1, 1)),
        (-86400_000 * 365 * 4, datetime(1966, 1, 2)),  # milliseconds
        (0.25, datetime(1970, 1, 1) + timedelta(seconds=0.25)),
    ],
)
def test_times_before_1970_are_read(number: float, expected: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "datetime", AsOnWindows)
    assert times.counted_time(number) == expected.replace(tzinfo=timezone.utc)
