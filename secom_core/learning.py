"""What each scope has learned from citations: its weights, kept in the store with the answers that taught them (RMM).

`CitationLearning` ranks what a search has found by a scope's own weights, notes what is shown, and takes in what an
answer cites. All that it holds in memory can be read again from the store; the weights themselves can be learned again
from the answers there, which is what happens after a deletion.
"""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import Final

import numpy as np

from .errors import InvalidInput, StoreError
from .memory import Decision, Hit, Memory
from .protocols import Vectors
from .ranking import Candidate
from .reflection.citations import Citations
from .reflection.evidence import Evidence
from .reflection.policy import Explanation, FusionPolicy, Lesson, LessonKind, PolicySettings, shared_prior
from .reflection.reranker import Draw, Reranker
from .stores.citations import RANKING, CitationRow, clear, latest, learned_version, rows, states, take_in, usefulness
from .stores.sql import FROZEN, ScopeRow, SqlStore

__all__ = [
    "CitationEntry",
    "CitationLearning",
    "Learned",
    "LearningOptions",
    "Prior",
    "Ranking",
    "RerankerOptions",
    "learned_weights",
]

_RERANKER: Final = "reranker"
_USEFULNESS: Final = "usefulness"
_SHOWN_ALREADY: Final = 4.0
"""How many answers it takes before what they cited of a turn says as much as what answers cite in general."""

_TAUGHT: Final = frozenset({"taught", "held out", "resting"})

_Teach = Callable[[str | None], tuple[LessonKind, str | None]]
VectorsOf = Callable[[Sequence[Memory]], Vectors | None]
Prior = Mapping[tuple[str, ...], Evidence]
"""What other scopes have learned, by the names of the signals."""


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """RMM's own reranker over vectors, in place of the policy over signals; the defaults are the paper's (A.1).

    Args:
        candidates: K, how many memories it looks at.
        top: M, how many it chooses.
        explore: draw them with noise, so that something can be learned; else the best are taken.
        temperature: tau of the softmax.
        baseline: b, what a reward is compared with.
        learning_rate: eta.
        batch: how many answers an update averages.
        bound: how large the Frobenius norm of either matrix may become; any, as in the paper, where ``None``.
        seed: of the noise and the draws.
    """

    candidates: int = 20
    top: int = 5
    explore: bool = True
    temperature: float = 0.5
    baseline: float = 0.5
    learning_rate: float = 1e-3
    batch: int = 4
    bound: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.top <= self.candidates:
            raise InvalidInput(f"a reranker chooses at least 1 and at most all of its candidates, got {self}")

    def reranker(self, dimensions: int) -> Reranker:
        """A reranker that has learned nothing yet."""
        return Reranker(
            dimensions,
            top=self.top,
            temperature=self.temperature,
            baseline=self.baseline,
            learning_rate=self.learning_rate,
            batch=self.batch,
            bound=self.bound,
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True)
class LearningOptions:
    """How a bank learns from citations.

    Args:
        policy: how fast and how far the weights of the signals may move.
        prior: what other scopes have learned, for new ones to begin with (`MemoryBank.shared_prior`).
        reranker: learn the paper's reranker instead; it needs an embedder.
    """

    policy: PolicySettings = field(default_factory=PolicySettings)
    prior: Prior = field(default_factory=dict, hash=False)
    reranker: RerankerOptions | None = None


@dataclass(frozen=True, slots=True)
class CitationEntry:
    """An answer in the log.

    Args:
        id: that of the decision what to show.
        query: what was asked; nothing where something of the scope was forgotten since, which the words may repeat.
        numbers: what the memories were cited by, in the order in which they were shown.
        memory_ids: the memories, in the same order.
        turn_ids: the turns of each that were shown.
        cited: the numbers that the answer cited; none where it said that no memory was of use.
        version: of the weights that chose.
        lesson: what came of it, as `secom_core.reflection.policy.Lesson` has it.
        at: when it was taken in.
    """

    id: str
    query: str | None
    numbers: tuple[int, ...]
    memory_ids: tuple[str, ...]
    turn_ids: tuple[tuple[str, ...], ...]
    cited: tuple[int, ...]
    version: int
    lesson: str
    at: datetime

    @property
    def reward(self) -> float:
        """The share of what was shown that was cited."""
        return len(self.cited) / len(self.numbers) if self.numbers else 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """What a scope has learned.

    Args:
        weights: by signal, as they are now.
        base: by signal, as they were at first.
        answers: how many answers were taken in.
        trust: how far the citations are believed, from 0 to 1.
        rollbacks: how often what was learned was thrown away because held-out answers said so.
        updates: how many batches the paper's reranker has learned from.
        frozen: whether nothing more is learned.
    """

    weights: Mapping[str, float] = field(hash=False)
    base: Mapping[str, float] = field(hash=False)
    answers: int
    trust: float
    rollbacks: int
    updates: int
    frozen: bool


@dataclass(frozen=True)
class Ranking:
    """What a search found, in the scope's own order.

    Args:
        candidates: best first.
        policy: what scores them.
        epoch: of the scope.
        draw: what the paper's reranker chose, where it did, and ``drawn``, the memories it chose from.
    """

    candidates: list[Candidate]
    policy: FusionPolicy
    epoch: int
    draw: Draw | None = None
    drawn: tuple[str, ...] = ()

    def decision(self, hits: Sequence[Hit]) -> Decision:
        """Note what is shown."""
        noted = replace(self.policy.decision(hits, self.candidates), epoch=self.epoch)
        if self.draw is None:
            return noted
        scores = _scores(self.draw, self.drawn, noted)
        return replace(noted, scores=scores, draw=_arranged(self.draw, self.drawn, noted.memory_ids))


class CitationLearning:
    """The scopes' weights.

    Args:
        store: where they are kept, and the answers that taught them.
        options: how they learn.
        bases: the weights to begin with, for each set of signals that a search may come with.
        size: how many scopes' weights are held ready; the least recently used are dropped first.
    """

    def __init__(
        self,
        store: SqlStore,
        options: LearningOptions,
        *,
        bases: Sequence[Mapping[str, float]],
        size: int = 1000,
    ) -> None:
        self._store = store
        self._options = options
        known = [{**base, _USEFULNESS: 0.0} for base in bases]
        self._bases = {_part(base): base for base in known}
        self._main = _part(known[0])
        self._size = size
        self._scopes: OrderedDict[tuple[int, int], _Scope] = OrderedDict()
        self._lock = threading.Lock()

    # -- rank -------------------------------------------------------------------------------------------------------

    def weights(self, row: ScopeRow, base: Mapping[str, float]) -> Mapping[str, float]:
        """What the scope has learned of these signals, for a search to score by; usefulness comes with `ranking`."""
        if self._options.reranker is not None:
            return base
        learned = self._policy(row, _part(base)).weights
        return {name: learned[name] for name in base}

    def ranking(
        self,
        row: ScopeRow,
        candidates: Sequence[Candidate],
        vector: Vectors | None = None,
        vectors_of: VectorsOf | None = None,
        *,
        scored: bool = False,
        explore: bool = True,
    ) -> Ranking:
        """What a search has found, in the order that the scope has learned.

        Args:
            row: the scope.
            candidates: best first, with their signals.
            vector: the query's, for the paper's reranker.
            vectors_of: gives the memories' keys' vectors, for the same.
            scored: whether the search has scored them by `weights`.
            explore: whether the paper's reranker may draw.
        """
        useful = self._scope(row).usefulness(self._store)
        policy = self._policy(row, _part(candidates[0].signals) if candidates else self._main)
        counts = policy.weights[_USEFULNESS] if scored and self._options.reranker is None else 0.0
        told = [useful.told(each, counts) for each in candidates]
        found = Ranking(told, policy, row.epoch)
        if self._options.reranker is not None:
            return self._reranked(row, found, vector, vectors_of, explore)
        if policy.weights == policy.base:
            return found
        ordered = sorted(told, key=lambda each: -each.score) if scored else policy.rescored(told)
        return replace(found, candidates=ordered)

    def _reranked(
        self, row: ScopeRow, found: Ranking, vector: Vectors | None, vectors_of: VectorsOf | None, explore: bool
    ) -> Ranking:
        options = self._options.reranker
        memories = list({each.memory.id: each.memory for each in found.candidates}.values())
        held = vectors_of(memories[: options.candidates]) if vectors_of and options and memories else None
        if options is None or held is None or vector is None:
            return found
        reranker = self._reranker(row, len(vector), options)
        draw = reranker.choose(vector, held, explore=explore and options.explore and not self.is_frozen(row.id))
        drawn = tuple(memory.id for memory in memories[: len(held)])
        rank = {drawn[place]: number for number, place in enumerate(draw.order)}
        kept = [each for each in found.candidates if each.memory.id in rank]
        scores = {drawn[place]: float(draw.scores[place] + draw.noise[place]) for place in draw.order}
        scored = [replace(each, score=scores[each.memory.id]) for each in kept]
        return replace(found, candidates=sorted(scored, key=lambda each: rank[each.memory.id]), draw=draw, drawn=drawn)

    # -- learn ------------------------------------------------------------------------------------------------------

    def reward(self, row: ScopeRow, query: str, shown: Decision, citations: Citations | Collection[int]) -> Lesson:
        """Take in what an answer cited, once.

        Args:
            row: the scope.
            query: what was asked.
            shown: what was shown.
            citations: as read from the answer, or the numbers.
        """
        if isinstance(citations, Citations) and not citations.tell:
            return Lesson("nothing")
        numbers = citations.numbers if isinstance(citations, Citations) else citations
        cited = tuple(number for number in dict.fromkeys(numbers) if number in shown.numbers)
        if numbers and not cited:
            # Timelines, or what was never shown: it says nothing about the memories.
            return Lesson("nothing")
        part, teach = self._lesson(row, shown, cited)
        answer = CitationRow(0, shown.id, query, shown.as_json(), cited, "", datetime.now(timezone.utc))
        done = take_in(self._store, row.id, part, answer, teach)
        return Lesson(done if done is not None else "known")

    def _lesson(self, row: ScopeRow, shown: Decision, cited: Collection[int]) -> tuple[str, _Teach]:
        """Who learns from the answer, and how."""
        frozen = self.is_frozen(row.id)
        if self._options.reranker is not None:
            silent = frozen or shown.draw is None
            return _RERANKER, _nothing if silent else partial(_teach_reranker, self._options.reranker, shown, cited)
        part = _part(_first(shown.signals))
        if frozen or part not in self._bases:
            return part, _nothing
        # What the answers in the log teach is learned before another one is added to them.
        self._policy(row, part)
        return part, partial(_teach_policy, self._bases[part], self._options, shown, cited)

    def is_frozen(self, scope_id: int) -> bool:
        """Whether the scope learns nothing more."""
        return learned_version(self._store, scope_id, FROZEN) is not None

    def set_frozen(self, row: ScopeRow, frozen: bool) -> None:
        """Learn nothing more, or learn again."""
        if frozen:
            self._store.save_learned(row.id, row.epoch, FROZEN, 0, "")
        else:
            self._store.drop_learned(row.id, FROZEN)

    def reset(self, row: ScopeRow) -> None:
        """Forget what was learned, and the answers that taught it."""
        clear(self._store, row.id, [*self._bases, _RERANKER])
        with self._lock:
            self._scopes.pop((row.id, row.epoch), None)

    # -- look -------------------------------------------------------------------------------------------------------

    def log(self, row: ScopeRow, *, turn: str | None = None, last: int | None = None) -> list[CitationEntry]:
        """The answers taken in, the oldest first."""
        return [_entry(each) for each in rows(self._store, row.id, turn=turn, last=last)]

    def learned(self, row: ScopeRow) -> Learned:
        """What the scope has learned for its usual search."""
        policy = self._policy(row, self._main)
        return _learned(policy, _updates(self._store, row.id), self.is_frozen(row.id))

    def explain(self, row: ScopeRow, hit: Hit) -> list[Explanation]:
        """What each signal adds to a hit's score, the largest part first."""
        return self._policy(row, _part(hit.signals)).explain(hit)

    def shared(self, scope_rows: Iterable[ScopeRow], *, worth: float) -> Prior:
        """What the scopes have learned, for new ones to begin with."""
        each = list(scope_rows)
        found: dict[tuple[str, ...], Evidence] = {}
        for part, base in self._bases.items():
            prior = shared_prior((self._policy(row, part) for row in each), worth=worth)
            if prior is not None:
                found[tuple(base)] = prior
        return found

    # -- follow the store -------------------------------------------------------------------------------------------

    def _scope(self, row: ScopeRow) -> _Scope:
        with self._lock:
            scope = self._scopes.pop((row.id, row.epoch), None) or _Scope(row.id)
            self._scopes[row.id, row.epoch] = scope
            while len(self._scopes) > self._size:
                self._scopes.popitem(last=False)
        return scope

    def _policy(self, row: ScopeRow, part: str) -> FusionPolicy:
        scope, version = self._scope(row), learned_version(self._store, row.id, part)
        with scope.lock:
            held = scope.policies.get(part)
            if held is None or held[0] != version or (version is None and latest(self._store, row.id)):
                scope.policies[part] = held = self._read(row, part)
            return held[1]

    def _read(self, row: ScopeRow, part: str) -> tuple[int | None, FusionPolicy]:
        """What was learned, from the store; or from the answers there, where it is gone or began with other weights."""
        base = self._bases[part]
        held = self._store.learned(row.id, part)
        if held is not None and (policy := _read_policy(held[1], base, self._options)) is not None:
            return held[0], policy
        policy, answers = _new_policy(base, self._options), rows(self._store, row.id)
        for answer in answers:
            shown = Decision.from_json(answer.shown)
            if answer.lesson in _TAUGHT and _part(_first(shown.signals)) == part:
                policy.learn(shown, answer.cited)
        if not answers:
            return None, policy
        version = answers[-1].id
        # An answer that came meanwhile has been learned from by who took it in: what is there then is newer than this.
        seen = held[0] if held is not None else None
        self._store.save_learned(row.id, row.epoch, part, version, _written(policy), seen=seen)
        return version, policy

    def _reranker(self, row: ScopeRow, dimensions: int, options: RerankerOptions) -> Reranker:
        scope, version = self._scope(row), learned_version(self._store, row.id, _RERANKER)
        with scope.lock:
            if scope.reranker is None or scope.reranker[0] != version:
                # The same one goes on, with its noise; what was learned is read anew.
                reranker = scope.reranker[1] if scope.reranker is not None else options.reranker(dimensions)
                held = self._store.learned(row.id, _RERANKER)
                reranker.reset()
                if held is not None:
                    with _undamaged():
                        reranker.load(held[1])
                scope.reranker = (held[0] if held is not None else None, reranker)
            return scope.reranker[1]


@dataclass
class _Scope:
    """What this process holds of a scope."""

    id: int
    policies: dict[str, tuple[int | None, FusionPolicy]] = field(default_factory=dict)
    reranker: tuple[int | None, Reranker] | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    _shown: int = 0
    _cited: int = 0
    _upto: int = 0

    def usefulness(self, store: SqlStore) -> _Usefulness:
        """What answers so far say of each turn that they were shown."""
        with self.lock:
            until = latest(store, self.id)
            if until > self._upto:
                for turn_id, shown, cited in usefulness(store, self.id, self._upto, until):
                    before = self._counts.get(turn_id, (0, 0))
                    self._counts[turn_id] = (before[0] + shown, before[1] + cited)
                    self._shown, self._cited = self._shown + shown, self._cited + cited
                self._upto = until
        return _Usefulness(self._counts, (self._cited + 1) / (self._shown + 2))


@dataclass(frozen=True, slots=True)
class _Usefulness:
    """By a turn's id: how much oftener than usual it was cited where it was shown, as a logarithm."""

    counts: Mapping[str, tuple[int, int]]
    usual: float

    def told(self, candidate: Candidate, weight: float) -> Candidate:
        """The candidate with this signal, and what it adds to the score, if its turn was ever shown."""
        held = self.counts.get(candidate.turn.id)
        if held is None:
            return candidate
        shown, cited = held
        value = math.log((cited + _SHOWN_ALREADY * self.usual) / ((shown + _SHOWN_ALREADY) * self.usual))
        score = candidate.score + weight * value
        return replace(candidate, score=score, signals={**candidate.signals, _USEFULNESS: value})


def _part(signals: Iterable[str]) -> str:
    """The name under which weights of these signals are kept."""
    return f"{RANKING}{','.join(sorted({*signals, _USEFULNESS}))}"


def _first(signals: Sequence[Sequence[Mapping[str, float]]]) -> Mapping[str, float]:
    return next((turn for memory in signals for turn in memory if turn), {})


def _nothing(state: str | None) -> tuple[LessonKind, str | None]:
    return "nothing", None


def _teach_policy(
    base: Mapping[str, float], options: LearningOptions, shown: Decision, cited: Collection[int], state: str | None
) -> tuple[LessonKind, str | None]:
    held = _read_policy(state, base, options) if state is not None else None
    policy = held or _new_policy(base, options)
    kind = policy.learn(shown, cited).kind
    return kind, _written(policy) if kind != "nothing" else None


def _teach_reranker(
    options: RerankerOptions, shown: Decision, cited: Collection[int], state: str | None
) -> tuple[LessonKind, str | None]:
    if not isinstance(shown.draw, Draw):
        return "nothing", None
    reranker = options.reranker(shown.draw.memories.shape[1])
    if state is not None:
        with _undamaged():
            reranker.load(state)
    reranker.learn(shown.draw, [place for place, number in enumerate(shown.numbers) if number in cited])
    return "taught", reranker.state()


def _new_policy(base: Mapping[str, float], options: LearningOptions) -> FusionPolicy:
    return FusionPolicy(base, settings=options.policy, prior=options.prior.get(tuple(base)))


def _read_policy(text: str, base: Mapping[str, float], options: LearningOptions) -> FusionPolicy | None:
    """The policy as it was left; nothing where it began with other weights, or is damaged on the disk."""
    try:
        read = json.loads(text)
        same = read["base"] == dict(base)
        return FusionPolicy(base, settings=options.policy, state=read["policy"]) if same else None
    except (ValueError, KeyError, TypeError):
        return None


def _written(policy: FusionPolicy) -> str:
    return json.dumps({"base": policy.base, "policy": policy.state()})


def _arranged(draw: Draw, drawn: Sequence[str], shown: Sequence[str]) -> Draw | None:
    """The draw with the memories that are shown at the first places, in the order in which they are shown.

    Nothing where one is shown that was not there to be drawn.
    """
    if not set(shown) <= set(drawn):
        return None
    first = [drawn.index(each) for each in shown]
    order = np.array([*first, *sorted(set(range(len(drawn))) - set(first))], dtype=int)
    moved = replace(
        draw,
        memories=draw.memories[order],
        scores=draw.scores[order],
        noise=draw.noise[order],
        probabilities=draw.probabilities[order],
    )
    place = {int(old): new for new, old in enumerate(order)}
    best = draw.order if draw.explored else np.argsort(-draw.scores, kind="stable").tolist()
    return replace(moved, order=tuple(place[each] for each in best if each in set(first)))


def _scores(draw: Draw, drawn: Sequence[str], shown: Decision) -> tuple[float, ...]:
    """By the reranker; behind all that it looked at, what it did not, in the order that this had."""
    by_id = dict(zip(drawn, (draw.scores + draw.noise).tolist(), strict=True))
    behind = min(by_id.values()) - 1
    order = sorted(range(len(shown.scores)), key=lambda place: -shown.scores[place])
    rank = {place: number for number, place in enumerate(order)}
    return tuple(by_id.get(each, behind - rank[place]) for place, each in enumerate(shown.memory_ids))


def _entry(row: CitationRow) -> CitationEntry:
    shown = Decision.from_json(row.shown)
    return CitationEntry(
        row.decision,
        row.query,
        shown.numbers,
        shown.memory_ids,
        shown.turn_ids,
        row.cited,
        shown.version,
        row.lesson,
        row.at,
    )


# -- looked at from outside -------------------------------------------------------------------------------------------


def learned_weights(store: SqlStore, row: ScopeRow) -> list[Learned]:
    """What the scope has learned, as it stands in the store: nothing is learned by looking.

    A scope has several sets of weights where it was searched in several ways: by words alone, with vectors, by topic.
    That of the most answers comes first. There is none where nothing was learned, and after something of the scope was
    forgotten until a bank that learns is asked again: it learns them anew from the answers that are left.
    """
    frozen, updates = learned_version(store, row.id, FROZEN) is not None, _updates(store, row.id)
    held = map(json.loads, states(store, row.id))
    found = [_learned(FusionPolicy(each["base"], state=each["policy"]), updates, frozen) for each in held]
    return sorted(found, key=lambda each: -each.answers)


def _learned(policy: FusionPolicy, updates: int, frozen: bool) -> Learned:
    return Learned(policy.weights, policy.base, policy.answers, policy.trust, policy.rollbacks, updates, frozen)


def _updates(store: SqlStore, scope_id: int) -> int:
    held = store.learned(scope_id, _RERANKER)
    with _undamaged():
        return int(json.loads(held[1])["updates"]) if held else 0


@contextmanager
def _undamaged() -> Iterator[None]:
    try:
        yield
    except InvalidInput:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"what the scope has learned is damaged: {error!r}; reset_learning begins again") from error
