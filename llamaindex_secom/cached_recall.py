"""The recall for the current query: agents read several times a turn, and see the same block each time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from secom_core.memory import Recall

from .answers import is_answer
from .insertion import wordings


@dataclass(frozen=True, slots=True)
class CachedRecall:
    """The recall for the current query.

    Args:
        asked: the query as the user said it.
        recall: the recall.
        text: its block, as it is put into messages.
        tokens: how long that is.
        put: whether the query has been put into the session; some chat engines read before they put it.
        epoch: the scope's epoch at that time; another one means that something was forgotten since.
        early: whether it was recalled before the query was put.
        over: whether the query has been answered, as far as can be told: engines that read early put query and answer
            together. The same words are another query then.
    """

    asked: str
    recall: Recall
    text: str
    tokens: int
    put: bool
    epoch: tuple[int, int] | None = None
    early: bool = False
    over: bool = False

    def answers(self, asked: str, epoch: tuple[int, int] | None) -> bool:
        """Whether it is the recall for these words, with nothing forgotten since."""
        # Where nothing was remembered yet, nothing was recalled that could have been forgotten.
        return self.asked == asked and not self.over and (self.epoch is None or self.epoch == epoch)

    def after(self, message: ChatMessage) -> CachedRecall | None:
        """What is left of it once the message is put: a new query ends it."""
        if message.role == MessageRole.USER:
            same = not self.put and self.asked in wordings(message)
            return replace(self, put=True, early=True) if same else None
        return replace(self, over=True) if self.early and is_answer(message) else self
