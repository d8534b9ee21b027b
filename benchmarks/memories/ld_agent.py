"""LD-Agent (Li et al. 2025), as RMM compares with it (section 7.3, appendix A.4).

With a model: when a session ends, an event is written of it in a sentence, and the traits that each message tells of
its speaker. Asked something, the best events are shown, and the traits of all speakers.

An event's score is ``exp(-t / tau) * (semantic + topical)``: ``t`` the seconds between it and the last session,
``semantic`` the likeness to the query, ``topical`` the mean of the shares of common topics among the query's and the
event's. Without a model the same score ranks the turns themselves, as RMM has it. Topics are the nouns there, found by
a tagger; here they are the terms of a text without function words.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import datetime

from secom_core.conversation import Session
from secom_core.errors import ModelError
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted
from secom_core.text.terms import terms

from .memory import TEXTS, Block, Entry, Shelf, Tools, answer_in, by_score, filled, said, settled, turn_entry

TAU = 1e7
"""Seconds after which a score has fallen to ``1 / e`` (116 days)."""


def topical(query: Collection[str], event: Collection[str]) -> float:
    """The mean of the shares of common topics."""
    common = len(set(query) & set(event))
    return 0.5 * common / len(set(query)) + 0.5 * common / len(set(event)) if common else 0.0


def decay(seconds: float) -> float:
    """What is left of a score after so many seconds."""
    return math.exp(-max(seconds, 0.0) / TAU)


class LDAgent:
    """Args:
    tools: what it is built with.
    events: whether a model writes events and traits; else turns are found.
    """

    def __init__(self, tools: Tools, *, events: bool) -> None:
        self.traits: dict[str, list[str]] = {}
        self.now: datetime | None = None
        self.shelf = Shelf(tools.embedder)
        self._is_dense = tools.embedder is not None
        self._counter = tools.counter
        self._events = events

    def add(self, session: Session) -> Procedure[None]:
        self.now = session.turns[-1].at or self.now
        if not self._events:
            self.shelf.add(map(turn_entry, session.turns))
            return
        reply = yield TEXTS.prompt(TEXTS.part("event", session=said(session)), "event")
        if event := answer_in(reply, "event"):
            topics = "\n".join(turn.content for turn in session.turns)
            self.shelf.add([Entry(event, key=f"{event}\n{topics}", at=self.now)])
        yield from self._traits_of(session)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        traits = [Entry(f"{speaker}: {'; '.join(known)}") for speaker, known in self.traits.items()]
        return settled(filled([*traits, *by_score(self.shelf.entries, self.scores(query, now))], budget, self._counter))

    def scores(self, query: str, now: datetime | None = None) -> list[float]:
        """One score an entry, in order."""
        asked = set(terms(query))
        likeness = self.shelf.likeness(query)
        # BM25 has no upper bound, a cosine has 1: both halves of the sum are to weigh the same.
        most = 1.0 if self._is_dense else max([*likeness, 1e-9])
        return [
            decay(_age(entry, now or self.now)) * (like / most + topical(asked, set(terms(entry.key or entry.text))))
            for entry, like in zip(self.shelf.entries, likeness, strict=True)
        ]

    def _traits_of(self, session: Session) -> Procedure[None]:
        messages = [message for turn in session.turns for message in turn.messages]
        replies = yield [TEXTS.prompt(TEXTS.part("trait", message=quoted(each.line)), "trait") for each in messages]
        for message, reply in zip(messages, replies, strict=True):
            trait = "" if isinstance(reply, ModelError) else answer_in(reply, "trait")
            known = self.traits.setdefault(message.label, []) if trait else []
            if trait and trait not in known:
                known.append(trait)


def _age(entry: Entry, now: datetime | None) -> float:
    """How many seconds an entry is old; 0 where that is not known."""
    return (now - entry.at).total_seconds() if now and entry.at else 0.0
