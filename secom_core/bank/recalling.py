"""The way of a query: candidates found and ranked, packed into the budget with what layers add, rendered as a block."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cache
from itertools import accumulate
from typing import Final

from ..context.block import render
from ..conversation import Scope
from ..derived.segments import Derivation
from ..errors import InvalidInput
from ..layers import Found, Layer, Ranking, Request, Units
from ..memory import DocumentPlace, Recall, RecallOptions, Section
from ..protocols import Vectors
from ..ranking import Candidate
from ..vector_stores.sync import VectorStoreSync
from .layers import Layers
from .parts import Parts
from .scope_cache import LoadedScope, ScopeCache

_DEFAULT_BUDGET: Final = 2000


@dataclass(frozen=True)
class Recalling:
    """Searches the scopes of one bank.

    Args:
        parts: what fills and counts the budget.
        derivation: makes the query's vector.
        scopes: the indexes.
        vector_store: searches in their place by vector, where there is one.
        layers: rank, add, and may find in the place of turns.
    """

    parts: Parts
    derivation: Derivation
    scopes: ScopeCache
    vector_store: VectorStoreSync | None
    layers: Layers

    def recall(
        self, scope: Scope, query: str, options: RecallOptions, *, now: datetime | None, exclude: Collection[str]
    ) -> Recall:
        """What answers the query, as `MemoryBank.recall` says."""
        check_query(query)
        layers = self.layers.check(options.layers)
        budget = _DEFAULT_BUDGET if options.token_budget is None and options.k is None else options.token_budget
        vector = self._query_vector(query, also=bool(layers))
        loaded = self.scopes.caught_up(scope, retry_vectors=vector is not None, besides=exclude)
        nearest = self._nearest(scope, query, loaded)
        if loaded is None:
            return Recall(query, (), "", 0)
        # The packer counts the block before it is rendered here.
        request = Request(scope, query, vector, budget, cache(self.parts.token_counter), exclude)
        request, sections = _sections(layers, request)
        with loaded.lock:
            candidates = self._search(loaded, query, vector, nearest, now)
            candidates = [each for each in candidates if each.turn.id not in exclude]
            units = next((found for each in layers if (found := each.units(request, candidates)) is not None), None)
            candidates, ranking = self._ranked(loaded, candidates, vector, units)
            packer = units.packer if units is not None else self.parts.packer
            hits = packer.pack(candidates, token_budget=request.token_budget, k=options.k, counter=request.counter)
        sections = _numbered(sections, after=len(hits))
        text = render(hits, sections)
        impression = ranking.impression(hits) if ranking is not None and hits else None
        return Recall(query, tuple(hits), text, request.counter(text), tuple(sections), impression)

    def found(self, scope: Scope, query: str, now: datetime | None) -> Found | None:
        """What a search finds, before anything is chosen of it; nothing where nothing is remembered."""
        check_query(query)
        vector = self._query_vector(query)
        loaded = self.scopes.caught_up(scope)
        nearest = self._nearest(scope, query, loaded)
        if loaded is None:
            return None
        with loaded.lock:
            candidates = self._search(loaded, query, vector, nearest, now)
        return Found(loaded.row, candidates, vector, loaded.index.key_vectors)

    def _query_vector(self, query: str, *, also: bool = False) -> Vectors | None:
        """The query's vector where the bank itself compares vectors, or something ``also`` does."""
        return self.derivation.query_vector(query) if self.vector_store is None or also else None

    def _nearest(self, scope: Scope, query: str, loaded: LoadedScope | None) -> list[DocumentPlace] | None:
        """What the vector store finds, once it holds what any process has written."""
        if self.vector_store is None:
            return None
        self.vector_store.follow(scope)
        return self.vector_store.nearest(scope, query) if loaded is not None else None

    def _search(
        self,
        loaded: LoadedScope,
        query: str,
        vector: Vectors | None,
        nearest: Sequence[DocumentPlace] | None,
        now: datetime | None,
    ) -> list[Candidate]:
        """The turns that may answer, scored by what the scope has learned."""
        weights = loaded.index.usable_weights(vector, nearest)
        ranker = self.layers.ranker
        if ranker is not None:
            weights = ranker.weights(loaded.row, weights)
        moment = aware(now or datetime.now(timezone.utc))
        return loaded.index.search(query, vector, nearest=nearest, now=moment, weights=weights)

    def _ranked(
        self, loaded: LoadedScope, candidates: list[Candidate], vector: Vectors | None, units: Units | None
    ) -> tuple[list[Candidate], Ranking | None]:
        """What is packed: turns, or the units of a layer in their place, in the order that the scope has learned."""
        found = units.candidates if units is not None else candidates
        ranker = self.layers.ranker
        if ranker is None:
            return found, None
        vectors_of = units.vectors_of if units is not None else loaded.index.key_vectors
        ranking = ranker.ranking(Found(loaded.row, found, vector, vectors_of), scored=units is None)
        return ranking.candidates, ranking


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
