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

from ..conversation import Replacement, Scope, Turn
from ..memory import CUT, GAP, Hit, Passage
from ..protocols import TokenCounter
from ..ranking.candidate import Candidate, plain
from .block import how_often, render, shown_turns
from .excerpts import cut_short, excerpted
from .lines import CLOSE, OPEN, day_of, first_day, owner, quoted_lines
from .replacing import marked, replaced_of, replacements_of, with_numbers

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
        choose = self._choose if token_budget is not None else _best_memories
        candidates = self._in_order(candidates, counter) if token_budget is not None else candidates
        for tried in range(1, _PACKED_AGAIN + 1):
            room = _Room(budget, counter)
            hits = _numbered(choose(candidates, k, room))
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

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
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

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: dict[tuple[Scope, str], _Growing] = {}
        for candidate, tokens in self._with_newer(candidates, room.counter):
            if not room.is_possible(tokens) and not candidate.narrower:
                continue
            unit = candidate.unit
            growing = chosen.get(unit)
            if growing is None:
                if k is not None and len(chosen) >= k:
                    continue
                growing = _Growing(candidate)
            if growing.take(candidate, tokens, room) or growing.take_part(candidate, room):
                chosen[unit] = growing
        return [growing.hit() for growing in chosen.values()]

    def _with_newer(self, candidates: Sequence[Candidate], counter: TokenCounter) -> Iterator[tuple[Candidate, int]]:
        """With their lengths, and what holds in the place of one before it."""
        return ((one, _length(one, counter)) for each in candidates for one in (*each.newer, each))

    def _in_order(self, candidates: Sequence[Candidate], counter: TokenCounter) -> list[Candidate]:
        """What was searched for by its worth, what stands between in its own order."""

        def price(each: Candidate) -> float:
            return self._thrift * math.log1p(_length(each, counter)) - each.score

        runs = groupby(candidates, lambda each: bool(each.signals))
        return [each for searched, run in runs for each in (sorted(run, key=price) if searched else run)]


class PackMemories(_BudgetPacker):
    """Whole memories in rank order until the next would pass the budget, as SeCom concatenates them (section 2.1).

    Where the very first is too long, its best passages are shown.
    """

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: list[Hit] = []
        for hit in _whole(candidates)[:k]:
            if not room.take(hit, first_day(hit), _tokens_of(hit, room.counter)):
                break
            chosen.append(hit)
        if chosen:
            return chosen
        units = dict.fromkeys(each.unit for each in candidates)
        parts = (_best_memories([each for each in candidates if each.unit == one], 1, room) for one in units)
        return next(filter(None, map(list, parts)), [])


class PackTopics(_BudgetPacker):
    """Whole memories in rank order; of one that is too long for what is left, its best turns, or passages of the best.

    A topic grows with every session that comes back to it, and may become longer than any block.

    Args:
        worth: how well a turn answers the query, by its id; one that is not named is worth least.
    """

    def __init__(self, worth: Mapping[str, float]) -> None:
        self._worth = worth

    def _choose(self, candidates: Sequence[Candidate], k: int | None, room: _Room) -> list[Hit]:
        chosen: list[Hit] = []
        for hit in _whole(candidates)[:k]:
            part = self._fitting(hit, room)
            if part is not None and room.take(part, first_day(part), _tokens_of(part, room.counter)):
                chosen.append(part)
        return chosen

    def _fitting(self, hit: Hit, room: _Room) -> Hit | None:
        """As much of the hit as there is room for, its best turns first; else passages of the best, or nothing."""

        def fits(part: Hit) -> bool:
            return room.has(part, first_day(part), _tokens_of(part, room.counter))

        if fits(hit):
            return hit
        part: Hit | None = None
        best = sorted(hit.turns, key=lambda turn: -self._worth.get(turn.id, -math.inf))[:_TRIED]
        for turn in best:
            ids = {turn.id, *(part.turn_ids if part is not None else ())}
            grown = replace(hit, turns=tuple(each for each in hit.turns if each.id in ids))
            part = grown if fits(grown) else part
        return part or excerpted(hit, best[0], fits)


def _best_memories(candidates: Sequence[Candidate], k: int | None, room: _Room) -> Iterator[Hit]:
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
        growing = _Growing(parts[0])
        for each in parts:
            tokens = _length(each, room.counter)
            if tokens <= share and (growing.take(each, tokens, room) or growing.take_part(each, room)):
                share -= tokens
        if growing.is_begun:
            yield growing.hit()


class _Growing:
    """A hit as it grows by turns, and by passages of turns.

    Args:
        first: the best candidate of its memory.
    """

    def __init__(self, first: Candidate) -> None:
        self._first = first
        self._day = day_of(first.turn)
        self._turns: dict[str, Turn] = {}
        self._whole: set[str] = set()
        self._excerpts: dict[tuple[str, int], list[Passage]] = {}
        self._relevance = 0.0
        self._repeats: dict[str, int] = {}
        self._replaced: dict[str, tuple[Replacement, ...]] = {}

    def take(self, candidate: Candidate, tokens: int, room: _Room) -> bool:
        """Take one more turn or passage in; whether there was room for it, and it was not there yet."""
        turn, passage = candidate.turn, candidate.passage
        # A rule and the search may find the same, and a sentence may stand where its passage does not fit.
        if turn.id in self._whole or (turn.id in self._turns and (passage is None or self._overlaps(passage))):
            return False
        if not room.take(candidate, self._day, tokens + self._beside(candidate, room.counter)):
            return False
        self._turns[turn.id] = turn
        if passage is None:
            self._whole.add(turn.id)
        else:
            self._excerpts.setdefault((turn.id, passage.place), []).append(passage)
        self._relevance = max(self._relevance, candidate.relevance)
        if candidate.said > 1:
            self._repeats[turn.id] = candidate.said
        self._note(candidate)
        return True

    def _note(self, candidate: Candidate) -> None:
        """Note what holds no more of what is shown."""
        known = self._replaced.get(candidate.turn.id, ())
        new = replacements_of(candidate)
        if new:
            self._replaced[candidate.turn.id] = (*known, *(each for each in new if each not in known))

    def _overlaps(self, passage: Passage) -> bool:
        shown = self._excerpts.get((passage.turn.id, passage.place), [])
        return any(each.start < passage.stop and passage.start < each.stop for each in shown)

    def take_part(self, candidate: Candidate, room: _Room) -> bool:
        """Take in as much as there is room for of one that there is no room for; whether there was."""
        parts = (replace(candidate, passage=part, tokens=0) for part in candidate.narrower)
        return any(self.take(part, _length(part, room.counter), room) for part in parts)

    def _beside(self, candidate: Candidate, counter: TokenCounter) -> int:
        """What stands beside the words: how often they were said; of a passage who speaks, and the marks of a cut."""
        passage, often = candidate.passage, counter(how_often(candidate.said)) if candidate.said > 1 else 0
        often += sum(counter(marked(replace(each, number=99))) for each in replacements_of(candidate))
        if passage is None:
            return often
        cut = counter(f" {CUT} ")
        if (candidate.turn.id, passage.place) in self._excerpts:
            return often + cut
        ends = (passage.start > 0) + (passage.stop < len(passage.message.text))
        return often + ends * cut + counter(GAP) + counter(f"{passage.message.label}: ")

    @property
    def is_begun(self) -> bool:
        """Whether anything was taken in."""
        return bool(self._turns)

    def hit(self) -> Hit:
        """What has grown."""
        first = self._first
        return Hit(
            first.memory,
            self._in_order(),
            first.score,
            0,
            plain(first.signals),
            tuple(sorted(chain(*self._excerpts.values()), key=lambda each: (each.turn.index, each.place, each.start))),
            first.kind,
            self._relevance,
            self._repeats,
            self._replaced,
            first.scope,
            bool(first.scope),
        )

    def _in_order(self) -> tuple[Turn, ...]:
        """Its turns, in the order of the memory; a topic's are of several sessions."""
        if self._first.memory.summary:
            return tuple(turn for turn in self._first.memory.turns if turn.id in self._turns)
        return tuple(sorted(self._turns.values(), key=lambda turn: turn.index))


def _length(candidate: Candidate, counter: TokenCounter) -> int:
    return candidate.tokens or counter(candidate.passage.text if candidate.passage else candidate.turn.text)


def _tokens_of(hit: Hit, counter: TokenCounter) -> int:
    """How long the hit is, its number apart; counted turn by turn, so that no turn is counted twice."""
    turns = sum(map(counter, shown_turns(hit)))
    if not hit.memory.summary:
        return turns
    breaks = sum(_breaks(before, turn) for before, turn in pairwise(hit.turns))
    return counter(f"{quoted_lines(hit.memory.summary)}\n") + breaks * counter("2024-05-15 Wed\n") + turns


def _breaks(before: Turn, turn: Turn) -> bool:
    """Whether something stands between two turns of a topic: a day, or a gap."""
    return day_of(turn) != day_of(before) or turn.session != before.session or turn.index > before.index + 1


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


class _Room:
    """What is left of a token budget for the block, added up part by part so that no text is counted twice."""

    def __init__(self, budget: int, counter: TokenCounter) -> None:
        self.counter: TokenCounter = cache(counter)
        self.left = budget - self.counter(OPEN) - self.counter(CLOSE)
        self._least = self.counter("\n") + min(self.counter(GAP), self.counter("[99]"))
        self._units: set[tuple[Scope, str]] = set()
        self._days: set[str] = set()

    def take(self, of: Candidate | Hit, day: str, tokens: int) -> bool:
        """Take the room for so many tokens of the memory's turns, where there is as much; whether there was."""
        needed = self._needed(of, day, tokens)
        if needed > self.left:
            return False
        self.left -= needed
        self._units.add(of.unit)
        self._days.add(day)
        return True

    def share(self, parts: int) -> int:
        """What there is for each of so many."""
        return self.left // parts

    def is_possible(self, tokens: int) -> bool:
        """Whether there is room for so many tokens at all, and for what every turn has beside its words."""
        return tokens + self._least <= self.left

    def has(self, of: Candidate | Hit, day: str, tokens: int) -> bool:
        """Whether there is room for so many tokens of the memory's turns."""
        return self._needed(of, day, tokens) <= self.left

    def _needed(self, of: Candidate | Hit, day: str, tokens: int) -> int:
        # A turn of a memory that is there already may leave a gap on either side.
        beside = self.counter(GAP) if of.unit in self._units else self.counter("[99]") + self._owner(of)
        return tokens + self.counter("\n") + beside + (self.counter(f"{day}\n") if day not in self._days else 0)

    def _owner(self, of: Candidate | Hit) -> int:
        """How many tokens say whose it is."""
        is_named = of.is_named if isinstance(of, Hit) else bool(of.scope)
        return self.counter(owner(of.scope)) if is_named else 0


def _fitted(hits: list[Hit], budget: int, counter: TokenCounter) -> list[Hit]:
    """The hits, numbered, less the worst while the block as it is really written is too long."""
    while hits and counter(render(_numbered(hits))) > budget:
        hits = sorted(hits, key=lambda hit: hit.score)[1:]
    return _numbered(hits)


def _numbered(hits: Iterable[Hit]) -> list[Hit]:
    order = enumerate(sorted(hits, key=_when), start=1)
    return with_numbers([replace(hit, number=number, excerpts=cut_short(hit.excerpts)) for number, hit in order])


def _when(hit: Hit) -> tuple[datetime, list[str | int], int]:
    first = hit.turns[0]
    # Sessions that begin at the same time go by name, the tenth after the ninth.
    parts = re.split(r"(\d+)", first.session)
    return first.at or _EPOCH, [int(part) if place % 2 else part for place, part in enumerate(parts)], first.index
