"""Connections of HTTP that do not wait for ever for a client that sends its headers drop by drop."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S: Final = 10.0
"""How many seconds the headers of a request may take to come."""


class PromptConnection(H11Protocol):
    """A connection of uvicorn that is closed where a request has begun and its headers do not come."""

    headers_within = HEADERS_S
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self.headers_within, self._close_if_idle)

    def data_received(self, data: bytes) -> None:
        """Take in what came; where it is a part of the headers, the rest has to come in time."""
        super().data_received(data)
        if self._is_answering():
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.headers_within, self._close_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _close_if_idle(self) -> None:
        self._deadline = None
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
