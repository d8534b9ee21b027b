"""A scope's index in this process, and how far it goes."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..derived.scope_states import ScopeState
from ..ranking import ScopeIndex
from .kept_blocks import Kept, Opened, Unmade
from .reached import Reached


@dataclass(kw_only=True)
class LoadedScope(ScopeState):
    """A scope's index, and by session how far it has followed: the last turn, and the one from which it settles.

    What was said in sessions that are ``left`` is not in it yet: nobody has looked for it. What was made of those that
    are ``unsaved`` is in it and not in the store, which was locked: these are left too, to be made and written again.
    Those that are ``awaited`` are left because the index is made in steps, for a ``cause``, and none has come to them
    yet. While ``awaits_vectors``, vectors of some of what is in it are to be made too, as many as it is ``lacking`` as
    far as is known, and it is searched by words. Where it ``is_large``, or may be, vectors that are not stored are
    awaited too. ``derived_at`` is the revision of the scope for which sessions were last derived here.
    """

    index: ScopeIndex
    kept: Kept
    known: Reached = field(default_factory=Reached)
    unsaved: set[int] = field(default_factory=set)
    awaited: set[int] = field(default_factory=set)
    awaits_vectors: bool = False
    lacking: int = 0
    is_large: bool = False
    cause: str = ""
    weighed_at: int = 0
    derived_at: int = -1

    @property
    def is_behind(self) -> bool:
        """Whether there is more to be followed, or to be made, though nothing new has come."""
        return bool(self.left) or self.awaits_vectors

    @property
    def is_in_part(self) -> bool:
        """Whether it is still made in steps."""
        return bool(self.awaited) or self.awaits_vectors

    def unmade(self, left: set[int] | None = None) -> Unmade:
        """What is still to be made; the sessions that are awaited, unless others are ``left``."""
        return Unmade(self.awaited if left is None else left, self.awaits_vectors, self.cause)

    def begin_with(self, opened: Opened) -> None:
        """Hold what is known of the index that was opened."""
        unmade = opened.unmade
        self.kept, self.known, self.lacks_vectors = opened.kept, opened.known, opened.lacks_vectors
        self.left, self.awaited = set(unmade.left), set(unmade.left)
        self.awaits_vectors, self.cause = unmade.vectors, unmade.cause
