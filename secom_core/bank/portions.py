"""How much of what waits to be made is made at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from ..errors import warn_degraded

Bar = Callable[..., Iterable[Any]]
"""Items with a progress bar; takes them, what is done to them, as ``unit`` what one is called, and the ``total``."""

_AT_ONCE_S: Final = 3.0


def no_bar(items: Iterable[Any], what: str, *, unit: str, total: int | None = None) -> Iterable[Any]:
    """The items, and nothing is shown."""
    return items


@dataclass(frozen=True)
class Portion:
    """How many of the sessions that wait are taken in now; all of them unless it is told otherwise.

    Args:
        least: how many each part of the bank takes in, whatever time it takes.
        seconds: for how long each part goes on beyond that.
        bar: shows progress.
        closing: is set where each part finishes the session that it is at, as the bank is being closed.
        left: how many sessions are left, by what they wait for.
    """

    least: float = float("inf")
    seconds: float = float("inf")
    bar: Bar = no_bar
    closing: Event = field(default_factory=Event)
    left: dict[str, int] = field(default_factory=dict)

    @classmethod
    def at_end(cls, ended: int, closing: Event) -> Portion:
        """What somebody waits for who has ended so many sessions: as many, one more, and what is made quickly."""
        return cls(ended + 1, _AT_ONCE_S, closing=closing)

    def is_over(self, begun: int, since: float) -> bool:
        """Whether a part begins no other session that has begun so many, the first at ``since`` (monotonic clock)."""
        enough = begun >= self.least and time.monotonic() - since >= self.seconds
        return enough or (begun > 0 and self.closing.is_set())

    def tell(self) -> None:
        """Warn of what is left."""
        if self.left:
            waiting = ", ".join(f"{count} for {what}" for what, count in self.left.items())
            warn_degraded(
                f"sessions that ended earlier wait to be taken in ({waiting}); each end of a session goes on with "
                "some of them, and bank.derive(scope) takes in all"
            )
