"""Memories that choose nothing: the whole conversation, its last turns, nothing (SeCom section 3, RMM section 7.3)."""

from __future__ import annotations

from datetime import datetime

from secom_core.conversation import Session, Turn
from secom_core.llm.flow import Procedure

from .memory import Block, Tools, settled


class Nothing:
    """No history: the model answers by itself."""

    def add(self, session: Session) -> Procedure[None]:
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        return settled(Block())


class FullHistory:
    """All that was said, in order, whatever the budget: what a model with a window for it would read."""

    def __init__(self, tools: Tools) -> None:
        self.turns: list[Turn] = []
        self._counter = tools.counter

    def add(self, session: Session) -> Procedure[None]:
        self.turns += session.turns
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        return settled(_in_order(self.turns))


class LastTurns(FullHistory):
    """The end of the conversation, as many whole turns as the budget has room for."""

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        kept = 0
        for turn in reversed(self.turns):
            budget -= self._counter(turn.text + "\n")
            if budget < 0:
                break
            kept += 1
        return settled(_in_order(self.turns[len(self.turns) - kept :]))


def _in_order(turns: list[Turn]) -> Block:
    return Block("\n".join(turn.text for turn in turns), tuple(turn.id for turn in turns))
