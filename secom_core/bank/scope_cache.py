"""The scopes' search indexes in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..conversation import Scope, Turn
from ..derived.scope_states import ScopeState, ScopeStates
from ..derived.segments import Derivation, searched_texts
from ..errors import StaleIndex
from ..protocols import Statistics
from ..ranking import ScopeIndex
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from .kept_index import IndexKeeper, Kept

_GROWN: Final = 1.1


@dataclass(kw_only=True)
class LoadedScope(ScopeState):
    """A scope's index, and by session how far it has followed: the last turn, and the one from which it settles.

    What was said in sessions that are ``left`` is not in it yet: nobody has looked for it.
    """

    index: ScopeIndex
    kept: Kept
    known: dict[int, tuple[int, int]] = field(default_factory=dict)
    weighed_at: int = 0


class ScopeCache:
    """Keeps scopes ready to be searched, the least recently used dropped first.

    Args:
        store: what they follow.
        derivation: derives what a writer that was killed had not.
        new_index: makes an empty index.
        size: how many are kept.
        nbytes: how much memory their indexes may take together, about.
        vectors: hold vectors in memory; not where a vector store outside does.
        keeper: keeps indexes with the bank.
    """

    def __init__(
        self,
        store: SqlStore,
        derivation: Derivation,
        new_index: Callable[[], ScopeIndex],
        *,
        size: int | None = None,
        nbytes: int | None = None,
        vectors: bool = True,
        keeper: IndexKeeper,
    ) -> None:
        self._store, self._derivation, self._vectors, self._keeper = store, derivation, vectors, keeper
        self._new_index = new_index
        self._states: ScopeStates[LoadedScope] = ScopeStates(
            store,
            lambda row: LoadedScope(row, index=new_index(), kept=keeper.nothing(row.id)),
            size=size,
            nbytes=nbytes,
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

    def hold(self, scope: Scope) -> None:
        """Read what a loaded index has on disk alone, before a part of the scope is forgotten, and that with it."""
        loaded = self._states.get(scope)
        if loaded is not None:
            with loaded.lock:
                try:
                    loaded.index.indexes.words.hold()
                    loaded.index.indexes.keys.hold()
                except StaleIndex:
                    self.drop(scope)

    def forgotten(self, scope: Scope, session: SessionRow, turns: Sequence[Turn], *, all_: bool) -> None:
        """Take turns out of a loaded index; it is loaded afresh where others have forgotten something meanwhile.

        Args:
            scope: whose.
            session: the session that had them.
            turns: what is gone.
            all_: whether that was all that the session had.
        """
        loaded, row = self._states.get(scope), self._store.scope(scope)
        if loaded is None or row is None:
            return
        with loaded.lock, ExitStack() as half_done:
            if (loaded.row.id, loaded.row.epoch) == (row.id, row.epoch):
                # Somebody has loaded it since.
                return
            half_done.callback(self.drop, scope)
            if (loaded.row.id, loaded.row.epoch + 1) == (row.id, row.epoch):
                if all_:
                    loaded.index.set_memories(session.name, 0, [], None)
                loaded.index.remove_turns(turns)
                # What is left of the session is followed from its first turn on, and kept with the bank anew.
                loaded.known.pop(session.id, None)
                loaded.kept = self._keeper.nothing(row.id)
                loaded.row = ScopeRow(row.id, loaded.row.revision, row.epoch)
                half_done.pop_all()

    def caught_up(
        self, scope: Scope, *, retry_vectors: bool = False, besides: Collection[str] = ()
    ) -> LoadedScope | None:
        """The scope's index with everything that any process has written; nothing where nothing is remembered.

        Args:
            scope: whose index.
            retry_vectors: load afresh where vectors are missing because an embedder had failed.
            besides: ids of turns that nobody looks for, such as those in the prompt. A session with nothing else to
                derive is left to its writer, or to who looks for it.
        """
        follow = partial(self._follow, scope, set(besides))
        return self._states.caught_up(scope, follow, retry_vectors=retry_vectors)

    def _follow(self, scope: Scope, besides: set[str], loaded: LoadedScope, row: ScopeRow) -> ScopeRow:
        if loaded.row.revision < 0:
            self._open(loaded, row)
        changed = [each.id for each in self._store.sessions(row.id, since=loaded.row.revision)]
        for session_id in dict.fromkeys([*loaded.left, *changed]):
            if besides and self._has_only(besides, session_id, loaded):
                loaded.left.add(session_id)
                continue
            current = self._derivation.derive(session_id, scope)
            if current is not None:
                self._follow_session(scope, loaded, current)
            loaded.left.discard(session_id)
        self._weigh(scope, loaded)
        self._keep(scope, loaded, row)
        return row

    def _open(self, loaded: LoadedScope, row: ScopeRow) -> None:
        """Begin with what is kept of the scope's index."""
        opened = self._keeper.open(row, loaded.index)
        if opened is None:
            # What was half opened is no index.
            loaded.index = self._new_index()
            return
        loaded.kept, revision, loaded.known = opened
        loaded.row = ScopeRow(row.id, revision, row.epoch)

    def _keep(self, scope: Scope, loaded: LoadedScope, row: ScopeRow) -> None:
        if loaded.left or (self._keeper.space is not None and loaded.lacks_vectors):
            return
        if not self._keeper.keep(row, loaded.index, loaded.kept, loaded.known):
            # Another process has written what this one has too: the next call goes on from there.
            self.drop(scope)

    def stale(self, scope: Scope, error: StaleIndex, *, again: bool) -> None:
        """Hold a scope's index no more, as a part of it could not be read; what is damaged is made again.

        Args:
            scope: whose.
            error: what could not be read.
            again: whether that was of an index which was just opened: it is damaged, whatever it seems.
        """
        self.drop(scope)
        row = self._store.scope(scope)
        if row is not None:
            self._keeper.throw_away(row, StaleIndex(str(error)) if again else error)

    def _weigh(self, scope: Scope, loaded: LoadedScope) -> None:
        # Weighing looks at everything: it is done when a tenth has come, so that one more turn costs the same.
        if len(loaded.index) >= loaded.weighed_at * _GROWN or loaded.weighed_at == 0:
            loaded.weighed_at = len(loaded.index)
            self._states.weighed(scope, loaded, loaded.index.nbytes)

    def _has_only(self, turns: set[str], session_id: int, loaded: LoadedScope) -> bool:
        """Whether the session waits to be derived, and all that is new in it is among these turns."""
        row = self._store.session(session_id)
        if row is None or row.is_derived:
            return False
        last_turn, _ = loaded.known.get(session_id, (0, 0))
        return all(turn.id in turns for turn in self._store.turns(row, last_turn))

    def _follow_session(self, scope: Scope, loaded: LoadedScope, row: SessionRow) -> None:
        last_turn, settled = loaded.known.get(row.id, (0, 0))
        turns = self._store.turns(row, min(last_turn, settled))
        memories = self._derivation.memories(scope, row, turns, settled)
        # What another writer adds between these reads has no memory yet; the next call sees it.
        end = memories[-1].turns[-1].index if memories else -1
        # The last turn may have had a reply since, but not once it had settled: it keeps the memory that it is in.
        new = [turn for turn in turns if max(last_turn, settled) <= turn.index <= end]
        searched = searched_texts(new)
        texts = [*searched, *(memory.key for memory in memories)]
        vectors = self._derivation.vectors(row.id, texts) if self._vectors else None
        count = len(searched)
        of_turns, of_keys = (vectors[:count], vectors[count:]) if vectors is not None else (None, None)
        loaded.lacks_vectors |= self._vectors and bool(new) and vectors is None
        loaded.index.add_turns(new, of_turns)
        loaded.index.set_memories(row.name, settled, memories, of_keys)
        loaded.kept.sessions.add(row.id)
        loaded.known[row.id] = (new[-1].index if new else last_turn, row.settled)
