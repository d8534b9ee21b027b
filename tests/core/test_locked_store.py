"""A store that somebody else holds: how long it is waited for, and that what was said is written once the lock goes."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from embedders import HashingEmbedder

from secom_core.bank import BackgroundWriter, MemoryBank, background, remember_soon, unwritten
from secom_core.bank.answers import turns_of_session
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, StoreError, StoreLocked
from secom_core.stores.database import waiting_at_most
from secom_core.stores.opening import open_store
from secom_core.topics import TopicOptions

ANN = ("acme", "ann")


@contextmanager
def locked(place: Path | str) -> Iterator[None]:
    """Another program writes, and takes its time."""
    store = open_store(place)
    with store.transaction(scope=ANN):
        yield
    store.close()


def said(*texts: str) -> list[Message]:
    return [Message(text) for text in texts]


def kept(bank: MemoryBank, scope: tuple[str, ...] = ANN) -> list[str]:
    return [m.text for name in bank.sessions(scope) for turn in bank.turns(scope, name) for m in turn.messages]


def soon_kept(bank: MemoryBank, count: int, seconds: float = 3.0) -> list[str]:
    deadline = time.monotonic() + seconds
    # What is written can be read before it is on disk, which ends its waiting.
    while (len(kept(bank)) < count or bank.health().unwritten) and time.monotonic() < deadline:
        time.sleep(0.02)
    return kept(bank)


@pytest.mark.parametrize("sessions", [40, 130])
def test_turns_of_a_hundred_sessions_are_forgotten_at_once_or_not_at_all(tmp_path: Path, sessions: int) -> None:
    """Another program begins to write as soon as something is gone, and takes its time."""
    path, ended = tmp_path / "m.db", threading.Event()

    def seize() -> None:
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as other:
            while other.execute("SELECT count(*) FROM sessions").fetchone() == (sessions,):
                time.sleep(0.001)
            other.execute("BEGIN IMMEDIATE")
            ended.wait(30)

    with MemoryBank.open(path, busy_timeout=0.3) as bank:
        for number in range(sessions):
            bank.remember(ANN, said(f"I saw bird {number}."), session=f"s{number}")
        ids = [turn.id for name in bank.sessions(ANN)[: sessions - 1] for turn in bank.turns(ANN, name)]
        thread = threading.Thread(target=seize)
        thread.start()
        try:
            with warnings.catch_warnings():
                # The other program reads the file, so its log may hold the words until a later write.
                warnings.simplefilter("ignore", DegradedWarning)
                if sessions > 100:
                    with pytest.raises(StoreLocked, match="100 turns were forgotten, and the same call again forgets"):
                        bank.forget(ANN, turn_ids=ids)
                else:
                    assert bank.forget(ANN, turn_ids=ids) == 39
        finally:
            ended.set()
            thread.join()
        if sessions > 100:
            assert bank.forget(ANN, turn_ids=ids) == 29
        assert len(kept(bank)) == 1
        assert len(bank.recall(ANN, "Which bird did I see?", token_budget=500).hits) == 1
        assert not bank.check(ANN)


@pytest.mark.slow
def test_a_call_waits_as_long_as_the_caller_says(place: Path | str) -> None:
    with MemoryBank.open(place, busy_timeout=0.3) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        with locked(place):
            began = time.monotonic()
            with pytest.raises(StoreLocked, match=r"is locked by another writer, .*busy_timeout=0\.3\)"):
                bank.remember(ANN, said("I like tea."), session="s")
            assert 0.25 <= time.monotonic() - began < 20
            assert "Ghent" in bank.recall(ANN, "Where did I move?").text
        bank.remember(ANN, said("I like tea."), session="s")
        assert kept(bank) == ["I moved to Ghent.", "I like tea."]


def test_a_recall_finds_everything_while_the_store_is_locked_and_writes_what_it_made_later(place: Path | str) -> None:
    with MemoryBank.open(place, busy_timeout=0.3) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        bank.remember(ANN, said("I moved on to Lier."), session="s", later=True)
        bank.remember(ANN, said("My aunt moved to Lyon."), session="t", later=True)
        bank.remember(ANN, said("My uncle moved to Nice."), session="u", later=True)
        with locked(place):
            began = time.monotonic()
            for _ in range(2):
                found = bank.recall(ANN, "Who moved where?").text
                assert all(town in found for town in ("Ghent", "Lier", "Lyon", "Nice"))
            assert time.monotonic() - began < 2, "it waits once, and not for each session"
        bank.remember(ANN, said("I moved back to Gouda."), session="t", later=True)
        found = bank.recall(ANN, "Who moved where?").text
        assert all(found.count(town) == 1 for town in ("Ghent", "Lier", "Lyon", "Nice", "Gouda"))
        rows = [bank._store.session_named(ANN, name) for name in "stu"]
        assert all(row is not None and row.is_derived for row in rows)
        assert not bank.check(ANN)


def test_a_recall_with_vectors_finds_everything_while_the_store_is_locked(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db", embedder=HashingEmbedder(), busy_timeout=0.1) as bank:
        bank.remember(ANN, said("My aunt moved to Lyon."), session="t", later=True)
        with locked(tmp_path / "m.db"):
            assert "Lyon" in bank.recall(ANN, "Who moved where?").text
        # The memories are written, and their vectors not yet.
        bank._store.save_vectors = _refused  # type: ignore[method-assign]
        assert "Lyon" in bank.recall(ANN, "Who moved where?").text
        del bank._store.save_vectors
        bank.remember(ANN, said("My uncle moved to Nice."), session="t")
        assert "Nice" in bank.recall(ANN, "Who moved where?").text


def _refused(*_: object, **__: object) -> None:
    raise StoreLocked("the store is locked")


def test_what_a_recall_made_while_the_store_was_locked_is_forgotten_with_the_rest(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db", busy_timeout=0.1) as bank:
        bank.remember(ANN, [Message(f"I saw {n} ducks and swan number {n}.") for n in range(900)], session="s")
        bank.recall(ANN, "ducks")
        bank.remember(ANN, said("My aunt moved to Lyon."), session="t", later=True)
        bank.remember(ANN, said("My uncle moved to Nice."), session="t", later=True)
        with locked(tmp_path / "m.db"):
            assert "Lyon" in bank.recall(ANN, "Who moved where?").text
        gone = next(turn.id for turn in bank.turns(ANN, "t") if "Lyon" in turn.text)
        bank.forget(ANN, turn_ids=[gone])
        assert "Lyon" not in bank.recall(ANN, "Who moved where?").text
    with MemoryBank.open(tmp_path / "m.db") as bank:
        found = bank.recall(ANN, "Who moved where?").text
        assert "Nice" in found
        assert "Lyon" not in found
        assert not bank.check(ANN)


def test_the_reason_names_who_holds_the_lock_and_what_helps(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        with locked(tmp_path / "m.db"), waiting_at_most(0.05), pytest.raises(StoreLocked) as other:
            bank.remember(ANN, said("I like tea."), session="s")
        with bank._store.transaction(), waiting_at_most(0.05), ThreadPoolExecutor() as threads:
            context = copy_context()
            mine = threads.submit(context.run, bank.remember, ANN, said("I like tea."), session="s").exception()
    assert "by another writer" in str(other.value)
    assert "by another thread of this process" in str(mine)
    for error in (other.value, mine):
        assert "busy_timeout" not in str(error), "it would not help"
        assert "try again" in str(error)


def test_the_reason_names_another_program_that_a_thread_of_this_process_waits_for_too(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        waiting = threading.Thread(target=bank.remember, args=(ANN, said("I like cake.")), kwargs={"session": "s"})
        with locked(tmp_path / "m.db"):
            waiting.start()
            time.sleep(0.5)
            with waiting_at_most(0.05), pytest.raises(StoreLocked, match="is locked by another writer"):
                bank.remember(ANN, said("I like tea."), session="s")
        waiting.join(60)
        assert kept(bank) == ["I like cake."]


def test_threads_wait_no_longer_for_each_other(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db", busy_timeout=0.1) as bank:
        with bank._store.transaction():
            errors: list[BaseException] = []

            def other() -> None:
                try:
                    bank.remember(ANN, said("I like tea."), session="s")
                except StoreLocked as error:
                    errors.append(error)

            thread = threading.Thread(target=other)
            thread.start()
            thread.join(10)
        assert len(errors) == 1


@pytest.mark.parametrize("wrong", [-1, float("nan"), 1e9])
def test_a_time_that_is_none_is_refused(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(InvalidInput, match="busy_timeout is a number of seconds"):
        MemoryBank.open(tmp_path / "m.db", busy_timeout=wrong)
    assert not (tmp_path / "m.db").exists()


@pytest.mark.slow
def test_a_finished_answer_waits_a_second_and_is_written_as_soon_as_the_lock_goes(place: Path | str) -> None:
    with MemoryBank.open(place) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        with locked(place):
            began = time.monotonic()
            assert remember_soon(bank, None, ANN, said("I like tea."), session="s", within=0.3) is None
            # What comes after it waits behind it, and costs no second more.
            assert remember_soon(bank, None, ANN, said("And cake."), session="s", within=0.3) is None
            assert time.monotonic() - began < 20
            health = bank.health()
            assert (health.unwritten, health.writer_alive, health.ok) == (2, True, False)
        assert soon_kept(bank, 3) == ["I moved to Ghent.", "I like tea.", "And cake."]
        assert bank.health().ok
        assert remember_soon(bank, None, ANN, said("And milk."), session="s").new == 1


def test_what_is_said_waits_behind_what_another_writer_keeps_of_the_scope(place: Path | str) -> None:
    """As where a web application makes an agent, and so a writer, for each request."""
    with MemoryBank.open(place) as bank:
        first, second = BackgroundWriter(bank), BackgroundWriter(bank)
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        with locked(place):
            remember_soon(bank, first, ANN, said("I like tea."), session="s", within=0)
            remember_soon(bank, second, ANN, said("And cake."), session="s", within=0)
            remember_soon(bank, None, ANN, said("And milk."), session="s", within=0)
            assert (first.unwritten, second.unwritten) == (3, 0)
            shown = [each.text for turn in turns_of_session(bank, ANN, "s") for each in turn.messages]
            assert shown == ["I moved to Ghent.", "I like tea.", "And cake.", "And milk."]
        assert soon_kept(bank, 4, seconds=60) == shown


def test_a_writer_may_be_added_while_somebody_goes_through_all_of_them() -> None:
    """As by another thread, which makes an agent."""
    with MemoryBank.open(":memory:") as bank:
        first = BackgroundWriter(bank)
        added = [BackgroundWriter(bank) for each in bank.writers if each is first]
        assert len(added) == 1
        assert len(bank.writers) == 2


def test_what_is_tried_again_and_again_is_logged_once_an_outage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank, BackgroundWriter(bank) as writer:
        for outage in (1, 2):
            with locked(tmp_path / "m.db"):
                writer.keep(ANN, said(f"I like tea {outage}."), session="s")
                assert not writer.flush(timeout=1.6)
            assert writer.flush(timeout=10)
            assert len([each for each in caplog.messages if "it is tried again: StoreLocked" in each]) == outage


@pytest.mark.slow
def test_close_says_how_much_is_not_on_disk(tmp_path: Path) -> None:
    bank = MemoryBank.open(tmp_path / "m.db", busy_timeout=0.2)
    writer = BackgroundWriter(bank)
    with locked(tmp_path / "m.db"):
        writer.keep(ANN, said("I moved to Ghent.", "I like tea."), session="s")
        assert not writer.flush(timeout=0.1)
        with pytest.raises(StoreError, match="2 messages are not on disk yet"):
            writer.close()
    writer.close()
    assert kept(bank) == ["I moved to Ghent.", "I like tea."]
    with locked(tmp_path / "m.db"):
        writer.keep(ANN, said("I like cake."), session="s")
        with pytest.raises(StoreError, match=r"1 messages are not on disk yet in \S+m\.db .* are lost, as the bank is"):
            bank.close()
        with pytest.raises(StoreError, match="are lost"):
            writer.close()
    with pytest.raises(StoreError, match="is closed; open it again"):
        bank.recall(ANN, "tea")


@pytest.mark.slow
def test_closing_tells_that_it_waits_and_gives_up_where_the_server_stays_away(
    postgres: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(background, "_FAILING_S", 4)
    bank = MemoryBank.open(postgres_url)
    writer = BackgroundWriter(bank)
    raised = list[StoreError]()

    def close() -> None:
        try:
            writer.close()
        except StoreError as error:
            raised.append(error)

    ending = threading.Thread(target=close, daemon=True)
    postgres.stop_now()
    try:
        writer.keep(ANN, said("I moved to Ghent.", "I like tea."), session="s")
        ending.start()
        ending.join(60)
    finally:
        postgres.start_again()
    assert "2 messages are not on disk yet" in str(raised)
    assert [each for each in caplog.messages if each.startswith("closing waits: 2 messages are in memory alone")]
    writer.close()
    assert kept(bank) == ["I moved to Ghent.", "I like tea."]
    bank.close()


def test_writers_that_end_together_wait_for_a_lock_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = MemoryBank.open(tmp_path / "m.db")
    writers = [BackgroundWriter(bank) for _ in range(2)]
    with locked(tmp_path / "m.db"):
        began = time.monotonic()
        writers[0].keep(ANN, said("I moved to Ghent."), session="s")
        with pytest.raises(StoreError, match="1 messages are not on disk yet"):
            writers[0].end(began - 60)
        assert time.monotonic() - began < 20, "the other one has waited a minute"
    ends: list[float] = []
    with monkeypatch.context() as patched:
        patched.setattr(BackgroundWriter, "end", lambda _, since: ends.append(since))
        bank.close()
    assert len(ends) == 2
    assert len(set(ends)) == 1


def test_the_end_of_a_process_does_not_wait_for_a_bank_that_is_closed(tmp_path: Path) -> None:
    bank = MemoryBank.open(tmp_path / "m.db")
    writer = BackgroundWriter(bank)
    with locked(tmp_path / "m.db"):
        writer.keep(ANN, said("I moved to Ghent."), session="s")
        bank._store.close()
    began = time.monotonic()
    with pytest.raises(StoreError, match="1 messages are not on disk yet"):
        writer.close()
    assert time.monotonic() - began < 20


@pytest.mark.slow
def test_what_waits_is_forgotten_too_and_brings_nothing_back(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        with locked(path):
            for session in ("s", "t"):
                remember_soon(bank, None, ANN, said(f"I like {session}."), session=session, within=0)
            forgetting = threading.Thread(target=bank.forget, args=(ANN,), kwargs={"session": "t"})
            forgetting.start()
        forgetting.join(10)
        assert soon_kept(bank, 2) == ["I moved to Ghent.", "I like s."]


@pytest.mark.slow
def test_what_is_being_written_from_memory_is_forgotten_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, goes_on, ended, write = threading.Event(), threading.Event(), threading.Event(), unwritten.written

    def written(*given: Any) -> int:
        begun.set()
        goes_on.wait(60)
        try:
            return write(*given)
        finally:
            ended.set()

    with MemoryBank.open(tmp_path / "m.db") as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        monkeypatch.setattr(background, "written", written)
        writer = BackgroundWriter(bank)
        writer.keep(ANN, said("I like tea."), session="t")
        assert begun.wait(60)
        threading.Timer(1, goes_on.set).start()
        bank.forget(ANN, session="t")
        assert ended.wait(60)
        assert bank.turns(ANN, "t") == []


def test_a_flush_waits_for_what_is_being_written_though_it_was_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, write = threading.Event(), threading.Event(), unwritten.written

    def written(*given: Any) -> int:
        begun.set()
        goes_on.wait(60)
        return write(*given)

    monkeypatch.setattr(background, "written", written)
    monkeypatch.setattr(background, "_SILENT_S", 0.05)
    with MemoryBank.open(tmp_path / "m.db") as bank:
        writer = BackgroundWriter(bank)
        writer.keep(ANN, said("I like tea."), session="t")
        assert begun.wait(60)
        writer.forget(ANN)
        assert not writer.flush(0.1)
        goes_on.set()
        assert writer.flush(60)


@pytest.mark.slow
def test_what_waits_does_not_come_back_where_another_process_has_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank, MemoryBank.open(path) as other:
        bank.remember(ANN, said("I moved to Ghent."), session="s")
        for _ in range(5):
            with locked(path):
                remember_soon(bank, None, ANN, said("I like tea."), session="s", within=0)
            # The writer writes before it or after it.
            other.forget(ANN)
            assert bank.writers.copy().pop().flush(10)
            assert kept(bank) == []
            bank.remember(ANN, said("I moved to Ghent."), session="s")


ENDS = """
import sys
from secom_core.bank import MemoryBank, remember_soon
from secom_core.conversation import Message

bank = MemoryBank.open(sys.argv[1])
remember_soon(bank, None, ("acme", "ann"), [Message("I moved to Ghent.")], session="s", within=0.1)
print("asked", flush=True)
"""


IN_A_CHILD = f"""
import multiprocessing
import sys

if __name__ == "__main__":
    child = multiprocessing.get_context(sys.argv[2]).Process(target=exec, args=({ENDS!r}, {{}}))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [None, *multiprocessing.get_all_start_methods()])
def test_a_process_that_ends_in_order_waits_for_the_lock(tmp_path: Path, how: str | None) -> None:
    path, program = tmp_path / "m.db", tmp_path / "ends.py"
    program.write_text(IN_A_CHILD if how else ENDS, encoding="utf-8")
    with MemoryBank.open(path) as bank:
        with locked(path):
            command = [sys.executable, str(program), str(path), *filter(None, [how])]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
            assert process.stdout is not None
            assert process.stdout.readline() == "asked\n"
            time.sleep(0.5)
            assert process.poll() is None
        assert process.wait(20) == 0
        process.stdout.close()
        assert kept(bank) == ["I moved to Ghent."]


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()])
@pytest.mark.parametrize("again", [False, True])
def test_a_recall_by_topics_finds_what_was_said_while_the_store_is_locked(
    tmp_path: Path, again: bool, embedder: HashingEmbedder | None
) -> None:
    parts = {"topics": TopicOptions(recall_without_model=True), "embedder": embedder, "busy_timeout": 0.1}
    path = tmp_path / "memory.db"
    with MemoryBank.open(path, **parts) as bank:
        bank.remember(ANN, said("I moved to Ghent."), session="s", close=True)
        if again:
            assert "Ghent" in bank.recall(ANN, "Who moved where?", layers=["topics"]).text
        for session, text in (("s", "I moved on to Lier."), ("t", "My aunt moved to Lyon.")):
            bank.remember(ANN, said(text), session=session, later=True)
        with locked(path):
            for _ in range(2):
                found = bank.recall(ANN, "Who moved where?", layers=["topics"]).text
                assert all(town in found for town in ("Ghent", "Lier", "Lyon"))
        found = bank.recall(ANN, "Who moved where?", layers=["topics"]).text
    with MemoryBank.open(path, **parts) as bank:
        assert bank.recall(ANN, "Who moved where?", layers=["topics"]).text == found
        assert all(found.count(town) == 1 for town in ("Lier", "Lyon"))
