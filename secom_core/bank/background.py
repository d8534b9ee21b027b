"""Remembering without waiting: what was said is on disk at once, what is made of it follows in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..conversation import Message, Scope, Session, check_scope
from ..errors import InvalidInput, StoreError, StoreLocked, warn_degraded
from ..processes import in_child
from ..readers import MessageLike
from ..stores.database import waiting_at_most
from .bank import MemoryBank
from .process_end import due_at_end, started, writes_at_end
from .records import Remembered
from .unwritten import Unwritten, cause_of, epoch_of, with_id_and_time, written
from .waiting import Waiting, asks

if TYPE_CHECKING:
    from ..chats import ChatRecord

_LOOK_S: Final = 0.5
_SILENT_S: Final = 3.0  # How long closing waits before it tells why.
_FAILING_S: Final = 60.0  # How long it waits for a store that fails, as where its server is away.
_LONGEST: Final = 25  # So many times as long as a quiet one a session waits for an answer, or because many wait.
_IDLE_S: Final = 5.0  # A thread with nothing to do ends, as a page may make another writer each time that it runs.
_LOG: Final = logging.getLogger(__name__)


class BackgroundWriter:
    """Stores messages at once, and makes segments, keys, vectors and layers in a background thread.

    The queue is the store itself: `remember` returns once the messages are on disk, and what was derived of them is
    told by their session's row. So a process that is killed loses nothing: the next `recall`, of any process, derives
    what is missing, and what was said a moment ago is found before the thread has come to it. What was forgotten
    meanwhile is passed over.

    Only what `keep` was given waits in memory, because the store was locked: it is written as soon as the lock goes.
    A child that is forked begins with nothing: what waits is the parent's.

    Args:
        bank: where everything is remembered. The writer does not close it; the bank's own `close` ends the writer.
        debounce: how many seconds a session stays untouched before it is derived, so that a burst of messages is
            derived once. Up to 25 times as long where the user spoke last, as the answer is still to come; and where
            many sessions wait, so many times as long, so that under load several turns of each are derived at once.
        limit: how many sessions may wait; beyond, `remember` derives the one that waits longest itself.

    Raises:
        InvalidInput: for a negative number of seconds, or a limit below 1.
    """

    def __init__(self, bank: MemoryBank, *, debounce: float = 0.2, limit: int = 1024) -> None:
        if debounce < 0 or limit < 1:
            raise InvalidInput(
                f"debounce must be 0 seconds or more and limit 1 session or more, got {debounce} and {limit}"
            )
        self._bank, self._debounce, self._limit = bank, debounce, limit
        self.last_error: str | None = None
        """What failed last, without anybody's words."""
        self.renew()
        in_child(self)
        bank.writers.add(self)
        writes_at_end(self)

    def renew(self) -> None:
        """Begin with nothing that waits, and no thread."""
        self._waiting: OrderedDict[tuple[Scope, str], Waiting] = OrderedDict()
        self._unwritten: deque[Unwritten] = deque()
        self._flushing, self._busy, self._closed, self._gives_up, self._fails = 0, False, False, False, False
        self._writing: Unwritten | None = None
        self._told: str | None = None  # What is tried again and again is told once.
        self._wakes = float("-inf")  # When the thread looks again by itself; always, while it is at work.
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def bank(self) -> MemoryBank:
        """The bank in which everything is stored."""
        return self._bank

    @property
    def unwritten(self) -> int:
        """How many messages wait in memory for a lock; all others are on disk."""
        with self._changed:
            return sum(each.count for each in self._unwritten)

    @property
    def is_alive(self) -> bool:
        """Whether a thread does what waits; also where nothing does."""
        with self._changed:
            return self._lives() or not (self._waiting or self._unwritten)

    def __copy__(self) -> BackgroundWriter:
        """The writer itself: what holds one and is copied goes on with the same one, as with the bank."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BackgroundWriter:
        return self

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

    # -- what comes in --------------------------------------------------------------------------------------------

    def remember(
        self,
        scope: Sequence[str],
        messages: Session | Iterable[MessageLike],
        *,
        session: str,
        at: datetime | None = None,
        close: bool = False,
        expires: datetime | None = None,
        chat: Sequence[ChatRecord] = (),
        answers: str | None = None,
    ) -> Remembered:
        """Store messages, as `MemoryBank.remember`, which lists the errors."""
        given: dict[str, Any] = {"session": session, "at": at, "close": close, "expires": expires}
        done = self._bank.remember(scope, messages, later=True, chat=chat, answers=answers, **given)
        scope = check_scope(scope)
        # Those that ended before it come first, as their words do.
        for other in done.ended:
            self._put((scope, other), 0, ended=True)
        self._put((scope, session), len(done.turn_ids), asks=not close and asks(messages))
        return done

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """End the session: the thread settles its last segment and makes its layers."""
        self.remember(scope, (), session=session, close=True)

    def keep(
        self,
        scope: Sequence[str],
        messages: Iterable[Message],
        *,
        session: str,
        answers: str | None = None,
        chat: Sequence[ChatRecord] = (),
    ) -> None:
        """Take in messages that the store cannot take now: the thread writes them as soon as it can.

        Until then they are in memory alone, and no `recall` finds them. Where the whole scope is forgotten meanwhile,
        so are they. `close` waits for them, and the end of the process does.

        Args:
            scope: whose memory it is.
            messages: those without an id or a time are given one.
            session: the session they belong to.
            answers: the id of the turn that replies at the beginning join; as for `MemoryBank.remember`.
            chat: what is added to the chat of the session with them; it may come by itself.
        """
        scope = check_scope(scope)
        named = [with_id_and_time(self._bank, message) for message in messages]
        waiting = Unwritten(scope, session, named, epoch_of(self._bank, scope), answers, chat)
        due_at_end()
        with self._changed:
            self._unwritten.append(waiting)
            self._start()

    def keeps(self, scope: Scope) -> list[Unwritten]:
        """What waits in memory of the scope's messages; what comes after them waits behind them."""
        with self._changed:
            return [each for each in self._unwritten if each.scope == scope]

    def forget(self, scope: Scope, session: str | None = None) -> None:
        """Write nothing of a scope, or of a session of it, that waits in memory, once what is being written is."""
        with self._changed:
            left = [each for each in self._unwritten if each.scope != scope or session not in (None, each.session)]
            self._unwritten = deque(left)
            self._changed.wait_for(lambda: not self._writing or self._writing in self._unwritten, _SILENT_S)

    # -- waiting for it -------------------------------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all waiting work is done.

        Args:
            timeout: how many seconds at most; as long as it takes unless given.

        Returns:
            Whether all was written and derived, in time. Not where no thread can be started.
        """
        until = float("inf") if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._flushing += 1
            try:
                while self._lacks() and time.monotonic() < until and self._start():
                    # A thread that is no more tells nobody.
                    self._changed.wait(min(until - time.monotonic(), _LOOK_S))
                return not self._lacks()
            finally:
                self._flushing -= 1

    def close(self, timeout: float | None = None) -> None:
        """Finish all waiting work and end the thread. Remembering again starts another thread.

        Args:
            timeout: how many seconds at most; unless given, as long as it takes to derive, for a lock to go as long as
                the bank's ``busy_timeout``, and where there is none, for a store that fails a minute.

        Raises:
            StoreError: messages are not on disk, because the store is locked or fails; they still wait, so that it may
                be called again.

        Warns:
            DegradedWarning: sessions are not derived; the next `recall` does it.
        """
        self._end(timeout, time.monotonic())
        with self._changed:
            underived = len(self._waiting) + self._busy
        if underived:
            warn_degraded(f"{underived} sessions are on disk but not yet cut and indexed; the next recall does that")
        self._check_written(is_last=not self._bank.storage.is_open)

    def end(self, since: float) -> None:
        """Write what waits in memory, leave the rest to the next recall, and end the thread, as nothing follows.

        Args:
            since: when the end began, by the monotonic clock; what ends together waits for a store together.

        Raises:
            StoreError: messages are lost, because the store is locked or fails.
        """
        with self._changed:
            self._waiting.clear()
        self._end(None, since)
        self._check_written(is_last=True)

    def _check_written(self, *, is_last: bool) -> None:
        if number := self.unwritten:
            # Banks that end together are each told of: of the same words, Python shows one warning.
            where = f" in {path}" if (path := self._bank.storage.path) else ""
            what = f"{number} messages are not on disk yet{where} ({self.last_error})"
            helps = "end what holds the store's lock, make room on its disk, or start its server"
            lost = f"{what}, and are lost, as the bank is closed or the process ends; before that, {helps}"
            again = f"{what}; they wait in memory: {helps}, and close again, or they are lost when the process ends"
            raise StoreError(lost if is_last else again)

    def _end(self, timeout: float | None, since: float) -> None:
        with self._changed:
            self._closed, self._gives_up = True, False
            self._start()
            self._wait_for_the_store(timeout, since)
            self._gives_up, thread = True, self._thread
            self._changed.notify_all()
        if thread is None or thread is threading.current_thread():
            return
        thread.join(_SILENT_S if timeout is None else timeout)
        if timeout is None and thread.is_alive() and not self._unwritten:
            _LOG.warning(
                "closing waits until the layers of a session are made, which asks a model; all words are on disk, so "
                "that nothing is lost if the process is ended now"
            )
            thread.join()

    def _wait_for_the_store(self, timeout: float | None, since: float) -> None:
        """Wait until nothing is in memory alone: without end for a lock only, and not at all for a closed store."""
        patience = self._bank.storage.busy_timeout if timeout is None else timeout
        began, is_told = time.monotonic(), timeout is not None
        before = began - since
        while self._unwritten and self._lives() and self._bank.storage.is_open:
            waited = time.monotonic() - began
            most = patience if patience is not None else _FAILING_S if self._fails else float("inf")
            most = max(most - before, min(most, 2 * _LOOK_S))
            if waited >= most:
                return
            if waited >= _SILENT_S and not is_told:
                number, is_told = sum(each.count for each in self._unwritten), True
                _LOG.warning("closing waits: %d messages are in memory alone, and lost if the process ends now", number)
            self._changed.wait(min(most - waited, _LOOK_S))

    # -- the thread -----------------------------------------------------------------------------------------------

    def _put(self, key: tuple[Scope, str], turns: int, *, ended: bool = False, asks: bool = False) -> None:
        oldest, now = None, time.monotonic()
        with self._changed:
            before = self._waiting.pop(key, None) or Waiting(now, now)
            longest = before.since + _LONGEST * self._debounce
            due = longest if asks else min(longest, now + self._debounce * (len(self._waiting) + 1))
            due = max(due, now + self._debounce)
            self._waiting[key] = Waiting(due, before.since, before.turns + turns, before.ended or ended)
            if len(self._waiting) > self._limit:
                oldest = self._waiting.popitem(last=False)
            self._closed = False
            # A thread that looks before that is not woken: most messages come while others wait.
            if not self._lives() or due < self._wakes:
                self._start()
        if oldest is not None:
            self._derive(*oldest)

    def _lacks(self) -> bool:
        return bool(self._waiting or self._unwritten or self._busy or self._writing)

    def _lives(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start(self) -> bool:
        """Have a thread at work, where anything waits; whether there is one."""
        if not self._lives():
            self._thread, self._busy = None, False
            if self._waiting or self._unwritten:
                self._thread = started(self._work)
        self._changed.notify_all()
        return self._thread is not None

    def _work(self) -> None:
        try:
            while (step := self._next()) is not None:
                step()
                with self._changed:
                    self._busy, self._writing = False, None
                    self._changed.notify_all()
        finally:
            self._leave()

    def _leave(self) -> None:
        """End this thread; where something ended it that is not to be caught, another one goes on."""
        with self._changed:
            if self._thread is threading.current_thread():
                self._thread, self._busy, self._writing = None, False, None
                if not self._closed:
                    self._start()
            self._changed.notify_all()

    def _next(self) -> Callable[[], None] | None:
        """What is to be done now, waited for; nothing once closed with nothing to do, or where gevent forked it too."""
        with (changed := self._changed):
            while changed is self._changed and (self._waiting or self._unwritten or not self._closed):
                if self._unwritten and not self._gives_up:
                    self._writing = self._unwritten[0]
                    return partial(self._write, self._writing)
                if self._closed and not self._waiting:
                    return None
                key = min(self._waiting, key=lambda each: self._waiting[each].due, default=None)
                due = self._waiting[key].due if key is not None else float("inf")
                left = 0.0 if self._closed or (self._flushing and self._waiting) else due - time.monotonic()
                if left <= 0 and key is not None:
                    self._busy = True
                    return partial(self._derive, key, self._waiting.pop(key))
                self._wakes = due
                changed.wait(min(left, _IDLE_S))
                self._wakes = float("-inf")
                if not (self._waiting or self._unwritten):
                    return None
            return None

    def _write(self, waiting: Unwritten) -> None:
        began = time.monotonic()
        try:
            with waiting_at_most(_LOOK_S):
                turns = written(self._bank, waiting)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the words are kept, and the thread goes on
            what = "what was said is not on disk yet, it is tried again"
            self._failed(what, error, waiting.session, waiting.scope, once=True)
            self._fails = not isinstance(error, StoreLocked)
            with self._changed:
                # A lock that is waited for takes its time, a disk that is full none.
                self._changed.wait_for(lambda: self._gives_up, max(0.0, began + _LOOK_S - time.monotonic()))
            return
        self._fails = False
        self._told, self.last_error = None, None if self.last_error == self._told else self.last_error
        with self._changed:
            if waiting in self._unwritten:
                self._unwritten.remove(waiting)
            if turns:
                now = time.monotonic()
                new = Waiting(now + self._debounce, now, turns)
                self._waiting.setdefault((waiting.scope, waiting.session), new)

    def _derive(self, key: tuple[Scope, str], waited: Waiting) -> None:
        try:
            self._bank.derive(*key, turns=waited.turns, ended=waited.ended)
        except Exception as error:  # noqa: BLE001 - whatever fails here, the words are safe, and the thread goes on
            self._failed("what was said is not derived yet, the next recall tries again", error, key[1], key[0])

    def _failed(self, what: str, error: Exception, session: str, scope: Scope, *, once: bool = False) -> None:
        """Say what failed. The names of scopes and sessions may be private, and so may the words of any error."""
        self.last_error = f"{what}: {cause_of(error)}"
        _LOG.log(logging.DEBUG if self.last_error == self._told else logging.WARNING, "%s", self.last_error)
        self._told = self.last_error if once else self._told
        _LOG.debug("of session %r in scope %r", session, scope, exc_info=error)
