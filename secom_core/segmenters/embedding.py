"""Topics from embeddings: tiling on similarities, or the optimal partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Segment, segments_from
from ..protocols import Embedder
from .partition import best_partition, pair_sums

__all__ = ["EmbeddingSegmenter"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EmbeddingSegmenter:
    """Cuts where the meaning changes.

    Args:
        embedder: any embedder.
        method: ``"partition"`` for the best partition of the similarity matrix, ``"tiling"`` for depth scores.
        max_length: the longest segment, in turns.
        window: how many turns on each side of a gap are compared.

    Raises:
        InvalidInput: for another method, or a length or window below 1.
    """

    embedder: Embedder
    method: Literal["partition", "tiling"] = "partition"
    max_length: int = 40
    window: int = 2

    def __post_init__(self) -> None:
        if self.method not in ("partition", "tiling"):
            raise InvalidInput(f"the method is 'partition' or 'tiling', not {self.method!r}")
        if self.max_length < 1 or self.window < 1:
            raise InvalidInput(f"max_length and window are at least 1, got {self.max_length} and {self.window}")

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        if not turns:
            return []
        vectors = self._vectors(turns)
        longest = min(self.max_length, len(turns))
        if self.method == "tiling":
            gains = np.zeros((len(turns), longest))
        else:
            gains = pair_sums(_band(vectors, longest - 1) - _typical(vectors))
        return segments_from(best_partition(self._depths(vectors), gains), len(turns))

    def scores(self, turns: Sequence[Turn]) -> Floats:
        """The strength of a boundary in each gap, shape ``(len(turns) - 1,)``; above 0 where it pays."""
        return self._depths(self._vectors(turns)) if len(turns) > 1 else np.zeros(0)

    def _vectors(self, turns: Sequence[Turn]) -> Floats:
        return np.asarray(self.embedder.embed([turn.content for turn in turns]), dtype=np.float64)

    def _depths(self, vectors: Floats) -> Floats:
        gaps = range(1, len(vectors))
        near = [_cosine(vectors[max(0, gap - self.window) : gap], vectors[gap : gap + self.window]) for gap in gaps]
        depths = 1 - np.asarray(near, dtype=np.float64)
        return (depths - depths.mean()) / (depths.std() + 1e-9) if len(depths) else depths


def _cosine(before: Floats, after: Floats) -> float:
    left, right = before.sum(axis=0), after.sum(axis=0)
    return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right) + 1e-9))


def _band(vectors: Floats, width: int) -> Floats:
    band = np.zeros((len(vectors), width))
    for step in range(1, width + 1):
        band[:-step, step - 1] = np.einsum("ij,ij->i", vectors[:-step], vectors[step:])
    return band


def _typical(vectors: Floats) -> float:
    near = np.einsum("ij,ij->i", vectors[:-1], vectors[1:])
    return float(near.mean()) if len(near) else 0.0
