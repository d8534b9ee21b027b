"""This package's bank as a memory: as it comes, in whole units as SeCom ranks and shows them, and as each paper has it.

A whole unit is a turn, a segment or a session that is ranked by its own text and shown from its first word to its last,
or not at all: best first while they fit, one that does not fit is passed over, and what is shown stands in order of
time (SeCom, section 2.1 and Figure 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from secom_core import presets
from secom_core.bank import MemoryBank
from secom_core.context.block import render
from secom_core.context.lines import CLOSE, OPEN
from secom_core.context.packing import PackMemories
from secom_core.conversation import Session
from secom_core.denoisers import Informativeness
from secom_core.llm.flow import ChatModel, Procedure
from secom_core.memory import Hit
from secom_core.protocols import TokenCounter

from .memory import Block, Tools, settled

SCOPE = ("benchmark", "memories")
ALL = 10**7
"""A budget that nothing here passes."""

DEEP = 200
"""How many units are ranked: more than fit the largest budget."""

Granularity: TypeAlias = Literal["segment", "turn", "session"]

LAYERS = {"rsum": ("summaries",), "theanine": ("timelines",), "rmm": ("topics",)}
"""Which layer each paper's preset shows."""


class BankMemory:
    """The block of `MemoryBank.recall`.

    Args:
        bank: an empty bank.
        layers: the layers that take part.
    """

    def __init__(self, bank: MemoryBank, layers: Sequence[str] = ()) -> None:
        self.bank = bank
        self._layers = layers

    def add(self, session: Session) -> Procedure[None]:
        self.bank.remember(SCOPE, session, close=True)
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        recall = self.bank.recall(SCOPE, query, token_budget=budget, layers=self._layers, now=now)
        return settled(Block(recall.text, ranked_turns(recall.ranked)))


class WholeUnits(BankMemory):
    """The bank's units, whole, ranked by their own text.

    Args:
        bank: an empty bank whose weights rank units and whose packer shows whole ones. It is asked for all of them, so
            it may count characters, which is quicker.
        counter: counts tokens.
    """

    def __init__(self, bank: MemoryBank, counter: TokenCounter) -> None:
        super().__init__(bank)
        self._counter = counter
        self._last: tuple[str, tuple[Hit, ...]] = ("", ())

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        kept: list[Hit] = []
        left = budget - self._counter(OPEN + CLOSE)
        for hit in self.ranked(query):
            tokens = self._counter(hit.text)
            if tokens <= left:
                kept.append(hit)
                left -= tokens
        # Dates, numbers and quoting are paid for by the worst of them.
        while kept and self._counter(shown(kept)) > budget:
            kept.pop()
        return settled(Block(shown(kept), ranked_turns(kept)))

    def ranked(self, query: str) -> tuple[Hit, ...]:
        """The units, best first; kept for the next budget of the same question."""
        if self._last[0] != query:
            self._last = (query, self.bank.recall(SCOPE, query, token_budget=ALL, k=DEEP).ranked)
        return self._last[1]


def shown(hits: Sequence[Hit]) -> str:
    """Units in order of time, numbered."""
    return render([replace(hit, number=place) for place, hit in enumerate(sorted(hits, key=lambda hit: hit.number), 1)])


def ranked_turns(hits: Sequence[Hit]) -> tuple[str, ...]:
    """The turns as SeCom's equation 6 wants them: units best first, the turns of each in order."""
    return tuple(dict.fromkeys(turn for hit in hits for turn in hit.turn_ids))


def characters(text: str) -> int:
    """How many there are: what is asked for everything need not count tokens, which is slower."""
    return len(text)


def as_it_comes(tools: Tools, weights: Mapping[str, float] | None, path: Path | str = ":memory:") -> BankMemory:
    bank = MemoryBank.open(path, embedder=tools.embedder, weights=weights, token_counter=tools.counter)
    return BankMemory(bank)


def whole_units(granularity: Granularity, tools: Tools, path: Path | str = ":memory:") -> WholeUnits:
    """Turns, segments or sessions, by cosine where there is an embedder, else by BM25, and by nothing else."""
    # A unit of one granularity is a segment of the bank.
    weights = {"segment_dense": 1.0} if tools.embedder is not None else {"segment_lexical": 1.0}
    bank = MemoryBank.open(
        path,
        embedder=tools.embedder,
        granularity=granularity,
        weights=weights,
        rules=False,
        packer=PackMemories(),
        token_counter=characters,
    )
    return WholeUnits(bank, tools.counter)


def preset(
    name: str, model: ChatModel, tools: Tools, path: Path | str = ":memory:", *, rate: float = 0.75
) -> BankMemory:
    """A paper's own configuration.

    SeCom's LLMLingua-2 has no weights here: its keys are made by `Informativeness` at this rate, 1 for raw ones.
    """
    made: dict[str, Any] = {"embedder": tools.embedder}
    if name == "secom":
        made["denoiser"] = Informativeness(rate=rate)
    configured = getattr(presets, name)(model, **made)
    if name == "secom":
        return WholeUnits(MemoryBank.open(path, preset=configured, token_counter=characters), tools.counter)
    return BankMemory(MemoryBank.open(path, preset=configured, token_counter=tools.counter), LAYERS[name])
