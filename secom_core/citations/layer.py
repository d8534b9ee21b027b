"""Learning from citations in a bank (RMM, section 6): each scope has weights of its own, and a log that taught them.

What is found is ranked by a scope's own weights, what is shown is noted, and what an answer cites is taken in. All that
is held in memory can be read again from the store; the weights can be learned again from the log, which is what happens
after a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, ClassVar, TypeVar

from sqlalchemy import Connection, Table

from ..context.packing import PackMemories
from ..conversation import Scope, check_scope
from ..errors import InvalidInput
from ..layers import Layer, LayerContext, Listing, register
from ..memory import Hit
from ..pictures.report.html import Page
from ..stores.rows import ScopeRow, SessionRow
from ..stores.schema import part_states
from ..stores.sql import SqlStore
from ..text.terms import count_tokens
from . import look
from .learner import RERANKER, CitationLearner, LearnedRanking
from .markers import Citations
from .options import CitationOptions, Prior
from .policy import shared_prior
from .records import CitationEntry, CitationWeights, Explanation, Impression, Lesson
from .store import RANKING, drop_unsound, forget_answers, latest, restore, rows, take_in
from .tables import citation_turns, citations

T = TypeVar("T")


@register
class CitationLayer(Layer):
    """Ranks by what a scope has learned from what answers cite; ``bank.citations``.

    Args:
        context: what the bank lends.
        options: how it learns.

    Raises:
        InvalidInput: the paper's reranker is asked for, and the bank itself compares no vectors.
    """

    name: ClassVar[str] = "citations"
    tables: ClassVar = (citations, citation_turns)
    listings: ClassVar[Mapping[str, str]] = {
        "weights": "the weight of every signal, as learned from citations, and as it was at first",
        "log": "the answers that taught them: what was asked, how much was shown, what was cited",
    }
    takes_in_sessions: ClassVar[bool] = False

    def __init__(self, context: LayerContext, options: CitationOptions | None = None) -> None:
        super().__init__(context)
        self._store, bases = context.store, context.base_weights
        self._learner = CitationLearner(
            context.store, options or CitationOptions(), bases=bases, size=context.max_scopes
        )

    # -- learn ------------------------------------------------------------------------------------------------------

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
            What `reward` wants; nothing is learned by this alone.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        return self._ranking(scope, query, now).impression(hits)

    def reward(
        self, scope: Sequence[str], query: str, impression: Impression, cited: Citations | Collection[int]
    ) -> Lesson:
        """Take in which of the memories that it was shown an answer cited. The same answer counts once.

        Args:
            scope: whose memory it is.
            query: what was asked; it is kept in the log until something of the scope is forgotten.
            impression: from `Recall.impression`, or `impression`.
            cited: from `secom_core.citations.read_citations`, or the numbers cited. Half an answer and one without any
                marker teach nothing.

        Returns:
            What came of it.

        Raises:
            StoreError: the store failed; nothing was learned.
        """
        row = self._store.scope(check_scope(scope))
        if row is None or (isinstance(cited, Citations) and not cited.is_feedback):
            return Lesson("nothing")
        named = cited.numbers if isinstance(cited, Citations) else cited
        numbers = tuple(number for number in dict.fromkeys(named) if number in impression.numbers)
        if named and not numbers:
            # Timelines, or what was never shown: it says nothing about the memories.
            return Lesson("nothing")
        part, teach = self._learner.lesson(row, impression)
        answer = CitationEntry(impression, self.context.redact(query), numbers, "", datetime.now(timezone.utc))
        return Lesson(take_in(self._store, row.id, part, answer, teach))

    def freeze(self, scope: Sequence[str], frozen: bool = True) -> None:
        """Keep the scope's weights as they are, until it is called with ``False``. Answers are logged all the same.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        self._learner.set_frozen(self._known(scope), frozen)

    def reset(self, scope: Sequence[str]) -> None:
        """Forget what the scope has learned, and the log that it was learned from.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        self._learner.reset(self._known(scope))

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
        row = self._store.scope(check_scope(scope))
        return rows(self._store, row.id, turn=turn_id, last=last) if row is not None else []

    def weights_of(self, scope: Sequence[str]) -> CitationWeights:
        """What the scope has learned for its usual search.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        return self._learner.learned(self._known(scope))

    def stored_weights(self, scope: Sequence[str]) -> list[CitationWeights]:
        """What the scope has learned, as it stands in the store: nothing is learned by looking.

        A scope has several sets of weights where it was searched in several ways: by words alone, with vectors, by
        topic. That of the most answers comes first. There is none where nothing was learned, and after something of the
        scope was forgotten until the bank derives, or takes an answer in: it learns them anew from the answers left.
        """
        row = self._store.scope(check_scope(scope))
        found = self._learner.stored(row) if row is not None else []
        return sorted(found, key=lambda each: -each.answers)

    def explain(self, scope: Sequence[str], query: str, *, k: int = 5) -> list[tuple[Hit, list[Explanation]]]:
        """Why memories are found: for the best ``k``, what every signal adds to the score, the most first.

        Raises:
            InvalidInput: nothing is remembered in the scope.
        """
        ranking = self._ranking(scope, query, None)
        hits = PackMemories().pack(ranking.candidates, token_budget=None, k=k, counter=count_tokens)
        return [(hit, ranking.policy.explain(hit)) for hit in sorted(hits, key=lambda hit: (-hit.score, hit.number))]

    def shared_prior(self, scopes: Iterable[Sequence[str]], *, worth: float = 100.0) -> Prior:
        """What scopes have learned, as numbers without words, for `CitationOptions.prior`: new scopes begin with it.

        A scope is a wall, so nothing is shared unless someone calls this.

        Args:
            scopes: those that agree to share.
            worth: how many of a new scope's own answers it all counts for, at most.

        Raises:
            InvalidInput: nothing is remembered in a scope.
        """
        rows = [self._known(scope) for scope in scopes]
        for row in rows:
            self._learner.settle(row)
        found = {
            tuple(base): shared_prior((self._learner.policy(row, part) for row in rows), worth=worth)
            for part, base in self._learner.bases.items()
        }
        return {names: prior for names, prior in found.items() if prior is not None}

    def _known(self, scope: Sequence[str]) -> ScopeRow:
        return _remembered(scope, self._store.scope(check_scope(scope)))

    def _ranking(self, scope: Sequence[str], query: str, now: datetime | None) -> LearnedRanking:
        found = _remembered(scope, self.context.search(check_scope(scope), query, now))
        return self._learner.ranking(found, scored=True, explore=False)

    @classmethod
    def has_learned(cls, store: SqlStore, scope_id: int) -> bool:
        """Whether any answer was taken in."""
        return latest(store, scope_id) > 0

    @property
    def ranker(self) -> CitationLearner:
        """What ranks by what a scope has learned."""
        return self._learner

    # -- the seam of layers -----------------------------------------------------------------------------------------

    def settle(self, scope: Scope) -> None:
        """Learn again from the answers that are left after something was forgotten; a recall does not wait for it."""
        row = self._store.scope(scope)
        if row is not None:
            self._learner.settle(row)

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
        """Take answers in; what the scope has learned is learned again from all that are there then."""
        if records:
            restore(store, scope_id, [CitationEntry.from_json(each) for each in records])

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise what cannot be used of a line of an export."""
        CitationEntry.from_json(record)

    @classmethod
    def moved(cls, table: Table, row: dict[str, Any], numbers: Mapping[Table, Mapping[int, int]]) -> dict[str, Any]:
        """What was learned is as old as an answer, which may have been forgotten since."""
        if table is part_states and row["part"].startswith((RANKING, RERANKER)):
            known = numbers[citations]
            row["version"] = max((new for old, new in known.items() if old <= row["version"]), default=0)
        return row

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """The weights, or the log."""
        return look.log(self.log(scope, last=last)) if name == "log" else look.weights(self.stored_weights(scope))

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The weights against the base, and the answers they were learned from."""
        return look.report(self.stored_weights(scope), self.log(scope))

    def count(self, scope: Scope) -> int:
        """How many answers the log has."""
        return len(self.log(scope))


def _remembered(scope: Sequence[str], found: T | None) -> T:
    """What was found of the scope.

    Raises:
        InvalidInput: nothing was.
    """
    if found is None:
        raise InvalidInput(f"nothing is remembered in the scope {tuple(scope)!r}")
    return found
