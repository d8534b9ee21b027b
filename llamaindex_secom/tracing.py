"""Recalls as events and spans of LlamaIndex's instrumentation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from secom_core.bank import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.bank.asked_now import recalled
from secom_core.memory import Recall
from secom_core.stores.database import waiting_at_most

_DISPATCHER: Final = get_dispatcher(__name__)
_call: ContextVar[Callable[[], None]] = ContextVar("call")
"""What the span is of."""
_SHORTER: Final = 0.9
"""The largest part of its budget that a recall which is too long is made again with."""


class SecomRecallEvent(BaseEvent):
    """A recall from memory, sent within a span of its own, ``SecomRecall``.

    An agent's memory recalls once a turn, however often the agent reads its messages.

    Args:
        session: the session of the query; nothing where the query is of none, such as a retriever's.
        tokens: the length of the recalled block, in the bank's token counter.
        numbers: the numbers by which an answer may cite what was recalled.
        memory_ids: the ids of the recalled memories.
        query: the query; nothing where contents are off.
        text: the recalled block; nothing where contents are off.
    """

    session: str | None = None
    tokens: int
    numbers: list[int] = Field(default_factory=list)
    memory_ids: list[str] = Field(default_factory=list)
    query: str | None = None
    text: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name of the event."""
        return "SecomRecallEvent"


def traced_recall(
    bank: MemoryBank,
    scope: Sequence[str],
    query: str,
    *,
    contents: bool,
    session: str | None = None,
    counter: Callable[[str], int] | None = None,
    token_budget: int | None = None,
    **about: Any,
) -> Recall:
    """Recall within a span, and send a `SecomRecallEvent` at its end. The span itself holds no words.

    The question that is being asked is no find (`secom_core.bank.asked_now`).

    Args:
        bank: what recalls.
        scope: whose memory is searched.
        query: what is searched for.
        contents: whether the event holds the query and the recalled block.
        session: the session of the query.
        counter: counts the tokens of the block, which are within the budget then in the bank's counter and in this one.
        token_budget: as for `MemoryBank.recall`.
        **about: other arguments of `MemoryBank.recall`.

    Raises:
        StoreError: the store failed; the span is dropped.
    """
    recalls: list[Recall] = []

    def recall() -> None:
        # Somebody waits for the answer that the recall is for.
        with waiting_at_most(ANSWER_WAITS_S):
            within = partial(recalled, bank, scope, query, **about)
            recalls.append(_fitting(within, token_budget, counter))
        _DISPATCHER.event(_event(recalls[0], session, contents=contents))

    token = _call.set(recall)
    try:
        _in_span()
    finally:
        _call.reset(token)
    return recalls[0]


def _fitting(recall: Callable[..., Recall], token_budget: int | None, counter: Callable[[str], int] | None) -> Recall:
    made, room = recall(token_budget=token_budget), token_budget
    while counter is not None and token_budget and room and (tokens := counter(made.text)) > token_budget:
        room = min(room * token_budget // tokens, int(room * _SHORTER))
        made = recall(token_budget=room) if room else Recall(made.query, (), "", 0)
    return made


# Handlers of spans see arguments and results: there are none. It is made once, as making it takes time.
def _in_span() -> None:
    _call.get()()


_in_span.__qualname__ = "SecomRecall"
_in_span = _DISPATCHER.span(_in_span)


def _event(recall: Recall, session: str | None, *, contents: bool) -> SecomRecallEvent:
    words: dict[str, Any] = {"query": recall.query, "text": recall.text} if contents else {}
    ids = [hit.memory.id for hit in recall.hits]
    return SecomRecallEvent(
        session=session, tokens=recall.tokens, numbers=list(recall.numbers), memory_ids=ids, **words
    )
