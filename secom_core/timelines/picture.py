"""Pictures of timelines: events on a time axis, with the relations between them as labelled arrows.

A timeline, a component of the graph, or any other events with the links between them, as Mermaid text, as an SVG, or
as one HTML page that needs nothing else, where a click on an event shows the turns that it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from itertools import pairwise
from string import Template
from typing import Final, Literal, TypeAlias

import numpy as np

from ..conversation import Turn
from ..errors import InvalidInput
from ..pictures.words import tame, wrap
from .records import Event, Link, Relation

_MOST: Final = 500
"""More events are no picture that anybody could read."""

# Okabe and Ito's colours, which colour-blind readers can tell apart, dark enough for thin lines.
_COLOURS: Final = dict(
    zip(Relation, ("#b34700", "#0072b2", "#007a5a", "#a3123f", "#a04a80", "#7a6a00", "#666666"), strict=True)
)
_BOX: Final = (206, 78)
_GAP: Final = (96, 34)
_TOP: Final = 52
_MARGIN: Final = 20
_MERMAID: Final = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "%": "#37;"}
)
_STYLE: Final = files(__package__).joinpath("picture.css").read_text(encoding="utf-8")
_PAGE: Final = Template(files(__package__).joinpath("picture.html").read_text(encoding="utf-8"))

_Point: TypeAlias = tuple[float, float]
_Places: TypeAlias = Mapping[int, _Point]


def timeline_picture(
    events: Sequence[Event],
    links: Sequence[Link],
    *,
    turns: Mapping[str, Turn] | None = None,
    highlighted: Collection[int] = (),
    title: str = "Timelines",
    format: Literal["mermaid", "svg", "html"] = "html",
) -> str:
    """Draw events and what led from one to the next.

    Args:
        events: such as ``timeline.events``, a component's, or ``bank.events(scope)``; at most 500.
        links: such as ``timeline.links``; those with an end that is not among the events are left out.
        turns: the turns by id, to be read on a click; only ``"html"`` shows them.
        highlighted: ids of events to stand out, such as ``timeline.hits``.
        title: the picture's name.
        format: ``"mermaid"`` for a flow chart as text, ``"svg"``, or ``"html"`` for a page of its own.

    Raises:
        InvalidInput: for more than 500 events, or another format.
    """
    if len(events) > _MOST:
        raise InvalidInput(f"a picture shows {_MOST} events at most, got {len(events)}; draw a timeline or a component")
    by_id = {event.id: event for event in sorted(events, key=lambda event: event.order)}
    drawn = list(by_id.values())
    arrows = [link for link in links if link.earlier in by_id and link.later in by_id]
    if format == "mermaid":
        return _mermaid(drawn, arrows, highlighted)
    if format == "svg":
        return _svg(drawn, arrows, highlighted, title, linked=False)
    if format == "html":
        return _page(drawn, arrows, turns or {}, highlighted, title)
    raise InvalidInput(f"the format is 'mermaid', 'svg' or 'html', not {format!r}")


# -- Mermaid ----------------------------------------------------------------------------------------------------------


def _mermaid(events: Sequence[Event], links: Sequence[Link], highlighted: Collection[int]) -> str:
    lines = ["flowchart LR"]
    lines += [f'  e{event.id}["{event.at:%Y-%m-%d}<br/>{_safe(event.text)}"]' for event in events]
    lines += [f"  e{link.earlier} -->|{link.relation.value}| e{link.later}" for link in links]
    lines += [f"  style e{event.id} stroke-width:3px" for event in events if event.id in highlighted]
    return "\n".join(lines) + "\n"


def _safe(text: str) -> str:
    return tame(text).translate(_MERMAID)


# -- where everything stands ------------------------------------------------------------------------------------------


def _places(events: Sequence[Event], links: Sequence[Link]) -> _Places:
    """The left upper corner of each event's box: a column a day, a lane for events that lead on from each other."""
    days = sorted({_day(event.at) for event in events})
    lefts, lanes = dict(zip(days, _lefts(days), strict=True)), _lanes(events, links)
    tops = {number: _TOP + lane * (_BOX[1] + _GAP[1]) + _GAP[1] / 2 for number, lane in lanes.items()}
    return {event.id: (lefts[_day(event.at)], tops[event.id]) for event in events}


def _day(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _lefts(days: Sequence[datetime]) -> Iterator[float]:
    """A column a day; the wait between two days shows, but a year is not three hundred times as wide as a day."""
    left = float(_MARGIN)
    yield from [left] if days else []
    for before, day in pairwise(days):
        left += _BOX[0] + _GAP[0] + 14 * math.log2(max(1.0, (day - before).total_seconds() / 86_400))
        yield left


def _lanes(events: Sequence[Event], links: Sequence[Link]) -> dict[int, int]:
    """A lane for each event: that of an event it follows from if it is free that day, so that threads run level."""
    lanes: dict[int, int] = {}
    taken: set[tuple[datetime, int]] = set()
    for event in events:
        day = _day(event.at)
        wished = [lanes[link.earlier] for link in links if link.later == event.id and link.earlier in lanes]
        lanes[event.id] = next(each for each in [*wished, *range(len(events))] if (day, each) not in taken)
        taken.add((day, lanes[event.id]))
    return lanes


# -- SVG --------------------------------------------------------------------------------------------------------------


def _svg(
    events: Sequence[Event], links: Sequence[Link], highlighted: Collection[int], title: str, *, linked: bool
) -> str:
    places = _places(events, links)
    width = max((x for x, _ in places.values()), default=0) + _BOX[0] + _MARGIN
    height = max((y for _, y in places.values()), default=_TOP + _GAP[1] / 2) + _BOX[1] + _GAP[1] / 2 + _MARGIN
    days = {f"{event.at:%Y-%m-%d}": places[event.id][0] for event in events}
    used = [relation for relation in Relation if any(link.relation is relation for link in links)]
    curves = [(link, _curve(places[link.earlier], places[link.later])) for link in links]
    body = [
        f"<title>{escape(tame(title))}</title>",
        f"<defs>{''.join(map(_head, used))}</defs>",
        *_axis(days, width, height),
        *(_arrow(link, curve) for link, curve in curves),
        *(_box(event, places[event.id], event.id in highlighted, linked) for event in events),
        *(_label(link, curve) for link, curve in curves),
    ]
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="12">'
        f"{''.join(body)}</svg>"
    )


def _head(relation: Relation) -> str:
    return (
        f'<marker id="{relation.value}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{_COLOURS[relation]}"/></marker>'
    )


def _axis(days: Mapping[str, float], width: float, height: float) -> Iterator[str]:
    yield f'<line x1="{_MARGIN / 2}" y1="36" x2="{width - _MARGIN / 2:.1f}" y2="36" stroke="#888"/>'
    for day, left in days.items():
        yield (
            f'<line x1="{left:.1f}" y1="30" x2="{left:.1f}" y2="{height - 8:.1f}" stroke="#e4e4e4"/>'
            f'<text x="{left:.1f}" y="22" fill="#333">{day}</text>'
        )


def _box(event: Event, place: _Point, highlighted: bool, linked: bool) -> str:
    x, y = place
    fill, stroke = ("#fff3cd", 'stroke="#b8860b" stroke-width="2"') if highlighted else ("#f3f6fa", 'stroke="#90a4b8"')
    rows = "".join(
        f'<text x="{x + 9:.1f}" y="{y + 18 + 15 * row:.1f}">{escape(line)}</text>'
        for row, line in enumerate(wrap(tame(event.text), 31, 4))
    )
    box = (
        f"<title>{escape(tame(event.text))}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6" fill="{fill}" {stroke}/>{rows}'
    )
    return f'<a href="#event-{event.id}" id="box-{event.id}">{box}</a>' if linked else f"<g>{box}</g>"


def _curve(earlier: _Point, later: _Point) -> Sequence[_Point]:
    """The four points of the arrow: from the right edge to the left, or down the side within one day."""
    (right, y1), (x2, y2) = ((x, y + _BOX[1] / 2) for x, y in ((earlier[0] + _BOX[0], earlier[1]), later))
    if x2 <= earlier[0]:
        return (right, y1), (right + 60, y1), (right + 60, y2), (right, y2)
    reach = (x2 - right) / 2
    # Past whatever stands between them on the same lane.
    lift = -1.4 * (_BOX[1] / 2 + _GAP[1]) if y1 == y2 and x2 - right > _BOX[0] else 0
    return (right, y1), (right + reach, y1 + lift), (x2 - reach, y2 + lift), (x2, y2)


def _arrow(link: Link, curve: Sequence[_Point]) -> str:
    start, *rest = (f"{x:.1f},{y:.1f}" for x, y in curve)
    return (
        f'<path d="M{start} C{" ".join(rest)}" fill="none" stroke="{_COLOURS[link.relation]}" stroke-width="1.6" '
        f'marker-end="url(#{link.relation.value})"/>'
    )


def _label(link: Link, curve: Sequence[_Point]) -> str:
    # A long arrow has it before the next column, where no box is in the way.
    t = min(0.5, 0.45 * _GAP[0] / max(curve[-1][0] - curve[0][0], 1))
    # The point at ``t`` of a cubic Bézier curve.
    x, y = np.array([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]) @ np.array(curve)
    name = link.relation.value
    wide = 7 * len(name) + 8
    return (
        f'<g><rect x="{x - wide / 2:.1f}" y="{y - 9:.1f}" width="{wide}" height="17" rx="3" fill="#ffffff" '
        f'fill-opacity="0.9"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" '
        f'fill="{_COLOURS[link.relation]}">{name}</text></g>'
    )


# -- HTML -------------------------------------------------------------------------------------------------------------


def _page(
    events: Sequence[Event], links: Sequence[Link], turns: Mapping[str, Turn], highlighted: Collection[int], title: str
) -> str:
    # Nothing is loaded and nothing runs, whatever anybody has said.
    return _PAGE.substitute(
        title=escape(tame(title)),
        style=_STYLE,
        events=len(events),
        links=len(links),
        map=_svg(events, links, highlighted, title, linked=True),
        articles="\n".join(_article(event, links, events, turns) for event in events),
    )


def _article(event: Event, links: Sequence[Link], events: Sequence[Event], turns: Mapping[str, Turn]) -> str:
    given = "".join(_turn(turns[turn_id]) for turn_id in event.turn_ids if turn_id in turns)
    missing = "" if given else "<p>The turns were not given.</p>"
    texts = {each.id: each.text for each in events}
    ways = [f"from ({link.relation.value}) {texts[link.earlier]}" for link in links if link.later == event.id]
    ways += [f"to ({link.relation.value}) {texts[link.later]}" for link in links if link.earlier == event.id]
    listed = "".join(f"<li><small>{escape(tame(way))}</small></li>" for way in ways)
    return (
        f'<article id="event-{event.id}"><a href="#top" title="close">✕</a>'
        f"<h2>{event.at:%Y-%m-%d}: {escape(tame(event.text))}</h2>"
        f"<small>session {escape(tame(event.session))}</small><ol>{given}</ol>{missing}<ul>{listed}</ul></article>"
    )


def _turn(turn: Turn) -> str:
    lines = "\n".join("\n".join(tame(line) for line in message.line.splitlines()) for message in turn.messages)
    return f"<li>{escape(lines)}</li>"
