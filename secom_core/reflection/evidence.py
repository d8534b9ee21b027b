"""What citations say about the weights of a few signals, as sums that can be added in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .held_out import evidence_of_loss
from .plackett_luce import softmax

__all__ = ["Evidence", "Shown", "agreement", "evidence_of", "places_as_signals"]

Array = npt.NDArray[np.float64]

PLACE_SIGNALS: Final = 2
"""How many columns stand for where on the list a memory was shown."""

_MOST: Final = 12.0
"""Signals are clipped here, so that no single turn moves the weights far; a find may stand ten deviations out."""

_RECORD: Final = ("answers", "agreed", "judged", "gained", "gained_squares")
"""What is summed beside the curvature and the pull."""


@dataclass(frozen=True)
class Shown:
    """What stood in the prompt, by numbers.

    Args:
        signals: a row a turn, shape ``(n, s)``.
        memory: which memory each turn belongs to, by its place in the prompt from 0, without gaps; shape ``(n,)``.
    """

    signals: Array
    memory: npt.NDArray[np.intp]

    @property
    def memories(self) -> int:
        """How many there are."""
        return int(self.memory.max(initial=-1)) + 1

    def best(self, weights: Array) -> Array:
        """Each memory's score, which is that of its best turn; shape ``(memories,)``."""
        scores = np.full(self.memories, -np.inf)
        np.maximum.at(scores, self.memory, self.signals @ weights)
        return scores

    def agreement(self, weights: Array, cited: Sequence[bool] | npt.NDArray[np.bool_]) -> float | None:
        """How often a cited memory ranks above one that is not; see `agreement`."""
        return agreement(self.best(weights), cited)


@dataclass(frozen=True)
class Evidence:
    """Sums over answers. Adding two of them is all that merging takes.

    Args:
        curvature: the sum of the losses' Hessians, shape ``(s + 2, s + 2)``; the last two rows are of the place.
        pull: the sum of Hessian times weights less gradient, shape ``(s + 2,)``.
        answers: how many answers taught.
        agreed: the sum over answers of how far citations agreed with the base ranking, as `agreement` has it.
        judged: how many answers ``agreed`` is the sum of.
        gained: the sum over answers of how much better the weights of that moment agreed with the citations than the
            base does, before they learned from them.
        gained_squares: the sum of the squares of the same.
    """

    curvature: Array
    pull: Array
    answers: float = 0.0
    agreed: float = 0.0
    judged: float = 0.0
    gained: float = 0.0
    gained_squares: float = 0.0

    @classmethod
    def none(cls, signals: int) -> Evidence:
        """No evidence."""
        size = signals + PLACE_SIGNALS
        return cls(np.zeros((size, size)), np.zeros(size))

    def __add__(self, other: Evidence) -> Evidence:
        return self._with(other, 1.0)

    def __sub__(self, other: Evidence) -> Evidence:
        return self._with(other, -1.0)

    def _with(self, other: Evidence, sign: float) -> Evidence:
        return Evidence(
            self.curvature + sign * other.curvature,
            self.pull + sign * other.pull,
            self.answers + sign * other.answers,
            self.agreed + sign * other.agreed,
            self.judged + sign * other.judged,
            self.gained + sign * other.gained,
            self.gained_squares + sign * other.gained_squares,
        )

    def worth(self, answers: float) -> Evidence:
        """The same evidence, counting for no more than so many answers."""
        share = min(1.0, answers / self.judged) if self.judged > 0 else 0.0
        return Evidence.none(len(self.pull) - PLACE_SIGNALS)._with(self, share)

    def with_record_of(self, other: Evidence) -> Evidence:
        """This evidence of the weights, with the other's record of who cites."""
        return replace(
            self,
            agreed=other.agreed,
            judged=other.judged,
            gained=other.gained,
            gained_squares=other.gained_squares,
        )

    @property
    def mean_agreement(self) -> float:
        """How often what was cited stood above what was not, in the base ranking; ½ where nothing was judged."""
        return self.agreed / self.judged if self.judged > 0 else 0.5

    def trust(self, full: float, alpha: float = 0.01) -> float:
        """How far the citations are believed, from 0 to 1.

        Who cites at random agrees with the base ranking half of the time, and who cites the worst less. So belief
        grows with the agreement, from 0 at ½ to 1 at ``full``, at the lower end of its interval of confidence
        (Hoeffding 1963, one-sided, 95 per cent). Who agrees with the base, but teaches weights that foretell his next
        citations worse than the base does, is believed less the surer that is, and not at all once it is proven
        (`evidence_of_loss`).

        Args:
            full: the agreement from which on citations are believed in full.
            alpha: the chance that a good citer is ever taken for a bad one.
        """
        if self.judged < 1:
            return 0.0
        lower = self.mean_agreement - math.sqrt(math.log(20) / (2 * self.judged))
        agrees = min(max((lower - 0.5) / (full - 0.5), 0.0), 1.0)
        return agrees * max(1 - evidence_of_loss(self.gained, self.gained_squares) / math.log(1 / alpha), 0.0)

    def weights(self, base: Array, prior: float) -> Array:
        """The weights with the least loss, as second-order sums know it, pulled to ``base``; shape ``(s,)``.

        Args:
            base: the weights to begin with, shape ``(s,)``.
            prior: how strongly they are pulled, in answers' worth of curvature.
        """
        anchor = np.append(base, np.zeros(PLACE_SIGNALS))
        values, vectors = np.linalg.eigh(self.curvature)
        # Few answers may leave a direction curved the wrong way; there the pull alone holds.
        held = np.maximum(values, 0.0) + prior
        return np.asarray(vectors @ ((vectors.T @ (self.pull + prior * anchor)) / held))

    def as_json(self) -> dict[str, Any]:
        """Numbers only."""
        upper = self.curvature[np.triu_indices(len(self.curvature))]
        return {
            "curvature": [float(f"{value:.9g}") for value in upper],
            "pull": [float(f"{value:.9g}") for value in self.pull],
            "answers": self.answers,
            "agreed": self.agreed,
            "judged": self.judged,
            "gained": self.gained,
            "gained_squares": self.gained_squares,
        }

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Evidence:
        """What `as_json` gave."""
        pull = np.array(read["pull"], dtype=np.float64)
        curvature = np.zeros((len(pull), len(pull)))
        curvature[np.triu_indices(len(pull))] = read["curvature"]
        whole = curvature + np.triu(curvature, 1).T
        record = (float(read.get(name, 0.0)) for name in _RECORD)
        return cls(whole, pull, *record)


def places_as_signals(count: int) -> Array:
    """How early and how late each of ``count`` memories stood in the prompt; shape ``(count, 2)``, columns of mean 0.

    Models read the first and the last of a list best. What a place did for a memory is learned with the weights and
    left out of the ranking: a position-bias model (Guo et al., RecSys 2019) rather than inverse propensities, which
    need to know the bias and grow without bound where it is strong.
    """
    order = np.arange(1, count + 1)
    columns = np.stack([1 / order, 1 / order[::-1]], axis=1)
    return np.asarray(columns - columns.mean(axis=0)) if count else np.zeros((0, PLACE_SIGNALS))


def agreement(scores: Array, cited: Sequence[bool] | npt.NDArray[np.bool_]) -> float | None:
    """How often what was cited scores above what was shown and not cited, ties half (the area under the ROC curve).

    Returns:
        From 0 to 1; nothing where all was cited or none.
    """
    chosen = np.asarray(cited, dtype=bool)
    if not chosen.any() or chosen.all():
        return None
    ahead = scores[chosen][:, None] - scores[~chosen][None, :]
    return float((ahead > 0).mean() + 0.5 * (ahead == 0).mean())


def _spread(columns: Array, shares: Array) -> Array:
    return np.asarray((columns * shares[:, None]).T @ columns)


def evidence_of(shown: Shown, cited: Sequence[bool] | npt.NDArray[np.bool_], weights: Array, base: Array) -> Evidence:
    """What one answer says, seen from the present weights.

    The loss is the cross-entropy between the softmax of the scores of the turns shown and a spread over what was cited
    (ListNet, Cao et al., ICML 2007, top one): what was not shown does not come in. The spread is even over the
    memories cited. Which of a memory's turns earned it the citation is not said: a memory's chance is the sum of its
    turns'. The curvature is that of this very loss, so what stays unsaid counts for less.

    Args:
        shown: the turns.
        cited: which memories were cited; neither all nor none.
        weights: shape ``(s + 2,)``; the last two are of the place.
        base: the base ranking's weights, shape ``(s,)``.
    """
    chosen = np.asarray(cited, dtype=bool)
    places = places_as_signals(shown.memories)[shown.memory]
    columns = np.hstack([np.clip(shown.signals, -_MOST, _MOST), places])
    chances = np.asarray(softmax(columns @ weights), dtype=np.float64)
    of_memory = np.bincount(shown.memory, weights=chances, minlength=shown.memories)
    shares = chances / of_memory[shown.memory]
    wanted = np.where(chosen, 1 / chosen.sum(), 0.0)[shown.memory] * shares
    mean = chances @ columns
    # What turns of one memory differ in is not told apart by its citation.
    means = np.stack([np.bincount(shown.memory, weights=shares * column) for column in columns.T], axis=1)
    apart = columns - means[shown.memory]
    curvature = _spread(columns - mean, chances) - _spread(apart, wanted)
    agreed = shown.agreement(base, chosen) or 0.0
    gained = (shown.agreement(weights[:-PLACE_SIGNALS], chosen) or 0.0) - agreed
    pull = curvature @ weights - (mean - wanted @ columns)
    return Evidence(curvature, pull, 1.0, agreed, 1.0, gained, gained**2)
