"""What holds now: of what a recall has found, what was replaced, and by what.

This is the one place where replacements meet. A source of them is a layer that overrides `Layer.replacements`; every
registered layer is asked, whether the bank was opened with it or not; `secom_core.changes` only where it was. Marks by
hand (`secom_core.corrections`) are one source. A layer of one's own gives `secom_core.conversation.Replacement` values:
for the part of a turn that a fact is in, with its ``span``. Where several know of one turn, what was marked by hand
counts (kinds ``corrected`` and ``retracted``) and the others are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from sqlalchemy import Connection, Table

from ..context.excerpts import cut_short
from ..context.replacing import holding, replacements_of
from ..conversation import Replacement, Turn
from ..corrections.store import said_since
from ..layers import Layer, registered, saying_what_holds
from ..memory import Hit, Passage
from ..ranking import Candidate
from ..stores.sql import SqlStore
from .chains import LONGEST, Chains, Replaced

_EARLIER: Final = 2
"""How many turns that hold no more are brought before what holds in their place, where the past is asked about."""
_CHANGES: Final = "changes"

_BEHIND: Final = 100.0
"""By how much the score of what was taken back is below all others."""
TurnsNamed = Callable[..., list[Candidate]]
"""`ScopeIndex.turns_named`."""


@dataclass(frozen=True)
class Standing:
    """What of a bank holds now.

    Args:
        store: where turns are, and what is known of them.
        changes: ask for statements that were found to take the place of others, too.
    """

    store: SqlStore
    changes: bool = False

    @property
    def sources(self) -> list[type[Layer]]:
        """The layers that know of what holds no more, or is to be shown."""
        if self.changes:
            registered((_CHANGES,))
        return [layer for layer in saying_what_holds() if self.changes or layer.name != _CHANGES]

    def sources_of(self, scope_id: int) -> list[type[Layer]]:
        """Those of them that have noted anything of the scope: of most scopes, none has."""
        sources = self.sources
        return with_rows(sources, [each for each in tables_of(sources) if self.store.has_rows(each, scope_id)])

    def pinned(self, scope_id: int, sources: Sequence[type[Layer]] | None = None) -> list[str]:
        """The ids of the turns that every recall of the scope shows, the first of them first.

        Args:
            scope_id: whose turns.
            sources: `sources_of` the scope, where they are at hand.
        """
        sources = self.sources_of(scope_id) if sources is None else sources
        if not sources:
            return []
        with self.store.transaction(write=False) as connection:
            return [each for layer in sources for each in layer.pinned(connection, scope_id)]

    def of(
        self,
        scope_id: int,
        turn_ids: Collection[str],
        sources: Sequence[type[Layer]] | None = None,
        *,
        query: str = "",
        turns: Sequence[Turn] = (),
    ) -> Replaced:
        """What holds no more of these turns, and of those in their place, as every source knows it.

        Where what came in the place of a turn was replaced in turn, `Replacement.newer` is what holds now; where it was
        taken back, see `secom_core.bank.chains`.

        Args:
            scope_id: whose turns.
            turn_ids: the ids of turns that may be shown.
            sources: `sources_of` the scope, where they are at hand.
            query: what is asked, for what the turns that were found for it show of each other.
            turns: these turns, best first.
        """
        sources = self.sources_of(scope_id) if sources is None else sources
        if not sources:
            return {}
        found: dict[str, tuple[Replacement, ...]] = {}
        asked: set[str] = set()
        new = set(turn_ids)
        with self.store.transaction(write=False) as connection:
            for _ in range(LONGEST):
                if not new:
                    break
                asked |= new
                known = [each for layer in sources for each in layer.replacements(connection, scope_id, new)]
                for each in known:
                    if each not in found.get(each.older, ()):
                        found[each.older] = (*found.get(each.older, ()), each)
                new = {each.newer for each in known if each.newer} - asked
            replaced = Chains(found).replaced
            # What was taken back tells no value.
            tell = [turn for turn in turns if all(each.newer or each.span for each in replaced.get(turn.id, ()))]
            telling = _as_of_what_they_correct(connection, scope_id, tell, found)
            shown = [
                each
                for layer in sources
                for each in (layer.replacements_found(connection, scope_id, query, telling) if telling else ())
            ]
        new_ones = [
            each
            for each in shown
            if each.newer not in replaced and not any(_overlap(each, one) for one in replaced.get(each.older, ()))
        ]
        for each in new_ones:
            found[each.older] = (*found.get(each.older, ()), each)
        return Chains(found).replaced if new_ones else replaced


def _as_of_what_they_correct(
    connection: Connection, scope_id: int, turns: Sequence[Turn], found: Mapping[str, Sequence[Replacement]]
) -> Sequence[Turn]:
    """The turns, corrections by hand as if they were said when that was which they correct."""
    known = (each for replacements in found.values() for each in replacements if each.kind == "corrected")
    older = {each.newer: each.older for each in known if each.newer}
    if older.keys().isdisjoint(turn.id for turn in turns):
        return turns
    since = said_since(connection, scope_id, older)
    return [
        replace(turn, messages=tuple(replace(each, at=since[turn.id]) for each in turn.messages))
        if turn.id in since
        else turn
        for turn in turns
    ]


def tables_of(sources: Iterable[type[Layer]]) -> tuple[Table, ...]:
    """The tables of sources whose rows say which scope they belong to."""
    return tuple(each for layer in sources for each in layer.tables if "scope_id" in each.c)


def with_rows(sources: Iterable[type[Layer]], holding: Collection[Table]) -> list[type[Layer]]:
    """The sources that may have noted anything of a scope.

    Args:
        sources: the layers.
        holding: those of `tables_of` them that have rows of the scope.
    """
    return [
        layer
        for layer in sources
        if not layer.tables or any("scope_id" not in each.c or each in holding for each in layer.tables)
    ]


def with_replacements(
    candidates: Sequence[Candidate],
    replaced: Replaced,
    turns_named: TurnsNamed,
    *,
    history: bool = True,
    exclude: Collection[str] = (),
    past: bool = False,
) -> list[Candidate]:
    """What was found, with what holds in the place of what holds no more.

    Args:
        candidates: best first.
        replaced: what holds no more.
        turns_named: gives candidates for turns by their ids.
        history: what holds no more stays, marked, after what holds in its place; else that alone is shown, and what
            else was said in the same turns.
        exclude: ids of turns that are in the prompt already.
        past: the past is asked about: what holds no more comes before what holds in its place.
    """
    if not replaced:
        return list(candidates)
    if past and history:
        return _with_the_past(candidates, replaced, turns_named, exclude)
    held = partial(_in_its_place, replaced=replaced, turns_named=turns_named, history=history)
    shown: list[Candidate] = []
    for each in candidates:
        marked = replace(each, replaced=replaced)
        if not replacements_of(marked):
            shown.append(marked)
            continue
        newer = held(marked, exclude=frozenset(exclude))
        shown += [replace(marked, newer=tuple(newer))] if history else [*newer, *_still_holding(marked)]
    return shown


def _in_its_place(
    candidate: Candidate, *, replaced: Replaced, turns_named: TurnsNamed, history: bool, exclude: frozenset[str]
) -> list[Candidate]:
    """What holds in the place of a candidate; what of it was replaced in turn after what holds in its place."""
    said = [each for each in replacements_of(candidate) if each.newer and each.newer not in exclude]
    ids = dict.fromkeys(each.newer for each in said)
    named = turns_named(ids, candidate.kind, score=candidate.score, relevance=candidate.relevance)
    held: list[Candidate] = []
    for one in (replace(each, replaced=replaced, signals=candidate.signals) for each in named if _says(each, said)):
        if replacements_of(one):
            # What replaces what was replaced before leads back, and is not followed.
            without = exclude.union(each.older for each in said)
            held += _in_its_place(one, replaced=replaced, turns_named=turns_named, history=history, exclude=without)
        held += [one] if history else _still_holding(one)
    return held


def _still_holding(candidate: Candidate) -> list[Candidate]:
    """A candidate, or what of it still holds where a part of it does not; a topic, which has other turns, as it is."""
    gone = replacements_of(candidate)
    if not gone or candidate.memory.summary:
        return [candidate]
    shown = [candidate.passage] if candidate.passage is not None else _messages_of(candidate.turn)
    left = [part for each in shown for part in holding(each, gone)]
    narrower = [part for each in candidate.narrower for part in holding(each, gone)]
    return [replace(candidate, passage=each, tokens=0, narrower=_within(each, narrower)) for each in left]


def _within(passage: Passage, parts: Iterable[Passage]) -> tuple[Passage, ...]:
    at, first, last = passage.place, passage.start, passage.stop
    return tuple(each for each in parts if each.place == at and first <= each.start and each.stop <= last)


def _messages_of(turn: Turn) -> list[Passage]:
    return [Passage(turn, place, 0, len(message.text)) for place, message in enumerate(turn.messages)]


def taken_back_last(parts: Sequence[Sequence[Candidate]], place: int) -> tuple[list[Candidate], ...]:
    """What was found, with that behind whatever holds in the place of which nothing does.

    Args:
        parts: what was found, and stands around it, in the order in which it is shown.
        place: the last part that was found.
    """
    back = [each for part in parts for each in part if _is_taken_back(each)]
    kept = [[each for each in part if not _is_taken_back(each)] for part in parts]
    found = [each for part in kept[: place + 1] for each in part]
    chance = min((each.relevance for each in found), default=1.0)
    # A packer that weighs scores against lengths is to find no length that makes up for it.
    score = min((each.score for each in found), default=0.0) - _BEHIND
    kept[place] += [replace(each, relevance=min(each.relevance, chance), score=min(each.score, score)) for each in back]
    return tuple(kept)


def _is_taken_back(candidate: Candidate) -> bool:
    own = replacements_of(candidate) if candidate.replaced else ()
    return bool(own) and not any(each.newer for each in own) and not _still_holding(candidate)


def _says(candidate: Candidate, said: Iterable[Replacement]) -> bool:
    """Whether a candidate for what holds now shows the words that say so."""
    shown = candidate.passage
    mine = (each for each in said if each.newer == candidate.turn.id)
    return shown is None or any(each.is_said_in(shown.place, shown.start, shown.stop) for each in mine)


def _with_the_past(
    candidates: Sequence[Candidate], replaced: Replaced, turns_named: TurnsNamed, exclude: Collection[str]
) -> list[Candidate]:
    """What was found, each after what it took the place of."""
    older: dict[str, dict[str, None]] = {}
    for known in replaced.values():
        for one in known:
            if one.newer and one.older not in exclude:
                older.setdefault(one.newer, {})[one.older] = None
    rank = {each.turn.id: place for place, each in reversed(list(enumerate(candidates)))}
    shown: list[Candidate] = []
    for each in candidates:
        # Several may have said the same: those that were found best, and what was found itself is to have room.
        first = sorted(older.get(each.turn.id, ()), key=lambda turn_id: rank.get(turn_id, len(rank)))[:_EARLIER]
        found = turns_named(first, each.kind, score=each.score, relevance=each.relevance)
        before = [replace(one, replaced=replaced, signals=each.signals) for one in found]
        shown.append(replace(each, replaced=replaced, newer=tuple(one for one in before if replacements_of(one))))
    return shown


def without_history(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without what of their turns holds no more; one that has nothing left goes, and numbers close up."""
    kept = []
    for hit in hits:
        if hit.replaced:
            left = [part for each in hit.passages for part in holding(each, hit.replaced.get(each.turn.id, ()))]
            ids = {each.turn.id for each in left}
            turns = tuple(turn for turn in hit.turns if turn.id in ids)
            hit = replace(hit, turns=turns, excerpts=cut_short(left), replaced={})
        if hit.turns:
            kept.append(hit)
    return [replace(hit, number=number) for number, hit in enumerate(kept, start=1)]


def _overlap(one: Replacement, other: Replacement) -> bool:
    """Whether both are about the same words of one turn."""
    return one.span is None or other.touches(*one.span)
