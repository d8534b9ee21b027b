"""What holds of a user whatever is asked: instructions, preferences, and who somebody is; the newest of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..text.kept import KEPT, Kept
from ..text.patterns import regex
from ..text.terms import terms
from .passage_table import PassageTable

_MOST: Final = 200
"""How many passages are looked at, the newest."""

_ALIKE: Final = 0.5
"""The share of content words that two have in common where the newer stands for both."""

_SLOTS: Final = tuple(
    regex(pattern, re.I)
    for pattern in (
        r"\bmy\s+(?:full\s+)?name\s+is\s+(?-i:[A-Z])|\bheiße\b|\bmein\s+name\s+ist\b|我叫|我的名字(?:是|叫)",
        r"\bcall\s+me\s+(?-i:[A-Z])|\bnenn\w*\s+mich\b|(?:叫|称呼)我",
        r"\b(?:I|we)\s+(?:\w+\s+)?(?:live|moved)\s+(?:to|in|into|near)\b|\b(?:wohne|umgezogen|gezogen)\b"
        r"|我(?:现在)?住|搬到|搬去",
        r"\bI\s+(?:\w+\s+)?work\s+(?:as|at|for)\b|\bmy\s+job\s+is\b|\barbeite\s+(?:\w+\s+)?(?:als|bei|für)\b"
        r"|我的工作是|我(?:现在)?在.{1,20}(?:工作|上班)",
    )
)
"""What a user has one of: a name, another to be called by, a home, a job."""


def standing_rows(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """Those of the rows that hold now, the newest first.

    What was said anew takes the place of an older one of its kind: where both name the user, a home or a job, and where
    they share half of their content words.

    Args:
        table: the passages.
        rows: those that say what holds from then on, in the order in which they came.
    """
    kept: list[tuple[int, tuple[bool, ...], frozenset[str]]] = []
    newest = list(reversed(rows))[:_MOST]
    table.read(newest)
    for row in newest:
        slots, words = _read(table.passage(row).text)
        if not any(_replaces(table, newer, (row, slots, words)) for newer in kept):
            kept.append((row, slots, words))
    return [row for row, _, _ in kept]


def _slots_and_words(text: str) -> tuple[tuple[bool, ...], frozenset[str]]:
    return tuple(slot.search(text) is not None for slot in _SLOTS), frozenset(terms(text))


_read: Final[Kept[str, tuple[tuple[bool, ...], frozenset[str]]]] = Kept(_slots_and_words, characters=KEPT)


_Said = tuple[int, tuple[bool, ...], frozenset[str]]


def _replaces(table: PassageTable, newer: _Said, older: _Said) -> bool:
    if table.stands[newer[0]] != table.stands[older[0]]:
        return False
    if any(one and two for one, two in zip(newer[1], older[1], strict=True)):
        return True
    return len(newer[2] & older[2]) > _ALIKE * len(newer[2] | older[2])
