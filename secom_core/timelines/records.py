"""Events of closed sessions, the links between them, and timelines along the links (Theanine, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from itertools import pairwise

from ..errors import InvalidInput


class Relation(str, Enum):
    """How an earlier event stands to a later one (Theanine, appendix B.1)."""

    CHANGED = "Changed"
    CAUSE = "Cause"
    REASON = "Reason"
    HINDERED_BY = "HinderedBy"
    REACT = "React"
    WANT = "Want"
    SAME_TOPIC = "SameTopic"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a closed session tells of, with the time of its telling (Theanine eq. 3).

    Args:
        id: unique in its bank; grows with every event made.
        text: what happened, in a sentence or two; the words of the conversation where no language model wrote it.
        at: when its first turn was said, where the paper has the time at which the event was written down: a session
            that is imported or closed late keeps its place. A time without a zone is read as UTC.
        session: the session that tells of it.
        turn_ids: the turns that it rests on, in order; never none.
    """

    id: int
    text: str
    at: datetime
    session: str
    turn_ids: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            object.__setattr__(self, "at", self.at.replace(tzinfo=timezone.utc))

    @property
    def order(self) -> tuple[datetime, int]:
        """Its place among all events: by time, then by id, so that no two are equal and no link runs in a circle."""
        return self.at, self.id


@dataclass(frozen=True, slots=True)
class Link:
    """A directed edge from an earlier event to a later one (Theanine eq. 4), by their ids."""

    earlier: int
    later: int
    relation: Relation


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events that lead from one to the next, oldest first (Theanine eq. 10).

    Args:
        events: one or more, each linked to the next.
        relations: between each event and the next; one fewer than there are events.
        hits: the ids of the events that the query found, for whose sake it is shown.
        text: the timeline rewritten for the current dialogue (Theanine eq. 11), where a language model did.
    """

    events: tuple[Event, ...]
    relations: tuple[Relation, ...]
    hits: tuple[int, ...] = ()
    text: str | None = None

    def __post_init__(self) -> None:
        if not self.events or len(self.relations) != len(self.events) - 1:
            raise InvalidInput(
                f"a timeline needs events and one relation between each two, got {len(self.events)} events and "
                f"{len(self.relations)} relations"
            )

    @property
    def links(self) -> tuple[Link, ...]:
        """The relations as links."""
        steps = zip(pairwise(self.events), self.relations, strict=True)
        return tuple(Link(earlier.id, later.id, relation) for (earlier, later), relation in steps)

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The turns that it rests on, in order, each once."""
        return tuple(dict.fromkeys(turn_id for event in self.events for turn_id in event.turn_ids))
