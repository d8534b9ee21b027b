"""The scopes' search indexes in this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Final

from ..conversation import Scope, Turn
from ..derived.scope_states import ScopeStates
from ..derived.segments import Derivation, searched_texts
from ..errors import StaleIndex, StoreUnwritable
from ..memory import Memory
from ..protocols import Statistics, Vectors
from ..ranking import ScopeIndex
from ..stores.database import waiting_at_most
from ..stores.index_blocks import WithoutThem
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from ..stores.unsettled import Unsettled
from ..telemetry import staged
from .index_steps import filled, in_turn, is_over, is_small, settled_parts, step_ends, warn_of_steps
from .kept_index import IndexKeeper, names_of
from .loaded_scope import LoadedScope
from .portions import Bar, no_bar

_GROWN: Final = 1.1
_LET_IN_S: Final = 0.01
"""For how long whoever makes all of an index leaves the scope to others between two steps."""


class ScopeCache:
    """Keeps scopes ready to be searched, the least recently used dropped first.

    Args:
        store: what they follow.
        derivation: derives what a writer that was killed had not.
        new_index: makes an empty index.
        size: how many are kept.
        nbytes: how much memory their indexes may take together, about.
        outdated: is called where another process has forgotten something of a scope that is kept.
        vectors: hold vectors in memory; not where a vector store outside does.
        keeper: keeps indexes with the bank.
        derived: is told of each session of a scope that was derived here.
        bar: shows progress where somebody waits until all of an index is made.
    """

    def __init__(
        self,
        store: SqlStore,
        derivation: Derivation,
        new_index: Callable[[], ScopeIndex],
        *,
        size: int | None = None,
        nbytes: int | None = None,
        outdated: Callable[[], None] = lambda: None,
        vectors: bool = True,
        keeper: IndexKeeper,
        derived: Callable[[Scope, SessionRow], None] = lambda scope, row: None,
        bar: Bar = no_bar,
    ) -> None:
        self._tell, self._bar = derived, bar
        self._store, self._derivation, self._vectors, self._keeper = store, derivation, vectors, keeper
        self._new_index = new_index
        self._states: ScopeStates[LoadedScope] = ScopeStates(
            store,
            lambda row: LoadedScope(row, index=new_index(), kept=keeper.nothing(row.id)),
            size=size,
            nbytes=nbytes,
            outdated=outdated,
        )

    def __len__(self) -> int:
        """How many scopes are loaded."""
        return len(self._states)

    @property
    def nbytes(self) -> int:
        """How much memory they take, about."""
        return self._states.nbytes

    def statistics(self, scope: Scope) -> Statistics | None:
        """The scope's term statistics, if it is loaded."""
        loaded = self._states.get(scope)
        return loaded.index.statistics if loaded is not None else None

    def drop(self, scope: Scope) -> None:
        """Forget the index; it is loaded again when asked for."""
        self._states.drop(scope)

    def take_out(
        self, scope: Scope, row: ScopeRow, doomed: Mapping[int, Sequence[Turn]], *, staying: Collection[str] = ()
    ) -> WithoutThem | None:
        """Take turns out of a scope's index, and of what is kept of it, before they are forgotten, or change.

        Whether they are or not, what is left of their sessions is followed anew.

        Args:
            scope: whose.
            row: the scope.
            doomed: the turns by the ids of their sessions.
            staying: the names of sessions that keep their places, as turns of them come again.

        Returns:
            What may stay of what is kept; nothing where it has to go, and is made again.
        """
        loaded = self._states.at(scope, row)
        with loaded.lock, ExitStack() as half_done:
            half_done.callback(self.drop, scope)
            try:
                is_new = loaded.row.revision < 0 and self._open(loaded, row)
                if loaded.kept.is_unfit or (is_new and not loaded.kept.blocks):
                    # What is kept after the first step says what is still to be made, and so does not have to go.
                    loaded.row = self._follow(scope, set(), loaded, row)
                found = self._without(loaded, doomed, staying) if loaded.row.revision >= 0 else None
                if loaded.row.revision >= 0:
                    half_done.pop_all()
            except StaleIndex:
                return None
        return found

    def _without(
        self, loaded: LoadedScope, doomed: Mapping[int, Sequence[Turn]], staying: Collection[str]
    ) -> WithoutThem | None:
        index, named = loaded.index, names_of(loaded.index)
        names = self._names_to_come(loaded, doomed)
        index.remove_turns([turn for turns in doomed.values() for turn in turns], but={*names, *staying})
        loaded.left.update(doomed)
        loaded.known.lost(doomed)
        loaded.kept.sessions.update(doomed)
        waits = loaded.unsaved or loaded.kept.is_unfit or (self._keeper.space and loaded.lacks_vectors)
        found = None
        if not waits:
            found = self._keeper.without(
                loaded.row, index, loaded.kept, loaded.known, loaded.unmade(loaded.left), named
            )
        if found is None:
            # It is read whole, as it is about to be deleted.
            index.indexes.words.hold()
            index.indexes.keys.hold()
            loaded.kept = self._keeper.nothing(loaded.row.id)
        return found

    def _names_to_come(self, loaded: LoadedScope, doomed: Mapping[int, Sequence[Turn]]) -> set[str]:
        """The names of the sessions that are still to be followed, but those of which nothing will be left."""
        since = -1 if loaded.awaited or loaded.left else loaded.row.revision
        rows, ids = self._store.sessions(loaded.row.id, since=since), self._store.turn_ids
        return {each.name for each in rows if each.id not in doomed or len(doomed[each.id]) < len(ids(each))}

    def forgotten(self, scope: Scope, row: ScopeRow, doomed: Collection[int], epochs: int) -> None:
        """Note that what was taken out is forgotten; the index is loaded afresh where others have forgotten something.

        Args:
            scope: whose.
            row: the scope as it was before.
            doomed: the ids of the sessions that had what was taken out.
            epochs: how many epochs it has taken.
        """
        loaded, now = self._states.get(scope), self._store.scope(scope)
        if loaded is None:
            return
        with loaded.lock:
            before = (loaded.row.id, loaded.row.epoch, loaded.row.epoch + epochs)
            # Whoever has followed the sessions meanwhile may have taken in again what was not gone yet.
            if now is not None and before == (row.id, row.epoch, now.epoch) and loaded.left.issuperset(doomed):
                loaded.row = ScopeRow(now.id, loaded.row.revision, now.epoch)
            else:
                self.drop(scope)

    @staged("read")
    def caught_up(
        self,
        scope: Scope,
        row: ScopeRow | None = None,
        *,
        retry_vectors: bool = False,
        besides: Collection[str] = (),
    ) -> LoadedScope | None:
        """The scope's index with everything that any process has written; nothing where nothing is remembered.

        An index that is missing, that another version of the package has made, or that has no vectors of the embedder
        yet, is made in steps: each call takes one, from the last session to the first, and warns where more is left to
        be made.

        Args:
            scope: whose index.
            row: the scope as it was just read; it is read unless given.
            retry_vectors: load afresh where vectors are missing because an embedder had failed.
            besides: ids of turns that nobody looks for, such as those in the prompt. A session with nothing else to
                derive is left to its writer, or to who looks for it.
        """
        follow = partial(self._follow, scope, set(besides))
        loaded = self._states.caught_up(scope, follow, row, retry_vectors=retry_vectors)
        if loaded is not None and loaded.is_in_part:
            warn_of_steps(scope, loaded.unmade())
        return loaded

    def whole(self, scope: Scope, *, vectors: bool = True) -> LoadedScope | None:
        """As `caught_up`, with all steps that are left; others may search the scope between them.

        Args:
            scope: whose index.
            vectors: whether vectors that it lacks are made too; else it may be searched by words alone.
        """
        follow = partial(self._follow, scope, set())
        loaded = self._states.caught_up(scope, follow)
        if loaded is not None and loaded.awaited:
            made = self._made(scope, follow, loaded, lambda each: len(each.awaited))
            for _ in self._bar(made, "making the search index", unit="session", total=len(loaded.awaited)):
                pass
            # Where another process has written too, what it has made is read.
            return self.whole(scope, vectors=vectors)
        if loaded is not None and loaded.awaits_vectors and vectors:
            made = self._made(scope, follow, loaded, lambda each: each.lacking)
            for _ in self._bar(made, "making its vectors", unit="text", total=loaded.lacking):
                pass
            loaded = self._states.get(scope)
            if loaded is not None and loaded.awaits_vectors:
                warn_of_steps(scope, loaded.unmade())
        return loaded

    def _made(
        self,
        scope: Scope,
        follow: Callable[[LoadedScope, ScopeRow], ScopeRow],
        loaded: LoadedScope | None,
        left_of: Callable[[LoadedScope], int],
    ) -> Iterator[None]:
        """Each thing that an index is made of, in as many steps as it takes, unless one makes nothing."""
        while loaded is not None and (left := left_of(loaded)):
            time.sleep(_LET_IN_S)
            before, loaded = loaded, self._states.caught_up(scope, follow)
            made = left - (left_of(loaded) if loaded is not None else 0)
            if made <= 0 and loaded is before:
                return
            yield from repeat(None, made)

    def _follow(self, scope: Scope, besides: set[str], loaded: LoadedScope, row: ScopeRow) -> ScopeRow:
        if loaded.row.revision < 0:
            self._open(loaded, row)
        changed = {each.id: each for each in self._store.sessions(row.id, since=loaded.row.revision)}
        is_locked, until = False, step_ends()
        turns = len(loaded.index) + sum(each.turns for each in changed.values())
        loaded.is_large = bool(loaded.awaited) or not is_small(turns)
        for session_id in in_turn(set(loaded.left), set(loaded.awaited), changed, until):
            is_step = session_id in loaded.awaited
            loaded.awaited.discard(session_id)
            current = changed.get(session_id)
            waits = current is None or not current.is_derived
            if waits and besides and self._has_only(besides, session_id, current, loaded):
                loaded.left.add(session_id)
                continue
            unsaved: Unsettled | None = None
            if waits:
                # It is waited for the lock once, and not for each session.
                with waiting_at_most(0) if is_locked else nullcontext():
                    derived, unsaved = self._derived(scope, session_id)
                is_locked = is_locked or unsaved is not None
                loaded.derived_at = row.revision
                current, waits = unsaved.session if unsaved is not None else derived, unsaved is not None
            if current is not None:
                end = until if is_step and unsaved is None else math.inf
                if not self._follow_session(scope, loaded, current, unsaved, until=end):
                    loaded.awaited.add(session_id)
                    continue
            for sessions in (loaded.left, loaded.unsaved):
                (sessions.add if waits else sessions.discard)(session_id)
            if self._keeper.fills_a_block(loaded.index):
                # Of a scope that is read for the first time, what was read is not read again where this breaks off.
                self._keep(scope, loaded, replace(row, revision=max(0, loaded.row.revision)))
        if loaded.awaits_vectors and not loaded.awaited:
            self._fill(loaded, row, until if not is_small(len(loaded.index)) else math.inf)
        self._weigh(scope, loaded)
        self._keep(scope, loaded, row)
        return row

    def _derived(self, scope: Scope, session_id: int) -> tuple[SessionRow | None, Unsettled | None]:
        """A session, derived; where the store is locked, what was made of it and is not written."""
        made: list[Unsettled] = []
        try:
            row = self._derivation.derive(session_id, scope, unsaved=made.append)
            if row is not None:
                self._tell(scope, row)
            return row, None
        except StoreUnwritable:
            if made:
                return None, made[-1]
            row = self._store.session(session_id)
            if row is None or row.derived < row.messages:
                raise
            # It is written, and vectors that are left over of it are not cleared away.
            return row, None

    def _fill(self, loaded: LoadedScope, row: ScopeRow, until: float) -> None:
        """Make some of the vectors that an index lacks."""
        sessions = {each.name: each.id for each in self._store.sessions(row.id)}
        made, loaded.lacking = filled(loaded.index, sessions, self._derivation, until, row.epoch)
        loaded.kept.vectors += made
        if not loaded.lacking:
            loaded.awaits_vectors, loaded.weighed_at = False, 0

    def _open(self, loaded: LoadedScope, row: ScopeRow) -> bool:
        """Begin with what is kept of the scope's index; whether there is anything, or it is made in steps."""
        opened = self._keeper.open(row, loaded.index)
        if opened is None:
            # What was half opened is no index.
            loaded.index = self._new_index()
            opened = self._keeper.missing(row, loaded.index)
        if opened is not None:
            loaded.begin_with(opened)
            loaded.row = ScopeRow(row.id, opened.revision, row.epoch)
        return opened is not None

    def _keep(self, scope: Scope, loaded: LoadedScope, row: ScopeRow) -> None:
        if loaded.left - loaded.awaited or (self._keeper.space is not None and loaded.lacks_vectors):
            return
        if not self._keeper.keep(row, loaded.index, loaded.kept, loaded.known, loaded.unmade()):
            # Another process has written what this one has too: the next call goes on from there.
            loaded.kept.given_up = True
            self.drop(scope)

    def stale(self, scope: Scope, error: StaleIndex, *, again: bool) -> None:
        """Hold a scope's index no more, as a part of it could not be read; what is damaged is made again.

        Args:
            scope: whose.
            error: what could not be read.
            again: whether that was of an index which was just opened: it is damaged, whatever it seems.
        """
        self.drop(scope)
        if (row := self._store.scope(scope)) is not None:
            self._keeper.throw_away(row, StaleIndex(str(error)) if again else error)

    def searched(self, scope: Scope) -> None:
        """Take note of what a search has read of an index that came from disk: it stays in memory."""
        loaded = self._states.get(scope)
        if loaded is not None:
            with loaded.lock:
                self._weigh(scope, loaded)

    def _weigh(self, scope: Scope, loaded: LoadedScope) -> None:
        # Weighing looks at everything: it is done when a tenth has come or was read, and one more turn costs the same.
        size = len(loaded.index.indexes.table.passages)
        if size >= loaded.weighed_at * _GROWN or loaded.weighed_at == 0:
            loaded.weighed_at = size
            self._states.weighed(scope, loaded, loaded.index.nbytes + loaded.kept.pieces.nbytes)

    def _has_only(self, turns: set[str], session_id: int, row: SessionRow | None, loaded: LoadedScope) -> bool:
        """Whether the session waits to be derived, and all that is new in it is among these turns."""
        row = row or self._store.session(session_id)
        if row is None or row.is_derived:
            return False
        last_turn, _ = loaded.known(session_id)
        return turns.issuperset(self._store.turn_ids(row, last_turn))

    def _follow_session(
        self, scope: Scope, loaded: LoadedScope, row: SessionRow, unsaved: Unsettled | None = None, *, until: float
    ) -> bool:
        """Take in what is new in a session; whether that was all of it, by when there was no more time."""
        turns, memories = self._derivation.grown(scope, row, *loaded.known(row.id), unsaved)
        parts = [memories] if until == math.inf else settled_parts(memories, row.settled)
        for number, part in enumerate(parts, start=1):
            is_last = number == len(parts)
            self._take_in(loaded, row, turns, part, row.settled if is_last else part[-1].turns[-1].index + 1)
            if not is_last and is_over(until, number, len(parts)):
                return False
        return True

    def _take_in(
        self, loaded: LoadedScope, row: SessionRow, turns: Sequence[Turn], memories: Sequence[Memory], settles: int
    ) -> None:
        last_turn, settled = loaded.known(row.id)
        # What another writer adds between these reads has no memory yet; the next call sees it.
        end = memories[-1].turns[-1].index if memories else -1
        # A turn may have had a reply since, but not once it had settled: it keeps the memory that it is in.
        new = [turn for turn in turns if settled <= turn.index <= end]
        grown = loaded.index.indexes.table.not_held(new)  # Mostly none has had any.
        of_turns, of_keys = self._vectors_of(loaded, row, grown, memories)
        loaded.lacks_vectors |= self._vectors and bool(new) and of_keys is None and not loaded.awaits_vectors
        loaded.index.add_turns(grown, of_turns)
        loaded.index.set_memories(row.name, settled, memories, of_keys)
        loaded.kept.sessions.add(row.id)
        loaded.known.note(row.id, new[-1].index if new else last_turn, settles)

    def _vectors_of(
        self, loaded: LoadedScope, row: SessionRow, turns: Sequence[Turn], memories: Sequence[Memory]
    ) -> tuple[Vectors | None, Vectors | None]:
        """The vectors of a session's passages and keys. What a large scope lacks, as after an outage, it awaits."""
        if not self._vectors or self._derivation.space is None or loaded.awaits_vectors:
            return None, None
        searched = searched_texts(turns)
        texts = [*searched, *(memory.key for memory in memories)]
        vectors = self._derivation.vectors(row.id, texts, only_stored=loaded.is_large)
        loaded.awaits_vectors = loaded.is_large and bool(texts) and vectors is None
        return (vectors[: len(searched)], vectors[len(searched) :]) if vectors is not None else (None, None)
