"""The scopes of one recall: what is searched of each, and what they give together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from ..context import MOST_TOKENS
from ..conversation import Scope
from ..filters import Joined
from ..layers import Layer, Request, Units
from ..memory import RecallOptions
from ..ranking import Candidate, ScopeIndex
from ..ranking.last_times import last_times
from ..ranking.memory_table import Shown
from ..ranking.surroundings import answered, said_next
from ..ranking.tool_results import answers_first
from ..text.code import wants_code
from ..text.dates import Span
from ..text.intents import Subject, subject
from ..text.overviews import asks_for_order, asks_for_overview, asks_of_all_sessions
from ..text.periods import days_asked
from ..vectors import DocumentPlace
from .asked import Asked
from .loaded_scope import LoadedScope
from .outlines import begun_replies, outlined
from .standing import Standing

_About: TypeAlias = tuple[Subject, Sequence[Span]]
"""What of the conversation a query asks about, and the days that are meant, where days are."""

_NOTHING_ABOUT_IT: Final[_About] = ("", ())

_ENOUGH: Final = 1.5
"""How much more than there is room for has to be found before nothing else is looked for."""

_FEWEST, _SHORTEST = 100, 8
"""How many finds are packed from: one for so many tokens of the budget, and the fewest."""

_SHARE: Final = 10
"""Which part of the budget the user's instructions take at most, whatever is asked."""

_PINNED: Final = 1 / 8
"""Which share of the budget pinned turns have for themselves."""

_STRONG: Final = 0.5
"""From which relevance on the rest of a short exchange comes before whatever else was found."""

_REPLY: Final = 3
"""Which part of the budget the answer to a question takes at most, where that is the best find."""

_BEST: Final = 12
"""Of how many finds is shown what takes them back, beside those that answer by all appearances."""

_FAINT: Final = 0.02
"""What is less relevant does not answer."""

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
        sources: the layers that know of anything in it that holds no more, or is to be shown.
    """

    scope: Scope
    loaded: LoadedScope
    where: Joined | None
    exclude: frozenset[str]
    nearest: Sequence[DocumentPlace] | None = None
    sources: Sequence[type[Layer]] = ()

    @property
    def index(self) -> ScopeIndex:
        """The index of what is searched."""
        return self.loaded.index if self.where is None else self.loaded.index.only(self.where)


LAST_FOUND: Final = 4
"""Which of the parts of `Finds` is the last that was found."""


@dataclass(frozen=True)
class Finds:
    """What may be shown of one scope, each part best first.

    Args:
        scope: whose.
        before: what a rule has found.
        strong: what answers the query by all appearances.
        rest: what takes back what is shown first, and what else was said in the turns of ``strong``.
        others: what else was found.
        near: what the user said next after what answers the query by all appearances, and the answer to the best of
            them, where it is a question.
        faint: what hardly has to do with the query.
        after: what stands around the finds, then the latest turns.
    """

    scope: Scope
    before: Sequence[Candidate] = ()
    strong: Sequence[Candidate] = ()
    rest: Sequence[Candidate] = ()
    others: Sequence[Candidate] = ()
    near: Sequence[Candidate] = ()
    faint: Sequence[Candidate] = ()
    after: Sequence[Candidate] = ()

    @property
    def parts(self) -> tuple[Sequence[Candidate], ...]:
        """In the order in which they are packed."""
        return self.before, self.strong, self.rest, self.others, self.near, self.faint, self.after


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


def finds_in(
    searched: Sequence[SearchedScope],
    found: Sequence[Sequence[Candidate]],
    scope: Scope,
    asked: Asked,
    *,
    now: datetime,
    budget: int | None,
    options: RecallOptions,
    places: int | None,
    rules: bool,
) -> list[Finds]:
    """What may be shown of each scope; what answers a question about the conversation itself of the asker's only.

    Args:
        searched: the scopes.
        found: what the search has found in each, best first.
        scope: the asker's, which may hold nothing and not be among them.
        asked: the query.
        now: when it is asked.
        budget: how many tokens there are.
        options: the caller's.
        places: for how many instructions of each scope there is room; as many as there are unless given.
        rules: whether anything comes before what was found, and whether that is told apart by its strength.
    """
    about, outline = _about(searched[0], asked, now), asks_for_overview(asked.telling)
    show = partial(
        _finds,
        budget=budget,
        options=options,
        places=places,
        rules=rules,
        is_of_code=wants_code(asked.telling),
        outline=outline,
        in_order=outline and asks_for_order(asked.telling),
    )
    abouts = [about if each.scope == scope else _NOTHING_ABOUT_IT for each in searched]
    return list(map(show, searched, found, abouts))


def _about(searched: SearchedScope, asked: Asked, now: datetime) -> _About:
    """What of the conversation itself a query asks about."""
    query = asked.telling
    about = "all sessions" if asks_of_all_sessions(query) else subject(query, follows=asked.follows)
    if about != "days":
        return about, ()
    return about, last_times(days_asked, query, now.date(), searched.index.indexes.table)[0]


def _finds(
    searched: SearchedScope,
    found: Sequence[Candidate],
    about: _About,
    *,
    budget: int | None,
    options: RecallOptions,
    places: int | None,
    rules: bool,
    is_of_code: bool,
    outline: bool,
    in_order: bool,
) -> Finds:
    """What may be shown of a scope, with what stands around what was found.

    Of what the user wants of every answer, no more is shown than there are ``places`` for. Without ``rules``, what was
    found comes in the order in which it was found, and nothing before all of it. In an ``outline``, how the user's
    messages begin comes before what else they say, and how the best replies begin comes after all that answers; not
    where it is asked ``in_order`` what the user brought up.
    """
    index, without = searched.index, searched.exclude
    if not rules:
        beyond = index.besides(found) if not options.only_relevant else ()
        return Finds(searched.scope, others=found, after=_wanted(beyond, without, budget))
    found = answers_first(found)
    before = _wanted(index.asked_about(about[0], without, about[1]), without, budget)
    if options.only_relevant:
        before = [each for each in before if each.kind != "surrounding"]
    if about[0] == "all sessions" or (outline and about[0]):
        begins, (before,) = outlined(before)
        before = [*begins, *before]
    full = options.only_relevant or _fills(found, budget)
    after: Iterable[Candidate] = index.besides(found) if not full else ()
    before += _instructions(index, without, budget)[:places] if not options.only_relevant else []
    strong, others, faint = _by_strength(found)
    rest: list[Candidate] = []
    if not options.only_relevant:
        # Where sessions or days are told, what takes anything back is among their words.
        standing = [each for each in (*before, *others) if each.kind == "standing"]
        beside = index.rest_of(strong, before[:_BEST], others[:_BEST], standing)
        rest = [one for one in beside if one.turn.id not in without]
    near: list[Candidate] = []
    if faint and not options.only_relevant:
        near = _wanted(index.besides(strong, of=said_next), without, budget)
        # Code that is asked for goes before the other words of its reply already.
        replies = index.besides(strong[:1], of=answered) if not is_of_code else ()
        near += _within(_wanted(replies, without, budget), (MOST_TOKENS if budget is None else budget) / _REPLY)
    last = _wanted(after, without, budget)
    if outline and not about[0]:
        begun = begun_replies([*strong, *others]) if not (in_order or options.only_relevant) else []
        begins, (strong, others) = outlined(strong, others)
        before += begins
        others += begun
    return Finds(searched.scope, before, strong, rest, others, near, faint, last)


def pinned_in(
    searched: Sequence[SearchedScope], standing: Standing, budget: int | None, k: int | None
) -> tuple[list[list[Candidate]], int | None]:
    """What is shown of each scope whatever is asked, in a small share of the budget; and for how many instructions of
    each there are places then: half of ``k`` is left for what answers.
    """
    left, pinned = None if k is None else k // 2, list[list[Candidate]]()
    for each in searched:
        known = standing.pinned(each.loaded.row.id, each.sources)
        ids = [one for one in known if one not in each.exclude][:left]
        room = int(_PINNED * (MOST_TOKENS if budget is None else budget))
        pinned.append(_within(each.index.turns_named(ids, "standing") if ids else [], room))
        left = None if left is None else left - len(pinned[-1])
    return pinned, None if left is None else left // len(searched)


def _instructions(index: ScopeIndex, exclude: Collection[str], budget: int | None) -> list[Candidate]:
    """What the user wants of every answer, the newest first, in a small share of the budget."""
    wanted = (each for each in index.instructions() if each.turn.id not in exclude)
    return _within(wanted, (MOST_TOKENS if budget is None else budget) / _SHARE)


def _within(candidates: Iterable[Candidate], room: float) -> list[Candidate]:
    """Those that there is room for, in order."""
    wanted: list[Candidate] = []
    for each in candidates:
        if each.tokens <= room:
            room -= each.tokens
            wanted.append(each)
    return wanted


def _fills(candidates: Sequence[Candidate], budget: int | None) -> bool:
    """Whether what was found leaves no room worth filling: a good many that fit, and more than there is room for."""
    room = MOST_TOKENS if budget is None else budget
    return sum(each.tokens for each in candidates if each.tokens <= room / 8) > _ENOUGH * room


def _by_strength(candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Those that answer the query by all appearances, the others, and those that hardly have to do with it."""
    strong: list[Candidate] = []
    others: list[Candidate] = []
    faint: list[Candidate] = []
    for each in candidates:
        is_faint = each.kind == "relevant" and each.relevance < _FAINT
        (strong if each.relevance >= _STRONG else faint if is_faint else others).append(each)
    return strong, others, faint


def is_faint(candidate: Candidate) -> bool:
    """Whether a candidate does not answer the query."""
    return candidate.kind == "standing" or candidate.relevance < _FAINT


def with_relevance_of(turns: Sequence[Candidate], units: Units, request: Request, *, asks: bool) -> Units:
    """The units of a layer, each as relevant as the most relevant of its turns.

    Where only what answers is wanted, those that do not are left out: to a vector everything has some likeness.

    Args:
        turns: what was found in the scope.
        units: what the layer has found.
        request: the recall.
        asks: whether the query asks anything of the memory.
    """
    of_turn: dict[str, float] = {}
    for each in turns:
        of_turn[each.turn.id] = max(each.relevance, of_turn.get(each.turn.id, 0.0))
    relevance = [
        max((of_turn.get(turn.id, 0.0) for turn in unit.memory.turns), default=0.0) for unit in units.candidates
    ]
    found = [replace(unit, relevance=each) for unit, each in zip(units.candidates, relevance, strict=True)]
    if request.only_relevant:
        found = [each for each in found if asks and (request.vector is None or not is_faint(each))]
    return replace(units, candidates=found)


def _wanted(candidates: Iterable[Candidate], exclude: Collection[str], budget: int | None) -> list[Candidate]:
    """Those that are not in the prompt already, as many as there may be room for."""
    wanted = (each for each in candidates if each.turn.id not in exclude)
    return list(islice(wanted, _most(MOST_TOKENS if budget is None else budget)))


def _most(budget: int) -> int:
    return max(_FEWEST, budget // _SHORTEST)
