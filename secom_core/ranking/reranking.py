"""How a reranker's word weighs beside the bank's own: who judges, how many candidates, how much, and for how long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..errors import InvalidInput, shorten
from ..indexes.fusion import standardise
from ..protocols import Reranker
from .signals import Column

MADE: Final = (
    "secom_core.models.SentenceTransformerReranker(model), langchain_secom.LangChainReranker(compressor) or "
    "llamaindex_secom.LlamaIndexReranker(postprocessor)"
)
"""How a reranker is made that does not have to be written."""
WANTED: Final = "a function of a query and texts that gives a number for each text, the higher the better"


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker between search and packing, and how far it is followed.

    The candidates that it judges trade places: each gets the score and the relevance of the place that it comes to, so
    that both mean what they mean without a reranker. All others stay below, in their order.

    Args:
        reranker: judges texts for a query, as `secom_core.protocols.Reranker` says; a coroutine function too.
        first: how many candidates it is shown, the best by the bank's own score; 2 at least.
        weight: how much its scores weigh beside the bank's own, each standardised among the candidates that are
            judged: 1 is its order alone.
        timeout: for how many seconds it is waited for; the order is the bank's own after that.

    Raises:
        InvalidInput: an argument is none of its kind, with what was given.
    """

    reranker: Reranker
    first: int = 30
    weight: float = 0.5
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not callable(self.reranker) or isinstance(self.reranker, type):
            raise InvalidInput(f"reranker is {WANTED}, got {shorten(self.reranker)}; make one with {MADE}")
        if type(self.first) is not int or self.first < 2:
            raise InvalidInput(f"first is how many candidates are judged, from 2 on, got {shorten(self.first)}")
        if not _is_number(self.weight) or not 0 < self.weight <= 1:
            raise InvalidInput(
                f"weight is a number above 0 and up to 1, got {shorten(self.weight)}; to rank without a reranker, "
                "leave it out"
            )
        if not _is_number(self.timeout) or not 0 < self.timeout < math.inf:
            raise InvalidInput(f"timeout is a finite number of seconds above 0, got {shorten(self.timeout)}")

    def order(self, own: Sequence[float], judged: Sequence[float]) -> list[int]:
        """The places of the candidates, best first; those that come out even keep their order.

        Args:
            own: the bank's scores, best first.
            judged: the reranker's, of the same candidates.
        """
        mixed = (1 - self.weight) * _standardised(own) + self.weight * _standardised(judged)
        return [int(place) for place in np.argsort(-np.round(mixed, _DIGITS), kind="stable")]


_DIGITS: Final = 9
"""Scores that differ by less come out even."""


def _standardised(scores: Sequence[float]) -> Column:
    column = np.array(scores, dtype=np.float64)
    # Of numbers near the largest, the squares would be infinite.
    return standardise(column / max(float(np.abs(column).max(initial=0.0)), float(np.finfo(np.float64).tiny)))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
