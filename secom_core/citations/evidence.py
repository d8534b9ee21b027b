"""What citations say about the weights of a few signals, as sums that can be added in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..vectors import array_of, text_of
from .held_out import evidence_of_loss
from .plackett_luce import softmax

Array = npt.NDArray[np.float64]

PLACE_SIGNALS: Final = 2
"""How many columns stand for where on the list a memory was shown."""

_MOST: Final = 12.0
"""Signals are clipped here, so that no single turn moves the weights far; a find may stand ten deviations out."""

_RECORD: Final = ("agreed", "judged", "gained", "gained_squares")
"""What `Evidence.record` sums, in order; so it is called in JSON."""


def best_turns(scores: Array, memory: npt.NDArray[np.intp]) -> Array:
    """Each memory's score, which is that of its best turn; shape ``(memories,)``.

    Args:
        scores: of the turns, shape ``(n,)``.
        memory: which memory each turn belongs to, from 0, without gaps; shape ``(n,)``.
    """
    best = np.full(int(memory.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, memory, scores)
    return best


@dataclass(frozen=True)
class Feedback:
    """One answer as numbers: what stood in its prompt, and which of it was cited.

    Args:
        signals: a row a turn, shape ``(n, s)``.
        memory: which memory each turn belongs to, by its place in the prompt from 0, without gaps; shape ``(n,)``.
        cited: for each memory, in order, whether it was cited; neither all nor none.
    """

    signals: Array
    memory: npt.NDArray[np.intp]
    cited: npt.NDArray[np.bool_]

    def agreement(self, weights: Array) -> float:
        """How often what was cited ranks above what was not, ties half (the area under the ROC curve).

        Args:
            weights: of the signals, shape ``(s,)``.
        """
        scores = best_turns(self.signals @ weights, self.memory)
        ahead = scores[self.cited][:, None] - scores[~self.cited][None, :]
        return float((ahead > 0).mean() + 0.5 * (ahead == 0).mean())

    def as_json(self) -> dict[str, Any]:
        """Numbers only; the signals in half precision."""
        signals = text_of(self.signals, "<f2")
        return {"signals": signals, "memory": self.memory.tolist(), "cited": self.cited.astype(int).tolist()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Feedback:
        """What `as_json` gave."""
        memory = np.array(fields["memory"], dtype=np.intp)
        signals = array_of(fields["signals"], "<f2").reshape(len(memory), -1)
        return cls(signals.astype(np.float64), memory, np.array(fields["cited"], dtype=np.bool_))


@dataclass(frozen=True)
class Evidence:
    """Sums over answers. Adding two of them is all that merging takes.

    Args:
        curvature: the sum of the losses' Hessians, shape ``(s + 2, s + 2)``; the last two rows are of the place.
        pull: the sum of Hessian times weights less gradient, shape ``(s + 2,)``.
        record: who cites, shape ``(4,)``: how far citations agreed with the base ranking, as `Feedback.agreement` has
            it; how many answers there were; how much better the weights of the moment agreed with the citations than
            the base does, before they learned from them; and the square of that.
    """

    curvature: Array
    pull: Array
    record: Array

    @classmethod
    def none(cls, signals: int) -> Evidence:
        """No evidence."""
        size = signals + PLACE_SIGNALS
        return cls(np.zeros((size, size)), np.zeros(size), np.zeros(len(_RECORD)))

    @property
    def answers(self) -> float:
        """How many answers there were, or how many they count for."""
        return float(self.record[1])

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.curvature + other.curvature, self.pull + other.pull, self.record + other.record)

    def worth(self, answers: float) -> Evidence:
        """The same evidence, counting for no more than so many answers."""
        share = min(1.0, answers / self.answers) if self.answers > 0 else 0.0
        return Evidence(share * self.curvature, share * self.pull, share * self.record)

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
        agreed, answers, gained, gained_squares = map(float, self.record)
        if answers < 1:
            return 0.0
        lower = agreed / answers - math.sqrt(math.log(20) / (2 * answers))
        agrees = min(max((lower - 0.5) / (full - 0.5), 0.0), 1.0)
        return agrees * max(1 - evidence_of_loss(gained, gained_squares) / math.log(1 / alpha), 0.0)

    def weights(self, base: Array, prior: float) -> Array:
        """The weights with the least loss, as second-order sums know it, pulled to ``base``; shape ``(s,)``.

        Args:
            base: the weights to begin with, shape ``(s,)``.
            prior: how strongly they are pulled, in answers' worth of curvature.
        """
        anchor = np.append(base, np.zeros(PLACE_SIGNALS))
        values, vectors = np.linalg.eigh(self.curvature)
        # Few answers may leave a direction curved the wrong way; there the pull alone holds.
        curved = np.maximum(values, 0.0) + prior
        return np.asarray(vectors @ ((vectors.T @ (self.pull + prior * anchor)) / curved))

    def as_json(self) -> dict[str, Any]:
        """Numbers only."""
        upper = self.curvature[np.triu_indices(len(self.curvature))]
        return {
            "curvature": [float(f"{value:.9g}") for value in upper],
            "pull": [float(f"{value:.9g}") for value in self.pull],
            **dict(zip(_RECORD, self.record.tolist(), strict=True)),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Evidence:
        """What `as_json` gave."""
        pull = np.array(fields["pull"], dtype=np.float64)
        curvature = np.zeros((len(pull), len(pull)))
        curvature[np.triu_indices(len(pull))] = fields["curvature"]
        record = np.array([float(fields.get(name, 0.0)) for name in _RECORD])
        return cls(curvature + np.triu(curvature, 1).T, pull, record)


def places_as_signals(count: int) -> Array:
    """How early and how late each of ``count`` memories stood in the prompt; shape ``(count, 2)``, columns of mean 0.

    Models read the first and the last of a list best. What a place did for a memory is learned with the weights and
    left out of the ranking: a position-bias model (Guo et al., RecSys 2019) rather than inverse propensities, which
    need to know the bias and grow without bound where it is strong.
    """
    order = np.arange(1, count + 1)
    columns = np.stack([1 / order, 1 / order[::-1]], axis=1)
    return np.asarray(columns - columns.mean(axis=0))


def _spread(columns: Array, shares: Array) -> Array:
    return np.asarray((columns * shares[:, None]).T @ columns)


def evidence_of(answer: Feedback, weights: Array, base: Array) -> Evidence:
    """What one answer says, seen from the present weights.

    The loss is the cross-entropy between the softmax of the scores of the turns shown and a spread over what was cited
    (ListNet, Cao et al., ICML 2007, top one): what was not shown does not come in. The spread is even over the
    memories cited. Which of a memory's turns earned it the citation is not said: a memory's chance is the sum of its
    turns'. The curvature is that of this very loss, so what stays unsaid counts for less.

    Args:
        answer: what was shown, and what was cited.
        weights: shape ``(s + 2,)``; the last two are of the place.
        base: the base ranking's weights, shape ``(s,)``.
    """
    memory, memories = answer.memory, len(answer.cited)
    places = places_as_signals(memories)[memory]
    columns = np.hstack([np.clip(answer.signals, -_MOST, _MOST), places])
    chances = np.asarray(softmax(columns @ weights), dtype=np.float64)
    shares = chances / np.bincount(memory, weights=chances, minlength=memories)[memory]
    wanted = np.where(answer.cited, 1 / answer.cited.sum(), 0.0)[memory] * shares
    mean = chances @ columns
    # What turns of one memory differ in is not told apart by its citation.
    means = np.stack([np.bincount(memory, weights=shares * column) for column in columns.T], axis=1)
    curvature = _spread(columns - mean, chances) - _spread(columns - means[memory], wanted)
    pull = curvature @ weights - (mean - wanted @ columns)
    agreed = answer.agreement(base)
    gained = answer.agreement(weights[:-PLACE_SIGNALS]) - agreed
    return Evidence(curvature, pull, np.array([agreed, 1.0, gained, gained**2]))
