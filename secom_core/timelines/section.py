"""Timelines as a section of the block: as many as fit into their share of the budget, the best first."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..context.lines import one_line, quoted_lines
from ..memory import Section
from ..protocols import TokenCounter
from .records import Timeline

_HEADING: Final = "How things came about, oldest first:"


def timeline_section(
    layer: str, timelines: Sequence[Timeline], token_budget: int | None, share: float, counter: TokenCounter
) -> Section | None:
    """The timelines that fit; nothing where none does.

    One that is too long is shown without its text, or from the event that was found as far to either side as there is
    room; one of which not even that event fits is passed over.

    Args:
        layer: the layer's name.
        timelines: best first.
        token_budget: how long the block may be; without one all timelines are shown.
        share: how much of it they may take.
        counter: what the budget is counted with.
    """
    room = int(token_budget * share) if token_budget is not None else None
    visible: list[Timeline] = []
    for timeline in timelines:
        left = room - counter(_section(layer, visible).text or f"# {_HEADING}\n") if room is not None else None
        fitting = _fitting(timeline, left, counter)
        visible += [fitting] if fitting is not None else []
    return _section(layer, visible) if visible else None


def _section(layer: str, timelines: Sequence[Timeline]) -> Section:
    entries, turn_ids = tuple(map(_entry, timelines)), tuple(each.turn_ids for each in timelines)
    return Section(layer, _HEADING, entries, tuple(timelines), turn_ids)


def _fitting(timeline: Timeline, left: int | None, counter: TokenCounter) -> Timeline | None:
    number = "[99] "
    if left is None or counter(number + _entry(timeline)) <= left:
        return timeline
    plain = replace(timeline, text=None)
    sizes = [counter(_line(plain, place)) for place in range(len(plain.events))]
    left -= counter(number)
    return around_hit(plain, sizes, left) if left >= sizes[hit_place(plain)] else None


def hit_place(timeline: Timeline) -> int:
    """The place of the first event that was found; the first of all where none was."""
    return next((place for place, event in enumerate(timeline.events) if event.id in timeline.hits), 0)


def around_hit(timeline: Timeline, sizes: Sequence[int], room: int) -> Timeline:
    """The event that was found, and those before and after it as far as there is room.

    Args:
        timeline: the timeline, without a text.
        sizes: how much room each of its events takes.
        room: how much there is.
    """
    start = hit_place(timeline)
    first, last = _stretch(sizes, start, room - sizes[start])
    return replace(timeline, events=timeline.events[first : last + 1], relations=timeline.relations[first:last])


def _stretch(sizes: Sequence[int], start: int, left: int) -> tuple[int, int]:
    """The widest run around ``start`` within the budget, grown forward and back in turn; forward first."""
    ends = {1: start, -1: start}
    ways = deque(ends)
    while ways:
        way = ways.popleft()
        place = ends[way] + way
        if 0 <= place < len(sizes) and sizes[place] <= left:
            ends[way] = place
            left -= sizes[place]
            ways.append(way)
    return ends[-1], ends[1]


def _entry(timeline: Timeline) -> str:
    if timeline.text is not None:
        return f"{quoted_lines(timeline.text)}\n"
    return "".join(_line(timeline, place) for place in range(len(timeline.events)))


def _line(timeline: Timeline, place: int) -> str:
    event = timeline.events[place]
    arrow = f"  → ({timeline.relations[place - 1].value}) " if place else ""
    # On one line: further lines would begin where the arrows do.
    return f"{arrow}{event.at:%Y-%m-%d %a} {one_line(event.text)}\n"
