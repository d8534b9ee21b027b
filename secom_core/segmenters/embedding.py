"""Segments from embeddings, together with the lexical evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from ..conversation import Turn
from ..memory import Segment, segments_from
from ..protocols import Embedder
from . import lexical
from .cohesion import COSINES, Places, window_sums
from .cues import WORDS
from .evidence import boundary_chances, load_prior
from .partition import CUT_EVERY, Floats, best_partition, check_options

SIMILARITIES: Final = tuple(f"similar:{name}" for name in COSINES)
_NEUTRAL: Final = len(lexical.COLUMNS) - len(WORDS)
COLUMNS: Final = (*lexical.COLUMNS[:_NEUTRAL], *SIMILARITIES, *lexical.COLUMNS[_NEUTRAL:])
"""What is measured at each gap; all but the last group need no language."""

_REACH: Final = 10


def band_of(vectors: Floats) -> Floats:
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
    band = band_of(vectors)
    there = np.array([np.arange(_REACH + 1) < len(band) - place for place in range(len(band))], dtype=np.float64)
    near = band[:, 1:][there[:, 1:] > 0]
    means = window_sums(band, COSINES.values()) / np.maximum(window_sums(there, COSINES.values()), 1.0)
    # Where all turns are alike there is hardly any spread; the constant keeps noise from looking like boundaries.
    return np.asarray((means - near.mean()) / (near.std() + 0.03))


def columns(
    texts: Sequence[str], bags: Sequence[Counter[str]], vectors: Floats, openings: Places | None = None
) -> Floats:
    """The measures at each gap between messages, shape ``(len(texts) - 1, len(COLUMNS))``; see `cues.form`."""
    words = lexical.columns(texts, bags, openings)
    return np.concatenate([words[:, :_NEUTRAL], similarities(vectors), words[:, _NEUTRAL:]], axis=1)


@dataclass(frozen=True, slots=True)
class EmbeddingSegmenter:
    """Cuts where the meaning changes: similarities and the lexical evidence together, and the best partition.

    Args:
        embedder: any embedder; it is given the messages.
        max_length: the longest segment, in turns.
        mean_length: how many turns a segment is expected to have where a turn is one message.
        threshold: the chance above which a gap is cut; lower cuts more.

    Raises:
        InvalidInput: for a length below 1, or a threshold outside 0 and 1.
    """

    embedder: Embedder
    max_length: int = 40
    mean_length: float = 5.0
    threshold: float = 0.36

    cut_every: ClassVar[int] = CUT_EVERY

    def __post_init__(self) -> None:
        check_options(self.max_length, self.mean_length, self.threshold)

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        cuts = self.chances(turns) - self.threshold
        return segments_from(best_partition(cuts, self.max_length), len(turns))

    def chances(self, turns: Sequence[Turn]) -> Floats:
        """The chance of a boundary in each gap, shape ``(len(turns) - 1,)``; turns are exchanges or utterances."""

        def measure(texts: Sequence[str], bags: Sequence[Counter[str]], openings: Places) -> Floats:
            return columns(texts, bags, np.asarray(self.embedder.embed(texts), dtype=np.float64), openings)

        prior = load_prior("embedding_prior.json")
        return boundary_chances(turns, measure, prior, self.mean_length, self.max_length)
