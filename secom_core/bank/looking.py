"""What a bank holds, to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from ..conversation import Scope, Turn, check_scope
from ..errors import InvalidInput
from ..memory import Hit, Memory
from ..stores.rows import MOST
from .capabilities import Capabilities
from .checks import check_ids, check_moment, check_name
from .records import StandingStatement, Stats


class Looking(Capabilities):
    """Reads what a bank holds: scopes, sessions, turns, memories."""

    def __repr__(self) -> str:
        store = self._inside.deriving.store
        return f"{type(self).__name__}({store.path or ':memory:'!r}{', closed' if store.is_closed else ''})"

    def scopes(self, within: Sequence[str] = ()) -> list[Scope]:
        """Every scope that holds anything; with ``within``, only those that begin with these parts, as a tenant's."""
        return self._inside.deriving.store.scopes(check_scope(within) if within else ())

    def sessions(self, scope: Sequence[str], *, latest_first: bool = False) -> list[str]:
        """The names of the scope's sessions, in the order in which they came.

        An import may bring them in any order: with ``latest_first``, they are sorted by the time of their last message.
        """
        store, scope = self._inside.deriving.store, self._inside.current(check_scope(scope))
        return [each.name for each in (store.latest_sessions if latest_first else store.sessions_of)(scope)]

    def turns(
        self,
        scope: Sequence[str],
        session: str | None = None,
        *,
        last: int | None = None,
        turn_ids: Sequence[str] | None = None,
    ) -> list[Turn]:
        """The turns of a session, verbatim, in order; with ``last``, only that many of the latest.

        Instead of a session, ``turn_ids`` names turns, or messages in them. With neither, all turns of the scope are
        returned, session after session. Raises `InvalidInput` for both, or for ``last`` without a session.
        """
        scope = check_scope(scope)
        if (session is None and last is not None) or not (session is None or turn_ids is None):
            raise InvalidInput(f"give a session, or turn_ids, or neither, got {session!r}, {turn_ids!r}, last={last!r}")
        if last is not None and (type(last) is not int or last < 0):
            raise InvalidInput(f"last is a whole number from 0 on, got {last!r}")
        if session is not None:
            check_name(session)
        if turn_ids is not None:
            check_ids("turn_ids", turn_ids)
        seen, store = self._inside.lifetimes.seen(scope, session=session), self._inside.deriving.store
        if turn_ids is not None:
            return store.turns_named(scope, turn_ids)
        if session is None:
            return store.all_turns(scope)
        if seen.row is None or seen.session is None:
            return []
        return self._inside.latest.of(scope, seen.session, seen.row.epoch, MOST if last is None else last)

    def memories(self, scope: Sequence[str], session: str) -> list[Memory]:
        """The session's memories, in order; those at the end of an open session may still change.

        They cover the session: `secom_core.memory.segments_of` gives them as ranges of its turns.
        """
        return self._inside.memories(self._inside.current(check_scope(scope)), session)

    def segment_names(self, scope: Sequence[str], session: str) -> list[tuple[str, ...]]:
        """The words that distinguish each segment of the session from the others, in order, the most distinctive first.

        Up to three words for each segment, in the spelling of the segment; none if no word is distinctive.
        """
        from ..drafts.naming import segment_names

        scope = check_scope(scope)
        return segment_names(self.memories(scope, session), self._inside.statistics(scope))

    def standing(self, scope: Sequence[str]) -> list[StandingStatement]:
        """Statements of the user that apply to every question, such as instructions and preferences, the newest first.

        Rules find them, in the languages of `secom_core.text.speech`. Replaced statements are left out.
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
        store = self._inside.deriving.store
        earlier = check_moment("before", before, self.timezone) if before is not None else None
        row = self._inside.lifetimes.row(scope)
        if row is None:
            return []
        doomed = store.matching_turns(row.id, session=session, turn_ids=turn_ids, before=earlier)
        return [turn for turns in store.turns_of(doomed).values() for turn in turns]

    def weights_of(self, hit: Hit) -> Mapping[str, float]:
        """The weight of each signal of a hit. The score of the hit is the sum of its signals, each times its weight.

        Empty for a hit without signals, which is shown because it is next to another hit. For a statement that applies
        to every question (``kind="standing"``), the score is then lowered below the best hit that answers.
        """
        known = self._inside.weights if hit.signals else ()
        return next((weights for weights in known if weights.keys() == hit.signals.keys()), {})

    def stats(self, scope: Sequence[str]) -> Stats:
        """How much the scope holds."""
        row = self._inside.deriving.store.scope(self._inside.current(check_scope(scope)))
        return Stats(**self._inside.deriving.store.counts(row.id)) if row else Stats(0, 0, 0, 0, 0)
