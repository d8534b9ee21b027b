"""The way of a query: candidates found and ranked, packed into the budget with what layers add, rendered as a block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeVar

from ..context.block import counter_with, shown_with
from ..conversation import ITEMS, Message, Scope, Turn, check_scope
from ..derived.segments import Derivation
from ..errors import StaleIndex
from ..filters import Joined, read_filter
from ..layers import Found, Layer, Ranking, Request, Units
from ..memory import Recall, RecallOptions, Section
from ..protocols import Statistics, Vectors
from ..ranking import Candidate, confidence, standing_statements
from ..stores.database import retry_if_contended
from ..telemetry import staged
from ..vectors import DocumentPlace
from .asked import Asked
from .checks import check_moment, check_query
from .common_terms import CommonTerms
from .index_steps import step_ends
from .judging import Judge, Verdict
from .layers import Layers
from .lifetimes import Lifetimes
from .loaded_scope import LoadedScope
from .marking import block_of, marked_finds, within_share
from .parts import Parts
from .records import StandingStatement
from .scope_cache import ScopeCache
from .searched import Finds, SearchedScope, finds_in, is_faint, pinned_in, together, whole, with_relevance_of
from .standing import Standing, tables_of, with_rows, without_history

if TYPE_CHECKING:
    from ..vector_stores.sync import VectorStoreSync

T = TypeVar("T")

_DEFAULT_BUDGET: Final = 2000
_TIGHT, _NARROWED = 500, 8
"""Up to which budget a sentence is shown where its passage does not fit, and of how many finds."""
_TRIED: Final = 2
"""How often an index that could not be read is opened again."""
_ANY_WORDS: Final = "hello"
"""What is embedded to have the embedder load its model."""


@dataclass(frozen=True)
class Recalling:
    """Searches the scopes of one bank.

    Args:
        parts: what fills and counts the budget.
        derivation: makes the query's vector.
        scopes: the indexes.
        vector_store: searches in their place by vector, where there is one.
        layers: rank, add, and may find in the place of turns.
        standing: knows what holds no more.
        lifetimes: forgets what has ended before anything is read.
        judge: asks the reranker, where there is one.
    """

    parts: Parts
    derivation: Derivation
    scopes: ScopeCache
    vector_store: VectorStoreSync | None
    layers: Layers
    standing: Standing
    lifetimes: Lifetimes
    judge: Judge | None = None

    def recall(
        self,
        scope: Scope,
        query: str,
        options: RecallOptions,
        *,
        now: datetime | None,
        exclude: Collection[str],
        context: Sequence[Message] = (),
    ) -> Recall:
        """What answers the query, as `MemoryBank.recall` says."""
        check_query(query)
        now = check_moment("now", now, self.parts.zone)
        without = frozenset(exclude)
        scopes = tuple(dict.fromkeys([scope, *map(check_scope, options.also)]))
        asked = Asked.of(query, context)
        # Made here, as what is read again is not asked again.
        verdict = Verdict(self.judge, asked.whole) if self.judge is not None else None
        return self._fresh(scopes, lambda: self._recall(scopes, query, asked, verdict, options, now, without))

    def _recall(
        self,
        scopes: Sequence[Scope],
        query: str,
        asked: Asked,
        verdict: Verdict | None,
        options: RecallOptions,
        now: datetime,
        exclude: Collection[str],
    ) -> Recall:
        layers = self.layers.check(options.layers)
        budget = _DEFAULT_BUDGET if options.token_budget is None and options.k is None else options.token_budget
        vector = self._query_vector(asked, also=bool(layers))
        searched = self._opened(scopes, asked, vector, options, exclude)
        if not searched:
            return Recall(query, (), "", 0)
        # The packer counts the block before it is rendered here.
        counter = cache(counter_with(self.layers, self.parts.token_counter))
        limits = (budget, counter, exclude, options.only_relevant)
        request = Request(scopes[0], asked.telling, vector, *limits, context=asked.before, whole=asked.whole)
        request, sections = _sections(layers, request) if layers else (request, [])
        search = partial(self._candidates, asked=asked, vector=vector, now=now, budget=None if layers else budget)
        if verdict is not None:
            searched = self._judged(searched, search, verdict)
            if not searched:
                return Recall(query, (), "", 0)
        with _locked(searched):
            found = [search(each) for each in searched]
            sure = max(_sureness(each, asked, *finds) for each, finds in zip(searched, found, strict=True))
            if verdict is not None:
                found = verdict.applied(_by_scope(searched, found))
            if options.only_relevant:
                if scopes[0][0] == ITEMS:
                    # Who searches for an item asks for it, whatever the words, and the nearest are wanted first.
                    found = [[each for each in finds if each.kind != "standing"] for finds in found]
                else:
                    found = [[each for each in finds if asked.asks and not is_faint(each)] for finds in found]
            units = next((made for each in layers if (made := each.units(request, found[0])) is not None), None)
            if units is not None:
                units = with_relevance_of(found[0], units, request, asks=asked.asks)
            ranking = None
            if len(scopes) == 1:
                found[0], ranking = self._ranked(searched[0], found[0], vector, units)
            packer = units.packer if units is not None else self.parts.packer
            pinned, places = list[list[Candidate]]([[]]), None
            if units is None:
                pinned, places = pinned_in(searched, self.standing, request.token_budget, options.k)
            if units is not None or (ranking is not None and ranking.is_choice):
                finds = [Finds(searched[0].scope, found[0])]
            else:
                how = partial(finds_in, budget=request.token_budget, options=options, rules=self.parts.rules)
                finds = how(searched, found, scopes[0], asked, now=now, places=places)
                sure = max(sure, *(each.relevance for each in finds[0].before), 0.0)
            finds = [replace(each, before=[*one, *each.before]) for each, one in zip(finds, pinned, strict=True)]
            mark = partial(marked_finds, self.standing, options=options, packer=packer, query=asked.telling)
            marked = [mark(*each) for each in zip(searched, finds, strict=True)]
            candidates = together([each for each, _ in marked], is_named=len(scopes) > 1)
            noted, taken = within_share([one for _, ones in marked for one in ones], request.token_budget, counter)
            room = request.token_budget - taken if request.token_budget is not None else None
            pack = staged("pack")(packer.pack)
            hits = pack(candidates, token_budget=room, k=options.k, counter=request.counter)
            hits = [replace(each, scope=each.scope or scopes[0]) for each in whole(searched, hits)]
            hits = hits if options.history else without_history(hits)
        text, sections = block_of(hits, _numbered(sections, after=len(hits)), noted, budget, counter)
        text = shown_with(self.layers, text)
        impression = ranking.impression(hits) if ranking is not None and hits else None
        return Recall(query, tuple(hits), text, request.counter(text), tuple(sections), impression, round(sure, 4))

    def _judged(
        self, searched: list[SearchedScope], search: Callable[[SearchedScope], list[Candidate]], verdict: Verdict
    ) -> list[SearchedScope]:
        """The scopes, once the reranker has been asked; as they are then, as it may take long and no lock is held."""
        with _locked(searched):
            found = [search(each) for each in searched]
        if not verdict.ask(_by_scope(searched, found)):
            return searched
        now = [(each, self.scopes.caught_up(each.scope, besides=each.exclude)) for each in searched]
        sources = self.standing.sources_of
        return [replace(each, loaded=it, sources=sources(it.row.id)) for each, it in now if it is not None]

    def _opened(
        self,
        scopes: Sequence[Scope],
        asked: Asked,
        vector: Vectors | None,
        options: RecallOptions,
        exclude: Collection[str],
    ) -> list[SearchedScope]:
        """The scopes that hold anything; the ids of turns in the prompt are those of the first."""
        where = read_filter(options.where, self.parts.zone) if options.where is not None else None
        searched: list[SearchedScope] = []
        sources = self.standing.sources
        for scope in scopes:
            without = frozenset(exclude if scope == scopes[0] else ())
            seen = self.lifetimes.seen(scope, tables=tables_of(sources))
            loaded = self.scopes.caught_up(scope, seen.row, retry_vectors=vector is not None, besides=without)
            nearest = self._nearest(scope, asked, loaded, where) if self.vector_store is not None else None
            if loaded is not None:
                # What was derived just now may have noted the first row.
                is_new = loaded.derived_at == loaded.row.revision
                known = self.standing.sources_of(loaded.row.id) if is_new else with_rows(sources, seen.holding)
                searched.append(SearchedScope(scope, loaded, where, without, nearest, known))
        return searched

    def found(self, scope: Scope, query: str, now: datetime | None) -> Found | None:
        """What a search finds, before anything is chosen of it; nothing where nothing is remembered."""
        check_query(query)
        return self._fresh([scope], lambda: self._found(scope, query, now))

    def prepare(self, scope: Scope) -> None:
        """Have a scope's index in memory and with the bank, and the embedder's model in memory."""
        self.derivation.query_vector(_ANY_WORDS)
        self._fresh([scope], lambda: self.scopes.whole(scope))
        if self.vector_store is not None:
            self.vector_store.follow_all(scope, step_ends)

    def holding(self, scope: Scope) -> list[StandingStatement]:
        """What the user has said that holds whatever is asked, the newest first; without what was corrected by hand."""
        return self._fresh([scope], lambda: self._holding(scope))

    def _holding(self, scope: Scope) -> list[StandingStatement]:
        loaded = self.scopes.caught_up(scope)
        if loaded is None:
            return []
        with loaded.lock:
            said = standing_statements(loaded.index.indexes.table)
        replaced = self.standing.of(loaded.row.id, {passage.turn.id for passage, _ in said})
        return [
            StandingStatement(passage, kind)
            for passage, kind in said
            if not any(
                each.touches(passage.place, passage.start, passage.stop) for each in replaced.get(passage.turn.id, ())
            )
        ]

    def saying(self, scope: Scope, words: Collection[int]) -> list[Turn]:
        """The turns in which one of these is said, as numbers that are the same for what says the same (`said`)."""
        return self._fresh([scope], lambda: self._saying(scope, words))

    def _saying(self, scope: Scope, words: Collection[int]) -> list[Turn]:
        # Whoever forgets what was said is not to leave some of it.
        loaded = self.scopes.whole(scope, vectors=False)
        if loaded is None:
            return []
        with loaded.lock:
            turns = loaded.index.indexes.table.turns_saying(words)
        return list({turn.id: turn for turn in turns}.values())

    def statistics(self, scope: Scope) -> CommonTerms | None:
        """How common terms are in a scope; nothing where nothing is remembered."""

        def again(error: StaleIndex, asked: Callable[[Statistics], int]) -> int:
            self.scopes.stale(scope, error, again=False)
            count: int = self._fresh([scope], lambda: asked(held.index.statistics) if (held := caught_up()) else 0)
            return count

        caught_up = partial(self.scopes.caught_up, scope)
        loaded = self._fresh([scope], caught_up)
        return CommonTerms(loaded.index.statistics, again) if loaded is not None else None

    @retry_if_contended
    def _fresh(self, scopes: Sequence[Scope], read: Callable[[], T]) -> T:
        """What is read from an index; once more from a new one, where a part of it could not be read."""
        try:
            for tried in range(_TRIED):
                try:
                    return read()
                except StaleIndex as error:  # noqa: PERF203 - it is what the loop is for
                    for scope in scopes:
                        self.scopes.stale(scope, error, again=tried > 0)
            return read()
        finally:
            for scope in scopes:
                self.scopes.searched(scope)

    def _found(self, scope: Scope, query: str, now: datetime | None) -> Found | None:
        asked = Asked.of(query)
        vector = self._query_vector(asked)
        loaded = self.scopes.caught_up(scope)
        nearest = self._nearest(scope, asked, loaded)
        if loaded is None:
            return None
        searched = SearchedScope(scope, loaded, None, frozenset(), nearest)
        with loaded.lock:
            candidates = loaded.index.memories.whole(self._search(searched, asked, vector, now))
        return Found(loaded.row, candidates, vector, loaded.index.key_vectors)

    def _query_vector(self, asked: Asked, *, also: bool = False) -> Vectors | None:
        """The query's vector where the bank itself compares vectors, or something ``also`` does."""
        if self.vector_store is not None and not also:
            return None
        return self.derivation.query_vector(asked.telling, asked.leant_on)

    @staged("vector store")
    def _nearest(
        self, scope: Scope, asked: Asked, loaded: LoadedScope | None, where: Joined | None = None
    ) -> list[DocumentPlace] | None:
        """What the vector store finds, once it holds what any process has written."""
        if self.vector_store is None:
            return None
        self.vector_store.follow(scope, until=step_ends())
        if loaded is None:
            return None
        if where is None:
            return self.vector_store.nearest(scope, asked.whole)
        with loaded.lock:
            part = loaded.index.only(where)
        share = len(part) / max(len(loaded.index), 1)
        return self.vector_store.nearest(scope, asked.whole, part.indexes.holds, share) if len(part) else []

    def _candidates(
        self, searched: SearchedScope, asked: Asked, vector: Vectors | None, now: datetime | None, budget: int | None
    ) -> list[Candidate]:
        """The turns that may answer, as many as may fill the budget."""
        narrow = _NARROWED if budget is not None and budget <= _TIGHT else 0
        if narrow and self.judge is not None:
            # Any of those that are judged may come first.
            narrow = max(narrow, self.judge.options.first)
        return self._search(searched, asked, vector, now, budget=budget, narrow=narrow)

    @staged("search")
    def _search(
        self,
        searched: SearchedScope,
        asked: Asked,
        vector: Vectors | None,
        now: datetime | None,
        *,
        budget: int | None = None,
        narrow: int = 0,
    ) -> list[Candidate]:
        return searched.index.search(
            asked.telling,
            vector if not searched.loaded.awaits_vectors else None,
            nearest=searched.nearest,
            now=check_moment("now", now, self.parts.zone),
            context=asked.context,
            budget=budget,
            narrow=narrow,
            exclude=searched.exclude,
        )

    def _ranked(
        self, searched: SearchedScope, candidates: list[Candidate], vector: Vectors | None, units: Units | None
    ) -> tuple[list[Candidate], Ranking | None]:
        """What is packed: turns, or the units of a layer in their place, as the bank's ranker has them."""
        found = units.candidates if units is not None else candidates
        ranker = self.layers.ranker
        if ranker is None:
            return found, None
        vectors_of = units.vectors_of if units is not None else searched.index.key_vectors
        ranking = ranker.ranking(Found(searched.loaded.row, found, vector, vectors_of))
        return ranking.candidates, ranking


@contextmanager
def _locked(searched: Sequence[SearchedScope]) -> Iterator[None]:
    """The scopes' locks, taken in one order, so that whoever else searches several waits for none that waits."""
    with ExitStack() as locked:
        for each in sorted(searched, key=lambda each: each.scope):
            locked.enter_context(each.loaded.lock)
        yield


def _by_scope(
    searched: Sequence[SearchedScope], found: Sequence[list[Candidate]]
) -> list[tuple[Scope, list[Candidate]]]:
    return [(each.scope, finds) for each, finds in zip(searched, found, strict=True)]


def _sureness(searched: SearchedScope, asked: Asked, *found: Candidate) -> float:
    """The chance that anything that was found answers the query; none where it asks nothing."""
    if not asked.asks:
        return 0.0
    chances = [each.relevance for each in found if each.kind == "relevant"]
    return confidence(chances, searched.index.indexes.words.known(asked.telling))


@staged("layers")
def _sections(layers: Sequence[Layer], request: Request) -> tuple[Request, list[Section]]:
    """What layers add, each within what those before it left; and the request with what they leave."""
    sections: list[Section] = []
    for layer in layers:
        section = layer.section(request)
        if section is not None and section.entries:
            sections.append(section)
            if request.token_budget is not None:
                request = replace(request, token_budget=request.token_budget - request.counter(section.text))
    return request, sections


def _numbered(sections: Sequence[Section], *, after: int) -> list[Section]:
    firsts = accumulate((len(section.turn_ids) for section in sections), initial=after)
    return [section.numbered(first) for section, first in zip(sections, firsts, strict=False)]
