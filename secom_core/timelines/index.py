"""A scope's events in memory: the graph of their links, and what finds them by words and vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..derived.scope_states import ScopeState
from ..indexes.texts import TextIndex
from ..protocols import Vectors
from .graph import MemoryGraph
from .linking import Associate
from .records import Link
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

    def drop(self, session_id: int, ids: Sequence[int]) -> None:
        """Take events of a session out."""
        for event_id in ids:
            self.graph.remove(event_id)
            del self.of_session[session_id][event_id]
        self.texts.remove(ids)

    def associates(self, unit: str, vector: Vectors | None, k: int, *, apart: frozenset[int]) -> list[Associate]:
        """The ``k`` events most similar to a new one, but those that are ``apart`` (Theanine Phase I-1)."""
        by_vector = vector is not None and self.texts.has_vectors
        near = [each for each in self.texts.similar(unit, vector, k + len(apart)) if each[0] not in apart][:k]
        return [
            Associate(self.graph.event(id_), similarity, self.graph.component_of(id_), by_vector=by_vector)
            for id_, similarity in near
        ]
