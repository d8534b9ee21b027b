"""MemoryBank (Zhong et al. 2024), as RSum (section 5.3) and RMM (section 7.3, appendix A.4) compare with it.

Turns, and with a model a summary of each session, one of all, and a portrait of the speakers, are found by likeness.
What is kept follows the forgetting curve of Ebbinghaus: after ``t`` days the share ``exp(-t / S)`` is kept. ``S`` is 1
when something is said; recalling it adds 1, and ``t`` begins anew.

What is forgotten is drawn, as in the authors' program, from a seed: each item has a draw when it is said and when it is
recalled, and is gone once the curve falls below it. So of many items the share that is left is the curve's, however
often it is looked at. Here a turn recalls what the paper's chat would have: the six items most like it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import datetime

from secom_core.conversation import Session
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted

from .memory import TEXTS, Block, Entry, Shelf, Tools, answer_in, filled, said, settled, turn_entry

RECALLED = 6
"""How many items a turn recalls, as in the authors' program."""


def retention(days: float, strength: float) -> float:
    """The share that is kept after ``days`` (section 2.3): ``exp(-t / S)``."""
    return math.exp(-max(days, 0.0) / strength)


@dataclass
class Item:
    """What is remembered of an entry: how strongly, since when, and below which retention it is forgotten."""

    strength: int
    since: datetime | None
    draw: float

    def is_kept(self, now: datetime | None) -> bool:
        if now is None or self.since is None:
            return True
        return retention((now - self.since).total_seconds() / 86400, self.strength) > self.draw


class MemoryBankMemory:
    """Args:
    tools: what it is built with.
    summarised: whether a model writes summaries and portraits beside the turns.
    forgetting: whether anything is forgotten.
    seed: of the draws.
    """

    def __init__(self, tools: Tools, *, summarised: bool, forgetting: bool = True, seed: int = 0) -> None:
        self.items: list[Item] = []
        self.overview = ""
        self.portrait = ""
        self.now: datetime | None = None
        self._shelf = Shelf(tools.embedder)
        self._counter = tools.counter
        self._summarised, self._forgetting = summarised, forgetting
        self._random = random.Random(seed)

    def add(self, session: Session) -> Procedure[None]:
        for turn in session.turns:
            self.now = turn.at or self.now
            if self._forgetting:
                self._recall(turn.text)
        self._store([turn_entry(turn) for turn in session.turns])
        if self._summarised:
            yield from self._summarise(session)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        """The overview and the portrait, and what is kept and most like the query."""
        whole = [Entry(each) for each in (self.overview, self.portrait) if each]
        return settled(filled([*whole, *self._ranked(query, now)], budget, self._counter))

    def kept(self, now: datetime | None = None) -> list[Entry]:
        """What is not forgotten by ``now``, or else by the last turn."""
        pairs = zip(self.items, self._shelf.entries, strict=True)
        return [entry for item, entry in pairs if not self._forgetting or item.is_kept(now or self.now)]

    def _ranked(self, query: str, now: datetime | None = None) -> list[Entry]:
        kept = set(map(id, self.kept(now)))
        return [entry for entry in self._shelf.ranked(query) if id(entry) in kept]

    def _recall(self, text: str) -> None:
        places = {id(entry): place for place, entry in enumerate(self._shelf.entries)}
        for entry in self._ranked(text)[:RECALLED]:
            item = self.items[places[id(entry)]]
            item.strength += 1
            item.since, item.draw = self.now, self._random.random()

    def _store(self, entries: list[Entry]) -> None:
        self._shelf.add(entries)
        self.items += [Item(1, each.at, self._random.random()) for each in entries]

    def _summarise(self, session: Session) -> Procedure[None]:
        day = f"{session.at:%Y-%m-%d}" if session.at else session.name
        asked = [TEXTS.part("day_summary", session=said(session)), TEXTS.part("day_portrait", session=said(session))]
        summary, portrait = yield [TEXTS.prompt(each, "day") for each in asked]
        if isinstance(summary, str) and (text := answer_in(summary, "summary")):
            self._store([Entry(f"{day}: {text}", at=session.at)])
            self.overview = yield from self._joined("overview", self.overview, text)
        if isinstance(portrait, str) and (text := answer_in(portrait, "portrait")):
            self.portrait = yield from self._joined("joint_portrait", self.portrait, text)

    def _joined(self, part: str, before: str, new: str) -> Procedure[str]:
        reply = yield TEXTS.prompt(TEXTS.part(part, before=quoted(before or "none"), new=quoted(new)), "joined")
        return answer_in(reply, "memory") or before
