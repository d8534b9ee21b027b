"""Which lines a language model is shown of a session, and which earlier ones may be about the same things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, select

from ..conversation import NO_PEOPLE, Turn
from ..stores.rows import SessionRow
from ..text.terms import count_tokens, sentence_spans
from .records import Said
from .statements import statements_of
from .store import found_by, said_in, seen, turns_at, weight_of, when_of, who_of
from .tables import changes

NEW: Final = 60
"""How many lines of a session are shown at most: those that share most with what was said before."""
EARLIER: Final = 24
"""How many earlier lines are shown at most."""
_EACH: Final = 3
"""How many earlier turns are looked for beside each new one, at most."""
_LONG: Final = 60
"""From how many tokens on, of an earlier message only what it is found by is shown."""

Place = tuple[int, int]
"""The id of a session, and the index of a turn in it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message as it is shown.

    Args:
        session_id: the id of its session.
        turn: its turn's index there.
        place: which message of the turn.
        who: who said it; empty for the user of an assistant.
        label: the same in words.
        at: when.
        text: its words.
        shown: those that are shown.
    """

    session_id: int
    turn: int
    place: int
    who: str
    label: str
    at: datetime | None
    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a session.

    Args:
        earlier: lines of what was said before, in the order in which it was said.
        new: lines of the session.
        linked: which of them the rules have linked: the numbers of the later and the earlier one, from 1 on.
    """

    earlier: tuple[Line, ...]
    new: tuple[Line, ...]
    linked: tuple[tuple[int, int], ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """All of them, as they are numbered."""
        return self.earlier + self.new


def shown_of(connection: Connection, session: SessionRow, turns: Sequence[Turn]) -> Shown | None:
    """What is shown of a session's turns; nothing where none of them can say what became of an earlier statement.

    Earlier turns are found by their head words, as the rules find them (`secom_core.changes.store`), and those that the
    rules have linked come first.

    Args:
        connection: a transaction.
        session: the session.
        turns: those that are new.
    """
    said = {turn.index: list(said_in(session.id, turn)) for turn in turns}
    telling = [turn for turn in turns if said[turn.index]]
    found = {turn.index: _found(connection, session, turn, said[turn.index]) for turn in telling}
    linked = _linked(connection, session, {turn.index for turn in telling})
    telling = _best(telling, found, linked)
    inside = {(session.id, turn.index) for turn in telling}
    wanted = _wanted(found, linked, inside, {turn.index for turn in telling})
    known = turns_at(connection, session.scope_id, wanted)
    words = {head for turn in telling for head in _heads(said[turn.index])}
    known.sort(key=lambda pair: (when_of(pair[1]), pair[0], pair[1].index))
    earlier = tuple(line for session_id, turn in known for line in _lines(session_id, turn, words))
    new = tuple(line for turn in telling for line in _lines(session.id, turn))
    may_tell = earlier or any(each.statement.cues for turn in telling for each in said[turn.index])
    if not new or len(earlier) + len(new) < 2 or not may_tell:
        return None
    return Shown(earlier, new, tuple(_pairs(session.id, linked, earlier + new)))


def _found(connection: Connection, session: SessionRow, turn: Turn, said: Sequence[Said]) -> dict[Place, float]:
    """The earlier turns that share most with what a turn states, with how much."""
    shared: dict[Place, float] = {}
    for head in sorted(_heads(said)):
        places = seen(connection, session.scope_id, head)
        for place in places:
            shared[place] = shared.get(place, 0.0) + weight_of(len(places))
    before = {
        (session_id, each.index)
        for session_id, each in turns_at(connection, session.scope_id, shared)
        if (when_of(each), session_id, each.index) < (when_of(turn), session.id, turn.index)
    }
    best = sorted(before, key=lambda place: (-shared[place], (-place[0], -place[1])))
    return {place: shared[place] for place in best[:_EACH]}


def _heads(said: Iterable[Said]) -> set[str]:
    return {head for each in said for head in found_by(each.statement)}


def _linked(connection: Connection, session: SessionRow, turns: set[int]) -> list[tuple[int, Place]]:
    """The turns of the session that the rules have linked to earlier ones, each with the earlier one."""
    mine = select(changes.c.turn, changes.c.older_session_id, changes.c.older_turn).where(
        changes.c.session_id == session.id
    )
    rows = connection.execute(mine.order_by(changes.c.id)).all()
    return [(row.turn, (row.older_session_id, row.older_turn)) for row in rows if row.turn in turns]


def _best(
    telling: Sequence[Turn], found: dict[int, dict[Place, float]], linked: Sequence[tuple[int, Place]]
) -> list[Turn]:
    """The turns that are shown, in order: those that the rules have linked, then those that share most."""
    by_rules = {turn for turn, _ in linked}
    ranked = sorted(
        telling, key=lambda turn: (turn.index not in by_rules, -max(found[turn.index].values(), default=0.0))
    )
    return sorted(ranked[:NEW], key=lambda turn: turn.index)


def _wanted(
    found: dict[int, dict[Place, float]], linked: Sequence[tuple[int, Place]], inside: set[Place], turns: set[int]
) -> list[Place]:
    """The earlier turns that are shown: those that the rules have linked, then those that share most."""
    shared: dict[Place, float] = {}
    for turn in turns:
        for place, score in found[turn].items():
            shared[place] = max(score, shared.get(place, 0.0))
    by_rules = [place for turn, place in linked if turn in turns]
    ranked = [*by_rules, *sorted(shared, key=lambda place: (-shared[place], place))]
    return [place for place in dict.fromkeys(ranked) if place not in inside][:EARLIER]


def _lines(session_id: int, turn: Turn, words: set[str] | None = None) -> Iterator[Line]:
    """The lines of a turn; of a long message the sentences that hold one of the words, where they are given."""
    for place, message in enumerate(turn.messages):
        if message.role not in NO_PEOPLE and message.text.strip():
            shown = message.text if words is None else _excerpt(message.text, words)
            yield Line(session_id, turn.index, place, who_of(message), message.label, turn.at, message.text, shown)


def _excerpt(text: str, words: set[str]) -> str:
    if count_tokens(text) <= _LONG:
        return text
    hits = [each for each in statements_of(text) if not words.isdisjoint(found_by(each))]
    spans = [(a, b) for a, b in sentence_spans(text) if any(a < each.stop and each.start < b for each in hits)]
    return " ".join(text[start:stop].strip() for start, stop in spans) or text


def _pairs(session_id: int, linked: Sequence[tuple[int, Place]], lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """The numbers of the lines that the rules have linked."""
    numbers: dict[Place, int] = {}
    for number, line in enumerate(lines, start=1):
        numbers.setdefault((line.session_id, line.turn), number)
    pairs = ((numbers.get((session_id, turn)), numbers.get(place)) for turn, place in dict.fromkeys(linked))
    yield from ((new, old) for new, old in pairs if new is not None and old is not None)
