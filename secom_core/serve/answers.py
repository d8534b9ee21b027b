"""What each call gives: plain values for JSON, of these shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import NotRequired, TypedDict

from ..archive.export import message_record
from ..conversation import Turn
from ..corrections.records import Mark
from ..memory import Hit, Memory, Passage, Recall, Section, segments_of
from ..times import iso_text


class TurnAnswer(TypedDict):
    """A turn, word for word, and what was done with it by hand."""

    id: str
    session: str
    index: int
    at: str | None
    messages: list[dict[str, Any]]
    marks: NotRequired[list[dict[str, Any]]]


class Span(TypedDict):
    """A part of a message that is shown: of which turn and message, and from which character to which."""

    turn_id: str
    message: int
    start: int
    stop: int


class Replaced(TypedDict):
    """That a turn holds no more: since when, why, and which turn holds in its place."""

    turn_id: str
    newer: str | None
    at: str | None
    kind: str


class HitAnswer(TypedDict):
    """A memory that a recall brings back."""

    number: int
    kind: str
    relevance: float
    session: str
    scope: list[str]
    memory: str
    turn_ids: list[str]
    excerpts: list[Span]
    turns: list[TurnAnswer]
    replaced: list[Replaced]
    repeats: dict[str, int]
    score: NotRequired[float]
    signals: NotRequired[dict[str, float]]


class SectionAnswer(TypedDict):
    """What a layer adds to the block."""

    layer: str
    heading: str
    entries: list[str]
    numbers: list[int]
    turn_ids: list[list[str]]


class RecallAnswer(TypedDict):
    """What a query brings back: the block for the prompt, and the memories in it."""

    text: str
    tokens: int
    confidence: float
    hits: list[HitAnswer]
    sections: list[SectionAnswer]


class RememberAnswer(TypedDict):
    """What was taken in: the turns that hold the messages, how many messages were new, which sessions ended."""

    turn_ids: list[str]
    new: int
    ended: list[str]


class SegmentAnswer(TypedDict):
    """A run of turns on one subject, as positions in its session."""

    id: str
    start: int
    stop: int
    turn_ids: list[str]


class SessionRow(TypedDict):
    """A session in a list."""

    name: str
    begin: str | None
    end: str | None
    turns: int
    segments: int


class SessionsAnswer(TypedDict):
    """A part of the list of sessions, the latest first, and how many there are."""

    sessions: list[SessionRow]
    total: int


class SessionAnswer(TypedDict):
    """A session with its turns and segments."""

    name: str
    turns: list[TurnAnswer]
    segments: list[SegmentAnswer]


class TurnsAnswer(TypedDict):
    """Turns that were asked for by their ids."""

    turns: list[TurnAnswer]


class CorrectAnswer(TypedDict):
    """The turn that holds now; null where the other one was taken back."""

    turn_id: str | None


class ForgetAnswer(TypedDict):
    """How many turns are gone."""

    forgotten: int


class StatsAnswer(TypedDict):
    """How much the scope holds, and which layers a recall may name."""

    scope: list[str]
    sessions: int
    turns: int
    messages: int
    memories: int
    vectors: int
    layers: list[str]
    writes: bool


class ErrorDetail(TypedDict):
    """What went wrong: a word for programs, a sentence for people."""

    code: str
    message: str


class ErrorAnswer(TypedDict):
    """The body of every answer that is an error."""

    error: ErrorDetail


def turn_answer(turn: Turn, marks: Mapping[str, Sequence[Mark]] | None = None) -> TurnAnswer:
    """A turn, with its marks where they are given."""
    messages = [message_record(message) for message in turn.messages]
    answer = TurnAnswer(id=turn.id, session=turn.session, index=turn.index, at=iso_text(turn.at), messages=messages)
    if marks is not None:
        answer["marks"] = [mark.as_json for mark in marks.get(turn.id, ())]
    return answer


def segment_answers(turns: Sequence[Turn], memories: Sequence[Memory]) -> list[SegmentAnswer]:
    """The segments of a session."""
    return [
        SegmentAnswer(
            id=memory.id,
            start=cut.start,
            stop=cut.stop,
            turn_ids=[turn.id for turn in turns[cut.start : cut.stop]],
        )
        for memory, cut in zip(memories, segments_of(memories), strict=True)
    ]


def recall_answer(recall: Recall, *, explain: bool) -> RecallAnswer:
    """What a query brought back; with each hit's score and signals where they are to be explained."""
    return RecallAnswer(
        text=recall.text,
        tokens=recall.tokens,
        confidence=recall.confidence,
        hits=[_hit_answer(hit, explain=explain) for hit in recall.hits],
        sections=[_section_answer(section) for section in recall.sections],
    )


def _hit_answer(hit: Hit, *, explain: bool) -> HitAnswer:
    answer = HitAnswer(
        number=hit.number,
        kind=hit.kind,
        relevance=hit.relevance,
        session=hit.memory.session,
        scope=list(hit.scope),
        memory=hit.memory.id,
        turn_ids=list(hit.turn_ids),
        excerpts=[_span(each) for each in hit.excerpts],
        turns=[turn_answer(turn) for turn in hit.turns],
        replaced=[
            Replaced(turn_id=turn_id, newer=each.newer, at=iso_text(each.at), kind=each.kind)
            for turn_id, replacements in hit.replaced.items()
            for each in replacements
        ],
        repeats=dict(hit.repeats),
    )
    if explain:
        answer["score"], answer["signals"] = hit.score, {name: float(value) for name, value in hit.signals.items()}
    return answer


def _span(passage: Passage) -> Span:
    return Span(turn_id=passage.turn.id, message=passage.place, start=passage.start, stop=passage.stop)


def _section_answer(section: Section) -> SectionAnswer:
    return SectionAnswer(
        layer=section.layer,
        heading=section.heading,
        entries=list(section.entries),
        numbers=list(section.numbers),
        turn_ids=[list(turn_ids) for turn_ids in section.turn_ids],
    )
