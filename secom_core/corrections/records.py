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


@dataclass(frozen=True, slots=True)
class Mark:
    """What was done with a turn by hand.

    Args:
        turn_id: the turn.
        kind: what was done: it was corrected, taken back or pinned.
        at: when.
        newer: the id of the turn that corrects it.
    """

    turn_id: str
    kind: MarkKind
    at: datetime
    newer: str | None = None

    @property
    def replacement(self) -> Replacement | None:
        """That the turn holds no more, where it was not pinned."""
        return None if self.kind == "pinned" else Replacement(self.turn_id, self.newer, self.at, self.kind)

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
        return cls(turn_id, kind, at, newer if kind == "corrected" else None)
