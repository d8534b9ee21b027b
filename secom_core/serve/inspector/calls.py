"""What the inspector asks for beside the API: explanations, names of segments, what holds, and what would be gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...bank import MemoryBank
from ...changes.records import SUPERSEDES, Change
from ...conversation import Scope, Turn
from ...errors import InvalidInput
from ...text.matching import query_terms
from ...timelines.graph import MemoryGraph
from ...timelines.records import Event, Link
from ...times import iso_text
from .. import operations
from .. import requests as asked
from ..answers import Span, TurnAnswer, recall_answer, turn_answer
from ..grants import Grant
from . import answers as given
from .reasons import why

_THREADS: Final = 20
_LISTED: Final = 200
_OPENINGS: Final = 3
_OPENING: Final = 160


class Pin(asked.Call):
    """Pin a turn, or unpin it."""

    turn_id: asked.Text
    pinned: bool


class Undo(asked.Call):
    """Let a turn hold again that was corrected or taken back."""

    turn_id: asked.Text


def explained(bank: MemoryBank, grant: Grant, call: asked.Recall) -> given.ExplainedAnswer:
    """What a query brings back, and why."""
    recall = operations.recalled(bank, grant, call)
    wanted = query_terms(call.query, (message.text for turn in recall.turns for message in turn.messages))
    reasons = [why(hit, bank.weights_of(hit), wanted) for hit in recall.hits]
    return given.ExplainedAnswer(recall=recall_answer(recall, explain=True), why=reasons)


def sessions(bank: MemoryBank, grant: Grant, call: asked.Page) -> given.NamedSessionsAnswer:
    """A part of the list of sessions, with the telling words of their segments."""
    page = operations.sessions(bank, grant, call)
    rows = [given.NamedSessionRow(**row, names=_names(bank, grant.scope, row["name"])) for row in page["sessions"]]
    return given.NamedSessionsAnswer(sessions=rows, total=page["total"])


def session(bank: MemoryBank, grant: Grant, call: asked.Session) -> given.NamedSessionAnswer:
    """A session, with the telling words of its segments."""
    found = operations.session(bank, grant, call)
    return given.NamedSessionAnswer(session=found, names=_names(bank, grant.scope, call.name))


def _names(bank: MemoryBank, scope: Scope, session: str) -> list[list[str]]:
    return [list(words) for words in bank.segment_names(scope, session)]


def standing(bank: MemoryBank, grant: Grant, call: asked.Nothing) -> given.StandingAnswer:
    """What holds, what is pinned, and what was replaced."""
    scope = grant.scope
    changes = _changes(bank, scope)
    marks = bank.corrections.marks(scope)
    wanted = {*(mark.turn_id for mark in marks), *(mark.newer for mark in marks if mark.newer)}
    wanted |= {turn_id for each in changes or () for turn_id in (each.older, each.newer)}
    turns = _Turns(bank, grant, wanted)
    replaced = [*_by_hand(turns, bank, scope), *_found(turns, changes or ())]
    statements = bank.standing(scope)
    return given.StandingAnswer(
        statements=[
            given.StatementAnswer(
                kind=each.kind,
                turn=turn_answer(each.passage.turn, turns.marks),
                span=_span(each.passage.turn.id, each.passage.place, each.passage.start, each.passage.stop),
            )
            for each in statements[:_LISTED]
        ],
        pinned=[turn for mark in marks if mark.kind == "pinned" and (turn := turns.of(mark.turn_id)) is not None],
        replaced=sorted(replaced, key=lambda each: each["at"] or "", reverse=True)[:_LISTED],
        finds_changes=changes is not None,
    )


class _Turns:
    """Turns by their ids, as answers with their marks."""

    def __init__(self, bank: MemoryBank, grant: Grant, wanted: set[str]) -> None:
        self.marks = operations.marks_by_turn(bank, grant.scope)
        found = bank.turns(grant.scope, turn_ids=sorted(wanted)) if wanted else []
        self._known = {turn.id: turn_answer(turn, self.marks) for turn in found}

    def of(self, turn_id: str | None) -> TurnAnswer | None:
        """The turn; nothing where it is gone."""
        return self._known.get(turn_id or "")


def _changes(bank: MemoryBank, scope: Scope) -> list[Change] | None:
    """What was said to have changed; nothing where the bank does not look for that."""
    try:
        return [each for each in bank.changes(scope) if each.kind in SUPERSEDES]
    except InvalidInput:
        return None


def _by_hand(turns: _Turns, bank: MemoryBank, scope: Scope) -> Iterator[given.ReplacedAnswer]:
    for mark in bank.corrections.marks(scope):
        older = turns.of(mark.turn_id)
        if mark.kind != "pinned" and older is not None:
            yield given.ReplacedAnswer(
                kind=mark.kind,
                at=iso_text(mark.at),
                by="hand",
                older=older,
                newer=turns.of(mark.newer),
                older_span=_span(mark.turn_id, *mark.span) if mark.span is not None else None,
                newer_span=None,
            )


def _found(turns: _Turns, changes: Sequence[Change]) -> Iterator[given.ReplacedAnswer]:
    for each in changes:
        older, newer = turns.of(each.older), turns.of(each.newer)
        if older is not None and newer is not None:
            yield given.ReplacedAnswer(
                kind=each.kind,
                at=iso_text(each.at),
                by=each.by,
                older=older,
                newer=newer,
                older_span=_span(older["id"], *each.older_span),
                newer_span=_span(newer["id"], *each.newer_span),
            )


def _span(turn_id: str, message: int, start: int, stop: int) -> Span:
    return Span(turn_id=turn_id, message=message, start=start, stop=stop)


def made(bank: MemoryBank, grant: Grant, call: asked.Nothing) -> given.MadeAnswer:
    """What layers have made of closed sessions."""
    scope, layers = grant.scope, [name for name, layer in bank.layers.items() if layer.takes_in_sessions]
    events, links = (bank.timelines.events(scope), bank.timelines.links(scope)) if "timelines" in layers else ([], [])
    graph = MemoryGraph()
    graph.extend(events, links)
    threads = [thread for thread in graph.components() if len(thread) > 1]
    longest = sorted(threads, key=len, reverse=True)[:_THREADS]
    return given.MadeAnswer(
        layers=layers,
        waiting={name: bank.layers.behind(scope, name) for name in layers},
        by_model=bank.layers.has_model,
        summary=_summary(bank, scope) if "summaries" in layers else None,
        topics=_topics(bank, scope) if "topics" in layers else [],
        threads=[_thread(thread, links) for thread in longest],
        single=len(events) - sum(map(len, threads)),
    )


def _summary(bank: MemoryBank, scope: Scope) -> given.SummaryAnswer | None:
    latest = bank.summaries.latest(scope)
    if latest is None:
        return None
    return given.SummaryAnswer(version=latest.version, sentences=list(latest.sentences), session=latest.session)


def _topics(bank: MemoryBank, scope: Scope) -> list[given.TopicAnswer]:
    return [
        given.TopicAnswer(
            id=topic.id,
            speaker=topic.speaker,
            summary=topic.summary,
            sessions=list(topic.sessions),
            turn_ids=list(topic.turn_ids),
        )
        for topic in bank.topics.all(scope)[-_LISTED:]
    ]


def _thread(thread: Sequence[Event], links: Sequence[Link]) -> given.ThreadAnswer:
    inside = {event.id for event in thread}
    steps = [
        given.StepAnswer(earlier=link.earlier, later=link.later, relation=link.relation.value)
        for link in links
        if link.later in inside
    ]
    return given.ThreadAnswer(events=[_event(each) for each in thread], steps=steps)


def _event(event: Event) -> given.EventAnswer:
    return given.EventAnswer(
        id=event.id, text=event.text, at=iso_text(event.at), session=event.session, turn_ids=list(event.turn_ids)
    )


def doomed(bank: MemoryBank, grant: Grant, call: asked.Forget) -> given.DoomedAnswer:
    """What `operations.forget` would delete with the same arguments."""
    operations.check_writes(grant)
    turns = bank.would_forget(grant.scope, session=call.session, turn_ids=call.turn_ids, before=call.before)
    moments = [turn.at for turn in turns if turn.at is not None]
    return given.DoomedAnswer(
        turns=len(turns),
        messages=sum(len(turn.messages) for turn in turns),
        characters=sum(len(message.text) for turn in turns for message in turn.messages),
        sessions=list(dict.fromkeys(turn.session for turn in turns)),
        begin=iso_text(min(moments, default=None)),
        end=iso_text(max(moments, default=None)),
        openings=[turn.messages[0].line[:_OPENING] for turn in turns[:_OPENINGS]],
        made=_resting_on(bank, grant.scope, turns, all_=call.all),
    )


def _resting_on(bank: MemoryBank, scope: Scope, turns: Sequence[Turn], *, all_: bool) -> dict[str, int]:
    """How much of what was made rests on turns, by what it is."""
    ids = {turn.id for turn in turns}
    rests: dict[str, int] = {"segments": bank.stats(scope).memories if all_ else _segments(bank, scope, turns)}
    if "timelines" in bank.layers:
        rests["events"] = sum(not ids.isdisjoint(event.turn_ids) for event in bank.timelines.events(scope))
    if "topics" in bank.layers:
        rests["topics"] = sum(not ids.isdisjoint(topic.turn_ids) for topic in bank.topics.all(scope))
    return rests


def _segments(bank: MemoryBank, scope: Scope, turns: Sequence[Turn]) -> int:
    ids = {turn.id for turn in turns}
    sessions = dict.fromkeys(turn.session for turn in turns)
    memories = (memory for name in sessions for memory in bank.memories(scope, name))
    return sum(any(turn.id in ids for turn in memory.turns) for memory in memories)


def pin(bank: MemoryBank, grant: Grant, call: Pin) -> given.DoneAnswer:
    """Have every recall show a turn, or no more."""
    operations.check_writes(grant)
    operations.check_there(bank, grant.scope, [call.turn_id])
    (bank.corrections.pin if call.pinned else bank.corrections.unpin)(grant.scope, call.turn_id)
    return _done(bank, grant.scope, call.turn_id)


def undo(bank: MemoryBank, grant: Grant, call: Undo) -> given.DoneAnswer:
    """Let a turn hold again that was corrected or taken back."""
    operations.check_writes(grant)
    operations.check_there(bank, grant.scope, [call.turn_id])
    bank.corrections.undo(grant.scope, call.turn_id)
    return _done(bank, grant.scope, call.turn_id)


def _done(bank: MemoryBank, scope: Scope, turn_id: str) -> given.DoneAnswer:
    marks = operations.marks_by_turn(bank, scope).get(turn_id, ())
    return given.DoneAnswer(marks=[mark.as_json for mark in marks])
