"""Threads of one process that take turns, where all of them want the interpreter.

Python runs one thread at a time. Each thread that waits for its turn wakes every few milliseconds to ask for it
(``sys.getswitchinterval``), and whoever reads a row of SQLite lets another one go first: many threads that work at once
get less done than one. A thread that waits for the `Baton` sleeps. `benchmarks.growth` (``--clients``) shows what that
is worth.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .forks import in_child

LONGEST_S: Final = 0.02
"""How long a thread has the baton at most where others wait for it: some recalls take less, some models seconds."""
PATIENCE_S: Final = 1.0
"""How long a thread waits for it at most, unless it has to be soon."""


class Baton:
    """What one thread at a time has.

    It is no lock, and guards nothing. Whoever has waited for long enough goes on without it, and a thread that keeps it
    for too long, as it waits for a model or has very much to do, has lost it to whoever waits. So every wait for it has
    an end, whatever is done under it.

    Args:
        longest: for how many seconds one thread keeps it from others, about; and how long those wait that have to be
            soon, up to twice that.
        patience: how many seconds all others wait.
    """

    def __init__(self, longest: float = LONGEST_S, patience: float = PATIENCE_S) -> None:
        self._longest, self._patience = longest, patience
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Be nobody's, in a child."""
        self._own = threading.local()
        self._lock = threading.Lock()
        # Another one for each thread that gets it.
        self._holder = object()

    @contextmanager
    def held(self, *, soon: bool = False) -> Iterator[None]:
        """Have it while this is under way; within a call that waited for it already, this is nothing.

        Args:
            soon: wait no longer than one thread keeps it, as somebody waits for an answer.
        """
        own = self._own
        if getattr(own, "is_inside", False):
            yield
            return
        own.is_inside, own.lock = True, None
        try:
            own.lock = self._taken(self._longest if soon else self._patience)
            yield
        finally:
            lock, own.lock, own.is_inside = own.lock, None, False
            if lock is not None:
                lock.release()

    @contextmanager
    def put_down(self) -> Iterator[None]:
        """Let others have it while this waits for something; then wait for it as a thread does that has to be soon."""
        own = self._own
        lock = getattr(own, "lock", None)
        if lock is None:
            yield
            return
        own.lock = None
        lock.release()
        try:
            yield
        finally:
            # Not long: whoever is in the middle of something may hold what others need.
            own.lock = self._taken(self._longest)

    def _taken(self, patience: float) -> threading.Lock | None:
        """The lock of the baton, taken; nothing where this thread goes on without."""
        until = time.monotonic() + patience
        while True:
            lock, holder = self._lock, self._holder
            if lock.acquire(timeout=self._longest):
                self._holder = object()
                return lock
            if self._holder is holder and self._lock is lock:
                # Whoever has had it all the time, a thread that was interrupted perhaps, has the old one.
                self._lock = threading.Lock()
            elif time.monotonic() >= until:
                return None


class NoBaton(Baton):
    """Where Python runs threads side by side, nobody waits."""

    @contextmanager
    def held(self, *, soon: bool = False) -> Iterator[None]:
        """Nothing."""
        yield

    @contextmanager
    def put_down(self) -> Iterator[None]:
        """Nothing."""
        yield


interpreter: Final = Baton() if getattr(sys, "_is_gil_enabled", lambda: True)() else NoBaton()
"""This process's."""
