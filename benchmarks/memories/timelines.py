"""Theanine's timelines alone, as the paper shows them, and what is left of them without one of its parts (Table 2).

The turns of a block are those that the events shown rest on, as Theanine counts what is retrieved (Table 3): an event
does not say its turns word for word. Without a language model, events are made of segments and linked by likeness and
date; the bank's own block is the memory ``theanine``.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from secom_core.bank import MemoryBank
from secom_core.conversation import Session
from secom_core.errors import BadReply, DegradedWarning
from secom_core.llm.flow import ChatModel, Procedure, Prompt
from secom_core.timelines import Event, SameTopicRule, TimelineOptions

from .bank import SCOPE, BankMemory
from .memory import Block, Entry, Tools, filled, settled

UNLIKE = 2.0
"""A likeness that no two events have."""

LINKING = {
    "relations": SameTopicRule(),
    "likeness": SameTopicRule(least=-1.0, least_by_vector=-1.0, within=timedelta.max),
    "none": SameTopicRule(least=UNLIKE, least_by_vector=UNLIKE),
}
"""How events are linked: by their relation, each to the most like it whatever the relation, or not at all."""


class WithoutRelations:
    """A model that is not asked for relations: the rule decides."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    def complete(self, prompt: Prompt) -> str:
        if prompt.purpose == "relation":
            raise BadReply("relations are not asked for in this ablation", "")
        return self._model.complete(prompt)


class Timelines(BankMemory):
    """Args:
    model: what writes events, finds relations and refines; none where there is none.
    tools: what it is built with.
    path: where its bank lies.
    linking: one of `LINKING`.
    refined: whether the model rewrites timelines for the query.
    shuffled: whether timelines are broken down into events in random order.
    hits: how many events a query finds (``k``).
    """

    def __init__(
        self,
        model: ChatModel | None,
        tools: Tools,
        path: Path | str = ":memory:",
        *,
        linking: str = "relations",
        refined: bool = True,
        shuffled: bool = False,
        hits: int = 3,
    ) -> None:
        asked = model if model is None or linking == "relations" else WithoutRelations(model)
        options = TimelineOptions(hits=hits, refined=refined, temperature=0.75, same_topic=LINKING[linking])
        bank = MemoryBank.open(
            path, embedder=tools.embedder, model=asked, timelines=options, token_counter=tools.counter
        )
        super().__init__(bank)
        self._tools, self._refined, self._shuffled = tools, refined and model is not None, shuffled

    def add(self, session: Session) -> Procedure[None]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*relation", category=DegradedWarning)
            return super().add(session)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        return settled(filled(self._entries(query, budget), budget, self._tools.counter))

    def _entries(self, query: str, budget: int) -> Iterator[Entry]:
        refined = self._refined and not self._shuffled
        found = self.bank.timelines.find(SCOPE, query, refined=refined, token_budget=budget)
        if not self._shuffled:
            yield from (Entry(each.text or "\n".join(map(_line, each.events)), turns=each.turn_ids) for each in found)
            return
        events = list({event.id: event for timeline in found for event in timeline.events}.values())
        for event in random.Random(query).sample(events, len(events)):
            yield Entry(_line(event), turns=event.turn_ids)


def _line(event: Event) -> str:
    return f"({event.at:%Y-%m-%d}) {event.text}"
