"""A running summary of all sessions, brought up to date when one ends: RSum (Wang et al., 2023).

``M_i = LLM(S_i, M_{i-1})`` (equation 2, Algorithm 1) is `Summarizer.procedure`; ``r_t = LLM(C_t, M_N)`` (equation 3)
is `Summarizer.response_procedure`. `SummaryLayer` keeps the versions in a bank.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlalchemy import Connection

from ..conversation import Scope, check_scope
from ..errors import BadReply, ModelError
from ..layers import ClosedSession, Layer, LayerContext, Listing, Request, register
from ..llm.flow import run
from ..memory import Section
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from . import look
from .records import Summary
from .section import summary_section
from .store import LAYER, drop, drop_from, mark, save, state, text_of, versions, with_turns
from .summarizer import Summarizer, degraded
from .tables import summaries

if TYPE_CHECKING:
    from ..pictures.report.html import Page


_CACHED: Final = 200  # of how many other scopes the versions are kept ready


@register
class SummaryLayer(Layer):
    """Keeps a scope's summary, a version a closed session, each made from the one before it; ``bank.summaries``.

    A session that goes on after it was taken in is taken in again, and so are those after it: no version may rest on
    what is not there any more. Where the model gives no answer, or twice an unusable one, the version is extracted and
    provisional: what was said is there at once, and the model is asked again when the next session closes. Sessions
    that close meanwhile are extracted without asking. A session whose second attempt ends in another unusable reply
    keeps its extract, so that one session cannot hold up the others for good.

    Args:
        context: what the bank lends.
        summarizer: makes the versions; by the bank's model, or by extraction, unless given.
    """

    name: ClassVar[str] = LAYER
    title: ClassVar[str] = "Summary"
    tables: ClassVar = (summaries,)
    listings: ClassVar[Mapping[str, str]] = {LAYER: "the running summary"}

    def __init__(self, context: LayerContext, summarizer: Summarizer | None = None) -> None:
        super().__init__(context)
        self._store = context.store
        self._summarizer = summarizer or Summarizer(context.model)
        self._cache: dict[int, tuple[tuple[int, ...], tuple[Summary, ...]]] = {}

    # -- look -----------------------------------------------------------------------------------------------------

    def latest(self, scope: Sequence[str]) -> Summary | None:
        """The latest version of the running summary; nothing where no session was closed yet."""
        return next(iter(self.versions(scope)[-1:]), None)

    def versions(self, scope: Sequence[str]) -> tuple[Summary, ...]:
        """All versions of the running summary, the oldest first, each with the turns that it rests on."""
        row = self._store.scope(check_scope(scope))
        if row is None:
            return ()
        now = state(self._store, row.id)
        cached_state, found = self._cache.get(row.id, ((), ()))
        if cached_state != now:
            found = self._read(row.id)
            # A recall wants them with every turn, and they change with a session.
            self._cache = {**dict(list(self._cache.items())[-_CACHED:]), row.id: (now, found)}
        return found

    def _read(self, scope_id: int) -> tuple[Summary, ...]:
        found: list[Summary] = []
        for row, turn_ids in with_turns(self._store, versions(self._store, scope_id)):
            previous = found[-1] if found else None
            found.append(Summary(len(found) + 1, row.text, row.session, turn_ids, previous, not row.taken))
        return tuple(found)

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """The versions, and the latest one as text."""
        return look.listing(self.versions(scope)[-(last or 0) :])

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The summary as it is, and as it was."""
        return look.report(self.versions(scope))

    def section(self, request: Request) -> Section | None:
        """The latest version's sentences, in at most half of the budget: those that cover most where not all fit."""
        latest = self.latest(request.scope)
        if latest is None:
            return None
        half = request.token_budget // 2 if request.token_budget is not None else None
        return summary_section(latest.sentences, half, request.counter, version=latest)

    # -- out and in -----------------------------------------------------------------------------------------------

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a version."""
        for version, turn_ids in with_turns(store, versions(store, scope_id)):
            yield {"kind": "summary", "session": version.session, "text": version.text, "turn_ids": list(turn_ids)}

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete the session's version and all after it: they rest on it. Their sessions are taken in again."""
        drop_from(connection, session.scope_id, session_id=session.id)

    @classmethod
    def forget_scope(cls, connection: Connection, scope_id: int) -> None:
        """Delete every version of the scope."""
        drop_from(connection, scope_id)

    # -- make -----------------------------------------------------------------------------------------------------

    def make(self, session: ClosedSession) -> bool:
        """Make the version of the session and save it; whether it was saved."""
        chain = versions(self._store, session.row.scope_id, texts=False)
        place = next((place for place, row in enumerate(chain) if row.session_id == session.row.id), len(chain))
        before, replaces = chain[:place], chain[place:]
        previous = before[-1].id if before else None
        text = text_of(self._store, previous)
        keep = partial(save, self._store, session.row, session.taken, previous=previous, replaces=replaces)
        if any(row.taken == 0 for row in before):
            # A model that has just failed is not left to time out again for each session.
            return bool(replaces) or keep(self._extracted(session, text), final=False)
        if self._summarizer.model is None:
            return keep(self._extracted(session, text))
        try:
            return keep(run(self._summarizer.procedure(session.turns, text), self._summarizer.sync_model()))
        except ModelError as error:
            degraded(len(session.turns), error)
            if not (replaces and replaces[0].taken == 0):
                return keep(self._extracted(session, text), final=False)
            return mark(self._store, session.row, session.taken) if isinstance(error, BadReply) else True

    def _extracted(self, session: ClosedSession, previous: str) -> str:
        return self._summarizer.extracted(session.turns, previous, self.context.statistics(session.scope))

    def begin_again(self, scope_id: int) -> None:
        """Drop every version of the scope."""
        drop(self._store, scope_id)
