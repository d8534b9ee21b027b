"""Citations in a bank: a log of what answers cited, and where asked for, the paper's reranker (RMM, section 6).

What is shown is noted, and what an answer cites of it is taken in. A bank that is opened with ``citations=True`` keeps
the log and ranks as any other; with ``citations=RerankerOptions()`` the reranker chooses what is shown, and learns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Table

from ..conversation import Scope, check_scope
from ..errors import InvalidInput
from ..layers import Found, Layer, LayerContext, Listing, register
from ..memory import Hit
from ..pictures.report.html import Page
from ..stores.rows import SessionRow
from ..stores.schema import part_states
from ..stores.sql import SqlStore
from . import look
from .learner import NotedRanking, ScopeRerankers, updates_in
from .markers import Citations
from .options import RerankerOptions
from .records import CitationEntry, Impression, Lesson
from .store import RERANKER, KeptState, clear, drop_unsound, forget_answers, restore, rows, take_in
from .tables import citation_turns, citations

T = TypeVar("T")


@register
class CitationLayer(Layer):
    """Keeps what answers cited, and learns from it where it has the paper's reranker; ``bank.citations``.

    Args:
        context: what the bank lends.
        options: of the reranker; without them nothing is learned.
    """

    name: ClassVar[str] = "citations"
    tables: ClassVar = (citations, citation_turns)
    listings: ClassVar[Mapping[str, str]] = {
        "log": "what answers cited: what was asked, how much was shown, what was cited of it",
    }
    takes_in_sessions: ClassVar[bool] = False

    def __init__(self, context: LayerContext, options: RerankerOptions | None = None) -> None:
        super().__init__(context)
        self._store = context.store
        space = context.derivation.space
        embedder = space.model if space is not None else ""
        by_vector = partial(ScopeRerankers, self._store, size=context.max_scopes, embedder=embedder)
        self._rerankers = by_vector(options) if options is not None else None

    # -- take in ----------------------------------------------------------------------------------------------------

    def impression(
        self, scope: Sequence[str], query: str, hits: Sequence[Hit], *, now: datetime | None = None
    ) -> Impression:
        """Note what is shown, where a framework has chosen among hits, reordered or renumbered them.

        Args:
            scope: whose memory it is.
            query: what they were found for.
            hits: in the order in which they stand in the prompt, each with the number that it has there.
            now: when the query was asked; the present unless given.

        Returns:
            What `reward` wants; nothing is kept by this alone.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        found = _remembered(scope, self.context.search(check_scope(scope), query, now))
        return self.ranking(found, explore=False).impression(hits)

    def reward(
        self, scope: Sequence[str], query: str, impression: Impression | None, cited: Citations | Collection[int]
    ) -> Lesson:
        """Take in which of the memories that it was shown an answer cited. The same answer counts once.

        Args:
            scope: whose memory it is.
            query: what was asked; it is kept in the log until something of the scope is forgotten.
            impression: from `Recall.impression`, or `impression`.
            cited: from `secom_core.citations.read_citations`, or the numbers cited. Half an answer and one without any
                marker say nothing.

        Returns:
            What came of it.

        Raises:
            InvalidInput: there is no impression.
            StoreError: the store failed; nothing was kept.
        """
        whose = check_scope(scope)
        if impression is None:
            raise InvalidInput(
                "the recall has no impression: it found nothing, or it searched several scopes (also=), for which no "
                "citations are recorded"
            )
        row = self._store.scope(whose)
        if row is None or (isinstance(cited, Citations) and not cited.is_feedback):
            return Lesson("nothing")
        named = cited.numbers if isinstance(cited, Citations) else cited
        numbers = tuple(number for number in dict.fromkeys(named) if number in impression.numbers)
        if named and not numbers:
            # Timelines, or what was never shown: it says nothing about the memories.
            return Lesson("nothing")
        answer = CitationEntry(impression, self.context.redact(query), numbers, datetime.now(timezone.utc))
        if self._rerankers is not None:
            return Lesson(self._rerankers.take_in(row.id, answer))
        return Lesson(take_in(self._store, row.id, answer, _teach_nothing))

    def reset(self, scope: Sequence[str]) -> None:
        """Forget the log, and what the reranker has learned.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        clear(self._store, _remembered(scope, self._store.scope(check_scope(scope))).id)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete the answers that cannot be read: nobody can make them again."""
        drop_unsound(connection, scope_id)

    # -- look -------------------------------------------------------------------------------------------------------

    def log(self, scope: Sequence[str], *, turn_id: str | None = None, last: int | None = None) -> list[CitationEntry]:
        """What answers cited of what they were shown, the oldest first.

        Args:
            scope: whose memory it is.
            turn_id: only answers that were shown this turn.
            last: only the latest so many.
        """
        row = self._store.scope(self.context.current(scope))
        return rows(self._store, row.id, turn=turn_id, last=last) if row is not None else []

    def updates(self, scope: Sequence[str]) -> int:
        """How many batches of answers the paper's reranker has learned from in the scope."""
        row = self._store.scope(check_scope(scope))
        kept = self._store.part_state(row.id, RERANKER) if row is not None else None
        return updates_in(kept[1]) if kept is not None else 0

    def ranking(self, found: Found, *, explore: bool = True) -> NotedRanking:
        """What a search has found: as it is, or what the reranker chooses of it.

        Args:
            found: what was found.
            explore: whether the reranker may draw, where its options say so too.
        """
        if self._rerankers is not None:
            return self._rerankers.ranking(found, explore=explore)
        return NotedRanking(found.candidates, found.row)

    @property
    def ranker(self) -> CitationLayer:
        """Itself."""
        return self

    # -- the seam of layers -----------------------------------------------------------------------------------------

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete every answer that was shown one of the turns, and the words of all other questions of the scope."""
        forget_answers(connection, session, turns)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line an answer."""
        return (entry.as_json() for entry in rows(store, scope_id))

    @classmethod
    def redacted(cls, records: Sequence[Mapping[str, Any]], redact: Callable[[str], str]) -> list[Mapping[str, Any]]:
        """The answers with their questions redacted."""
        return [{**each, "query": redact(each["query"])} if each["query"] is not None else each for each in records]

    @classmethod
    def restore(cls, store: SqlStore, scope_id: int, records: Sequence[Mapping[str, Any]]) -> None:
        """Take answers in; the reranker learns nothing from them, as what it drew is not in a log."""
        if records:
            restore(store, scope_id, [CitationEntry.from_json(each) for each in records])

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise what cannot be used of a line of an export."""
        CitationEntry.from_json(record)

    @classmethod
    def moved(cls, table: Table, row: dict[str, Any], numbers: Mapping[Table, Mapping[int, int]]) -> dict[str, Any]:
        """What was learned is as old as an answer, which may have been forgotten since."""
        if table is part_states and row["part"] == RERANKER:
            known = numbers[citations]
            row["version"] = max((new for old, new in known.items() if old <= row["version"]), default=0)
        return row

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """The log."""
        return look.log(self.log(scope, last=last))

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The share that answers cited, and the latest of them."""
        return look.report(self.log(scope), self.updates(scope))

    def count(self, scope: Scope) -> int:
        """How many answers the log has."""
        return len(self.log(scope))


def _teach_nothing(number: int, kept: KeptState) -> None:
    return None


def _remembered(scope: Sequence[str], found: T | None) -> T:
    """What was found of the scope.

    Raises:
        InvalidInput: nothing was.
    """
    if found is None:
        raise InvalidInput(f"nothing is remembered in the scope {tuple(scope)!r}")
    return found
