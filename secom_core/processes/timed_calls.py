"""Calls of somebody else's function that are waited for so long at most, whether it is awaited or not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Any, Final

from .forks import ForkLock, in_child

_MOST_LATE: Final = 4
"""How many calls may be under way that nobody waits for any more, before none is begun."""
_GRACE_S: Final = 0.5
"""After how many seconds more a coroutine is cancelled that nobody waits for."""


class LateAnswer(Exception):
    """A call has not come back in time, or too many before it have not come back at all."""


class NotAsked(LateAnswer):
    """A call was not begun, as too many before it have not come back."""


class TimedCalls:
    """Calls one function, each time in a thread of its own, with the caller's context variables.

    What it gives to be awaited is awaited in the one event loop that this package runs for such functions, so that a
    client which holds connections finds them again. A thread cannot be ended: what is late goes on, and its answer is
    thrown away. While several calls are late, no other is begun.

    Args:
        name: what the threads are called.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Wait for nothing that the parent of a fork has begun."""
        self._late: set[Future[Any]] = set()

    def call(self, function: Callable[..., Any], *arguments: Any, timeout: float) -> Any:
        """What the function gives; raises what it raises.

        Args:
            function: a function, or a coroutine function.
            *arguments: what it is given.
            timeout: for how many seconds it is waited for.

        Raises:
            LateAnswer: it took longer; a `NotAsked` where several calls before it have not come back yet.
        """
        if len(self._late) >= _MOST_LATE:
            raise NotAsked(f"was not asked, as {len(self._late)} earlier calls have not come back")
        answer: Future[Any] = Future()
        # A thread that never ends does not keep the process from ending.
        thread = threading.Thread(
            target=copy_context().run,
            args=(_answer, answer, function, arguments, timeout + _GRACE_S),
            name=self._name,
            daemon=True,
        )
        thread.start()
        wait([answer], timeout)
        if not answer.done():
            late = self._late
            late.add(answer)
            answer.add_done_callback(late.discard)
            raise LateAnswer(f"gave no answer within {timeout:g} s")
        return answer.result()


def _answer(answer: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...], timeout: float) -> None:
    try:
        given = function(*arguments)
        answer.set_result(_loop.result(given, timeout) if inspect.isawaitable(given) else given)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is for who called
        answer.set_exception(error)


class _Loop:
    """An event loop in a thread, begun when it is first needed."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Begin another in a child, which has the loop and not its thread."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def result(self, awaited: Awaitable[Any], timeout: float) -> Any:
        """What is given in the end; it is cancelled where it takes longer."""

        async def limited() -> Any:
            return await asyncio.wait_for(awaited, timeout)

        return asyncio.run_coroutine_threadsafe(limited(), self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="secom-loop", daemon=True).start()
            return self._loop


_loop: Final = _Loop()
