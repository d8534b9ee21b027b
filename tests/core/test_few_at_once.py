"""So many threads are inside at once, the others come in order, and nobody waits for ever."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest

from secom_core.processes import FewAtOnce

NEVER = 3600.0
PATIENCE_S = 20.0


def eventually(holds) -> None:
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.001)


def comes(few: FewAtOnce, then, **given: float) -> threading.Thread:
    """A thread that wants to be inside, and has come as far as it can."""

    def want() -> None:
        with few.held(**given):
            then()

    waiting = len(few._waiting)
    thread = threading.Thread(target=want)
    thread.start()
    eventually(lambda: len(few._waiting) > waiting or not thread.is_alive())
    return thread


def test_so_many_are_inside_and_the_others_come_in_order():
    few, came = FewAtOnce(2, NEVER), list[int]()
    with few.held():
        leave = threading.Event()
        other = threading.Thread(target=lambda: comes_and_stays(few, leave))
        other.start()
        eventually(lambda: few._inside == 2)
        waiting = [comes(few, lambda number=number: came.append(number)) for number in range(5)]
        assert came == []
        leave.set()
        for thread in (other, *waiting):
            thread.join(PATIENCE_S)
    assert came == [0, 1, 2, 3, 4]
    assert few._inside == 0


def comes_and_stays(few: FewAtOnce, leave: threading.Event) -> None:
    with few.held():
        assert leave.wait(PATIENCE_S)


def test_many_threads_are_never_more_inside():
    few, guard, inside, most = FewAtOnce(3, NEVER), threading.Lock(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(50):
            with few.held(), few.held():
                with guard:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.001)
                with guard:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (inside, most, few._inside) == (0, 3, 0)


@pytest.mark.parametrize(("patience", "given"), [(0.01, {}), (NEVER, {"until": 0.0})])
def test_nobody_waits_for_one_that_does_not_leave(patience, given):
    few, came = FewAtOnce(1, patience), threading.Event()
    with few.held():
        comes(few, came.set, **given)
        assert came.wait(PATIENCE_S)
    eventually(lambda: few._inside == 0)


def test_a_thread_that_is_interrupted_leaves_nobody_behind_it(monkeypatch):
    few = FewAtOnce(1, NEVER)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with few.held():
        monkeypatch.setattr(few, "_wait", interrupted)
        thread = threading.Thread(target=lambda: entered(few))
        thread.start()
        thread.join(PATIENCE_S)
    assert (few._inside, len(few._waiting)) == (0, 0)


def entered(few: FewAtOnce) -> None:
    with suppress(KeyboardInterrupt), few.held():
        pytest.fail("it was interrupted")


def test_in_a_child_nobody_is_inside():
    few = FewAtOnce(1, NEVER)
    with few.held():
        few.renew()
        comes(few, lambda: None).join(PATIENCE_S)
    assert few._inside == 0
