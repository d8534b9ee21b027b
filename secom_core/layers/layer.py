"""What a layer is, and what it is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sqlalchemy import Connection, Table

from ..conversation import Message, Replacement, Scope, Turn, check_scope
from ..derived.progress import drop_progress
from ..errors import InvalidInput
from ..memory import Hit, Memory, Section
from ..stores.ownership import delete_of_scope, delete_of_session, is_of_sessions
from ..stores.rows import ScopeRow, SessionRow

if TYPE_CHECKING:
    from ..context.packing import Packer
    from ..derived.segments import Derivation
    from ..pictures.report.html import Page
    from ..protocols import ChatModel, Statistics, TokenCounter, Vectors
    from ..ranking import Candidate
    from ..stores.sql import SqlStore

VectorsOf = Callable[[Sequence[Memory]], "Vectors | None"]
"""Gives the vectors of memories' keys, shape ``(n, d)``; nothing where one has none."""


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """A closed session as a layer takes it in.

    Args:
        scope: whose it is.
        row: its row as read before ``turns``; `secom_core.derived.progress.claim` wants it back.
        turns: its turns that hold, verbatim, in order: without those that were corrected or taken back by hand.
        memories: its memories; they cover the turns.
        taken: how many of its messages the layer has taken in before; 0 where all is to be made, or made again.
        guesses: how often the layer had to guess as the language model did not answer; 0 where nothing is to be asked.
        since: the index of the first turn with messages that the layer has not taken in; counted unless given.
    """

    scope: Scope
    row: SessionRow
    turns: tuple[Turn, ...]
    memories: tuple[Memory, ...]
    taken: int
    guesses: int = 0
    since: int | None = None

    @property
    def new_turns(self) -> tuple[Turn, ...]:
        """The turns with messages that the layer has not taken in."""
        if not self.taken:
            return self.turns
        if self.since is not None:
            return tuple(turn for turn in self.turns if turn.index >= self.since)
        new = self.row.messages - self.taken
        counts = accumulate(len(turn.messages) for turn in reversed(self.turns))
        return self.turns[-1 - sum(count < new for count in counts) :]


@dataclass(frozen=True, slots=True)
class Request:
    """One recall, as a layer sees it.

    Args:
        scope: whose memory is searched.
        query: a question, or what was just said.
        vector: the query's vector, shape ``(d,)``, where there is one.
        token_budget: how many tokens of the block are left; ``None`` where its length does not matter.
        counter: what the budget is counted with.
        exclude: ids of turns that need not come back.
        only_relevant: leave out what would only fill the budget.
        context: what was said before the query, oldest first.
        whole: the query with what it cannot be read without; empty where it stands alone.
    """

    scope: Scope
    query: str
    vector: Vectors | None
    token_budget: int | None
    counter: TokenCounter
    exclude: Collection[str] = ()
    only_relevant: bool = False
    context: Sequence[Message] = ()
    whole: str = ""


@dataclass(frozen=True, slots=True)
class Units:
    """What a layer has found in the place of turns and their segments.

    Args:
        candidates: best first; their memories are what is shown.
        packer: what fills the budget with them.
        vectors_of: gives the vectors that they were compared by.
    """

    candidates: list[Candidate]
    packer: Packer
    vectors_of: VectorsOf


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found, before anything is chosen of it: ``candidates`` best first, and how they were found."""

    row: ScopeRow
    candidates: list[Candidate]
    vector: Vectors | None
    vectors_of: VectorsOf


class Ranking(Protocol):
    """What was found, as it is shown and noted."""

    @property
    def candidates(self) -> list[Candidate]:
        """Best first."""
        ...

    @property
    def is_choice(self) -> bool:
        """Whether they are all that may be shown, because the ranking chose them out of what was found."""
        ...

    def impression(self, hits: Sequence[Hit]) -> Any:
        """What is shown, noted for what the answer will cite of it; goes into `Recall.impression`."""
        ...


class Ranker(Protocol):
    """Decides at last which of the found memories are shown, and in which order."""

    def ranking(self, found: Found) -> Ranking:
        """The candidates as they are, in another order, or some of them."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """What `secom inspect` prints of a layer: ``rows`` as JSON, ``lines`` as text."""

    rows: Any
    lines: Sequence[str]


@dataclass(frozen=True)
class LayerContext:
    """What a bank lends its layers.

    Args:
        store: the bank's store.
        derivation: makes segments and vectors.
        model: the bank's language model, where it has one.
        statistics: how common terms are in a scope, where that is at hand.
        search: finds what answers a query in a scope at a time; nothing where nothing is remembered.
        redact: takes out of a text what must not be kept.
        counter: what token budgets are counted with.
        max_scopes: how many scopes are kept ready in memory; the least recently used is dropped first.
        current: gives a scope after what of it has expired is forgotten.
    """

    store: SqlStore
    derivation: Derivation
    model: ChatModel | None
    statistics: Callable[[Scope], Statistics | None]
    search: Callable[[Scope, str, datetime | None], Found | None]
    redact: Callable[[str], str]
    counter: TokenCounter
    max_scopes: int = 1000
    current: Callable[[Sequence[str]], Scope] = check_scope


class Layer:
    """One layer of a bank: subclass it, and `register` the class.

    ``name`` is what the layer is asked for by, in `MemoryBank.recall`, in the command and in exports. ``tables`` are
    its own, each after those that its rows name, each row owned by a scope or a session through its foreign keys, on
    metadata of its own or `secom_core.stores.schema.metadata`. Tables of layers that this package does not bring are
    made when a bank is opened; a table that changes gets a new name.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    """The heading of its section in the report; the name, capitalised, unless given."""
    tables: ClassVar[tuple[Table, ...]] = ()
    progress_names: ClassVar[tuple[str, ...]] = ()
    """Under which names it notes which sessions it has taken in; its own name unless given."""
    listings: ClassVar[Mapping[str, str]] = {}
    """What `secom inspect` can show of it, each with one line of help; its name unless given."""
    tables_of_truth: ClassVar[Sequence[Table]] = ()
    """Those of its tables that nothing can make again: their rows are looked for in a damaged file (`salvaged`)."""
    takes_in_sessions: ClassVar[bool] = True
    """Whether it is made of closed sessions, by `make`."""
    cost_without_model: ClassVar[str] = ""
    """What was measured of recalls that it takes part in without a language model, where that costs more than it
    brings."""

    recall_without_model: bool = False
    """Whether it takes part in recalls without a language model all the same."""

    def __init__(self, context: LayerContext) -> None:
        self.context = context

    def __deepcopy__(self, memo: dict[int, object]) -> Layer:
        """The layer itself, which belongs to its bank."""
        return self

    # -- deletion, inside the bank's own transaction ---------------------------------------------------------------

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete whatever holds words of these turns of a session: unless overridden, all that rests on the session.

        The session is then taken in again, so what is deleted beyond need is made again. Of a layer with a table whose
        rows belong to no session, all of the scope is deleted, and all of its sessions are taken in again.
        """
        if all(map(is_of_sessions, cls.tables)):
            delete_of_session(connection, cls.tables, session.id)
        else:
            cls.forget_scope(connection, session.scope_id)
            drop_progress(connection, session.scope_id, cls.progress_names or (cls.name,))

    @classmethod
    def forget_scope(cls, connection: Connection, scope_id: int) -> None:
        """Delete everything of a scope."""
        delete_of_scope(connection, cls.tables, scope_id)

    @classmethod
    def mend(cls, connection: Connection, scope_id: int) -> None:
        """Delete what cannot be read of a scope: all of it unless overridden, as it is made again from the turns."""
        cls.forget_scope(connection, scope_id)

    def drop(self, scope: Scope) -> None:
        """Let go of what is held of the scope in memory; it is loaded again when asked for."""

    # -- making ----------------------------------------------------------------------------------------------------

    def make(self, session: ClosedSession) -> bool:
        """Make this layer's part of the session and save it, with `secom_core.derived.progress.claim`.

        A language model that fails degrades to the local path with a `DegradedWarning`. Whatever is raised becomes
        such a warning too, and the session is taken in at the next occasion.

        Returns:
            Whether it was saved: not if `claim` refused, because the session changed in the meantime.
        """
        raise NotImplementedError(f"the layer {self.name!r} does not say how it is made of a session")

    def begin_again(self, scope_id: int) -> None:
        """Drop what was made from the scope, where making it again does not replace it."""

    # -- recall ----------------------------------------------------------------------------------------------------

    @classmethod
    def replacements(cls, connection: Connection, scope_id: int, turn_ids: Collection[str]) -> Iterable[Replacement]:
        """What the layer knows of these turns to hold no more (`secom_core.bank.standing`); nothing unless overridden.

        It is asked in every recall, whether the bank was opened with the layer or not: what it costs must not grow with
        the scope.

        Args:
            connection: in a transaction that only reads.
            scope_id: whose turns.
            turn_ids: the ids of turns that may be shown; what is known of others may be left out.
        """
        return ()

    @classmethod
    def replacements_found(
        cls, connection: Connection, scope_id: int, query: str, turns: Sequence[Turn]
    ) -> Iterable[Replacement]:
        """What the turns that were found for a question show of each other to hold no more; nothing unless overridden.

        It is asked like `replacements`.

        Args:
            connection: a transaction.
            scope_id: whose turns.
            query: the question.
            turns: what was found for it, best first.
        """
        return ()

    @classmethod
    def pinned(cls, connection: Connection, scope_id: int) -> Iterable[str]:
        """The ids of turns that every recall of the scope shows, the first of them first; none unless overridden."""
        return ()

    @classmethod
    def takes_part(cls) -> bool:
        """Whether a recall may name it, as it adds something or ranks; others are in every recall, or in none."""
        return any(getattr(cls, name) is not getattr(Layer, name) for name in ("section", "units", "ranker"))

    def check_recall(self) -> None:
        """Refuse to take part in a recall where that costs more than it brings, unless `recall_without_model` is set.

        Raises:
            InvalidInput: the layer needs a language model for it, and the bank has none.
        """
        if not self.takes_part():
            raise InvalidInput(
                f"the layer {self.name!r} adds nothing to a recall that asks for it; leave it out of layers"
            )
        if self.cost_without_model and self.context.model is None and not self.recall_without_model:
            raise InvalidInput(
                f"without a language model the layer {self.name!r} makes a recall worse ({self.cost_without_model}); "
                "open the bank with model=…, or allow it with recall_without_model=True in the layer's options"
            )

    def section(self, request: Request) -> Section | None:
        """What the layer adds to the block of a recall, within its token budget; nothing unless overridden."""
        return None

    @property
    def ranker(self) -> Ranker | None:
        """What has the last word on what is found; nothing unless overridden."""
        return None

    def units(self, request: Request, candidates: Sequence[Candidate]) -> Units | None:
        """What is shown in the place of the turns that were found, ``candidates``; nothing unless overridden."""
        return None

    # -- out and in ------------------------------------------------------------------------------------------------

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A mapping that JSON can hold for each line of an export; nothing unless overridden."""
        return iter(())

    @classmethod
    def salvaged(
        cls, row: Mapping[str, Any], sessions: Mapping[int, str], turns: Mapping[tuple[int, int], str]
    ) -> Mapping[str, Any] | None:
        """What a row of ``tables_of_truth``, found in a damaged file, is in an export; nothing unless overridden.

        Args:
            row: by the names of its columns, as far as their types show: it may be another table's.
            sessions: the names of the sessions that were found, by their ids.
            turns: the ids of the turns that were found, by their session's id and their place there.
        """
        return None

    @classmethod
    def check_record(cls, record: Mapping[str, Any]) -> None:
        """Raise `KeyError`, `TypeError` or `ValueError` for a mapping that `restore` could not use; any will do."""

    @classmethod
    def redacted(cls, records: Sequence[Mapping[str, Any]], redact: Callable[[str], str]) -> list[Mapping[str, Any]]:
        """What `restore` takes in, without what must not be kept; as it is unless overridden."""
        return list(records)

    @classmethod
    def restore(cls, store: SqlStore, scope_id: int, records: Sequence[Mapping[str, Any]]) -> None:
        """Take in what `export` gave; passed over unless overridden, where it can be made again from the turns."""

    @classmethod
    def moved(cls, table: Table, row: dict[str, Any], numbers: Mapping[Table, Mapping[int, int]]) -> dict[str, Any]:
        """A row as it goes into another database, its foreign keys translated already; as it is unless overridden.

        Args:
            table: one of the store's own tables or of ``tables``.
            row: its columns by name.
            numbers: for each table whose rows have a number, the new number of each old one so far.
        """
        return row

    # -- looking ---------------------------------------------------------------------------------------------------

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """One of ``listings``; the lines of `export` unless overridden.

        Args:
            scope: whose.
            name: which of ``listings``.
            last: only the latest so many.
        """
        row = self.context.store.scope(scope)
        rows = [dict(each) for each in self.export(self.context.store, row.id)] if row is not None else []
        rows = rows[-last:] if last else rows
        return Listing(rows, [json.dumps(each, ensure_ascii=False) for each in rows])

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The HTML of its section in the report; the lines of its listing, escaped, unless overridden."""
        lines = self.listing(scope, next(iter(self.listings), self.name)).lines
        yield page.listed(lines)

    def count(self, scope: Scope) -> int:
        """How many things it holds of the scope, for the headings of the report and the overview."""
        return len(self.listing(scope, next(iter(self.listings), self.name)).rows)


LayerFactory = Callable[[LayerContext], Layer]
"""A layer's class, or a function that makes one with options of its own."""
