"""Threads of one process that take turns, where all of them want the interpreter.

Python runs one thread at a time. Each thread that waits for its turn wakes every few milliseconds to ask for it
(``sys.getswitchinterval``), and whoever reads a row of SQLite lets another one go first: many threads that work at once
get less done than one. A thread that waits for the `Baton` sleeps until it is its turn.
`benchmarks.growth` (``--clients``) shows what that is worth.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .forks import in_child

LONGEST_S: Final = 0.02
"""How long a thread has the baton at most where others wait for it: some recalls take less, some models seconds."""
_ONE_IN: Final = 4


class Baton:
    """What one thread at a time has, the others in the order in which they came for it.

    It is no lock, and guards nothing: a thread that keeps it for too long, as it waits for a model or has very much to
    do, loses it to the next one and goes on all the same. So nobody can wait for ever, whatever is done under it.

    Args:
        longest: after how many seconds the next one takes it.
    """

    def __init__(self, longest: float = LONGEST_S) -> None:
        self._longest = longest
        self._own = threading.local()
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Be nobody's, in a child."""
        self._guard = threading.Lock()
        # A thread that waits sleeps on a lock of its own, which whoever hands the baton over releases.
        self._soon: deque[threading.Lock] = deque()
        self._later: deque[threading.Lock] = deque()
        self._ahead = 0
        self._holder: threading.Lock | None = None
        self._since = 0.0

    @contextmanager
    def held(self, *, soon: bool = False) -> Iterator[None]:
        """Have it while this is under way; within a call that has it already, this is nothing.

        Args:
            soon: come before those who have more time, as somebody waits for an answer. Of four who get it where both
                kinds wait, one has more time.
        """
        if getattr(self._own, "mark", None) is not None:
            yield
            return
        self._own.mark = self._taken(self._soon if soon else self._later)
        try:
            yield
        finally:
            mark, self._own.mark = self._own.mark, None
            self._pass_on(mark)

    @contextmanager
    def put_down(self) -> Iterator[None]:
        """Let others have it while this waits for something; then come before all who wait."""
        mark = getattr(self._own, "mark", None)
        if mark is None:
            yield
            return
        self._own.mark = None
        self._pass_on(mark)
        try:
            yield
        finally:
            self._own.mark = self._taken()

    def _taken(self, queue: deque[threading.Lock] | None = None) -> threading.Lock:
        """Wait for it, in a queue, or before all: whoever is in the middle of something may hold what others need."""
        mark = threading.Lock()
        mark.acquire()
        with self._guard:
            if self._holder is None:
                self._give(mark)
                return mark
            if queue is None:
                self._soon.appendleft(mark)
            else:
                queue.append(mark)
            ahead = 1 if queue is None else len(queue)
        while not mark.acquire(timeout=self._longest * ahead):
            with self._guard:
                waiting = [*self._soon, *self._later]
                if mark not in waiting:
                    # It was handed over just now.
                    ahead = 1
                    continue
                ahead = waiting.index(mark) + 1
                if ahead == 1 and time.monotonic() - self._since >= self._longest:
                    self._give(self._next())
        return mark

    def _next(self) -> threading.Lock:
        self._ahead = (self._ahead + 1) % _ONE_IN if self._soon and self._later else 0
        return self._soon.popleft() if self._soon and (self._ahead or not self._later) else self._later.popleft()

    def _give(self, mark: threading.Lock) -> None:
        self._holder, self._since = mark, time.monotonic()
        mark.release()

    def _pass_on(self, mark: threading.Lock | None) -> None:
        with self._guard:
            # Somebody may have taken it meanwhile.
            if self._holder is mark and mark is not None:
                self._holder = None
                if self._soon or self._later:
                    self._give(self._next())


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
