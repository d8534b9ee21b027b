"""Forks: no call is under way in the parent, and in the child every lock is free and nothing is half made.

A fork copies one thread and the memory of all. A lock that another thread held is held in the child for ever, by
nobody; a file of SQLite that was open in the parent cannot be used in the child, nor another connection to it; a
connection to a server has two owners. So a fork waits until no thread is inside a gate, and whoever has something to
make anew is told of the child. Where gevent runs what are threads elsewhere, a fork copies all of them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakMethod, WeakSet

T = TypeVar("T")

PATIENCE_S: Final = 5.0
"""How many seconds a fork waits for calls that are under way."""


class Renewed(Protocol):
    """What is made anew in a child."""

    def renew(self) -> None:
        """Make anew what threads of the parent may have held or half changed; there is one thread."""


def in_child(owner: Renewed) -> None:
    """Have an object renewed in every child that is forked while it lives."""
    with _registering:
        _renewed.add(owner)


class Left(Protocol):
    """What no child may have."""

    def leave(self) -> None:
        """Give up what threads of this process alone can work with, before it forks."""


def before_fork(owner: Left) -> None:
    """Have an object told before every fork while it lives."""
    with _registering:
        _left.add(owner)


class ForkLock:
    """A lock that one thread holds, as often as it likes, and that is free in a child whoever held it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        in_child(self)

    def __reduce__(self) -> tuple[type[ForkLock], tuple[()]]:
        """Of what is copied, or pickled for another process, the lock is another one, which is free."""
        return ForkLock, ()

    def renew(self) -> None:
        """Be free, unless the thread that forked holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()

    def acquire(self, timeout: float = -1) -> bool:
        """Take it, within so many seconds where they are given; whether it was to be had."""
        return self._lock.acquire(timeout=timeout)

    def release(self) -> None:
        """Give it to whoever waits."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class ForkWorker:
    """A thread that does one thing after the other, or several that do so; in a child, others, with nothing to do yet.

    Args:
        name: what the threads are called.
        threads: how many there are at most.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._name, self._threads, self._left = name, threads, list[ThreadPoolExecutor]()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.jobs: set[Future[Any]] = set()
        """What is not done yet."""
        in_child(self)

    def __reduce__(self) -> tuple[type[ForkWorker], tuple[str, int]]:
        """Of what is copied, or pickled for another process, the worker is another one, with nothing to do yet."""
        return ForkWorker, (self._name, self._threads)

    def renew(self) -> None:
        """Leave what the parent was to do to it."""
        self._left.append(self._pool)
        self._pool, self.jobs = ThreadPoolExecutor(self._threads, thread_name_prefix=self._name), set()

    def submit(self, do: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have something done when all before it is begun, and a thread is free."""
        job = self._pool.submit(do, *arguments)
        self.jobs.add(job)
        job.add_done_callback(lambda done: self.jobs.discard(done))
        return job

    def shutdown(self) -> None:
        """Wait until everything is done, and end the threads."""
        self._pool.shutdown()


class ForkGate:
    """What calls go through that a fork has to wait for.

    Args:
        at_rest: called before a fork, by the thread that forks, once no call is under way.
    """

    def __init__(self, at_rest: Callable[[], None]) -> None:
        self._at_rest = WeakMethod(at_rest)
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}
        self._forks = 0
        with _registering:
            _gates.add(self)

    def __enter__(self) -> None:
        """Begin a call. While a fork is near it waits, unless it is part of another one."""
        if _is_newborn:
            _renew_again()
        me = threading.get_ident()
        with self._changed:
            if self._forks:
                self._changed.wait_for(lambda: not self._forks or me in self._inside)
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        """End the call."""
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
            if self._forks:
                self._changed.notify_all()

    def close(self, until: float) -> None:
        """Let no call begin, and wait for those of other threads, until that moment of the monotonic clock at most."""
        me = threading.get_ident()
        self._changed.acquire()
        self._forks += 1
        self._changed.wait_for(lambda: not self._inside.keys() - {me}, max(0.0, until - time.monotonic()))
        at_rest = self._at_rest()
        if at_rest is not None and not self._inside:
            at_rest()

    def open(self) -> None:
        """Let calls begin again."""
        self._forks -= 1
        self._changed.notify_all()
        self._changed.release()

    def renew(self) -> bool:
        """Stand open in a child; whether a call was under way, of which the child has one half."""
        me = threading.get_ident()
        torn = bool(self._inside)
        self._changed, self._forks = threading.Condition(), 0
        self._inside = {me: self._inside[me]} if me in self._inside else {}
        return torn


def _before() -> None:
    _forking.acquire()
    until = time.monotonic() + PATIENCE_S
    with _registering:
        gates = list(_gates)
    for gate in gates:
        gate.close(until)
        _closed.append(gate)
    for owner in list(_left):
        owner.leave()


def _in_parent() -> None:
    while _closed:
        _closed.pop().open()
    _forking.release()


def _in_child() -> None:
    global _is_newborn
    _renew_all()
    _is_newborn = True


def _renew_all() -> None:
    global _forking, _registering, _lock_type
    _forking, _registering, _lock_type = threading.RLock(), threading.Lock(), threading.Lock
    _closed.clear()
    for owner in list(_renewed):
        owner.renew()


def _renew_again() -> None:
    """Before a child's first call: gunicorn has gevent replace the threads of Python after it has forked.

    A lock from before is that of the one thread in which all of them run now, and keeps none of them out.
    """
    global _is_newborn
    _is_newborn = False
    if threading.Lock is not _lock_type:
        _renew_all()


_forking = threading.RLock()
_registering = threading.Lock()
_lock_type: object = threading.Lock
_is_newborn = False
"""Whether this is a child in which no call has begun yet."""
_renewed: WeakSet[Renewed] = WeakSet()
_left: WeakSet[Left] = WeakSet()
_gates: WeakSet[ForkGate] = WeakSet()
_closed: list[ForkGate] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
