"""A lock that many writers wait for."""

from __future__ import annotations

import threading
from collections import deque

from .baton import interpreter
from .forks import in_child


class FairLock:
    """A lock that threads get in the order in which they asked for it, and that is free in a child whoever held it.

    A thread that holds it may take it again. A lock of the library goes to whoever runs when it is released, often to
    the thread that has just released it, so that among many that write some wait for a second and more.
    """

    def __init__(self) -> None:
        self._owner = self._held = 0
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Be free, unless the thread that forked holds it."""
        if self._owner != threading.get_ident():
            self._held = 0
        self._guard = threading.Lock()
        self._waiting: deque[tuple[threading.Lock, int]] = deque()

    def acquire(self, timeout: float = -1) -> bool:
        """Take it, within so many seconds if they are given.

        Args:
            timeout: how many seconds to wait; for ever if negative.

        Returns:
            Whether it was to be had.
        """
        me = threading.get_ident()
        with self._guard:
            if not self._held or self._owner == me:
                self._owner, self._held = me, self._held + 1
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append((turn, me))
        is_mine = False
        try:
            with interpreter.put_down():
                has_come = turn.acquire(timeout=timeout)
            is_mine = has_come
        finally:
            if not is_mine:
                self._leave(turn, me)
        return is_mine

    def _leave(self, turn: threading.Lock, thread: int) -> None:
        """Wait no longer; if the lock was handed over meanwhile, hand it on."""
        with self._guard:
            if (turn, thread) in self._waiting:
                self._waiting.remove((turn, thread))
                return
        self.release()

    def release(self) -> None:
        """Hand it to whoever has waited longest."""
        with self._guard:
            self._held -= 1
            if not self._held and self._waiting:
                turn, self._owner = self._waiting.popleft()
                self._held = 1
                turn.release()
