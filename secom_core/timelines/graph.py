"""One scope's events and links in memory: a directed graph from older to newer (Theanine eq. 1 to 5).

Components are kept by union-find. Every event also knows the oldest event that leads to it and how many paths come from
there; both follow from its direct predecessors alone. So adding the newest event costs what its own links cost, in a
graph of a thousand and of a hundred thousand.

How many paths lead on from an event to an end changes upstream of every new event. That is made up for when it is next
asked for, from the changes alone: upstream of them, as far as a count changes. A count past ``10 ** 17`` does not
change by one more path, which bounds the way, and puts a count wrong by at most a relative ``10 ** -16`` for each
change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import MAX_EMAX, Context, Decimal
from functools import reduce
from heapq import heappop, heappush
from typing import Final

from ..errors import InvalidInput
from ..times import EPOCH, MICROSECOND
from .records import Event, Link, Relation

ONE_PATH: Final = Decimal(1)
DIGITS: Final = Context(prec=17, Emax=MAX_EMAX)
"""How paths are counted, as they may be more than a float can hold: with 17 digits, whatever the size."""


def total(counts: Iterable[Decimal]) -> Decimal:
    """The sum; 0 of none. Exact up to ``10 ** 17``, from there on right to a relative ``10 ** -16`` an addition."""
    return reduce(DIGITS.add, counts, Decimal(0))


class _Node:
    """An event with its neighbours; parents lead to the root of its component."""

    __slots__ = ("down", "earlier", "event", "later", "order", "parent", "start", "up")

    def __init__(self, event: Event) -> None:
        self.event = event
        # Time and id as one whole number: zoned times are slow to compare.
        self.order = ((event.at - EPOCH) // MICROSECOND << 64) + event.id
        self.earlier: dict[_Node, Relation] = {}
        self.later: dict[_Node, Relation] = {}
        self.parent: _Node = self
        self.start: _Node = self
        self.up = self.down = ONE_PATH

    def root(self) -> _Node:
        """The one node that stands for its component."""
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
        self.up = total(node.up for node in self.earlier if node.start is self.start) or ONE_PATH
        return (self.start, self.up) != before

    def count_down(self) -> bool:
        """Count the paths on from its successors; whether that changed."""
        before = self.down
        self.down = total(node.down for node in self.later) or ONE_PATH
        return self.down != before


class MemoryGraph:
    """Events and the links between them. Calls must not overlap with a change.

    A link always runs from the older event to the newer one, by time and then by id; this order is total, so links
    cannot run in a circle whatever times they come with.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, _Node] = {}
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
        return [node.event for node in _in_order(self._nodes.values())]

    def links(self) -> list[Link]:
        """All links, by the order of the later event."""
        return [link for each in _in_order(self._nodes.values()) for link in self.links_to(each.event.id)]

    def links_to(self, event_id: int) -> list[Link]:
        """The links that lead to an event, in time order."""
        node = self._node(event_id)
        return [Link(each.event.id, event_id, node.earlier[each]) for each in _in_order(node.earlier)]

    def component_of(self, event_id: int) -> int:
        """A number that two events share if they are connected; good until the graph changes."""
        return self._node(event_id).root().event.id

    def component_before(self, event_id: int, until: Event | None, apart: frozenset[int]) -> int:
        """The same without those that are ``apart``, and among the events from before one alone where it is given.

        Costs the component.
        """

        def is_there(node: _Node) -> bool:
            return node.event.id not in apart and (until is None or node.event.order < until.order)

        return min(node.event.id for node in _members(self._node(event_id), is_there))

    def components(self) -> list[list[Event]]:
        """The events by component, each the oldest first; the component with the newest event first."""
        found: dict[int, list[Event]] = {}
        for event in self.events():
            found.setdefault(self.component_of(event.id), []).append(event)
        return sorted(found.values(), key=lambda events: events[-1].order, reverse=True)

    # -- paths ----------------------------------------------------------------------------------------------------

    def paths_to(self, event_id: int) -> Decimal:
        """How many paths lead to it from its start: the oldest event from which links lead to it, or itself.

        The start is the oldest event of the component (Theanine eq. 9) wherever that one leads here at all.
        """
        return self._node(event_id).up

    def paths_from(self, event_id: int) -> Decimal:
        """How many paths lead from it to an event with no link out."""
        self._recount()
        return self._node(event_id).down

    def steps_back(self, event_id: int) -> list[tuple[int, Decimal]]:
        """Where a path from its start may have come from, and how many come from there, in time order."""
        node = self._node(event_id)
        return [(each.event.id, each.up) for each in _in_order(node.earlier) if each.start is node.start]

    def steps_on(self, event_id: int) -> list[tuple[int, Decimal]]:
        """Where a path may go on, and how many go on there, in time order."""
        self._recount()
        return [(each.event.id, each.down) for each in _in_order(self._node(event_id).later)]

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
        _update([node, *node.later], forward=True)

    def extend(self, events: Iterable[Event], links: Iterable[Link]) -> None:
        """Add new events, by id, with those of the links whose ends are both there then; others are left out."""
        by_newer: dict[int, list[Link]] = {}
        for link in links:
            by_newer.setdefault(max(link.earlier, link.later), []).append(link)
        for event in sorted(events, key=lambda event: event.id):
            others = by_newer.get(event.id, ())
            self.add(event, [link for link in others if min(link.earlier, link.later) in self])

    def remove(self, event_id: int) -> None:
        """Take an event out with its links; costs the size of its component."""
        node = self._node(event_id)
        del self._nodes[event_id]
        before = self._cut_off(node)
        for each in node.later:
            del each.earlier[node]
        self._miscounted.discard(node)
        _settle([*before, *node.later])
        _update(node.later, forward=True)

    def relink(self, event_id: int, links: Iterable[Link]) -> None:
        """Give an event other links to earlier ones that are there; costs the size of its component.

        Args:
            event_id: the event.
            links: each from an earlier event to it; they take the place of those that led to it.
        """
        node = self._node(event_id)
        before = self._cut_off(node)
        _settle([node, *before])
        for link in links:
            self._connect(self._node(link.earlier), node, link.relation)
        _update([node], forward=True)

    def _cut_off(self, node: _Node) -> list[_Node]:
        """Take out the links that lead to a node; where they came from."""
        before = list(node.earlier)
        for each in before:
            del each.later[node]
        node.earlier = {}
        self._miscounted.update(before)
        return before

    def _node(self, event_id: int) -> _Node:
        node = self._nodes.get(event_id)
        if node is None:
            raise InvalidInput(f"no event {event_id!r} is in the graph")
        return node

    def _connect(self, one: _Node, other: _Node, relation: Relation) -> None:
        older, newer = (one, other) if one.order < other.order else (other, one)
        older.later[newer] = newer.earlier[older] = relation
        self._miscounted.add(older)
        newer.root().parent = older.root()

    def _recount(self) -> None:
        """Follow the changes since the last count upstream."""
        _update(self._miscounted, forward=False)
        self._miscounted = set()


def _in_order(nodes: Iterable[_Node]) -> list[_Node]:
    return sorted(nodes, key=lambda node: node.order)


def _update(changed: Iterable[_Node], *, forward: bool) -> None:
    """Bring nodes up to a change, in time order or against it, and on along the links as far as it makes a difference.

    Args:
        changed: nodes whose neighbours, on the side that they are counted from, have changed.
        forward: find starts downstream; else count paths upstream.
    """
    sign = 1 if forward else -1
    queued = {sign * node.order: node for node in changed}
    heap = sorted(queued)
    while heap:
        node = queued[heappop(heap)]
        if node.find_start() if forward else node.count_down():
            for each in node.later if forward else node.earlier:
                order = sign * each.order
                if order not in queued:
                    queued[order] = each
                    heappush(heap, order)


def _other_end(link: Link, event_id: int) -> int:
    if (link.earlier == event_id) == (link.later == event_id):
        raise InvalidInput(f"a link of event {event_id} has it at one end, got {link}")
    return link.later if link.earlier == event_id else link.earlier


def _settle(nodes: Iterable[_Node]) -> None:
    """Make components anew of nodes that may be connected no more."""
    settled: set[_Node] = set()
    for each in nodes:
        if each not in settled:
            settled |= _new_component(each)


def _new_component(node: _Node) -> set[_Node]:
    """Make a component of the node and all that links lead to, either way; its members."""
    members = _members(node, lambda _: True)
    for each in members:
        each.parent = node
    return members


def _members(node: _Node, is_there: Callable[[_Node], bool]) -> set[_Node]:
    """The node and all that links lead to, either way, over such as are there."""
    members, ahead = {node}, [node]
    while ahead:
        each = ahead.pop()
        around = {other for other in (*each.earlier, *each.later) if is_there(other)} - members
        members |= around
        ahead += around
    return members
