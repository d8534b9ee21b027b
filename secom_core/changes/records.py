"""Links between statements, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..conversation import Replacement, ReplacementKind
from .statements import Statement

SUPERSEDES: Final = frozenset({"changed", "corrected", "ended"})
"""The kinds of links after which the older statement holds no more."""
KINDS: Final = SUPERSEDES | {"confirmed"}
UNRELATED: Final = "unrelated"
"""What a language model says of a pair that the rules have linked, and that is of different things."""
TOLD: Final = ("attribute", "old_value", "new_value", "valid_from", "valid_until")
"""What a language model says of a link, in words of the two messages."""


@dataclass(frozen=True, slots=True)
class Said:
    """A statement where it was said.

    Args:
        session_id: the session's row.
        turn: its turn's place there.
        place: which message of the turn.
        who: who said it.
        statement: what it states.
    """

    session_id: int
    turn: int
    place: int
    who: str
    statement: Statement


@dataclass(frozen=True, slots=True)
class Change:
    """That a later statement says what became of an earlier one.

    Args:
        older: the id of the turn of the earlier one.
        newer: the id of the turn of the later one.
        at: when the later one was said.
        kind: ``"changed"``, ``"corrected"``, ``"ended"`` or ``"confirmed"``.
        older_span: the earlier one, as the place of its message in the turn, and its characters.
        newer_span: the later one.
        by: who found it: ``"rules"``, or ``"model"``.
        attribute: what it is about, in words of the two messages; empty where no model has said it, like what follows.
        old_value: what the earlier one says of it, in its words.
        new_value: what the later one says of it, in its words.
        valid_from: from when on it holds, in the words of the later one.
        valid_until: until when, likewise.
    """

    older: str
    newer: str
    at: datetime
    kind: str
    older_span: tuple[int, int, int]
    newer_span: tuple[int, int, int]
    by: str = "rules"
    attribute: str = ""
    old_value: str = ""
    new_value: str = ""
    valid_from: str = ""
    valid_until: str = ""

    @property
    def replacement(self) -> Replacement:
        """That the older one holds no more."""
        kind: ReplacementKind = "ended" if self.kind == "ended" else "changed"
        return Replacement(self.older, self.newer, self.at, kind, self.older_span, self.newer_span)
