"""What each call does to the bank: functions of the bank, the caller's grant and the checked arguments.

The scope is always the grant's. No argument names one, but for ``also`` of a recall, which the grant has to allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ..bank import BackgroundWriter, MemoryBank
from ..bank.answers import ANSWER_WAITS_S
from ..bank.corrections import WrittenBy
from ..conversation import Scope, check_scope
from ..corrections.records import Mark
from ..errors import InvalidInput, SecomError, shorten
from ..layers import names_taking_part
from ..memory import Recall as Recalled
from ..memory import RecallOptions
from ..readers import read_messages
from ..stores.database import waiting_at_most
from ..times import in_zone, iso_text
from . import requests as asked
from .answers import (
    CorrectAnswer,
    ForgetAnswer,
    RecallAnswer,
    RememberAnswer,
    SessionAnswer,
    SessionRow,
    SessionsAnswer,
    StatsAnswer,
    TurnsAnswer,
    recall_answer,
    segment_answers,
    turn_answer,
)
from .grants import Grant

_SHOWN: Final = 3


class NotAllowed(SecomError):
    """The caller's token does not allow what is asked."""


class NotThere(SecomError):
    """The scope holds nothing of that name."""


def check_writes(grant: Grant) -> None:
    """Refuse a caller who may only read.

    Raises:
        NotAllowed: the token may not write.
    """
    if not grant.writes:
        raise NotAllowed(f"the token {grant.name!r} may only read; ask for one that may write")


def remember(writer: BackgroundWriter, grant: Grant, call: asked.Remember) -> RememberAnswer:
    """Take in messages: when this returns they are on disk. Segments, keys and vectors follow in the background."""
    check_writes(grant)
    said = read_messages(call.messages, timezone=writer.bank.timezone)
    at, expires = _told(call.at, writer.bank), _told(call.expires, writer.bank)
    done = writer.remember(grant.scope, said, session=call.session, at=at, close=call.close, expires=expires)
    return RememberAnswer(turn_ids=list(done.turn_ids), new=done.new, ended=list(done.ended))


def _told(at: datetime | None, bank: MemoryBank) -> datetime | None:
    """A time of a call; one without an offset is told by the clocks of the users."""
    return None if at is None else in_zone(at, bank.timezone)


def recalled(bank: MemoryBank, grant: Grant, call: asked.Recall) -> Recalled:
    """What answers the query, from the caller's scope and those it may search beside it."""
    _check_layers(bank, call.layers)
    options = RecallOptions(
        token_budget=call.token_budget,
        k=call.k,
        layers=call.layers,
        only_relevant=call.only_relevant,
        where=call.where,
        also=_also(grant, call.also),
        history=call.history,
    )
    now = _told(call.now, bank)
    # Somebody waits for the answer: what cannot be indexed while another program writes is found all the same.
    with waiting_at_most(ANSWER_WAITS_S):
        return bank.recall(
            grant.scope, call.query, now=now, exclude=call.exclude, context=call.context, **options.arguments
        )


def _check_layers(bank: MemoryBank, named: Sequence[str]) -> None:
    """Say to whoever calls a server how it would have a layer that there is."""
    for name in names_taking_part():
        if name in named and name not in bank.layers:
            raise InvalidInput(
                f'layers: this server makes no {name}; start it with layers = ["{name}"] in its secom.toml, or with '
                f"SECOM_LAYERS={name}"
            )


def _also(grant: Grant, named: Sequence[Sequence[str]]) -> list[Scope]:
    scopes = [check_scope(each) for each in named]
    for scope in scopes:
        if scope not in grant.also:
            raise NotAllowed(f"also names the scope {shorten(scope)}, which the token {grant.name!r} does not allow")
    return scopes


def recall(bank: MemoryBank, grant: Grant, call: asked.Recall) -> RecallAnswer:
    """The block for the prompt, and the memories in it."""
    return recall_answer(recalled(bank, grant, call), explain=call.explain)


def sessions(bank: MemoryBank, grant: Grant, call: asked.Page) -> SessionsAnswer:
    """A part of the list of sessions, that with the latest last message first."""
    names = bank.sessions(grant.scope, latest_first=True)
    wanted = names[call.offset : call.offset + call.limit]
    rows = (_session_row(bank, grant.scope, name) for name in wanted)
    return SessionsAnswer(sessions=[row for row in rows if row is not None], total=len(names))


def _session_row(bank: MemoryBank, scope: Scope, name: str) -> SessionRow | None:
    turns = bank.turns(scope, name)
    if not turns:
        # It was forgotten while the list was made.
        return None
    segments = len(bank.memories(scope, name))
    return SessionRow(
        name=name, begin=iso_text(turns[0].at), end=iso_text(turns[-1].at), turns=len(turns), segments=segments
    )


def session(bank: MemoryBank, grant: Grant, call: asked.Session) -> SessionAnswer:
    """A session with its turns, what was done with each by hand, and its segments."""
    memories, turns = bank.memories(grant.scope, call.name), bank.turns(grant.scope, call.name)
    if not turns:
        raise NotThere(f"there is no session {shorten(call.name)}; /v1/sessions lists those that there are")
    marks = marks_by_turn(bank, grant.scope)
    # Turns that came since the segments were made are in none of them yet.
    segments = segment_answers(turns, memories)
    return SessionAnswer(name=call.name, turns=[turn_answer(turn, marks) for turn in turns], segments=segments)


def marks_by_turn(bank: MemoryBank, scope: Scope) -> dict[str, list[Mark]]:
    """What was done with turns by hand, by their ids."""
    found: dict[str, list[Mark]] = {}
    for mark in bank.corrections.marks(scope):
        found.setdefault(mark.turn_id, []).append(mark)
    return found


def turns(bank: MemoryBank, grant: Grant, call: asked.Turns) -> TurnsAnswer:
    """Turns by their ids; those that are not there are left out."""
    marks = marks_by_turn(bank, grant.scope)
    found = bank.turns(grant.scope, turn_ids=call.id)
    return TurnsAnswer(turns=[turn_answer(turn, marks) for turn in found])


def correct(bank: MemoryBank, grant: Grant, call: asked.Correct, *, by: WrittenBy = "user") -> CorrectAnswer:
    """Put something in a turn's place, or take the turn back."""
    check_writes(grant)
    check_there(bank, grant.scope, [call.turn_id])
    return CorrectAnswer(turn_id=bank.correct(grant.scope, call.turn_id, call.text, by=by))


def check_there(bank: MemoryBank, scope: Scope, turn_ids: Sequence[str]) -> None:
    """Refuse turns that the scope does not hold.

    Raises:
        NotThere: none of them is there.
    """
    if not bank.turns(scope, turn_ids=turn_ids):
        named = ", ".join(map(repr, turn_ids[:_SHOWN]))
        raise NotThere(f"there is no turn {named}; a recall gives the ids of the turns that it shows")


def forget(bank: MemoryBank, grant: Grant, call: asked.Forget) -> ForgetAnswer:
    """Delete turns and all that was made from them."""
    check_writes(grant)
    before = _told(call.before, bank)
    gone = bank.forget(grant.scope, session=call.session, turn_ids=call.turn_ids, before=before)
    return ForgetAnswer(forgotten=gone)


def stats(bank: MemoryBank, grant: Grant, call: asked.Nothing) -> StatsAnswer:
    """How much the scope holds, and what the caller may do."""
    layers = [name for name in names_taking_part() if name in bank.layers]
    held = bank.stats(grant.scope)
    return StatsAnswer(
        scope=list(grant.scope),
        sessions=held.sessions,
        turns=held.turns,
        messages=held.messages,
        memories=held.memories,
        vectors=held.vectors,
        layers=layers,
        writes=grant.writes,
    )


def check_number(messages: int, most: int) -> None:
    """Refuse more messages than a call may bring.

    Raises:
        InvalidInput: there are too many.
    """
    if messages > most:
        raise InvalidInput(f"messages: {messages:,} in one call, and {most:,} are allowed; send them in several calls")
