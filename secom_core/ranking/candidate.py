"""What a search finds: a turn, or a passage of one, with what speaks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from ..conversation import Replacement, Scope, Turn
from ..memory import HitKind, Memory, Passage

# A dictionary for each of a hundred candidates would make the garbage collector look at all objects more often.
_NO_SIGNALS: Final[Mapping[str, float]] = {}
_NOTHING_REPLACED: Final[Mapping[str, tuple[Replacement, ...]]] = {}


# Neither is frozen: a recall makes over a hundred of each, which would take three times as long.
@dataclass(slots=True, eq=False)
class Signals(Mapping[str, float]):
    """A row of a matrix by the names of its columns: most of what is found is never asked for its signals.

    Args:
        names: the column of each name.
        matrix: shape ``(n, names)``.
        row: which row.
    """

    names: Mapping[str, int]
    matrix: npt.NDArray[np.float64]
    row: int

    def __getitem__(self, name: str) -> float:
        return self.matrix.item(self.row, self.names[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def signals_of(names: Iterable[str], matrix: npt.NDArray[np.float64]) -> list[Signals]:
    """The rows of a matrix by the names of its columns."""
    columns = {name: column for column, name in enumerate(names)}
    return [Signals(columns, matrix, row) for row in range(len(matrix))]


def plain(signals: Mapping[str, float]) -> dict[str, float]:
    """The same as a dictionary."""
    if isinstance(signals, Signals):
        return dict(zip(signals.names, signals.matrix[signals.row].tolist(), strict=True))
    return dict(signals)


@dataclass(slots=True)
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
        replaced: what holds no more, by the ids of turns; those of its memory are among them.
        newer: what holds in its place, which is to be shown before it.
        scope: whose memory it is, where several scopes are searched.
    """

    turn: Turn
    memory: Memory
    score: float
    signals: Mapping[str, float] = field(default_factory=lambda: _NO_SIGNALS)
    tokens: int = 0
    passage: Passage | None = None
    kind: HitKind = "relevant"
    relevance: float = 0.0
    said: int = 1
    narrower: tuple[Passage, ...] = ()
    replaced: Mapping[str, tuple[Replacement, ...]] = field(default_factory=lambda: _NOTHING_REPLACED)
    newer: tuple[Candidate, ...] = ()
    scope: Scope = ()

    @property
    def unit(self) -> tuple[Scope, str]:
        """What tells its memory from all others, of other scopes too."""
        return self.scope, self.memory.id

    @property
    def part(self) -> tuple[str, int, int, int]:
        """What tells the turn or the passage that is shown from all others; to hash a passage is to read its turn."""
        passage = self.passage
        return (self.turn.id, passage.place, passage.start, passage.stop) if passage else (self.turn.id, -1, 0, 0)
