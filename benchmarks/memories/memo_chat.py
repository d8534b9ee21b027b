"""MemoChat (Lu et al. 2023), as RSum (section 5.3), SeCom (section 3) and Theanine (section 3.2) compare with it.

When a session ends, a model writes the memo: a topic, a summary, and from which line to which the session is about it.
Asked something, the model is shown the memo's topics with their summaries as numbered options, and names those that
help, or the option that none does. What it names is shown: topic, summary and the lines themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from secom_core.conversation import Message, Session
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted, without_thoughts
from secom_core.llm.records import blocks_of, records_in

from .memory import TEXTS, Block, Entry, Tools, filled

NONE_OF_THEM = "None of the others."


@dataclass(frozen=True)
class Memo:
    """One topic of one session: its summary, and its lines."""

    topic: str
    summary: str
    dialogue: tuple[str, ...]
    turns: tuple[str, ...] = ()

    @property
    def entry(self) -> Entry:
        return Entry("\n".join([f"Topic: {self.topic}", f"Summary: {self.summary}", *self.dialogue]), turns=self.turns)


class MemoChat:
    def __init__(self, tools: Tools) -> None:
        self.memos: list[Memo] = []
        self._counter = tools.counter

    def add(self, session: Session) -> Procedure[None]:
        lines = [(turn.id, message) for turn in session.turns for message in turn.messages]
        numbered = "\n".join(f"(line {place}) {_line(message)}" for place, (_, message) in enumerate(lines, 1))
        reply = yield TEXTS.prompt(TEXTS.part("memo", count=len(lines), session=numbered), "memo")
        self.memos += _memos(reply, lines)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        if not self.memos:
            return Block()
        options = [*(f"{memo.topic}. {memo.summary}" for memo in self.memos), NONE_OF_THEM]
        listed = "\n".join(f"({place}) {quoted(option)}" for place, option in enumerate(options, 1))
        asked = TEXTS.part("memo_retrieval", count=len(options), query=quoted(query), options=listed)
        reply = yield TEXTS.prompt(asked, "memo-retrieval")
        numbers = dict.fromkeys(int(each) for each in re.findall(r"\d+", without_thoughts(reply)))
        chosen = [self.memos[number - 1].entry for number in numbers if 1 <= number <= len(self.memos)]
        return filled(chosen, budget, self._counter)


def _line(message: Message) -> str:
    return quoted(message.line.replace("\n", " "))


def _memos(reply: str, lines: Sequence[tuple[str, Message]]) -> Iterator[Memo]:
    """The topics that the reply names; one whose lines do not exist is left out."""
    found = records_in(blocks_of(reply, "memo")[0], lambda record: "topic" in record and "summary" in record)
    for record in found.records:
        start, end = record.get("start"), record.get("end")
        if not isinstance(start, int) or not isinstance(end, int) or not 1 <= start <= end <= len(lines):
            continue
        shown = lines[start - 1 : end]
        turns = tuple(dict.fromkeys(turn for turn, _ in shown))
        yield Memo(str(record["topic"]), str(record["summary"]), tuple(each.line for _, each in shown), turns)
