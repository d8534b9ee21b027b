"""A bank for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import Context, copy_context
from functools import partial, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from ..conversation import check_scope
from ..errors import StoreError
from ..processes import ForkWorker
from .bank import MemoryBank
from .checks import check_count
from .deriving import LEFT
from .given import check_bank
from .measuring import measured

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4
"""How many calls read at once unless said otherwise: they share the interpreter, and mostly wait for it."""

_MAKERS: Final = 8
"""How many scopes' ended sessions are taken in at once: each asks a model, which may be slow. Of one, in order."""


def _awaited(
    method: Callable[Concatenate[MemoryBank, P], T], *, writes: bool = False
) -> Callable[Concatenate[AsyncMemoryBank, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def awaited(bank: AsyncMemoryBank, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await bank.run(lambda inside: method(inside, *args, **kwargs), writes=writes)

    return awaited


def _made(
    method: Callable[Concatenate[MemoryBank, P], T],
) -> Callable[Concatenate[AsyncMemoryBank, P], Coroutine[Any, Any, T]]:
    @wraps(method)
    async def made(bank: AsyncMemoryBank, /, *args: P.args, **kwargs: P.kwargs) -> T:
        scope: Any = args[0] if args else kwargs.get("scope", ())
        maker, context = bank._maker(check_scope(scope)), copy_context()

        def begin() -> Future[T]:
            return maker.submit(context.run, lambda: method(bank.bank, *args, **kwargs))

        # It begins when what was written before it is stored.
        job = await asyncio.wrap_future(bank._submitted(bank._writer, begin))
        return await asyncio.wrap_future(job)

    return made


@measured("derive")
def _left(bank: MemoryBank, do: Callable[[], None]) -> None:
    do()


def _opening(open_bank: Callable[P, MemoryBank]) -> Callable[P, Coroutine[Any, Any, AsyncMemoryBank]]:
    @wraps(open_bank)
    async def opened(*args: P.args, **kwargs: P.kwargs) -> AsyncMemoryBank:
        return AsyncMemoryBank(await asyncio.to_thread(open_bank, *args, **kwargs))

    return opened


class AsyncMemoryBank:
    """A `MemoryBank` whose methods are awaited; each is documented there, and takes and gives the same.

    Its calls run in threads of its own: a few that read, and one that writes, so that recalls do not wait behind
    writes (but for one that first forgets what has just ended), nor either behind what else uses the event loop's
    threads. What is made of ended sessions may ask a model, so it is made in further threads: who ended one waits for
    it, and nobody else's writes do. Any number of calls may wait, from any loop.

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
        self._makers = [ForkWorker("secom-make") for _ in range(_MAKERS)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bank!r})"

    open = staticmethod(_opening(MemoryBank.open))

    remember = _awaited(MemoryBank.remember, writes=True)
    close_session = _awaited(MemoryBank.close_session, writes=True)
    end_idle_sessions = _awaited(MemoryBank.end_idle_sessions, writes=True)
    derive = _made(MemoryBank.derive)
    rebuild = _made(MemoryBank.rebuild)
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
        if not writes:
            return await asyncio.wrap_future(self._submitted(self._readers, copy_context().run, call, self.bank))
        write = partial(self._written, call, copy_context())
        done, left = await asyncio.wrap_future(self._submitted(self._writer, write))
        for each in left:
            # A caller who is cancelled here leaves it to be done.
            await asyncio.shield(asyncio.wrap_future(each))
        return done

    def _written(self, call: Callable[[MemoryBank], T], context: Context) -> tuple[T, list[Future[None]]]:
        """What a call gave, and what it left to be made of ended sessions, under way."""
        inside = context.copy()
        inside.run(LEFT.set, [])
        try:
            done = inside.run(call, self.bank)
        finally:
            left = [
                self._maker(scope).submit(context.copy().run, _left, self.bank, do) for scope, do in inside[LEFT] or ()
            ]
        return done, left

    def _maker(self, scope: tuple[str, ...]) -> ForkWorker:
        return self._makers[hash(scope) % len(self._makers)]

    @staticmethod
    def _submitted(worker: ForkWorker, do: Callable[..., T], *arguments: Any) -> Future[T]:
        try:
            return worker.submit(do, *arguments)
        except RuntimeError as error:
            raise StoreError("the bank was closed before this call; open it again with AsyncMemoryBank.open") from error

    async def close(self) -> None:
        """Let the calls that wait come to their end, end the threads, and close the bank."""
        await asyncio.shield(asyncio.to_thread(self._close))

    def _close(self) -> None:
        self._writer.shutdown()
        for maker in self._makers:
            maker.shutdown()
        self._readers.shutdown()
        self.bank.close()

    async def __aenter__(self) -> AsyncMemoryBank:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
