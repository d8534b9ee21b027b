"""Replies judged by a language model, as procedures for `secom_core.llm.flow`.

A judgement that cannot be read is asked for once more; a second one raises `BadReply`: a measure is never made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from secom_core.errors import ModelError
from secom_core.llm.flow import Procedure
from secom_core.llm.retry import all_asked_twice, asked_twice

from .judge_prompt import (
    comparison_prompt,
    correctness_prompt,
    read_comparison,
    read_correctness,
    read_score,
    score_prompt,
)

__all__ = ["Comparison", "comparison", "correctness", "score", "unless_failed"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two replies compared in both orders, as a judge may favour the one that it is shown first.

    Args:
        shown_first: how much better the first reply is where it is shown first: 1, 0.5, -0.5 or -1; 0 where a judge
            may find neither better.
        shown_second: the same where it is shown second.
    """

    shown_first: float
    shown_second: float

    @property
    def preference(self) -> float:
        """The mean of both orders, from -1 (the second reply) to 1 (the first)."""
        return (self.shown_first + self.shown_second) / 2

    @property
    def agrees(self) -> bool:
        """Whether both orders favour the same reply; else the place decided, and it counts as a draw."""
        return self.shown_first * self.shown_second > 0

    @property
    def winner(self) -> int:
        """1 or 2, or 0 for a draw."""
        return (1 if self.preference > 0 else 2) if self.agrees else 0


def score(reply: str, *, context: str = "", known: str = "") -> Procedure[int]:
    """A score from 1 to 100, in one call (RSum section 5.2, Table 16).

    Args:
        reply: what is judged.
        context: the conversation that it ends.
        known: what is known about the speakers.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    return (yield from asked_twice(partial(score_prompt, reply, context=context, known=known), read_score))


def comparison(first: str, second: str, *, context: str = "", known: str = "") -> Procedure[Comparison]:
    """Which reply is better, asked in both orders together (RSum section 5.2, Table 17).

    Args:
        first: a reply.
        second: another reply.
        context: the conversation that they end.
        known: what is known about the speakers.

    Raises:
        ModelError: no answer, or two judgements of one order that cannot be read.
    """
    orders = ((first, second), (second, first))
    asks = [partial(comparison_prompt, *order, context=context, known=known) for order in orders]
    one, other = unless_failed((yield from all_asked_twice(asks, [read_comparison] * 2)))
    return Comparison(one, -other)


def correctness(question: str, reference: str, answer: str) -> Procedure[bool]:
    """Whether an answer agrees with the reference, in one call (Theanine Figure 29).

    Args:
        question: what was asked.
        reference: the right answer.
        answer: what is judged.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    return (yield from asked_twice(partial(correctness_prompt, question, reference, answer), read_correctness))


def unless_failed(found: Sequence[T | ModelError]) -> list[T]:
    """What was found, if all of it was.

    Raises:
        ModelError: the first of those that are left.
    """
    for each in found:
        if isinstance(each, ModelError):
            raise each
    return [each for each in found if not isinstance(each, ModelError)]
