"""The scopes' search indexes in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from ..conversation import Scope
from ..derived.scope_states import ScopeState, ScopeStates
from ..derived.segments import Derivation, searched_texts
from ..protocols import Statistics
from ..ranking import ScopeIndex
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore

_GROWN: Final = 1.1


@dataclass(kw_only=True)
class LoadedScope(ScopeState):
    """A scope's index, and by session how far it has followed: the last turn, and the one from which it settles.

    What was said in sessions that are ``left`` is not in it yet: nobody has looked for it.
    """

    index: ScopeIndex
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
    ) -> None:
        self._store, self._derivation, self._vectors = store, derivation, vectors
        self._states: ScopeStates[LoadedScope] = ScopeStates(
            store, lambda row: LoadedScope(row, index=new_index()), size=size, nbytes=nbytes
        )

    def statistics(self, scope: Scope) -> Statistics | None:
        """The scope's term statistics, if it is loaded."""
        loaded = self._states.get(scope)
        return loaded.index.statistics if loaded is not None else None

    def drop(self, scope: Scope) -> None:
        """Forget the index; it is loaded again when asked for."""
        self._states.drop(scope)

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
        return row

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
        loaded.known[row.id] = (new[-1].index if new else last_turn, row.settled)
