"""What was recalled, as an event of LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any, Final

from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from secom_core.memory import Recall

__all__ = ["SecomRecallEvent", "trace_recall"]

_DISPATCHER: Final = get_dispatcher(__name__)


class SecomRecallEvent(BaseEvent):
    """A question was searched for in memory: once a turn, not each time that an agent reads its messages.

    Args:
        session: the session in which it was asked.
        tokens: how long what was found is, in the bank's token counter.
        numbers: what an answer may cite it by.
        memory_ids: which memories.
        query: the question; not where contents are off.
        text: what the model is shown; the same.
    """

    session: str
    tokens: int
    numbers: list[int] = Field(default_factory=list)
    memory_ids: list[str] = Field(default_factory=list)
    query: str | None = None
    text: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name of the event."""
        return "SecomRecallEvent"


def trace_recall(recall: Recall, session: str, *, contents: bool) -> None:
    """Tell the handlers of the process what was recalled, with the words or without."""
    told: dict[str, Any] = {"query": recall.query, "text": recall.text} if contents else {}
    ids = [hit.memory.id for hit in recall.hits]
    _DISPATCHER.event(
        SecomRecallEvent(session=session, tokens=recall.tokens, numbers=list(recall.numbers), memory_ids=ids, **told)
    )
