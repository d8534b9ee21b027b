"""What a bank holds, to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ..conversation import Scope, Turn, check_scope
from ..errors import InvalidInput
from ..memory import Hit, Memory
from .capabilities import Capabilities
from .checks import check_ids, check_moment, check_name
from .records import StandingStatement, Stats


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

    def segment_names(self, scope: Sequence[str], session: str) -> list[tuple[str, ...]]:
        """The words that tell each of the session's segments from the others, in order, the most telling first.

        Up to three a segment, as they are spelled there; none where nothing tells.
        """
        from ..drafts.naming import segment_names

        scope = check_scope(scope)
        return segment_names(self.memories(scope, session), self._inside.statistics(scope))

    def standing(self, scope: Sequence[str]) -> list[StandingStatement]:
        """What the user has said that holds whatever is asked, as instructions and preferences do, the newest first.

        By rules, in English, German and Chinese (`secom_core.text.speech`). What was replaced since is left out.
        """
        return self._inside.recalling.holding(self._inside.current(check_scope(scope)))

    def would_forget(
        self,
        scope: Sequence[str],
        *,
        session: str | None = None,
        turn_ids: Sequence[str] | None = None,
        before: datetime | None = None,
    ) -> list[Turn]:
        """The turns that `MemoryBank.forget` would delete with these arguments, session after session; deletes none."""
        scope = check_scope(scope)
        if session is not None:
            check_name(session)
        if turn_ids is not None:
            check_ids("turn_ids", turn_ids)
        store, earlier = self._inside.deriving.store, check_moment("before", before) if before is not None else None
        row = store.scope(scope)
        if row is None:
            return []
        doomed = store.matching_turns(row.id, session=session, turn_ids=turn_ids, before=earlier)
        return [turn for turns in store.turns_of(doomed).values() for turn in turns]

    def weights_of(self, hit: Hit) -> Mapping[str, float]:
        """What each of a hit's signals counts for: its score is the sum of its signals, each times its weight.

        Nothing for a hit without signals, which stands beside what was found. What holds whatever is asked
        (``kind="standing"``) has its score lowered behind the best of what answers.
        """
        known = self._inside.weights if hit.signals else ()
        return next((weights for weights in known if weights.keys() == hit.signals.keys()), {})

    def stats(self, scope: Sequence[str]) -> Stats:
        """How much the scope holds."""
        row = self._inside.deriving.store.scope(self._inside.current(check_scope(scope)))
        return Stats(**self._inside.deriving.store.counts(row.id)) if row else Stats(0, 0, 0, 0, 0)
