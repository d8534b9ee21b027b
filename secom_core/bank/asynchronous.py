"""A bank for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ..errors import StoreError
from ..processes import ForkWorker
from .bank import MemoryBank
from .checks import check_count
from .given import check_bank

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4
"""How many calls read at once unless said otherwise: they share the interpreter, and mostly wait for it."""


def _awaited(
    method: Callable[Concatenate[MemoryBank, P], T], *, writes: bool = False
) -> Callable[Concatenate[AsyncMemoryBank, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def awaited(bank: AsyncMemoryBank, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await bank.run(lambda inside: method(inside, *args, **kwargs), writes=writes)

    return awaited


def _opening(open_bank: Callable[P, MemoryBank]) -> Callable[P, Coroutine[Any, Any, AsyncMemoryBank]]:
    @wraps(open_bank)
    async def opened(*args: P.args, **kwargs: P.kwargs) -> AsyncMemoryBank:
        return AsyncMemoryBank(await asyncio.to_thread(open_bank, *args, **kwargs))

    return opened


class AsyncMemoryBank:
    """A `MemoryBank` whose methods are awaited; each is documented there, and takes and gives the same.

    Its calls run in threads of its own: a few that read, and one that writes, so that recalls do not wait behind
    writes (but for one that first forgets what has just ended), nor either behind what else uses the event loop's
    threads. Any number of calls may wait, from any loop.

    A call whose task is cancelled before it has begun does nothing. One that has begun goes on to its end: messages
    are then remembered as a whole, and giving their ids again with the next try makes that harmless.

    Usage::

        async with await AsyncMemoryBank.open("memory.db") as bank:
            await bank.remember(("acme", "alice"), [("user", "I live in Ghent.")], session="s1")
            recall = await bank.recall(("acme", "alice"), "Where do I live?")
            summary = await bank.run(lambda bank: bank.summaries.latest(("acme", "alice")))

    Args:
        bank: does the work; `close` closes it.
        threads: how many calls read at once at most; `open` leaves it at 4.

    Raises:
        InvalidInput: for what is no `MemoryBank`, or a number of threads below 1.
    """

    def __init__(self, bank: MemoryBank, *, threads: int = _THREADS) -> None:
        check_count("threads", threads)
        self.bank: Final = check_bank(bank, "AsyncMemoryBank")
        self._readers, self._writer = ForkWorker("secom-read", threads), ForkWorker("secom-write")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bank!r})"

    open = staticmethod(_opening(MemoryBank.open))

    remember = _awaited(MemoryBank.remember, writes=True)
    close_session = _awaited(MemoryBank.close_session, writes=True)
    end_idle_sessions = _awaited(MemoryBank.end_idle_sessions, writes=True)
    derive = _awaited(MemoryBank.derive, writes=True)
    rebuild = _awaited(MemoryBank.rebuild, writes=True)
    forget = _awaited(MemoryBank.forget, writes=True)
    correct = _awaited(MemoryBank.correct, writes=True)
    check = _awaited(MemoryBank.check, writes=True)
    recall = _awaited(MemoryBank.recall)
    prepare = _awaited(MemoryBank.prepare)
    scopes = _awaited(MemoryBank.scopes)
    sessions = _awaited(MemoryBank.sessions)
    turns = _awaited(MemoryBank.turns)
    memories = _awaited(MemoryBank.memories)
    stats = _awaited(MemoryBank.stats)
    health = _awaited(MemoryBank.health)
    segment_names = _awaited(MemoryBank.segment_names)
    standing = _awaited(MemoryBank.standing)
    weights_of = _awaited(MemoryBank.weights_of)
    would_forget = _awaited(MemoryBank.would_forget)

    async def run(self, call: Callable[[MemoryBank], T], *, writes: bool = False) -> T:
        """Do anything else with the bank, in one of the threads, with the caller's context variables.

        Args:
            call: does it, given the `MemoryBank`.
            writes: whether it waits its turn among the calls that write.
        """
        worker = self._writer if writes else self._readers
        try:
            job = worker.submit(copy_context().run, call, self.bank)
        except RuntimeError as error:
            raise StoreError(
                f"the bank was closed before this call; open it again with {type(self).__name__}.open"
            ) from error
        return await asyncio.wrap_future(job)

    async def close(self) -> None:
        """Let the calls that wait come to their end, end the threads, and close the bank."""
        await asyncio.shield(asyncio.to_thread(self._close))

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        self.bank.close()

    async def __aenter__(self) -> AsyncMemoryBank:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
