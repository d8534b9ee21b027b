"""What takes back what the same person said just before: "Sorry, I mistyped, it is 58.", "No wait, make that Thursday."

Such a statement hardly names what it is about, so it cannot be found by its head words: it is about the last thing of
its kind that was said.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

from ..text.patterns import regex
from .linking import Link
from .statements import Statement
from .values import Value

TURNS: Final = 3
"""In how many turns before it, of its session, what a statement takes back is looked for."""
_DAYS: Final = frozenset({"day", "weekday"})
_NUMBER: Final = regex(r"\d+(?:[.,]\d+)?")


def repair_of(newer: Statement, older: Sequence[Sequence[Statement]]) -> Link | None:
    """What a statement takes back; nothing where nothing of its kind was said just before, or where it is no repair.

    Args:
        newer: the statement.
        older: what the same person said in each of the turns before it, the last first; `TURNS` of them.
    """
    if not newer.is_repair or newer.is_planned:
        return None
    for stated in older:
        links = [link for each in stated for link in _links(each, newer)]
        if links:
            return max(links, key=lambda link: link.score)
    return None


def _links(older: Statement, newer: Statement) -> Iterable[Link]:
    if older.owner != newer.owner and newer.owner:
        return
    own = {head for head, weight in newer.heads.items() if weight == 1}
    for new in newer.values:
        about = own - newer.values[new] - {new.sort[1:]}
        shared = len(about & older.heads.keys())
        for old in older.values:
            is_named = "corrected" in newer.cues and old.value in newer.names and old.sort == new.sort
            if not (is_named or _is_of_its_kind(old, new)) or old.value == new.value:
                continue
            # Who names something else than what was said speaks of that.
            is_alike = "corrected" in newer.cues and old.sort == new.sort and old.sort != "#"
            if about and not shared and not is_alike:
                continue
            yield Link(older, newer, "corrected", shared + (old.sort == new.sort) + _closeness(old, new), old)


def _is_of_its_kind(old: Value, new: Value) -> bool:
    """Whether one value may stand in the place of the other; a bare number may in that of any amount."""
    if old.sort == new.sort:
        return old.sort != "name"
    if {old.sort, new.sort} <= _DAYS:
        return True
    counted = [each.sort in ("money", "percent") or each.sort.startswith("#") for each in (old, new)]
    return all(counted) and "#" in (old.sort, new.sort)


def _closeness(old: Value, new: Value) -> float:
    """How near two amounts are, from 0 to 1: of several, what was mistaken is the nearest."""
    one, other = (_NUMBER.search(each.value) for each in (old, new))
    if one is None or other is None:
        return 0.0
    first, second = (_amount(each) for each in (one, other))
    return 1 / (1 + abs(math.log(first / second))) if first > 0 and second > 0 else 0.0


def _amount(found: re.Match[str]) -> float:
    return float(found[0].replace(",", "."))
