"""Unsettled turns into segments: by a segmenter that follows each turn, or by one that waits for the session's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ..conversation import Turn
from ..errors import attempted
from ..memory import Segment, check_partition
from ..protocols import EndSegmenter, Segmenter
from ..stores.rows import MemoryRow

TAIL: Final = 48
"""How many turns at the end of an open session may still be cut anew: bounds the cost of one more turn."""

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


def cut(segmenter: Segmenter, tail: Sequence[Turn], old: Sequence[MemoryRow], *, waits: bool) -> Cuts:
    """Cut the unsettled turns of a session.

    Args:
        segmenter: the scope's.
        tail: the turns.
        old: the memories that some of them have, in order, from the first turn on.
        waits: whether a segmenter that waits for the end of sessions is to wait.

    Warns:
        DegradedWarning: the segmenter has failed.
    """
    if not isinstance(segmenter, EndSegmenter):
        segments, by = _by_words_if_failing(segmenter, tail)
        return Cuts(segments, by, failed=by != type(segmenter).__name__)
    if not waits:
        what = "the segmenter failed, a session keeps its provisional segments and is cut when the next one ends"
        found = _attempted(segmenter, segmenter.segment_ended, tail, what)
        if found is not None:
            return Cuts(found, type(segmenter).__name__)
    kept, first = _before_the_last(old, tail)
    segments, _ = _by_words_if_failing(segmenter.fallback, tail[first:])
    return Cuts(segments, None, not waits, kept, first)


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
