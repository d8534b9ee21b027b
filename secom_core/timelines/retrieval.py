"""Timelines around what a query found (Theanine section 2.2, Phase II-1; Algorithm 2, lines 2 to 9).

For a hit, the paper takes the connected component, its oldest event as the start, and all directed paths from the
start through the hit to an event with no link out (eq. 9 and 10), of which it draws ``n`` at random. The set is never
listed here: how many paths lead from the start to each event and from each event to an end is counted, and a path is
drawn step by step with chances in proportion to the counts, which makes every path equally likely.

Where no path leads from the oldest event of the component to the hit, eq. 10 leaves nothing. That is the common case,
not a corner: two threads that merge in a new event are one component from then on, and the younger thread cannot be
reached from the older one's start. The timeline then starts at the oldest event that does lead to the hit, which is
the component's oldest wherever eq. 10 gives anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from random import Random

from ..errors import InvalidInput
from .graph import DIGITS, MemoryGraph
from .records import Event, Timeline

Path = tuple[int, ...]
_Steps = Callable[[int], list[tuple[int, Decimal]]]


def paths_through(graph: MemoryGraph, event_id: int) -> float:
    """How many timelines go through an event, as a float; infinite where that is more than a float holds."""
    return float(DIGITS.multiply(graph.paths_to(event_id), graph.paths_from(event_id)))


def sample_paths(graph: MemoryGraph, event_id: int, n: int, rng: Random) -> list[Path]:
    """``n`` different timelines through an event, each set of them equally likely; all where there are no more.

    Args:
        graph: the scope's graph.
        event_id: the event that they go through.
        n: how many.
        rng: where chance comes from.

    Returns:
        Paths as ids, oldest first, in the order in which they were drawn.
    """
    if n < 1:
        raise InvalidInput(f"n is how many timelines are drawn, 1 or more, got {n}")
    if paths_through(graph, event_id) <= n:
        return list(_all_paths(graph, event_id))
    drawn: dict[Path, None] = {}
    while len(drawn) < n:
        drawn[_draw(graph, event_id, rng)] = None
    return list(drawn)


def timelines(
    graph: MemoryGraph, hits: Sequence[int], *, n: int = 1, seed: int = 0, exclude: Collection[str] = ()
) -> list[Timeline]:
    """The timelines of all hits, those of the best hit first; one that two hits share is given once.

    Args:
        graph: the scope's graph.
        hits: the events that the query found, best first (``M_re``, the top ``k``), none of them told by ``exclude``.
        n: how many timelines a hit, at most; 1 in the paper (footnote 6).
        seed: what the draw depends on, together with the hit: a hit's timelines are the same whatever else was found.
        exclude: ids of turns that are in the prompt already: a timeline neither begins nor ends with events of theirs
            alone.
    """
    found: dict[Path, dict[int, None]] = {}
    for hit in dict.fromkeys(hits):
        for path in sample_paths(graph, hit, n, Random(f"{seed}:{hit}")):
            found.setdefault(_between(graph, path, exclude), {})[hit] = None
    return [_timeline(graph, path, tuple(of)) for path, of in found.items()]


def is_told(event: Event, exclude: Collection[str]) -> bool:
    """Whether these turns are all that an event rests on."""
    return bool(exclude) and all(turn_id in exclude for turn_id in event.turn_ids)


def _between(graph: MemoryGraph, path: Path, exclude: Collection[str]) -> Path:
    """The path from the first to the last of its events that these turns alone do not tell."""
    places = [place for place, each in enumerate(path) if not is_told(graph.event(each), exclude)]
    return path[places[0] : places[-1] + 1]


def _timeline(graph: MemoryGraph, path: Path, hits: tuple[int, ...]) -> Timeline:
    relations = tuple(graph.relation(earlier, later) for earlier, later in pairwise(path))
    return Timeline(tuple(graph.event(each) for each in path), relations, hits)


def _draw(graph: MemoryGraph, event_id: int, rng: Random) -> Path:
    back = _walk(event_id, graph.steps_back, rng)
    return (*reversed(back), *_walk(event_id, graph.steps_on, rng)[1:])


def _walk(event_id: int, steps: _Steps, rng: Random) -> list[int]:
    walked = [event_id]
    while ahead := steps(walked[-1]):
        walked.append(_chosen(ahead, rng))
    return walked


def _chosen(ahead: Sequence[tuple[int, Decimal]], rng: Random) -> int:
    if len(ahead) == 1:
        return ahead[0][0]
    highest = max(count for _, count in ahead)
    weights = [float(DIGITS.divide(count, highest)) for _, count in ahead]
    return rng.choices([each for each, _ in ahead], weights)[0]


def _all_paths(graph: MemoryGraph, event_id: int) -> Iterator[Path]:
    ends = list(_walks(event_id, graph.steps_on))
    for back in _walks(event_id, graph.steps_back):
        yield from ((*reversed(back), *end[1:]) for end in ends)


def _walks(event_id: int, steps: _Steps) -> Iterator[Path]:
    ahead: list[Path] = [(event_id,)]
    while ahead:
        walked = ahead.pop()
        further = steps(walked[-1])
        if not further:
            yield walked
        ahead += [(*walked, each) for each, _ in reversed(further)]
