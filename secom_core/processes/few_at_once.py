"""So many threads at once, and the others in the order in which they came."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .baton import interpreter
from .forks import in_child

PATIENCE_S: Final = 0.1
"""After how long without anybody leaving whoever waits goes on."""


class FewAtOnce:
    """What so many threads do at once; others wait for their turn, asleep.

    It is no lock, and guards nothing: if nobody leaves for a while, because those inside wait for something
    themselves, whoever waits goes on. So every wait has an end.

    Args:
        places: how many threads are inside at once.
        patience: after how many seconds without anybody leaving whoever waits goes on.
    """

    def __init__(self, places: int, patience: float = PATIENCE_S) -> None:
        self._places, self._patience = places, patience
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Have nobody inside, in a child."""
        self._own = threading.local()
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._inside = self._left = 0
        # A thread of the parent's that was inside does not leave here.
        self._generation = object()

    @contextmanager
    def held(self, until: float = math.inf) -> Iterator[None]:
        """Be inside; within a call that is inside already, this is nothing.

        Args:
            until: when, of the monotonic clock, to wait no longer.
        """
        if getattr(self._own, "is_inside", False):
            yield
            return
        self._enter(until)
        self._own.is_inside, generation = True, self._generation
        try:
            yield
        finally:
            self._own.is_inside = False
            if self._generation is generation:
                self._leave()

    def _enter(self, until: float) -> None:
        with self._guard:
            if self._inside < self._places and not self._waiting:
                self._inside += 1
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            with interpreter.put_down():
                self._wait(turn, until)
            self._go_on(turn)
        except BaseException:
            self._go_on(turn)
            self._leave()
            raise

    def _wait(self, turn: threading.Lock, until: float) -> None:
        """Until a place is handed over, or nobody has left for so long."""
        left = -1
        while left != self._left and (rest := until - time.monotonic()) > 0:
            left = self._left
            if turn.acquire(timeout=min(self._patience, rest)):
                return

    def _go_on(self, turn: threading.Lock) -> None:
        """Be inside, if no place was handed over then without one."""
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                self._inside += 1

    def _leave(self) -> None:
        with self._guard:
            self._inside -= 1
            self._left += 1
            while self._waiting and self._inside < self._places:
                self._inside += 1
                self._waiting.popleft().release()
