"""Events and timelines as JSON, as text, and in the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from ..layers import Listing
from ..pictures.report.html import Page, counted, note, when, words
from ..text.visible import inline
from .graph import MemoryGraph
from .picture import timeline_picture
from .records import Event, Link

_PICTURES: Final = 8
_DRAWN: Final = 30
_LISTED: Final = 400


def listing(events: Sequence[Event], links: Sequence[Link]) -> Listing:
    """All events, and which led to which."""
    into: dict[int, list[Link]] = {}
    for link in links:
        into.setdefault(link.later, []).append(link)
    rows: dict[str, Any] = {
        "events": [{**asdict(event), "at": event.at.isoformat(), "turn_ids": list(event.turn_ids)} for event in events],
        "links": [{"earlier": link.earlier, "later": link.later, "relation": link.relation.value} for link in links],
    }
    return Listing(rows if events else {}, [_text(event, into.get(event.id, ())) for event in events])


def _text(event: Event, links: Iterable[Link]) -> str:
    ways = "".join(f"\n    {link.relation.value} from #{link.earlier}" for link in links)
    return f"#{event.id}  {event.at:%Y-%m-%d}  {inline(event.text)}{ways}"


def report(events: Sequence[Event], links: Sequence[Link], page: Page) -> Iterator[str]:
    """What led where, a picture for each thread; and all events as a list; in HTML."""
    if not events:
        yield note("No timelines are kept.")
        return
    graph = MemoryGraph()
    graph.extend(events, links)
    threads = [thread for thread in graph.components() if len(thread) > 1]
    for number, thread in enumerate(threads[:_PICTURES], start=1):
        yield _picture(number, thread, links)
    if len(threads) > _PICTURES:
        yield note(f"{counted(len(threads) - _PICTURES, 'more thread')} of events not drawn.")
    yield from _listed(events, page)


def _picture(number: int, thread: Sequence[Event], links: Sequence[Link]) -> str:
    latest = thread[-_DRAWN:]
    title = f"Thread {number}: {counted(len(thread), 'event')}, {thread[0].at:%Y-%m-%d} to {thread[-1].at:%Y-%m-%d}"
    # In a page, an SVG needs no namespace.
    drawn = timeline_picture(latest, links, title=title, format="svg").replace(
        ' xmlns="http://www.w3.org/2000/svg"', "", 1
    )
    left_out = f"; the latest {len(latest)} are drawn" if len(thread) > len(latest) else ""
    return f'<figure class="paper wide">{drawn}<figcaption>{title}{left_out}</figcaption></figure>'


def _listed(events: Sequence[Event], page: Page) -> Iterator[str]:
    yield f"<details><summary>All events as a list <small>{len(events):,}</small></summary><ol>"
    for event in reversed(events[-_LISTED:]):
        yield (
            f'<li>{when(event.at, clock=False)} <span dir="auto">{words(event.text)}</span>'
            f"{page.references(event.turn_ids)}</li>"
        )
    yield "</ol>"
    if len(events) > _LISTED:
        yield note(f"{counted(len(events) - _LISTED, 'earlier event')} left out.")
    yield "</details>"
