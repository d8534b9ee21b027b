"""Which of the candidates fill a token budget."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache
from itertools import chain, count, groupby, pairwise
from operator import itemgetter
from typing import Any, Final, Protocol, runtime_checkable

from ..conversation import Scope, Turn
from ..memory import Hit, passages_of
from ..protocols import TokenCounter
from ..ranking.candidate import Candidate, plain
from .block import is_gap, render, shown_turns
from .excerpts import beginnings, cut_short, excerpted
from .growing import Growing, Room, length_of
from .lines import day_of, first_day, quoted_lines, shown_summary
from .replacing import replaced_of, with_numbers

_EPOCH: Final = datetime.min.replace(tzinfo=timezone.utc)

_PACKED_AGAIN: Final = 8
"""How often the budget is packed, with less of it each time, where the block as it is written comes out too long: what
a counter gives for the whole may be more than for the parts."""

_UNUSED: Final = 64
"""Which part of the budget is worth packing once more for, where the block as it is written comes out too short."""

_TRIED: Final = 24
"""How many turns of a topic that is too long are tried."""


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


MOST_TOKENS: Final = 4000
"""How long a block is at most where ``k`` memories are asked for, and nothing is said of its length."""


class _BudgetPacker:
    """Packs what a subclass chooses, or the best ``k`` memories where there is no budget."""

    def pack(
        self, candidates: Sequence[Candidate], *, token_budget: int | None, k: int | None, counter: TokenCounter
    ) -> list[Hit]:
        """Hits in time order, numbered from 1, whose block fits the budget, or `MOST_TOKENS` where there is none."""
        budget = most = MOST_TOKENS if token_budget is None else token_budget
        hits, fitting = list[Hit](), None
        counter = cache(counter)
        candidates = [each for each in candidates if each.turn.messages[0].says_anything or _says_anything(each.turn)]
        choose = self._choose if token_budget is not None else _best_in_order
        candidates = self._in_order(candidates, counter) if token_budget is not None else candidates
        for tried in range(1, _PACKED_AGAIN + 1):
            room = Room(budget, counter)
            hits = choose(candidates, k, room)
            over = counter(render(hits)) - most
            if fitting is not None:
                return hits if over <= 0 else fitting
            if over <= 0 and -over - room.left <= most // _UNUSED:
                return hits
            if over <= 0:
                # The parts are counted as more than the whole is.
                fitting, budget = hits, budget - over - room.left
            else:
                budget -= max((tried + 1) * over, budget // 32)
        return fitting or _fitted(hits, most, counter)

    def _in_order(self, candidates: Sequence[Candidate], counter: TokenCounter) -> Sequence[Candidate]:
        """In the order in which they are chosen from, whatever room there is."""
        return candidates

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: Room) -> list[Hit]:
        """Hits in time order, numbered from 1."""
        raise NotImplementedError


class PackTurns(_BudgetPacker):
    """Spends the budget on the best turns, and passages of long ones, each under its memory.

    One that does not fit is passed over. With ``k`` and no budget, the best ``k`` memories are shown whole, and of one
    that does not fit into `MOST_TOKENS` its best passages.

    Args:
        thrift: how much a turn's length counts against it, per natural logarithm of its tokens, on the scale of the
            scores: two short turns may be worth more than the long one that they keep out.
    """

    def __init__(self, thrift: float = 0.5) -> None:
        self._thrift = thrift

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: Room) -> list[Hit]:
        chosen: dict[tuple[Scope, str], Growing] = {}
        most = room.most
        for candidate in candidates:
            tokens = candidate.tokens or length_of(candidate, room.counter)
            if tokens > most and not candidate.narrower:
                continue
            unit = candidate.unit
            growing = chosen.get(unit)
            if growing is None:
                if k is not None and len(chosen) >= k:
                    continue
                growing = Growing(candidate)
            if growing.take(candidate, tokens, room) or growing.take_part(candidate, room):
                chosen[unit], most = growing, room.most
        if not chosen:
            chosen = {each.unit: begun for each in candidates[:1] if (begun := _cut(each, room)) is not None}
        in_time = sorted(chosen.values(), key=lambda growing: _when(growing.turns[0]))
        return with_numbers([growing.hit(number) for number, growing in enumerate(in_time, start=1)])

    def _in_order(self, candidates: Sequence[Candidate], counter: TokenCounter) -> list[Candidate]:
        """What was searched for by its worth, the rest in its own order; before each, what holds in its place."""
        thrift, log = self._thrift, math.log1p
        best: list[Candidate] = []
        for is_searched, run in groupby(candidates, lambda each: bool(each.signals)):
            found = list(run)
            if is_searched:
                prices = [thrift * log(each.tokens or length_of(each, counter)) - each.score for each in found]
                found = [found[place] for place in sorted(range(len(found)), key=prices.__getitem__)]
            best += found
        return [one for each in best for one in (*each.newer, each)] if any(each.newer for each in best) else best


def _cut(candidate: Candidate, room: Room) -> Growing | None:
    """As much of the beginning of what was found as there is room for, so that no block is empty for want of room."""
    growing = Growing(candidate)
    narrowest = (candidate.narrower or [candidate.passage or passages_of(candidate.turn)[0]])[-1]
    parts = (replace(candidate, passage=part, tokens=0) for part in beginnings(narrowest))
    return growing if any(growing.take(each, length_of(each, room.counter), room) for each in parts) else None


class PackMemories(_BudgetPacker):
    """Whole memories in rank order until the next would pass the budget, as SeCom concatenates them (section 2.1).

    Where the very first is too long, its best passages are shown.
    """

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: Room) -> list[Hit]:
        chosen: list[Hit] = []
        for hit in _whole(candidates)[:k]:
            if not room.take(hit, first_day(hit), _tokens_of(hit, room.counter)):
                break
            chosen.append(hit)
        if chosen:
            return _numbered(chosen)
        units = dict.fromkeys(each.unit for each in candidates)
        parts = (_best_memories([each for each in candidates if each.unit == one], 1, room) for one in units)
        return _numbered(next(filter(None, map(list, parts)), []))


class PackTopics(_BudgetPacker):
    """Whole memories in rank order; of one that is too long for what is left, its best turns, or passages of the best.

    A topic grows with every session that comes back to it, and may become longer than any block.

    Args:
        worth: how well a turn answers the query, by its id; one that is not named is worth least.
    """

    def __init__(self, worth: Mapping[str, float]) -> None:
        self._worth = worth

    def pack(
        self, candidates: Sequence[Candidate], *, token_budget: int | None, k: int | None, counter: TokenCounter
    ) -> list[Hit]:
        """As any packer; what holds in the place of something else comes once, with the topic that tells of it."""
        return super().pack(_with_their_topics(candidates), token_budget=token_budget, k=k, counter=counter)

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: Room) -> list[Hit]:
        chosen: list[Hit] = []
        for hit in _whole(candidates)[:k]:
            part = self._fitting(hit, room)
            if part is not None and room.take(part, first_day(part), _tokens_of(part, room.counter)):
                chosen.append(part)
        return _numbered(chosen)

    def _fitting(self, hit: Hit, room: Room) -> Hit | None:
        """As much of the hit as there is room for, its best turns first; else passages of the best, or nothing."""

        def fits(part: Hit) -> bool:
            return room.has(part, first_day(part), _tokens_of(part, room.counter))

        if fits(hit):
            return hit
        part: Hit | None = None
        newer = {each.newer for found in hit.replaced.values() for each in found}
        by_worth = sorted(hit.turns, key=lambda turn: -self._worth.get(turn.id, -math.inf))
        best = sorted(by_worth, key=lambda turn: turn.id not in newer)[:_TRIED]
        for turn in best:
            ids = {turn.id, *(part.turn_ids if part is not None else ())}
            grown = replace(hit, turns=tuple(each for each in hit.turns if each.id in ids))
            part = grown if fits(grown) else part
        return part or excerpted(hit, best[0], fits)


def _with_their_topics(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates, each behind what is to be shown before it: that as the topic, or what is left of a segment."""
    unit_of: dict[str, Candidate] = {}
    for each in sorted(candidates, key=lambda each: not each.memory.summary):
        for turn in each.memory.turns:
            unit_of.setdefault(turn.id, each)
    every = chain.from_iterable((*each.newer, each) for each in candidates)
    return [replace(each if each.memory.summary else unit_of.get(each.turn.id, each), newer=()) for each in every]


def _best_in_order(candidates: Sequence[Candidate], k: int | None, room: Room) -> list[Hit]:
    return _numbered(_best_memories(candidates, k, room))


def _best_memories(candidates: Sequence[Candidate], k: int | None, room: Room) -> Iterator[Hit]:
    """The best memories whole, and of one that does not fit its best turns and passages."""
    sizes = {hit.unit: (hit, _tokens_of(hit, room.counter)) for hit in _whole(candidates)[:k]}
    # The shortest first: what they leave of their share of the room is for the longer ones.
    for left, (hit, tokens) in zip(count(len(sizes), -1), sorted(sizes.values(), key=itemgetter(1)), strict=False):
        share = room.share(left)
        if tokens <= share and room.take(hit, first_day(hit), tokens):
            yield hit
            continue
        every = chain.from_iterable((*each.newer, each) for each in candidates)
        parts = [each for each in every if each.unit == hit.unit]
        growing = Growing(parts[0])
        for each in parts:
            tokens = length_of(each, room.counter)
            if tokens <= share and (growing.take(each, tokens, room) or growing.take_part(each, room)):
                share -= tokens
        if growing.is_begun:
            yield growing.hit(0)


def _says_anything(turn: Turn) -> bool:
    """Whether any of its messages says anything: of one without, there is nothing to show."""
    return any(message.says_anything for message in turn.messages)


def _tokens_of(hit: Hit, counter: TokenCounter) -> int:
    """How long the hit is, its number apart; counted turn by turn, so that no turn is counted twice."""
    turns = sum(map(counter, shown_turns(hit)))
    breaks = sum(_breaks(before, turn) for before, turn in pairwise(hit.turns))
    told = shown_summary(hit)
    summary = counter(f"{quoted_lines(told)}\n") if told else 0
    return summary + breaks * counter("2024-05-15 Wed\n") + turns


def _breaks(before: Turn, turn: Turn) -> bool:
    """Whether something stands between two turns of a hit: a day, or a gap."""
    return day_of(turn) != day_of(before) or is_gap(before, turn)


def _whole(candidates: Iterable[Candidate]) -> list[Hit]:
    """The candidates' memories, each once and whole, by their best turns."""
    best: dict[tuple[Scope, str], Hit] = {}
    for candidate in chain.from_iterable((*each.newer, each) for each in candidates):
        memory = candidate.memory
        if candidate.unit not in best:
            repeats = {candidate.turn.id: candidate.said} if candidate.said > 1 else {}
            shown: dict[str, Any] = {"kind": candidate.kind, "relevance": candidate.relevance, "repeats": repeats}
            shown["replaced"] = replaced_of(memory.turns, candidate.replaced)
            shown |= {"scope": candidate.scope, "is_named": bool(candidate.scope)}
            best[candidate.unit] = Hit(memory, memory.turns, candidate.score, 0, plain(candidate.signals), **shown)
    return list(best.values())


def _fitted(hits: list[Hit], budget: int, counter: TokenCounter) -> list[Hit]:
    """The hits, numbered, less the worst while the block as it is really written is too long."""
    while hits and counter(render(_numbered(hits))) > budget:
        hits = sorted(hits, key=lambda hit: hit.score)[1:]
    return _numbered(hits)


def _numbered(hits: Iterable[Hit]) -> list[Hit]:
    """The hits in time order, numbered from 1."""
    order = enumerate(sorted(hits, key=lambda hit: _when(hit.turns[0])), start=1)
    return with_numbers([replace(hit, number=number, excerpts=cut_short(hit.excerpts)) for number, hit in order])


def _when(first: Turn) -> tuple[datetime, list[str | int], int]:
    # Sessions that begin at the same time go by name, the tenth after the ninth.
    parts = re.split(r"(\d+)", first.session)
    return first.at or _EPOCH, [int(part) if place % 2 else part for place, part in enumerate(parts)], first.index
