"""A recall that leaves out the question that is being asked: stored already, it would be the best match for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..conversation import Turn
from ..memory import Recall
from ..text.speech import only_asks
from .bank import MemoryBank


def recalled(
    bank: MemoryBank,
    scope: Sequence[str],
    query: str,
    *,
    asked: Iterable[str] = (),
    exclude: Collection[str] = (),
    **options: Any,
) -> Recall:
    """What a bank recalls, without turns that hold nothing but the question, unanswered.

    Args:
        bank: where it searches.
        scope: whose memory it is.
        query: what is looked for.
        asked: what the user has just said, in other words maybe.
        exclude: ids of turns that are left out too.
        options: of the recall.
    """
    recall = bank.recall(scope, query, exclude=exclude, **options)
    questions = {each.strip() for each in (query, *asked) if only_asks(each)}
    found = {turn.id for hit in recall.hits for turn in hit.turns if _only_asks(turn, questions)} if questions else ()
    return bank.recall(scope, query, exclude={*exclude, *found}, **options) if found else recall


def _only_asks(turn: Turn, questions: Collection[str]) -> bool:
    """Whether a turn is one of these questions, and nobody has answered."""
    [first, *others] = turn.messages
    return not others and first.role in ("user", "human") and first.text.strip() in questions
