"""The layer of events: made when a session closes, linked to what was there, and searched for timelines."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from .analysis import count_tokens, terms
from .conversation import Scope, Turn
from .derivation import Derivation
from .errors import InvalidInput
from .flow import ChatModel, Prompt, run
from .indexes.bm25 import BM25
from .indexes.dense import NumpyIndex
from .indexes.similarity import term_similarity
from .memory import Event, Link, Timeline
from .prompts.quoting import shortened
from .protocols import Vectors
from .recent_scopes import RecentScopes
from .reflection_layers import ClosedSession
from .stores.sql import ScopeRow, SessionRow, SqlStore
from .stores.timelines import LAYER, EventRow, TimelineStore
from .timeline.events import Draft, Extraction, extract, segment_events
from .timeline.graph import MemoryGraph
from .timeline.linking import Associate, SameTopicRule, link_by_model, link_by_rule
from .timeline.refinement import refine
from .timeline.retrieval import timelines

__all__ = ["EventLayer", "TimelineOptions"]

_FIRST_PROVISIONAL: Final = 2**62
"""The ids of events that are not stored yet: higher than any that a store gives out, so that ties in time go well."""


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """How events are linked and timelines drawn; the defaults are Theanine's where the paper has one.

    Args:
        associates: with how many similar events a new one is compared (``j``).
        hits: how many events a query finds (``k``).
        per_hit: how many timelines are drawn for each (``n``).
        refined: have the language model rewrite timelines for the query, where there is one.
        share: how much of a token budget timelines may take, at most.
        same_topic: the relation where no language model gives one.
        dialogue_tokens: how much of an event's conversation is shown where its relation is asked for.
        extract_tokens: how much of a session is shown where its events are asked for.
        temperature: of all replies; ``None`` leaves it at 0.
        concurrency: how many questions to the language model are in flight at once.

    Raises:
        InvalidInput: for a number out of range.
    """

    associates: int = 3
    hits: int = 3
    per_hit: int = 1
    refined: bool = True
    share: float = 0.3
    same_topic: SameTopicRule = field(default_factory=SameTopicRule)
    dialogue_tokens: int = 800
    extract_tokens: int = 8_000
    temperature: float | None = None
    concurrency: int = 8

    def __post_init__(self) -> None:
        counts = (self.associates, self.hits, self.per_hit, self.dialogue_tokens, self.extract_tokens, self.concurrency)
        if min(counts) < 1 or not 0 < self.share <= 1:
            raise InvalidInput(f"timelines need counts of 1 or more and a share above 0 and up to 1, got {self}")


@dataclass
class _Loaded:
    """A scope's graph with what finds its events, and how far it has followed the store."""

    row: ScopeRow
    graph: MemoryGraph = field(default_factory=MemoryGraph)
    words: BM25 = field(default_factory=BM25)
    vectors: NumpyIndex = field(default_factory=NumpyIndex)
    terms_of: dict[int, frozenset[str]] = field(default_factory=dict)
    of_session: dict[int, dict[int, EventRow]] = field(default_factory=dict)
    lacks_vectors: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def search(self, text: str, vector: Vectors | None, k: int) -> list[tuple[int, float]]:
        """The most similar events, best first: by vector where there are vectors, else by words."""
        if vector is not None and not self.lacks_vectors and len(self.vectors):
            return self.vectors.search(vector, k)
        return self.words.search(text, k)

    def similarity(self, text: str, event_id: int) -> float:
        """How similar an event is to a text, from 0 to 1: the cosine of their terms, weighted by rarity."""
        return term_similarity(frozenset(terms(text)), self.terms_of[event_id], self.words)

    def put(self, rows: Sequence[EventRow], units: Sequence[str], links: Iterable[Link]) -> None:
        """Add events, by id, with those of the links whose ends are there then; ``units`` is what they are found by."""
        by_newer: dict[int, list[Link]] = {}
        for link in links:
            by_newer.setdefault(max(link.earlier, link.later), []).append(link)
        for row, unit in zip(rows, units, strict=True):
            mine = by_newer.get(row.event.id, ())
            held = [link for link in mine if min(link.earlier, link.later) in self.graph]
            self.graph.add(row.event, held)
            self.of_session.setdefault(row.session_id, {})[row.event.id] = row
            self.terms_of[row.event.id] = frozenset(terms(unit))
        self.words.add([row.event.id for row in rows], units)

    def drop(self, session_id: int, ids: Iterable[int]) -> None:
        """Take events of a session out."""
        for event_id in ids:
            self.graph.remove(event_id)
            self.words.remove([event_id])
            self.vectors.remove([event_id])
            del self.of_session[session_id][event_id], self.terms_of[event_id]


class _Asking:
    """A chat model at one temperature."""

    def __init__(self, model: ChatModel, temperature: float) -> None:
        self._model = model
        self._temperature = temperature

    def complete(self, prompt: Prompt) -> str:
        return self._model.complete(replace(prompt, temperature=self._temperature))


class EventLayer:
    """Makes events of closed sessions, links them, and draws timelines; for `secom_core.reflection_layers`.

    Args:
        store: the bank's store.
        derivation: makes vectors.
        model: the language model; without one segments are the events and `SameTopicRule` links them.
        options: how.
        size: how many scopes are kept ready; the least recently used is dropped first.
    """

    def __init__(
        self,
        store: SqlStore,
        derivation: Derivation,
        model: ChatModel | None = None,
        *,
        options: TimelineOptions | None = None,
        size: int = 1000,
    ) -> None:
        self._store = store
        self._rows = TimelineStore(store)
        self._derivation = derivation
        self.options = options or TimelineOptions()
        temperature = self.options.temperature
        self._model = _Asking(model, temperature) if model is not None and temperature is not None else model
        self._held: RecentScopes[_Loaded] = RecentScopes(_Loaded, size=size)

    @property
    def name(self) -> str:
        """The layer's name in the store."""
        return LAYER

    # -- search ---------------------------------------------------------------------------------------------------

    def find(
        self,
        scope: Scope,
        query: str,
        vector: Vectors | None,
        *,
        k: int | None = None,
        n: int | None = None,
        seed: int = 0,
        refined: bool = False,
    ) -> list[Timeline]:
        """The timelines around the events most similar to the query, those of the best first (Algorithm 2).

        Args:
            scope: whose events.
            query: a question, or what was just said.
            vector: the query's vector, where there is one.
            k: how many events are found; as in the options unless given.
            n: how many timelines for each; as in the options unless given.
            seed: what the draw depends on.
            refined: have the language model rewrite them, where there is one.
        """
        loaded = self._caught_up(scope, retry_vectors=vector is not None)
        if loaded is None or not query.strip():
            return []
        with loaded.lock:
            hits = [event_id for event_id, _ in loaded.search(query, vector, k or self.options.hits)]
            found = timelines(loaded.graph, hits, n=n or self.options.per_hit, seed=seed)
        if not refined or self._model is None or not found:
            return found
        return run(refine(found, query), self._model, limit=self.options.concurrency)

    def events(self, scope: Scope) -> list[Event]:
        """All events of the scope, oldest first."""
        loaded = self._caught_up(scope)
        if loaded is None:
            return []
        with loaded.lock:
            return loaded.graph.events()

    def links(self, scope: Scope) -> list[Link]:
        """All links of the scope, by the order of the later event."""
        loaded = self._caught_up(scope)
        if loaded is None:
            return []
        with loaded.lock:
            return loaded.graph.links()

    def drop(self, scope: Scope) -> None:
        """Forget the graph in memory; it is loaded again when asked for."""
        self._held.drop(scope)

    # -- reflect --------------------------------------------------------------------------------------------------

    def begin_again(self, scope_id: int) -> None:
        """Nothing to drop: a session that is taken in anew replaces its events, and keeps those that are the same."""

    def reflect(self, session: ClosedSession) -> bool:
        """Make the session's events and link each to what was there before (Algorithm 1)."""
        loaded = self._caught_up(session.scope)
        if loaded is None:
            return False
        extraction, partly = self._extracted(session)
        with loaded.lock:
            known = loaded.of_session.get(session.row.id, {})
            drafts, stale = _difference(extraction.drafts, known, keep=partly)
        new = _numbered(drafts, session.row.name)
        units = [self._unit(draft.text, draft.turns) for draft in drafts]
        pairs = self._with_associates(session, loaded, list(zip(new, units, strict=True)), apart=frozenset(known))
        links = self._linked(session, pairs, by_model=extraction.answered)
        rows = [(event, [turn.index for turn in draft.turns]) for event, draft in zip(new, drafts, strict=True)]
        gone = [known[event_id].event.text for event_id in stale]
        if self._rows.save(session.row, session.taken, rows, links, replaced=stale) is None:
            # What the session lost in the meantime leaves no vector either.
            self._derivation.drop_vectors(session.row.id, units)
            return False
        self._derivation.drop_vectors(session.row.id, gone)
        return True

    def _extracted(self, session: ClosedSession) -> tuple[Extraction, bool]:
        """The session's events, and whether only its new turns were looked at."""
        if self._model is None:
            return Extraction(tuple(segment_events(session.memories)), answered=False), False
        asked = extract(session.new_turns, session.memories, max_tokens=self.options.extract_tokens)
        return run(asked, self._model, limit=self.options.concurrency), bool(session.taken)

    def _unit(self, text: str, turns: Iterable[Turn]) -> str:
        """What an event is compared and found by: its words (Phase I-1), or all its turns where nobody wrote it."""
        return text if self._model is not None else "\n".join(turn.text for turn in turns)

    def _with_associates(
        self, session: ClosedSession, loaded: _Loaded, new: Sequence[tuple[Event, str]], *, apart: frozenset[int]
    ) -> list[tuple[Event, list[Associate]]]:
        """The new events, each with the events of other sessions that are most similar (Phase I-1)."""
        vectors = self._derivation.vectors(session.row.id, [unit for _, unit in new])
        with loaded.lock:
            return [
                (event, self._associates(loaded, unit, vectors[place] if vectors is not None else None, apart))
                for place, (event, unit) in enumerate(new)
            ]

    def _associates(self, loaded: _Loaded, unit: str, vector: Vectors | None, apart: frozenset[int]) -> list[Associate]:
        found = loaded.search(unit, vector, self.options.associates + len(apart))
        near = [each for each, _ in found if each not in apart][: self.options.associates]
        graph = loaded.graph
        return [
            Associate(
                graph.event(each),
                _similarity(loaded, unit, vector, each),
                graph.component_of(each),
                by_vector=_has_vector(loaded, vector, each),
            )
            for each in near
        ]

    def _linked(
        self, session: ClosedSession, pairs: Sequence[tuple[Event, Sequence[Associate]]], *, by_model: bool
    ) -> list[Link]:
        rule = self.options.same_topic
        if self._model is None or not by_model:
            return link_by_rule(pairs, rule)
        asked = link_by_model(pairs, dialogue=_Dialogues(self._store, session, self.options.dialogue_tokens), rule=rule)
        return run(asked, self._model, limit=self.options.concurrency)

    # -- follow the store -----------------------------------------------------------------------------------------

    def _caught_up(self, scope: Scope, *, retry_vectors: bool = False) -> _Loaded | None:
        """The scope's graph with everything that any process has written; nothing where nothing is remembered."""
        row = self._store.scope(scope)
        if row is None:
            self.drop(scope)
            return None
        loaded = self._held.of(scope, row, retry_vectors=retry_vectors)
        with loaded.lock:
            if loaded.row.revision < row.revision:
                self._follow(loaded)
                loaded.row = row
        return loaded

    def _follow(self, loaded: _Loaded) -> None:
        changed = self._store.sessions(loaded.row.id, since=loaded.row.revision)
        only = None if loaded.row.revision < 0 else [row.id for row in changed]
        # Events before links: of what is written in between, the links may be seen and wait for their events.
        stored = self._rows.events(loaded.row.id, changed=only)
        links = self._rows.links(loaded.row.id, changed=only)
        ids = {row.event.id for row in stored}
        for session in changed:
            loaded.drop(session.id, loaded.of_session.get(session.id, {}).keys() - ids)
        new = [row for row in stored if row.event.id not in loaded.graph]
        units = self._units(new, {row.id: row for row in changed})
        loaded.put(new, units, links)
        self._add_vectors(loaded, new, units)

    def _units(self, rows: Sequence[EventRow], sessions: dict[int, SessionRow]) -> list[str]:
        said: dict[int, dict[int, Turn]] = {}
        if self._model is None:
            for session_id in {row.session_id for row in rows} & sessions.keys():
                said[session_id] = {turn.index: turn for turn in self._store.turns(sessions[session_id])}
        held = ((row.event.text, said.get(row.session_id, {}), row.turns) for row in rows)
        return [self._unit(text, [turns[index] for index in places if index in turns]) for text, turns, places in held]

    def _add_vectors(self, loaded: _Loaded, rows: Sequence[EventRow], units: Sequence[str]) -> None:
        by_session: dict[int, list[tuple[int, str]]] = {}
        for row, unit in zip(rows, units, strict=True):
            by_session.setdefault(row.session_id, []).append((row.event.id, unit))
        for session_id, held in by_session.items():
            vectors = self._derivation.vectors(session_id, [unit for _, unit in held])
            if vectors is None:
                loaded.lacks_vectors = True
                return
            loaded.vectors.add([event_id for event_id, _ in held], vectors)


def _similarity(loaded: _Loaded, unit: str, vector: Vectors | None, other: int) -> float:
    if vector is None or not _has_vector(loaded, vector, other):
        return loaded.similarity(unit, other)
    return max(0.0, float(loaded.vectors.vectors_of([other])[0] @ vector))


def _has_vector(loaded: _Loaded, vector: Vectors | None, other: int) -> bool:
    return vector is not None and other in loaded.vectors


def _difference(drafts: Sequence[Draft], known: dict[int, EventRow], *, keep: bool) -> tuple[list[Draft], list[int]]:
    """The drafts that are new, and the ids of the events that are to go; an event that stays keeps its links."""
    wanted = {(draft.text, tuple(turn.index for turn in draft.turns)): draft for draft in drafts}
    stale: list[int] = []
    for event_id, row in known.items():
        if wanted.pop((row.event.text, row.turns), None) is None and not keep:
            stale.append(event_id)
    return list(wanted.values()), stale


def _numbered(drafts: Sequence[Draft], session: str) -> list[Event]:
    return [
        Event(_FIRST_PROVISIONAL + place, draft.text, draft.at, session, tuple(turn.id for turn in draft.turns))
        for place, draft in enumerate(drafts)
    ]


class _Dialogues:
    """The conversation that an event is from: its turns with as many around them as there is room for."""

    def __init__(self, store: SqlStore, session: ClosedSession, tokens: int) -> None:
        self._store = store
        self._scope = session.scope
        self._tokens = tokens
        self._turns: dict[str, tuple[Turn, ...]] = {session.row.name: session.turns}

    def __call__(self, event: Event) -> str:
        turns = self._of(event.session)
        resting = [place for place, turn in enumerate(turns) if turn.id in event.turn_ids]
        return "\n".join(_around(turns, resting, self._tokens)) if resting else event.text

    def _of(self, session: str) -> tuple[Turn, ...]:
        if session not in self._turns:
            row = self._store.session_named(self._scope, session)
            self._turns[session] = tuple(self._store.turns(row)) if row is not None else ()
        return self._turns[session]


def _around(turns: Sequence[Turn], resting: Sequence[int], tokens: int) -> list[str]:
    """The turns in order, nearest to those that the event rests on first, until the tokens are spent."""
    nearest = sorted(range(len(turns)), key=lambda place: (min(abs(place - each) for each in resting), place))
    shown: dict[int, str] = {}
    most = tokens // 2
    for place in nearest:
        text = shortened(turns[place].text, most)
        tokens -= count_tokens(text)
        if shown and tokens < 0:
            break
        shown[place] = text
    return [shown[place] for place in sorted(shown)]
