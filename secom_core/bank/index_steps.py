"""The steps in which an index is made that is missing, has no vectors yet, or was made by another version."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from ..conversation import Scope
from ..derived.segments import Derivation
from ..errors import warn_degraded
from ..llm.windows import packed
from ..memory import Memory
from ..ranking import ScopeIndex
from ..ranking.lacking import lacking
from .kept_blocks import Unmade

_STEP_S: Final = 1.0
"""For how long a call makes an index again at most, before it goes on with what there is of it."""

_LONGEST: Final = 4
"""How many times as long it goes on where it then makes the whole of it, which a small one is in that time."""

_RUN: Final = 32
"""How many turns of a session, which may be long, are taken in before it is seen whether there is time for more."""

_SMALL: Final = 500
"""How many turns a scope has at most of which all is made at once that is missing, whatever time it takes."""

_EMBEDDED: Final = 128
"""How many texts of a session are embedded before it is seen whether there is time for more."""

_TOGETHER: Final = 32
"""How many texts of short sessions are embedded together."""

OF_ANOTHER_VERSION: Final = "was made by another version of the package and is made again"
MISSING: Final = "is missing, or was damaged, and is made"
"""Why an index is made in steps."""


def is_small(turns: int) -> bool:
    """Whether a scope of so many turns is small enough to be read at once."""
    return turns <= _SMALL


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


def filled(
    index: ScopeIndex, sessions: Mapping[str, int], derivation: Derivation, until: float, epoch: int
) -> tuple[int, int]:
    """Give an index some of the vectors that it lacks, or all where there is time.

    Args:
        index: the index.
        sessions: the ids of the scope's sessions by their names.
        derivation: makes vectors, or reads those that are stored.
        until: when the step ends.
        epoch: the scope's that the index is of.

    Returns:
        How many it has got, and how many it still lacks.
    """
    left = [each for each in lacking(index) if each.session in sessions]
    of, done = sum(map(len, left)), 0
    for runs in packed([run for each in left for run in each.runs(_EMBEDDED)], len, _TOGETHER):
        texts = [(sessions[run.session], text) for run in runs for text in run.texts(index)]
        vectors = derivation.vectors_of_sessions(texts, epoch=epoch)
        if vectors is None:
            break
        for run in runs:
            run.add(index, vectors[: len(run)])
            vectors = vectors[len(run) :]
        done += len(texts)
        if is_over(until, done, of):
            break
    return done, of - done


def warn_of_steps(scope: Scope, unmade: Unmade) -> None:
    """Say that only a part of a scope is searched, or only by words, and how all of it is."""
    if unmade.left:
        why, until = unmade.cause, "only the sessions that came last are searched"
    else:
        why, until = "has not all vectors of this embedder yet, and gets them", "it is searched by words alone"
    warn_degraded(
        f"the search index of the scope {scope!r} {why}, some of it in each recall: until that is done, {until}. To "
        "make all of it now, call bank.prepare(scope), or run `secom prepare` with the same embedder"
    )
