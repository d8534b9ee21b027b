"""The background writer: on disk at once, derived soon, lost never."""

from __future__ import annotations

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope, StoreError

ANN = ("acme", "ann")


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", summaries=True, idle_after=False) as opened:
        yield opened


def memories(bank: MemoryBank) -> int:
    return bank.stats(ANN).memories


def test_what_was_said_is_on_disk_before_it_is_derived(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60) as writer:
        done = writer.remember(ANN, said("I moved to Ghent."), session="s")
        assert done.new == 1
        assert bank.stats(ANN).turns == 1
        assert memories(bank) == 0
        assert len(writer) == 1
        assert writer
        writer.flush()
        assert memories(bank) == 1
        assert len(writer) == 0


def test_what_was_said_a_second_ago_is_recalled_before_the_writer_came_to_it(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60) as writer:
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        assert "Ghent" in bank.recall(ANN, "Where did I move?").text


def test_a_recall_leaves_what_is_in_the_prompt_to_the_writer(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60) as writer:
        shown: list[str] = []
        for text in ("I moved to Ghent.", "Marta lives in Ghent, too.", "The tram stops in Ghent."):
            shown += writer.remember(ANN, said(text), session="s").turn_ids
            assert bank.recall(ANN, "Who is in Ghent?", exclude=shown).text == ""
        assert memories(bank) == 0
        # As soon as one of them is looked for, all are there.
        found = bank.recall(ANN, "Who is in Ghent?", exclude=shown[1:])
        assert [turn.id for turn in found.turns] == shown[:1]
        assert memories(bank) > 0
        shown += writer.remember(ANN, said("And Ines moved to Ghent."), session="s").turn_ids
        assert bank.recall(ANN, "Who is in Ghent?", exclude=shown).text == ""
        assert bank.stats(ANN).turns == 4
        assert writer.flush(10)
        assert bank.recall(ANN, "Who is in Ghent?", exclude=shown[:3]).turns[0].text == "user: And Ines moved to Ghent."


def test_what_is_left_to_the_writer_is_found_once_it_is_looked_for(bank: MemoryBank) -> None:
    ids = bank.remember(ANN, said("I moved to Ghent."), session="s", later=True).turn_ids
    bank.remember(ANN, said("The piano is green."), session="other", close=True)
    assert "Ghent" not in bank.recall(ANN, "Where did I move, to Ghent?", exclude=ids).text
    assert "Ghent" in bank.recall(ANN, "Where did I move, to Ghent?").text
    bank.forget(ANN, session="s")
    assert "Ghent" not in bank.recall(ANN, "Where did I move, to Ghent?").text


def test_a_burst_is_derived_once(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    derive = bank.derive

    def counted(scope: tuple[str, ...], session: str, *, turns: int = 0, ended: bool = False) -> None:
        seen.append(turns)
        derive(scope, session, turns=turns, ended=ended)

    monkeypatch.setattr(bank, "derive", counted)
    with BackgroundWriter(bank, debounce=0.3) as writer:
        for number in range(20):
            writer.remember(ANN, said(f"Number {number} it is."), session="s")
        assert writer.flush(timeout=20)
    assert sum(seen) == 20
    assert len(seen) <= 2


def test_where_many_sessions_wait_several_turns_of_each_are_derived_at_once(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(bank, "derive", lambda scope, session, *, turns, ended: seen.append(turns))
    with BackgroundWriter(bank, debounce=0.16) as writer:
        for number in range(4):
            for user in range(20):
                told = [Message(f"Number {number} it is.", "user"), Message("Noted.", "assistant")]
                writer.remember(("acme", f"user-{user}"), told, session="s")
            # A session that waits alone is derived before its next turn comes.
            time.sleep(0.2)
        deadline = time.monotonic() + 60
        while len(writer) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not len(writer), "a session waits so long at most, however many others do"
    assert sum(seen) == 4 * 20
    assert len(seen) <= 2 * 20


def test_it_derives_by_itself_once_a_session_is_quiet(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=0.05) as writer:
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        deadline = time.monotonic() + 60
        while len(writer) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert memories(bank) == 1


def test_what_a_user_said_is_derived_with_its_answer(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    derived: list[str] = []
    monkeypatch.setattr(bank, "derive", lambda scope, session, **told: derived.append(session))
    with BackgroundWriter(bank, debounce=0.1) as writer:
        writer.remember(ANN, [Message("I moved to Ghent.", "user")], session="answered")
        writer.remember(ANN, [Message("Never mind.", "user")], session="over", close=True)
        time.sleep(0.4)
        assert derived == ["over"]
        writer.remember(ANN, [Message("Is it nice there?", "assistant")], session="answered")
        writer.remember(ANN, [Message("And who are you?", "user")], session="unanswered")
        time.sleep(0.6)
        assert derived == ["over", "answered"]
        deadline = time.monotonic() + 60
        while len(writer) and time.monotonic() < deadline:
            time.sleep(0.02)
    assert derived == ["over", "answered", "unanswered"]


def test_beyond_its_limit_who_remembers_waits(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60, limit=3) as writer:
        for number in range(10):
            writer.remember(ANN, said(f"Number {number} it is."), session=f"s{number}")
        assert len(writer) == 3
        assert memories(bank) == 7


def test_closing_a_session_makes_what_is_made_of_closed_sessions(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60) as writer:
        writer.remember(ANN, said("I moved to Ghent in May."), session="s")
        writer.close_session(ANN, "s")
        assert bank.summaries.latest(ANN) is None
        writer.flush()
        assert "Ghent" in (bank.summaries.latest(ANN) or pytest.fail("no summary")).text


def test_a_forgotten_scope_stays_forgotten(bank: MemoryBank) -> None:
    with BackgroundWriter(bank, debounce=60) as writer:
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        bank.forget(ANN)
    assert bank.scopes() == []


def test_it_goes_on_after_close(bank: MemoryBank) -> None:
    before = set(threading.enumerate())
    writer = BackgroundWriter(bank)
    writer.close()
    writer.remember(ANN, said("I moved to Ghent."), session="s")
    writer.close()
    writer.close()
    assert memories(bank) == 1
    assert not set(threading.enumerate()) - before


@pytest.mark.slow
def test_a_thread_that_nobody_needs_ends_and_leaves_no_bank_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secom_core.bank.background._IDLE_S", 0.05)
    bank = MemoryBank.open(tmp_path / "memory.db")
    writer, gone = BackgroundWriter(bank, debounce=0), weakref.ref(bank)
    for number in range(2):
        writer.remember(("ann",), [("user", f"I have {number} cats.")], session="monday")
        thread = writer._thread
        assert thread is not None
        thread.join(10)
        assert (len(writer), writer.is_alive) == (0, True)
    del bank, writer
    gc.collect()
    assert gone() is None


def test_its_work_for_all_is_in_nobodys_trace(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    request: ContextVar[str] = ContextVar("request", default="none")
    start, derive, seen = threading.Thread.start, bank.derive, list[str]()

    def start_as_tracers_do(thread: threading.Thread) -> None:
        monkeypatch.setattr(thread, "run", partial(copy_context().run, thread.run))
        start(thread)

    def seen_derive(*args: Any, **kwargs: Any) -> Any:
        seen.append(request.get())
        return derive(*args, **kwargs)

    monkeypatch.setattr(threading.Thread, "start", start_as_tracers_do)
    monkeypatch.setattr(bank, "derive", seen_derive)
    with BackgroundWriter(bank, debounce=0.01) as writer:
        for name in ("ann", "bob"):
            token = request.set(f"the request of {name}")
            writer.remember((name,), said("I moved to Ghent."), session="s")
            request.reset(token)
        writer.flush()

    assert seen == ["none", "none"]


def test_a_store_that_fails_is_logged_without_words_and_nothing_is_lost(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: object, **more: object) -> None:
        raise StoreError("disk on fire near Ghent")

    caplog.set_level(logging.INFO)
    with monkeypatch.context() as patch, BackgroundWriter(bank, debounce=0) as writer:
        patch.setattr(bank, "derive", broken)
        writer.remember(ANN, said("I moved to Ghent."), session="secret")
        writer.flush()
    assert "StoreError" in caplog.text
    assert "Ghent" not in caplog.text
    assert "secret" not in caplog.text
    assert "Ghent" in bank.recall(ANN, "Where did I move?").text


def test_flush_gives_up_in_time(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(bank, "derive", lambda *args, **more: gate.wait(120))
    with BackgroundWriter(bank, debounce=0) as writer:
        writer.remember(ANN, said("I moved to Ghent."), session="s")
        assert not writer.flush(timeout=0.1)
        gate.set()
        assert writer.flush(timeout=20)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("failure", [RuntimeError, SystemExit])
def test_the_thread_outlives_what_fails_in_it(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]
) -> None:
    derive = bank.derive

    def broken(scope: tuple[str, ...], session: str, *, turns: int = 0, ended: bool = False) -> None:
        if session == "one":
            raise failure("a defect near Ghent")
        derive(scope, session, turns=turns, ended=ended)

    monkeypatch.setattr(bank, "derive", broken)
    with BackgroundWriter(bank, debounce=0.05) as writer:
        # Both wait before the first one is derived, and nobody asks again.
        for session in ("one", "two"):
            writer.remember(ANN, said("I moved to Ghent."), session=session)
        deadline = time.monotonic() + 60
        while not memories(bank) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert memories(bank) == 1
        assert writer.is_alive
        assert writer.flush(timeout=20)
        assert writer.last_error is None or "Ghent" not in writer.last_error


def test_without_a_thread_nothing_is_waited_for_and_nothing_lost(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    writer = BackgroundWriter(bank, debounce=0)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        assert writer.remember(ANN, said("I moved to Ghent."), session="s").new == 1
        assert not writer.is_alive
        assert not bank.health().writer_alive
        assert not writer.flush()
        with pytest.warns(DegradedWarning, match="1 sessions are on disk but not yet cut and indexed"):
            writer.close()
    assert "Ghent" in bank.recall(ANN, "Where did I move?").text
    assert writer.flush(timeout=20)


def test_close_says_what_is_left(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(bank, "derive", lambda *args, **more: gate.wait(120))
    writer = BackgroundWriter(bank, debounce=0)
    for session in ("one", "two"):
        writer.remember(ANN, said("I moved to Ghent."), session=session)
    with pytest.warns(DegradedWarning, match="2 sessions are on disk but not yet cut and indexed"):
        writer.close(timeout=0.1)
    gate.set()
    writer.close()
    assert len(writer) == 0


def test_closing_tells_why_it_waits(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("secom_core.bank.background._SILENT_S", 0.05)
    gate = threading.Event()
    derive = bank.derive

    def slow(scope: tuple[str, ...], session: str, **more: Any) -> int:
        gate.wait(120)
        return derive(scope, session, **more)

    monkeypatch.setattr(bank, "derive", slow)
    writer = BackgroundWriter(bank, debounce=0)
    writer.remember(ANN, said("I moved to Ghent."), session="s")
    closing = threading.Thread(target=writer.close)
    closing.start()
    until = time.monotonic() + 60
    while "closing waits" not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert closing.is_alive()
    gate.set()
    closing.join(20)
    assert "nothing is lost if the process is ended now" in caplog.text
    assert memories(bank) == 1


def test_bad_input_is_refused_at_once(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="-1"):
        BackgroundWriter(bank, debounce=-1)
    with BackgroundWriter(bank) as writer:
        with pytest.raises(InvalidScope):
            writer.remember((), said("x"), session="s")
        assert len(writer) == 0


WORKER = """
import sys
from secom_core.bank.bank import MemoryBank
from secom_core.bank.background import BackgroundWriter

writer = BackgroundWriter(MemoryBank.open(sys.argv[1]), debounce=0.01)
for number in range(100_000):
    writer.remember(("acme", "ann"), [{"role": "user", "content": f"Number {number} it is."}], session=f"s{number % 7}")
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(path)], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    acknowledged = -1
    for line in worker.stdout:
        acknowledged = int(line)
        if acknowledged >= 60:
            os.kill(worker.pid, signal.SIGKILL)
            break
    acknowledged = max([acknowledged, *map(int, worker.stdout.read().split())])
    worker.wait()
    worker.stdout.close()
    with MemoryBank.open(path) as bank:
        bank.recall(ANN, "Which number is it?")
        kept = {turn.messages[0].text for name in bank.sessions(ANN) for turn in bank.turns(ANN, name)}
        assert {f"Number {number} it is." for number in range(acknowledged + 1)} <= kept
        held = sum(len(memory.turns) for name in bank.sessions(ANN) for memory in bank.memories(ANN, name))
        assert held == len(kept)
