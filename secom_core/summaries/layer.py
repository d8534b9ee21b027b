"""A running summary of all sessions, brought up to date when one ends: RSum (Wang et al., 2023).

``M_i = LLM(S_i, M_{i-1})`` (equation 2, Algorithm 1) is `Summarizer.procedure`; ``r_t = LLM(C_t, M_N)`` (equation 3)
is `Summarizer.response_procedure`. `SummaryLayer` keeps the versions in a bank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from sqlalchemy import Connection

from ..conversation import Scope, Turn
from ..errors import BadReply, ContextTooLong
from ..layers import ClosedSession, Layer, LayerContext, Listing, Request, register
from ..llm.flow import run
from ..memory import Section
from ..stores.rows import SessionRow
from ..stores.sql import SqlStore
from . import look
from .records import Summary
from .section import summary_section
from .store import LAYER, REST, VersionRow, drop, drop_from, save, state, taken_of, text_of, versions, with_turns
from .summarizer import Folded, Summarizer, degraded
from .tables import summaries

if TYPE_CHECKING:
    from ..pictures.report.html import Page


_CACHED: Final = 200  # of how many other scopes the versions are kept ready


@dataclass(frozen=True, slots=True)
class _Base:
    """What a session's version is made from.

    Args:
        previous: the id of the version before it.
        replaces: its former version and all after it.
        own: the text of its former version.
        begun: whether a part of the session is taken in already, and is not asked about again.
        text: the summary that the turns are taken into.
        turns: those of the session that are to be taken in.
        waits: whether a version before it still waits for the language model.
    """

    previous: int | None
    replaces: Sequence[VersionRow]
    own: str
    begun: bool
    text: str
    turns: Sequence[Turn]
    waits: bool


@register
class SummaryLayer(Layer):
    """Keeps a scope's summary, a version a closed session, each made from the one before it; ``bank.summaries``.

    A session that goes on after it was taken in is taken up where the summary has got to, and those after it are taken
    in again: no version may rest on what is not there any more. Where the model gives no answer, or twice an unusable
    one, what it took in of the session stands, and sentences of the rest are extracted; such a version is provisional:
    the model is asked for the rest when the next session closes. Sessions that close meanwhile are extracted without
    asking. A session at which the model fails again in the same place, with an unusable reply or because even a small
    part is too long for it, keeps its extract, so that one session cannot hold up the others for good.

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
        return self._versions(self.context.current(scope))

    def _versions(self, scope: Scope) -> tuple[Summary, ...]:
        row = self._store.scope(scope)
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
            text = row.text.replace(REST, "\n").strip()
            found.append(Summary(len(found) + 1, text, row.session, turn_ids, previous, row.waits))
        return tuple(found)

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """The versions, and the latest one as text."""
        return look.listing(self.versions(scope)[-(last or 0) :])

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The summary as it is, and as it was."""
        return look.report(self.versions(scope))

    def section(self, request: Request) -> Section | None:
        """The latest version's sentences, in at most half of the budget: those that cover most where not all fit."""
        latest = next(iter(self._versions(request.scope)[-1:]), None)
        if latest is None:
            return None
        half = request.token_budget // 2 if request.token_budget is not None else None
        return summary_section(latest.sentences, half, request.counter, version=latest)

    # -- out and in -----------------------------------------------------------------------------------------------

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a version."""
        for version, turn_ids in with_turns(store, versions(store, scope_id)):
            text = version.text.replace(REST, "\n")
            yield {"kind": "summary", "session": version.session, "text": text, "turn_ids": list(turn_ids)}

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
        return self._made(session)

    def fold(self, scope: Sequence[str], session: str, through: str) -> bool:
        """Take the first turns of an open session into the summary before it closes; its close takes in the others.

        Args:
            scope: whose summary it is.
            session: the session's name.
            through: the id of the last turn to take in.

        Returns:
            Whether any of them were new and are in the summary now. Not of a session that is closed or has no such
            turn, nor where other sessions were taken in after it or wait for the language model: its close does it.

        Warns:
            DegradedWarning: the language model failed; what it did not take in stays out.
        """
        scope = self.context.current(scope)
        row = self._store.session_named(scope, session)
        turns = self._store.turns(row) if row is not None and not row.closed else []
        place = next((place for place, turn in enumerate(turns, start=1) if turn.id == through), 0)
        if row is None or not place:
            return False
        there = replace(row, messages=sum(len(turn.messages) for turn in turns[:place]))
        taken = taken_of(self._store, row.id)
        if taken >= there.messages:
            return False
        first = ClosedSession(scope, there, tuple(turns[:place]), (), taken)
        return self._made(first, last=turns[place - 1].messages[-1].id)

    def _made(self, session: ClosedSession, last: str | None = None) -> bool:
        """Make the session's version and save it; of an open one, the version of its turns up to the last message."""
        base = self._base(session)
        keep = partial(
            save, self._store, session.row, session.taken, previous=base.previous, replaces=base.replaces, last=last
        )
        if last is not None and (base.waits or len(base.replaces) > 1):
            return False
        if base.waits:
            # A model that has just failed is not left to time out again for each session.
            return bool(base.replaces) or keep(self._extracted(session, base.turns, base.text), count=0)
        if self._summarizer.model is None:
            return keep(self._extracted(session, base.turns, base.text))
        folded = run(self._summarizer.procedure(base.turns, base.text), self._summarizer.sync_model())
        if folded.error is None:
            return keep(folded.text)
        degraded(len(base.turns) - folded.turns, folded.error)
        if last is not None:
            return bool(folded.turns) and keep(folded.text, count=self._count(session, base, folded))
        return self._kept_in_part(session, base, folded, keep)

    def _base(self, session: ClosedSession) -> _Base:
        chain = versions(self._store, session.row.scope_id, texts=False)
        place = next((place for place, row in enumerate(chain) if row.session_id == session.row.id), len(chain))
        before, replaces = chain[:place], chain[place:]
        previous = before[-1].id if before else None
        own = text_of(self._store, replaces[0].id) if replaces else ""
        begun = bool(session.taken and own)
        text = own.partition(REST)[0] if begun else text_of(self._store, previous)
        turns = session.new_turns if begun else session.turns
        return _Base(previous, replaces, own, begun, text, turns, any(row.waits for row in before))

    def _kept_in_part(self, session: ClosedSession, base: _Base, folded: Folded, keep: Callable[..., bool]) -> bool:
        """Keep what a model that failed took in, and sentences of the rest; whether that was done."""
        if base.replaces and base.replaces[0].waits and not folded.turns:
            # What is too long for the model stays so.
            is_final = isinstance(folded.error, BadReply | ContextTooLong)
            return not is_final or keep(base.own.replace(REST, "\n"))
        done = self._count(session, base, folded)
        if not done:
            return keep(self._extracted(session, base.turns, base.text), count=0)
        rest = self._extracted(session, base.turns[folded.turns :], "")
        return keep(f"{folded.text}{REST}{rest}", count=done)

    def _count(self, session: ClosedSession, base: _Base, folded: Folded) -> int:
        """How many messages of the session the model has taken in."""
        left = sum(len(turn.messages) for turn in base.turns[folded.turns :])
        return session.row.messages - left if folded.turns or base.begun else 0

    def _extracted(self, session: ClosedSession, turns: Sequence[Turn], previous: str) -> str:
        return self._summarizer.extracted(turns, previous, self.context.statistics(session.scope))

    def begin_again(self, scope_id: int) -> None:
        """Drop every version of the scope."""
        drop(self._store, scope_id)
