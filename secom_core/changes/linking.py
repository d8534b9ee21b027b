"""Which earlier statement a later one changes, corrects, ends or confirms; without a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from ..text.patterns import regex
from .bare import is_amount, is_bare_of
from .cues import Cue
from .measures import measure_alike
from .notation import is_same
from .slots import SLOT
from .statements import Statement
from .values import Value

_ENOUGH: Final = 1.0
"""What shared head words weigh at least."""
_UNLIKE: Final = 2.0
"""The same where one speaks of the speaker and the other does not, and for values of a sort that all things have."""
_SHARE, _HALF = 0.3, 0.5
"""Which share of the head words of the one that has fewer; and where the values are of a sort that all things have."""
_PAIR: Final = 2
_TITLE: Final = regex(
    r"^(?:dr|mrs?|ms|prof(?:essor)?|mme|herrn?|frau|doctora?|docteure?|madame|monsieur|der|die|das)\.? "
)
UNITS: Final = frozenset(
    "s ms sec second minut min hour kb mb gb tb px sekund stund segund hor heur mg mcg ml kg lb lbs "
    "old alt tall lang hoch km キロ 킬로 公斤 公里 岁 살이".split()
)
"""Head words of units of measure, and of what is measured: two things that have one have nothing in common by that."""
_STATISTICS: Final = frozenset("averag mean median maxim max minim min durchs mittel hochst promed medi moyenn".split())
"""Head words of which of several numbers of a thing is told: two of them are two things, and one alone tells little."""
_MOSTLY: Final = 2 / 3
"""Which share of the head words is less than enough where either statement has others of its own."""
_AROUND: Final = 6
"""How many more pairs of characters than what was denied the words have that say that it is so again."""

Weigh = Callable[[str], float]
"""What a head word weighs, from 0 to 1: less where much of what is said holds it."""


@dataclass(frozen=True, slots=True)
class Link:
    """That a later statement says what has become of an earlier one.

    Args:
        older: the earlier statement.
        newer: the later one.
        kind: what became of it.
        score: how much they have in common.
        was: what the earlier one says of what both are about, where that is a value.
        more: how many words the earlier one has that the later one does not name, where this tells a number without
            saying of what.
    """

    older: Statement
    newer: Statement
    kind: Cue
    score: float
    was: Value | None = None
    more: int = 0


def links_of(newer: Iterable[Statement], older: Sequence[Statement], weigh: Weigh) -> list[Link]:
    """The links from statements of a message to earlier ones; of each statement the best.

    Args:
        newer: the statements of a message.
        older: statements that were said before it, the newest first.
        weigh: what a head word weighs.
    """
    found: list[Link] = []
    for statement in newer:
        links = [link for each in older if (link := link_between(each, statement, weigh)) is not None]
        # The newest of those that have most in common: it is what held until then. What was only planned comes after.
        first = max(links, key=lambda link: (link.score, not link.older.is_planned, -link.more), default=None)
        if first is not None:
            found.append(first)
            found += [replace(first, older=each) for each in older if _says_as_well(each, first)]
    return found


def _says_as_well(statement: Statement, link: Link) -> bool:
    """Whether another statement says the same of the same thing as the one that holds no more."""
    if statement is link.older or link.was is None or link.was.sort == "name" or link.kind == "confirmed":
        return False
    said = any(each[:2] == link.was[:2] for each in statement.values)
    alike = statement.owner == link.older.owner and statement.is_other == link.older.is_other
    return said and alike and len(statement.heads.keys() & (link.older.heads.keys() | link.newer.heads.keys())) >= _PAIR


def link_between(older: Statement, newer: Statement, weigh: Weigh) -> Link | None:
    """What the later statement says of the earlier one; nothing where they are of different things."""
    with_others = (newer.is_joint and not older.owner) or (older.is_joint and older.is_mine and not newer.owner)
    of_others = newer.owner != older.owner and not with_others
    if of_others or newer.is_other != older.is_other:
        return None
    # "Their team has 20 people" is not followed by "our team has 8 people now", nor the other way round.
    if older.is_theirs and not newer.is_theirs and (newer.is_mine or not _is_latin(newer)):
        return None
    if older.is_mine and newer.is_theirs:
        return None
    if newer.is_planned and not (older.is_planned and "changed" in newer.cues):
        return None
    if not older.is_planned and older.kinds == newer.kinds and _slot_changed(older, newer):
        return Link(older, newer, "changed", _UNLIKE)
    if (kind := _state_changed(older, newer)) is not None:
        return Link(older, newer, kind, _UNLIKE)
    if _is_denied_no_more(older, newer):
        return Link(older, newer, "changed", _UNLIKE)
    if not newer.cues and not newer.denied:
        return None
    pair = _compared(older, newer)
    compared = older.values[pair[0]] | newer.values[pair[1]] if pair is not None else frozenset()
    if pair is not None and pair[0].value == pair[1].value and not pair[0].value.isascii() and "ended" in newer.cues:
        compared = frozenset()  # Katakana are names and words alike: what both name is what has ended.
    if pair is not None and measure_alike(*pair):
        compared |= UNITS
    shared = sorted((older.heads.keys() & newer.heads.keys()) - compared)
    score = sum(weigh(head) * min(older.heads[head], newer.heads[head]) for head in shared)
    named = _named_old(older, newer)
    share = score / max(1.0, min(_size(older, compared), _size(newer, compared)))
    score += named
    own = {head for head in shared if older.heads[head] == newer.heads[head] == 1}
    if own and _share_a_unit_alone(older, newer, pair, own, set(shared)):
        return None
    share = share if own else min(share, _SHARE)
    kind = _kind(older, newer, pair, named, score, share) if score >= _ENOUGH and share >= _SHARE else None
    if kind is None:
        return None
    is_bare = pair is not None and is_bare_of(older, newer, *pair)
    more = len(older.subject - newer.heads.keys()) if is_bare else 0
    return Link(older, newer, kind, score, pair[0] if pair is not None else None, more)


def _slot_changed(older: Statement, newer: Statement) -> bool:
    """Whether they say different things of what somebody has one of."""
    old = {value.sort: value.value for value in older.values if value.sort.startswith(SLOT)}
    return any(old.get(value.sort, value.value) != value.value for value in newer.values)


def _state_changed(older: Statement, newer: Statement) -> Cue | None:
    """What the later one says of what somebody was, such as in work: that it has ended, or that it is so now."""
    if older.is_planned:
        return None
    return next(
        ("changed" if holds else "ended" for name, holds in newer.states if (name, not holds) in older.states), None
    )


def _size(statement: Statement, without: frozenset[str]) -> float:
    """How many words name what it is about; where words are not parted, each is about two pairs of characters."""
    heads = [head for head, weight in statement.heads.items() if weight == 1 and head not in without]
    return sum(1.0 if head.isascii() or len(head) > _PAIR else 0.5 for head in heads)


def _kind(
    older: Statement, newer: Statement, pair: tuple[Value, Value] | None, named: bool, score: float, share: float
) -> Cue | None:
    differs = pair is not None and not is_same(pair[0].value, pair[1].value)
    if older.is_planned and not (differs and pair is not None and pair[0].sort != "name"):
        return None
    if older.is_planned and not newer.is_of_plan and (newer.is_weak or share < _MOSTLY or score < _UNLIKE):
        return None
    if newer.is_planned and share < _MOSTLY:
        return None
    if pair is None or not differs:
        if "confirmed" in newer.cues and pair is not None:
            return "confirmed"
        # What somebody does not do, or never did, cannot end.
        may_end = not older.is_denied and "ended" not in older.cues
        ends = may_end and "ended" in newer.cues and all(value.sort == "name" for value in newer.values)
        # "I sold my mugs at the market" ends no market.
        speaks_of_it = score >= _SHARE * _size(newer, frozenset())
        return "ended" if ends and share >= _HALF and speaks_of_it and _denies_that(older, newer) else None
    if "corrected" in newer.cues:
        is_apart = share < _HALF and are_apart(older, newer, pair[0].sort, share)
        return "corrected" if named or not is_apart else None
    if pair[0].sort != "name" and _are_of_two(older, newer):
        return None
    # Other units are often of other things, such as the timeouts of two servers.
    if measure_alike(*pair) and are_apart(older, newer, pair[0].sort, share):
        return None
    is_bare = is_bare_of(older, newer, *pair)
    share = 1.0 if is_bare else share
    # What grew or shrank is no name.
    is_measured = pair[0].sort == "name" and "measured" in newer.cues
    if named and not is_measured and (newer.denied or newer.cues & {"changed", "ended", "swapped"}):
        return "changed"
    if not named and pair[0].sort != "name" and _are_of_others(older, newer):
        return None
    if "changed" in newer.cues and newer.is_weak and (newer.is_added or are_apart(older, newer, pair[0].sort, share)):
        return None
    if "changed" not in newer.cues or (
        older.is_mine != newer.is_mine and _is_latin(newer) and score < _UNLIKE and share <= _HALF
    ):
        return None
    if is_measured:
        return None
    if is_bare:
        return "changed"
    if pair[0].sort in ("name", "day", "#", "percent", "time") and (score < _UNLIKE or share < _HALF):
        return "changed" if pair[0].sort in ("day", "time") and _says_only_that(older, newer, pair) else None
    return "changed"


def _is_denied_no_more(older: Statement, newer: Statement) -> bool:
    """Whether the later one says that what the earlier one denies is so again, or now, and speaks of nothing else."""
    if not older.is_denied or newer.is_denied or older.is_mine != newer.is_mine or older.is_planned or newer.is_planned:
        return False
    if any(value.sort != "name" for value in newer.values) or _names(newer) - {
        word for name in older.names for word in name.split()
    }:
        return False
    own, known = (
        {head for head, weight in each.heads.items() if weight == 1 and "不" not in head and "没" not in head}
        for each in (newer, older)
    )
    is_now = "changed" in newer.cues and "ended" not in newer.cues and len(own & known) >= _PAIR
    speaks_of_it = len(own & known) > _MOSTLY * len(own) or (
        not _is_latin(newer) and known <= own and len(own) <= len(known) + _AROUND
    )
    return bool(own & known) and speaks_of_it and (newer.is_resumed or is_now)


def _denies_that(older: Statement, newer: Statement) -> bool:
    """Whether what the later one denies is what the earlier one says: "I can't find my guitar any more" does not."""
    own = {head for head, weight in newer.heads.items() if weight == 1}
    return not (newer.is_denied and _is_latin(newer)) or len(own & older.heads.keys()) > _MOSTLY * len(own)


def _says_only_that(older: Statement, newer: Statement, pair: tuple[Value, Value]) -> bool:
    """Whether the later one says of nothing but what the earlier one is about that it was changed."""
    compared = older.values[pair[0]] | newer.values[pair[1]]
    own = {head for head, weight in newer.heads.items() if weight == 1} - compared
    return not newer.is_weak and bool(own) and own <= older.heads.keys()


def are_apart(older: Statement, newer: Statement, sort: str, share: float = 1.0) -> bool:
    """Whether two statements are of different things of a kind, by what tells these apart.

    Args:
        older: the earlier one.
        newer: the later one.
        sort: of the values that are compared.
        share: how much of what they are about they have in common, from 0 to 1.
    """
    if sort == "weekday" and _amounts(older) and _amounts(newer) and not _amounts(older) & _amounts(newer):
        return True
    if any(word == other and number != told for word, number in older.labels for other, told in newer.labels):
        return True
    weekdays, others = ({value.value for value in one.values if value.sort == "weekday"} for one in (older, newer))
    if sort != "weekday" and weekdays and others and not weekdays & others:
        return True
    if sort != "name" and (_are_of_others(older, newer) or _are_of_two(older, newer)):
        return True
    one, other = _STATISTICS & older.heads.keys(), _STATISTICS & newer.heads.keys()
    if one and other and not one & other:
        return True
    ours, theirs = (
        {head for head, weight in one.heads.items() if weight == 1 and head not in other.heads} - UNITS - _STATISTICS
        for one, other in ((older, newer), (newer, older))
    )
    return bool(ours and theirs) and share <= _MOSTLY


def _share_a_unit_alone(
    older: Statement, newer: Statement, pair: tuple[Value, Value] | None, own: set[str], shared: set[str]
) -> bool:
    """Whether two statements have but a unit in common, or what is counted, where the later one names another thing."""
    if own <= UNITS:
        return pair is None or "confirmed" not in newer.cues or not is_same(pair[0].value, pair[1].value)
    unit = pair[0].sort[1:] if pair is not None and pair[0].sort.startswith("#") else ""
    is_counted = len(shared) == 1 and bool(unit) and all(unit.startswith(head) for head in shared)
    return is_counted and bool(_names(newer) - _names(older))


def _names(statement: Statement) -> set[str]:
    return {word for value in statement.values if value.sort == "name" for word in value.value.split()}


def _are_of_others(older: Statement, newer: Statement) -> bool:
    """Whether each names somebody or something, and neither what the other names beside it in its sentence."""
    own, others = ([value.value for value in one.values if value.sort == "name"] for one in (older, newer))
    if not own or not others or older.names & {*others} or newer.names & {*own}:
        return False
    return not any(_is_name_of(one, other) for one, other in product(own, others))


def _are_of_two(older: Statement, newer: Statement) -> bool:
    """Whether each names a pet or a room, or begins with something, that the other does not name."""
    if older.kinds and newer.kinds and not older.kinds & newer.kinds:
        return True
    is_begun = bool(older.topic and newer.topic)
    return is_begun and older.topic not in newer.heads and newer.topic not in older.heads


def _is_name_of(one: str, other: str) -> bool:
    """Whether two names may be of one: "Dr. Patel" and "Patel", and not "Customer Alvo" and "Customer Benno"."""
    words, others = (set(_TITLE.sub("", name).split()) for name in (one, other))
    return words <= others or others <= words


def _amounts(statement: Statement) -> set[str]:
    return {value.value for value in statement.values if value.sort in ("money", "percent") or value.sort[:1] == "#"}


def _is_latin(statement: Statement) -> bool:
    return all(head.isascii() for head in statement.heads)


def _compared(older: Statement, newer: Statement) -> tuple[Value, Value] | None:
    """A value of each that can be compared; two that are not the same, where there are such."""
    sorts = {value.sort for value in newer.values}
    pairs = [(old, new) for old in older.values for new in newer.values if _may_replace(older, newer, old, new)]
    known = {old.value for old in older.values if old.sort in sorts}
    said = {each[:2] for each in older.values} & {each[:2] for each in newer.values}
    # Where both name the same, another name beside it is none that could stand in its place.
    has_name = _is_latin(newer) and any(sort == "name" for sort, _ in said)
    differing = [
        each
        for each in pairs
        if not any(is_same(each[1].value, value) for value in known) and not (has_name and each[1].sort == "name")
    ]
    # A name stands for a value only where nothing else does.
    pairs = [each for each in pairs if each[0].sort != "name"] or pairs
    differing = [each for each in differing if each[0].sort != "name"] or differing
    return next(iter(differing or (each for each in pairs if is_same(each[0].value, each[1].value))), None)


def _may_replace(older: Statement, newer: Statement, old: Value, new: Value) -> bool:
    """Whether two values can be compared; where the later one takes back what the earlier one names, amounts can."""
    taken_back = "corrected" in newer.cues and old.value in newer.names
    is_alike = _alike(older, newer, old.sort, new.sort) or measure_alike(old, new) or is_bare_of(older, newer, old, new)
    return is_alike or (taken_back and is_amount(old.sort) and is_amount(new.sort))


def _alike(older: Statement, newer: Statement, old: str, new: str) -> bool:
    """Whether two sorts can be compared: they are the same, or one is a bare number of what the other counts."""
    if old == new or ("corrected" in newer.cues and {old, new} == {"#", "money"}):
        return True
    counted = {old: newer, new: older}.get(old if new == "#" else new) if "#" in (old, new) else None
    unit = (old if new == "#" else new)[1:]
    return counted is not None and len(unit) > 1 and any(head.startswith(unit[:5]) for head in counted.heads)


def _named_old(older: Statement, newer: Statement) -> bool:
    """Whether the later one names the earlier one's value in saying that it is no more."""
    own = {value.value for value in newer.values}
    old = {value.value for value in older.values}
    named = newer.names if newer.cues & {"changed", "ended", "corrected"} else newer.denied
    return any(is_same(one, other) for one in named for other in old) and bool(own - old)
