"""Remembering without waiting: what was said is on disk at once, what is made of it follows in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..conversation import Message, Scope, Session, check_scope
from ..errors import InvalidInput, SecomError, shorten
from .bank import MemoryBank
from .records import Remembered

_LOG: Final = logging.getLogger(__name__)


class BackgroundWriter:
    """Takes in messages, and has segments, keys, vectors and layers made afterwards.

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
        # Sessions with something to be made: until when more of it may come, and how many turns have.
        self._waiting: OrderedDict[tuple[Scope, str], tuple[float, int]] = OrderedDict()
        self._flushing, self._busy, self._closed = 0, False, False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def bank(self) -> MemoryBank:
        """Where everything is remembered."""
        return self._bank

    def __enter__(self) -> BackgroundWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """How many sessions wait or are being derived."""
        with self._changed:
            return len(self._waiting) + self._busy

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
        """Say that the session is over; its last segment settles, and layers take it in, in the thread."""
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
                return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)
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
            _, before = self._waiting.pop(key, (0.0, 0))
            self._waiting[key] = (time.monotonic() + self._debounce, before + turns)
            if len(self._waiting) > self._limit:
                oldest = self._waiting.popitem(last=False)
            self._closed = False
            self._start()
        if oldest is not None:
            self._derive(*oldest)

    def _start(self) -> None:
        if self._thread is None and self._waiting:
            self._thread = threading.Thread(target=self._work, name="secom-writer", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        try:
            while (next_ := self._next()) is not None:
                self._derive(*next_)
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._thread, self._busy = None, False
                self._changed.notify_all()

    def _next(self) -> tuple[tuple[Scope, str], tuple[float, int]] | None:
        """The session to be derived now, waited for; nothing once the writer is closed and no session waits."""
        with self._changed:
            while self._waiting or not self._closed:
                due, _ = next(iter(self._waiting.values()), (float("inf"), 0))
                at_once = self._closed or (self._flushing and self._waiting)
                left = 0.0 if at_once else due - time.monotonic()
                if left <= 0:
                    self._busy = True
                    return self._waiting.popitem(last=False)
                self._changed.wait(None if left == float("inf") else left)
            return None

    def _derive(self, key: tuple[Scope, str], waited: tuple[float, int]) -> None:
        try:
            self._bank.derive(*key, turns=waited[1])
        except SecomError as error:
            # The words are safe. The names of scopes and sessions may be private.
            _LOG.warning("what was said is not derived yet, the next recall tries again: %s", type(error).__name__)
            _LOG.debug("of session %r in scope %r", key[1], key[0], exc_info=error)


def check_writer(writer: object, bank: MemoryBank, caller: str) -> BackgroundWriter | None:
    """The writer that a part was given, which writes into the part's bank; none where there is none.

    Raises:
        InvalidInput: it is something else, or writes into another bank.
    """
    if writer is None or (isinstance(writer, BackgroundWriter) and writer.bank is bank):
        return writer
    raise InvalidInput(f"{caller} needs a writer of its own bank, BackgroundWriter(bank), got {shorten(writer)}")
