"""One scope's events and links in memory: a directed graph from older to newer (Theanine eq. 1 to 5).

Components are kept by union-find, with the oldest and the newest member of each. Every event also knows the oldest
event that leads to it and how many paths come from there; both follow from its direct predecessors alone. So adding
the newest event costs what its own links cost, in a graph of a thousand and of a hundred thousand.

How many paths lead on from an event to an end changes upstream of every new event. That is made up for when it is next
asked for, from the changes alone: upstream of them, as far as a count changes. A count past ``2 ** 53`` does not change
by one more path, which bounds the way, and puts a count wrong by at most a relative ``2 ** -53`` for each change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from heapq import heapify, heappop, heappush
from typing import Final

from ..errors import InvalidInput
from ..memory import Event, Link, Relation
from .counts import ONE_PATH, Count, total

__all__ = ["MemoryGraph"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND: Final = timedelta(microseconds=1)


class _Node:
    """An event with its neighbours. What describes a component holds at the component's root only."""

    __slots__ = (
        "down",
        "earlier",
        "event",
        "later",
        "newest",
        "oldest",
        "order",
        "parent",
        "size",
        "start",
        "up",
    )

    def __init__(self, event: Event) -> None:
        self.event = event
        # As whole numbers: zoned times are slow to compare.
        self.order = (event.at - _EPOCH) // _MICROSECOND, event.id
        self.earlier: dict[_Node, Relation] = {}
        self.later: dict[_Node, Relation] = {}
        self.start: _Node = self
        self.up: Count = ONE_PATH
        self.down: Count = ONE_PATH
        self.alone()

    def alone(self) -> None:
        """Make it the root of a component of its own."""
        self.parent: _Node = self
        self.size = 1
        self.oldest: _Node = self
        self.newest: _Node = self

    @property
    def age(self) -> tuple[int, int]:
        """Its place among all events, newest first."""
        return -self.order[0], -self.order[1]

    def root(self) -> _Node:
        node = self
        while node.parent is not node:
            node.parent = node.parent.parent
            node = node.parent
        return node

    def find_start(self) -> bool:
        """Set where it starts and over how many paths, from its predecessors; whether that changed."""
        before = self.start, self.up
        self.start = min((node.start for node in self.earlier), key=lambda node: node.order, default=self)
        # Whatever leads here through a predecessor leads to the predecessor: its own start can be no older.
        arriving = (node.up for node in self.earlier if node.start is self.start)
        self.up = total(arriving) if self.earlier else ONE_PATH
        return (self.start, self.up) != before

    def count_down(self) -> bool:
        """Count the paths on from its successors; whether that changed."""
        before = self.down
        self.down = total([node.down for node in self.later]) if self.later else ONE_PATH
        return self.down != before


class MemoryGraph:
    """Events and the links between them. Calls must not overlap with a change.

    A link always runs from the older event to the newer one, by time and then by id; this order is total, so links
    cannot run in a circle whatever times they come with.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, _Node] = {}
        self._links = 0
        self._miscounted: set[_Node] = set()

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, event_id: int) -> bool:
        return event_id in self._nodes

    # -- look -----------------------------------------------------------------------------------------------------

    def event(self, event_id: int) -> Event:
        """The event of that id.

        Raises:
            InvalidInput: where there is none; so does every method that is given an id.
        """
        return self._node(event_id).event

    def events(self) -> list[Event]:
        """All events, oldest first."""
        return sorted((node.event for node in self._nodes.values()), key=lambda event: event.order)

    def links(self, among: Iterable[int] | None = None) -> list[Link]:
        """All links, or those that leave the events ``among``, by the order of the later event."""
        nodes = list(self._nodes.values()) if among is None else [self._node(each) for each in among]
        found = [(later, node, relation) for node in nodes for later, relation in node.later.items()]
        found.sort(key=lambda each: (each[0].order, each[1].order))
        return [Link(node.event.id, later.event.id, relation) for later, node, relation in found]

    @property
    def link_count(self) -> int:
        """How many links there are."""
        return self._links

    def earlier(self, event_id: int) -> Mapping[int, Relation]:
        """The events with a link to this one, and the relations."""
        return {node.event.id: relation for node, relation in self._node(event_id).earlier.items()}

    def later(self, event_id: int) -> Mapping[int, Relation]:
        """The events that this one has a link to, and the relations."""
        return {node.event.id: relation for node, relation in self._node(event_id).later.items()}

    def component(self, event_id: int) -> list[int]:
        """The ids of its connected component, oldest first; costs the component's size."""
        return [node.event.id for node in sorted(_reached(self._node(event_id)), key=lambda node: node.order)]

    def component_of(self, event_id: int) -> int:
        """A number that two events share if they are connected; good until the graph changes."""
        return self._node(event_id).root().event.id

    def component_size(self, event_id: int) -> int:
        """How many events its component has."""
        return self._node(event_id).root().size

    def oldest(self, event_id: int) -> int:
        """The oldest event of its component (Theanine eq. 9)."""
        return self._node(event_id).root().oldest.event.id

    def newest(self, event_id: int) -> int:
        """The newest event of its component."""
        return self._node(event_id).root().newest.event.id

    # -- paths ----------------------------------------------------------------------------------------------------

    def start(self, event_id: int) -> int:
        """The oldest event from which links lead to this one; itself where none does.

        It is the oldest of the component wherever that one leads here at all.
        """
        return self._node(event_id).start.event.id

    def paths_to(self, event_id: int) -> Count:
        """How many paths lead from its `start` to it."""
        return self._node(event_id).up

    def paths_from(self, event_id: int) -> Count:
        """How many paths lead from it to an event with no link out."""
        self._recount()
        return self._node(event_id).down

    def steps_back(self, event_id: int) -> list[tuple[int, Count]]:
        """Where a path from its `start` may have come from, and how many come from there, in time order."""
        node = self._node(event_id)
        found = sorted((each for each in node.earlier if each.start is node.start), key=lambda each: each.order)
        return [(each.event.id, each.up) for each in found]

    def steps_on(self, event_id: int) -> list[tuple[int, Count]]:
        """Where a path may go on, and how many go on there, in time order."""
        self._recount()
        found = sorted(self._node(event_id).later, key=lambda each: each.order)
        return [(each.event.id, each.down) for each in found]

    def relation(self, earlier: int, later: int) -> Relation:
        """The relation of a link.

        Raises:
            InvalidInput: where there is no such link.
        """
        found = self._node(later).earlier.get(self._node(earlier))
        if found is None:
            raise InvalidInput(f"no link leads from event {earlier} to event {later}")
        return found

    # -- change ---------------------------------------------------------------------------------------------------

    def add(self, event: Event, links: Iterable[Link] = ()) -> None:
        """Add an event with its links to events that are there; costs what its links cost if it is the newest.

        Args:
            event: a new one.
            links: each with the event at one end; it is turned round where its times say so.

        Raises:
            InvalidInput: for an event that is there already, or a link with another end that is not; nothing changes.
        """
        if event.id in self._nodes:
            raise InvalidInput(f"event {event.id} is in the graph already")
        others = {_other_end(link, event.id): link.relation for link in links}
        found = [(self._node(other), relation) for other, relation in sorted(others.items())]
        node = _Node(event)
        self._nodes[event.id] = node
        for other, relation in found:
            self._connect(node, other, relation)
        self._find_starts([node])

    def remove(self, event_id: int) -> None:
        """Take an event out with its links; costs the size of its component."""
        node = self._node(event_id)
        del self._nodes[event_id]
        self._links -= len(node.earlier) + len(node.later)
        around, after = [*node.earlier, *node.later], list(node.later)
        for each in node.earlier:
            del each.later[node]
        for each in node.later:
            del each.earlier[node]
        self._miscounted.discard(node)
        self._miscounted.update(node.earlier)
        settled: set[_Node] = set()
        for each in around:
            if each not in settled:
                settled |= _new_component(each)
        self._find_starts(after)

    def _node(self, event_id: int) -> _Node:
        node = self._nodes.get(event_id)
        if node is None:
            raise InvalidInput(f"no event {event_id!r} is in the graph")
        return node

    def _connect(self, one: _Node, other: _Node, relation: Relation) -> None:
        older, newer = (one, other) if one.order < other.order else (other, one)
        older.later[newer] = newer.earlier[older] = relation
        self._links += 1
        self._miscounted.add(older)
        _join(older.root(), newer.root())

    def _find_starts(self, nodes: Iterable[_Node]) -> None:
        """Follow a change downstream, in time order, as far as it makes a difference."""
        queued = set(nodes)
        heap = [(*node.order, node) for node in queued]
        heapify(heap)
        first = True
        while heap:
            *_, node = heappop(heap)
            if node.find_start() or first:
                for each in node.later:
                    if each not in queued:
                        queued.add(each)
                        heappush(heap, (*each.order, each))
            first = False

    def _recount(self) -> None:
        """Follow the changes since the last count upstream, newest first, as far as they make a difference."""
        queued, self._miscounted = self._miscounted, set()
        if 2 * len(queued) > len(self._nodes):
            # After loading, a heap would only cost time.
            for node in sorted(self._nodes.values(), key=lambda node: node.order, reverse=True):
                node.count_down()
            return
        heap = [(*node.age, node) for node in queued]
        heapify(heap)
        while heap:
            node = heappop(heap)[-1]
            if node.count_down():
                for each in node.earlier:
                    if each not in queued:
                        queued.add(each)
                        heappush(heap, (*each.age, each))


def _other_end(link: Link, event_id: int) -> int:
    if (link.earlier == event_id) == (link.later == event_id):
        raise InvalidInput(f"a link of event {event_id} has it at one end, got {link}")
    return link.later if link.earlier == event_id else link.earlier


def _join(one: _Node, other: _Node) -> None:
    if one is other:
        return
    large, small = (one, other) if one.size >= other.size else (other, one)
    small.parent = large
    large.size += small.size
    large.oldest = min(large.oldest, small.oldest, key=lambda node: node.order)
    large.newest = max(large.newest, small.newest, key=lambda node: node.order)


def _reached(node: _Node) -> set[_Node]:
    """The node and all that links lead to, either way."""
    seen, ahead = {node}, [node]
    while ahead:
        for each in _around(ahead.pop()):
            if each not in seen:
                seen.add(each)
                ahead.append(each)
    return seen


def _around(node: _Node) -> Iterator[_Node]:
    yield from node.earlier
    yield from node.later


def _new_component(node: _Node) -> set[_Node]:
    members = _reached(node)
    for each in members:
        each.parent = node
    node.alone()
    node.size = len(members)
    node.oldest = min(members, key=lambda each: each.order)
    node.newest = max(members, key=lambda each: each.order)
    return members
