"""Which of the statements that a recall has found says the value that is asked for last; without a stored link.

Two people's words may tell a new value without saying that it is one ("45 sources" in May, "52 sources" in June). Then
nothing links them as they are remembered, but a question for the value ("How many sources are in my library?") says
that both speak of one thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ..conversation import NO_PEOPLE, Replacement, Turn
from ..text.wording import wording
from .cues import COMPARING, PLANNED, PLANS
from .linking import are_apart
from .notation import is_same
from .statements import Statement, heads_of, statements_of
from .store import when_of, who_of
from .values import Value, has_number

_LOOKED_AT: Final = 12
"""How many of the turns that were found are looked at, the best."""
_SHARE, _LEAST = 0.5, 2
"""Which share of the words of a question both statements hold, and how many of them at least."""
_AS_MUCH: Final = 0.7
"""How much the last statement has of the question's words, as a share of the one that has most."""
_UNIT, _WORD = 5, 3
"""How many letters of what is counted are compared, and how many a word has at least."""
_COUNT: Final = wording(
    "how many|wie viele|cuánt[oa]s|combien d[e']",
    anywhere="多少(?:个|次|本|篇|种|人)|几[个次本篇种人]|いくつ|何[個回人冊本]|몇",
)
_WHEN: Final = wording(
    r"""
    when|what (?:time|date|day)|which (?:date|day)|deadline|due
    wann|um wie viel uhr|welche[mnrs]? (?:tag|datum)|frist
    cuándo|a qué hora|qué (?:día|fecha)|plazo
    quand|à quelle heure|quel jour|quelle date|date limite|échéance
    """,
    anywhere="什么时候|几点|哪天|截止|いつ|何時|何日|締め切り|언제|마감",
)
_VALUE: Final = wording(
    r"""
    how (?:much|long|high|large|big|fast|old)|what|which
    wie (?:hoch|lange?|groß|teuer|viel|alt)|was|welche[rs]?
    cuánto|cuál|qué
    combien|quel(?:le)?s?
    """,
    anywhere="多少|多长|多大|什么|いくら|どのくらい|何|얼마",
)
_ASKING: Final = frozenset("hoch wann welch viel cuant cuand cual comb quand".split())
"""Head words that only ask, where the question is too short to show its language."""
_DONE: Final = wording(
    "did|was|were|had|hat(?:te)?|war|waren|fue|había|était|avait|ai-je|avons-nous", anywhere="了吗|过吗|ましたか|했"
)
"""A question about what happened: each time it happened has values of its own."""
_DAYS: Final = frozenset({"day", "time", "weekday"})


@dataclass(frozen=True, slots=True)
class _Said:
    turn: Turn
    place: int
    who: str
    statement: Statement

    @property
    def span(self) -> tuple[int, int, int]:
        return self.place, self.statement.start, self.statement.stop


def replaced_in(query: str, turns: Sequence[Turn]) -> list[Replacement]:
    """What of the turns tells a value that is asked for, and that a later one of them tells otherwise.

    Args:
        query: the question.
        turns: what was found for it, best first.

    Returns:
        A replacement of each such statement by the last one; none where no value is asked for, or of nothing in
        particular.
    """
    kind = next((rule for rule in (_COUNT, _WHEN, _VALUE) if rule.search(query)), None)
    words = frozenset(heads_of(query)) - _ASKING
    if kind is None or not words or COMPARING.search(query):
        return []
    best = islice({turn.id: turn for turn in turns}.values(), _LOOKED_AT)
    said = [each for turn in best for each in _said_in(turn, kind) if _is_about(each.statement, words)]
    said.sort(key=lambda each: (when_of(each.turn), each.turn.session, each.turn.index))
    of_plan = bool(PLANNED.search(query) or PLANS.search(query))
    needs_cue = bool(_DONE.search(query)) or (kind is _WHEN and not of_plan)
    most = max((_shared(each.statement, words) for each in said), default=0.0)
    found: list[Replacement] = []
    for place in range(len(said) - 1, 0, -1):
        last = said[place]
        if _shared(last.statement, words) < _AS_MUCH * most:
            continue
        told = [value for value in last.statement.values if _is_asked(value.sort, kind, words)]
        if len({value.value for value in told}) != 1 or (last.statement.is_planned and not of_plan):
            continue
        if needs_cue and not last.statement.cues & {"changed", "corrected"}:
            continue
        about = words & last.statement.heads.keys()
        found = [
            _replacement(each, last)
            for each in said[:place]
            if _differs(each, last, told[0]) and about <= each.statement.heads.keys()
        ]
        if found:
            break
    return found


def _said_in(turn: Turn, kind: re.Pattern[str]) -> Iterator[_Said]:
    for place, message in enumerate(turn.messages):
        if message.role not in NO_PEOPLE and (kind is _WHEN or has_number(message.text)):
            for each in statements_of(message.text):
                if each.values:
                    yield _Said(turn, place, who_of(message), each)


def _is_about(statement: Statement, words: frozenset[str]) -> bool:
    shared = len(words & statement.heads.keys())
    if len(words) < _LEAST:
        # "How much is the rent?" asks of no other rent, such as that of the garage.
        return words == statement.subject
    return shared >= max(_LEAST, _SHARE * len(words))


def _shared(statement: Statement, words: frozenset[str]) -> float:
    return sum(weight for head, weight in statement.heads.items() if head in words)


def _is_asked(sort: str, kind: re.Pattern[str], words: frozenset[str]) -> bool:
    """Whether values of a sort answer the question: of what is counted, the question names it."""
    if kind is _WHEN:
        return sort in _DAYS
    counts = sort.startswith("#") and len(sort) > 1
    if kind is _COUNT:
        return counts and any(_begin_alike(word, sort[1:]) for word in words)
    return counts or sort in ("money", "percent")


def _begin_alike(word: str, unit: str) -> bool:
    """Whether a word, without its ending, is what is counted."""
    return word.startswith(unit[:_UNIT]) or (len(word) >= _WORD and unit.startswith(word))


def _differs(older: _Said, last: _Said, value: Value) -> bool:
    """Whether an earlier statement of another turn, of the same person, tells another value of the sort."""
    one, other = older.statement, last.statement
    if older.turn is last.turn or older.who != last.who or one.owner != other.owner or one.is_other != other.is_other:
        return False
    shared = len(one.heads.keys() & other.heads.keys()) / max(1, min(len(one.heads), len(other.heads)))
    if are_apart(one, other, value.sort, shared):
        return False
    told = {each.value for each in one.values if each.sort == value.sort}
    return bool(told) and not any(is_same(value.value, each) for each in told)


def _replacement(older: _Said, last: _Said) -> Replacement:
    return Replacement(older.turn.id, last.turn.id, when_of(last.turn), "changed", older.span, last.span)
