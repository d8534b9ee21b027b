"""A scope's events in memory: the graph of their links, and what finds them by words and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..derived.scope_states import ScopeState
from ..indexes.texts import TextIndex
from ..protocols import Vectors
from .graph import MemoryGraph
from .linking import Associate
from .records import Event, Link
from .store import EventRow


@dataclass
class EventIndex(ScopeState):
    """The events of a scope, as far as they have followed the store."""

    graph: MemoryGraph = field(default_factory=MemoryGraph)
    texts: TextIndex = field(default_factory=TextIndex)
    of_session: dict[int, dict[int, EventRow]] = field(default_factory=dict)

    def put(self, rows: Sequence[EventRow], units: Sequence[str], links: Iterable[Link]) -> None:
        """Add events with their links, see `MemoryGraph.extend`; ``units`` are the texts that they are found by.

        A link to an event that is not at hand is passed over: what was damaged in the store was set aside.
        """
        known = {row.event.id for row in rows}
        at_hand = [
            link for link in links if all(end in known or end in self.graph for end in (link.earlier, link.later))
        ]
        self.graph.extend([row.event for row in rows], at_hand)
        for row in rows:
            self.of_session.setdefault(row.session_id, {})[row.event.id] = row
        self.texts.add([row.event.id for row in rows], units)

    def relink(self, ids: Iterable[int], links: Iterable[Link]) -> None:
        """Bring the links that lead to these events up to ``links``."""
        leading: dict[int, list[Link]] = {id_: [] for id_ in ids}
        for link in links:
            if link.later in leading and link.earlier in self.graph:
                leading[link.later].append(link)
        for id_, wanted in leading.items():
            if set(wanted) != set(self.graph.links_to(id_)):
                self.graph.relink(id_, wanted)

    def drop(self, session_id: int, ids: Sequence[int]) -> None:
        """Take events of a session out."""
        for event_id in ids:
            self.graph.remove(event_id)
            del self.of_session[session_id][event_id]
        self.texts.remove(ids)

    def associates(
        self, unit: str, vector: Vectors | None, k: int, *, apart: frozenset[int], until: Event | None = None
    ) -> list[Associate]:
        """The ``k`` events most similar to one, but those that are ``apart`` (Theanine Phase I-1).

        Args:
            unit: what it is compared by.
            vector: its vector, where there is one.
            k: how many.
            apart: the ids of the events of its own session.
            until: only events from before this one.
        """
        by_vector = vector is not None and self.texts.has_vectors
        count = k + len(apart) if until is None else len(self.graph)
        near = [each for each in self.texts.similar(unit, vector, count) if each[0] not in apart]
        near = [each for each in near if until is None or self.graph.event(each[0]).order < until.order][:k]
        return [
            Associate(self.graph.event(id_), similarity, self._component(id_, until, apart), by_vector=by_vector)
            for id_, similarity in near
        ]

    def _component(self, event_id: int, until: Event | None, apart: frozenset[int]) -> int:
        if until is None and not apart:
            return self.graph.component_of(event_id)
        return self.graph.component_before(event_id, until, apart)
