"""What holds of a user whatever is asked: instructions, preferences, and who somebody is; the newest of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..text.terms import terms
from .passage_table import PassageTable

_MOST: Final = 200
"""How many passages are looked at, the newest."""

_ALIKE: Final = 0.5
"""The share of content words that two have in common where the newer stands for both."""

_SLOTS: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\bmy\s+(?:full\s+)?name\b|\bcall\s+me\b|\bheiße\b|\bmein\s+name\b|\bnenn\w*\s+mich\b|我叫|我的名字|(?:叫|称呼)我",
        r"\b(?:I|we)\s+(?:\w+\s+)?(?:live|moved)\b|\b(?:wohne|gezogen|umgezogen)\b|我(?:现在)?住|搬到|搬去",
        r"\bI\s+(?:\w+\s+)?work\b|\bmy\s+job\b|\barbeite\b|工作|上班",
    )
)
"""What a user has one of: a name, a home, a job."""


def standing_rows(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """Those of the rows that hold now, the newest first.

    What was said anew takes the place of what it speaks of: where both name the user, a home or a job, and where two of
    one kind share half of their content words.

    Args:
        table: the passages.
        rows: those that say what holds from then on, in the order in which they came.
    """
    kept: list[tuple[int, tuple[bool, ...], frozenset[str]]] = []
    for row in list(reversed(rows))[:_MOST]:
        text = table.passage(row).text
        slots, words = tuple(slot.search(text) is not None for slot in _SLOTS), frozenset(terms(text))
        if not any(_replaces(table, newer, (row, slots, words)) for newer in kept):
            kept.append((row, slots, words))
    return [row for row, _, _ in kept]


_Said = tuple[int, tuple[bool, ...], frozenset[str]]


def _replaces(table: PassageTable, newer: _Said, older: _Said) -> bool:
    if any(one and two for one, two in zip(newer[1], older[1], strict=True)):
        return True
    if table.stands[newer[0]] != table.stands[older[0]]:
        return False
    return len(newer[2] & older[2]) > _ALIKE * len(newer[2] | older[2])
