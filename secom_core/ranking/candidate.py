"""What a search finds: a turn, or a passage of one, with what speaks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..conversation import Turn
from ..memory import HitKind, Memory, Passage


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn, or a passage of a long one, that may answer the query.

    Args:
        turn: the turn.
        memory: the memory that holds it.
        score: higher is better; comparable within one search only.
        signals: what the score is the weighted sum of, each standardised within the pool.
        tokens: how long the turn or passage is; 0 where nobody counted.
        passage: the passage, where the turn is too long to be shown whole.
        kind: why it is shown.
        relevance: the chance that it helps to answer the query, from 0 to 1.
        said: how often it was said in nearly the same words.
        narrower: what may be shown of it where there is no room for all: a passage of it, the longest first.
    """

    turn: Turn
    memory: Memory
    score: float
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    tokens: int = 0
    passage: Passage | None = None
    kind: HitKind = "relevant"
    relevance: float = 0.0
    said: int = 1
    narrower: tuple[Passage, ...] = ()
