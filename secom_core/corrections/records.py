"""Marks by hand, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal, get_args

from ..conversation import Replacement

MarkKind = Literal["corrected", "retracted", "pinned"]
"""What was done with a turn by hand."""
_KINDS: Final = get_args(MarkKind)
MarkedSpan = tuple[int, int, int]
"""The place of a message in its turn, and the characters ``(place, start, stop)``."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done with a turn by hand.

    Args:
        turn_id: the turn.
        kind: what was done: it was corrected, taken back or pinned.
        at: when.
        newer: the id of the turn that corrects it.
        span: the part of the turn that is meant, as in `secom_core.conversation.Replacement`; all of it unless given.
    """

    turn_id: str
    kind: MarkKind
    at: datetime
    newer: str | None = None
    span: MarkedSpan | None = None

    @property
    def replacement(self) -> Replacement | None:
        """That the turn holds no more, where it was not pinned."""
        if self.kind == "pinned":
            return None
        return Replacement(self.turn_id, self.newer, self.at, self.kind, self.span)

    def meets(self, span: MarkedSpan | None) -> bool:
        """Whether it is about any of the characters of a part of its turn, or of all of it."""
        if self.span is None or span is None:
            return True
        (place, start, stop), (other, begin, end) = self.span, span
        return place == other and start < end and begin < stop

    def holds_more_than(self, span: MarkedSpan) -> bool:
        """Whether it is about a part of its turn, and about more than that."""
        if self.span is None:
            return True
        (place, start, stop), (other, begin, end) = self.span, span
        return place == other and start <= begin and end <= stop and self.span != span

    @property
    def as_json(self) -> dict[str, Any]:
        """The mark as JSON holds it."""
        return {**asdict(self), "at": self.at.isoformat()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Mark:
        """The mark that `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        turn_id, kind, newer = record["turn_id"], record["kind"], record["newer"]
        if kind not in _KINDS:
            raise ValueError(f"a mark's kind is one of {', '.join(_KINDS)}, got {kind!r}")
        if not isinstance(turn_id, str) or not isinstance(newer, (str, type(None))):
            raise TypeError("turns are named by strings")
        at = datetime.fromisoformat(record["at"])
        if at.tzinfo is None:
            raise ValueError(f"a mark's time has a zone, got {record['at']!r}")
        return cls(turn_id, kind, at, newer if kind == "corrected" else None, _span_of(record.get("span"), kind))


def _span_of(written: Any, kind: MarkKind) -> MarkedSpan | None:
    if written is None:
        return None
    place, start, stop = written
    if not all(type(each) is int for each in (place, start, stop)) or not (place >= 0 and 0 <= start < stop):
        raise ValueError(f"a mark's span is a message's place and its first and last characters, got {written!r}")
    if kind == "pinned":
        raise ValueError("what is pinned is a whole turn, and no part of it")
    return place, start, stop
