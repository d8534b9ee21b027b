"""Each scope's own weights: what they are now, what they make of a ranking, and what an answer teaches them.

What learns are parts, each with a name and a state in the store: a policy for each set of signals, or the paper's
reranker. An answer teaches one of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final, TypeVar

import numpy as np

from ..errors import warn_degraded
from ..layers import Found
from ..memory import Hit, Memory
from ..ranking import Candidate
from ..stores.rows import ScopeRow
from ..stores.schema import SETTING
from ..stores.sql import SqlStore
from .options import CitationOptions
from .plackett_luce import best, put_first
from .policy import FusionPolicy
from .records import CitationEntry, CitationWeights, Impression, LessonKind
from .reranker import Draw, Reranker
from .store import RANKING, Teach, clear, latest, rows, state_version, states
from .usefulness import USEFULNESS, Usefulness

RERANKER: Final = "reranker"
"""The name of the paper's reranker among the parts that learn."""

T = TypeVar("T")

_DAMAGED: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a state raises that is none any more."""

_FROZEN: Final = f"{SETTING}frozen"
_TAUGHT: Final = frozenset({"taught", "held out", "resting"})


def part_of(signals: Iterable[str]) -> str:
    """The name of the policy over these signals among the parts that learn."""
    return f"{RANKING}{','.join(sorted({*signals, USEFULNESS}))}"


@dataclass(frozen=True)
class LearnedRanking:
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

    @property
    def is_choice(self) -> bool:
        """Whether the paper's reranker chose the M memories to show (RMM, section 6)."""
        return self.draw is not None

    def chosen(self, draw: Draw, memories: Sequence[Memory]) -> LearnedRanking:
        """What the paper's reranker drew of these memories alone, in its order."""
        drawn = tuple(memory.id for memory in memories)
        rank = {drawn[place]: number for number, place in enumerate(draw.order)}
        scores = dict(zip(drawn, (draw.scores + draw.noise).tolist(), strict=True))
        chosen = [replace(each, score=scores[each.memory.id]) for each in self.candidates if each.memory.id in rank]
        return replace(self, candidates=sorted(chosen, key=lambda each: rank[each.memory.id]), draw=draw, drawn=drawn)

    def impression(self, hits: Sequence[Hit]) -> Impression:
        """Note what is shown."""
        noted = replace(self.policy.impression(hits, self.candidates), epoch=self.epoch)
        if self.draw is None:
            return noted
        scores = _scores(self.draw, self.drawn, noted)
        return replace(noted, scores=scores, draw=_arranged(self.draw, self.drawn, noted.memory_ids))


class CitationLearner:
    """The weights of all scopes.

    Args:
        store: where they are kept, and the answers that taught them.
        options: how they learn.
        bases: the weights to begin with, for each set of signals that a search may come with.
        size: how many scopes' weights are kept ready in memory; the least recently used are dropped first.
    """

    def __init__(
        self, store: SqlStore, options: CitationOptions, *, bases: Sequence[Mapping[str, float]], size: int
    ) -> None:
        self._store, self._options = store, options
        self.bases = {part_of(base): {**base, USEFULNESS: 0.0} for base in bases}
        self._main = part_of(bases[0])
        # By scope, epoch and version: what is in a cache never changes in the store.
        self._policies = lru_cache(maxsize=size)(self._loaded_policy)
        self._begun = lru_cache(maxsize=size)(self._new_policy)
        self._rerankers = lru_cache(maxsize=size)(self._loaded_reranker)
        self._usefulness = lru_cache(maxsize=size)(partial(Usefulness, store))

    # -- rank -------------------------------------------------------------------------------------------------------

    def weights(self, row: ScopeRow, base: Mapping[str, float]) -> Mapping[str, float]:
        """What the scope has learned of these signals, for a search to score by; usefulness comes with `ranking`."""
        if self._options.reranker is not None:
            return base
        weights = self.policy(row, part_of(base)).weights
        return {name: weights[name] for name in base}

    def ranking(self, found: Found, *, scored: bool, explore: bool = True) -> LearnedRanking:
        """What a search has found, in the order that the scope has learned.

        Args:
            found: its candidates with their signals. The paper's reranker leaves them as they are without vectors.
            scored: whether the search has scored them by `weights`.
            explore: whether the paper's reranker may draw.
        """
        row, candidates, options = found.row, found.candidates, self._options.reranker
        policy = self.policy(row, part_of(candidates[0].signals) if candidates else self._main)
        weight = policy.weights[USEFULNESS] if scored and options is None else 0.0
        ranking = LearnedRanking(self._usefulness(row.id, row.epoch).added(candidates, weight), policy, row.epoch)
        if options is not None:
            memories = list({each.memory.id: each.memory for each in candidates}.values())[: options.candidates]
            draw = self._draw(found, memories, explore=explore and options.explore)
            return ranking.chosen(draw, memories) if draw is not None else ranking
        if policy.weights == policy.base:
            return ranking
        if scored:
            return replace(ranking, candidates=sorted(ranking.candidates, key=lambda each: -each.score))
        return replace(ranking, candidates=policy.rescored(ranking.candidates))

    def _draw(self, found: Found, memories: list[Memory], *, explore: bool) -> Draw | None:
        """What the paper's reranker chooses of the memories; nothing where vectors are missing."""
        row, vectors = found.row, found.vectors_of(memories) if memories else None
        if vectors is None or found.vector is None:
            return None
        version = state_version(self._store, row.id, RERANKER)
        reranker = self._rerankers(row.id, row.epoch, version, len(found.vector))
        return reranker.choose(found.vector, vectors, explore=explore and not self._is_frozen(row))

    # -- learn ------------------------------------------------------------------------------------------------------

    def lesson(self, row: ScopeRow, impression: Impression) -> tuple[str, Teach]:
        """Which part learns from an answer to what was shown, and how it does."""
        part = RERANKER if self._options.reranker is not None else _part_taught_by(impression)
        if self._is_frozen(row) or part not in {*self.bases, RERANKER}:
            return part, _teach_nothing
        if part == RERANKER:
            return part, self._teach_reranker
        # What the answers in the log teach is learned before another one is added to them.
        self._settle(row, [part])
        return part, self._teach_policy

    def _teach_policy(self, answer: CitationEntry, state: str | None) -> tuple[LessonKind, str | None]:
        part = _part_taught_by(answer.impression)
        policy = self._kept_policy(part, state) or self._new_policy(part)
        kind = policy.learn(answer.impression, answer.cited).kind
        return kind, _policy_state(policy) if kind != "nothing" else None

    def _teach_reranker(self, answer: CitationEntry, state: str | None) -> tuple[LessonKind, str | None]:
        """Let the paper's reranker learn from an answer, where it chose what was shown."""
        draw = answer.impression.draw
        if not isinstance(draw, Draw):
            return "nothing", None
        reranker = self._kept_reranker(state, draw.memories.shape[1])
        reranker.learn(draw, [place for place, number in enumerate(answer.numbers) if number in answer.cited])
        return "taught", reranker.state()

    def set_frozen(self, row: ScopeRow, frozen: bool) -> None:
        """Learn nothing more, or learn again."""
        if frozen:
            self._store.save_part_state(row.id, row.epoch, _FROZEN, 0, "")
        else:
            self._store.drop_part_state(row.id, _FROZEN)

    def reset(self, row: ScopeRow) -> None:
        """Forget what was learned, and the answers that taught it."""
        clear(self._store, row.id, [*self.bases, RERANKER])
        self._usefulness.cache_clear()

    def _is_frozen(self, row: ScopeRow) -> bool:
        return state_version(self._store, row.id, _FROZEN) is not None

    # -- look -------------------------------------------------------------------------------------------------------

    def learned(self, row: ScopeRow) -> CitationWeights:
        """What the scope has learned for its usual search."""
        self.settle(row)
        return self._weights(row, self.policy(row, self._main))

    def stored(self, row: ScopeRow) -> list[CitationWeights]:
        """What the scope has learned, as it stands in the store."""
        policies = [_policy_of(state) for state in states(self._store, row.id)]
        return [self._weights(row, policy) for policy in policies if policy is not None]

    def _weights(self, row: ScopeRow, policy: FusionPolicy) -> CitationWeights:
        state, frozen = self._store.part_state(row.id, RERANKER), self._is_frozen(row)
        updates = _undamaged(lambda: int(json.loads(state[1])["updates"]) if state else 0) or 0
        return CitationWeights(
            policy.weights, policy.base, policy.answers, policy.trust, policy.rollbacks, updates, frozen
        )

    # -- follow the store -------------------------------------------------------------------------------------------

    def policy(self, row: ScopeRow, part: str) -> FusionPolicy:
        """The scope's policy over one set of signals, as it is in the store; where none is, one that begins.

        Nothing is learned here, as a recall waits for it: after something was forgotten, or where the base is another
        than before, a recall goes by the weights that ship until `settle`.
        """
        return self._kept(row, part) or self._begun(part)

    def settle(self, row: ScopeRow) -> None:
        """Learn again from the log what was dropped when something was forgotten, or was learned from another base."""
        if self._options.reranker is None:
            self._settle(row, list(self.bases))

    def _settle(self, row: ScopeRow, parts: Sequence[str]) -> None:
        lacking = {part: state_version(self._store, row.id, part) for part in parts if self._kept(row, part) is None}
        answers = rows(self._store, row.id) if lacking and latest(self._store, row.id) else []
        for part, version in lacking.items() if answers else ():
            policy = self._new_policy(part)
            for answer in answers:
                if answer.lesson in _TAUGHT and _part_taught_by(answer.impression) == part:
                    policy.learn(answer.impression, answer.cited)
            # An answer that came meanwhile was learned from by who took it in: what is there then is newer than this.
            last, state = answers[-1].number, _policy_state(policy)
            self._store.save_part_state(row.id, row.epoch, part, last, state, replaces=version)
        if answers:
            # What is held of a version that began with other weights is another now, under the same number.
            self._policies.cache_clear()

    def _kept(self, row: ScopeRow, part: str) -> FusionPolicy | None:
        version = state_version(self._store, row.id, part)
        return self._policies(row.id, row.epoch, part, version) if version is not None else None

    def _loaded_policy(self, scope_id: int, epoch: int, part: str, version: int) -> FusionPolicy | None:
        """As it is in the store; nothing where it began with other weights, or is damaged."""
        _, state = self._store.part_state(scope_id, part) or (None, None)
        return self._kept_policy(part, state)

    def _new_policy(self, part: str) -> FusionPolicy:
        base, options = self.bases[part], self._options
        return FusionPolicy(base, settings=options.policy, prior=options.prior.get(tuple(base)))

    def _kept_policy(self, part: str, state: str | None) -> FusionPolicy | None:
        """The policy as it was left; nothing where it began with other weights, or is damaged on the disk."""
        base = self.bases[part]
        try:
            fields = json.loads(state or "{}")
            if fields.get("base") != base:
                return None
            return FusionPolicy(base, settings=self._options.policy, state=fields["policy"])
        except _DAMAGED:
            return None

    def _loaded_reranker(self, scope_id: int, epoch: int, version: int | None, dimensions: int) -> Reranker:
        _, state = self._store.part_state(scope_id, RERANKER) or (None, None)
        return self._kept_reranker(state, dimensions)

    def _kept_reranker(self, state: str | None, dimensions: int) -> Reranker:
        """The paper's reranker as it was left, or one that has learned nothing yet of such vectors."""
        new = partial(Reranker, dimensions, self._options.reranker)
        if state is None:
            return new()
        learned = _undamaged(lambda: json.loads(state)["dimensions"])
        if learned is not None and learned != dimensions:
            warn_degraded(
                f"the paper's reranker has learned from vectors of {learned} dimensions, and begins again with those "
                f"of {dimensions}"
            )
            return new()
        return (_undamaged(lambda: new(state=state)) if learned is not None else None) or new()


def _part_taught_by(impression: Impression) -> str:
    """The name of the policy over the signals that the memories were shown by."""
    return part_of(next((turn for memory in impression.signals for turn in memory if turn), {}))


def _policy_state(policy: FusionPolicy) -> str:
    return json.dumps({"base": policy.base, "policy": policy.state()})


def _teach_nothing(answer: CitationEntry, state: str | None) -> tuple[LessonKind, str | None]:
    return "nothing", None


def _policy_of(state: str) -> FusionPolicy | None:
    try:
        fields = json.loads(state)
        return FusionPolicy(fields["base"], state=fields["policy"])
    except _DAMAGED:
        return None


def _undamaged(read: Callable[[], T]) -> T | None:
    """What a state that was kept says; nothing, with a warning, where it is damaged."""
    try:
        return read()
    except _DAMAGED as error:
        warn_degraded(f"what the paper's reranker has learned is damaged, and it begins again: {error!r}")
        return None


def _arranged(draw: Draw, drawn: Sequence[str], memory_ids: Sequence[str]) -> Draw | None:
    """The draw with these memories at the first places, in this order; nothing where one was not there to be drawn."""
    if not set(memory_ids) <= set(drawn):
        return None
    first = [drawn.index(each) for each in memory_ids]
    places = put_first(first, len(drawn))
    return replace(
        draw,
        memories=draw.memories[places],
        scores=draw.scores[places],
        noise=draw.noise[places],
        order=tuple(first.index(each) for each in best(draw.scores + draw.noise, len(drawn)) if each in first),
    )


def _scores(draw: Draw, drawn: Sequence[str], noted: Impression) -> tuple[float, ...]:
    """By the reranker; behind all that it looked at, what it did not, in the order that this had."""
    by_id = dict(zip(drawn, (draw.scores + draw.noise).tolist(), strict=True))
    behind = min(by_id.values()) - 1
    rank = np.argsort(np.argsort(-np.array(noted.scores), kind="stable")).tolist()
    return tuple(by_id.get(each, behind - place) for place, each in zip(rank, noted.memory_ids, strict=True))
