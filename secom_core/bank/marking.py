"""What holds now in the place of what was found; and what holds no more of what the prompt shows already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..context import MOST_TOKENS
from ..context.block import render
from ..context.packing import PackTurns
from ..context.replacing import in_the_prompt, quotable
from ..conversation import Replacement, Scope
from ..memory import Hit, RecallOptions, Section
from ..protocols import TokenCounter
from ..text.intents import asks_of_the_past
from ..text.terms import terms
from .chains import BY_HAND, Replaced
from .searched import LAST_FOUND, Finds, SearchedScope
from .standing import Standing, taken_back_last, with_replacements

_SHARE: Final = 1 / 4
"""Which share of the budget there is for what holds no more of the prompt."""
_MOST: Final = 8
"""How many statements of the prompt are said to hold no more, at most."""
_ABOUT: Final = 1 / 2
"""Which share of the query's words makes a statement what the query is about."""
_BROUGHT: Final = 2
"""How many turns are shown because they took the place of such a statement, at most."""


@dataclass(frozen=True, slots=True)
class Noted:
    """A statement that the prompt shows, and that holds no more.

    Args:
        scope: whose it is.
        replacement: what is known of it.
        words: its words.
        shared: which share of the query's words it has.
    """

    scope: Scope
    replacement: Replacement
    words: str
    shared: float


def marked_finds(
    standing: Standing, searched: SearchedScope, finds: Finds, options: RecallOptions, packer: object, query: str
) -> tuple[Finds, list[Noted]]:
    """What was found, with what is known to hold in its place; with whole memories where they are shown so.

    Args:
        standing: knows what holds no more.
        searched: the scope.
        finds: what was found in it.
        options: those of the recall.
        packer: what fills the budget.
        query: what is asked.

    Returns:
        It, and what holds no more of the turns that were excluded, what has most to do with the query first.
    """
    index, parts = searched.index, finds.parts
    is_whole = options.token_budget is None or not isinstance(packer, PackTurns)
    if not (is_whole or searched.sources):
        return finds, []
    if is_whole:
        parts = tuple(index.memories.whole(part) for part in parts)
    ids = {each.turn.id for part in parts for each in part}
    if is_whole:
        ids.update(turn.id for part in parts for each in part for turn in each.memory.turns)
    turns = [each.turn for part in parts[:LAST_FOUND] for each in part] if searched.sources else []
    ids |= searched.exclude
    replaced = standing.of(searched.loaded.row.id, ids, searched.sources, query=query, turns=turns)
    noted = _noted(standing, searched, replaced, query)
    about = [each.replacement.newer for each in noted if each.shared >= _ABOUT and each.replacement.newer]
    if about:
        newer = index.turns_named(list(dict.fromkeys(about))[:_BROUGHT], "relevant", relevance=_ABOUT)
        parts = ([*newer, *parts[0]], *parts[1:])
    past = bool(replaced) and asks_of_the_past(query)
    held = partial(with_replacements, replaced=replaced, turns_named=index.turns_named, history=options.history)
    parts = tuple(held(part, exclude=searched.exclude, past=past) for part in parts)
    if replaced and not past:
        parts = taken_back_last(parts, LAST_FOUND)
    if is_whole and replaced:
        parts = tuple(index.memories.whole(part) for part in parts)
    said = [each for each in noted if each.shared or not options.only_relevant] if options.history else []
    return Finds(searched.scope, *parts), said


def _noted(standing: Standing, searched: SearchedScope, replaced: Replaced, query: str) -> list[Noted]:
    """What of the excluded turns holds no more: what was marked by hand, and what else the query is about."""
    exclude = searched.exclude
    # Where the prompt shows what holds now, too, it says so itself.
    known = {
        turn_id: [each for each in replaced[turn_id] if each.newer not in exclude]
        for turn_id in sorted(exclude.intersection(replaced))
    }
    ids = [turn_id for turn_id, found in known.items() if found]
    if searched.where is not None:
        ids = list(dict.fromkeys(each.turn.id for each in searched.index.turns_named(ids, "relevant")))
    asked = set(terms(query))
    noted: list[Noted] = []
    for turn in standing.store.turns_named(searched.scope, ids) if ids else ():
        for each in known.get(turn.id, ()):
            words = quotable(turn, each)
            shared = len(asked.intersection(terms(words))) / max(1, len(asked))
            if words and (shared or each.kind in BY_HAND):
                noted.append(Noted(searched.scope, each, words, shared))
    noted.sort(key=lambda each: each.replacement.at, reverse=True)
    return sorted(noted, key=lambda each: -each.shared)


def within_share(noted: Sequence[Noted], budget: int | None, counter: TokenCounter) -> tuple[list[Noted], int]:
    """The first of them that there is room for, and how many tokens they take at most."""
    room = int(_SHARE * (MOST_TOKENS if budget is None else budget))
    kept: list[Noted] = []
    tokens = 0
    for each in noted:
        if len(kept) == _MOST:
            break
        more = [*kept, each]
        if (needed := counter(_section(more).text)) <= room:
            kept, tokens = more, needed
    return kept, tokens


def block_of(
    hits: Sequence[Hit], sections: Sequence[Section], noted: Sequence[Noted], budget: int | None, counter: TokenCounter
) -> tuple[str, list[Section]]:
    """The block, and its sections, with as much of what holds no more of the prompt as fits into the budget."""
    most = MOST_TOKENS if budget is None else budget
    for count in range(len(noted), 0, -1):
        own = [hit for hit in hits if hit.scope == noted[0].scope]
        every = [_section(noted[:count], own), *sections]
        text = render(hits, every)
        if counter(text) <= most:
            return text, every
    return render(hits, sections), list(sections)


def _section(noted: Sequence[Noted], hits: Sequence[Hit] | None = None) -> Section:
    return in_the_prompt([(each.replacement, each.words) for each in noted], hits)
