"""Unsettled turns into segments: by a segmenter that follows each turn, or by one that waits for the session's end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ..conversation import Turn
from ..errors import attempted
from ..memory import Segment, check_partition, segments_from
from ..protocols import EndSegmenter, GrowingSegmenter, Segmenter
from ..stores.rows import MemoryRow

TAIL: Final = 48
"""How many turns at the end of an open session may still be cut anew: bounds the cost of one more turn."""

_SHORT: Final = 16
"""How many unsettled turns are cut anew with each further one in any case: it takes a millisecond."""

AWAITING: Final = 200
"""How many turns of an open session wait at most for a segmenter that cuts ended ones. Beyond, older cuts stay."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """How unsettled turns are cut.

    Args:
        segments: ranges of the turns from place ``first`` on.
        by: the name of the segmenter; nothing where one that waits for the end of the session is still to cut it.
        failed: whether the segmenter has failed, and another one has cut in its place.
        kept: the memories of the turns before ``first``, as they are.
        first: how many turns these hold.
    """

    segments: list[Segment]
    by: str | None
    failed: bool = False
    kept: Sequence[MemoryRow] = ()
    first: int = 0

    @property
    def provisional(self) -> bool:
        """Whether a segmenter that waits for the end of the session is still to cut it."""
        return self.by is None


def cut(
    segmenter: Segmenter, tail: Sequence[Turn], old: Sequence[MemoryRow], *, waits: bool, goes_on: bool = False
) -> Cuts:
    """Cut the unsettled turns of a session.

    Args:
        segmenter: the scope's.
        tail: the turns.
        old: the memories that some of them have, in order, from the first turn on.
        waits: whether a segmenter that waits for the end of sessions is to wait.
        goes_on: whether the session is open, and this segmenter has made ``old``.

    Warns:
        DegradedWarning: the segmenter has failed.
    """
    if not isinstance(segmenter, EndSegmenter):
        if goes_on and (segments := _lengthened(segmenter, tail, old)):
            return Cuts(segments, type(segmenter).__name__)
        segments, by = _by_words_if_failing(segmenter, tail)
        return Cuts(segments, by, failed=by != type(segmenter).__name__)
    if not waits:
        what = "the segmenter failed, a session keeps its provisional segments and is cut when the next one ends"
        found = _attempted(segmenter, segmenter.segment_ended, tail, what)
        if found is not None:
            return Cuts(found, type(segmenter).__name__)
    kept, first = _before_the_last(old, tail)
    segments = _lengthened(segmenter.fallback, tail[first:], old[len(kept) :]) if goes_on else []
    segments = segments or _by_words_if_failing(segmenter.fallback, tail[first:])[0]
    return Cuts(segments, None, not waits, kept, first)


def _lengthened(segmenter: Segmenter, tail: Sequence[Turn], old: Sequence[MemoryRow]) -> list[Segment]:
    """The old segments, the last one with what has come since; none where the session is to be cut anew."""
    if not isinstance(segmenter, GrowingSegmenter) or len(tail) <= _SHORT or not old:
        return []
    if (tail[-1].index + 1) // segmenter.cut_every != old[-1].stop // segmenter.cut_every:
        return []
    places = [turn.index for turn in tail]
    return segments_from((bisect_left(places, row.start) - 1 for row in old[1:]), len(tail))


def _by_words_if_failing(segmenter: Segmenter, turns: Sequence[Turn]) -> tuple[list[Segment], str]:
    """The segments, and the name of who has cut them."""
    segments = _attempted(segmenter, segmenter.segment, turns, "the segmenter failed, segments are cut by words")
    if segments is not None:
        return segments, type(segmenter).__name__
    from ..segmenters.lexical import LexicalSegmenter

    return LexicalSegmenter().segment(turns), LexicalSegmenter.__name__


def _attempted(
    segmenter: Segmenter, make: Callable[[Sequence[Turn]], list[Segment]], turns: Sequence[Turn], what: str
) -> list[Segment] | None:
    from ..segmenters.lexical import LexicalSegmenter

    part, waits = f"the segmenter {type(segmenter).__name__}", type(segmenter) is not LexicalSegmenter
    return attempted(part, lambda: check_partition(make(turns), len(turns)), what, waits=waits)


def _before_the_last(old: Sequence[MemoryRow], tail: Sequence[Turn]) -> tuple[Sequence[MemoryRow], int]:
    """The memories that stay as they are, so that one more turn has only the last turns cut; how many these hold."""
    stop = tail[-1].index + 1 if tail else 0
    edge = next((row.start for row in old if stop - row.start <= TAIL), old[-1].start if old else 0)
    return [row for row in old if row.stop <= edge], sum(turn.index < edge for turn in tail)
