"""How much each token may ask for: calls at once, and calls in a minute."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from ..errors import SecomError

_KEPT: Final = 10_000


class TooMany(SecomError):
    """A token asks for more than it may.

    Args:
        message: says what is too much.
        retry_after: in how many whole seconds it may ask again.
    """

    def __init__(self, message: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(message)


@dataclass
class _Used:
    tokens: float
    at: float
    running: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Usage:
    """Counts what each token uses: a bucket that fills evenly, and the calls that run or wait.

    Args:
        max_per_minute: how many calls may be made in a minute; as many may come at once after a minute of silence.
        max_concurrent: how many calls may run or wait at once.
        clock: gives the time in seconds.
    """

    def __init__(self, max_per_minute: int, max_concurrent: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._concurrent, self._clock = max_per_minute, max_concurrent, clock
        self._used: OrderedDict[str, _Used] = OrderedDict()

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """Count one call of a token while the block runs.

        Raises:
            TooMany: it is one too many.
        """
        used = self._filled(name)
        if used.running >= self._concurrent:
            raise TooMany(f"{used.running} calls of this token run already, and {self._concurrent} may", 1)
        if used.tokens < 1:
            wait = ceil((1 - used.tokens) * 60 / self._per_minute)
            raise TooMany(f"this token may make {self._per_minute:,} calls in a minute; wait {wait} s", wait)
        used.tokens -= 1
        used.running += 1
        try:
            yield
        finally:
            used.running -= 1
            used.ended.set()
            used.ended = asyncio.Event()

    async def room(self, name: str) -> None:
        """Wait until not too many calls of a token run for one more."""
        while (used := self._filled(name)).running >= self._concurrent:
            await used.ended.wait()

    def _filled(self, name: str) -> _Used:
        now = self._clock()
        used = self._used.setdefault(name, _Used(self._per_minute, now))
        self._used.move_to_end(name)
        used.tokens = min(self._per_minute, used.tokens + (now - used.at) * self._per_minute / 60)
        used.at = now
        while len(self._used) > _KEPT and not next(iter(self._used.values())).running:
            self._used.popitem(last=False)
        return used
