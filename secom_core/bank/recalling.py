"""The way of a query: candidates found and ranked, packed into the budget with what layers add, rendered as a block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache
from itertools import accumulate, islice
from typing import Final, TypeVar

from ..context import MOST_TOKENS
from ..context.block import render, without_recalled
from ..context.packing import Packer, PackTurns
from ..conversation import Message, Scope
from ..derived.segments import Derivation
from ..errors import InvalidInput, StaleIndex
from ..layers import Found, Layer, Ranking, Request, Units
from ..memory import DocumentPlace, Recall, RecallOptions, Section
from ..protocols import Vectors
from ..ranking import LEANT_ON, Candidate, confidence, weighted_context
from ..text.intents import asks_of_the_past, subject
from ..vector_stores.sync import VectorStoreSync
from .layers import Layers
from .parts import Parts
from .scope_cache import LoadedScope, ScopeCache
from .standing import Standing, with_replacements, within, without_history

T = TypeVar("T")

_DEFAULT_BUDGET: Final = 2000
_READ: Final = 24
"""How many messages before the query are read at most; the last few that say anything count."""
_ENOUGH: Final = 1.5
"""How much more than there is room for has to be found before nothing else is looked for."""

_FEWEST, _SHORTEST = 100, 8
"""How many finds are packed from: one for so many tokens of the budget, and the fewest."""

_TIGHT, _NARROWED = 500, 8
"""Up to which budget a sentence is shown where its passage does not fit, and of how many finds."""

_TRIED: Final = 2
"""How often an index that could not be read is opened again."""

_STRONG: Final = 0.5
"""From which relevance on the rest of a short exchange comes before whatever else was found."""

_FAINT: Final = 0.02
"""What is less relevant does not answer."""

_PINNED: Final = 1 / 8
"""Which share of the budget pinned turns have for themselves."""

_PAGE: Final = 2000
"""How many characters at either end of a pasted page are searched for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is searched for.

    Args:
        telling: the query, cut to what is telling where it is a page.
        context: what was said before it, each with what its words weigh beside the query's.
    """

    telling: str
    context: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, query: str, context: Sequence[Message] = ()) -> Asked:
        """The query after these messages."""
        said = [replace(each, text=cut(without_recalled(each.text))) for each in context[-_READ:]]
        return cls(cut(query), tuple(weighted_context(query, said)))

    @property
    def leant_on(self) -> tuple[tuple[str, float], ...]:
        """What the query cannot be read without."""
        return tuple(each for each in self.context if each[1] >= LEANT_ON)


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
    """

    parts: Parts
    derivation: Derivation
    scopes: ScopeCache
    vector_store: VectorStoreSync | None
    layers: Layers
    standing: Standing

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
        without = frozenset(exclude)
        return self._fresh(
            scope, lambda: self._recall(scope, query, options, now=now, exclude=without, context=context)
        )

    def _recall(
        self,
        scope: Scope,
        query: str,
        options: RecallOptions,
        *,
        now: datetime | None,
        exclude: Collection[str],
        context: Sequence[Message],
    ) -> Recall:
        layers = self.layers.check(options.layers)
        budget = _DEFAULT_BUDGET if options.token_budget is None and options.k is None else options.token_budget
        asked = Asked.of(query, context)
        vector = self._query_vector(asked, also=bool(layers))
        loaded = self.scopes.caught_up(scope, retry_vectors=vector is not None, besides=exclude)
        nearest = self._nearest(scope, asked, loaded)
        if loaded is None:
            return Recall(query, (), "", 0)
        # The packer counts the block before it is rendered here.
        request = Request(scope, asked.telling, vector, budget, cache(self.parts.token_counter), exclude)
        request, sections = _sections(layers, request)
        with loaded.lock:
            room = None if layers else budget
            narrow = _NARROWED if budget is not None and budget <= _TIGHT else 0
            candidates = self._search(loaded, asked, vector, nearest, now, budget=room, narrow=narrow, exclude=exclude)
            chances = [each.relevance for each in candidates if each.kind == "relevant"]
            sure = confidence(chances, loaded.index.indexes.words.known(asked.telling))
            if options.only_relevant:
                candidates = [each for each in candidates if not _is_faint(each)]
            units = next((found for each in layers if (found := each.units(request, candidates)) is not None), None)
            candidates, ranking = self._ranked(loaded, candidates, vector, units)
            if units is None and not (ranking is not None and ranking.is_choice):
                about = loaded.index.asked_about(subject(query, follows=bool(context)), exclude)
                before = _wanted(about, exclude, request.token_budget)
                full = options.only_relevant or _fills(candidates, request.token_budget)
                after: Iterable[Candidate] = loaded.index.besides(candidates) if not full else ()
                strong, others, faint = _by_strength(candidates)
                rest = () if options.only_relevant else loaded.index.rest_of(strong, candidates)
                after = _wanted(after, exclude, request.token_budget)
                candidates = [*before, *strong, *rest, *others, *faint, *after]
                sure = max(sure, *(each.relevance for each in before), 0.0)
            if units is None:
                candidates = [*self._pinned(loaded, request.token_budget, exclude), *candidates]
            packer = units.packer if units is not None else self.parts.packer
            past = asks_of_the_past(query)
            candidates = self._standing(loaded, candidates, options, packer, exclude, past=past)
            hits = packer.pack(candidates, token_budget=request.token_budget, k=options.k, counter=request.counter)
            hits = loaded.index.memories.whole(hits)
            hits = hits if options.history else without_history(hits)
        sections = _numbered(sections, after=len(hits))
        text = render(hits, sections)
        impression = ranking.impression(hits) if ranking is not None and hits else None
        return Recall(query, tuple(hits), text, request.counter(text), tuple(sections), impression, round(sure, 4))

    def _pinned(self, loaded: LoadedScope, budget: int | None, exclude: Collection[str]) -> list[Candidate]:
        """What is shown whatever is asked, in a small share of the budget."""
        ids = [each for each in self.standing.pinned(loaded.row.id) if each not in exclude]
        found = loaded.index.turns_named(ids, "standing")
        return within(found, int(_PINNED * (MOST_TOKENS if budget is None else budget)))

    def _standing(
        self,
        loaded: LoadedScope,
        candidates: list[Candidate],
        options: RecallOptions,
        packer: Packer,
        exclude: Collection[str],
        *,
        past: bool,
    ) -> list[Candidate]:
        """What was found, with what is known to hold in its place; with whole memories where they are shown so."""
        memories = loaded.index.memories
        whole = options.token_budget is None or not isinstance(packer, PackTurns)
        candidates = memories.whole(candidates) if whole else candidates
        ids = {each.turn.id for each in candidates}
        if whole:
            ids.update(turn.id for each in candidates for turn in each.memory.turns)
        replaced = self.standing.of(loaded.row.id, ids)
        found = with_replacements(
            candidates, replaced, loaded.index.turns_named, history=options.history, exclude=exclude, past=past
        )
        return memories.whole(found) if whole and replaced else found

    def found(self, scope: Scope, query: str, now: datetime | None) -> Found | None:
        """What a search finds, before anything is chosen of it; nothing where nothing is remembered."""
        check_query(query)
        return self._fresh(scope, lambda: self._found(scope, query, now))

    def _fresh(self, scope: Scope, read: Callable[[], T]) -> T:
        """What is read from an index; once more from a new one, where a part of it could not be read."""
        for tried in range(_TRIED):
            try:
                return read()
            except StaleIndex as error:  # noqa: PERF203 - it is what the loop is for
                self.scopes.stale(scope, error, again=tried > 0)
        return read()

    def _found(self, scope: Scope, query: str, now: datetime | None) -> Found | None:
        asked = Asked.of(query)
        vector = self._query_vector(asked)
        loaded = self.scopes.caught_up(scope)
        nearest = self._nearest(scope, asked, loaded)
        if loaded is None:
            return None
        with loaded.lock:
            candidates = loaded.index.memories.whole(self._search(loaded, asked, vector, nearest, now))
        return Found(loaded.row, candidates, vector, loaded.index.key_vectors)

    def _query_vector(self, asked: Asked, *, also: bool = False) -> Vectors | None:
        """The query's vector where the bank itself compares vectors, or something ``also`` does."""
        if self.vector_store is not None and not also:
            return None
        return self.derivation.query_vector(asked.telling, asked.leant_on)

    def _nearest(self, scope: Scope, asked: Asked, loaded: LoadedScope | None) -> list[DocumentPlace] | None:
        """What the vector store finds, once it holds what any process has written."""
        if self.vector_store is None:
            return None
        self.vector_store.follow(scope)
        query = "\n".join([asked.telling, *(text for text, _ in asked.leant_on)])
        return self.vector_store.nearest(scope, query) if loaded is not None else None

    def _search(
        self,
        loaded: LoadedScope,
        asked: Asked,
        vector: Vectors | None,
        nearest: Sequence[DocumentPlace] | None,
        now: datetime | None,
        *,
        budget: int | None = None,
        narrow: int = 0,
        exclude: Collection[str] = (),
    ) -> list[Candidate]:
        """The turns that may answer, as many as may fill the budget."""
        moment = aware(now or datetime.now(timezone.utc))
        return loaded.index.search(
            asked.telling,
            vector,
            nearest=nearest,
            now=moment,
            context=asked.context,
            budget=budget,
            narrow=narrow,
            exclude=exclude,
        )

    def _ranked(
        self, loaded: LoadedScope, candidates: list[Candidate], vector: Vectors | None, units: Units | None
    ) -> tuple[list[Candidate], Ranking | None]:
        """What is packed: turns, or the units of a layer in their place, as the bank's ranker has them."""
        found = _with_relevance_of(candidates, units.candidates) if units is not None else candidates
        ranker = self.layers.ranker
        if ranker is None:
            return found, None
        vectors_of = units.vectors_of if units is not None else loaded.index.key_vectors
        ranking = ranker.ranking(Found(loaded.row, found, vector, vectors_of))
        return ranking.candidates, ranking


def cut(text: str) -> str:
    """A text as it is searched for: of a page its beginning and its end, where what it is about is mostly said."""
    return text if len(text) <= 2 * _PAGE else f"{text[:_PAGE]}\n{text[-_PAGE:]}"


def _fills(candidates: Sequence[Candidate], budget: int | None) -> bool:
    """Whether what was found leaves no room worth filling: a good many that fit, and more than there is room for."""
    room = MOST_TOKENS if budget is None else budget
    return sum(each.tokens for each in candidates if each.tokens <= room / 8) > _ENOUGH * room


def _with_relevance_of(turns: Sequence[Candidate], units: Sequence[Candidate]) -> list[Candidate]:
    """The units of a layer, each as relevant as the most relevant of its turns."""
    of_turn: dict[str, float] = {}
    for each in turns:
        of_turn[each.turn.id] = max(each.relevance, of_turn.get(each.turn.id, 0.0))
    return [
        replace(unit, relevance=max((of_turn.get(turn.id, 0.0) for turn in unit.memory.turns), default=0.0))
        for unit in units
    ]


def _by_strength(candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Those that answer the query by all appearances, the others, and those that hardly have to do with it."""
    strong: list[Candidate] = []
    others: list[Candidate] = []
    faint: list[Candidate] = []
    for each in candidates:
        is_faint = each.kind == "relevant" and each.relevance < _FAINT
        (strong if each.relevance >= _STRONG else faint if is_faint else others).append(each)
    return strong, others, faint


def _is_faint(candidate: Candidate) -> bool:
    return candidate.kind == "standing" or candidate.relevance < _FAINT


def _wanted(candidates: Iterable[Candidate], exclude: Collection[str], budget: int | None) -> list[Candidate]:
    """Those that are not in the prompt already, as many as there may be room for."""
    wanted = (each for each in candidates if each.turn.id not in exclude)
    return list(islice(wanted, _most(MOST_TOKENS if budget is None else budget)))


def _most(budget: int) -> int:
    return max(_FEWEST, budget // _SHORTEST)


def check_query(query: object) -> None:
    """Refuse a query that is no string.

    Raises:
        InvalidInput: with what was given.
    """
    if not isinstance(query, str):
        raise InvalidInput(f"a query is a string, not {query!r}")


def aware(at: datetime) -> datetime:
    """The moment with a zone: UTC where it has none."""
    return at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)


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
