"""Remembering without waiting: what was said is on disk at once, what is made of it follows in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Final

from .bank import MemoryBank, Remembered
from .conversation import Message, Scope, Session, check_scope
from .errors import InvalidInput, SecomError

__all__ = ["BackgroundWriter"]

_LOG: Final = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """A session with something to be made: until when more of it may come, and how many turns have."""

    due: float
    turns: int = 0


class BackgroundWriter:
    """Takes in messages, and has topics, keys, vectors and reflections made afterwards.

    The queue is the store itself: `remember` returns once the messages are on disk, and what was derived of them is
    told by their session's row. So a process that is killed loses nothing: the next `recall`, of any process, derives
    what is missing, and what was said a moment ago is found before the thread has come to it. What was forgotten
    meanwhile is passed over.

    Args:
        bank: where everything is remembered. The writer does not close it.
        debounce: how many seconds a session stays untouched before it is derived, so that a burst of messages is
            derived once.
        limit: how many sessions may wait; beyond, `remember` derives the one that waits longest itself.

    Raises:
        InvalidInput: for a negative number of seconds, or a limit below 1.
    """

    def __init__(self, bank: MemoryBank, *, debounce: float = 0.2, limit: int = 256) -> None:
        if debounce < 0 or limit < 1:
            raise InvalidInput(f"debounce is not below 0 and limit at least 1, got {debounce} and {limit}")
        self._bank, self._debounce, self._limit = bank, debounce, limit
        self._waiting: OrderedDict[tuple[Scope, str], _Waiting] = OrderedDict()
        self._busy: tuple[Scope, str] | None = None
        self._flushing, self._closed = 0, False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> BackgroundWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """How many sessions wait or are being derived."""
        with self._changed:
            return len(self._waiting) + (self._busy is not None)

    def __bool__(self) -> bool:
        """Always: an empty queue is no missing writer."""
        return True

    def remember(
        self,
        scope: Sequence[str],
        messages: Session | Iterable[Message | Mapping[str, Any]],
        *,
        session: str,
        at: datetime | None = None,
        close: bool = False,
    ) -> Remembered:
        """Take in messages; as `MemoryBank.remember`, which says what it raises."""
        done = self._bank.remember(scope, messages, session=session, at=at, close=close, later=True)
        self._put((check_scope(scope), session), len(done.turn_ids))
        return done

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """Say that the session is over; its last topic settles, and reflections are made, in the thread."""
        self.remember(scope, (), session=session, close=True)

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits any more.

        Args:
            timeout: how many seconds at most; as long as it takes unless given.

        Returns:
            Whether all was derived in time.
        """
        with self._changed:
            self._flushing += 1
            self._start()
            try:
                return self._changed.wait_for(lambda: not self._waiting and self._busy is None, timeout)
            finally:
                self._flushing -= 1

    def close(self) -> None:
        """Derive what waits, and end the thread. Remembering again starts another."""
        with self._changed:
            thread, self._closed = self._thread, True
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _put(self, key: tuple[Scope, str], turns: int) -> None:
        oldest = None
        with self._changed:
            waiting = self._waiting.pop(key, None) or _Waiting(0.0)
            self._waiting[key] = waiting
            waiting.due, waiting.turns = time.monotonic() + self._debounce, waiting.turns + turns
            if len(self._waiting) > self._limit:
                oldest = self._waiting.popitem(last=False)
            self._closed = False
            self._start()
        if oldest is not None:
            self._derive(oldest[0], oldest[1].turns)

    def _start(self) -> None:
        if self._thread is None and self._waiting:
            self._thread = threading.Thread(target=self._work, name="secom-writer", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        try:
            while (next_ := self._next()) is not None:
                self._derive(next_[0], next_[1].turns)
                with self._changed:
                    self._busy = None
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._thread = self._busy = None
                self._changed.notify_all()

    def _next(self) -> tuple[tuple[Scope, str], _Waiting] | None:
        with self._changed:
            while True:
                if not self._waiting and self._closed:
                    return None
                due = next(iter(self._waiting.values())).due if self._waiting else float("inf")
                left = 0.0 if self._closed or (self._flushing and self._waiting) else due - time.monotonic()
                if left <= 0:
                    self._busy, waiting = self._waiting.popitem(last=False)
                    return self._busy, waiting
                self._changed.wait(None if left == float("inf") else left)

    def _derive(self, key: tuple[Scope, str], turns: int) -> None:
        try:
            self._bank.derive(*key, turns=turns)
        except SecomError as error:
            # The words are safe; the next recall tries again. The names of scopes and sessions may be private.
            _LOG.warning(
                "what was said could not be derived yet, the next recall tries again: %s", type(error).__name__
            )
            _LOG.debug("of session %r in scope %r", key[1], key[0], exc_info=error)
