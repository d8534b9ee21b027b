"""What is made from raw turns: segments, keys and vectors, and how they follow one more turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from .conversation import Scope, Turn
from .errors import DegradedWarning, ModelError
from .memory import Memory, Segment, check_partition
from .protocols import Denoiser, Embedder, QueryEmbedder, Segmenter, Statistics, Vectors
from .scope_segmenters import ScopeSegmenters
from .segmenters.lexical import LexicalSegmenter
from .stores.digests import digest
from .stores.sql import MemoryRow, SessionRow, SqlStore

__all__ = ["TAIL", "Derivation", "memories_of"]

TAIL: Final = 48
"""How many turns at the end of an open session may still be cut anew: bounds the cost of one more turn."""

_ASKED_SINGLY: Final = 4
"""Up to how many new turns are put to a segmenter one by one, where it can be asked so."""


class Derivation:
    """Makes the derived layers of sessions and keeps them in the store.

    Args:
        store: where turns come from and memories go.
        segmenters: cut sessions, each scope's its own.
        denoiser: makes keys, where given.
        embedder: makes vectors, where given.
        tail: how many turns may stay unsettled; ``None`` for as many as the session has.
        statistics: the term statistics of a scope, where they are at hand.
        vectors: make vectors of turns and keys; not where a vector store outside does.
    """

    def __init__(
        self,
        store: SqlStore,
        segmenters: ScopeSegmenters,
        denoiser: Denoiser | None,
        embedder: Embedder | None,
        *,
        tail: int | None,
        statistics: Callable[[Scope], Statistics | None],
        vectors: bool = True,
    ) -> None:
        self._store = store
        self._segmenters = segmenters
        self._denoiser = denoiser
        self._embedder = embedder
        self._tail = tail
        self._statistics = statistics
        self._makes_vectors = vectors

    def derive(self, session_id: int, scope: Scope, *, afresh: bool = False) -> SessionRow | None:
        """Bring the session's memories up to its messages; costs what its unsettled end costs.

        Returns:
            The session as it is then, or nothing where it was forgotten.
        """
        while (row := self._store.session(session_id)) is not None and (afresh or not row.is_derived):
            since = 0 if afresh else row.settled
            tail = self._store.turns(row, since)
            old = self._store.memories(row.id, since)
            rows = self._cut(tail, [] if afresh else old, row, scope)
            settled = row.turns if row.closed else self._settled(rows, since, row.turns)
            if self._store.save_memories(row, rows, settled=settled, since=since):
                afresh = False
                self._renew_vectors(row, old, rows, tail)
        return row

    def shrunk(self, old: Sequence[MemoryRow], kept: Sequence[Turn], doomed: set[int], scope: Scope) -> list[MemoryRow]:
        """The memories without the doomed turns: the same cuts, and new keys where a turn is missing."""
        rows: list[MemoryRow] = []
        for memory in old:
            turns = [turn for turn in kept if memory.start <= turn.index < memory.stop]
            if not turns:
                continue
            touched = not doomed.isdisjoint(range(memory.start, memory.stop))
            rows += self._rows([turns], [(memory.start, memory.stop)], (), scope) if touched else [memory]
        return rows

    # -- segments and keys --------------------------------------------------------------------------------------

    def _cut(self, tail: Sequence[Turn], old: Sequence[MemoryRow], row: SessionRow, scope: Scope) -> list[MemoryRow]:
        segments = self._segments(tail, old, self._segmenters.of(scope))
        # Ranges count turn indices, which have gaps where turns were forgotten.
        ranges = list(pairwise([*(tail[segment.start].index for segment in segments), row.turns]))
        return self._rows([tail[segment.start : segment.stop] for segment in segments], ranges, old, scope)

    def _segments(self, tail: Sequence[Turn], old: Sequence[MemoryRow], segmenter: Segmenter) -> list[Segment]:
        """Cut the unsettled turns; a segmenter that can be asked about one turn is asked only about new ones."""
        try:
            return self._cuts(tail, old, segmenter)
        except ModelError as error:
            _degraded("the segmenter failed, topics are told apart by words", error)
            return self._cuts(tail, old, LexicalSegmenter())

    def _cuts(self, tail: Sequence[Turn], old: Sequence[MemoryRow], segmenter: Segmenter) -> list[Segment]:
        joins = getattr(segmenter, "joins", None)
        covered = sum(turn.index < old[-1].stop for turn in tail) if old else 0
        if joins is None or not covered or len(tail) - covered > _ASKED_SINGLY:
            return check_partition(segmenter.segment(tail), len(tail))
        stops = [sum(turn.index < memory.stop for turn in tail[:covered]) for memory in old]
        for place in range(covered, len(tail)):
            start = stops[-2] if len(stops) > 1 else 0
            if joins(tail[start:place], tail[place]):
                stops[-1] = place + 1
            else:
                stops.append(place + 1)
        return [Segment(start, stop) for start, stop in pairwise([0, *stops])]

    def _settled(self, rows: Sequence[MemoryRow], since: int, turns: int) -> int:
        """The turn from which on memories may still change: the first edge that keeps the tail short."""
        if self._tail is None:
            return since
        edges = [*(row.start for row in rows), turns]
        return next(edge for edge in edges if turns - edge <= self._tail)

    def _rows(
        self,
        groups: Sequence[Sequence[Turn]],
        ranges: Sequence[tuple[int, int]],
        old: Sequence[MemoryRow],
        scope: Scope,
    ) -> list[MemoryRow]:
        values = ["\n".join(turn.text for turn in group) for group in groups]
        digests = [digest(value) for value in values]
        keys = {row.digest: row.key for row in old}
        fresh = {digest: value for digest, value in zip(digests, values, strict=True) if digest not in keys}
        keys.update(zip(fresh, self._keys(list(fresh.values()), scope), strict=True))
        return [
            MemoryRow(start, stop, keys[digest], digest) for (start, stop), digest in zip(ranges, digests, strict=True)
        ]

    def _keys(self, values: list[str], scope: Scope) -> list[str]:
        if self._denoiser is None or not values:
            return values
        try:
            return self._denoiser.denoise(values, self._statistics(scope))
        except ModelError as error:
            _degraded("the denoiser failed, keys are the words themselves", error)
            return values

    # -- vectors ------------------------------------------------------------------------------------------------

    def query_vector(self, query: str) -> Vectors | None:
        """The query's vector of shape ``(d,)``; nothing without an embedder, or with a warning when it fails."""
        if self._embedder is None or not query.strip():
            return None
        try:
            if isinstance(self._embedder, QueryEmbedder):
                vector: Vectors = self._embedder.embed_queries([query])[0]
            else:
                vector = self._embedder.embed([query])[0]
        except ModelError as error:
            _degraded("the embedder failed, this search is by words only", error)
            return None
        return vector

    def vectors(self, session_id: int, texts: Sequence[str]) -> Vectors | None:
        """Vectors of shape ``(len(texts), d)``, from the store or made now and stored.

        Returns:
            Nothing without an embedder, without texts, or with a warning when it fails.
        """
        if self._embedder is None or not texts:
            return None
        digests = [digest(text) for text in texts]
        found = self._store.vectors(session_id, self._embedder.name, list(dict.fromkeys(digests)))
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if missing:
            try:
                made = dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
            except ModelError as error:
                _degraded("the embedder failed, what was said is found by words until it answers again", error)
                return None
            self._store.save_vectors(session_id, self._embedder.name, made)
            found.update(made)
        return np.stack([found[digest] for digest in digests])

    def drop_vectors(self, session_id: int, texts: Sequence[str]) -> None:
        """Remove the vectors of texts that the session does not hold any more; one that it does is made again."""
        if self._embedder is not None:
            self._store.drop_vectors(session_id, sorted({digest(text) for text in texts}))

    def _renew_vectors(
        self, row: SessionRow, old: Sequence[MemoryRow], new: Sequence[MemoryRow], tail: Sequence[Turn]
    ) -> None:
        if self._embedder is None or not self._makes_vectors:
            return
        stale = {digest(each.key) for each in old} - {digest(each.key) for each in new}
        self._store.drop_vectors(row.id, sorted(stale))
        self.vectors(row.id, [*(each.key for each in new), *(turn.text for turn in tail)])

    def digests(self, turns: Sequence[Turn], rows: Sequence[MemoryRow]) -> set[str]:
        """The digests of all texts of a session that may have vectors."""
        return {digest(text) for text in [*(turn.text for turn in turns), *(row.key for row in rows)]}


def memories_of(session: str, rows: Sequence[MemoryRow], turns: Sequence[Turn]) -> list[Memory]:
    """Stored memories with the turns they point to, in order."""
    by_index = {turn.index: turn for turn in turns}
    found = []
    for row in rows:
        held = tuple(by_index[index] for index in range(row.start, row.stop) if index in by_index)
        if held:
            found.append(Memory(f"{session}#{row.start}-{row.stop}", row.key, held))
    return found


def _degraded(what: str, error: ModelError) -> None:
    warnings.warn(f"{what}: {error}", DegradedWarning, stacklevel=5)
