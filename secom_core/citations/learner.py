"""What a search found as it is shown and noted, and what the paper's reranker makes of it in each scope."""

from __future__ import annotations

import json
import math
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from typing import Final, NamedTuple, TypeVar

from ..errors import warn_degraded
from ..layers import Found
from ..memory import Hit
from ..processes import ForkLock
from ..ranking import Candidate
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore
from .options import RerankerOptions
from .plackett_luce import best, put_first
from .records import CitationEntry, Impression, LessonKind
from .reranker import Draw, Reranker
from .store import RERANKER, KeptState, state_version, take_in

_UNKNOWN: Final = -math.inf

T = TypeVar("T")

_DAMAGED: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a state raises that is none any more."""


_READY_BYTES: Final = 200_000_000
_BYTES_OF_AN_ENTRY: Final = 12
"""Of each entry of a matrix, in both matrices of a reranker: four of the sum, and half as many of its factors."""


@dataclass(frozen=True)
class NotedRanking:
    """What a search found, for who shows some of it and notes what.

    Args:
        found: best first.
        row: the scope's.
        draw: what the paper's reranker chose, where it did, and ``drawn``, the memories it chose from.
    """

    found: list[Candidate]
    row: ScopeRow
    draw: Draw | None = None
    drawn: tuple[str, ...] = ()

    @property
    def is_choice(self) -> bool:
        """Whether the paper's reranker chose the M memories to show (RMM, section 6)."""
        return self.draw is not None

    @property
    def candidates(self) -> list[Candidate]:
        """What may be shown, best first: what the reranker chose, in its order, or all that was found."""
        if self.draw is None:
            return self.found
        rank = {self.drawn[place]: number for number, place in enumerate(self.draw.order)}
        scores = self._drawn_scores
        chosen = [replace(each, score=scores[each.memory.id]) for each in self.found if each.memory.id in rank]
        return sorted(chosen, key=lambda each: rank[each.memory.id])

    def impression(self, hits: Sequence[Hit]) -> Impression:
        """Note what is shown."""
        shown = tuple(hit.memory.id for hit in hits)
        return Impression(
            uuid.uuid4().hex,
            tuple(hit.number for hit in hits),
            shown,
            tuple(hit.turn_ids for hit in hits),
            self._scores(hits),
            datetime.now(timezone.utc),
            self.row.epoch,
            self.row.id,
            _arranged(self.draw, self.drawn, shown) if self.draw is not None else None,
        )

    @property
    def _drawn_scores(self) -> dict[str, float]:
        draw = self.draw
        return dict(zip(self.drawn, (draw.scores + draw.noise).tolist(), strict=True)) if draw is not None else {}

    def _scores(self, hits: Sequence[Hit]) -> tuple[float, ...]:
        """Of each memory: the reranker's, or that of its best turn; behind these, what neither has looked at."""
        by_turn = {each.turn.id: each.score for each in reversed(self.found)}
        searched = [max((by_turn.get(turn_id, _UNKNOWN) for turn_id in hit.turn_ids), default=_UNKNOWN) for hit in hits]
        scores = searched
        if self.draw is not None:
            drawn = self._drawn_scores
            scores = [drawn.get(hit.memory.id, _UNKNOWN) for hit in hits]
        unknown = sorted((n for n, score in enumerate(scores) if score == _UNKNOWN), key=lambda n: -searched[n])
        behind = min((score for score in scores if score > _UNKNOWN), default=0.0) - 1
        last = {n: behind - place for place, n in enumerate(unknown)}
        return tuple(last.get(n, score) for n, score in enumerate(scores))


class _Ready(NamedTuple):
    """A reranker as it was kept in the store under a version; nothing was, where there is none."""

    version: int | None
    dimensions: int
    reranker: Reranker


class ScopeRerankers:
    """The paper's reranker, one a scope, as far as it has learned there.

    Args:
        store: where what it has learned is kept.
        options: how it chooses and learns.
        size: of how many scopes it is kept ready in memory at most, and of fewer where vectors are long; the least
            recently used are dropped first.
        embedder: the name of what makes the vectors.
    """

    def __init__(self, store: SqlStore, options: RerankerOptions, *, size: int, embedder: str = "") -> None:
        self._store, self._options, self._embedder = store, options, embedder
        self._size = size
        self._ready: OrderedDict[int, _Ready] = OrderedDict()
        self._lock = ForkLock()

    def ranking(self, found: Found, *, explore: bool) -> NotedRanking:
        """What it chooses of what a search has found; all of it, as it is, where vectors are missing.

        Args:
            found: what was found.
            explore: whether it may draw, where its options say so too.
        """
        memories = list({each.memory.id: each.memory for each in found.candidates}.values())[: self._options.candidates]
        vectors = found.vectors_of(memories) if memories else None
        if vectors is None or found.vector is None:
            return NotedRanking(found.candidates, found.row)
        reranker = self._of(found.row.id, len(found.vector))
        draw = reranker.choose(found.vector, vectors, explore=explore and self._options.explore)
        return NotedRanking(found.candidates, found.row, draw, tuple(memory.id for memory in memories))

    def take_in(self, scope_id: int, answer: CitationEntry) -> LessonKind:
        """Write an answer, and what it has learned once the answer is added to it; see `store.take_in`."""
        learned: list[_Ready] = []

        def teach(number: int, kept: KeptState) -> str | None:
            draw = answer.impression.draw
            if not isinstance(draw, Draw):
                return None
            dimensions = draw.memories.shape[1]
            reranker = (self._at(scope_id, kept.version, dimensions) or self._kept(kept.read(), dimensions)).copy()
            reranker.learn(draw, [place for place, each in enumerate(answer.numbers) if each in answer.cited])
            learned[:] = [_Ready(number, dimensions, reranker)]
            return reranker.state()

        kind = take_in(self._store, scope_id, answer, teach)
        if kind == "taught":
            # Only now: an answer that comes after one that could not be written may get its number.
            self._keep(scope_id, learned[0])
        return kind

    def _of(self, scope_id: int, dimensions: int) -> Reranker:
        """The scope's, as far as it has learned."""
        version = state_version(self._store, scope_id)
        if (reranker := self._at(scope_id, version, dimensions)) is None:
            version, state = self._store.part_state(scope_id, RERANKER) or (None, None)
            reranker = self._kept(state, dimensions)
            self._keep(scope_id, _Ready(version, dimensions, reranker))
        return reranker

    def _at(self, scope_id: int, version: int | None, dimensions: int) -> Reranker | None:
        """The scope's as of a version, where that is ready. What is of a version never changes."""
        with self._lock:
            ready = self._ready.get(scope_id)
            if ready is None or (ready.version, ready.dimensions) != (version, dimensions):
                return None
            self._ready.move_to_end(scope_id)
        return ready.reranker

    def _keep(self, scope_id: int, ready: _Ready) -> None:
        room = max(1, min(self._size, _READY_BYTES // (_BYTES_OF_AN_ENTRY * ready.dimensions**2)))
        with self._lock:
            self._ready[scope_id] = ready
            self._ready.move_to_end(scope_id)
            while len(self._ready) > room:
                self._ready.popitem(last=False)

    def _kept(self, state: str | None, dimensions: int) -> Reranker:
        """As it was left, or one that has learned nothing yet of such vectors."""
        new = partial(Reranker, dimensions, self._options, embedder=self._embedder)
        if state is None:
            return new()
        learned = _undamaged(lambda: _space_in(state))
        now = (dimensions, self._embedder)
        if learned is not None and (learned[0], learned[1] or self._embedder) != now:
            warn_degraded(
                f"the paper's reranker learned from {_told(*learned)}, and now there are {_told(*now)}; it starts again"
            )
            return new()
        return (_undamaged(lambda: new(state=state)) if learned is not None else None) or new()


def _space_in(state: str) -> tuple[int, str]:
    """Of how many dimensions the vectors were that were learned from, and of which embedder where that is known."""
    fields = json.loads(state)
    return fields["dimensions"], fields.get("embedder", "")


def _told(dimensions: int, embedder: str) -> str:
    return f"vectors of {dimensions} dimensions" + (f" of the embedder {embedder!r}" if embedder else "")


def updates_in(state: str | None) -> int:
    """How many batches of answers a reranker's state was learned from; 0 where there is none, or it is damaged."""
    return (_undamaged(lambda: int(json.loads(state)["updates"])) or 0) if state is not None else 0


def _undamaged(read: Callable[[], T]) -> T | None:
    """What a state that was kept says; nothing, with a warning, where it is damaged."""
    try:
        return read()
    except _DAMAGED as error:
        warn_degraded(f"the stored weights of the paper's reranker are damaged; it starts again: {error!r}")
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
