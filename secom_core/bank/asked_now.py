"""A recall that leaves out the question that is being asked: stored already, it would be the best match for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import takewhile
from typing import Any, Final

from ..conversation import USER_ROLES, Scope, Turn, check_scope
from ..memory import Recall
from ..stores.database import waiting_at_most
from ..text.speech import only_asks
from ..times import in_zone, present
from .answers import ANSWER_WAITS_S
from .bank import MemoryBank

_AT_WORK: Final = timedelta(minutes=10)
"""For how long an agent may be at work on an answer."""
_LATEST: Final = 8
"""How many turns at the end of a session may be one question that was asked again and again."""


@waiting_at_most(ANSWER_WAITS_S)
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

    Where something followed, in a dialogue of several users for example, that may be the answer. Somebody waits for
    the answer that the recall is for, so that it waits for a locked store no longer than a second.

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


def answered_now(bank: MemoryBank, scope: Scope, recall: Recall) -> list[str]:
    """The turns of a recall that only ask, and that an agent may be answering: nothing followed, minutes ago.

    For who searches on behalf of an agent, and is not told what the user has just said.

    Args:
        bank: where it was searched.
        scope: whose memory it is.
        recall: what was found.
    """
    found = {turn.id: turn for hit in recall.hits if hit.scope == scope for turn in hit.turns if _is_asked_now(turn)}
    last = (
        turn for session in {each.session for each in found.values()} for turn in bank.turns(scope, session, last=1)
    )
    return [turn.id for turn in last if turn.id in found and _only_asks(turn, [turn.messages[0].text.strip()])]


def _is_asked_now(turn: Turn) -> bool:
    is_new = turn.at is not None and present(None) - in_zone(turn.at, None) < _AT_WORK
    return is_new and only_asks(turn.messages[0].text)


def _ways_stored(bank: MemoryBank, question: str) -> Iterator[str]:
    """A question as it was asked, and as it is stored where something is taken out of what is stored."""
    yield question.strip()
    with suppress(Exception):  # a text that is refused is stored nowhere
        yield bank._inside.redacted(question).strip()


def _only_asks(turn: Turn, questions: Collection[str]) -> bool:
    """Whether a turn is one of these questions, and nobody has answered."""
    [first, *others] = turn.messages
    return not others and first.role in USER_ROLES and first.text.strip() in questions
