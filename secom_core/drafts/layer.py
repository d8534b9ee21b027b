"""What layers have in common that are made of what closed sessions say, and searched in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from ..conversation import Scope, check_scope
from ..derived.scope_states import ScopeState, ScopeStates
from ..layers import ClosedSession, Layer, LayerContext
from ..llm.flow import Procedure, run
from ..stores.rows import ScopeRow
from .extraction import Draft, Extracted, Identity, segment_drafts

S = TypeVar("S", bound=ScopeState)


class DraftLayer(Layer, Generic[S]):
    """A layer that makes drafts of closed sessions and keeps what became of them ready to be searched.

    Args:
        context: what the bank lends.
        new_state: makes what is kept of a scope, empty.
        concurrency: how many questions to the language model are in flight at once.
        recall_without_model: take part in recalls without a language model too.
    """

    def __init__(
        self, context: LayerContext, new_state: Callable[[ScopeRow], S], concurrency: int, recall_without_model: bool
    ) -> None:
        super().__init__(context)
        self.recall_without_model = recall_without_model
        self._store, self._derivation, self._model = context.store, context.derivation, context.model
        self._concurrency, self._new_state = concurrency, new_state
        self._states = ScopeStates(context.store, new_state, size=context.max_scopes)

    def drop(self, scope: Scope) -> None:
        """Let go of what is kept of the scope in memory; it is loaded again when asked for."""
        self._states.drop(scope)

    @contextmanager
    def _state(self, scope: Sequence[str], *, retry_vectors: bool = False) -> Iterator[S]:
        """The scope's state with everything that any process has written, locked; empty where nothing is remembered."""
        found = self._states.caught_up(check_scope(scope), self._follow, retry_vectors=retry_vectors)
        state = found or self._new_state(ScopeRow(-1, -1, -1))
        with state.lock:
            yield state

    def _follow(self, state: S, row: ScopeRow) -> ScopeRow:
        """Bring a state up to the store, with its lock held; the row that it has reached."""
        raise NotImplementedError

    def _extracted(
        self, session: ClosedSession, ask: Callable[..., Procedure[Extracted]], *, by_speaker: bool = False
    ) -> Extracted:
        """What the session says: by the model, of its new turns, or by its segments where there is none."""
        if self._model is None:
            return Extracted(tuple(segment_drafts(session.memories, by_speaker=by_speaker)), answered=False)
        return run(ask(session.new_turns, session.memories), self._model, limit=self._concurrency)

    def _changes(
        self, session: ClosedSession, drafts: Sequence[Draft], stored: Mapping[int, Identity]
    ) -> tuple[list[Draft], list[int]]:
        """The drafts that are not stored yet, and the ids of what is stored and no longer holds."""
        left = {draft.identity: draft for draft in drafts}
        # Of a session that goes on, the model sees the new turns only.
        keep = bool(session.taken) and self._model is not None
        stale = [id_ for id_, identity in stored.items() if left.pop(identity, None) is None and not keep]
        return list(left.values()), stale
