"""Timelines in a bank (Theanine): events of closed sessions, linked by relation, and timelines along the links."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, islice
from typing import Any, ClassVar, Final

from sqlalchemy import Connection

from ..conversation import Message, Scope, Turn
from ..derived.progress import pending
from ..drafts.extraction import Draft
from ..drafts.layer import DraftLayer
from ..errors import InvalidInput
from ..layers import ClosedSession, LayerContext, Listing, Request, register
from ..llm.flow import ChatModel, Prompt, run
from ..llm.limits import room
from ..memory import Section
from ..pictures.report.html import Page
from ..protocols import Vectors
from ..readers import MessageLike
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from ..text.small_talk import asks_nothing
from ..times import EPOCH
from . import look
from .dialogue import dialogue_of, leant_on, said_before
from .events import extract_events
from .index import EventIndex
from .linking import Associate, Linked, dialogues, link_by_model, link_by_rule
from .options import TimelineOptions
from .records import Event, Link, Timeline
from .refinement import refine
from .retrieval import is_told, timelines
from .section import timeline_section
from .store import EVENTS, LAYER, EventRow, TimelineStore, drop_events
from .tables import event_turns, events, links

_FIRST_PROVISIONAL: Final = 2**62
"""The ids of events that are not stored yet: higher than any that a store gives out, so that ties in time go well."""


class _AtTemperature:
    """A chat model at one temperature."""

    def __init__(self, model: ChatModel, temperature: float) -> None:
        self._model = model
        self._temperature = temperature

    def complete(self, prompt: Prompt) -> str:
        return self._model.complete(replace(prompt, temperature=self._temperature))


@register
class TimelineLayer(DraftLayer[EventIndex]):
    """Makes events of closed sessions, links them, and draws timelines; ``bank.timelines``.

    Args:
        context: what the bank lends; without a language model segments are the events, and `SameTopicRule` links them.
        options: how.
    """

    name: ClassVar[str] = LAYER
    tables: ClassVar = (events, event_turns, links)
    progress_names: ClassVar = (LAYER, EVENTS)
    listings: ClassVar[Mapping[str, str]] = {LAYER: "events, and which led to which"}
    cost_without_model: ClassVar[str] = "0.763 of LoCoMo's evidence inside 500 tokens, 0.788 without them"

    def __init__(self, context: LayerContext, options: TimelineOptions | None = None) -> None:
        self.options = options or TimelineOptions()
        super().__init__(context, EventIndex, self.options.concurrency, self.options.recall_without_model)
        self._rows = TimelineStore(context.store)
        if self._model is not None and self.options.temperature is not None:
            self._model = _AtTemperature(self._model, self.options.temperature)

    # -- search ---------------------------------------------------------------------------------------------------

    def find(
        self,
        scope: Sequence[str],
        query: str,
        *,
        k: int | None = None,
        n: int | None = None,
        seed: int = 0,
        refined: bool = False,
        token_budget: int | None = None,
        context: Iterable[MessageLike] | None = (),
    ) -> list[Timeline]:
        """How what the query asks about came about: timelines around the events that it finds (Algorithm 2).

        Args:
            scope: whose memory is searched.
            query: a question, or what was just said.
            k: how many events are found, 3 unless the options say otherwise.
            n: how many timelines are drawn for each, at most; 1 unless the options say otherwise.
            seed: what the draw depends on; the same seed gives the same timelines.
            refined: have the language model rewrite them for the query, where the bank has one.
            token_budget: how long they may be together; one that is too long is cut around the event that was found.
            context: the messages before the query, oldest first, as for `MemoryBank.recall`.

        Returns:
            Those of the most similar event first.

        Raises:
            InvalidInput: for a number below 1, or a query that is no string.
        """
        if not isinstance(query, str):
            raise InvalidInput(f"a query is a string, not {query!r}")
        for name, value in (("k", k), ("n", n), ("token_budget", token_budget)):
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is a whole number from 1 on, got {value!r}")
        said = said_before(context)
        leaning = leant_on(query, said)
        vector = self._derivation.query_vector(query, leaning)
        whole = "\n".join([query, *(text for text, _ in leaning)])
        found = self._found(
            self.context.current(scope), whole, vector, k=k or self.options.hits, n=n or self.options.per_hit, seed=seed
        )
        if refined:
            found = self._refined(found, query, said)
        section = timeline_section(LAYER, found, token_budget, 1.0, self.context.counter)
        return list(section.items) if section is not None else []

    def _found(
        self,
        scope: Sequence[str],
        query: str,
        vector: Vectors | None,
        *,
        k: int,
        n: int,
        seed: int = 0,
        exclude: Collection[str] = (),
    ) -> list[Timeline]:
        with self._state(scope, retry_vectors=vector is not None) as state:
            graph, most = state.graph, len(state.graph) if exclude else k
            found = [each for each, _ in state.texts.search(query, vector, most)] if query.strip() else []
            hits = list(islice((each for each in found if not is_told(graph.event(each), exclude)), k))
            return timelines(graph, hits, n=n, seed=seed, exclude=exclude)

    def _refined(self, found: list[Timeline], query: str, context: Sequence[Message]) -> list[Timeline]:
        """The timelines as the language model writes them for the dialogue, where there is one."""
        if self._model is None or not found:
            return found
        dialogue = dialogue_of(query, context, self.options.dialogue_tokens)
        tokens = room(self._model, self.options.extract_tokens)
        return run(refine(found, dialogue, tokens=tokens), self._model, limit=self._concurrency)

    def events(self, scope: Sequence[str]) -> list[Event]:
        """All events of the scope, oldest first."""
        with self._state(self.context.current(scope)) as state:
            return state.graph.events()

    def links(self, scope: Sequence[str]) -> list[Link]:
        """All links between the scope's events, by the order of the later event."""
        with self._state(self.context.current(scope)) as state:
            return state.graph.links()

    # -- the seam of layers ---------------------------------------------------------------------------------------

    def section(self, request: Request) -> Section | None:
        """Timelines around what the query finds, without what the prompt holds already.

        They are rewritten for the dialogue that it belongs to where the options and a language model say so.
        """
        if request.only_relevant and asks_nothing(request.query):
            return None
        query, k, n = request.whole or request.query, self.options.hits, self.options.per_hit
        found = self._found(request.scope, query, request.vector, k=k, n=n, exclude=request.exclude)
        if self.options.refined:
            found = self._refined(found, request.query, request.context)
        return timeline_section(LAYER, found, request.token_budget, self.options.share, request.counter)

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """All events, and which led to which."""
        return look.listing(self.events(scope)[-last:] if last else self.events(scope), self.links(scope))

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """What led where, a picture for each thread."""
        return look.report(self.events(scope), self.links(scope), page)

    def count(self, scope: Scope) -> int:
        """How many events there are."""
        return len(self.events(scope))

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line an event, then a line a link."""
        stored = TimelineStore(store).changes(scope_id)
        for event in (row.event for row in stored.events):
            about = {"session": event.session, "text": event.text, "turn_ids": list(event.turn_ids)}
            yield {"kind": "event", "id": event.id, "at": event.at.isoformat(), **about}
        for link in stored.links:
            yield {"kind": "link", "from": link.earlier, "to": link.later, "relation": link.relation.value}

    # -- make -----------------------------------------------------------------------------------------------------

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete the session's events and their links; the later sessions that these led to are linked again."""
        drop_events(connection, session)

    def make(self, session: ClosedSession) -> bool:
        """Make the session's events and link each to what was there before (Algorithm 1).

        A session whose links went with what they came from is linked again, its events as they are, to what is there
        from before each.
        """
        with self._state(session.scope) as state:
            known = dict(state.of_session.get(session.row.id, {}))
        behind = pending(self._store, session.row.scope_id, EVENTS, session=session.row.id)
        drafts, stale, answered = self._told(session, known, behind[0][1] if behind else None)
        if not answered and not behind:
            # The model is still away: what was guessed is as good as what would be guessed now.
            return self._rows.save(session.row, session.taken, (), (), (), guesses=session.guesses + 1)
        new = _numbered(drafts, session.row.name)
        kept = [row for event_id, row in known.items() if event_id not in stale and not session.taken]
        units = [self._unit(draft.text, draft.turns) for draft in drafts] + self._units(kept, [session.row])
        pairs = self._with_associates(session, [*new, *(row.event for row in kept)], units, apart=frozenset(known))
        found = self._linked(session, pairs, by_model=answered)
        rows = [(event, draft.indices) for event, draft in zip(new, drafts, strict=True)]
        gone = [known[event_id].event.text for event_id in stale]
        relinked = [row.event.id for row in kept]
        guesses = 0 if answered and found.answered else session.guesses + 1
        counts = {"guesses": guesses, "guessed": session.guesses}
        saved = self._rows.save(session.row, session.taken, rows, found.links, stale, relinked=relinked, **counts)
        # What the session lost in the meantime leaves no vector either.
        self._derivation.drop_vectors(session.row.id, gone if saved else units[: len(drafts)])
        return saved

    def _told(
        self, session: ClosedSession, known: Mapping[int, EventRow], told: int | None
    ) -> tuple[list[Draft], list[int], bool]:
        """What the session tells of that is no event yet, what holds no longer, and whether the model has answered.

        ``told`` is of how many of its messages events were made; nothing where of all.
        """
        if told is None and not session.guesses:
            return [], [], True
        session = replace(session, taken=0 if session.guesses else told or 0)
        ask = partial(extract_events, max_tokens=room(self._model, self.options.extract_tokens))
        extracted = self._extracted(session, ask)
        stored = {event_id: row.identity for event_id, row in known.items()}
        return *self._changes(session, extracted.drafts, stored), extracted.answered or self._model is None

    def _unit(self, text: str, turns: Sequence[Turn]) -> str:
        """What an event is compared and found by: its words (Phase I-1), or all its turns where nobody wrote it."""
        return text if self._model is not None else "\n".join(turn.text for turn in turns)

    def _with_associates(
        self, session: ClosedSession, new: Sequence[Event], units: Sequence[str], *, apart: frozenset[int]
    ) -> list[tuple[Event, list[Associate]]]:
        """The events, each with those of other sessions that are most similar (Phase I-1).

        A new event is compared with all that is there; one that is stored, with what is there from before it.
        """
        vectors = self._derivation.vectors(session.row.id, units)
        rows = vectors if vectors is not None else [None] * len(units)
        with self._state(session.scope) as state:
            return [
                (event, state.associates(unit, vector, self.options.associates, apart=apart, until=until))
                for event, unit, vector in zip(new, units, rows, strict=True)
                for until in [event if event.id in state.graph else None]
            ]

    def _linked(
        self, session: ClosedSession, pairs: Sequence[tuple[Event, Sequence[Associate]]], *, by_model: bool
    ) -> Linked:
        rule = self.options.same_topic
        if self._model is None or not by_model:
            return Linked(link_by_rule(pairs, rule), answered=True)
        # A question shows two conversations.
        tokens = room(self._model, 2 * self.options.dialogue_tokens) // 2
        asked = link_by_model(pairs, dialogue=dialogues(self._store, session), rule=rule, tokens=tokens)
        return run(asked, self._model, limit=self._concurrency)

    def begin_again(self, scope_id: int) -> None:
        """Drop every event of the scope, and their links."""
        self._rows.drop(scope_id)

    # -- follow the store -----------------------------------------------------------------------------------------

    def _follow(self, state: EventIndex, row: ScopeRow) -> ScopeRow:
        changes = self._rows.changes(row.id, state.row.revision)
        ids = {each.event.id for each in changes.events}
        for session in changes.sessions:
            state.drop(session.id, sorted(state.of_session.get(session.id, {}).keys() - ids))
        new = [each for each in changes.events if each.event.id not in state.graph]
        units = self._units(new, changes.sessions)
        state.put(new, units, changes.links)
        state.relink(ids.difference(each.event.id for each in new), changes.links)
        vectors = self._derivation.vectors_of_sessions(
            [(each.session_id, unit) for each, unit in zip(new, units, strict=True)]
        )
        if vectors is not None:
            state.texts.add_vectors([each.event.id for each in new], vectors)
        state.lacks_vectors |= bool(new) and vectors is None
        return row

    def _units(self, rows: Sequence[EventRow], sessions: Sequence[SessionRow]) -> list[str]:
        owners = {row.session_id for row in rows} if self._model is None else set()
        turns = {session.id: self._store.turns(session) for session in sessions if session.id in owners}
        return [
            self._unit(row.event.text, [turn for turn in turns.get(row.session_id, ()) if turn.index in row.turns])
            for row in rows
        ]


def _numbered(drafts: Sequence[Draft], session: str) -> list[Event]:
    numbers = count(_FIRST_PROVISIONAL)
    return [
        Event(next(numbers), draft.text, draft.turns[0].at or EPOCH, session, tuple(turn.id for turn in draft.turns))
        for draft in drafts
    ]
