"""What the calls of the inspector give: plain values for JSON, of these shapes."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from ..answers import RecallAnswer, SessionAnswer, SessionRow, Span, TurnAnswer
from .reasons import WhyAnswer


class ExplainedAnswer(TypedDict):
    """What a query brings back, and for each hit, in the same order, why."""

    recall: RecallAnswer
    why: list[WhyAnswer]


class NamedSessionRow(SessionRow):
    """A session in a list, with the telling words of each segment."""

    names: list[list[str]]


class NamedSessionsAnswer(TypedDict):
    """A part of the list of sessions, the latest first, and how many there are."""

    sessions: list[NamedSessionRow]
    total: int


class NamedSessionAnswer(TypedDict):
    """A session, with the telling words of each of its segments in the same order."""

    session: SessionAnswer
    names: list[list[str]]


class StatementAnswer(TypedDict):
    """What the user has said that holds whatever is asked: where, and of which kind."""

    kind: str
    turn: TurnAnswer
    span: Span


class ReplacedAnswer(TypedDict):
    """That a turn holds no more: what holds in its place, since when, and who found that."""

    kind: str
    at: str | None
    by: str
    older: TurnAnswer
    newer: TurnAnswer | None
    older_span: Span | None
    newer_span: Span | None


class StandingAnswer(TypedDict):
    """What holds, what is pinned, what was replaced (the latest first), and whether changes are looked for at all."""

    statements: list[StatementAnswer]
    pinned: list[TurnAnswer]
    replaced: list[ReplacedAnswer]
    finds_changes: bool


class EventAnswer(TypedDict):
    """Something that a session tells of."""

    id: int
    text: str
    at: str | None
    session: str
    turn_ids: list[str]


class StepAnswer(TypedDict):
    """How an earlier event stands to a later one."""

    earlier: int
    later: int
    relation: str


class ThreadAnswer(TypedDict):
    """Events that are linked, the earliest first."""

    events: list[EventAnswer]
    steps: list[StepAnswer]


class SummaryAnswer(TypedDict):
    """The running summary as it is."""

    version: int
    sentences: list[str]
    session: str


class TopicAnswer(TypedDict):
    """What somebody's sessions say about one thing."""

    id: int
    speaker: str
    summary: str
    sessions: list[str]
    turn_ids: list[str]


class MadeAnswer(TypedDict):
    """What was made of closed sessions, by the layers that the server has.

    ``waiting`` says of each layer how many closed sessions are not in it yet, and ``by_model`` whether a language model
    makes them. ``threads`` are the longest first, ``single`` is how many events are linked to none.
    """

    layers: list[str]
    waiting: dict[str, int]
    by_model: bool
    summary: SummaryAnswer | None
    topics: list[TopicAnswer]
    threads: list[ThreadAnswer]
    single: int


class DoomedAnswer(TypedDict):
    """What would be gone: how much, of which sessions, from when to when, and how the first few turns begin.

    ``made`` counts what else rests on these turns, by what it is.
    """

    turns: int
    messages: int
    characters: int
    sessions: list[str]
    begin: str | None
    end: str | None
    openings: list[str]
    made: dict[str, int]


class DoneAnswer(TypedDict):
    """The marks of the turn after the call."""

    marks: list[dict[str, Any]]
