"""What takes back or changes what the same person said just before: "Sorry, I mistyped, it is 58", "It went up to 58".

Such a statement hardly names what it is about, so it cannot be found by its head words: it is about the last thing of
its kind that was said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from ..text.patterns import regex
from .bare import is_amount
from .cues import Cue
from .linking import Link
from .notation import is_same
from .statements import Statement
from .values import Value

TURNS: Final = 3
"""In how many turns before it, of its session, what a statement takes back or changes is looked for."""
_DAYS: Final = frozenset({"day", "weekday"})
_NAMED: Final = 100.0
"""What it weighs that a value is named which is taken back."""
_NEAR: Final = 0.3
"""How near two amounts are at least, one of which may have been meant for the other: that is ten times as much."""
_NUMBER: Final = regex(r"\d+(?:[.,]\d+)?")


def refers_back(statement: Statement) -> bool:
    """Whether a statement may be about what was said just before it, without naming that."""
    return bool(statement.values) and not statement.is_planned and (statement.is_repair or _goes_on(statement))


def _goes_on(statement: Statement) -> bool:
    """Whether a statement tells how much something is now, and not what: "It went up to 950"."""
    if "changed" not in statement.cues or statement.is_weak or statement.is_added or statement.owner:
        return False
    units = [value.sort[1:] for value in statement.values if value.sort.startswith("#")]
    names_nothing = all(any(unit.startswith(head) for unit in units) for head in statement.subject)
    return names_nothing and all(value.sort != "name" for value in statement.values)


def repair_of(newer: Statement, older: Sequence[Sequence[Statement]]) -> Link | None:
    """What a statement takes back or changes of what was said just before; nothing where that has nothing of its kind.

    Args:
        newer: the statement.
        older: what the same person said in each of the turns before it, the last first; `TURNS` of them.
    """
    if not refers_back(newer):
        return None
    found = [max(links, key=lambda link: link.score) for each in older if (links := [*_links_to(each, newer)])]
    # What names the value that it takes back speaks of that, whatever was said after it.
    named = [link for link in found if link.score >= _NAMED]
    return next(iter([*named, *found[:1]]), None)


def _links_to(stated: Sequence[Statement], newer: Statement) -> Iterable[Link]:
    return (link for each in stated for link in _links(each, newer))


def _links(older: Statement, newer: Statement) -> Iterable[Link]:
    if older.owner != newer.owner and newer.owner:
        return
    own = {head for head, weight in newer.heads.items() if weight == 1}
    named = {_number(each) for each in newer.names} if "corrected" in newer.cues else set()
    for new in newer.values:
        about = own - newer.values[new] - {new.sort[1:]}
        shared = len(about & older.heads.keys())
        for old in older.values:
            is_named = _number(old.value) in named and (old.sort == new.sort or _are_amounts(old, new))
            if is_same(old.value, new.value) or not (is_named or _is_of_its_kind(old, new)):
                continue
            # Who names something else than what was said speaks of that.
            is_alike = "corrected" in newer.cues and old.sort == new.sort and old.sort != "#"
            near = _nearness(old, new)
            if is_named or ((shared or not about or is_alike) and near >= _NEAR):
                kind: Cue = "corrected" if newer.is_repair else "changed"
                yield Link(older, newer, kind, _NAMED * is_named + shared + (old.sort == new.sort) + near, old)


def _is_of_its_kind(old: Value, new: Value) -> bool:
    """Whether one value may stand in the place of the other; a bare number may in that of any amount."""
    if old.sort == new.sort or {old.sort, new.sort} <= _DAYS:
        return True
    return _are_amounts(old, new) and "#" in (old.sort, new.sort)


def _are_amounts(old: Value, new: Value) -> bool:
    return is_amount(old.sort) and is_amount(new.sort)


def _nearness(old: Value, new: Value) -> float:
    """How near two values are, from 0 to 1: of several amounts the nearest was mistaken; a name is near none."""
    if old.sort == "name":
        return 0.0
    one, other = (_NUMBER.search(each.value) for each in (old, new))
    if one is None or other is None or not is_amount(old.sort):
        return 1.0
    first, second = (float(each[0].replace(",", ".")) for each in (one, other))
    return 1 / (1 + abs(math.log(first / second))) if first > 0 and second > 0 else _NEAR


def _number(value: str) -> str:
    """The number in a value, without what it counts."""
    found = _NUMBER.search(value)
    return found[0] if found is not None else value
