"""The dialogue as the query: what was said just before weighs in, the nearest most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..conversation import Message
from ..text.intents import leans
from ..text.kept import KEPT, Kept
from ..text.people import is_of_another, names_people, without_people
from ..text.terms import terms

_LOOKED_AT: Final = 6
"""How many messages before the query are looked at."""

_LEANING: Final = (0.6, 0.4)
_STANDING_ALONE: Final = (0.1, 0.05)
"""What the words of the last user's message and of the last reply weigh beside those of a query that cannot be read
alone, and beside those of one that can."""

LEANT_ON: Final = 0.3
"""From which weight on the query cannot be read without a text."""

_FADING: Final = 0.5
"""How much less an exchange weighs than the one after it."""


# What was said before one query was said before the next few.
_leans: Final[Kept[str, bool]] = Kept(leans, characters=KEPT)


_REPLIES: Final = frozenset({"assistant", "ai", "tool", "function"})


def _of_whom(query: str, before: Sequence[Message]) -> Sequence[Message]:
    """The messages without exchanges about a man where the query asks of a woman, or the other way round.

    All of them, where nothing else is left.
    """
    left: list[Message] = []
    exchange: list[Message] = []
    for message in (*before, None):
        if exchange and (message is None or message.role not in _REPLIES):
            left += exchange if not is_of_another(query, "\n".join(each.text for each in exchange)) else []
            exchange = []
        exchange += [message] if message is not None else []
    return left or before


def weighted_context(query: str, context: Sequence[Message]) -> list[tuple[str, float]]:
    """What was said before the query, the nearest first, each with what its words weigh beside the query's.

    Args:
        query: what is asked.
        context: the messages before it, oldest first; the query itself may be the last.
    """
    before = [message for message in context if message.text.strip()]
    while before and before[-1].text.strip() == query.strip():
        before.pop()
    if not before:
        return []
    # "And my sister?" asks the same of somebody else: whom the dialogue was about until then is not meant. "And where
    # does my sister work?" says what it asks, too.
    of_another = names_people(query)
    leaning = _leans(query) and not (of_another and terms(without_people(query)))
    asked, answered = _LEANING if leaning else _STANDING_ALONE
    weighted: list[tuple[str, float]] = []
    fading = 1.0
    for message in reversed(_of_whom(query, before[-_LOOKED_AT:])):
        is_reply = message.role in _REPLIES
        words = without_people(message.text) if of_another else message.text
        if words.strip():
            weighted.append((words, fading * (answered if is_reply else asked)))
        # A question that leans itself hands on what it leans on.
        fading *= 1.0 if is_reply or _leans(message.text) else _FADING
    return weighted
