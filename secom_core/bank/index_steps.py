"""The steps in which an index is made again that another version of the package has made."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ..conversation import Scope
from ..errors import warn_degraded
from ..memory import Memory

_STEP_S: Final = 1.0
"""For how long a call makes an index again at most, before it goes on with what there is of it."""

_RUN: Final = 200
"""How many turns of a session are taken in before it is seen whether there is time for more."""


def step_ends() -> float:
    """When a step that begins now is to end."""
    return time.monotonic() + _STEP_S


def in_turn(left: Collection[int], awaited: Collection[int], changed: Collection[int], until: float) -> Iterator[int]:
    """The sessions that are to be followed, by their ids.

    Args:
        left: those that were left.
        awaited: those among them that are left to steps; as many as there is time for, at least one, the last first.
        changed: those that have changed.
        until: when the step ends.
    """
    yield from [each for each in dict.fromkeys([*left, *changed]) if each not in awaited]
    for each in sorted(awaited, key=lambda each: (each in changed, each), reverse=True):
        yield each
        if time.monotonic() > until:
            return


def settled_parts(memories: Sequence[Memory], settled: int) -> list[list[Memory]]:
    """A session's memories in runs of some hundred turns; those that may still change are in the last one."""
    parts, size = [list[Memory]()], 0
    for each in memories:
        if size >= _RUN and parts[-1][-1].turns[-1].index < settled:
            parts.append([])
            size = 0
        parts[-1].append(each)
        size += len(each.turns)
    return parts


def warn_of_steps(scope: Scope) -> None:
    """Say that only a part of a scope is searched, and how all of it is."""
    warn_degraded(
        f"the search index of the scope {scope!r} was made by another version of the package and is made again, some "
        "of it in each recall: until that is done, only the sessions that came last are searched. To make all of it "
        "now, call bank.prepare(scope), or run `secom prepare`"
    )
