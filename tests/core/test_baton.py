"""Threads of one process work one after the other, and none waits for one that waits for something else."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder

from secom_core import MemoryBank
from secom_core.llm.flow import Metered, Prompt, run
from secom_core.processes import FairLock, interpreter
from secom_core.processes.baton import Baton
from secom_core.stores.log_syncing import sync_log
from secom_core.stores.opening import open_store
from secom_core.vector_stores.sync import VectorStoreSync

NEVER = 3600.0
PATIENCE_S = 20.0


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.001)


@contextmanager
def threads(*works: Callable[[], object]) -> Iterator[None]:
    started = [threading.Thread(target=work) for work in works]
    for thread in started:
        thread.start()
    yield
    for thread in started:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def comes(baton: Baton, then: Callable[[], object], *, soon: bool = False) -> threading.Thread:
    """A thread that wants the baton."""

    def want() -> None:
        with baton.held(soon=soon):
            then()

    thread = threading.Thread(target=want)
    thread.start()
    return thread


def is_free(baton: Baton) -> bool:
    came = threading.Event()
    comes(baton, came.set).join(PATIENCE_S)
    return came.is_set()


def test_many_threads_in_any_order_have_it_one_at_a_time() -> None:
    baton, inside, most = Baton(NEVER, NEVER), 0, 0

    def step() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.0001)
        inside -= 1

    def work(seed: int) -> None:
        for number in range(60):
            with baton.held(soon=(seed + number) % 3 == 0):
                step()
                if number % 5 == 0:
                    with baton.put_down():
                        time.sleep(0.0001)
                    step()

    with threads(*(lambda seed=seed: work(seed) for seed in range(12))):  # type: ignore[misc]
        pass
    assert most == 1
    assert not baton._lock.locked()


def test_a_call_within_a_call_does_not_wait_for_it() -> None:
    baton = Baton(NEVER, NEVER)
    with baton.held(), baton.held(soon=True):
        pass
    assert is_free(baton)


def test_it_is_handed_on_where_a_call_fails() -> None:
    baton = Baton(NEVER, NEVER)
    with pytest.raises(ZeroDivisionError), baton.held():
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), baton.held(), baton.put_down():
        raise ZeroDivisionError
    assert is_free(baton)


@pytest.mark.parametrize("soon", [True, False])
def test_who_keeps_it_too_long_loses_it_and_goes_on(soon: bool) -> None:
    baton, came = Baton(0.02, NEVER), threading.Semaphore(0)
    with baton.held():
        started = [comes(baton, came.release, soon=soon) for _ in range(3)]
        for _ in started:
            assert came.acquire(timeout=PATIENCE_S)
    for thread in started:
        thread.join(PATIENCE_S)
    # It hands on nothing that it no longer has.
    assert not baton._lock.locked()
    assert is_free(baton)


class Crowded:
    """The lock of a baton that many threads have, one after the other, and never the one that asks."""

    def __init__(self, baton: Baton) -> None:
        self.baton, self.asked = baton, 0

    def acquire(self, timeout: float) -> bool:
        self.asked += 1
        self.baton._holder = object()
        time.sleep(0.01)
        return False


@pytest.mark.parametrize(("soon", "patience", "asked"), [(True, NEVER, 1), (False, 0.05, 6)])
def test_nobody_waits_for_ever_while_others_come_and_go(soon: bool, patience: float, asked: int) -> None:
    baton, came = Baton(0.01, patience), threading.Event()
    baton._lock = crowded = Crowded(baton)  # type: ignore[assignment]
    comes(baton, came.set, soon=soon)
    assert came.wait(PATIENCE_S)
    assert 1 <= crowded.asked <= asked


def test_it_is_put_down_while_a_thread_waits() -> None:
    baton, order = Baton(NEVER, NEVER), list[str]()
    with baton.held():
        other = comes(baton, lambda: order.append("other"))
        with baton.put_down():
            eventually(lambda: order == ["other"])
        assert baton._lock.locked()
        order.append("mine")
    other.join(PATIENCE_S)
    with baton.put_down():
        order.append("without")
    assert order == ["other", "mine", "without"]
    assert not baton._lock.locked()


def test_it_moves_on_from_a_thread_that_was_interrupted_with_it() -> None:
    baton = Baton(0.02, NEVER)
    lost = baton._lock
    lost.acquire()
    assert is_free(baton)
    assert baton._lock is not lost
    assert not baton._lock.locked()


def test_an_interrupted_thread_leaves_nobody_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    baton = Baton(0.02, NEVER)

    class Interrupted(Exception):
        pass

    def interrupted(patience: float) -> Any:
        taken(patience)
        raise Interrupted

    taken = baton._taken
    monkeypatch.setattr(baton, "_taken", interrupted)
    for _ in range(3):
        with pytest.raises(Interrupted), baton.held():
            pass
    monkeypatch.setattr(baton, "_taken", taken)
    with baton.held():
        monkeypatch.setattr(baton, "_taken", interrupted)
        with pytest.raises(Interrupted), baton.put_down():
            pass
        monkeypatch.setattr(baton, "_taken", taken)
    assert is_free(baton)


def remembers(place: Path) -> None:
    with MemoryBank.open(place) as bank:
        bank.remember(("child",), [("user", "I was forked.")], session="s")


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_does_not_wait_for_a_thread_that_it_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for waits in ("_longest", "_patience"):
        monkeypatch.setattr(interpreter, waits, NEVER)
    held, forked = threading.Event(), threading.Event()

    def hold() -> None:
        with interpreter.held():
            held.set()
            forked.wait(PATIENCE_S)

    with threads(hold):
        assert held.wait(PATIENCE_S)
        child = multiprocessing.get_context("fork").Process(target=remembers, args=(tmp_path / "memory.db",))
        child.start()
        child.join(PATIENCE_S)
        forked.set()
    assert child.exitcode == 0


# -- what waits for something else puts it down -----------------------------------------------------------------------


class Meeting:
    """Where two threads are at the same time; two that come one after the other never meet."""

    def __init__(self) -> None:
        self._both = threading.Barrier(2)

    def __call__(self, *_: object) -> None:
        self._both.wait(PATIENCE_S)


class Embedder:
    name = "meeting"

    def __init__(self, meeting: Meeting) -> None:
        self.meeting, self.meets = meeting, False

    def embed(self, texts: Sequence[str]) -> Any:
        if self.meets:
            self.meeting()
        return np.ones((len(texts), 4), dtype=np.float32) / 2


class Model:
    def __init__(self, meeting: Meeting) -> None:
        self.meeting = meeting

    def complete(self, prompt: Prompt) -> str:
        self.meeting()
        return "NONE"


def together(*works: Callable[[], object]) -> None:
    failed = list[BaseException]()

    def caught(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - shown below
            failed.append(error)

    with threads(*(lambda work=work: caught(work) for work in works)):  # type: ignore[misc]
        pass
    assert not failed


@pytest.fixture
def for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that waits with the baton in its hand is waited for."""
    for waits in ("_longest", "_patience"):
        monkeypatch.setattr(interpreter, waits, NEVER)


@pytest.mark.usefixtures("for_ever")
@pytest.mark.filterwarnings("error")
def test_embedders_are_asked_side_by_side(tmp_path: Path) -> None:
    embedder = Embedder(Meeting())
    with MemoryBank.open(tmp_path / "memory.db", embedder=embedder) as bank:
        for user in ("ann", "bob"):
            bank.remember((user,), [("user", "The third step creaks.")], session="s")
            bank.recall((user,), "Which step creaks?")
        embedder.meets = True
        together(lambda: bank.recall(("ann",), "Which step?"), lambda: bank.recall(("bob",), "Which step?"))


@pytest.mark.usefixtures("for_ever")
@pytest.mark.filterwarnings("error")
def test_redactors_are_asked_side_by_side(tmp_path: Path) -> None:
    meeting = Meeting()

    def redact(text: str) -> str:
        meeting()
        return text

    with MemoryBank.open(tmp_path / "memory.db", redact=redact) as bank:
        together(
            lambda: bank.remember(("ann",), [("user", "The third step creaks.")], session="s"),
            lambda: bank.remember(("bob",), [("user", "The third step creaks.")], session="s"),
        )


@pytest.mark.usefixtures("for_ever")
def test_models_are_asked_side_by_side() -> None:

    model = Metered(Model(Meeting()))

    def ask() -> None:
        with interpreter.held():
            model.complete(Prompt("Is it so?"))

    together(ask, ask)


@pytest.mark.usefixtures("for_ever")
def test_threads_that_ask_a_list_of_prompts_are_waited_for_without_it() -> None:
    def prompts() -> Any:
        replies = yield [Prompt("One?"), Prompt("Two?")]
        return replies

    model = Model(Meeting())

    class Asks:
        def complete(self, prompt: Prompt) -> str:
            with interpreter.held():
                pass
            return model.complete(prompt)

    def ask() -> None:
        with interpreter.held():
            assert run(prompts(), Asks(), limit=2) == ["NONE", "NONE"]

    together(ask)


@pytest.mark.usefixtures("for_ever")
def test_a_writer_that_waits_for_another_has_it_not() -> None:
    lock, came = FairLock(), threading.Event()
    assert lock.acquire()

    def waits() -> None:
        with interpreter.held():
            assert lock.acquire(PATIENCE_S)
            lock.release()

    def works() -> None:
        eventually(lambda: bool(lock._waiting))
        with interpreter.held():
            came.set()

    with threads(waits, works):
        assert came.wait(PATIENCE_S)
        lock.release()


@pytest.mark.usefixtures("for_ever")
def test_the_disk_is_waited_for_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meeting, log = Meeting(), tmp_path / "memory.db-wal"
    log.write_bytes(b"log")
    monkeypatch.setattr("secom_core.stores.log_syncing._sync", meeting)

    def sync() -> None:
        with interpreter.held():
            sync_log(str(tmp_path / "memory.db"))

    together(sync, sync)


@pytest.mark.usefixtures("for_ever")
def test_vector_stores_outside_are_waited_for_without_it() -> None:
    meeting = Meeting()
    with closing(open_store(":memory:")) as store:
        sync = VectorStoreSync(store, DictionaryStore(HashingEmbedder()), size=1)

        def search() -> None:
            with interpreter.held():
                sync._called(meeting)

        together(search, search)
