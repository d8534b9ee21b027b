"""Segments from words alone: no model, any script.

Each gap is judged by how the words on both sides hang together (`cohesion`), by who asks and how long messages are
(`cues.form`), and, where people speak English, by small words that open and close matters (`cues.word_kinds`).
`evidence` weighs it; ``benchmarks/fit_priors.py`` fitted the weights in ``lexical_prior.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from ..conversation import Turn
from ..memory import Segment, segments_from
from .cohesion import COHESION, Places, cohesion
from .cues import FORM, WORDS, form, word_kinds
from .evidence import boundary_chances, load_prior
from .partition import CUT_EVERY, Floats, best_partition, check_options

COLUMNS: Final = (*COHESION, *FORM, *WORDS)
"""What is measured at each gap; the first two groups need no language."""


def columns(texts: Sequence[str], bags: Sequence[Counter[str]], openings: Places | None = None) -> Floats:
    """The measures at each gap between messages, shape ``(len(texts) - 1, len(COLUMNS))``; see `cues.form`."""
    return np.concatenate([cohesion(bags), form(texts, openings), word_kinds(texts)], axis=1)


@dataclass(frozen=True, slots=True)
class LexicalSegmenter:
    """Cuts where the words change, and where questions and small words of opening and closing say that a matter ends.

    Args:
        max_length: the longest segment, in turns.
        mean_length: how many turns a segment is expected to have where a turn is one message; where it is an exchange,
            fewer are expected. Weak against clear evidence.
        threshold: the chance above which a gap is cut; lower cuts more.

    Raises:
        InvalidInput: for a length below 1, or a threshold outside 0 and 1.
    """

    max_length: int = 40
    mean_length: float = 5.0
    threshold: float = 0.33

    cut_every: ClassVar[int] = CUT_EVERY

    def __post_init__(self) -> None:
        check_options(self.max_length, self.mean_length, self.threshold)

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        cuts = self.chances(turns) - self.threshold
        return segments_from(best_partition(cuts, self.max_length), len(turns))

    def chances(self, turns: Sequence[Turn]) -> Floats:
        """The chance of a boundary in each gap, shape ``(len(turns) - 1,)``; turns are exchanges or utterances."""
        prior = load_prior("lexical_prior.json")
        return boundary_chances(turns, columns, prior, self.mean_length, self.max_length)
