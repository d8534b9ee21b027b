"""Finds as an outline: how each message of a user begins, before what else it says; and how the replies begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from ..conversation import USER_ROLES
from ..memory import Passage
from ..ranking import Candidate
from ..text.parts import line_spans
from ..text.terms import count_tokens

_LEAST: Final = 10
"""How many tokens a beginning has at least."""

_REPLIES, _LEAST_OF_REPLY = 12, 50
"""The replies of how many turns are shown to begin, the best; and how many tokens each beginning has at least."""


def outlined(*parts: Sequence[Candidate]) -> tuple[list[Candidate], list[list[Candidate]]]:
    """How the messages of users begin that were found, each once and in the order of the finds; and what is left.

    Args:
        parts: what was found, each part best first.

    Returns:
        The beginnings, and the parts without them.
    """
    begins: dict[tuple[str, int], Passage] = {}
    first: list[Candidate] = []
    left: list[list[Candidate]] = []
    for part in parts:
        left.append([])
        for each in part:
            passage = each.passage
            # Candidates without signals keep their order where they are packed.
            if passage is None and each.turn.messages[0].role in USER_ROLES:
                first.append(replace(each, signals={}))
            elif passage is None or passage.message.role not in USER_ROLES:
                left[-1].append(each)
            else:
                place = passage.turn.id, passage.place
                if place not in begins:
                    begins[place] = _beginning(passage)
                    first.append(replace(each, signals={}, passage=begins[place], tokens=0, narrower=()))
                left[-1] += _after(each, passage, begins[place].stop)
    return first, left


def begun_replies(found: Sequence[Candidate]) -> list[Candidate]:
    """How the replies begin in the turns of the best finds, in the order of the finds."""
    best: dict[str, Candidate] = {}
    for each in found:
        best.setdefault(each.turn.id, each)
    begun: list[Candidate] = []
    for each in islice(best.values(), _REPLIES):
        replies = [place for place, said in enumerate(each.turn.messages) if said.role not in USER_ROLES and said.text]
        if replies:
            passage = _beginning(Passage(each.turn, replies[0], 0, 0), _LEAST_OF_REPLY)
            begun.append(replace(each, signals={}, passage=passage, tokens=0, narrower=()))
    return begun


def _beginning(passage: Passage, least: int = _LEAST) -> Passage:
    """The first sentence of the message that a passage is of; a short one with the next."""
    text = passage.message.text
    ends = [stop for _, stop in line_spans(text, 0, len(text))]
    stop = next((each for each in ends if count_tokens(text[:each]) >= least), len(text))
    return replace(passage, start=0, stop=stop)


def _after(found: Candidate, passage: Passage, stop: int) -> list[Candidate]:
    """What a passage says after this place, if anything."""
    if passage.start >= stop:
        return [found]
    if passage.stop <= stop:
        return []
    return [replace(found, passage=replace(passage, start=stop), tokens=0, narrower=())]
