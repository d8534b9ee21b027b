"""Threads that write to one store get their turn in the order in which they asked for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from secom_core.processes import FairLock


def eventually(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.001)


def waiting_thread(lock: FairLock, then: Callable[[], None], timeout: float = -1) -> threading.Thread:
    """A thread that waits for the lock by now, or has given up."""
    before = list(lock._waiting)

    def wait() -> None:
        if lock.acquire(timeout):
            then()
            lock.release()

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: any(each not in before for each in list(lock._waiting)) or not thread.is_alive())
    return thread


def test_whoever_asks_first_is_first_and_nobody_overtakes() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire()
    threads = [waiting_thread(lock, partial(order.append, str(number))) for number in range(5)]
    lock.release()
    # The thread that has just released it asks again, behind all others.
    assert lock.acquire(timeout=20)
    order.append("again")
    lock.release()
    for thread in threads:
        thread.join()
    assert order == ["0", "1", "2", "3", "4", "again"]


def test_the_thread_that_holds_it_takes_it_again() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire()
    assert lock.acquire(timeout=0)
    other = waiting_thread(lock, lambda: order.append("other"))
    lock.release()
    order.append("mine")
    lock.release()
    other.join()
    assert order == ["mine", "other"]


def test_who_gives_up_waiting_leaves_the_others_in_line() -> None:
    lock, order = FairLock(), list[str]()
    assert lock.acquire()
    short = waiting_thread(lock, lambda: order.append("short"), timeout=0.05)
    long = waiting_thread(lock, lambda: order.append("long"))
    short.join()
    lock.release()
    long.join()
    assert order == ["long"]
    assert lock.acquire(timeout=0)
    lock.release()


def test_a_turn_that_comes_as_the_wait_ends_is_handed_on() -> None:
    lock, held = FairLock(), list[int]()
    inside = 0

    def once() -> None:
        nonlocal inside
        for number in range(200):
            if lock.acquire(timeout=0.0001 * (number % 3)):
                inside += 1
                held.append(inside)
                time.sleep(0.00005)
                inside -= 1
                lock.release()

    threads = [threading.Thread(target=once) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(held) == {1}
    assert not lock._waiting
    assert lock.acquire(timeout=0)


def test_a_child_finds_it_free_unless_its_own_thread_holds_it() -> None:
    lock = FairLock()
    holder = threading.Thread(target=lock.acquire)
    holder.start()
    holder.join()
    assert not lock.acquire(timeout=0)
    lock.renew()
    assert lock.acquire(timeout=0)
    lock.renew()
    waiter = waiting_thread(lock, lambda: None, timeout=20)
    lock.release()
    waiter.join()
