"""ConditionMem (Yuan et al. 2023), as SeCom compares with it (section 3, baseline 7; its Figure 16).

Of each turn, a model writes a summary and the knowledge in it, given the condition under which it was said: the turns
before it in the session. A turn that holds nothing worth keeping makes no record. A question finds the most relevant
summary, knowledge and turn, and is shown the three together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from secom_core.conversation import Session, Turn
from secom_core.errors import ModelError
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted

from .memory import TEXTS, Block, Entry, Shelf, Tools, answer_in, filled, settled

CONDITION = 4
"""How many turns before a turn are its condition."""


@dataclass(frozen=True)
class Record:
    summary: str
    knowledge: str
    turn: Turn

    @property
    def entry(self) -> Entry:
        parts = [f"Summary: {self.summary}", f"Knowledge: {self.knowledge}" if self.knowledge else "", self.turn.text]
        text = "\n".join(filter(None, parts))
        return Entry(text, key=f"{self.summary}\n{self.knowledge}\n{self.turn.text}", turns=(self.turn.id,))


class ConditionMem:
    def __init__(self, tools: Tools) -> None:
        self.records: list[Record] = []
        self._shelf = Shelf(tools.embedder)
        self._counter = tools.counter

    def add(self, session: Session) -> Procedure[None]:
        turns = session.turns
        replies = yield [
            TEXTS.prompt(_asked(turn, turns[max(0, place - CONDITION) : place]), "record")
            for place, turn in enumerate(turns)
        ]
        made = [_record(reply, turn) for reply, turn in zip(replies, turns, strict=True)]
        kept = [each for each in made if each is not None]
        self.records += kept
        self._shelf.add(each.entry for each in kept)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        return settled(filled(self._shelf.ranked(query), budget, self._counter))


def _asked(turn: Turn, before: Sequence[Turn]) -> str:
    condition = "\n".join(each.text for each in before) or "none"
    return TEXTS.part("conditional_record", condition=quoted(condition), turn=quoted(turn.text))


def _record(reply: str | ModelError, turn: Turn) -> Record | None:
    if isinstance(reply, ModelError):
        return None
    tags = ("<summary>" in reply, "<knowledge>" in reply)
    summary = answer_in(reply, "summary") if tags[0] else ""
    return Record(summary, answer_in(reply, "knowledge") if tags[1] else "", turn) if summary else None
