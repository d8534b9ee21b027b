"""What a bank holds, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ..conversation import Scope, Turn, check_scope
from ..errors import InvalidInput
from ..memory import Memory
from .capabilities import Capabilities
from .checks import check_ids, check_name
from .records import Stats


class Looking(Capabilities):
    """Reads what a bank holds: scopes, sessions, turns, memories."""

    def scopes(self, within: Sequence[str] = ()) -> list[Scope]:
        """Every scope that holds anything; of those ``within`` a tenant, say, whose first parts are these."""
        return self._inside.deriving.store.scopes(check_scope(within) if within else ())

    def sessions(self, scope: Sequence[str]) -> list[str]:
        """The names of the scope's sessions, in the order in which they came."""
        return [each.name for each in self._inside.deriving.store.sessions_of(self._inside.current(check_scope(scope)))]

    def turns(
        self,
        scope: Sequence[str],
        session: str | None = None,
        *,
        last: int | None = None,
        turn_ids: Sequence[str] | None = None,
    ) -> list[Turn]:
        """The session's turns, verbatim, in order; only the ``last`` so many where that is given.

        Instead of a session, ``turn_ids`` names turns (or messages of theirs); with neither, they are all of the
        scope's, session after session. `InvalidInput` for both, or for ``last`` without a session.
        """
        scope = self._inside.current(check_scope(scope))
        if (session is None and last is not None) or not (session is None or turn_ids is None):
            raise InvalidInput(f"give a session, or turn_ids, or neither, got {session!r}, {turn_ids!r}, last={last!r}")
        if last is not None and (type(last) is not int or last < 0):
            raise InvalidInput(f"last is a whole number from 0 on, got {last!r}")
        if session is not None:
            check_name(session)
        if turn_ids is not None:
            check_ids("turn_ids", turn_ids)
            return self._inside.deriving.store.turns_named(scope, turn_ids)
        if session is None:
            return self._inside.deriving.store.all_turns(scope)
        if last is not None:
            return self._inside.latest.of(scope, session, last)
        row = self._inside.deriving.store.session_named(scope, session)
        return self._inside.deriving.store.turns(row) if row is not None else []

    def memories(self, scope: Sequence[str], session: str) -> list[Memory]:
        """The session's memories, in order; those at the end of an open session may still change.

        They cover the session: `secom_core.memory.segments_of` gives them as ranges of its turns.
        """
        return self._inside.memories(self._inside.current(check_scope(scope)), session)

    def stats(self, scope: Sequence[str]) -> Stats:
        """How much the scope holds."""
        row = self._inside.deriving.store.scope(self._inside.current(check_scope(scope)))
        return Stats(**self._inside.deriving.store.counts(row.id)) if row else Stats(0, 0, 0, 0, 0)
