"""What is made from whole sessions once they are closed: a layer each for events, for summaries, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from .conversation import Scope, Turn
from .derivation import memories_of
from .memory import Memory
from .stores.reflections import begin_again, pending
from .stores.sql import SessionRow, SqlStore

__all__ = ["ClosedSession", "Layer", "ReflectionLayers"]

_TRIES: Final = 3
"""How often a session that changes while it is taken in is begun again at once; later the next close does it."""


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """A closed session as a layer takes it in.

    Args:
        scope: whose it is.
        row: its row as read before ``turns``; `secom_core.stores.reflections.claim` wants it back.
        turns: all its turns, verbatim, in order.
        memories: its memories; they cover the turns.
        taken: how many of its messages the layer has taken in before; 0 where it is new, where the session lost
            turns, and after a rebuild: then what the layer made from it is to be made again.
    """

    scope: Scope
    row: SessionRow
    turns: tuple[Turn, ...]
    memories: tuple[Memory, ...]
    taken: int

    @property
    def new_turns(self) -> tuple[Turn, ...]:
        """The turns with messages that the layer has not taken in."""
        left = self.row.messages - self.taken
        held = 0
        for place in range(len(self.turns) - 1, -1, -1):
            held += len(self.turns[place].messages)
            if self.taken and held >= left:
                return self.turns[place:]
        return self.turns


class Layer(Protocol):
    """Something made from closed sessions."""

    @property
    def name(self) -> str:
        """The layer in the table of what was taken in, such as ``"events"``."""
        ...

    def reflect(self, session: ClosedSession) -> bool:
        """Make this layer's part of the session and save it.

        A language model that fails degrades to the local path with a `DegradedWarning`; nothing else is raised for it.

        Returns:
            Whether it was saved: not if `claim` refused, because the session changed in the meantime.
        """
        ...

    def begin_again(self, scope_id: int) -> None:
        """Drop what was made from the scope, where making it again does not replace it."""
        ...


class ReflectionLayers:
    """Brings every layer up to the scope's closed sessions, one session after the other, in order.

    Args:
        store: where sessions are.
        layers: what is made of them.
        derive: brings a session's memories up to date; the session as it is then.
    """

    def __init__(
        self,
        store: SqlStore,
        layers: Sequence[Layer],
        derive: Callable[[int, Scope], SessionRow | None],
    ) -> None:
        self._store = store
        self._layers = tuple(layers)
        self._derive = derive

    def catch_up(self, scope: Scope) -> int:
        """Take in what is pending; how many times a layer took a session in."""
        row = self._store.scope(scope) if self._layers else None
        return sum(self._catch_up(layer, scope, row.id) for layer in self._layers) if row is not None else 0

    def begin_again(self, scope: Scope) -> int:
        """Make every layer again from the raw turns; how many times a layer took a session in."""
        row = self._store.scope(scope)
        if row is None:
            return 0
        for layer in self._layers:
            begin_again(self._store, row.id, layer.name)
            layer.begin_again(row.id)
        return self.catch_up(scope)

    def _catch_up(self, layer: Layer, scope: Scope, scope_id: int) -> int:
        seen: set[int] = set()
        taken = 0
        # A layer that makes a session again may give back those that rested on it.
        while behind := [row for row, _ in pending(self._store, scope_id, layer.name) if row.id not in seen]:
            seen.update(row.id for row in behind)
            taken += sum(self._take_in(layer, scope, row) for row in behind)
        return taken

    def _take_in(self, layer: Layer, scope: Scope, session: SessionRow) -> bool:
        for _ in range(_TRIES):
            self._derive(session.id, scope)
            behind = pending(self._store, session.scope_id, layer.name, session=session.id)
            if not behind:
                return False
            if layer.reflect(self._closed(scope, *behind[0])):
                return True
        return False

    def _closed(self, scope: Scope, row: SessionRow, taken: int) -> ClosedSession:
        turns = tuple(self._store.turns(row))
        memories = memories_of(row.name, self._store.memories(row.id), turns)
        return ClosedSession(scope, row, turns, tuple(memories), taken)
