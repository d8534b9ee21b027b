"""What is kept and what is found: segments, memories, events and timelines, hits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from itertools import pairwise
from typing import Any, Literal

from .conversation import Turn
from .errors import InvalidInput

__all__ = [
    "Decision",
    "DenseDocument",
    "DocumentPlace",
    "Event",
    "Hit",
    "Link",
    "Memory",
    "Recall",
    "Relation",
    "Segment",
    "Summary",
    "Timeline",
    "Topic",
    "TopicVersion",
    "boundaries_of",
    "check_partition",
    "segments_from",
]


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A half-open range of turns ``[start, stop)`` in one session (SeCom eq. 1, with ``q_k = stop - 1``)."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise InvalidInput(f"a segment needs 0 <= start < stop, got [{self.start}, {self.stop})")

    def __len__(self) -> int:
        return self.stop - self.start


def check_partition(segments: Sequence[Segment], turns: int) -> list[Segment]:
    """Return ``segments`` as a list if they cover ``turns`` turns in order with no gap and no overlap.

    Raises:
        InvalidInput: naming the first place where they do not.
    """
    expected = 0
    for segment in segments:
        if segment.start != expected:
            raise InvalidInput(f"a segment should start at turn {expected}, got [{segment.start}, {segment.stop})")
        expected = segment.stop
    if expected != turns:
        raise InvalidInput(f"segments end at turn {expected}, the session has {turns}")
    return list(segments)


def segments_from(boundaries: Iterable[int], turns: int) -> list[Segment]:
    """Segments from the turns after which one ends; ``turns`` is the session's length.

    Args:
        boundaries: indices ``i`` such that a segment ends after turn ``i``; the last turn may be left out.
        turns: how many turns there are; none give no segments.
    """
    if turns <= 0:
        return []
    stops = sorted({int(b) + 1 for b in boundaries if 0 <= b < turns - 1} | {turns})
    return [Segment(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def boundaries_of(segments: Sequence[Segment]) -> list[int]:
    """One 0 or 1 a turn: 1 where a segment ends after it; the last is always 0 (the data sets' convention)."""
    turns = segments[-1].stop if segments else 0
    ends = {segment.stop - 1 for segment in segments[:-1]}
    return [int(turn in ends) for turn in range(turns)]


@dataclass(frozen=True, slots=True)
class Memory:
    """A unit of the bank: a key that is searched and the verbatim turns that reach the prompt.

    Args:
        id: unique in its scope and stable while its turns are; ``"session#start-stop"``.
        key: what is searched (denoised).
        turns: the raw turns it points to, in order; those of a topic may be of several sessions.
        summary: what is shown before the turns, where the memory is a topic.
    """

    id: str
    key: str
    turns: tuple[Turn, ...]
    summary: str = ""

    @property
    def session(self) -> str:
        """The session its turns belong to."""
        return self.turns[0].session

    @property
    def value(self) -> str:
        """The verbatim turns with their speakers."""
        return "\n".join(turn.text for turn in self.turns)

    @property
    def begin(self) -> datetime | None:
        """When its first turn was said."""
        return self.turns[0].at

    @property
    def end(self) -> datetime | None:
        """When its last turn was said."""
        return self.turns[-1].at


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Which turn or memory a document of a vector store stands for.

    Args:
        kind: a turn's words, or a memory's key.
        session: the session's name.
        index: that of the turn, or of the memory's first turn.
    """

    kind: Literal["turn", "key"]
    session: str
    index: int


@dataclass(frozen=True, slots=True)
class DenseDocument:
    """A turn or a key, as it goes to a vector store (`secom_core.protocols.DenseStore`).

    Args:
        id: a UUID made of the scope, the place and the words: what has the same id is the same.
        text: what is embedded.
        scope: a label that stands for its scope, letters and digits; every search filters by it.
        place: which turn or memory it stands for.
        turn_id: the id of the turn, or of the memory's first.
    """

    id: str
    text: str
    scope: str
    place: DocumentPlace
    turn_id: str

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept beside the text; a search needs ``secom_scope`` only."""
        return {
            "secom_scope": self.scope,
            "secom_kind": self.place.kind,
            "secom_session": self.place.session,
            "secom_turn": self.turn_id,
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that answers a query, with the part of it that is shown.

    Args:
        memory: the whole memory.
        turns: the turns of it that are shown, in order; all of them unless the budget was short.
        score: higher is better.
        number: the number it is cited by, from 1, in time order.
        signals: what the score is made of, by name.
    """

    memory: Memory
    turns: tuple[Turn, ...]
    score: float
    number: int = 0
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def text(self) -> str:
        """The shown turns, verbatim, with their speakers."""
        return "\n".join(turn.text for turn in self.turns)

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The ids of the shown turns."""
        return tuple(turn.id for turn in self.turns)


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
        at: when its first turn was said; a time without a zone is read as UTC.
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
        number: the number it is cited by; 0 where it is not shown.
    """

    events: tuple[Event, ...]
    relations: tuple[Relation, ...]
    hits: tuple[int, ...] = ()
    text: str | None = None
    number: int = 0

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


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of a scope's summary.

    Args:
        version: its number, from 1.
        text: its sentences, a line each.
        session: the session that it took in.
        session_turn_ids: the turns of that session that it rests on.
        previous: the version that it was made from.
        provisional: a language model was to make it and failed; it is made anew when the next session closes.
    """

    version: int
    text: str
    session: str
    session_turn_ids: tuple[str, ...]
    previous: Summary | None = None
    provisional: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences, in order."""
        return tuple(self.text.splitlines())

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """All turns that it rests on: those of its session and of all versions before it."""
        chain: list[Summary] = []
        version: Summary | None = self
        while version is not None:
            chain.append(version)
            version = version.previous
        return tuple(id_ for each in reversed(chain) for id_ in each.session_turn_ids)


@dataclass(frozen=True, slots=True)
class TopicVersion:
    """A topic as one session left it (RMM section 5, memory update).

    Args:
        number: from 1.
        text: the topic's summary then.
        note: what the session added, in the words it had before it was merged; the summary itself in version 1.
        session: that session.
        turn_ids: the turns of that session that the note rests on, in order; never none.
        previous: the version that the note was merged into.
    """

    number: int
    text: str
    note: str
    session: str
    turn_ids: tuple[str, ...]
    previous: TopicVersion | None = None

    @property
    def chain(self) -> tuple[TopicVersion, ...]:
        """All versions up to this one, the oldest first."""
        found: list[TopicVersion] = []
        version: TopicVersion | None = self
        while version is not None:
            found.append(version)
            version = version.previous
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class Topic:
    """What somebody's sessions say about one thing: a summary and the turns that it rests on (RMM section 4).

    Args:
        id: unique in its bank; stays when the topic grows.
        speaker: whose topic it is.
        version: the latest; former ones are reached from it.
        turn_ids: all turns that it rests on, over all sessions, in time order.
    """

    id: int
    speaker: str
    version: TopicVersion
    turn_ids: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What it is about; the key by which it is found."""
        return self.version.text

    @property
    def versions(self) -> tuple[TopicVersion, ...]:
        """All versions, the oldest first."""
        return self.version.chain

    @property
    def sessions(self) -> tuple[str, ...]:
        """The sessions it rests on, each once, in the order in which they were merged."""
        return tuple(dict.fromkeys(each.session for each in self.versions))


@dataclass(frozen=True, slots=True)
class Decision:
    """What was shown where, and how likely that was: what is learned from, once an answer cites some of it.

    Args:
        id: its own, so that an answer counts once, however often it is taken in.
        numbers: what each memory was cited by, in the order in which they were shown.
        memory_ids: the memories.
        turn_ids: for each memory, its turns that were shown.
        signals: for each memory, those of its turns that were shown, by name.
        scores: of the memories, each by its best turn, under the weights of that moment.
        version: of these weights.
        at: when.
        epoch: of the scope, in a bank: another one means that something was forgotten since.
        draw: what `secom_core.reflection.Reranker` drew, where it chose; not kept in a log.
    """

    id: str
    numbers: tuple[int, ...]
    memory_ids: tuple[str, ...]
    turn_ids: tuple[tuple[str, ...], ...]
    signals: tuple[tuple[Mapping[str, float], ...], ...] = field(hash=False)
    scores: tuple[float, ...]
    version: int
    at: datetime
    epoch: int = 0
    draw: object = field(default=None, compare=False, repr=False)

    @property
    def propensities(self) -> tuple[float, ...]:
        """The chance of each memory to be drawn first among those shown, by the softmax of the scores.

        The best are shown and none is drawn, so this is no chance of being shown: it tells how sure the ranking was.
        """
        best = max(self.scores, default=0.0)
        odds = [math.exp(score - best) for score in self.scores]
        return tuple(each / sum(odds) for each in odds)

    def as_json(self) -> dict[str, Any]:
        """For a log; ids and numbers, no words."""
        return {
            "id": self.id,
            "numbers": list(self.numbers),
            "memory_ids": list(self.memory_ids),
            "turn_ids": [list(turns) for turns in self.turn_ids],
            "signals": [[dict(turn) for turn in memory] for memory in self.signals],
            "scores": list(self.scores),
            "version": self.version,
            "at": self.at.isoformat(),
            "epoch": self.epoch,
        }

    @classmethod
    def from_json(cls, read: Mapping[str, Any]) -> Decision:
        """What `as_json` gave."""
        return cls(
            str(read["id"]),
            tuple(read["numbers"]),
            tuple(read["memory_ids"]),
            tuple(tuple(turns) for turns in read["turn_ids"]),
            tuple(tuple(memory) for memory in read["signals"]),
            tuple(read["scores"]),
            int(read["version"]),
            datetime.fromisoformat(read["at"]),
            int(read["epoch"]),
        )


@dataclass(frozen=True, slots=True)
class Recall:
    """What a query brought back.

    Args:
        query: the query as asked.
        hits: in time order, numbered from 1.
        text: the hits as one numbered, dated block that quotes them as data; empty where there are none.
        tokens: the length of ``text`` in the bank's token counter.
        timelines: what led where, where timelines were asked for; numbered after the hits.
        summary: the running summary whose sentences ``text`` begins with, where it was asked for and there is one.
        shown: what is shown and why, for `MemoryBank.reward`; nothing where the bank does not learn.
    """

    query: str
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    timelines: tuple[Timeline, ...] = ()
    summary: Summary | None = None
    shown: Decision | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number that an answer may cite."""
        return (*(hit.number for hit in self.hits), *(timeline.number for timeline in self.timelines))

    @property
    def ranked(self) -> tuple[Hit, ...]:
        """The hits, best first."""
        return tuple(sorted(self.hits, key=lambda hit: (-hit.score, hit.number)))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn shown, in time order, each once."""
        return tuple({turn.id: turn for hit in self.hits for turn in hit.turns}.values())
