"""Topics from embeddings: the best partition under all evidence, or tiling on similarities alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Segment, segments_from
from ..protocols import Embedder
from .cohesion import COSINES, cosines, window_sums
from .cues import WORDS
from .evidence import at_turns, boundary_chances, load_prior, log_odds, pauses, weighed
from .lexical import COLUMNS as LEXICAL
from .lexical import bags_of
from .lexical import columns as lexical_columns
from .partition import best_partition, check_options

__all__ = ["COLUMNS", "EmbeddingSegmenter", "columns", "similarities"]

Floats = npt.NDArray[np.float64]

SIMILARITIES: Final = tuple(f"similar:{name}" for name in COSINES)
_NEUTRAL: Final = len(LEXICAL) - len(WORDS)
COLUMNS: Final = (*LEXICAL[:_NEUTRAL], *SIMILARITIES, *LEXICAL[_NEUTRAL:])
"""What is measured at each gap; all but the last group need no language."""

_REACH: Final = 10
_WINDOW: Final = 2
# Set on every second dialogue of DialSeg711's half and on TIAGE's training part.
_DEPTH: Final = 0.9
_SHALLOW: Final = 0.05


def _band(vectors: Floats) -> Floats:
    """Dot products of each vector with itself and those that follow, shape ``(n, _REACH + 1)``."""
    band = np.zeros((len(vectors), _REACH + 1))
    for step in range(min(_REACH + 1, len(vectors))):
        band[: len(vectors) - step, step] = np.einsum("ij,ij->i", vectors[: len(vectors) - step], vectors[step:])
    return band


def similarities(vectors: Floats) -> Floats:
    """How alike windows around each gap are, in the session's own units, so that any embedder fits.

    Args:
        vectors: one a message, each of length 1, shape ``(n, d)``, two or more.

    Returns:
        Shape ``(n - 1, len(SIMILARITIES))``.
    """
    band = _band(vectors)
    there = np.array([np.arange(_REACH + 1) < len(band) - place for place in range(len(band))], dtype=np.float64)
    near = band[:, 1:][there[:, 1:] > 0]
    means = [window_sums(band, *pair) / np.maximum(window_sums(there, *pair), 1.0) for pair in COSINES.values()]
    # Where all turns are alike there is no spread to speak of; the constant keeps noise from looking like topics.
    return np.asarray((np.stack(means, axis=1) - near.mean()) / (near.std() + 0.03))


def columns(texts: Sequence[str], bags: Sequence[Counter[str]], vectors: Floats) -> Floats:
    """The measures at each gap between messages, shape ``(len(texts) - 1, len(COLUMNS))``."""
    words = lexical_columns(texts, bags)
    return np.concatenate([words[:, :_NEUTRAL], similarities(vectors), words[:, _NEUTRAL:]], axis=1)


def depths(vectors: Floats) -> Floats:
    """How far similarity falls at each gap below the peaks on both sides (Hearst 1997), shape ``(n - 1,)``."""
    near = cosines(_band(vectors), (-_WINDOW, 0), (0, _WINDOW))
    return _climbs(near) + _climbs(near[::-1])[::-1]


def _climbs(values: Floats) -> Floats:
    """From each value, how high the slope to its left rises before it falls again."""
    tops = values.copy()
    for place in range(1, len(values)):
        if values[place - 1] >= values[place]:
            tops[place] = tops[place - 1]
    return np.asarray(tops - values)


@dataclass(frozen=True, slots=True)
class EmbeddingSegmenter:
    """Cuts where the meaning changes.

    Args:
        embedder: any embedder; it is given the messages.
        method: ``"partition"`` weighs similarities together with the lexical evidence and finds the best partition;
            ``"tiling"`` cuts at deep valleys of similarity and looks at nothing else.
        max_length: the longest segment, in turns.
        mean_length: how many turns a topic is expected to take where a turn is one message; for ``"partition"``.
        threshold: the chance above which a gap is cut; for ``"partition"``. Lower cuts more.

    Raises:
        InvalidInput: for another method, a length below 1, or a threshold outside 0 and 1.
    """

    embedder: Embedder
    method: Literal["partition", "tiling"] = "partition"
    max_length: int = 40
    mean_length: float = 5.0
    threshold: float = 0.36

    def __post_init__(self) -> None:
        if self.method not in ("partition", "tiling"):
            raise InvalidInput(f"the method is 'partition' or 'tiling', not {self.method!r}")
        check_options(self.max_length, self.mean_length, self.threshold)

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        return segments_from(best_partition(self._cuts(turns), self.max_length), len(turns))

    def scores(self, turns: Sequence[Turn]) -> Floats:
        """The strength of a boundary in each gap, shape ``(len(turns) - 1,)``; above 0 where it is cut."""
        return log_odds(self.chances(turns), self.threshold) if self.method == "partition" else self._valleys(turns)

    def chances(self, turns: Sequence[Turn]) -> Floats:
        """The chance of a boundary in each gap, whatever the method, shape ``(len(turns) - 1,)``."""
        if len(turns) < 2:
            return np.zeros(0)
        texts = [message.text for turn in turns for message in turn.messages]
        bags = bags_of(texts)
        measured = columns(texts, bags, self._vectors(texts))
        evidence = weighed(measured, load_prior("embedding_prior.json"))[at_turns(turns)] + pauses(turns)
        return boundary_chances(turns, bags, evidence, self.mean_length, self.max_length)

    def _cuts(self, turns: Sequence[Turn]) -> Floats:
        return self.chances(turns) - self.threshold if self.method == "partition" else self._valleys(turns)

    def _valleys(self, turns: Sequence[Turn]) -> Floats:
        if len(turns) < 2:
            return np.zeros(0)
        found = depths(self._vectors([turn.content for turn in turns]))
        return np.asarray(found - max(found.mean() + _DEPTH * found.std(), _SHALLOW) + pauses(turns))

    def _vectors(self, texts: Sequence[str]) -> Floats:
        return np.asarray(self.embedder.embed(texts), dtype=np.float64)
