"""The current dialogue, which timelines are found and rewritten for (D in Theanine, section 2.2 and eq. 11).

The paper searches by the whole dialogue of the session. Here events are found by the latest message, and by what was
said before it only if that message cannot be read alone, so that a new subject finds its own events. They are rewritten
for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ..context.block import without_recalled
from ..conversation import Message
from ..llm.quoting import fitted
from ..ranking import LEANT_ON, weighted_context
from ..readers import MessageLike, read_messages

_SAID: Final = 6  # how many messages before a query are shown
_TOOLS: Final = frozenset({"tool", "function"})


def said_before(context: Iterable[MessageLike] | None) -> tuple[Message, ...]:
    """The messages before a query, without what was recalled for them."""
    return tuple(replace(each, text=without_recalled(each.text)) for each in read_messages(context or ()))


def leant_on(query: str, context: Sequence[Message]) -> list[tuple[str, float]]:
    """What the query cannot be read without, each with what its words weigh beside the query's."""
    return [each for each in weighted_context(query, context) if each[1] >= LEANT_ON]


def dialogue_of(query: str, context: Sequence[Message], tokens: int) -> str:
    """What was said last before a query, then the query.

    Args:
        query: a question, or what was just said.
        context: the messages before it, oldest first; the query may be the last.
        tokens: how much of what was said is shown; of long messages, the middle goes.
    """
    before = [each for each in context if each.text.strip() and each.role not in _TOOLS]
    while before and before[-1].text.strip() == query.strip():
        before.pop()
    lines = fitted([each.line for each in before[-_SAID:]], tokens)
    return "\n".join([*lines, query])
