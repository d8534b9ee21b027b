"""Turns in which an assistant called tools: what it answered comes before what it did to find that out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..conversation import Message, Turn
from .candidate import Candidate
from .speaking import KINDS, PROGRAMS, REPLY

_PREFERRED: Final = 0.5
"""How much more an answer is worth than what it rests on: as much as it takes to be chosen before a result of a third
of its length."""


def working(turn: Turn) -> set[int]:
    """The places of messages that are a call of a tool, a result, or what the assistant said between them.

    A result after which nothing was said is the answer.
    """
    results = (place for place, message in enumerate(turn.messages) if message.role in PROGRAMS)
    answer = min(max(results, default=-1) + 1, len(turn.messages) - 1)
    return {place for place, message in enumerate(turn.messages[:answer]) if _is_reply(message)}


def _is_reply(message: Message) -> bool:
    return KINDS.get(message.role, REPLY) == REPLY


def answers_first(found: Sequence[Candidate]) -> list[Candidate]:
    """What was found, with the best of each answer worth more than the calls and the results that it rests on.

    Args:
        found: best first.
    """
    places: dict[str, set[int]] = {}
    first: dict[str, Candidate] = {}
    answers: dict[str, Candidate] = {}
    for each in found:
        if each.passage is None or not _is_reply(each.passage.message):
            continue
        turn = each.turn.id
        if turn not in places:
            places[turn] = working(each.turn)
        (first if each.passage.place in places[turn] else answers).setdefault(turn, each)
    raised: dict[int, Candidate] = {}
    for turn, best in first.items():
        answer, score = answers.get(turn), best.score + _PREFERRED
        if answer is not None and answer.score < score:
            raised[id(answer)] = replace(answer, score=score, relevance=max(answer.relevance, best.relevance))
    if not raised:
        return list(found)
    return sorted((raised.get(id(each), each) for each in found), key=lambda each: -each.score)
