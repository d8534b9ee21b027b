"""Pictures of timelines: events on a time axis, with the relations between them as labelled arrows.

A timeline, a component of the graph, or any other events with the links between them, as Mermaid text, as an SVG, or
as one HTML page that needs nothing else, where a click on an event shows the turns that it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import pairwise
from typing import Final, Literal

from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Event, Link, Relation
from .words import tame, wrap

__all__ = ["timeline_picture"]

_MOST: Final = 500
"""More events are no picture that anybody could read."""

# Okabe and Ito's colours, which colour-blind readers can tell apart, dark enough for thin lines.
_COLOURS: Final[Mapping[Relation, str]] = {
    Relation.CHANGED: "#b34700",
    Relation.CAUSE: "#0072b2",
    Relation.REASON: "#007a5a",
    Relation.HINDERED_BY: "#a3123f",
    Relation.REACT: "#a04a80",
    Relation.WANT: "#7a6a00",
    Relation.SAME_TOPIC: "#666666",
}
_BOX: Final = (206, 78)
_GAP: Final = (96, 34)
_TOP: Final = 52
_MARGIN: Final = 20
_MERMAID: Final = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;", "%": "#37;"}
)
_STYLE: Final = """
:root { font: 15px/1.45 system-ui, sans-serif; color: #1c1c1c; background: #fff }
body { margin: 0 auto; max-width: 1400px; padding: 1rem }
h1 { font-size: 1.25rem; margin: 0 0 .25rem }
p { margin: .25rem 0 .75rem; color: #444 }
.map { overflow-x: auto; border: 1px solid #ccc; border-radius: 6px }
svg { display: block }
a:focus-visible rect, a:hover rect { stroke: #000; stroke-width: 2.5 }
body:has(article:target) { padding-bottom: 48vh }
article { display: none; background: #f6f6f4; border-top: 4px solid #0072b2; padding: .25rem 1rem }
article:target { display: block; position: fixed; inset: auto 0 0; max-height: 45vh; overflow: auto;
  box-shadow: 0 -3px 12px #0003 }
article > a { float: right; padding: .5rem; text-decoration: none }
article h2 { font-size: 1rem; margin: .5rem 0 }
article ol { padding-left: 0; list-style: none }
article li { margin: .35rem 0; white-space: pre-wrap }
article small { color: #555 }
"""


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
    shown = sorted({event.id: event for event in events}.values(), key=lambda event: event.order)
    known = {event.id for event in shown}
    held = [link for link in links if link.earlier in known and link.later in known]
    if format == "mermaid":
        return _mermaid(shown, held, highlighted)
    if format == "svg":
        return _svg(shown, held, highlighted, title, linked=False)
    if format == "html":
        return _page(shown, held, turns or {}, highlighted, title)
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """The left upper corner of each event's box, the days on the axis, and the size of it all."""

    places: Mapping[int, tuple[float, float]]
    days: Mapping[str, float]
    width: float
    height: float


def _plan(events: Sequence[Event], links: Sequence[Link]) -> _Plan:
    days = sorted({_day(event.at) for event in events})
    lefts = dict(zip(days, _lefts(days), strict=True))
    lanes = _lanes(events, links)
    places = {
        event.id: (lefts[_day(event.at)], _TOP + lanes[event.id] * (_BOX[1] + _GAP[1]) + _GAP[1] / 2)
        for event in events
    }
    width = max(lefts.values(), default=0) + _BOX[0] + _MARGIN
    height = _TOP + (max(lanes.values(), default=0) + 1) * (_BOX[1] + _GAP[1]) + _MARGIN
    return _Plan(places, {f"{day:%Y-%m-%d}": left for day, left in lefts.items()}, width, height)


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
    before: dict[int, list[int]] = {}
    for link in links:
        before.setdefault(link.later, []).append(link.earlier)
    lanes: dict[int, int] = {}
    taken: set[tuple[datetime, int]] = set()
    for event in events:
        day = _day(event.at)
        wished = [lanes[each] for each in before.get(event.id, ()) if each in lanes]
        lane = next(each for each in [*wished, *range(len(events))] if (day, each) not in taken)
        taken.add((day, lane))
        lanes[event.id] = lane
    return lanes


# -- SVG --------------------------------------------------------------------------------------------------------------


def _svg(
    events: Sequence[Event], links: Sequence[Link], highlighted: Collection[int], title: str, *, linked: bool
) -> str:
    plan = _plan(events, links)
    width, height = f"{plan.width:.0f}", f"{plan.height:.0f}"
    used = [relation for relation in Relation if any(link.relation is relation for link in links)]
    body = [
        f"<title>{escape(tame(title))}</title>",
        f"<defs>{''.join(map(_head, used))}</defs>",
        *_axis(plan),
        *(_arrow(link, plan) for link in links),
        *(_box(event, plan, highlighted=event.id in highlighted, linked=linked) for event in events),
        *(_label(link, plan) for link in links),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="sans-serif" font-size="12">{"".join(body)}</svg>'
    )


def _head(relation: Relation) -> str:
    return (
        f'<marker id="{relation.value}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{_COLOURS[relation]}"/></marker>'
    )


def _axis(plan: _Plan) -> Iterator[str]:
    right = plan.width - _MARGIN / 2
    yield f'<line x1="{_MARGIN / 2}" y1="36" x2="{right:.1f}" y2="36" stroke="#888"/>'
    for day, left in plan.days.items():
        yield (
            f'<line x1="{left:.1f}" y1="30" x2="{left:.1f}" y2="{plan.height - 8:.1f}" stroke="#e4e4e4"/>'
            f'<text x="{left:.1f}" y="22" fill="#333">{day}</text>'
        )


def _box(event: Event, plan: _Plan, *, highlighted: bool, linked: bool) -> str:
    x, y = plan.places[event.id]
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


def _curve(link: Link, plan: _Plan) -> tuple[tuple[float, float], ...]:
    """The four points of the arrow: from the right edge to the left, or down the side within one day."""
    (x1, y1), (x2, y2) = plan.places[link.earlier], plan.places[link.later]
    y1, y2 = y1 + _BOX[1] / 2, y2 + _BOX[1] / 2
    right = x1 + _BOX[0]
    if x2 <= x1:
        return (right, y1), (right + 60, y1), (right + 60, y2), (right, y2)
    reach = (x2 - right) / 2
    # Past whatever stands between them on the same lane.
    lift = -(_BOX[1] / 2 + _GAP[1]) if y1 == y2 and x2 - right > _BOX[0] else 0
    return (right, y1), (right + reach, y1 + 1.4 * lift), (x2 - reach, y2 + 1.4 * lift), (x2, y2)


def _arrow(link: Link, plan: _Plan) -> str:
    start, *rest = (f"{x:.1f},{y:.1f}" for x, y in _curve(link, plan))
    return (
        f'<path d="M{start} C{" ".join(rest)}" fill="none" stroke="{_COLOURS[link.relation]}" stroke-width="1.6" '
        f'marker-end="url(#{link.relation.value})"/>'
    )


def _label_place(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The middle of a short arrow; on a long one a place before the next column, where no box is in the way."""
    begin, end = points[0][0], points[-1][0]
    wanted = begin + min((end - begin) / 2, _GAP[0] * 0.62)
    low, high = 0.0, 1.0
    while end > begin and high - low > 0.01:
        middle = (low + high) / 2
        low, high = (middle, high) if _on(points, middle)[0] < wanted else (low, middle)
    return _on(points, high if end > begin else 0.5)


def _on(points: Sequence[tuple[float, float]], t: float) -> tuple[float, float]:
    """A point of a cubic Bézier curve."""
    parts = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    x, y = (sum(part * point[axis] for part, point in zip(parts, points, strict=True)) for axis in (0, 1))
    return x, y


def _label(link: Link, plan: _Plan) -> str:
    x, y = _label_place(_curve(link, plan))
    name = link.relation.value
    wide = 7 * len(name) + 8
    return (
        f'<g><rect x="{x - wide / 2:.1f}" y="{y - 9:.1f}" width="{wide}" height="17" rx="3" fill="#ffffff" '
        f'fill-opacity="0.9"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" '
        f'fill="{_COLOURS[link.relation]}">{name}</text></g>'
    )


# -- HTML -------------------------------------------------------------------------------------------------------------


def _page(
    events: Sequence[Event],
    links: Sequence[Link],
    turns: Mapping[str, Turn],
    highlighted: Collection[int],
    title: str,
) -> str:
    name = escape(tame(title))
    articles = "\n".join(_article(event, links, events, turns) for event in events)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        # Nothing is loaded and nothing runs, whatever anybody has said.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
        f"<p>{len(events)} events, {len(links)} links. Click an event to read the turns that it rests on.</p>\n"
        f'<div class="map">{_svg(events, links, highlighted, title, linked=True)}</div>\n{articles}\n'
        "</body>\n</html>\n"
    )


def _article(event: Event, links: Sequence[Link], events: Sequence[Event], turns: Mapping[str, Turn]) -> str:
    said = "".join(_turn(turns[turn_id]) for turn_id in event.turn_ids if turn_id in turns)
    missing = "" if said else "<p>The turns were not given.</p>"
    texts = {each.id: each.text for each in events}
    ways = [f"from ({link.relation.value}) {texts[link.earlier]}" for link in links if link.later == event.id]
    ways += [f"to ({link.relation.value}) {texts[link.later]}" for link in links if link.earlier == event.id]
    listed = "".join(f"<li><small>{escape(tame(way))}</small></li>" for way in ways)
    return (
        f'<article id="event-{event.id}"><a href="#top" title="close">✕</a>'
        f"<h2>{event.at:%Y-%m-%d}: {escape(tame(event.text))}</h2>"
        f"<small>session {escape(tame(event.session))}</small><ol>{said}</ol>{missing}<ul>{listed}</ul></article>"
    )


def _turn(turn: Turn) -> str:
    lines = "\n".join("\n".join(tame(line) for line in message.line.splitlines()) for message in turn.messages)
    return f"<li>{escape(lines)}</li>"
