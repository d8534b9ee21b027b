"""A recall that leaves out the question that is being asked: stored already, it would be the best match for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, Final

from ..conversation import USER_ROLES, Turn, check_scope
from ..memory import Recall
from ..text.speech import only_asks
from .bank import MemoryBank

_LATEST: Final = 8
"""How many turns at the end of a session may be one question that was asked again and again."""


def recalled(
    bank: MemoryBank,
    scope: Sequence[str],
    query: str,
    *,
    asked: Iterable[str] = (),
    exclude: Collection[str] = (),
    **options: Any,
) -> Recall:
    """What a bank recalls, without the question that ends its session: nobody has answered, and nothing followed.

    Where something followed, in a dialogue of several users for example, that may be the answer.

    Args:
        bank: where it searches.
        scope: whose memory it is.
        query: what is looked for.
        asked: what the user has just said, in other words maybe.
        exclude: ids of turns that are left out too.
        options: of the recall.
    """
    recall = bank.recall(scope, query, exclude=exclude, **options)
    questions = {way for each in (query, *asked) if only_asks(each) for way in _ways_stored(bank, each)}
    if not questions:
        return recall
    mine = check_scope(scope)
    found = {turn.id: turn for hit in recall.hits if hit.scope == mine for turn in hit.turns}
    sessions = {turn.session for turn in found.values() if _only_asks(turn, questions)}
    # A filter may have left an answer out of what was found.
    ends = (reversed(bank.turns(scope, session, last=_LATEST)) for session in sessions)
    waiting = {turn.id for end in ends for turn in takewhile(lambda turn: _only_asks(turn, questions), end)}
    if waiting.isdisjoint(found):
        return recall
    return bank.recall(scope, query, exclude={*exclude, *waiting}, **options)


def _ways_stored(bank: MemoryBank, question: str) -> Iterator[str]:
    """A question as it was asked, and as it is stored where something is taken out of what is stored."""
    yield question.strip()
    with suppress(Exception):  # a text that is refused is stored nowhere
        yield bank._inside.redacted(question).strip()


def _only_asks(turn: Turn, questions: Collection[str]) -> bool:
    """Whether a turn is one of these questions, and nobody has answered."""
    [first, *others] = turn.messages
    return not others and first.role in USER_ROLES and first.text.strip() in questions
