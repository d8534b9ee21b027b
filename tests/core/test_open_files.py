"""A bank's file that a process has open is read by SQLite alone, so that the process keeps its locks on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from secom_core import MemoryBank, StoreError

ANN = ("acme", "ann")
KEY = "a long passphrase"
LOOK = "import sys, {0} as driver; c = driver.connect(sys.argv[1]); {1}c.execute('SELECT 1 FROM scopes').fetchall()"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks are per process on POSIX systems only")


def look_from_another_process(path: Path, key: str | None = None) -> None:
    """Open and close the bank, which deletes its log where nobody else has it open."""
    driver, unlock = ("sqlite3", "") if key is None else ("sqlcipher3.dbapi2", f"c.execute(\"PRAGMA key = '{key}'\"); ")
    subprocess.run([sys.executable, "-c", f"{LOOK.format(driver, unlock)}; c.close()", str(path)], check=True)


def is_in_use(path: Path, key: str | None = None) -> bool:
    look_from_another_process(path, key)
    return path.with_name(f"{path.name}-wal").exists()


def test_a_bank_that_is_opened_twice_in_a_process_keeps_its_log_while_others_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    (tmp_path / "link").symlink_to(tmp_path)
    with MemoryBank.open(path) as bank:
        bank.remember(ANN, [("user", "I live in Ghent.")], session="s", later=True)
        assert is_in_use(path)
        with MemoryBank.open(path), MemoryBank.open(tmp_path / "link" / "m.db"):
            assert is_in_use(path)
        assert is_in_use(path)
        bank.remember(ANN, [("user", "I moved to Lyon.")], session="s", later=True)
    assert not is_in_use(path)
    with MemoryBank.open(path) as bank:
        assert [turn.messages[0].text for turn in bank.turns(ANN)] == ["I live in Ghent.", "I moved to Lyon."]


def test_a_bank_is_refused_a_second_time_with_a_key_and_keeps_its_log(tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3", reason="needs SQLCipher")
    path = tmp_path / "m.db"
    with MemoryBank.open(path):
        with pytest.raises(StoreError, match="is not encrypted, and a key was given"):
            MemoryBank.open(path, key=KEY)
        assert is_in_use(path)


def test_an_encrypted_bank_is_refused_a_second_time_without_its_key_and_keeps_its_log(tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3", reason="needs SQLCipher")
    path = tmp_path / "m.db"
    with MemoryBank.open(path, key=KEY), MemoryBank.open(path, key=KEY):
        with pytest.raises(StoreError, match="is encrypted, and no key was given"):
            MemoryBank.open(path)
        assert is_in_use(path, KEY)


def test_a_file_that_was_closed_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    MemoryBank.open(path).close()
    path.write_text("Not a bank any more, but words.")
    with pytest.raises(StoreError, match="holds text and is no bank"):
        MemoryBank.open(path)
