"""Segments of a fixed size: each turn, the whole session, a number of turns.

Turn and session are the two other granularities of SeCom (section 2.1); a fixed size is there to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Segment


@dataclass(frozen=True, slots=True)
class FixedSize:
    """Cuts after every ``size`` turns; the last segment may be shorter.

    Raises:
        InvalidInput: for a size below 1.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise InvalidInput(f"a fixed size is at least 1 turn, got {self.size}")

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges of ``size`` turns that cover ``turns``."""
        return [Segment(start, min(start + self.size, len(turns))) for start in range(0, len(turns), self.size)]


@dataclass(frozen=True, slots=True)
class EachTurn:
    """Makes every turn a segment of its own (SeCom's turn level)."""

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """One range a turn."""
        return [Segment(place, place + 1) for place in range(len(turns))]


@dataclass(frozen=True, slots=True)
class WholeSession:
    """Leaves a session in one piece (SeCom's session level)."""

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """One range, or none where there are no turns."""
        return [Segment(0, len(turns))] if turns else []
