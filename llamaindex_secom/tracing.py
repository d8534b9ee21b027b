"""Recalls as events of LlamaIndex's instrumentation."""

from __future__ import annotations

from typing import Any, Final

from llama_index.core.bridge.pydantic import Field
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent

from secom_core.memory import Recall

_DISPATCHER: Final = get_dispatcher(__name__)


class SecomRecallEvent(BaseEvent):
    """A recall from memory: one for each turn of the conversation, however often an agent reads its messages.

    Args:
        session: the session of the query.
        tokens: the length of the recalled block, in the bank's token counter.
        numbers: the numbers by which an answer may cite what was recalled.
        memory_ids: the ids of the recalled memories.
        query: the query; nothing where contents are off.
        text: the recalled block; nothing where contents are off.
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
    """Send a `SecomRecallEvent` to the handlers of the process.

    Args:
        recall: what was recalled.
        session: the session of the query.
        contents: whether the event holds the query and the recalled block.
    """
    words: dict[str, Any] = {"query": recall.query, "text": recall.text} if contents else {}
    ids = [hit.memory.id for hit in recall.hits]
    _DISPATCHER.event(
        SecomRecallEvent(session=session, tokens=recall.tokens, numbers=list(recall.numbers), memory_ids=ids, **words)
    )
