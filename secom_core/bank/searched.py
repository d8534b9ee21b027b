"""The scopes of one recall: what is searched of each, and what they give together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..conversation import Scope
from ..filters import Joined
from ..ranking import Candidate, ScopeIndex
from ..ranking.memory_table import Shown
from ..vectors import DocumentPlace
from .scope_cache import LoadedScope

_LEAST: Final = 1e-6
"""What is less relevant counts as this."""


@dataclass(frozen=True)
class SearchedScope:
    """A scope as one recall sees it.

    Args:
        scope: the scope.
        loaded: its index.
        where: what is searched of it; all of it where there is no filter.
        exclude: ids of turns that are in the prompt already.
        nearest: what a vector store outside has found.
    """

    scope: Scope
    loaded: LoadedScope
    where: Joined | None
    exclude: frozenset[str]
    nearest: Sequence[DocumentPlace] | None = None

    @property
    def index(self) -> ScopeIndex:
        """The index of what is searched."""
        return self.loaded.index if self.where is None else self.loaded.index.only(self.where)


@dataclass(frozen=True)
class Finds:
    """What may be shown of one scope, each part best first.

    Args:
        scope: whose.
        before: what a rule has found.
        strong: what answers the query by all appearances.
        rest: what else was said in the same turns.
        others: what else was found.
        faint: what hardly has to do with the query.
        after: what stands around the finds, then the latest turns.
    """

    scope: Scope
    before: Sequence[Candidate] = ()
    strong: Sequence[Candidate] = ()
    rest: Sequence[Candidate] = ()
    others: Sequence[Candidate] = ()
    faint: Sequence[Candidate] = ()
    after: Sequence[Candidate] = ()

    @property
    def parts(self) -> tuple[Sequence[Candidate], ...]:
        """In the order in which they are packed."""
        return self.before, self.strong, self.rest, self.others, self.faint, self.after


def together(finds: Sequence[Finds], *, is_named: bool) -> list[Candidate]:
    """What may be shown of all scopes, in the order in which it is packed.

    A score says nothing beyond its own scope. Where there are several, the logit of the relevance, which means the
    same everywhere, takes its place.

    Args:
        finds: by scope.
        is_named: whether several scopes were asked, so that each find says whose it is.
    """
    if not is_named:
        return [each for part in finds[0].parts for each in part]
    candidates: list[Candidate] = []
    for parts in zip(*(each.parts for each in finds), strict=True):
        part = [_named(each.scope, one) for each, ones in zip(finds, parts, strict=True) for one in ones]
        # Stable: what stands around the finds, and what was said last, keeps its order.
        candidates += sorted(part, key=lambda each: -each.score)
    return candidates


def _named(scope: Scope, found: Candidate) -> Candidate:
    chance = min(max(found.relevance, _LEAST), 1 - _LEAST)
    newer = tuple(_named(scope, one) for one in found.newer)
    return replace(found, scope=scope, score=round(math.log(chance / (1 - chance)), 6), newer=newer)


def whole(searched: Sequence[SearchedScope], found: Sequence[Shown]) -> list[Shown]:
    """The same finds, or hits, with their memories read from disk where they were not yet."""
    if len(searched) == 1:
        return searched[0].index.memories.whole(found)
    read = {
        each.scope: iter(each.index.memories.whole([one for one in found if one.scope == each.scope]))
        for each in searched
    }
    return [next(read[each.scope]) for each in found]
