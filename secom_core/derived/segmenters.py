"""Segmenters that learn, one a scope: what each has learned is kept with its scope and follows it between processes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

from ..conversation import Scope, Turn
from ..errors import attempted
from ..processes import ForkLock
from ..protocols import LearningSegmenter, Segmenter
from ..stores.sql import SqlStore

_PART: Final = "segmenter"
_FIRST: Final = 200
"""From how many turns on a scope is learned from; again each time that it has twice as many."""

_MOST: Final = 2000
"""From how many of the last turns: what a scope's next lesson costs does not grow with it."""


@dataclass
class _Learner:
    """A scope's segmenter, the state that it was made from, from how many turns that was learned, and how many the
    scope has by our own count.
    """

    segmenter: LearningSegmenter
    state: str | None
    learned: int
    turns: int


class ScopeSegmenters:
    """Gives each scope its segmenter: the same for all, unless it is one that learns.

    Args:
        store: where what was learned is kept.
        made: makes the segmenter, when it is first needed; one that learns is the template of each scope's own.
        size: how many scopes' segmenters are held ready.
    """

    def __init__(self, store: SqlStore, made: Callable[[], Segmenter], *, size: int) -> None:
        self._store = store
        self._made = made
        self._size = size
        self._learners: OrderedDict[int, _Learner] = OrderedDict()
        self._lock = ForkLock()

    @cached_property
    def _segmenter(self) -> Segmenter:
        return self._made()

    @cached_property
    def _template(self) -> LearningSegmenter | None:
        return self._segmenter if isinstance(self._segmenter, LearningSegmenter) else None

    def of(self, scope: Scope) -> Segmenter:
        """The scope's segmenter, with what any process has taught it."""
        if self._template is None or (row := self._store.scope(scope)) is None:
            return self._segmenter
        return self._learner(row.id, self._template).segmenter

    def came(self, scope: Scope, turns: int) -> None:
        """Learn from the scope where so many new turns have made it twice as long as at the last lesson.

        Warns:
            DegradedWarning: where the embedder fails; the segmenter stays as it is.
        """
        if self._template is None or (row := self._store.scope(scope)) is None:
            return
        learner = self._learner(row.id, self._template)
        learner.turns += turns
        due = max(_FIRST, 2 * learner.learned)
        if learner.turns >= due and (counted := self._store.count_turns(row.id)) >= due:
            self._learn(row.id, row.epoch, counted, self._template)

    def learn(self, scope: Scope) -> None:
        """Learn from the scope now, if its segmenter learns."""
        if self._template is not None and (row := self._store.scope(scope)) is not None:
            self._learn(row.id, row.epoch, self._store.count_turns(row.id), self._template)

    def _learner(self, scope_id: int, template: LearningSegmenter) -> _Learner:
        learned, state = self._store.part_state(scope_id, _PART) or (0, None)
        with self._lock:
            learner = self._learners.pop(scope_id, None)
            if learner is None or learner.state != state:
                learner = _Learner(_restored(template, state), state, learned, self._store.count_turns(scope_id))
            self._learners[scope_id] = learner
            while len(self._learners) > self._size:
                self._learners.popitem(last=False)
        return learner

    def _learn(self, scope_id: int, epoch: int, turns: int, template: LearningSegmenter) -> None:
        # A new one learns, so that the others may go on cutting with the old.
        segmenter = template.for_scope()
        lesson = partial(_state_after, segmenter, self._recent(scope_id))
        part = f"the segmenter {type(segmenter).__name__}"
        state = attempted(part, lesson, "the segmenter could not learn, it stays as it is")
        if state is not None:
            # Where nothing was learned, this too is kept, or every turn would ask again.
            self._store.save_part_state(scope_id, epoch, _PART, turns, state)

    def _recent(self, scope_id: int) -> list[Sequence[Turn]]:
        recent: list[Sequence[Turn]] = []
        room = _MOST
        for row in reversed(self._store.sessions(scope_id)):
            if room > 0:
                recent.insert(0, self._store.turns(row, last=room))
                room -= len(recent[0])
        return recent


def _state_after(segmenter: LearningSegmenter, recent: Sequence[Sequence[Turn]]) -> str:
    segmenter.learn(recent)
    return segmenter.state()


def _restored(template: LearningSegmenter, state: str | None) -> LearningSegmenter:
    try:
        return template.for_scope(state)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        # Damaged on the disk, or of another format: it begins again, and learns with the scope's next turns.
        return template.for_scope()
