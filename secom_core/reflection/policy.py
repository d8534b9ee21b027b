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
  (`secom_core.reflection.held_out.evidence_of_loss`). This record outlives a fall.
- *Bounds*: on a step, on the distance from the base, and on the size; the scores never become flatter than the base's.
- *Held-out answers*: one answer in four does not teach and is kept, until there are newer ones to test with. Where the
  weights rank these significantly worse than the last good weights (Wilcoxon's signed-rank test), what was learned
  since is thrown away; where they rank them worse than the base does, all of it.
- *Reset* and *freeze*.
"""

from __future__ import annotations

import base64
import json
import threading
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from statistics import fmean
from typing import Any, Final, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..conversation import Turn
from ..errors import InvalidInput
from ..memory import Decision, Hit
from .evidence import Evidence, Shown, evidence_of
from .held_out import chance_of_no_fall

__all__ = [
    "Decision",
    "Explanation",
    "FusionPolicy",
    "Lesson",
    "LessonKind",
    "PolicySettings",
    "Scored",
    "shared_prior",
]

Array = npt.NDArray[np.float64]

LessonKind = Literal["taught", "held out", "resting", "nothing", "known"]
"""What came of an answer; see `Lesson`."""

_FORMAT: Final = 1
_CHECK_EVERY: Final = 8
"""After how many held-out answers they are asked again: each time is one more chance of a false alarm."""

_FEWEST_HELD: Final = 16
"""How many held-out answers it takes to say that citations have gone bad lately."""


class Scored(Protocol):
    """What a policy ranks: `secom_core.ranking.Candidate`, or a `Hit`; a frozen dataclass."""

    @property
    def score(self) -> float:
        """Higher is better."""
        ...

    @property
    def signals(self) -> Mapping[str, float]:
        """What speaks for it, by name."""
        ...


_Scored = TypeVar("_Scored", bound=Scored)


class _Found(Scored, Protocol):
    """A scored turn: `secom_core.ranking.Candidate`."""

    @property
    def turn(self) -> Turn: ...


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
        held: how many held-out answers are kept, the latest.
        alpha: below which p-value a fall is one, and how likely good citations may ever be taken for bad ones.
    """

    prior: float = 10.0
    full_trust: float = 0.8
    step: float = 0.2
    distance: float = 2.0
    size: float = 2.5
    keep_every: int = 4
    held: int = 64
    alpha: float = 0.01


@dataclass(frozen=True)
class HeldOut:
    """An answer that has taught nothing yet and is kept to test with."""

    shown: Shown
    cited: tuple[bool, ...]

    def reward(self, weights: Array) -> float:
        """How often a memory that it cited ranks above one that it did not."""
        return self.shown.agreement(weights, self.cited) or 0.0


@dataclass(frozen=True)
class Lesson:
    """What one answer teaches: an addition to the policy's state, good for any later version of it.

    Args:
        kind: ``"taught"``; ``"held out"``; ``"resting"`` for a while after what was learned was thrown away;
            ``"nothing"`` where all that was shown was cited, or none, and while the policy is frozen; or ``"known"``
            where a bank has taken in the same answer before.
        evidence: what is added to the sums, where it teaches.
        held: what is kept, where it is held out.
    """

    kind: LessonKind
    evidence: Evidence | None = None
    held: HeldOut | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One signal's part in a score.

    Args:
        signal: its name.
        value: of the memory at hand.
        weight: what it counts for now.
        base: what it counted for before anything was learned.
    """

    signal: str
    value: float
    weight: float
    base: float

    @property
    def part(self) -> float:
        """What it adds to the score."""
        return self.value * self.weight


@dataclass(frozen=True)
class _State:
    """All that a policy remembers; a new one a change."""

    evidence: Evidence
    good: Evidence
    weights: Array
    good_weights: Array
    version: int = 0
    answers: int = 0
    rollbacks: int = 0
    resume: int = 0
    unchecked: int = 0
    frozen: bool = False
    held: tuple[HeldOut, ...] = ()


class FusionPolicy:
    """Ranks by the weighted sum of named signals, and learns the weights from citations.

    Safe to use from several threads. Between processes, keep `state` in a store under its `version`: who finds another
    version there than it read applies its lessons to that one (see `apply`).

    Args:
        weights: the base: where it starts, what it is anchored to, and what `reset` goes back to.
        settings: how fast and how far.
        prior: what other scopes have learned, from `shared_prior`; it is as if this scope had seen it, and goes with a
            reset.
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
        self._names = tuple(weights)
        self._base = np.array([float(weights[name]) for name in self._names])
        self._norm = float(np.linalg.norm(self._base))
        self._settings = settings or PolicySettings()
        self._lock = threading.Lock()
        self._state = self._first(prior) if state is None else self._read(state)

    # -- rank -------------------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[str, float]:
        """By signal, as they are now; `ScopeIndex` takes them."""
        return dict(zip(self._names, self._state.weights.tolist(), strict=True))

    @property
    def base(self) -> dict[str, float]:
        """By signal, as they were at first."""
        return dict(zip(self._names, self._base.tolist(), strict=True))

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._state.version

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

    def rescored(self, candidates: Iterable[_Scored]) -> list[_Scored]:
        """The candidates with their scores under the present weights, best first; ties as they came."""
        each = list(candidates)
        scores = self._matrix([one.signals for one in each]) @ self._state.weights
        scored = [
            replace(one, score=round(score, 6))  # type: ignore[type-var]
            for one, score in zip(each, scores.tolist(), strict=True)
        ]
        return sorted(scored, key=lambda one: -one.score)

    def explain(self, scored: Scored) -> list[Explanation]:
        """What each signal adds to a candidate's or hit's score, the largest part first."""
        state = self._state
        values = self._matrix([scored.signals])[0].tolist()
        rows = zip(self._names, values, state.weights.tolist(), self._base.tolist(), strict=True)
        return sorted((Explanation(*row) for row in rows), key=lambda row: -abs(row.part))

    def _matrix(self, signals: Sequence[Mapping[str, float]]) -> Array:
        values = [[float(each.get(name, 0.0)) for name in self._names] for each in signals]
        return np.array(values, dtype=np.float64).reshape(len(signals), len(self._names))

    # -- learn ------------------------------------------------------------------------------------------------------

    def decision(
        self, hits: Sequence[Hit], candidates: Iterable[_Found] = (), *, at: datetime | None = None
    ) -> Decision:
        """Note what is shown, before the answer comes.

        Args:
            hits: in the order in which they stand in the prompt, numbered.
            candidates: what they were packed from, for the signals of each turn; a hit whose turns are not among them
                counts by its own signals.
            at: when; now unless given.
        """
        state = self._state
        by_turn = {each.turn.id: each.signals for each in candidates}
        signals = tuple(
            tuple(by_turn[turn_id] for turn_id in hit.turn_ids if turn_id in by_turn) or (hit.signals,) for hit in hits
        )
        scores = tuple(self._shown(signals).best(state.weights).tolist())
        return Decision(
            uuid.uuid4().hex,
            tuple(hit.number for hit in hits),
            tuple(hit.memory.id for hit in hits),
            tuple(hit.turn_ids for hit in hits),
            signals,
            scores,
            state.version,
            at or datetime.now(timezone.utc),
        )

    def _shown(self, signals: Sequence[Sequence[Mapping[str, float]]]) -> Shown:
        rows = [turn for memory in signals for turn in memory]
        return Shown(self._matrix(rows), np.repeat(np.arange(len(signals)), [len(memory) for memory in signals]))

    def learn(self, decision: Decision, cited: Collection[int]) -> Lesson:
        """Take in which of what was shown an answer cited.

        Args:
            decision: what was shown.
            cited: numbers; those that were not shown do not count.
        """
        with self._lock:
            lesson = self._lesson(decision, cited)
            self._apply(lesson)
        return lesson

    def apply(self, lesson: Lesson) -> None:
        """Add a lesson that a policy at another version of the same state has learned."""
        with self._lock:
            self._apply(lesson)

    def _lesson(self, decision: Decision, cited: Collection[int]) -> Lesson:
        state = self._state
        wanted = set(cited)
        chosen = tuple(number in wanted for number in decision.numbers)
        if state.frozen or all(chosen) or not any(chosen):
            return Lesson("nothing")
        shown = self._shown(decision.signals)
        answer = HeldOut(shown, chosen)
        if (state.answers + 1) % self._settings.keep_every == 0:
            return Lesson("held out", held=answer)
        if state.answers < state.resume:
            return Lesson("resting")
        return Lesson("taught", self._said_by(answer, state))

    def _apply(self, lesson: Lesson) -> None:
        state = self._state
        if state.frozen or lesson.kind == "nothing":
            return
        state = replace(state, version=state.version + 1, answers=state.answers + 1)
        if lesson.evidence is not None and state.answers > state.resume:
            state = self._moved(replace(state, evidence=state.evidence + lesson.evidence))
        if lesson.held is not None:
            state = self._kept(state, lesson.held)
        if state.unchecked >= _CHECK_EVERY:
            state = self._checked(replace(state, unchecked=0))
        self._state = state

    def _kept(self, state: _State, held: HeldOut) -> _State:
        """With one more answer to test with; the one that leaves teaches at last."""
        kept = (*state.held, held)
        for old in kept[: -self._settings.held]:
            if state.answers > state.resume:
                state = self._moved(replace(state, evidence=state.evidence + self._said_by(old, state)))
        return replace(state, held=kept[-self._settings.held :], unchecked=state.unchecked + 1)

    def _said_by(self, answer: HeldOut, state: _State) -> Evidence:
        seen_from = state.evidence.weights(self._base, self._settings.prior)
        return evidence_of(answer.shown, answer.cited, seen_from, self._base)

    # -- stay safe --------------------------------------------------------------------------------------------------

    def _moved(self, state: _State) -> _State:
        """The weights, one bounded step nearer to what the evidence says."""
        wanted = self._bounded(state)
        step = wanted - state.weights
        length = float(np.linalg.norm(step))
        most = self._settings.step * self._norm
        return replace(state, weights=wanted if length <= most else state.weights + step * (most / length))

    def _trust(self, state: _State) -> float:
        """What all citations have earned, or the latest held-out ones, whichever is less: a citer may go bad."""
        earned = state.evidence.trust(self._settings.full_trust, self._settings.alpha)
        if len(state.held) < _FEWEST_HELD:
            return earned
        lately = fmean(each.reward(self._base) for each in state.held)
        return min(earned, max((lately - 0.5) / (self._settings.full_trust - 0.5), 0.0))

    def _bounded(self, state: _State) -> Array:
        learned = state.evidence.weights(self._base, self._settings.prior)[: len(self._base)]
        moved = self._trust(state) * (learned - self._base)
        far = float(np.linalg.norm(moved))
        weights = self._base + moved * min(1.0, self._settings.distance * self._norm / max(far, 1e-12))
        size = float(np.linalg.norm(weights))
        # Flatter scores would leave the packer with nothing but lengths to go by.
        return np.asarray(weights * (np.clip(size, self._norm, self._settings.size * self._norm) / max(size, 1e-12)))

    def _checked(self, state: _State) -> _State:
        """Back to what was good, or to the base, where held-out answers are ranked worse than by it."""
        at_base, at_good, now = (
            [each.reward(weights) for each in state.held] for weights in (self._base, state.good_weights, state.weights)
        )
        if chance_of_no_fall(at_base, now) < self._settings.alpha:
            none = Evidence.none(len(self._names))
            return self._rolled_back(replace(state, good=none, good_weights=self._base))
        if chance_of_no_fall(at_good, now) < self._settings.alpha:
            return self._rolled_back(state)
        better = sum(now) >= max(sum(at_good), sum(at_base))
        return replace(state, good=state.evidence, good_weights=state.weights) if better else state

    def _rolled_back(self, state: _State) -> _State:
        # After each fall it waits four times as long before it learns again.
        rest = 2 * self._settings.held * 4 ** min(state.rollbacks, 10)
        return replace(
            state,
            evidence=state.good.with_record_of(state.evidence),
            weights=state.good_weights,
            rollbacks=state.rollbacks + 1,
            resume=state.answers + rest,
        )

    def freeze(self) -> None:
        """Learn nothing more, and keep the weights as they are."""
        self._set_frozen(True)

    def unfreeze(self) -> None:
        """Learn again."""
        self._set_frozen(False)

    def _set_frozen(self, frozen: bool) -> None:
        with self._lock:
            self._state = replace(self._state, frozen=frozen, version=self._state.version + 1)

    @property
    def frozen(self) -> bool:
        """Whether it learns nothing."""
        return self._state.frozen

    def reset(self) -> None:
        """Forget all that was learned: the base weights hold again."""
        with self._lock:
            self._state = replace(self._first(None), version=self._state.version + 1, frozen=self._state.frozen)

    # -- keep -------------------------------------------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence:
        """The sums, for `shared_prior`."""
        return self._state.evidence

    def _first(self, prior: Evidence | None) -> _State:
        evidence = prior or Evidence.none(len(self._names))
        begun = _State(evidence, evidence, self._base, self._base)
        weights = self._bounded(begun)
        return replace(begun, weights=weights, good_weights=weights)

    def state(self) -> str:
        """All of it as JSON: numbers and the signals' names, never words."""
        state = self._state
        return json.dumps(
            {
                "format": _FORMAT,
                "signals": list(self._names),
                "version": state.version,
                "answers": state.answers,
                "rollbacks": state.rollbacks,
                "resume": state.resume,
                "unchecked": state.unchecked,
                "frozen": state.frozen,
                "weights": state.weights.tolist(),
                "good_weights": state.good_weights.tolist(),
                "evidence": state.evidence.as_json(),
                "good": state.good.as_json(),
                "held": [_held_as_json(each) for each in state.held],
            }
        )

    def _read(self, text: str) -> _State:
        read = json.loads(text)
        found = (read.get("format"), tuple(read.get("signals", ())))
        if found != (_FORMAT, self._names):
            raise InvalidInput(f"expected the format and signals {(_FORMAT, self._names)}, got {found}")
        return _State(
            Evidence.from_json(read["evidence"]),
            Evidence.from_json(read["good"]),
            np.array(read["weights"], dtype=np.float64),
            np.array(read["good_weights"], dtype=np.float64),
            int(read["version"]),
            int(read["answers"]),
            int(read["rollbacks"]),
            int(read["resume"]),
            int(read["unchecked"]),
            bool(read["frozen"]),
            tuple(map(_held_from_json, read["held"])),
        )


def shared_prior(policies: Iterable[FusionPolicy], *, worth: float = 100.0) -> Evidence | None:
    """What scopes have learned, for a new one to begin with: sums of numbers, without words.

    A scope is a wall, so nothing is shared unless someone calls this.

    Args:
        policies: of the scopes that agree to share; all over the same signals.
        worth: how many of the new scope's own answers it all counts for, at most.

    Returns:
        Nothing where there is nothing to share.
    """
    total: Evidence | None = None
    for policy in policies:
        total = policy.evidence if total is None else total + policy.evidence
    return total.worth(worth) if total is not None and total.judged > 0 else None


def _held_as_json(held: HeldOut) -> dict[str, Any]:
    signals = base64.b64encode(held.shown.signals.astype("<f2").tobytes()).decode()
    return {"signals": signals, "memory": held.shown.memory.tolist(), "cited": [int(each) for each in held.cited]}


def _held_from_json(read: Mapping[str, Any]) -> HeldOut:
    memory = np.array(read["memory"], dtype=np.intp)
    signals = np.frombuffer(base64.b64decode(read["signals"]), dtype="<f2").reshape(len(memory), -1)
    return HeldOut(Shown(signals.astype(np.float64), memory), tuple(map(bool, read["cited"])))
