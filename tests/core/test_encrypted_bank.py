"""An encrypted bank does all that a plain one does, and no file of it ever holds a plain word."""

from __future__ import annotations

import hashlib
import io
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from layered_bank import ANN, MAY, filled, layered, told

from secom_core.archive.salvage import salvage
from secom_core.bank import MemoryBank
from secom_core.command import main
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.stores.database import Database
from secom_core.stores.opening import open_store

pytest.importorskip("sqlcipher3", reason="encryption needs the extra 'encrypted'")
pytestmark = pytest.mark.slow

# A key of this form is taken as it is; from a passphrase one is made, which takes a tenth of a second a connection.
KEY, NEW = f"x'{'5a' * 32}'", "it's another 'key' é; --"
WORDS = (b"parcel", b"thermostat", b"sourdough", b"Quentin", b"helmet", b"technician")
ROOT = Path(__file__).resolve().parents[2]


def plain_words(folder: Path) -> dict[str, list[bytes]]:
    """The words of any turn, in any byte of any file in the folder."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    found = {str(each): [word for word in WORDS if word in each.read_bytes().lower()] for each in files}
    return {name: words for name, words in found.items() if words}


def said(bank: MemoryBank, text: str, name: str = "s") -> None:
    bank.remember(ANN, [Message(text, id=name)], session=name)


def shown(error: BaseException) -> str:
    """All that a log shows of an error, but the lines of code."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(line for line in lines if not line.startswith("  "))


def refused(path: Path | str, key: str | None) -> str:
    """What is said where the bank does not open; no key is in it."""
    with pytest.raises(StoreError) as caught:
        MemoryBank.open(path, key=key)
    assert not any(each in shown(caught.value) for each in (KEY, NEW))
    return str(caught.value)


def state(folder: Path) -> dict[str, str]:
    return {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A bank with one turn."""
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, key=KEY) as bank:
        said(bank, "The parcel has arrived.")
    return path


# -- what leaves the bank ---------------------------------------------------------------------------------------------


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Path]:
    """A folder that is looked through all the time; no file in it may ever hold a plain word."""
    found: list[dict[str, list[bytes]]] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            with suppress(FileNotFoundError):  # a temporary file that is gone again
                found.append(plain_words(tmp_path))

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield tmp_path
    stop.set()
    watcher.join()
    assert len(found) > 3
    assert not any(found)


def test_no_file_ever_holds_a_plain_word(watched: Path) -> None:
    with filled(watched / "bank.db", key=KEY) as bank:
        bank.storage.backup(watched / "copies" / "copy.db")
        with MemoryBank.open(watched / "moved.db", key=NEW) as moved:
            bank.storage.move_to(moved.storage)
        bank.forget(ANN, session="s1")
        bank.storage.compact()
        bank.storage.rekey(NEW)
        assert bank.recall(ANN, "sourdough").hits
        assert not plain_words(watched)
    assert not plain_words(watched)


def test_a_backup_has_the_same_key_and_everything(small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with MemoryBank.open(small, key=KEY) as bank:
        assert bank.storage.backup(copy) == copy
        lines = list(bank.storage.export(ANN))
        bank.forget(ANN)
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    with MemoryBank.open(copy, key=KEY) as back:
        assert list(back.storage.export(ANN)) == lines
    assert "no key was given" in refused(copy, None)
    assert "does not open with this key" in refused(copy, NEW)


def test_a_bank_moves_between_plain_and_encrypted_files(tmp_path: Path) -> None:
    keys = (None, KEY, NEW, None)
    with filled(tmp_path / "0.db") as bank:
        before = told(bank, ANN)
    for place in range(3):
        here = MemoryBank.open(tmp_path / f"{place}.db", key=keys[place])
        with here, MemoryBank.open(tmp_path / f"{place + 1}.db", key=keys[place + 1]) as there:
            assert here.storage.move_to(there.storage).scopes == 2
    assert set(plain_words(tmp_path)) == {str(tmp_path / "0.db"), str(tmp_path / "3.db")}
    with layered(tmp_path / "3.db") as bank:
        assert told(bank, ANN) == before


def test_a_bank_moves_to_a_server_and_back(tmp_path: Path, postgres_url: str) -> None:
    with filled(tmp_path / "one.db", key=KEY) as source, MemoryBank.open(postgres_url) as server:
        before = told(source, ANN)
        source.storage.move_to(server.storage)
        with layered(tmp_path / "two.db", key=NEW) as back:
            assert server.storage.move_to(back.storage).scopes == 2
            assert told(back, ANN) == before
    assert not plain_words(tmp_path)


def test_an_export_goes_into_another_encrypted_bank(small: Path, tmp_path: Path) -> None:
    with MemoryBank.open(small, key=KEY) as bank, MemoryBank.open(tmp_path / "other.db", key=NEW) as other:
        assert other.storage.import_(bank.storage.export(ANN)) == 1
        assert other.recall(ANN, "parcel").hits
    assert not plain_words(tmp_path)


# -- the wrong key ----------------------------------------------------------------------------------------------------


def test_a_wrong_key_writes_nothing_and_says_what_to_do(small: Path) -> None:
    before = state(small.parent)
    said_of = refused(small, NEW)
    assert str(small) in said_of
    assert "does not open with this key" in said_of
    assert "open the bank again with the right key" in said_of
    assert state(small.parent) == before


def test_no_key_for_an_encrypted_file_and_a_key_for_a_plain_one(small: Path, tmp_path: Path) -> None:
    assert "open it with its key (MemoryBank.open(path, key=…))" in refused(small, None)
    plain = tmp_path / "plain.db"
    with MemoryBank.open(plain) as bank:
        said(bank, "The parcel has arrived.")
    before = state(tmp_path)
    assert "is not encrypted, and a key was given; open it without one" in refused(plain, KEY)
    assert state(tmp_path) == before


def test_a_wrong_key_loses_nothing_of_a_log_that_was_left(small: Path, tmp_path: Path) -> None:
    left = tmp_path / "left"
    left.mkdir()
    with MemoryBank.open(small, key=KEY) as bank:
        said(bank, "The helmet is red.", "t")
        # As a process that is killed leaves its files.
        for suffix in ("", "-wal"):
            shutil.copy(f"{small}{suffix}", left / f"bank.db{suffix}")
    refused(left / "bank.db", NEW)
    refused(left / "bank.db", None)
    with MemoryBank.open(left / "bank.db", key=KEY) as bank:
        assert [turn.content for name in bank.sessions(ANN) for turn in bank.turns(ANN, name)] == [
            "The parcel has arrived.",
            "The helmet is red.",
        ]


@pytest.mark.parametrize("key", ["", "a\0b", b"bytes", 7, "half \ud800"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(small: Path, key: Any) -> None:
    with MemoryBank.open(small, key=KEY) as bank:
        for attempt in (lambda: MemoryBank.open(small, key=key), lambda: bank.storage.rekey(key)):
            with pytest.raises(InvalidInput, match="a key is a string") as caught:
                attempt()
            assert "half \\ud800" not in shown(caught.value)
        assert bank.recall(ANN, "parcel").hits


def test_nothing_of_a_bank_shows_its_key(small: Path) -> None:
    with MemoryBank.open(small, key=KEY) as bank:
        store = bank._store
        parts = (
            bank,
            store,
            vars(store),
            store.cipher,
            store.engine,
            store.engine.url,
            bank.storage,
            store.engine.pool,
        )
        assert not any(KEY in each for part in parts for each in (repr(part), str(part)))
        listeners = list(store.engine.pool.dispatch.connect)
        assert listeners
        assert KEY not in repr(listeners)


def test_pages_of_an_encrypted_file_are_not_salvaged_and_that_is_said(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("dissect.database", reason="needs the extra 'salvage'")
    assert salvage(small).exports == {}
    words = run(capsys, "export", "--damaged", "--store", str(small), "--scope", "acme", "--scope", "ann", code=1)
    assert "If it is encrypted, that is not done page by page: put its latest backup in its place" in words


def test_damage_is_found_by_the_codes_of_the_pages(small: Path) -> None:
    assert damages(small) == []
    raw = bytearray(small.read_bytes())
    raw[-2000] ^= 1
    small.write_bytes(raw)
    assert "HMAC" in damages(small)[0]


def damages(path: Path) -> list[str]:
    with closing(open_store(path, key=KEY)) as store, store.transaction(write=False) as connection:
        return store.cipher.damages(connection.connection.driver_connection)


# -- another key ------------------------------------------------------------------------------------------------------


def test_a_bank_goes_on_with_its_new_key_and_others_are_told(small: Path) -> None:
    with MemoryBank.open(small, key=KEY) as bank, MemoryBank.open(small, key=KEY) as other:
        assert other.recall(ANN, "parcel").hits
        bank.storage.rekey(NEW)
        said(bank, "The helmet is red.", "t")
        assert len(bank.recall(ANN, "parcel helmet").hits) == 2
        for attempt in (lambda: said(other, "The oven is hot.", "u"), lambda: other.sessions(ANN)):
            with pytest.raises(StoreError, match=r"does not open with this key: .*rekey.*Nothing was written"):
                attempt()
    assert "does not open with this key" in refused(small, KEY)
    with MemoryBank.open(small, key=NEW) as again:
        assert again.sessions(ANN) == ["s", "t"]


def test_another_process_is_told_too(small: Path) -> None:
    program = (
        "import sys; from secom_core import MemoryBank; bank = MemoryBank.open(sys.argv[1], key=sys.argv[2])\n"
        "print(len(bank.sessions(('acme', 'ann'))), flush=True); sys.stdin.readline()\n"
        "bank.remember(('acme', 'ann'), [{'role': 'user', 'content': 'lost?'}], session='x')"
    )
    command = [sys.executable, "-c", program, str(small), KEY]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment(), **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "1\n"
        with MemoryBank.open(small, key=KEY) as bank:
            bank.storage.rekey(NEW)
        _, told_it = process.communicate("\n", timeout=60)
    assert "does not open with this key" in told_it.splitlines()[-1]
    assert "hmac" not in told_it
    with MemoryBank.open(small, key=NEW) as bank:
        assert bank.sessions(ANN) == ["s"]


def test_writers_of_the_same_bank_lose_nothing_while_its_key_changes(small: Path) -> None:
    with MemoryBank.open(small, key=KEY) as bank:
        done: list[str] = []

        def write() -> None:
            for number in range(20):
                said(bank, f"The parcel {number} has arrived.", f"n{number}")
                done.append(f"n{number}")

        writer = threading.Thread(target=write)
        with pytest.MonkeyPatch.context() as patch:
            # What is derived may fail at the moment, and costs a warning.
            patch.setattr("secom_core.errors.warnings.warn", lambda *_, **__: None)
            writer.start()
            for key in (KEY, NEW):
                bank.storage.rekey(key)
            writer.join()
    with MemoryBank.open(small, key=NEW) as bank:
        assert len(done) == 20
        assert {"s", *done} <= set(bank.sessions(ANN))


def test_a_plain_bank_has_no_key_to_change(tmp_path: Path) -> None:
    for where in (tmp_path / "plain.db", ":memory:"):
        with MemoryBank.open(where) as bank, pytest.raises(InvalidInput, match=r"not encrypted.*move it into a file"):
            bank.storage.rekey(NEW)


def test_where_somebody_writes_the_key_stays(small: Path) -> None:
    with MemoryBank.open(small, key=KEY, busy_timeout=0.1) as bank, MemoryBank.open(small, key=KEY) as other:
        with other._store.transaction():
            with pytest.raises(StoreError, match="was not changed: somebody else was writing") as caught:
                bank.storage.rekey(NEW)
            assert NEW not in shown(caught.value)
        for each in (bank, other):
            said(each, "The helmet is red.", "t")
    with MemoryBank.open(small, key=KEY) as bank:
        assert bank.sessions(ANN) == ["s", "t"]


def test_where_the_disk_is_full_the_key_stays(small: Path) -> None:
    """SQLCipher reports success there."""
    program = (
        "import os, resource, signal, sys; from secom_core.errors import StoreError\n"
        "from secom_core.stores.opening import open_store\n"
        "path, key, new = sys.argv[1:]; store = open_store(path, key=key)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); unlimited = resource.RLIM_INFINITY\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path) // 2, unlimited))\n"
        "try: store.rekey(new)\n"
        "except StoreError as error: print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))\n"
        "store.close_session(('acme', 'ann'), 's'); print(store.scopes())"
    )
    with MemoryBank.open(small, key=KEY) as bank:
        said(bank, "The helmet is red. " * 50_000, "t")
    command = [sys.executable, "-c", program, str(small), KEY, NEW]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert "was not changed" in done.stdout, done.stderr
    assert done.stdout.endswith("[('acme', 'ann')]\n")
    assert opens(small, KEY)
    assert damages(small) == []


def test_where_somebody_reads_the_old_pages_are_told_of(small: Path) -> None:
    with MemoryBank.open(small, key=KEY) as bank, MemoryBank.open(small, key=KEY) as other:
        with other._store.transaction(write=False) as connection:
            connection.exec_driver_sql("SELECT count(*) FROM messages").fetchall()
            with pytest.warns(DegradedWarning, match="new key, and while others read it.*compact"):
                bank.storage.rekey(NEW)
        bank.storage.compact()
        assert bank.recall(ANN, "parcel").hits


def test_a_power_cut_after_a_new_key_leaves_everything(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"

    def cut(_store: Database, *_: str, wait: float) -> bool:
        left.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{small}{suffix}", left / f"bank.db{suffix}")
        return False

    # While others have the file open, its log stays.
    with MemoryBank.open(small, key=KEY), MemoryBank.open(small, key=KEY) as bank:
        monkeypatch.setattr(Database, "_outside_transactions", cut)
        bank.storage.rekey(NEW)
    monkeypatch.undo()
    assert "does not open with this key" in refused(left / "bank.db", KEY)
    with MemoryBank.open(left / "bank.db", key=NEW) as bank:
        assert bank.turns(ANN, "s")[0].content == "The parcel has arrived."


def test_killed_while_its_key_changes_a_bank_has_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    path, large = tmp_path / "bank.db", "The parcel has arrived. " * 400_000
    keys = [KEY, KEY.replace("5a", "a5")]
    with closing(open_store(path, key=KEY)) as store:
        store.append(ANN, "s", [Message(large, id="s", at=MAY)])
    size, ends = path.stat().st_size, []
    # How much of the pages is written under the new key when the process is killed; again where it was too quick.
    for share in (0.1, 0.6, 1.0, *[0.1] * 20):
        if len(ends) >= 3 and -signal.SIGKILL in ends:
            break
        command = [sys.executable, str(Path(__file__).with_name("rekey_worker.py")), str(path), *keys]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            while process.poll() is None and size_of(Path(f"{path}-wal")) < share * size:
                pass
            process.kill()
        ends.append(process.returncode)
        keys.sort(key=lambda key: not opens(path, key))
        assert [opens(path, key) for key in keys] == [True, False]
        with closing(open_store(path, key=keys[0])) as store:
            [row] = store.sessions_of(ANN)
            assert [turn.content for turn in store.turns(row)] == [large]
    assert -signal.SIGKILL in ends


def size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def opens(path: Path, key: str) -> bool:
    try:
        open_store(path, key=key).close()
    except StoreError:
        return False
    return True


# -- the command ------------------------------------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("SECOM_")}
    return {**env, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", **more}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with a transcript and files of keys; no file of it may hold a plain word in the end."""
    for name in ("SECOM_STORE", "SECOM_KEY", "SECOM_NEW_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    (tmp_path / "chat.txt").write_text("Ann: I moved to Ghent.\nBob: Congratulations!\n")
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "new").write_bytes(f"{NEW}\r\n".encode())
    yield tmp_path
    for each in tmp_path.glob("*.db*"):
        assert b"Ghent" not in each.read_bytes() or "plain" in each.name


SCOPE = ["--scope", "ann"]


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    done = main(list(words))
    seen = capsys.readouterr()
    assert (done, seen.err if code == 0 else "") == (code, ""), seen.err
    assert not any(key in seen.out + seen.err for key in (KEY, NEW))
    assert seen.err.count("\n") == (code != 0)
    return seen.out if code == 0 else seen.err


def test_the_command_works_on_an_encrypted_store(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_file = [*SCOPE, "--key-file", "key"]
    assert "2 messages" in run(capsys, "remember", "chat.txt", "--store", "a.db", *by_file)
    assert "Ghent" in run(capsys, "recall", "Where?", "--store", "a.db", *by_file)
    monkeypatch.setenv("SECOM_KEY", KEY)
    monkeypatch.setenv("SECOM_STORE", "a.db")
    assert "2 turns" in run(capsys, "scopes")
    run(capsys, "backup", "b.db")
    assert "Ghent" in run(capsys, "inspect", "turns", "--store", "b.db", *SCOPE)
    run(capsys, "rekey", "b.db", "--new-key-file", "new")
    run(capsys, "inspect", "--store", "b.db", "--key-file", "new", *SCOPE)
    assert "does not open with this key" in run(capsys, "inspect", "--store", "b.db", *SCOPE, code=1)
    monkeypatch.setenv("SECOM_NEW_KEY", NEW)
    run(capsys, "move", "c.db")
    assert "1 there already" in run(capsys, "move", "b.db")
    assert "2 turns forgotten" in run(
        capsys, "forget", "--all", "--yes", "--store", "c.db", "--key-file", "new", *SCOPE
    )


def test_the_command_makes_no_plain_store_of_an_encrypted_one_unasked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "remember", "chat.txt", "--store", "a.db", "--key-file", "key", *SCOPE)
    from_a = ["--store", "a.db", "--key-file", "key"]
    assert "--new-key-file FILE, or say --plain" in run(capsys, "move", "plain.db", *from_a, code=1)
    assert not Path("plain.db").exists()
    run(capsys, "move", "plain.db", "--plain", *from_a)
    assert "Ghent" in run(capsys, "recall", "Where?", "--store", "plain.db", *SCOPE)


def test_the_command_says_what_is_wrong_with_a_key(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "remember", "chat.txt", "--store", "a.db", "--key-file", "key", *SCOPE)
    run(capsys, "remember", "chat.txt", "--store", "plain.db", *SCOPE)
    before = state(folder)
    of_a = ["scopes", "--store", "a.db"]
    assert "SECOM_KEY, or --key-file FILE" in run(capsys, *of_a, code=1)
    assert "does not open with this key" in run(capsys, *of_a, "--key-file", "new", code=1)
    for raw, problem in ((b"", "holds no key"), (b"a\nb\n", "holds more than one line"), (b"\xff", "is not UTF-8")):
        Path("odd").write_bytes(raw)
        assert f"odd {problem}" in run(capsys, *of_a, "--key-file", "odd", code=1)
    Path("odd").unlink()
    assert "no key" in run(capsys, *of_a, "--key-file", "-", code=1)
    assert "SECOM_NEW_KEY, or --new-key-file" in run(capsys, "rekey", "a.db", "--key-file", "key", code=1)
    rekeyed = run(capsys, "rekey", "plain.db", "--new-key-file", "new", code=1)
    assert "not encrypted" in rekeyed
    monkeypatch.setenv("SECOM_KEY", KEY)
    assert "plain.db is not encrypted; leave SECOM_KEY out" in run(capsys, "scopes", "--store", "plain.db", code=1)
    assert state(folder) == before
    with pytest.raises(SystemExit):
        main([*of_a, "--key", KEY])


def test_somebody_at_a_terminal_is_asked_without_an_echo(folder: Path) -> None:
    with MemoryBank.open("vault.db", key=KEY) as bank:
        said(bank, "The parcel has arrived.")
    asked = {"Key of vault.db: ": KEY, "New key: ": NEW, "New key, again: ": NEW}
    code, seen = at_terminal(["rekey", "vault.db"], asked)
    assert (code, "has its new key" in seen) == (0, True), seen
    assert opens(folder / "vault.db", NEW)


def at_terminal(words: list[str], asked: dict[str, str]) -> tuple[int, str]:
    """The command at a terminal of its own, where what is asked is answered; what is seen there, without any key."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "secom_core", *words]
    env = environment()
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
    ) as process:
        os.close(theirs)
        seen, last = b"", 0
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            seen += piece
            for question, answer in asked.items():
                if seen[last:].endswith(question.encode()):
                    last = len(seen)
                    os.write(ours, f"{answer}\n".encode())
        code = process.wait(timeout=60)
    os.close(ours)
    text = seen.decode()
    assert not any(key in text for key in (KEY, NEW))
    return code, text
