"""The signal that is learned by counting: how much oftener than usual a turn was cited where it was shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..processes import ForkLock
from ..ranking import Candidate
from ..stores.sql import SqlStore
from .store import latest, usefulness

USEFULNESS: Final = "usefulness"

_PRIOR: Final = 4.0
"""How many answers it takes before what they cited of a turn says as much as what answers cite in general."""


class Usefulness:
    """How often each turn of a scope was shown and cited, as far as the citation log was followed.

    Args:
        store: where the log is.
        scope_id: the scope.
        epoch: the scope's epoch; after a deletion, all is counted anew.
    """

    def __init__(self, store: SqlStore, scope_id: int, epoch: int) -> None:
        self._store, self._scope_id = store, scope_id
        self._impressions: Counter[str] = Counter()
        self._cited: Counter[str] = Counter()
        self._last = 0
        self._lock = ForkLock()

    def added(self, candidates: Sequence[Candidate], weight: float) -> list[Candidate]:
        """The candidates with this signal, a logarithm, and what it adds to the score, where a turn was ever shown."""
        with self._lock:
            last = latest(self._store, self._scope_id)
            if last > self._last:
                for turn_id, impressions, cited in usefulness(self._store, self._scope_id, self._last, last):
                    self._impressions[turn_id] += impressions
                    self._cited[turn_id] += cited
                self._last = last
            usual = (self._cited.total() + 1) / (self._impressions.total() + 2)
        return [self._added(each, weight, usual) if each.turn.id in self._impressions else each for each in candidates]

    def _added(self, candidate: Candidate, weight: float, usual: float) -> Candidate:
        impressions, cited = self._impressions[candidate.turn.id], self._cited[candidate.turn.id]
        value = math.log((cited + _PRIOR * usual) / ((impressions + _PRIOR) * usual))
        score = candidate.score + weight * value
        return replace(candidate, score=score, signals={**candidate.signals, USEFULNESS: value})
