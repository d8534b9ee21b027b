"""Which of the candidates fill a token budget."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from itertools import pairwise
from typing import Final, Protocol, runtime_checkable

from ..conversation import Turn
from ..memory import Hit
from ..protocols import TokenCounter
from ..ranking import Candidate
from .block import render
from .lines import CLOSE, GAP, OPEN, day_of, first_day, quoted_lines, quoted_turn

_EPOCH: Final = datetime.min.replace(tzinfo=timezone.utc)

_MISSES: Final = 24
"""How many turns in a row may be too long for what is left before the block counts as full."""


@runtime_checkable
class Packer(Protocol):
    """Chooses what is shown."""

    def pack(
        self, candidates: Sequence[Candidate], *, token_budget: int | None, k: int | None, counter: TokenCounter
    ) -> list[Hit]:
        """Hits in time order, numbered from 1.

        Args:
            candidates: best first.
            token_budget: how long the block that `render` makes of the hits may be.
            k: how many memories at most.
            counter: what the budget is counted with.
        """
        ...


class _BudgetPacker:
    """Packs the best ``k`` memories whole where there is no budget, else what a subclass chooses."""

    def pack(
        self, candidates: Sequence[Candidate], *, token_budget: int | None, k: int | None, counter: TokenCounter
    ) -> list[Hit]:
        """Hits in time order, numbered from 1, whose block fits the budget."""
        if token_budget is None:
            return _numbered(_whole(candidates)[:k])
        chosen = self._choose(candidates, k, _Room(token_budget, counter))
        return _fitted(chosen, token_budget, counter)

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        raise NotImplementedError


class PackTurns(_BudgetPacker):
    """Spends the budget on the best turns, each under its memory; one that does not fit is passed over.

    With ``k`` and no budget, the best ``k`` memories are shown whole.

    Args:
        thrift: how much a turn's length counts against it, per natural logarithm of its tokens, on the scale of the
            scores: two short turns may be worth more than the long one that they keep out.
    """

    def __init__(self, thrift: float = 0.5) -> None:
        self._thrift = thrift

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: dict[str, Hit] = {}
        misses = 0
        for candidate, tokens in self._in_order(candidates, room.counter):
            hit = chosen.get(candidate.memory.id)
            if hit is None and k is not None and len(chosen) >= k:
                continue
            grown = _grown(hit, candidate)
            if room.take(grown, tokens):
                chosen[candidate.memory.id], misses = grown, 0
            elif (misses := misses + 1) >= _MISSES:
                break
        return list(chosen.values())

    def _in_order(self, candidates: Sequence[Candidate], counter: TokenCounter) -> list[tuple[Candidate, int]]:
        counted = [(candidate, candidate.tokens or counter(candidate.turn.text)) for candidate in candidates]
        return sorted(counted, key=lambda pair: self._thrift * math.log1p(pair[1]) - pair[0].score)


class PackMemories(_BudgetPacker):
    """Whole memories in rank order until the next would pass the budget, as SeCom concatenates them (section 2.1).

    A first memory that is too long is left out.
    """

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: list[Hit] = []
        for hit in _whole(candidates)[:k]:
            if room.take(hit, _tokens_of(hit, room.counter)):
                chosen.append(hit)
            elif chosen:
                break
        return chosen


class PackTopics(_BudgetPacker):
    """Whole memories in rank order; of one that is too long for what is left, its best turns.

    A topic grows with every session that comes back to it, and may become longer than any block.

    Args:
        worth: how well a turn answers the query, by its id; one that is not named is worth least.
    """

    def __init__(self, worth: Mapping[str, float]) -> None:
        self._worth = worth

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: list[Hit] = []
        misses = 0
        for hit in _whole(candidates)[:k]:
            part = self._fitting(hit, room)
            if part is not None and room.take(part, _tokens_of(part, room.counter)):
                chosen.append(part)
            elif (misses := misses + 1) >= _MISSES:
                break
        return chosen

    def _fitting(self, hit: Hit, room: _Room) -> Hit | None:
        """As much of the hit as there is room for, its best turns first; nothing where there is none for a turn."""
        if room.has(hit, _tokens_of(hit, room.counter)):
            return hit
        part: Hit | None = None
        for turn in sorted(hit.turns, key=lambda turn: -self._worth.get(turn.id, -math.inf))[:_MISSES]:
            ids = {turn.id, *(part.turn_ids if part is not None else ())}
            grown = replace(hit, turns=tuple(each for each in hit.turns if each.id in ids))
            if room.has(grown, _tokens_of(grown, room.counter)):
                part = grown
        return part


def _tokens_of(hit: Hit, counter: TokenCounter) -> int:
    """How long the hit is, its number apart; counted turn by turn, so that no turn is counted twice."""
    turns = sum(counter(quoted_turn(turn)) for turn in hit.turns)
    if not hit.memory.summary:
        return turns
    breaks = sum(_breaks(before, turn) for before, turn in pairwise(hit.turns))
    return counter(f"{quoted_lines(hit.memory.summary)}\n") + breaks * counter("2024-05-15 Wed\n") + turns


def _breaks(before: Turn, turn: Turn) -> bool:
    """Whether something stands between two turns of a topic: a day, or a gap."""
    return day_of(turn) != day_of(before) or turn.session != before.session or turn.index > before.index + 1


def _whole(candidates: Iterable[Candidate]) -> list[Hit]:
    """The candidates' memories, each once and whole, by their best turns."""
    best: dict[str, Hit] = {}
    for candidate in candidates:
        memory = candidate.memory
        if memory.id not in best:
            best[memory.id] = Hit(memory, memory.turns, candidate.score, 0, candidate.signals)
    return list(best.values())


def _grown(hit: Hit | None, candidate: Candidate) -> Hit:
    """The hit with one more turn."""
    if hit is None:
        return Hit(candidate.memory, (candidate.turn,), candidate.score, 0, candidate.signals)
    ids = {*hit.turn_ids, candidate.turn.id}
    return replace(hit, turns=tuple(turn for turn in hit.memory.turns if turn.id in ids))


class _Room:
    """What is left of a token budget for the block, added up part by part so that no text is counted twice."""

    def __init__(self, budget: int, counter: TokenCounter) -> None:
        self.counter: TokenCounter = cache(counter)
        self._left = budget - self.counter(OPEN) - self.counter(CLOSE)
        self._memories: set[str] = set()
        self._days: set[str] = set()

    def take(self, hit: Hit, tokens: int) -> bool:
        """Take the room for so many tokens of the hit's turns, where there is as much; whether there was."""
        if not self.has(hit, tokens):
            return False
        self._left -= self._needed(hit, tokens)
        self._memories.add(hit.memory.id)
        self._days.add(first_day(hit))
        return True

    def has(self, hit: Hit, tokens: int) -> bool:
        """Whether there is room for so many tokens of the hit's turns."""
        return self._needed(hit, tokens) <= self._left

    def _needed(self, hit: Hit, tokens: int) -> int:
        day = first_day(hit)
        # A turn of a memory that is there already may leave a gap on either side.
        beside = self.counter(GAP if hit.memory.id in self._memories else "[99]")
        return tokens + self.counter("\n") + beside + (self.counter(f"{day}\n") if day not in self._days else 0)


def _fitted(hits: list[Hit], budget: int, counter: TokenCounter) -> list[Hit]:
    """The hits, numbered, less the worst while the block as it is really written is too long."""
    while hits and counter(render(_numbered(hits))) > budget:
        hits = sorted(hits, key=lambda hit: hit.score)[1:]
    return _numbered(hits)


def _numbered(hits: Iterable[Hit]) -> list[Hit]:
    return [replace(hit, number=number) for number, hit in enumerate(sorted(hits, key=_when), start=1)]


def _when(hit: Hit) -> tuple[datetime, list[str | int], int]:
    first = hit.turns[0]
    # Sessions that begin at the same time go by name, the tenth after the ninth.
    parts = re.split(r"(\d+)", first.session)
    return first.at or _EPOCH, [int(part) if place % 2 else part for place, part in enumerate(parts)], first.index
