"""The bank of a server: calls run in its threads, what is made of messages follows in the background."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from ..bank import AsyncMemoryBank, BackgroundWriter, MemoryBank
from ..conversation import Scope
from ..errors import SecomError, traced
from ..stores.database import waiting_at_most

T = TypeVar("T")

_SWEEP_S: Final = 60.0
_JOIN_S: Final = 5.0
_LOG: Final = logging.getLogger(__name__)


class ServedMemory:
    """A bank that many callers share.

    Args:
        bank: what is served; `close` closes it.
        scopes: those that are made ready in the background as it starts, so that no first recall waits.
        threads: how many calls read at once at most.
        sweep_every: after how many seconds sessions end that nobody speaks in any more, and what has expired goes.
        waits: how many seconds a call that writes waits at most for another program that does.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scopes: Sequence[Scope] = (),
        *,
        threads: int = 4,
        sweep_every: float = _SWEEP_S,
        waits: float = math.inf,
    ) -> None:
        self.bank: Final = bank
        self.writer: Final = BackgroundWriter(bank)
        self._calls = AsyncMemoryBank(bank, threads=threads)
        self._sweep_every, self._waits = sweep_every, waits
        self._sweeping: asyncio.Task[None] | None = None
        self._scopes, self._is_closing = tuple(scopes), False
        # A thread of its own: it may take minutes, and no call and no stop waits for it.
        self._preparing = threading.Thread(target=self._prepare, name="secom-prepare", daemon=True)

    async def run(self, call: Callable[[], T], *, writes: bool = False) -> T:
        """Do something with the bank or its writer in one of the threads."""

        def waiting(_: MemoryBank) -> T:
            with waiting_at_most(self._waits if writes else math.inf):
                return call()

        return await self._calls.run(waiting, writes=writes)

    async def run_as_json(self, call: Callable[[], object], *, writes: bool = False) -> bytes:
        """As `run`, and give the answer as JSON, which is written in the thread as well."""
        return await self.run(lambda: json.dumps(call()).encode("ascii"), writes=writes)

    def start(self) -> None:
        """Make scopes ready, and begin to look after sessions that nobody ends, and turns that expire."""
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep())
        self._preparing.start()

    async def close(self) -> None:
        """Let the calls that have begun come to their end, then close the bank."""
        self._is_closing = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
        await self._calls.close()
        if self._preparing.is_alive():
            await asyncio.to_thread(self._preparing.join, _JOIN_S)

    def _prepare(self) -> None:
        for scope in self._scopes:
            try:
                self.bank.prepare(scope)
            except SecomError as error:  # noqa: PERF203 - one scope that fails leaves the others
                # As the bank is closed, the next call to the store ends it.
                if self._is_closing:
                    return
                _LOG.error("a scope could not be made ready; the first recall tries again\n%s", traced(error))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(self._sweep_every)
            try:
                # Among the calls that read: a language model may take its time, and nobody's words wait for it.
                await self.run(self._swept)
            except SecomError as error:
                again = f"it is tried again in {self._sweep_every} seconds"
                _LOG.error("sessions could not be ended; %s\n%s", again, traced(error))

    def _swept(self) -> None:
        self.bank.lifetimes.end_expired()
        self.bank.end_idle_sessions()
