"""What a scope has learned, read from the store as it stands there: nothing is learned by looking."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from ..reflection.policy import FusionPolicy
from ..stores.citations import RANKING, learned_version
from ..stores.schema import learned
from ..stores.sql import FROZEN, ScopeRow, SqlStore

__all__ = ["LearnedWeights", "learned_weights"]


@dataclass(frozen=True, slots=True)
class LearnedWeights:
    """The weights that a scope has learned for one set of signals.

    A scope has several such sets where it was searched in several ways: by words alone, with vectors, by topic.

    Args:
        weights: by signal, as they are now.
        base: by signal, as they were at first.
        answers: how many answers were taken in.
        trust: how far the citations are believed, from 0 to 1.
        rollbacks: how often what was learned was thrown away because held-out answers said so.
        frozen: whether nothing more is learned.
    """

    weights: Mapping[str, float] = field(hash=False)
    base: Mapping[str, float] = field(hash=False)
    answers: int
    trust: float
    rollbacks: int
    frozen: bool

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "weights": dict(self.weights),
            "base": dict(self.base),
            "answers": self.answers,
            "trust": self.trust,
            "rollbacks": self.rollbacks,
            "frozen": self.frozen,
        }


def learned_weights(store: SqlStore, row: ScopeRow) -> list[LearnedWeights]:
    """The sets of weights that the scope has learned, that of the most answers first.

    None where nothing was learned, and after something of the scope was forgotten until a bank that learns is asked
    again: it learns them anew from the answers that are left.
    """
    mine = (learned.c.scope_id == row.id, learned.c.part.startswith(RANKING))
    with store.transaction(write=False) as connection:
        states = connection.scalars(select(learned.c.state).where(*mine)).all()
    frozen = learned_version(store, row.id, FROZEN) is not None
    return sorted((_read(state, frozen) for state in states), key=lambda each: -each.answers)


def _read(state: str, frozen: bool) -> LearnedWeights:
    held = json.loads(state)
    policy = FusionPolicy(held["base"], state=held["policy"])
    return LearnedWeights(policy.weights, policy.base, policy.answers, policy.trust, policy.rollbacks, frozen)
