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

_LONGEST: Final = 4
"""How many times as long it goes on where it then makes the whole of it, which a small one is in that time."""

_RUN: Final = 32
"""How many turns of a session, which may be long, are taken in before it is seen whether there is time for more."""


def step_ends() -> float:
    """When a step that begins now is to end."""
    return time.monotonic() + _STEP_S


def is_over(until: float, done: int, of: int) -> bool:
    """Whether a step has ended which was to end ``until`` then, when so many of what is to be done is done."""
    late = time.monotonic() - until
    return late > 0 and (done * _LONGEST < of or late > (_LONGEST - 1) * _STEP_S)


def in_turn(left: Collection[int], awaited: Collection[int], changed: Collection[int], until: float) -> Iterator[int]:
    """The sessions that are to be followed, by their ids.

    Args:
        left: those that were left.
        awaited: those among them that are left to steps; as many as there is time for, at least one, the last first.
        changed: those that have changed.
        until: when the step ends.
    """
    yield from [each for each in dict.fromkeys([*left, *changed]) if each not in awaited]
    ordered = sorted(awaited, key=lambda each: (each in changed, each), reverse=True)
    for number, each in enumerate(ordered, start=1):
        yield each
        if is_over(until, number, len(ordered)):
            return


def settled_parts(memories: Sequence[Memory], settled: int) -> list[list[Memory]]:
    """A session's memories in runs of some dozens of turns; those that may still change are in the last one."""
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
