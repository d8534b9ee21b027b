"""How much each signal of a memory counts: weights that citations move, and that cannot make the ranking worse.

How it learns. An answer cites some of the memories that it was shown. Only these are compared: the weights are to put
what was cited above what was shown and not cited. Each answer adds its gradient and its curvature to sums; the weights
are the minimum of these sums and of a pull to the base weights (Newton's method, online, in information form). Sums can
be added in any order, so answers that come at once in several processes lose nothing. ``benchmarks/learning.py``
compares this with REINFORCE on the same signals.

What keeps it safe:

- *Anchor*: with no evidence the weights are the base weights, and the pull to them never ends.
- *Trust*: citations are believed as far as they agree with the base ranking better than chance would. Who cites at
  random, or the worst, moves nothing. Each answer is foretold before it teaches, by the base and by what was learned:
  where what was learned foretells worse, citations are believed less, and not at all once a sequential test proves it
  (`secom_core.citations.held_out.evidence_of_loss`). This record outlives a fall.
- *Bounds*: on a step, on the distance from the base, and on the size; the scores never become flatter than the base's.
- *Held-out answers*: one answer in four does not teach and is kept, until there are newer ones to test with. Where the
  weights rank these significantly worse than the last good weights (Wilcoxon's signed-rank test), what was learned
  since is thrown away; where they rank them worse than the base does, all of it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import reduce
from operator import add
from statistics import fmean
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..memory import Hit
from ..processes import ForkLock
from ..ranking import Candidate
from .evidence import Array, Evidence, Feedback, best_turns, evidence_of
from .held_out import chance_of_no_fall
from .records import Explanation, Impression, Lesson, LessonKind

_FORMAT: Final = 1
_COUNTS: Final = ("answers", "rollbacks", "resume", "unchecked")
_CHECK_EVERY: Final = 8
"""After how many held-out answers they are asked again: each time is one more chance of a false alarm."""

_FEWEST: Final = 16
"""How many held-out answers it takes to say that citations have gone bad lately."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """How fast and how far a policy may learn.

    Args:
        prior: the pull to the base weights, in answers' worth of curvature.
        full_trust: the agreement of citations with the base ranking from which on they are believed in full.
        step: how far the weights may move with one answer, as a share of the base weights' norm.
        distance: how far they may ever be from the base, as a share of the same.
        size: how much longer than the base weights they may become.
        keep_every: one answer in so many is held out.
        held_out: how many held-out answers are kept, the latest.
        alpha: below which p-value a fall is one, and how likely good citations may ever be taken for bad ones.
    """

    prior: float = 10.0
    full_trust: float = 0.8
    step: float = 0.2
    distance: float = 2.0
    size: float = 2.5
    keep_every: int = 4
    held_out: int = 64
    alpha: float = 0.01


@dataclass(frozen=True)
class PolicyState:
    """All that a policy remembers; a change makes a new one.

    Args:
        evidence: of all answers that taught.
        good: what of it had taught when held-out answers last spoke for the weights.
        weights: as they are now, shape ``(s,)``.
        good_weights: as they were when held-out answers last spoke for them.
        answers: how many were taken in.
        rollbacks: how often what was learned was thrown away.
        resume: after how many answers it learns again.
        unchecked: how many held-out answers have come since they were last asked.
        held_out: answers that have taught nothing yet and are kept to test with, the latest last.
    """

    evidence: Evidence
    good: Evidence
    weights: Array
    good_weights: Array
    answers: int = 0
    rollbacks: int = 0
    resume: int = 0
    unchecked: int = 0
    held_out: tuple[Feedback, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Numbers only."""
        return {
            **{name: getattr(self, name) for name in _COUNTS},
            "weights": self.weights.tolist(),
            "good_weights": self.good_weights.tolist(),
            "evidence": self.evidence.as_json(),
            "good": self.good.as_json(),
            "held": [each.as_json() for each in self.held_out],
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> PolicyState:
        """What `as_json` gave."""
        counts: dict[str, Any] = {name: int(fields[name]) for name in _COUNTS}
        return cls(
            Evidence.from_json(fields["evidence"]),
            Evidence.from_json(fields["good"]),
            np.array(fields["weights"], dtype=np.float64),
            np.array(fields["good_weights"], dtype=np.float64),
            held_out=tuple(map(Feedback.from_json, fields["held"])),
            **counts,
        )


class FusionPolicy:
    """Ranks by the weighted sum of named signals, and learns the weights from citations.

    Safe to use from several threads.

    Args:
        weights: the base: where it starts, and what it is anchored to.
        settings: how fast and how far.
        prior: what other scopes have learned, from `shared_prior`; it is as if this scope had seen it.
        state: to go on from.

    Raises:
        InvalidInput: for no weights, weights that are all 0, or a state of other signals or another format.
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        *,
        settings: PolicySettings | None = None,
        prior: Evidence | None = None,
        state: str | None = None,
    ) -> None:
        if not any(weights.values()):
            raise InvalidInput(f"a policy begins with weights that are not all 0, got {dict(weights)!r}")
        self.base = {name: float(weight) for name, weight in weights.items()}
        """By signal, as they were at first."""
        self._base = np.array(list(self.base.values()))
        self._norm = float(np.linalg.norm(self._base))
        self._settings = settings or PolicySettings()
        self._lock = ForkLock()
        self._state = self._initial(prior) if state is None else self._loaded(state)

    # -- rank -------------------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[str, float]:
        """By signal, as they are now; `ScopeIndex` takes them."""
        return dict(zip(self.base, self._state.weights.tolist(), strict=True))

    @property
    def answers(self) -> int:
        """How many answers were taken in."""
        return self._state.answers

    @property
    def trust(self) -> float:
        """How far the citations are believed, from 0 to 1."""
        return self._trust(self._state)

    @property
    def rollbacks(self) -> int:
        """How often what was learned was thrown away because held-out answers said so."""
        return self._state.rollbacks

    def rescored(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with their scores under the present weights, best first; ties as they came."""
        scores = self._matrix([each.signals for each in candidates]) @ self._state.weights
        scored = [replace(each, score=round(score, 6)) for each, score in zip(candidates, scores.tolist(), strict=True)]
        return sorted(scored, key=lambda each: -each.score)

    def explain(self, scored: Candidate | Hit) -> list[Explanation]:
        """What each signal adds to a candidate's or hit's score, the largest part first."""
        values = self._matrix([scored.signals])[0].tolist()
        rows = zip(self.base, values, self._state.weights.tolist(), self.base.values(), strict=True)
        return sorted((Explanation(*row) for row in rows), key=lambda row: -abs(row.part))

    def _matrix(self, signals: Sequence[Mapping[str, float]]) -> Array:
        values = [[float(each.get(name, 0.0)) for name in self.base] for each in signals]
        return np.array(values, dtype=np.float64).reshape(len(signals), len(self.base))

    # -- learn ------------------------------------------------------------------------------------------------------

    def impression(self, hits: Sequence[Hit], candidates: Iterable[Candidate] = ()) -> Impression:
        """Note what is shown, before the answer comes.

        Args:
            hits: in the order in which they stand in the prompt, numbered.
            candidates: what they were packed from, for the signals of each turn; a hit whose turns are not among them
                counts by its own signals.
        """
        state = self._state
        # Of a turn of which several passages were found, the best one.
        by_turn = {each.turn.id: each.signals for each in reversed(list(candidates))}
        signals = tuple(
            tuple(dict(by_turn[each]) for each in hit.turn_ids if each in by_turn) or (hit.signals,) for hit in hits
        )
        rows, memory = self._rows(signals)
        scores = tuple(best_turns(rows @ state.weights, memory).tolist())
        return Impression(
            uuid.uuid4().hex,
            tuple(hit.number for hit in hits),
            tuple(hit.memory.id for hit in hits),
            tuple(hit.turn_ids for hit in hits),
            signals,
            scores,
            state.answers,
            datetime.now(timezone.utc),
        )

    def _rows(self, signals: Sequence[Sequence[Mapping[str, float]]]) -> tuple[Array, npt.NDArray[np.intp]]:
        """The signals of all turns of memories, and which memory each turn belongs to."""
        rows = [turn for memory in signals for turn in memory]
        return self._matrix(rows), np.repeat(np.arange(len(signals)), [len(memory) for memory in signals])

    def learn(self, impression: Impression, cited: Collection[int]) -> Lesson:
        """Take in which of what was shown an answer cited.

        Args:
            impression: what was shown.
            cited: numbers; those that were not shown do not count.
        """
        # What was shown beside what was found has no signals to learn from.
        found = [
            (number, turns) for number, turns in zip(impression.numbers, impression.signals, strict=True) if any(turns)
        ]
        wanted = np.array([number in cited for number, _ in found], dtype=np.bool_)
        if wanted.all() or not wanted.any():
            return Lesson("nothing")
        answer = Feedback(*self._rows([turns for _, turns in found]), wanted)
        with self._lock:
            kind, self._state = self._learned(self._state, answer)
        return Lesson(kind)

    def _learned(self, state: PolicyState, answer: Feedback) -> tuple[LessonKind, PolicyState]:
        resting = state.answers < state.resume
        state = replace(state, answers=state.answers + 1)
        if state.answers % self._settings.keep_every == 0:
            return "held out", self._checked(self._kept(state, answer))
        return ("resting", state) if resting else ("taught", self._taught(state, answer))

    def _taught(self, state: PolicyState, answer: Feedback) -> PolicyState:
        """With what an answer says, and the weights one bounded step nearer to all that was said."""
        seen_from = state.evidence.weights(self._base, self._settings.prior)
        evidence = state.evidence + evidence_of(answer, seen_from, self._base)
        wanted = self._bounded(replace(state, evidence=evidence))
        step = wanted - state.weights
        length, most = float(np.linalg.norm(step)), self._settings.step * self._norm
        weights = wanted if length <= most else state.weights + step * (most / length)
        return replace(state, evidence=evidence, weights=weights)

    def _kept(self, state: PolicyState, answer: Feedback) -> PolicyState:
        """With one more answer to test with; the one that leaves teaches at last."""
        kept = (*state.held_out, answer)
        for old in kept[: -self._settings.held_out]:
            if state.answers > state.resume:
                state = self._taught(state, old)
        return replace(state, held_out=kept[-self._settings.held_out :], unchecked=state.unchecked + 1)

    # -- stay safe --------------------------------------------------------------------------------------------------

    def _trust(self, state: PolicyState) -> float:
        """What all citations have earned, or the latest held-out ones, whichever is less: a citer may go bad."""
        earned = state.evidence.trust(self._settings.full_trust, self._settings.alpha)
        if len(state.held_out) < _FEWEST:
            return earned
        lately = fmean(each.agreement(self._base) for each in state.held_out)
        return min(earned, max((lately - 0.5) / (self._settings.full_trust - 0.5), 0.0))

    def _bounded(self, state: PolicyState) -> Array:
        learned = state.evidence.weights(self._base, self._settings.prior)[: len(self._base)]
        moved = self._trust(state) * (learned - self._base)
        far = float(np.linalg.norm(moved))
        weights = self._base + moved * min(1.0, self._settings.distance * self._norm / max(far, 1e-12))
        size = float(np.linalg.norm(weights))
        # Flatter scores would leave the packer with nothing but lengths to go by.
        return np.asarray(weights * (np.clip(size, self._norm, self._settings.size * self._norm) / max(size, 1e-12)))

    def _checked(self, state: PolicyState) -> PolicyState:
        """Now and then: back to what was good, or to the base, where held-out answers are ranked worse than by it."""
        if state.unchecked < _CHECK_EVERY:
            return state
        state = replace(state, unchecked=0)
        at_base, at_good, now = (
            [each.agreement(weights) for each in state.held_out]
            for weights in (self._base, state.good_weights, state.weights)
        )
        if chance_of_no_fall(at_base, now) < self._settings.alpha:
            none = Evidence.none(len(self.base))
            return self._rolled_back(replace(state, good=none, good_weights=self._base))
        if chance_of_no_fall(at_good, now) < self._settings.alpha:
            return self._rolled_back(state)
        better = sum(now) >= max(sum(at_good), sum(at_base))
        return replace(state, good=state.evidence, good_weights=state.weights) if better else state

    def _rolled_back(self, state: PolicyState) -> PolicyState:
        # After each fall it waits four times as long before it learns again.
        rest = 2 * self._settings.held_out * 4 ** min(state.rollbacks, 10)
        return replace(
            state,
            evidence=replace(state.good, record=state.evidence.record),
            weights=state.good_weights,
            rollbacks=state.rollbacks + 1,
            resume=state.answers + rest,
        )

    # -- keep -------------------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence:
        """The sums, for `shared_prior`."""
        return self._state.evidence

    def _initial(self, prior: Evidence | None) -> PolicyState:
        evidence = prior or Evidence.none(len(self.base))
        begun = PolicyState(evidence, evidence, self._base, self._base)
        weights = self._bounded(begun)
        return replace(begun, weights=weights, good_weights=weights)

    def state(self) -> str:
        """All of it as JSON: numbers and the signals' names, never words."""
        return json.dumps({"format": _FORMAT, "signals": list(self.base), **self._state.as_json()})

    def _loaded(self, text: str) -> PolicyState:
        fields = json.loads(text)
        found = (fields.get("format"), tuple(fields.get("signals", ())))
        if found != (_FORMAT, tuple(self.base)):
            raise InvalidInput(f"expected the format and signals {(_FORMAT, tuple(self.base))}, got {found}")
        return PolicyState.from_json(fields)


def shared_prior(policies: Iterable[FusionPolicy], *, worth: float = 100.0) -> Evidence | None:
    """What scopes have learned, for a new one to begin with: sums of numbers, without words.

    A scope is a wall, so nothing is shared unless someone calls this.

    Args:
        policies: of the scopes that agree to share; all over the same signals.
        worth: how many of the new scope's own answers it all counts for, at most.

    Returns:
        Nothing where there is nothing to share.
    """
    evidence = [policy.evidence for policy in policies]
    total = reduce(add, evidence) if evidence else None
    return total.worth(worth) if total is not None and total.answers > 0 else None
