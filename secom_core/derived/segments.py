"""What is made from raw turns: segments, keys and vectors, and how they follow one more turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np

from ..conversation import OF_CORRECTIONS, Scope, Turn
from ..errors import StoreUnwritable, attempted, warn_degraded
from ..memory import Memory, passages_of
from ..protocols import Denoiser, Embedder, Segmenter, Statistics, Vectors
from ..stores.digests import digest
from ..stores.rows import MemoryRow, SessionRow, next_count
from ..stores.sql import SqlStore
from ..stores.unsettled import Unsettled
from ..text.kept import forget_kept
from ..vectors import unit_rows
from .cutting import AWAITING, Cuts, cut
from .segmenters import ScopeSegmenters
from .space import EmbeddingSpace
from .whole import agree, counted

T = TypeVar("T")
_ByDigest: TypeAlias = "dict[int, dict[str, T]]"
"""By the ids of sessions and the digests of their texts."""


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
        self._store, self._segmenters, self._denoiser = store, segmenters, denoiser
        self._space = EmbeddingSpace(store, embedder) if embedder is not None else None
        self._tail, self._statistics, self._makes_vectors = tail, statistics, vectors

    def derive(
        self,
        session_id: int,
        scope: Scope,
        *,
        afresh: bool = False,
        ended: bool = False,
        unsaved: Callable[[Unsettled], object] | None = None,
        unembedded: list[tuple[int, str]] | None = None,
    ) -> SessionRow | None:
        """Bring the session's memories up to its messages; costs what its unsettled end costs.

        Args:
            session_id: the session's id.
            scope: whose session it is.
            afresh: make all of its memories again.
            ended: have a segmenter that waits for the end of sessions (`EndSegmenter`) cut it now, if it has ended.
            unsaved: is given what was made where the store is locked, so that it can be searched all the same.
            unembedded: gets what is to be embedded, for `vectors_of_sessions`, where the caller does that.

        Returns:
            The session as it is then, or nothing where it was forgotten. Where such a segmenter fails, it has the cuts
            of the one that stands in for it, and still awaits to be cut.
        """
        epoch = self.epoch(scope) if not afresh else None
        while found := self._store.unsettled(
            session_id, afresh=afresh, ended=ended, known=self._store.recent.of(session_id)
        ):
            row, tail, old = found
            if not afresh and (row.is_derived or row.is_provisional) and not (ended and row.awaits_cut):
                return row
            since = 0 if afresh else row.settled
            row = replace(counted(row, tail), cut=0 if afresh else row.cut) if since == 0 else row
            old = [] if afresh else old
            segmenter, waits = self._segmenter(scope, row), not (ended and row.awaits_cut)
            goes_on = waits and not row.closed and row.cut_by in (None, type(segmenter).__name__)
            cuts = cut(segmenter, tail, old, waits=waits, goes_on=goes_on)
            if cuts.failed and row.is_provisional and not afresh:
                return row
            rows = self._memories(cuts, tail, old, row, scope)
            settled = self._settled_at(cuts, rows, since, row)
            first, changed = (0, rows) if afresh else _changed(old, rows, row.turns)
            upto = row.messages if row.ended and not cuts.provisional else row.cut
            try:
                done = self._store.save_memories(row, changed, settled=settled, since=first, cut=upto, cut_by=cuts.by)
            except StoreUnwritable:
                if unsaved is not None:
                    unsaved(Unsettled(row, tail, rows))
                raise
            if done:
                if self._makes_vectors:
                    self.drop_vectors(row.id, {each.key for each in old} - {each.key for each in rows})
                # Where the segmenter has failed, so would most likely the embedder that it asks; a recall tries again.
                if self._makes_vectors and self._space is not None and not cuts.failed:
                    texts = [(row.id, text) for text in (*(each.key for each in rows), *searched_texts(tail))]
                    if unembedded is None:
                        self.vectors_of_sessions(texts, afresh=afresh, epoch=epoch)
                    else:
                        unembedded += texts
                saved = replace(row, derived=row.messages, settled=settled, cut=upto, cut_by=cuts.by)
                saved = replace(saved, version=next_count(row.version))
                self._store.recent.keep(saved, tail, rows, since)
                return saved
        return None

    def forget(self) -> None:
        """Let go of the words that are held in memory: some of them were forgotten."""
        self._store.recent.clear()
        forget_kept()

    def memories(self, scope: Scope, row: SessionRow, turns: Sequence[Turn], since: int = 0) -> list[Memory]:
        """The session's memories from turn ``since`` on, as `rows` gives them, with their turns."""
        return memories_of(row.name, self.rows(scope, row, turns, since), [t for t in turns if t.index >= since])

    def grown(
        self, scope: Scope, row: SessionRow, known: int, since: int, unsaved: Unsettled | None = None
    ) -> tuple[Sequence[Turn], list[Memory]]:
        """A session's last turns and memories, as `memories` gives them.

        Args:
            scope: whose session it is.
            row: the session as `derive` gave it.
            known: the first turn that is asked for, unless ``since`` is before it.
            since: the first turn whose memories are asked for; a memory begins with it.
            unsaved: what `derive` has made of the session as it is in ``row``, and could not write.
        """
        recent, first = self._store.recent.of(row.id), min(known, since)
        if unsaved is not None:
            turns = unsaved.turns if row.settled <= first else self._store.turns(row, first)
            rows = [each for each in self._store.memories(row.id, since) if each.stop <= row.settled]
            return turns, memories_of(row.name, [*rows, *unsaved.rows], turns)
        if recent is not None and (made := recent.since(row, first)) is not None:
            # What this process has just made and written.
            rows = [each for each in made[1] if each.start >= since]
            return made[0], memories_of(row.name, rows, made[0])
        turns = self._store.turns(row, first)
        return turns, self.memories(scope, row, turns, since)

    def rows(self, scope: Scope, row: SessionRow, turns: Sequence[Turn], since: int = 0) -> list[MemoryRow]:
        """The session's memories from turn ``since`` on; made again, with a warning, where the turns are not all there.

        Args:
            scope: whose session it is.
            row: the session as `derive` gave it, or with messages that have come since.
            turns: its turns from there on, in order; some before them do no harm.
            since: a turn with which a memory begins.
        """
        rows = self._store.memories(row.id, since)
        known = [turn for turn in turns if turn.index >= since]
        if not agree(rows, known) and self._is_current(row):
            # Another writer may have stored messages before the session was read, and be about to make their memories.
            if not (lacks := 0 <= row.derived < row.messages):
                warn_degraded(
                    f"memories of the session {row.name!r} of {scope!r} disagree with its turns and are made again"
                )
            self.derive(row.id, scope, afresh=not lacks)
            stored = self._store.memories(row.id)
            rows = [replace(each, start=max(each.start, since)) for each in stored if each.stop > since]
        return rows

    def _is_current(self, row: SessionRow) -> bool:
        """Whether nobody has written since it was read: what another writer adds has its memories a moment later."""
        now = self._store.session(row.id)
        return now is not None and now.version == row.version

    def shrunk(self, old: Sequence[MemoryRow], kept: Sequence[Turn], doomed: set[int], scope: Scope) -> list[MemoryRow]:
        """The memories without the doomed turns: the same cuts, and new keys where a turn is missing."""
        rows, gone = list[MemoryRow](), sorted(doomed)
        for memory in old:
            turns = [turn for turn in kept if memory.start <= turn.index < memory.stop]
            if not turns:
                continue
            # A range may be far longer than what it holds.
            touched = bisect_left(gone, memory.start) < bisect_left(gone, memory.stop)
            rows += self._rows([turns], [(memory.start, memory.stop)], (), scope) if touched else [memory]
        return rows

    # -- segments and keys --------------------------------------------------------------------------------------

    def _segmenter(self, scope: Scope, row: SessionRow) -> Segmenter:
        if not row.name.endswith(OF_CORRECTIONS):
            return self._segmenters.of(scope)
        from ..segmenters.fixed import EachTurn

        # Corrections come one at a time, each of something else.
        return EachTurn()

    def _memories(
        self, cuts: Cuts, tail: Sequence[Turn], old: Sequence[MemoryRow], row: SessionRow, scope: Scope
    ) -> list[MemoryRow]:
        """The memories of the unsettled turns: those that stay as they are, and one for each new segment."""
        turns = tail[cuts.first :]
        # Ranges count turn indices, which have gaps where turns were forgotten.
        ranges = list(pairwise([*(turns[segment.start].index for segment in cuts.segments), row.turns]))
        groups = [turns[each.start : each.stop] for each in cuts.segments]
        # One that keeps its range may have got an answer that came late.
        kept = [[turn for turn in tail if each.start <= turn.index < each.stop] for each in cuts.kept]
        return self._rows([*kept, *groups], [*((each.start, each.stop) for each in cuts.kept), *ranges], old, scope)

    def _settled_at(self, cuts: Cuts, rows: Sequence[MemoryRow], since: int, row: SessionRow) -> int:
        """The turn from which on memories may still change: what a segmenter will cut that waits, or the open end."""
        if row.closed:
            return since if cuts.provisional and row.awaits_cut else row.turns
        if self._tail is None:
            return since
        return _first_edge(rows, row.turns, AWAITING if cuts.provisional else self._tail)

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
        denoiser, statistics = self._denoiser, self._statistics(scope)
        part, what = f"the denoiser {type(denoiser).__name__}", "the denoiser failed, keys are the words themselves"
        return _one_each(part, lambda texts: denoiser.denoise(texts, statistics), values, what) or values

    @property
    def space(self) -> EmbeddingSpace | None:
        """Where the vectors of turns and keys are; nothing where none are made."""
        return self._space if self._makes_vectors else None

    # -- vectors ------------------------------------------------------------------------------------------------

    def query_vector(self, query: str, context: Sequence[tuple[str, float]] = ()) -> Vectors | None:
        """The query's vector of shape ``(d,)``; nothing without an embedder, or with a warning when it fails.

        Args:
            query: the query.
            context: texts that weigh in, each with its weight beside the query's.
        """
        if self._space is None or not query.strip():
            return None
        if (made := self._space.of_queries([query, *(text for text, _ in context)])) is None:
            return None
        weights = [1.0, *(weight for _, weight in context)]
        if len(made) == 1:
            return np.asarray(made[0])
        [mixed] = unit_rows(np.average(made, axis=0, weights=weights)[None], 1)
        return np.asarray(mixed)

    def vectors(self, session_id: int, texts: Sequence[str], *, only_stored: bool = False) -> Vectors | None:
        """Vectors of the texts of one session; see `vectors_of_sessions`."""
        return self.vectors_of_sessions([(session_id, text) for text in texts], only_stored=only_stored)

    def epoch(self, scope: Scope) -> int | None:
        """Another one where something of the scope was forgotten meanwhile; nothing where no vectors are made."""
        row = self._store.scope(scope) if self.space is not None else None
        return row.epoch if row is not None else None

    def vectors_of_sessions(
        self,
        texts: Sequence[tuple[int, str]],
        *,
        afresh: bool = False,
        epoch: int | None = None,
        only_stored: bool = False,
    ) -> Vectors | None:
        """Vectors of shape ``(len(texts), d)``, from the store where they fit, or made now, together, and stored.

        Args:
            texts: what is embedded, each text behind its session's id.
            afresh: make them all now, and drop all others of their sessions.
            epoch: the scope's before the texts were read. If something was forgotten since, none are stored.
            only_stored: make none now.

        Returns:
            Nothing without an embedder or texts, with a warning when it fails, or where ``only_stored`` lacks some.
        """
        if self._space is None or not texts:
            return None
        wanted: _ByDigest[str] = {}
        for session_id, text in texts:
            wanted.setdefault(session_id, {})[digest(text)] = text
        known_name = None if afresh else self._space.known_name
        stored = self._stored(known_name, wanted)
        if only_stored and any(len(stored[each]) < len(wanted[each]) for each in wanted):
            return None
        made = self._made(self._space, wanted, stored, epoch, only_these=afresh)
        settled = self._space.known_name if self._space.is_settled(texts[0][1]) else None
        if made is None or settled is None:
            return None
        if known_name not in (None, settled):
            stored = self._stored(settled, wanted)
        found = {each: {**self._space.fitting(stored[each]), **made[each]} for each in wanted}
        if (remade := self._made(self._space, wanted, found, epoch)) is None:
            return None
        found = {each: found[each] | remade[each] for each in wanted}
        return np.stack([found[session_id][digest(text)] for session_id, text in texts])

    def _stored(self, name: str | None, wanted: _ByDigest[str]) -> _ByDigest[Vectors]:
        """What the store has of the texts in the space of this name, by session."""
        if name is None:
            return {session_id: {} for session_id in wanted}
        return {session_id: self._store.vectors(session_id, name, list(each)) for session_id, each in wanted.items()}

    def _made(
        self,
        space: EmbeddingSpace,
        wanted: _ByDigest[str],
        known: _ByDigest[Vectors],
        epoch: int | None,
        *,
        only_these: bool = False,
    ) -> _ByDigest[Vectors] | None:
        """Vectors of the texts whose digest is not known, by session; nothing where the embedder fails. They are
        stored, unless the store is locked.
        """
        missing = {
            session_id: {each: text for each, text in texts.items() if each not in known[session_id]}
            for session_id, texts in wanted.items()
        }
        every = {each: text for texts in missing.values() for each, text in texts.items()}
        rows = space.of_texts(list(every.values())) if every else ()
        if rows is None:
            return None
        row_of = dict(zip(every, rows, strict=True))
        new = {session_id: {each: row_of[each] for each in texts} for session_id, texts in missing.items()}
        try:
            for session_id, of_session in new.items():
                self._store.save_vectors(session_id, space.model, of_session, only_these=only_these, epoch=epoch)
        except StoreUnwritable:
            if only_these:
                raise
            # Whoever asks for them has them; the next one has them made again.
        return new

    def drop_vectors(self, session_id: int, texts: Iterable[str]) -> None:
        """Remove the vectors of texts that the session does not hold any more; one that it does is made again."""
        if self._space is not None:
            self._store.drop_vectors(session_id, sorted({digest(text) for text in texts}))

    def digests(self, turns: Sequence[Turn], rows: Sequence[MemoryRow]) -> set[str]:
        """The digests of all texts of a session that may have vectors."""
        return {digest(text) for text in [*searched_texts(turns), *(row.key for row in rows)]}


def _first_edge(rows: Sequence[MemoryRow], turns: int, most: int) -> int:
    """The first edge that leaves at most so many turns after it."""
    return next(edge for edge in [*(row.start for row in rows), turns] if turns - edge <= most)


def _changed(old: Sequence[MemoryRow], rows: Sequence[MemoryRow], turns: int) -> tuple[int, Sequence[MemoryRow]]:
    """From which turn on the new memories are others than the old, and those; what is the same need not be written."""
    same = next((place for place, pair in enumerate(zip(old, rows, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(old), len(rows)) if same is None else same
    return min([each.start for each in (*old[same:], *rows[same:])], default=turns), rows[same:]


def _one_each(
    part: str, make: Callable[[Sequence[str]], Iterable[T]], texts: Sequence[str], what: str
) -> list[T] | None:
    """What a part makes of each text; nothing, with a warning, where it fails or makes more or fewer than there are."""
    return attempted(part, lambda: [made for made, _ in zip(make(texts), texts, strict=True)], what)


def searched_texts(turns: Iterable[Turn]) -> list[str]:
    """The words of the turns' passages, as they are indexed and embedded, in order."""
    return [passage.searched for turn in turns for passage in passages_of(turn)]


def memories_of(session: str, rows: Sequence[MemoryRow], turns: Sequence[Turn]) -> list[Memory]:
    """Stored memories with the turns they point to, in order."""
    held = sorted(turns, key=lambda turn: turn.index)
    places = [turn.index for turn in held]
    ranges = ((row, held[bisect_left(places, row.start) : bisect_left(places, row.stop)]) for row in rows)
    return [Memory(f"{session}#{row.start}-{row.stop}", row.key, tuple(inside)) for row, inside in ranges if inside]
