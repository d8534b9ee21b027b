"""Changes of the subject that people announce: "by the way", "now something else", "back to the carpet"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..conversation import Turn
from ..text.kept import KEPT, Kept
from ..text.patterns import regex
from ..text.word_lists import word_lists
from .partition import Floats

_ANOTHER_MATTER, _ASIDE = 2.5, 1.0
"""Log likelihood ratios: what is said aside often goes on with the matter, so that the words around it decide."""
_REACH: Final = 160
"""How many characters of a message are looked at: a sentence may end the old matter before another opens a new one."""

_LISTS: Final = {
    name: "|".join(lines.splitlines()) for name, lines in word_lists(__package__, "announcements.txt").items()
}
_OPENING: Final = rf"(?:^|[.!?…。！？\n])[^\w]*(?:(?:{_LISTS['leading in']})(?![^\W_])[^\w]*)*"
_ANNOUNCES: Final = regex(rf"{_OPENING}(?:(?P<matter>{_LISTS['another matter']})|{_LISTS['aside']})", re.IGNORECASE)


def _read(text: str) -> float:
    found = _ANNOUNCES.search(text[:_REACH].replace("’", "'"))
    return 0.0 if found is None else _ASIDE if found["matter"] is None else _ANOTHER_MATTER


_evidence: Final = Kept(_read, characters=KEPT)


def announced(turns: Sequence[Turn]) -> Floats:
    """Evidence from how each turn opens, for the gap before it, shape ``(len(turns) - 1,)``."""
    return np.array([_evidence(turn.messages[0].text) for turn in turns[1:]], dtype=np.float64)
