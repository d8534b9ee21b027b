"""Hits as they grow turn by turn, within the room that a token budget leaves."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Final

from ..conversation import Replacement, Scope, Turn
from ..memory import CUT, GAP, Hit, Passage
from ..protocols import TokenCounter
from ..ranking.candidate import Candidate, plain
from ..text.parts import beside
from .block import how_often
from .excerpts import cut_short, lines_of, without_lines
from .lines import CLOSE, OPEN, day_of, owner
from .replacing import marked, replacements_of

_INDEX: Final = attrgetter("index")
_START: Final = attrgetter("start")


class Room:
    """What is left of a token budget for the block, added up part by part so that no text is counted twice.

    Args:
        budget: how many tokens the block may take.
        counter: counts them; it is asked for the same texts again and again.
    """

    def __init__(self, budget: int, counter: TokenCounter) -> None:
        self.counter = counter
        self.left = budget - counter(OPEN) - counter(CLOSE)
        # A turn of a memory that is there already may leave a gap on either side.
        self._more, self._new = counter("\n") + counter(f"{GAP} "), counter("\n") + counter("[99]")
        self._least = min(self._more, self._new)
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

    @property
    def most(self) -> int:
        """How many tokens of words there is room for at most, beside what every turn has."""
        return self.left - self._least

    def has(self, of: Candidate | Hit, day: str, tokens: int) -> bool:
        """Whether there is room for so many tokens of the memory's turns."""
        return self._needed(of, day, tokens) <= self.left

    def _needed(self, of: Candidate | Hit, day: str, tokens: int) -> int:
        beside = self._more if of.unit in self._units else self._new + self._owner(of)
        return tokens + beside + (self.counter(f"{day}\n") if day not in self._days else 0)

    def _owner(self, of: Candidate | Hit) -> int:
        """How many tokens say whose it is."""
        is_named = of.is_named if isinstance(of, Hit) else bool(of.scope)
        return self.counter(owner(of.scope)) if is_named else 0


class Growing:
    """A hit as it grows by turns, and by passages of turns.

    Args:
        first: the best candidate of its memory.
    """

    def __init__(self, first: Candidate) -> None:
        self._first = first
        self._turns: dict[str, Turn] = {}
        self._whole: set[str] = set()
        self._excerpts: dict[tuple[str, int], list[Passage]] = {}
        self._lines: dict[str, set[str]] = {}
        self._relevance = 0.0
        self._repeats: dict[str, int] = {}
        self._replaced: dict[str, tuple[Replacement, ...]] = {}

    def take(self, candidate: Candidate, tokens: int, room: Room) -> bool:
        """Take one more turn or passage in; whether there was room for it, and it was not there yet."""
        turn, passage = candidate.turn, candidate.passage
        # A rule and the search may find the same, and a sentence may stand where its passage does not fit.
        if turn.id in self._whole or (turn.id in self._turns and (passage is None or self._overlaps(passage))):
            return False
        if passage is not None and turn.id in self._turns:
            fresh = without_lines(passage, self._lines.get(turn.id, set()))
            if fresh is None:
                return False
            if fresh is not passage:
                candidate, tokens, passage = replace(candidate, passage=fresh), room.counter(fresh.text), fresh
        if not room.has(candidate, day_of(turn), tokens):
            return False
        if passage is not None or candidate.said > 1 or candidate.replaced:
            tokens += self._beside(candidate, room.counter)
        if not room.take(candidate, day_of(turn), tokens):
            return False
        self._turns[turn.id] = turn
        if passage is None:
            self._whole.add(turn.id)
        else:
            insort(self._excerpts.setdefault((turn.id, passage.place), []), passage, key=_START)
            self._lines.setdefault(turn.id, set()).update(filter(None, lines_of(passage.text)))
        if candidate.relevance > self._relevance:
            self._relevance = candidate.relevance
        if candidate.said > 1:
            self._repeats[turn.id] = candidate.said
        if candidate.replaced:
            self._note(candidate)
        return True

    def _note(self, candidate: Candidate) -> None:
        """Note what holds no more of what is shown."""
        known = self._replaced.get(candidate.turn.id, ())
        new = replacements_of(candidate)
        if new:
            self._replaced[candidate.turn.id] = (*known, *(each for each in new if each not in known))

    def _overlaps(self, passage: Passage) -> bool:
        # What is shown is in order and parted: only the last that begins before this one's end may reach into it.
        shown = self._excerpts.get((passage.turn.id, passage.place), [])
        before = bisect_left(shown, passage.stop, key=_START)
        return before > 0 and passage.start < shown[before - 1].stop

    def take_part(self, candidate: Candidate, room: Room) -> bool:
        """Take in as much as there is room for of one that there is no room for; whether there was."""
        parts = (replace(candidate, passage=part, tokens=0) for part in candidate.narrower)
        return any(self.take(part, length_of(part, room.counter), room) for part in parts)

    def _beside(self, candidate: Candidate, counter: TokenCounter) -> int:
        """What stands beside the words: how often they were said; of a passage who speaks, and the marks of a cut."""
        passage = candidate.passage
        often = counter(how_often(candidate.said)) if candidate.said > 1 else 0
        often += sum(counter(marked(replace(each, number=99))) for each in replacements_of(candidate))
        if passage is None:
            return often
        cut = counter(f" {CUT} ")
        if lines := beside(passage.message.text, passage.start, passage.stop):
            often += counter(lines)
        if (candidate.turn.id, passage.place) in self._excerpts:
            return often + cut
        ends = (passage.start > 0) + (passage.stop < len(passage.message.text))
        return often + ends * cut + counter(f"{GAP} ") + counter(f"{passage.message.shown_label}: ")

    @property
    def is_begun(self) -> bool:
        """Whether anything was taken in."""
        return bool(self._turns)

    def hit(self, number: int) -> Hit:
        """What has grown, by the number it is cited by."""
        first, excerpts = self._first, list(chain.from_iterable(self._excerpts.values()))
        excerpts.sort(key=lambda each: (each.turn.index, each.place, each.start))
        return Hit(
            first.memory,
            self.turns,
            first.score,
            number,
            plain(first.signals),
            cut_short(excerpts),
            first.kind,
            self._relevance,
            self._repeats,
            self._replaced,
            first.scope,
            bool(first.scope),
        )

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Its turns, in the order of the memory; a topic's are of several sessions."""
        if self._first.memory.summary:
            return tuple(turn for turn in self._first.memory.turns if turn.id in self._turns)
        return tuple(sorted(self._turns.values(), key=_INDEX))


def length_of(candidate: Candidate, counter: TokenCounter) -> int:
    """How many tokens the words of a candidate are."""
    return candidate.tokens or counter(candidate.passage.text if candidate.passage else candidate.turn.text)
